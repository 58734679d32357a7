//! Finds the rule pages for a rule name, outcome, error, log line, verdict or page address, or for a part of one.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::knowledge::{ErrorRow, Knowledge, LaunchWordRow, MessageRow, VerdictWordRow};
use crate::rules::page::RulePage;
use crate::rules::page_header::PageKind;
use crate::rules::rule_book::RuleBook;
use crate::text::nearest::edit_distance;

/// The maximum number of similar names that are suggested.
const MAX_SIMILAR_NAMES: usize = 5;
/// The number of bytes of a text that are searched.
const MAX_TEXT_BYTES: usize = 1 << 16;

/// A rule page that explains a text.
#[derive(Clone, Debug)]
pub struct PageMatch<'a> {
    /// The page.
    pub page: &'a RulePage,
    /// The reason for the match, in one line: `error 804 (cudaError…): forward compatibility …`.
    pub match_text: String,
    /// The kind of the match.
    pub by: MatchKind,
}

/// The kind of a match between a text and a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// The text is the name or the address of the page.
    Name,
    /// The text contains a known error, message or verdict.
    Whole,
    /// The text is a part of several messages with different pages.
    Part,
}

/// A page that may match a text: its name, the reason, and a weight; the heaviest candidate comes first.
pub(super) struct PageCandidate<'a> {
    pub(super) rule: &'a str,
    pub(super) match_text: String,
    pub(super) weight: usize,
}

/// Returns the pages that explain a text, best match first; empty if nothing matches.
pub fn explain_text<'a>(text: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<PageMatch<'a>> {
    let text = truncate_text(text);
    if let Some(page) = page_by_name(text, book) {
        return vec![PageMatch {
            page,
            match_text: format!("`{}` is a rule of imagelint.", page.name),
            by: MatchKind::Name,
        }];
    }
    let lower = text.to_lowercase();
    let mut fits = verdict_pages(&lower, knowledge);
    let mut by = MatchKind::Whole;
    if fits.is_empty() {
        // A word of a report or of the fleet file is no part of a name or a message, even if no page is about it.
        if find_verdict_term(&lower, knowledge).is_some() || find_launch_method(&lower, knowledge).is_some() {
            return Vec::new();
        }
        fits = pages_of_contained_messages(&SearchText::new(&lower), book, knowledge);
        // A message that no page is about takes precedence over the shorter ones that are parts of it.
        let bare = knowledge.messages().iter().filter(|row| row.rules.is_empty() && contains_message(row, &lower));
        let bare = bare.map(message_weight).max().unwrap_or_default();
        let any = !fits.is_empty();
        fits.retain(|fit| fit.weight + ROW_WEIGHT_RANGE >= bare);
        if any && fits.is_empty() {
            return Vec::new();
        }
    }
    if fits.is_empty() {
        fits = pages_by_prefix(&lower, book, knowledge);
    }
    if fits.is_empty() {
        let parts = find_partial_matches(&lower, book, knowledge);
        if parts.differ {
            by = MatchKind::Part;
        }
        fits = parts.fits;
    }
    fits.sort_by_key(|fit| Reverse(fit.weight));
    let mut found: Vec<PageMatch<'a>> = Vec::new();
    for fit in fits {
        let known = found.iter().any(|one| one.page.name == fit.rule);
        if let Some(page) = book.get(fit.rule).filter(|_| !known) {
            found.push(PageMatch { page, match_text: fit.match_text, by });
        }
    }
    found
}

/// Returns the log line that best matches a known error or message; errors take precedence over other lines, those
/// over warnings.
pub fn find_deciding_line<'t>(log: &'t str, book: &RuleBook, knowledge: Knowledge) -> Option<&'t str> {
    let mut seen = BTreeSet::new();
    let mut best: Option<((LogLevel, usize), &str)> = None;
    for line in log.lines() {
        let line = line.trim();
        let short = line.get(..line.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or(line);
        if short.is_empty() || seen.len() > MAX_LOG_LINES || !seen.insert(short) {
            continue;
        }
        let lower = short.to_lowercase();
        let weight = best_weight(&SearchText::new(&lower), book, knowledge);
        let rank = (log_level(&lower), weight);
        if weight > 0 && best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, short));
        }
    }
    best.map(|(_, line)| line)
}

