//! The pages about a rule, an outcome, an error, a line of a log, a verdict, or the address of a page.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::knowledge::ErrorRow;
use crate::knowledge::Knowledge;
use crate::knowledge::LaunchWordRow;
use crate::knowledge::MessageRow;
use crate::knowledge::VerdictWordRow;
use crate::nearest::distance;
use crate::rules::book::RuleBook;
use crate::rules::header::Kind;
use crate::rules::page::Page;
use crate::rules::partial;

/// How many near names are told.
const NEAR: usize = 5;
/// So much of a text is looked through.
const LONGEST: usize = 1 << 16;

/// A page that tells of it.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    /// The page.
    pub page: &'a Page,
    /// Why it is this one, in a line: `error 804 (cudaError…): forward compatibility …`.
    pub why: String,
    /// How the text leads to it.
    pub by: By,
}

/// How a text leads to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The text is its name or its address.
    Name,
    /// The text contains a known error, message or word.
    Whole,
    /// The text is a part of messages that lead to different pages.
    Part,
}

/// A page by name, why, and how well it fits.
pub(super) struct Fit<'a> {
    pub(super) rule: &'a str,
    pub(super) why: String,
    pub(super) weight: usize,
}

/// The pages that tell of a text, the best first; none where nothing fits.
pub fn explain<'a>(text: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<Match<'a>> {
    let text = first(text);
    if let Some(page) = named(text, book) {
        return vec![Match { page, why: format!("`{}` is a rule of imagelint.", page.name), by: By::Name }];
    }
    let lower = text.to_lowercase();
    let mut fits = of_words(&lower, knowledge);
    let mut by = By::Whole;
    if fits.is_empty() {
        // A word of a report or of the fleet file is no part of a name or a message, even if no page is about it.
        if verdict_word(&lower, knowledge).is_some() || launch_word(&lower, knowledge).is_some() {
            return Vec::new();
        }
        fits = whole(&Line::new(&lower), book, knowledge);
        // A message that no page is about takes precedence over the shorter ones that are parts of it.
        let bare = knowledge.messages().iter().filter(|row| row.rules.is_empty() && says(row, &lower));
        let bare = bare.map(message_weight).max().unwrap_or_default();
        let any = !fits.is_empty();
        fits.retain(|fit| fit.weight + ORDER >= bare);
        if any && fits.is_empty() {
            return Vec::new();
        }
    }
    if fits.is_empty() {
        fits = partial::of_prefix(&lower, book, knowledge);
    }
    if fits.is_empty() {
        let parts = partial::of_parts(&lower, book, knowledge);
        if parts.differ {
            by = By::Part;
        }
        fits = parts.fits;
    }
    fits.sort_by_key(|fit| Reverse(fit.weight));
    let mut found: Vec<Match<'a>> = Vec::new();
    for fit in fits {
        let known = found.iter().any(|one| one.page.name == fit.rule);
        if let Some(page) = book.get(fit.rule).filter(|_| !known) {
            found.push(Match { page, why: fit.why, by });
        }
    }
    found
}

/// The line of a log that decides: the one that fits a known error or message best, the first of several. Errors take
/// precedence over other lines, and those over warnings. None if no line fits.
pub fn deciding<'t>(log: &'t str, book: &RuleBook, knowledge: Knowledge) -> Option<&'t str> {
    let mut seen = BTreeSet::new();
    let mut best: Option<((Level, usize), &str)> = None;
    for line in log.lines() {
        let line = line.trim();
        let short = line.get(..line.floor_char_boundary(LONGEST_LINE)).unwrap_or(line);
        if short.is_empty() || seen.len() > MOST_LINES || !seen.insert(short) {
            continue;
        }
        let lower = short.to_lowercase();
        let weight = heaviest(&Line::new(&lower), book, knowledge);
        let rank = (level(&lower), weight);
        if weight > 0 && best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, short));
        }
    }
    best.map(|(_, line)| line)
}

