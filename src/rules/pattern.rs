//! Regular expressions of conditions, compiled when the condition is parsed or at the first use.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use crate::rules::page_error::Fault;
use crate::text::source::Span;

/// The maximum memory of a compiled regular expression in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 18;

/// The time at which the regular expressions of a condition are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternCompilation {
    /// When the condition is parsed, so that an invalid one is rejected.
    AtOnce,
    /// At the first use; a test compiles those of all built-in pages.
    AtFirstUse,
}

/// A regular expression of a condition.
#[derive(Clone, Debug)]
pub(super) struct ConditionPattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl ConditionPattern {
    /// Parses a regular expression; `span` is its span in the condition.
    pub(super) fn parse(text: &str, span: Span, when: PatternCompilation) -> Result<Self, Fault> {
        let compiled = match when {
            PatternCompilation::AtOnce => OnceLock::from(Some(
                compile_pattern(text).map_err(|error| Fault::new(span, invalid_pattern_reason(&error)))?,
            )),
            PatternCompilation::AtFirstUse => OnceLock::new(),
        };
        Ok(Self { text: text.to_owned(), compiled })
    }

    /// Whether the expression matches a part of a text; `None` if the expression is invalid.
    pub(super) fn matches(&self, text: &str) -> Option<bool> {
        let compiled = self.compiled.get_or_init(|| compile_pattern(&self.text).ok());
        compiled.as_ref().map(|regex| regex.is_match(text))
    }
}

/// Compiles a regular expression with limits on its size and depth.
fn compile_pattern(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).nest_limit(64).build()
}

/// Returns why a regular expression is invalid, in one line.
fn invalid_pattern_reason(error: &regex::Error) -> String {
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
    fn pattern_matches_the_same_after_every_compilation() {
        for when in [PatternCompilation::AtOnce, PatternCompilation::AtFirstUse] {
            let pattern = ConditionPattern::parse("^a+$", Span::default(), when).expect("a pattern");
            for (text, found) in [("aa", true), ("", false), ("ab", false), ("b", false)] {
                assert_eq!(pattern.matches(text), Some(found), "{text}");
            }
        }
    }

    #[test]
    fn invalid_pattern_is_refused_or_matches_nothing() {
        for text in ["(", "a{4000}{4000}", "[z-a]", "(?<x"] {
            assert!(ConditionPattern::parse(text, Span::default(), PatternCompilation::AtOnce).is_err(), "{text}");
            let late =
                ConditionPattern::parse(text, Span::default(), PatternCompilation::AtFirstUse).expect("not tried");
            assert_eq!(late.matches("a"), None, "{text}");
        }
    }
}