/// The level of a log line, as its text indicates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LogLevel {
    Warning,
    Other,
    Error,
}

/// Returns the level of a lower-case log line: `W0101 12:00:00`, `2026-01-01 12:00:00: W tensorflow/…`, `UserWarning:
/// …`.
fn log_level(lower: &str) -> LogLevel {
    let mark = |word: &str| {
        let number = word.strip_prefix(['w', 'i']);
        number.is_some_and(|rest| rest.chars().all(|sign| sign.is_ascii_digit()) && matches!(rest.len(), 0 | 4))
    };
    if lower.contains("warning") || lower.split_whitespace().take(LEVEL_MARK_POSITIONS).any(mark) {
        LogLevel::Warning
    } else if lower.contains("error") || lower.contains("fatal") {
        LogLevel::Error
    } else {
        LogLevel::Other
    }
}

/// The number of words at the start of a log line that may be its level mark.
const LEVEL_MARK_POSITIONS: usize = 4;

/// Returns the weight of the best match of a line, with or without a page; 0 if nothing matches.
fn best_weight(line: &SearchText<'_>, book: &RuleBook, knowledge: Knowledge) -> usize {
    let pages = pages_of_contained_messages(line, book, knowledge).iter().map(|fit| fit.weight).max();
    let errors = knowledge.errors().iter().filter_map(|row| error_weight(row, line)).max();
    let messages =
        knowledge.messages().iter().filter(|row| contains_message(row, line.lower)).map(message_weight).max();
    [pages, errors, messages].into_iter().flatten().max().unwrap_or_default()
}

/// Returns the verdict or route of a report with this name.
pub fn find_verdict_term(text: &str, knowledge: Knowledge) -> Option<&'static VerdictWordRow> {
    let lower = normalize_term(text);
    let is_it = |row: &&VerdictWordRow| row.word == lower || row.other.contains(&lower.as_str());
    knowledge.verdict_words().iter().find(is_it)
}

/// Returns the launch method with this name.
pub fn find_launch_method(text: &str, knowledge: Knowledge) -> Option<&'static LaunchWordRow> {
    let lower = normalize_term(text);
    let is_it = |row: &&LaunchWordRow| row.word == lower || row.other.contains(&lower.as_str());
    knowledge.launch_methods().iter().find(is_it)
}

/// Returns a term in lower case, without surrounding quotes and white space.
fn normalize_term(text: &str) -> String {
    text.trim().trim_matches(['`', '"']).to_lowercase()
}

/// Explains a word of a report in one sentence: a verdict such as `fails`, or a route such as `minor-version`.
pub fn explain_report_term(term: &str, row: &VerdictWordRow) -> String {
    format!("`{}` in a report means: {}.", term.trim().trim_matches(['`', '"']), row.means)
}

/// Describes a launch method in a sentence.
pub fn describe_launch_method(row: &LaunchWordRow) -> String {
    let see = if row.rules.is_empty() { String::new() } else { format!(" See {}.", row.rules.join(", ")) };
    format!("`{}` is a launch method (key `launch` of a pool): {}.{see}", row.word, row.means)
}

/// Returns the page that a text is the name or the address of.
fn page_by_name<'a>(text: &str, book: &'a RuleBook) -> Option<&'a RulePage> {
    let lower = text.trim().trim_matches('`').to_ascii_lowercase();
    if !(lower.starts_with("https://") || lower.starts_with("http://")) {
        return book.get(&lower);
    }
    let parts = lower.split(['/', '#', '?', '=', '&']).rev().take(MAX_ADDRESS_PARTS);
    parts.map(|part| part.trim_end_matches(".html").trim_end_matches(".md")).find_map(|part| book.get(part))
}

