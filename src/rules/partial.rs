//! Parts of what is known: some words of a message, the beginning of a name.

use std::collections::BTreeSet;

use crate::knowledge::Knowledge;
use crate::rules::book::RuleBook;
use crate::rules::explain::Fit;
use crate::rules::explain::error_words;
use crate::rules::explain::names;
use crate::rules::explain::quoted;
use crate::rules::explain::quoted_words;
use crate::rules::explain::squeezed;
use crate::rules::explain::told;

/// A shorter text is a part of too much.
const SHORTEST: usize = 8;
/// A text that is so many hundredths of a message is meant to be this message.
const SHARE: usize = 40;
/// The beginning of a page's name has at least so many letters.
const SHORTEST_NAME: usize = 5;
/// The beginning of an error's name has at least so many letters: all names begin alike.
const SHORTEST_ERROR: usize = 12;
/// Words that any program prints.
const COMMON: &[&str] = &["no such file", "no such file or directory", "such file or directory"];
/// An error that a page quotes is likelier than one that it only mentions.
const QUOTED: usize = 100;

/// The messages that a text is a part of.
pub(super) struct Parts<'a> {
    /// The pages about them.
    pub(super) fits: Vec<Fit<'a>>,
    /// Whether the messages lead to different pages, and none of them is likely the one that is meant.
    pub(super) differ: bool,
}

/// Pages about the messages that a text, in small letters, is a part of: the larger its share, the better.
pub(super) fn of_parts<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> Parts<'a> {
    let asked = asked(lower);
    let mut fits = Vec::new();
    // The likeliest page of every message, and the largest share.
    let mut first: BTreeSet<&str> = BTreeSet::new();
    let mut largest = 0;
    for row in knowledge.errors() {
        let Some(share) = share(&asked, &[row.text]) else { continue };
        let quotes = |rule: &&&str| {
            let text = row.text.trim_end_matches('.').to_lowercase();
            let page = book.get(rule);
            page.is_some_and(|page| quoted(&page.sections.wrong).any(|line| line.to_lowercase().contains(&text)))
        };
        let bonus = if row.rules.first().iter().any(quotes) { QUOTED } else { 0 };
        for (at, rule) in row.rules.iter().enumerate() {
            fits.push(Fit { rule, why: error_words(row), weight: 2 * share + bonus + 1 - at.min(1) });
        }
        first.extend(row.rules.first());
        largest = largest.max(share);
    }
    for row in knowledge.messages() {
        let Some(share) = share(&asked, row.says) else { continue };
        fits.extend(row.rules.iter().map(|rule| Fit { rule, why: told(row), weight: 2 * share }));
        first.extend(row.rules.first().and_then(|rule| book.get(rule)).map(|page| page.name.as_str()));
        largest = largest.max(share);
    }
    let in_tables = !first.is_empty();
    for page in book.pages() {
        let lines = quoted(&page.sections.wrong).filter_map(|line| Some((share(&asked, &[line])?, line)));
        if let Some((share, line)) = lines.max_by_key(|(share, _)| *share) {
            fits.push(Fit { rule: &page.name, why: quoted_words(line), weight: share });
            // Practice pages quote the messages of the tables too.
            if !in_tables {
                first.insert(&page.name);
                largest = largest.max(share);
            }
        }
    }
    Parts { fits, differ: first.len() > 1 && largest < SHARE }
}

/// Whether a text, in small letters, is a part of a message, and enough of it to mean this one.
pub(super) fn is_inside(message: &[&str], lower: &str) -> bool {
    share(&asked(lower), message).is_some_and(|share| share >= SHARE)
}

/// Pages by the beginning of their name, or of the name of an error.
pub(super) fn of_prefix<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<Fit<'a>> {
    let lower = lower.trim();
    let mut fits = Vec::new();
    if lower.len() >= SHORTEST_NAME && !lower.contains(char::is_whitespace) {
        for page in book.pages().filter(|page| page.name.starts_with(lower)) {
            let why = format!("`{}` is a rule of imagelint.", page.name);
            fits.push(Fit { rule: &page.name, why, weight: 1 });
        }
    }
    if lower.len() >= SHORTEST_ERROR && lower.starts_with("cuda") {
        let begins = |name: &str| name.to_lowercase().starts_with(lower);
        for row in knowledge.errors().iter().filter(|row| names(row).any(begins)) {
            fits.extend(row.rules.iter().map(|rule| Fit { rule, why: error_words(row), weight: 1 }));
        }
    }
    fits
}

/// A text as it is compared: one space between words, nothing around it, `sm_0` for `sm_120`.
fn asked(lower: &str) -> String {
    plain(lower.trim().trim_matches(['"', '`', '\'', '.', '…']))
}

/// A text in lower case with one space between its words, and `sm_0` for every `sm_120`.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut of_name = false;
    for sign in squeezed(&text.to_lowercase()).chars() {
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

/// How many hundredths of a message, of which the parts are given, a text is, if it is whole words of it: a part of one
/// of its parts, or the end of one and the beginning of the next.
fn share(asked: &str, message: &[&str]) -> Option<usize> {
    let named = asked.contains(' ') || asked.contains(['.', '_']) && asked.contains(char::is_alphabetic);
    if asked.len() < SHORTEST || !named || COMMON.contains(&asked) {
        return None;
    }
    let parts: Vec<String> = message.iter().map(|part| plain(part)).collect();
    let inside =
        |part: &String| part.match_indices(asked).any(|(at, _)| is_start(part, at) && is_end(part, at + asked.len()));
    if let Some(part) = parts.iter().filter(|part| inside(part)).min_by_key(|part| part.len()) {
        return Some(asked.len() * 100 / part.len().max(1));
    }
    let across = parts.windows(2).any(|pair| matches!(pair, [before, behind] if crosses(asked, before, behind)));
    across.then(|| asked.len() * 100 / parts.iter().map(String::len).sum::<usize>().max(1))
}

/// Whether a text begins with the end of one part, and ends with the beginning of the next.
fn crosses(asked: &str, before: &str, behind: &str) -> bool {
    let ends = |at: usize| {
        let tail = asked.get(at..).filter(|tail| tail.len() >= SHORTEST && behind.starts_with(tail));
        tail.is_some_and(|tail| is_end(behind, tail.len()) && is_start(asked, at))
    };
    let begins = |at: usize| {
        let head = before.get(at..).filter(|head| head.len() >= SHORT_HEAD && asked.starts_with(head));
        head.is_some_and(|_| is_start(before, at))
    };
    (1..asked.len()).any(ends) && (0..before.len()).any(begins)
}

/// So much of the part before a gap is needed: `sm_` in `sm_120 is not compatible`.
const SHORT_HEAD: usize = 3;

/// Whether a word begins there.
fn is_start(text: &str, at: usize) -> bool {
    !text.get(..at).is_some_and(|text| text.ends_with(char::is_alphanumeric))
}

/// Whether a word ends there.
fn is_end(text: &str, at: usize) -> bool {
    !text.get(at..).is_some_and(|text| text.starts_with(char::is_alphanumeric))
}