/// How serious a line of a log is by its own words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Warning,
    Other,
    Error,
}

/// The level of a line in lower case: `W0101 12:00:00`, `2026-01-01 12:00:00: W tensorflow/…`, `UserWarning: …`.
fn level(lower: &str) -> Level {
    let mark = |word: &str| {
        let number = word.strip_prefix(['w', 'i']);
        number.is_some_and(|rest| rest.chars().all(|sign| sign.is_ascii_digit()) && matches!(rest.len(), 0 | 4))
    };
    if lower.contains("warning") || lower.split_whitespace().take(MARKS).any(mark) {
        Level::Warning
    } else if lower.contains("error") || lower.contains("fatal") {
        Level::Error
    } else {
        Level::Other
    }
}

/// So many words at the beginning of a line may be the mark of its level: a date, a time and a process come first.
const MARKS: usize = 4;

/// The weight of the best that a line fits, with and without a page; 0 if nothing does.
fn heaviest(line: &Line<'_>, book: &RuleBook, knowledge: Knowledge) -> usize {
    let pages = whole(line, book, knowledge).iter().map(|fit| fit.weight).max();
    let errors = knowledge.errors().iter().filter_map(|row| weight(row, line)).max();
    let messages = knowledge.messages().iter().filter(|row| says(row, line.lower)).map(message_weight).max();
    [pages, errors, messages].into_iter().flatten().max().unwrap_or_default()
}

/// The verdict or the route of a report that a text is.
pub fn verdict_word(text: &str, knowledge: Knowledge) -> Option<&'static VerdictWordRow> {
    let lower = plain_word(text);
    let is_it = |row: &&VerdictWordRow| row.word == lower || row.other.contains(&lower.as_str());
    knowledge.verdict_words().iter().find(is_it)
}

/// The launch method that a text is.
pub fn launch_word(text: &str, knowledge: Knowledge) -> Option<&'static LaunchWordRow> {
    let lower = plain_word(text);
    let is_it = |row: &&LaunchWordRow| row.word == lower || row.other.contains(&lower.as_str());
    knowledge.launch_methods().iter().find(is_it)
}

fn plain_word(text: &str) -> String {
    text.trim().trim_matches(['`', '"']).to_lowercase()
}

/// A word of a report in a sentence.
pub fn verdict_words(asked: &str, row: &VerdictWordRow) -> String {
    format!("`{}` in a report means: {}.", asked.trim().trim_matches(['`', '"']), row.means)
}

/// A launch method in a sentence.
pub fn launch_words(row: &LaunchWordRow) -> String {
    let see = if row.rules.is_empty() { String::new() } else { format!(" See {}.", row.rules.join(", ")) };
    format!("`{}` is a launch method (key `launch` of a pool): {}.{see}", row.word, row.means)
}

/// The page that a text is the name of, or the address of.
fn named<'a>(text: &str, book: &'a RuleBook) -> Option<&'a Page> {
    let lower = text.trim().trim_matches('`').to_ascii_lowercase();
    if !(lower.starts_with("https://") || lower.starts_with("http://")) {
        return book.get(&lower);
    }
    let parts = lower.split(['/', '#', '?', '=', '&']).rev().take(PARTS);
    parts.map(|part| part.trim_end_matches(".html").trim_end_matches(".md")).find_map(|part| book.get(part))
}

/// Pages about a verdict or a route. A launch method has a sentence of its own, and no page.
fn of_words(lower: &str, knowledge: Knowledge) -> Vec<Fit<'static>> {
    let Some(row) = verdict_word(lower, knowledge) else { return Vec::new() };
    let fit = |(at, rule): (usize, &&'static str)| Fit { rule, why: verdict_words(lower, row), weight: 1_000 - at };
    row.rules.iter().enumerate().map(fit).collect()
}