/// Returns the pages about the verdict or route that a text is.
fn verdict_pages(lower: &str, knowledge: Knowledge) -> Vec<PageCandidate<'static>> {
    let Some(row) = find_verdict_term(lower, knowledge) else { return Vec::new() };
    let fit = |(at, rule): (usize, &&'static str)| PageCandidate {
        rule,
        match_text: explain_report_term(lower, row),
        weight: 1_000 - at,
    };
    row.rules.iter().enumerate().map(fit).collect()
}

/// Returns the pages about the known errors, messages and quoted lines that a text contains.
fn pages_of_contained_messages<'a>(
    line: &SearchText<'_>,
    book: &'a RuleBook,
    knowledge: Knowledge,
) -> Vec<PageCandidate<'a>> {
    let mut fits = pages_of_errors(line, knowledge);
    fits.extend(pages_of_log_messages(line, knowledge));
    fits.extend(pages_of_quoted_lines(line, book));
    fits
}

/// A text to search: in lower case, with its error numbers extracted.
struct SearchText<'t> {
    lower: &'t str,
    /// The text with single spaces between words.
    squeezed: String,
    /// The numbers that are written like error numbers.
    codes: Vec<u32>,
    /// Whether the text mentions GPUs or their drivers, or is too short to require that.
    is_gpu_related: bool,
}

impl<'t> SearchText<'t> {
    fn new(lower: &'t str) -> Self {
        let is_ours = lower.split_whitespace().nth(MAX_SHORT_TEXT_WORDS).is_none()
            || GPU_TERMS.iter().any(|word| lower.contains(word));
        Self { lower, squeezed: collapse_whitespace(lower), codes: error_numbers(lower), is_gpu_related: is_ours }
    }
}

/// Returns the CUDA errors that a text names by name, number or message.
pub fn matching_errors(text: &str, knowledge: Knowledge) -> Vec<&'static ErrorRow> {
    let lower = truncate_text(text).to_lowercase();
    let line = SearchText::new(&lower);
    let fits = |row: &&'static ErrorRow| {
        error_weight(row, &line).is_some() || row.rules.is_empty() && is_part_of_message(&[row.text], &lower)
    };
    knowledge.errors().iter().filter(fits).collect()
}

/// Returns the known log messages in a text that have no page.
pub fn matching_log_messages(text: &str, knowledge: Knowledge) -> Vec<&'static MessageRow> {
    let lower = truncate_text(text).to_lowercase();
    let fits = |row: &&MessageRow| contains_message(row, &lower) || is_part_of_message(row.says, &lower);
    knowledge.messages().iter().filter(|row| row.rules.is_empty()).filter(fits).collect()
}

/// Returns the part of a text that is searched.
fn truncate_text(text: &str) -> &str {
    let text = text.trim();
    text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or(text)
}

/// Returns rule and error names that are similar to a text, the most similar first.
pub fn similar_names(text: &str, book: &RuleBook, knowledge: Knowledge) -> Vec<String> {
    let query = text.trim().to_lowercase();
    // Other numbers are no misspelled ones, and short words are near to everything.
    if query.chars().count() < MIN_SIMILAR_LENGTH || query.chars().all(|sign| sign.is_ascii_digit()) {
        return Vec::new();
    }
    let most = query.chars().count().clamp(3, 60) / 3 + 1;
    let rules = book.pages().map(|page| page.name.clone());
    let errors = knowledge.errors().iter().flat_map(error_names).map(str::to_owned);
    let codes = knowledge.errors().iter().map(|row| row.code.to_string());
    let measured = rules.chain(errors).chain(codes).filter_map(|name| {
        let far = name.chars().count().abs_diff(query.chars().count()) > most;
        let distance = if far { most + 1 } else { edit_distance(&query, &name.to_lowercase()) };
        (distance <= most).then_some((distance, name))
    });
    let mut found: Vec<(usize, String)> = measured.collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MAX_SIMILAR_NAMES).map(|(_, name)| name).collect()
}

