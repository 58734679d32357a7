//! Finds pages for a part of a message or the prefix of a name.

use std::collections::BTreeSet;

use crate::knowledge::Knowledge;
use crate::rules::explain::{
    PageCandidate, collapse_whitespace, describe_error, describe_log_message, describe_quoted_line, error_names,
    quoted_lines,
};
use crate::rules::rule_book::RuleBook;

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
pub(super) fn find_partial_matches<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> PartialMatches<'a> {
    let asked = normalize_query(lower);
    let mut fits = Vec::new();
    // The likeliest page of every message, and the largest share.
    let mut first: BTreeSet<&str> = BTreeSet::new();
    let mut largest = 0;
    for row in knowledge.errors() {
        let Some(share) = message_share(&asked, &[row.text]) else { continue };
        let quotes = |rule: &&&str| {
            let text = row.text.trim_end_matches('.').to_lowercase();
            let page = book.get(rule);
            page.is_some_and(|page| quoted_lines(&page.sections.wrong).any(|line| line.to_lowercase().contains(&text)))
        };
        let bonus = if row.rules.first().iter().any(quotes) { QUOTED_ERROR_BONUS } else { 0 };
        for (at, rule) in row.rules.iter().enumerate() {
            fits.push(PageCandidate { rule, why: describe_error(row), weight: 2 * share + bonus + 1 - at.min(1) });
        }
        first.extend(row.rules.first());
        largest = largest.max(share);
    }
    for row in knowledge.messages() {
        let Some(share) = message_share(&asked, row.says) else { continue };
        fits.extend(row.rules.iter().map(|rule| PageCandidate {
            rule,
            why: describe_log_message(row),
            weight: 2 * share,
        }));
        first.extend(row.rules.first().and_then(|rule| book.get(rule)).map(|page| page.name.as_str()));
        largest = largest.max(share);
    }
    let in_tables = !first.is_empty();
    for page in book.pages() {
        let lines = quoted_lines(&page.sections.wrong).filter_map(|line| Some((message_share(&asked, &[line])?, line)));
        if let Some((share, line)) = lines.max_by_key(|(share, _)| *share) {
            fits.push(PageCandidate { rule: &page.name, why: describe_quoted_line(line), weight: share });
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
pub(super) fn is_part_of_message(message: &[&str], lower: &str) -> bool {
    message_share(&normalize_query(lower), message).is_some_and(|share| share >= MIN_SHARE_PERCENT)
}

/// Returns the pages whose name, or the name of whose error, starts with a lower-case text.
pub(super) fn pages_by_prefix<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<PageCandidate<'a>> {
    let lower = lower.trim();
    let mut fits = Vec::new();
    if lower.len() >= MIN_NAME_PREFIX && !lower.contains(char::is_whitespace) {
        for page in book.pages().filter(|page| page.name.starts_with(lower)) {
            let why = format!("`{}` is a rule of imagelint.", page.name);
            fits.push(PageCandidate { rule: &page.name, why, weight: 1 });
        }
    }
    if lower.len() >= MIN_ERROR_PREFIX && lower.starts_with("cuda") {
        let begins = |name: &str| name.to_lowercase().starts_with(lower);
        for row in knowledge.errors().iter().filter(|row| error_names(row).any(begins)) {
            fits.extend(row.rules.iter().map(|rule| PageCandidate { rule, why: describe_error(row), weight: 1 }));
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
fn message_share(asked: &str, message: &[&str]) -> Option<usize> {
    let named = asked.contains(' ') || asked.contains(['.', '_']) && asked.contains(char::is_alphabetic);
    if asked.len() < MIN_TEXT_BYTES || !named || COMMON_PHRASES.contains(&asked) {
        return None;
    }
    let parts: Vec<String> = message.iter().map(|part| normalize_text(part)).collect();
    let inside = |part: &String| {
        part.match_indices(asked).any(|(at, _)| is_word_start(part, at) && is_word_end(part, at + asked.len()))
    };
    if let Some(part) = parts.iter().filter(|part| inside(part)).min_by_key(|part| part.len()) {
        return Some(asked.len() * 100 / part.len().max(1));
    }
    let across = parts.windows(2).any(|pair| matches!(pair, [before, behind] if spans_gap(asked, before, behind)));
    across.then(|| asked.len() * 100 / parts.iter().map(String::len).sum::<usize>().max(1))
}

/// Whether a text starts with the end of one part and ends with the start of the next.
fn spans_gap(asked: &str, before: &str, behind: &str) -> bool {
    let ends = |at: usize| {
        let tail = asked.get(at..).filter(|tail| tail.len() >= MIN_TEXT_BYTES && behind.starts_with(tail));
        tail.is_some_and(|tail| is_word_end(behind, tail.len()) && is_word_start(asked, at))
    };
    let begins = |at: usize| {
        let head = before.get(at..).filter(|head| head.len() >= MIN_HEAD_BYTES && asked.starts_with(head));
        head.is_some_and(|_| is_word_start(before, at))
    };
    (1..asked.len()).any(ends) && (0..before.len()).any(begins)
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