/// Pages of which a text has the whole of a known error, message or quoted line.
fn whole<'a>(line: &Line<'_>, book: &'a RuleBook, knowledge: Knowledge) -> Vec<Fit<'a>> {
    let mut fits = of_errors(line, knowledge);
    fits.extend(of_messages(line, knowledge));
    fits.extend(of_pages(line, book));
    fits
}

/// A text in small letters, and what is looked up in it often.
struct Line<'t> {
    lower: &'t str,
    /// With one space between its words.
    squeezed: String,
    /// Numbers that are written as those of errors.
    codes: Vec<u32>,
    /// Whether something in it is about GPUs or their drivers, or it is so short that nothing else can be.
    is_ours: bool,
}

impl<'t> Line<'t> {
    fn new(lower: &'t str) -> Self {
        let is_ours = lower.split_whitespace().nth(SHORT).is_none() || OURS.iter().any(|word| lower.contains(word));
        Self { lower, squeezed: squeezed(lower), codes: codes(lower), is_ours }
    }
}

/// The errors that a text names, is the number of, or tells of in a line.
pub fn errors(text: &str, knowledge: Knowledge) -> Vec<&'static ErrorRow> {
    let lower = first(text).to_lowercase();
    let line = Line::new(&lower);
    let fits = |row: &&'static ErrorRow| {
        weight(row, &line).is_some() || row.rules.is_empty() && partial::is_inside(&[row.text], &lower)
    };
    knowledge.errors().iter().filter(fits).collect()
}

/// The known lines of logs in a text that no page is about.
pub fn lines(text: &str, knowledge: Knowledge) -> Vec<&'static MessageRow> {
    let lower = first(text).to_lowercase();
    let fits = |row: &&MessageRow| says(row, &lower) || partial::is_inside(row.says, &lower);
    knowledge.messages().iter().filter(|row| row.rules.is_empty()).filter(fits).collect()
}

/// So much of a text as is looked through.
fn first(text: &str) -> &str {
    let text = text.trim();
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

/// Names that come near a text that nothing fits, the nearest first.
pub fn near(text: &str, book: &RuleBook, knowledge: Knowledge) -> Vec<String> {
    let asked = text.trim().to_lowercase();
    // Other numbers are no misspelled ones, and short words are near to everything.
    if asked.chars().count() < SHORTEST_NEAR || asked.chars().all(|sign| sign.is_ascii_digit()) {
        return Vec::new();
    }
    let most = asked.chars().count().clamp(3, 60) / 3 + 1;
    let rules = book.pages().map(|page| page.name.clone());
    let errors = knowledge.errors().iter().flat_map(names).map(str::to_owned);
    let codes = knowledge.errors().iter().map(|row| row.code.to_string());
    let measured = rules.chain(errors).chain(codes).filter_map(|name| {
        let far = name.chars().count().abs_diff(asked.chars().count()) > most;
        let distance = if far { most + 1 } else { distance(&asked, &name.to_lowercase()) };
        (distance <= most).then_some((distance, name))
    });
    let mut found: Vec<(usize, String)> = measured.collect();
    found.sort();
    found.dedup();
    found.into_iter().take(NEAR).map(|(_, name)| name).collect()
}

/// The page whose name a text misspells: no other name is as near.
pub fn misspelled<'a>(text: &str, book: &'a RuleBook) -> Option<&'a Page> {
    let asked = text.trim().to_lowercase();
    if asked.chars().count() < LONG_NAME {
        return None;
    }
    let mut near: Vec<(usize, &Page)> =
        book.pages().map(|page| (distance(&asked, &page.name), page)).filter(|(far, _)| *far <= SLIPS).collect();
    near.sort_by_key(|(far, _)| *far);
    match near.as_slice() {
        [(_, page)] => Some(page),
        [(far, page), (next, _), ..] if far < next => Some(page),
        _ => None,
    }
}

/// A shorter text has no near names.
const SHORTEST_NEAR: usize = 3;
/// A name of so many letters may have [`SLIPS`] mistakes.
const LONG_NAME: usize = 6;
/// So many mistakes leave a name recognizable.
const SLIPS: usize = 2;