/// Returns the page whose name a text misspells, if no other name is as similar.
pub fn misspelled_page<'a>(text: &str, book: &'a RuleBook) -> Option<&'a RulePage> {
    let query = text.trim().to_lowercase();
    if query.chars().count() < MIN_MISSPELLED_LENGTH {
        return None;
    }
    let mut near: Vec<(usize, &RulePage)> = book
        .pages()
        .map(|page| (edit_distance(&query, &page.name), page))
        .filter(|(far, _)| *far <= MAX_MISSPELLINGS)
        .collect();
    near.sort_by_key(|(far, _)| *far);
    match near.as_slice() {
        [(_, page)] => Some(page),
        [(far, page), (next, _), ..] if far < next => Some(page),
        _ => None,
    }
}

/// The minimum number of characters of a text for similar names to be suggested.
const MIN_SIMILAR_LENGTH: usize = 3;
/// The minimum number of characters of a misspelled name.
const MIN_MISSPELLED_LENGTH: usize = 6;
/// The maximum edit distance of a misspelled name.
const MAX_MISSPELLINGS: usize = 2;

/// Returns the names of an error in the runtime API and in the driver API.
fn error_names(row: &'static ErrorRow) -> impl Iterator<Item = &'static str> {
    std::iter::once(row.name).chain(row.driver_name)
}

/// Returns the pages about the errors that a text names by number, name or message.
fn pages_of_errors(line: &SearchText<'_>, knowledge: Knowledge) -> Vec<PageCandidate<'static>> {
    let mut fits = Vec::new();
    for row in knowledge.errors() {
        let Some(weight) = error_weight(row, line) else { continue };
        for (at, rule) in row.rules.iter().copied().enumerate() {
            fits.push(PageCandidate { rule, match_text: describe_error(row), weight: weight - at });
        }
    }
    fits
}

/// Describes an error in a sentence.
fn describe_error(row: &ErrorRow) -> String {
    let text = row.text.trim_end_matches('.');
    format!("CUDA error {} ({}): {text}.", row.code, row.name)
}

/// Returns how well a lower-case text matches an error, by number, name or message.
fn error_weight(row: &'static ErrorRow, line: &SearchText<'_>) -> Option<usize> {
    let lower = line.lower;
    if is_error_reference(row, lower) {
        return Some(1_000);
    }
    let words = row.text.trim_end_matches('.').to_lowercase();
    let count = words.split(' ').count();
    // Two words may be those of any program.
    let has_message = count > 1
        && (count > 2 || line.is_gpu_related)
        && lower.match_indices(&words).any(|(at, _)| !has_other_error_number(row, lower, at + words.len()));
    let coded = line.is_gpu_related && line.codes.contains(&u32::from(row.code));
    if has_message { Some(100 + words.len()) } else { coded.then_some(100) }
}

/// Whether the number of another error follows the message in brackets: `UNKNOWN ERROR (303)`.
fn has_other_error_number(row: &'static ErrorRow, lower: &str, behind: usize) -> bool {
    let rest = lower.get(behind..).unwrap_or_default().trim_start().strip_prefix('(');
    let number = rest.and_then(|rest| rest.split_once(')')).and_then(|(number, _)| number.parse::<u32>().ok());
    number.is_some_and(|number| number != u32::from(row.code) && row.was != Some(number))
}

/// Whether a lower-case text is the number of an error or contains one of its names.
fn is_error_reference(row: &'static ErrorRow, lower: &str) -> bool {
    lower == row.code.to_string()
        || row.was.is_some_and(|was| lower == was.to_string())
        || lower.contains("cuda") && error_names(row).any(|name| contains_word(lower, &name.to_lowercase()))
}

/// Returns the error numbers in a lower-case text: `error 804`, `error code: 35`, `CUDA failure 999`.
fn error_numbers(lower: &str) -> Vec<u32> {
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
    ERROR_NUMBER_PREFIXES.iter().flat_map(|lead| after(lead)).collect()
}

/// The texts in front of an error number.
const ERROR_NUMBER_PREFIXES: &[&str] =
    &["error ", "error: ", "error code ", "error code: ", "error=", "failure ", "err=", "code=", "code: ", "returned "];

/// Terms that mark a text as related to GPUs or their drivers.
const GPU_TERMS: &[&str] = &["cuda", "cuinit", "nvidia", "gpu", "driver", "nccl", "cublas", "cudnn", "ptx", "device"];
/// The maximum number of words of a text that needs no GPU term to match.
const MAX_SHORT_TEXT_WORDS: usize = 3;
/// The number of bytes of a log line that are searched.
const MAX_LINE_BYTES: usize = 4096;
/// The maximum number of distinct log lines that are searched.
const MAX_LOG_LINES: usize = 50_000;
/// The number of parts at the end of an address that may name a page.
const MAX_ADDRESS_PARTS: usize = 3;

/// Whether a text contains a word that is not part of a longer one.
fn contains_word(text: &str, word: &str) -> bool {
    let part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let behind = text.get(at + found.len()..).unwrap_or_default().chars().next();
        !before.is_some_and(part) && !behind.is_some_and(part)
    })
}

