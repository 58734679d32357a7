//! Variables of a Makefile: what a text with them comes to, before anything runs and in a recipe.

use std::collections::BTreeSet;

use crate::extract::makefile::Environment;
use crate::extract::makefile::LONGEST;
use crate::extract::makefile::Makefile;
use crate::extract::makefile::Rule;

/// Variables stand for variables, but not for ever.
const LONGEST_CHAIN: usize = 8;
/// So many texts are expanded for one file in all: one variable may stand for many, and each of those too.
const MOST_EXPANDED: usize = 50_000;
/// A reference with more characters is not read: each `$` of a line is looked at, and none may look through all of it.
const LONGEST_REFERENCE: usize = 4096;
/// Nor is one with more brackets in one another, which nobody writes.
const DEEPEST_REFERENCE: usize = 32;
/// What cannot be told, as a part of a text.
const UNKNOWN: &str = "$(?)";

/// Where a text of a recipe stands.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) goal: &'a str,
    pub(super) rule: &'a Rule,
    /// The variables that have another value there than in the rest of the file.
    pub(super) own: &'a BTreeSet<String>,
}

impl Makefile {
    /// What a text with variables comes to before anything runs; `None` where that cannot be told.
    pub(super) fn told(&self, text: &str, environment: Environment<'_>, depth: usize) -> Option<String> {
        let (mut out, mut rest) = (String::new(), text);
        if self.spent.replace(self.spent.get() + 1) > MOST_EXPANDED {
            return None;
        }
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.told_one(after, environment, depth)?;
            out.push_str(&value);
            if out.len() > LONGEST || depth >= LONGEST_CHAIN {
                return None;
            }
            rest = after.get(length..)?;
        }
        Some(out + rest)
    }

    /// What stands behind a `$` comes to, and how long it is.
    fn told_one(&self, text: &str, environment: Environment<'_>, depth: usize) -> Option<(String, usize)> {
        let close = match text.chars().next()? {
            '$' => return Some(("$".to_owned(), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let end = closed(text, close)?;
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            Some(value) => self.told(value.as_ref()?, environment, depth + 1)?,
            // A file that is not at hand may set it.
            None if is_name(name) && self.open => return None,
            None if is_name(name) => environment(name).ok()?.unwrap_or_default(),
            None => {
                let (function, words) = name.split_once(' ')?;
                let words = self.told(words, environment, depth + 1)?;
                match (function, words.split_once(',')) {
                    ("strip", _) => words.split_whitespace().collect::<Vec<_>>().join(" "),
                    ("filter", Some((own, words))) if !own.contains('%') => {
                        let kept =
                            words.split_whitespace().filter(|word| own.split_whitespace().any(|one| one == *word));
                        kept.collect::<Vec<_>>().join(" ")
                    }
                    ("findstring", Some((part, whole))) => {
                        if whole.contains(part) {
                            part.to_owned()
                        } else {
                            String::new()
                        }
                    }
                    _ => return None,
                }
            }
        };
        Some((value, end + 1))
    }

    /// What `:=` makes of a text: what it comes to at this place, with `$(?)` for what cannot be told.
    pub(super) fn frozen(&self, text: &str, environment: Environment<'_>, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        let spent = self.spent.replace(self.spent.get() + 1) > MOST_EXPANDED;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if spent || out.len() > LONGEST || depth >= LONGEST_CHAIN {
                return out + UNKNOWN;
            }
            if let Some((value, length)) = self.told_one(after, environment, depth) {
                out.push_str(&value.replace('$', "$$"));
                rest = after.get(length..).unwrap_or("");
                continue;
            }
            let close = if after.starts_with('{') { '}' } else { ')' };
            let end = if after.starts_with(['(', '{']) { closed(after, close) } else { None };
            let Some(end) = end else { return out + UNKNOWN };
            match after.get(1..end).and_then(|name| self.variables.get(name)) {
                Some(Some(value)) => out.push_str(&self.frozen(value, environment, depth + 1)),
                _ => out.push_str(UNKNOWN),
            }
            rest = after.get(end + 1..).unwrap_or("");
        }
        out + rest
    }

    /// What stands behind a `$` comes to, and how long it is.
    pub(super) fn value(&self, text: &str, at: At<'_>, depth: usize) -> Option<(String, usize)> {
        let first = text.chars().next()?;
        let close = match first {
            '$' => return Some(("$".to_owned(), 1)),
            '@' => return Some((at.goal.to_owned(), 1)),
            '<' => return Some((at.rule.before.first().cloned().unwrap_or_default(), 1)),
            '^' => return Some((at.rule.before.join(" "), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let unknown = || "$(make)".to_owned();
        // What does not end, or is too long, may be anything.
        let Some(end) = closed(text, close) else { return Some((unknown(), text.len())) };
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            // Another value holds for the target.
            _ if at.own.contains(name) => unknown(),
            Some(Some(value)) if depth < LONGEST_CHAIN => self.whole(value, at, depth + 1),
            None if name == "MAKE" => "make".to_owned(),
            // A variable of the environment is one of the shell.
            None if is_name(name) && !self.open => format!("${{{name}}}"),
            _ => unknown(),
        };
        Some((value, end + 1))
    }

    fn whole(&self, text: &str, at: At<'_>, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        if self.spent.replace(self.spent.get() + 1) > MOST_EXPANDED {
            return "$(make)".to_owned();
        }
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.value(after, at, depth).unwrap_or_else(|| ("$".to_owned(), 0));
            out.push_str(&value);
            if out.len() > LONGEST {
                return out;
            }
            rest = after.get(length..).unwrap_or("");
        }
        out + rest
    }
}

/// Where the bracket closes that a text begins with; `None` where that is nowhere near.
fn closed(text: &str, close: char) -> Option<usize> {
    let first = text.chars().next()?;
    let mut open = 0_usize;
    for (at, c) in text.char_indices().take(LONGEST_REFERENCE) {
        open = if c == first { open + 1 } else { open.saturating_sub(usize::from(c == close)) };
        if open == 0 {
            return Some(at);
        }
        if open > DEEPEST_REFERENCE {
            return None;
        }
    }
    None
}

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