/// Both names of an error.
pub(super) fn names(row: &'static ErrorRow) -> impl Iterator<Item = &'static str> {
    std::iter::once(row.name).chain(row.driver_name)
}

/// Pages by errors: asked for by number or name, or found in a longer text by name, by number or by their words.
fn of_errors(line: &Line<'_>, knowledge: Knowledge) -> Vec<Fit<'static>> {
    let mut fits = Vec::new();
    for row in knowledge.errors() {
        let Some(weight) = weight(row, line) else { continue };
        for (at, rule) in row.rules.iter().copied().enumerate() {
            fits.push(Fit { rule, why: error_words(row), weight: weight - at });
        }
    }
    fits
}

/// An error in a sentence.
pub(super) fn error_words(row: &ErrorRow) -> String {
    let text = row.text.trim_end_matches('.');
    format!("CUDA error {} ({}): {text}.", row.code, row.name)
}

/// How well a text, in small letters, fits an error: by number or name, by its words, or by its number in a line.
fn weight(row: &'static ErrorRow, line: &Line<'_>) -> Option<usize> {
    let lower = line.lower;
    if is_asked(row, lower) {
        return Some(1_000);
    }
    let words = row.text.trim_end_matches('.').to_lowercase();
    let count = words.split(' ').count();
    // Two words may be those of any program.
    let said = count > 1
        && (count > 2 || line.is_ours)
        && lower.match_indices(&words).any(|(at, _)| !is_of_another(row, lower, at + words.len()));
    let coded = line.is_ours && line.codes.contains(&u32::from(row.code));
    if said { Some(100 + words.len()) } else { coded.then_some(100) }
}

/// Whether the number of another error stands in brackets behind its words: `UNKNOWN ERROR (303)`.
fn is_of_another(row: &'static ErrorRow, lower: &str, behind: usize) -> bool {
    let rest = lower.get(behind..).unwrap_or_default().trim_start().strip_prefix('(');
    let number = rest.and_then(|rest| rest.split_once(')')).and_then(|(number, _)| number.parse::<u32>().ok());
    number.is_some_and(|number| number != u32::from(row.code) && row.was != Some(number))
}

/// Whether a text, in small letters, is the number of an error or has one of its names.
fn is_asked(row: &'static ErrorRow, lower: &str) -> bool {
    lower == row.code.to_string()
        || row.was.is_some_and(|was| lower == was.to_string())
        || lower.contains("cuda") && names(row).any(|name| has_word(lower, &name.to_lowercase()))
}

/// The numbers that a text in small letters writes as those of errors: `error 804`, `error code: 35`, `CUDA failure 999`.
fn codes(lower: &str) -> Vec<u32> {
    let part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let after = |lead: &str| {
        let found =
            lower.match_indices(lead).filter(|(at, _)| !lower.get(..*at).is_some_and(|text| text.ends_with(part)));
        let rest = found.filter_map(|(at, lead)| lower.get(at + lead.len()..));
        let number = rest.filter_map(|rest| {
            let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
            let (number, behind) = rest.split_at_checked(end)?;
            number.parse().ok().filter(|_| !behind.starts_with(part))
        });
        number.collect::<Vec<u32>>()
    };
    LEADS.iter().flat_map(|lead| after(lead)).collect()
}

/// What stands before the number of an error.
const LEADS: &[&str] =
    &["error ", "error: ", "error code ", "error code: ", "error=", "failure ", "err=", "code=", "code: ", "returned "];

/// A text of which one of these is a part is about GPUs or their drivers.
const OURS: &[&str] = &["cuda", "cuinit", "nvidia", "gpu", "driver", "nccl", "cublas", "cudnn", "ptx", "device"];
/// A text of no more words may be about them without one.
const SHORT: usize = 3;
/// Of a longer line only the beginning counts.
const LONGEST_LINE: usize = 4096;
/// No more different lines of a log are looked at.
const MOST_LINES: usize = 50_000;
/// So many parts at the end of an address may name a page.
const PARTS: usize = 3;

/// Whether a text has a word that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let behind = text.get(at + found.len()..).unwrap_or_default().chars().next();
        !before.is_some_and(part) && !behind.is_some_and(part)
    })
}