/// Returns the pages about the known log messages that a text contains; longer messages weigh more.
fn pages_of_log_messages(line: &SearchText<'_>, knowledge: Knowledge) -> Vec<PageCandidate<'static>> {
    let mut fits = Vec::new();
    for row in knowledge.messages() {
        if !contains_message(row, line.lower) {
            continue;
        }
        let weight = message_weight(row);
        for (at, rule) in row.rules.iter().copied().enumerate() {
            fits.push(PageCandidate { rule, match_text: describe_log_message(row), weight: weight - at });
        }
    }
    fits
}

/// Returns the weight of a log message that a text contains.
fn message_weight(row: &MessageRow) -> usize {
    200 + row.says.iter().map(|part| part.len()).sum::<usize>()
}

/// Describes a known log message in a sentence.
fn describe_log_message(row: &MessageRow) -> String {
    format!("Known log message: `{}`.", row.says.join(" … "))
}

/// Whether a lower-case text contains the parts of a message in order.
fn contains_message(row: &MessageRow, lower: &str) -> bool {
    let mut rest = lower;
    !row.says.is_empty()
        && row.says.iter().all(|part| {
            let part = part.to_lowercase();
            let behind = rest.find(&part).and_then(|at| rest.get(at + part.len()..));
            rest = behind.unwrap_or(rest);
            behind.is_some()
        })
}

/// Returns the pages that quote a line of the text; start-up pages weigh more.
fn pages_of_quoted_lines<'a>(text: &SearchText<'_>, book: &'a RuleBook) -> Vec<PageCandidate<'a>> {
    let mut fits = Vec::new();
    for page in book.pages() {
        let quoted = quoted_lines(&page.sections.wrong).filter(|line| contains_quoted_line(line, text));
        let Some(line) = quoted.max_by_key(|line| line.len()) else { continue };
        let startup = matches!(page.kind, PageKind::Startup(_));
        let weight = line.len().min(MAX_QUOTE_WEIGHT) + if startup { MAX_QUOTE_WEIGHT } else { 0 };
        fits.push(PageCandidate { rule: &page.name, match_text: describe_quoted_line(line), weight });
    }
    fits
}

/// Describes a line that a page quotes in a sentence.
fn describe_quoted_line(line: &str) -> String {
    format!("Known log message: `{}`.", line.trim())
}

/// The weights of the pages of one row differ by less than this.
const ROW_WEIGHT_RANGE: usize = 8;

/// The maximum weight of a quoted line by its length; every table row weighs more.
const MAX_QUOTE_WEIGHT: usize = 49;

/// Returns the lines of the `text` code blocks of a section.
pub(super) fn quoted_lines(section: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    section.lines().filter(move |line| {
        let fence = line.strip_prefix("```");
        if let Some(kind) = fence {
            inside = kind.trim() == "text";
        }
        inside && fence.is_none()
    })
}

/// Whether a lower-case text contains a quoted line, with any numbers and omissions; a single word must be a whole
/// line.
fn contains_quoted_line(line: &str, text: &SearchText<'_>) -> bool {
    let line = line.trim().trim_end_matches('.').to_lowercase();
    if !line.contains(' ') {
        return line.chars().any(char::is_alphabetic) && text.lower.lines().any(|other| other.trim() == line);
    }
    let line = collapse_whitespace(&line);
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

/// Returns a text with single spaces between words.
pub(super) fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The minimum length of a text that is matched as a part of messages.
const MIN_TEXT_BYTES: usize = 8;
/// The share of a message, in percent, from which on a text is assumed to mean this message.
const MIN_SHARE_PERCENT: usize = 40;
/// The minimum length of the prefix of a rule name.
const MIN_NAME_PREFIX: usize = 5;
/// The minimum length of the prefix of an error name; all error names start alike.
const MIN_ERROR_PREFIX: usize = 12;
/// Phrases that occur in messages of any program.
const COMMON_PHRASES: &[&str] = &["no such file", "no such file or directory", "such file or directory"];
/// The extra weight of an error that the page quotes.
const QUOTED_ERROR_BONUS: usize = 100;

/// The pages about the messages that a text is a part of.
pub(super) struct PartialMatches<'a> {
    /// The candidates.
    pub(super) fits: Vec<PageCandidate<'a>>,
    /// Whether the messages have different pages and no message is clearly the intended one.
    pub(super) differ: bool,
}

/// Returns the pages about messages that contain a lower-case text; the larger its share, the heavier.
fn find_partial_matches<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> PartialMatches<'a> {
    let query = normalize_query(lower);
    let mut fits = Vec::new();
    // The likeliest page of every message, and the largest share.
    let mut first: BTreeSet<&str> = BTreeSet::new();
    let mut largest = 0;
    for row in knowledge.errors() {
        let Some(share) = message_share(&query, &[row.text]) else { continue };
        let quotes = |rule: &&&str| {
            let text = row.text.trim_end_matches('.').to_lowercase();
            let page = book.get(rule);
            page.is_some_and(|page| quoted_lines(&page.sections.wrong).any(|line| line.to_lowercase().contains(&text)))
        };
        let bonus = if row.rules.first().iter().any(quotes) { QUOTED_ERROR_BONUS } else { 0 };
        for (at, rule) in row.rules.iter().enumerate() {
            fits.push(PageCandidate {
                rule,
                match_text: describe_error(row),
                weight: 2 * share + bonus + 1 - at.min(1),
            });
        }
        first.extend(row.rules.first());
        largest = largest.max(share);
    }
    for row in knowledge.messages() {
        let Some(share) = message_share(&query, row.says) else { continue };
        fits.extend(row.rules.iter().map(|rule| PageCandidate {
            rule,
            match_text: describe_log_message(row),
            weight: 2 * share,
        }));
        first.extend(row.rules.first().and_then(|rule| book.get(rule)).map(|page| page.name.as_str()));
        largest = largest.max(share);
    }
    let in_tables = !first.is_empty();
    for page in book.pages() {
        let lines = quoted_lines(&page.sections.wrong).filter_map(|line| Some((message_share(&query, &[line])?, line)));
        if let Some((share, line)) = lines.max_by_key(|(share, _)| *share) {
            fits.push(PageCandidate { rule: &page.name, match_text: describe_quoted_line(line), weight: share });
            // Practice pages quote the messages of the tables too.
            if !in_tables {
                first.insert(&page.name);
                largest = largest.max(share);
            }
        }
    }
    PartialMatches { fits, differ: first.len() > 1 && largest < MIN_SHARE_PERCENT }
}

