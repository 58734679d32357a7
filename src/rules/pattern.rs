//! Patterns of conditions: compiled when they are first asked for, or at once where nobody has tried them before.

use std::sync::OnceLock;

use regex::Regex;
use regex::RegexBuilder;

use crate::rules::problem::Fault;
use crate::source::Span;

/// Memory that one compiled pattern may take.
const BYTES: usize = 1 << 18;

/// When the patterns of a condition are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patterns {
    /// When the condition is read, so that one that cannot be used is refused.
    AtOnce,
    /// When they are asked for: a test has tried all those of the built-in pages.
    WhenAsked,
}

/// A regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// The pattern written at that place.
    pub(super) fn read(text: &str, span: Span, when: Patterns) -> Result<Self, Fault> {
        let compiled = match when {
            Patterns::AtOnce => OnceLock::from(Some(compile(text).map_err(|error| Fault::new(span, reason(&error)))?)),
            Patterns::WhenAsked => OnceLock::new(),
        };
        Ok(Self { text: text.to_owned(), compiled })
    }

    /// Whether a text has it; none where the pattern cannot be used.
    pub(super) fn is_in(&self, text: &str) -> Option<bool> {
        let compiled = self.compiled.get_or_init(|| compile(&self.text).ok());
        compiled.as_ref().map(|regex| regex.is_match(text))
    }
}

fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(BYTES).dfa_size_limit(BYTES).nest_limit(64).build()
}

fn reason(error: &regex::Error) -> String {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return "the pattern is too large".to_owned();
    }
    // The library draws its own picture of the pattern; its last line is the reason.
    let text = error.to_string();
    let reason = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    format!("invalid pattern: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_says_the_same_whenever_it_is_compiled() {
        for when in [Patterns::AtOnce, Patterns::WhenAsked] {
            let pattern = Pattern::read("^a+$", Span::default(), when).expect("a pattern");
            for (text, found) in [("aa", true), ("", false), ("ab", false), ("b", false)] {
                assert_eq!(pattern.is_in(text), Some(found), "{text}");
            }
        }
    }

    #[test]
    fn one_that_cannot_be_used_is_refused_or_says_nothing() {
        for text in ["(", "a{4000}{4000}", "[z-a]", "(?<x"] {
            assert!(Pattern::read(text, Span::default(), Patterns::AtOnce).is_err(), "{text}");
            let late = Pattern::read(text, Span::default(), Patterns::WhenAsked).expect("not tried");
            assert_eq!(late.is_in("a"), None, "{text}");
        }
    }
}
