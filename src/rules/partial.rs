//! Parts of what is known: some words of a message, the beginning of a name.

use crate::knowledge::Knowledge;
use crate::knowledge::MessageRow;
use crate::rules::book::RuleBook;
use crate::rules::explain::Fit;
use crate::rules::explain::error_words;
use crate::rules::explain::names;
use crate::rules::explain::quoted;
use crate::rules::explain::quoted_words;
use crate::rules::explain::squeezed;
use crate::rules::explain::told;

/// A shorter text is a part of too much.
const SHORTEST: usize = 10;
/// A part is at least so many hundredths of what it is a part of: less may be plain English.
const SHARE: usize = 40;
/// The beginning of a page's name has at least so many letters.
const SHORTEST_NAME: usize = 5;
/// The beginning of an error's name has at least so many letters: all names begin alike.
const SHORTEST_ERROR: usize = 12;

/// Pages about the messages that a text, in small letters, is a part of: the larger its share, the better.
pub(super) fn of_parts<'a>(lower: &str, book: &'a RuleBook, knowledge: Knowledge) -> Vec<Fit<'a>> {
    let asked = asked(lower);
    let mut fits = Vec::new();
    for row in knowledge.errors() {
        let Some(share) = share(&asked, row.text) else { continue };
        let rules = row.rules.iter().enumerate();
        fits.extend(rules.map(|(at, rule)| Fit { rule, why: error_words(row), weight: 2 * share + 1 - at.min(1) }));
    }
    for row in knowledge.messages() {
        let Some(share) = row.says.iter().filter_map(|part| share(&asked, part)).max() else { continue };
        fits.extend(row.rules.iter().map(|rule| Fit { rule, why: told(row), weight: 2 * share }));
    }
    for page in book.pages() {
        let lines = quoted(&page.sections.wrong).filter_map(|line| Some((share(&asked, line)?, line)));
        if let Some((share, line)) = lines.max_by_key(|(share, _)| *share) {
            fits.push(Fit { rule: &page.name, why: quoted_words(line), weight: share });
        }
    }
    fits
}

/// Whether a text, in small letters, is a part of a message.
pub(super) fn is_inside(row: &MessageRow, lower: &str) -> bool {
    let asked = asked(lower);
    row.says.iter().any(|part| share(&asked, part).is_some())
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

/// A text as it is compared: one space between words, nothing around it.
fn asked(lower: &str) -> String {
    squeezed(lower.trim().trim_matches(['"', '`', '\'', '.', '…']))
}

/// How many hundredths of a message a text is, if it is whole words of it and enough of them.
fn share(asked: &str, message: &str) -> Option<usize> {
    if asked.len() < SHORTEST || !asked.contains(' ') {
        return None;
    }
    let message = squeezed(&message.to_lowercase());
    let letter = |sign: char| sign.is_alphanumeric();
    let whole = message.match_indices(asked).any(|(at, _)| {
        let before = message.get(..at).is_some_and(|text| text.ends_with(letter));
        let behind = message.get(at + asked.len()..).is_some_and(|text| text.starts_with(letter));
        !before && !behind
    });
    let share = asked.len() * 100 / message.len().max(1);
    (whole && share >= SHARE).then_some(share)
}