/// Whether a lower-case text is a large enough part of a message to mean it.
fn is_part_of_message(message: &[&str], lower: &str) -> bool {
    message_share(&normalize_query(lower), message).is_some_and(|share| share >= MIN_SHARE_PERCENT)
}

/// Returns the pages whose name, or the name of whose error, starts with a lower-case text.
fn pages_by_prefix<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<PageCandidate<'a>> {
    let lower = lower.trim();
    let mut fits = Vec::new();
    if lower.len() >= MIN_NAME_PREFIX && !lower.contains(char::is_whitespace) {
        for page in book.pages().filter(|page| page.name.starts_with(lower)) {
            let why = format!("`{}` is a rule of imagelint.", page.name);
            fits.push(PageCandidate { rule: &page.name, match_text: why, weight: 1 });
        }
    }
    if lower.len() >= MIN_ERROR_PREFIX && lower.starts_with("cuda") {
        let begins = |name: &str| name.to_lowercase().starts_with(lower);
        for row in knowledge.errors().iter().filter(|row| error_names(row).any(begins)) {
            fits.extend(row.rules.iter().map(|rule| PageCandidate {
                rule,
                match_text: describe_error(row),
                weight: 1,
            }));
        }
    }
    fits
}

/// Returns a text in the form in which it is compared, without surrounding punctuation.
fn normalize_query(lower: &str) -> String {
    normalize_text(lower.trim().trim_matches(['"', '`', '\'', '.', '…']))
}