/// Pages by the lines of logs, of which the longest that fits says most.
fn of_messages(line: &Line<'_>, knowledge: Knowledge) -> Vec<Fit<'static>> {
    let mut fits = Vec::new();
    for row in knowledge.messages() {
        if !says(row, line.lower) {
            continue;
        }
        let weight = message_weight(row);
        for (at, rule) in row.rules.iter().copied().enumerate() {
            fits.push(Fit { rule, why: told(row), weight: weight - at });
        }
    }
    fits
}

/// How well a text fits a message of which it has all parts.
fn message_weight(row: &MessageRow) -> usize {
    200 + row.says.iter().map(|part| part.len()).sum::<usize>()
}

/// A line of a log in a sentence.
pub(super) fn told(row: &MessageRow) -> String {
    format!("Known log message: `{}`.", row.says.join(" … "))
}

/// Whether a text, in small letters, has the parts of a line in their order.
fn says(row: &MessageRow, lower: &str) -> bool {
    let mut rest = lower;
    !row.says.is_empty()
        && row.says.iter().all(|part| {
            let part = part.to_lowercase();
            let behind = rest.find(&part).and_then(|at| rest.get(at + part.len()..));
            rest = behind.unwrap_or(rest);
            behind.is_some()
        })
}

/// Pages by the lines that they quote themselves: behind what the tables say, start-up pages first.
fn of_pages<'a>(text: &Line<'_>, book: &'a RuleBook) -> Vec<Fit<'a>> {
    let mut fits = Vec::new();
    for page in book.pages() {
        let quoted = quoted(&page.sections.wrong).filter(|line| quotes(line, text));
        let Some(line) = quoted.max_by_key(|line| line.len()) else { continue };
        let startup = matches!(page.kind, Kind::Startup(_));
        let weight = line.len().min(HALF) + if startup { HALF } else { 0 };
        fits.push(Fit { rule: &page.name, why: quoted_words(line), weight });
    }
    fits
}

/// A line that a page quotes, in a sentence.
pub(super) fn quoted_words(line: &str) -> String {
    format!("Known log message: `{}`.", line.trim())
}

/// The pages of one row differ by less than this in weight.
const ORDER: usize = 8;

/// The most that the length of a quoted line counts: any row of the tables weighs more.
const HALF: usize = 49;

/// The lines of the `text` blocks of a section.
pub(super) fn quoted(section: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    section.lines().filter(move |line| {
        let fence = line.strip_prefix("```");
        if let Some(kind) = fence {
            inside = kind.trim() == "text";
        }
        inside && fence.is_none()
    })
}

/// Whether a text, in small letters, has a quoted line, whatever stands for its numbers and for what it leaves out. A
/// line of one word has to be one of the text.
fn quotes(line: &str, text: &Line<'_>) -> bool {
    let line = line.trim().trim_end_matches('.').to_lowercase();
    if !line.contains(' ') {
        return line.chars().any(char::is_alphabetic) && text.lower.lines().any(|other| other.trim() == line);
    }
    let line = squeezed(&line);
    let parts = line.split(|sign: char| sign.is_ascii_digit() || sign == '…');
    let mut parts = parts.map(str::trim).filter(|part| part.chars().any(char::is_alphabetic)).peekable();
    let mut rest = text.squeezed.as_str();
    parts.peek().is_some()
        && parts.all(|part| {
            let behind = rest.find(part).and_then(|at| rest.get(at + part.len()..));
            rest = behind.unwrap_or_default();
            behind.is_some()
        })
}

/// A text with one blank between its words.
pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