/// Returns a text in lower case, with single spaces between words and `sm_0` for every `sm_120`.
fn normalize_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut of_name = false;
    for sign in collapse_whitespace(&text.to_lowercase()).chars() {
        if !sign.is_ascii_digit() {
            of_name = sign == '_';
            out.push(sign);
        } else if !of_name {
            out.push(sign);
        } else if !out.ends_with('0') {
            out.push('0');
        }
    }
    out
}

/// Returns the share of a message, in percent, that a text covers, if it matches whole words of adjacent parts.
fn message_share(query: &str, message: &[&str]) -> Option<usize> {
    let named = query.contains(' ') || query.contains(['.', '_']) && query.contains(char::is_alphabetic);
    if query.len() < MIN_TEXT_BYTES || !named || COMMON_PHRASES.contains(&query) {
        return None;
    }
    let parts: Vec<String> = message.iter().map(|part| normalize_text(part)).collect();
    let inside = |part: &String| {
        part.match_indices(query).any(|(at, _)| is_word_start(part, at) && is_word_end(part, at + query.len()))
    };
    if let Some(part) = parts.iter().filter(|part| inside(part)).min_by_key(|part| part.len()) {
        return Some(query.len() * 100 / part.len().max(1));
    }
    let across = parts.windows(2).any(|pair| matches!(pair, [before, behind] if spans_gap(query, before, behind)));
    across.then(|| query.len() * 100 / parts.iter().map(String::len).sum::<usize>().max(1))
}

/// Whether a text starts with the end of one part and ends with the start of the next.
fn spans_gap(query: &str, before: &str, behind: &str) -> bool {
    let ends = |at: usize| {
        let tail = query.get(at..).filter(|tail| tail.len() >= MIN_TEXT_BYTES && behind.starts_with(tail));
        tail.is_some_and(|tail| is_word_end(behind, tail.len()) && is_word_start(query, at))
    };
    let begins = |at: usize| {
        let head = before.get(at..).filter(|head| head.len() >= MIN_HEAD_BYTES && query.starts_with(head));
        head.is_some_and(|_| is_word_start(before, at))
    };
    (1..query.len()).any(ends) && (0..before.len()).any(begins)
}

/// The minimum overlap with the part in front of a gap: `sm_` in `sm_120 is not compatible`.
const MIN_HEAD_BYTES: usize = 3;

/// Whether a word starts at a byte offset.
fn is_word_start(text: &str, at: usize) -> bool {
    !text.get(..at).is_some_and(|text| text.ends_with(char::is_alphanumeric))
}

/// Whether a word ends at a byte offset.
fn is_word_end(text: &str, at: usize) -> bool {
    !text.get(at..).is_some_and(|text| text.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
