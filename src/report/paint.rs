//! Colours of the terminal for our own words, where they are wanted.

use crate::report::kinds::VerdictKind;
use std::borrow::Cow;

/// What a word means to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It works.
    Good,
    /// It does not.
    Bad,
    /// Nobody knows yet.
    Open,
    /// A heading.
    Strong,
    /// Of little interest.
    Faint,
}

/// The text in its colour, or as it is.
pub fn paint(text: &str, tone: Tone, color: bool) -> Cow<'_, str> {
    if !color {
        return Cow::Borrowed(text);
    }
    let code = match tone {
        Tone::Good => 32,
        Tone::Bad => 31,
        Tone::Open => 33,
        Tone::Strong => 1,
        Tone::Faint => 2,
    };
    Cow::Owned(format!("\u{1b}[{code}m{text}\u{1b}[0m"))
}

/// The tone of a fate.
pub fn tone_of(fate: VerdictKind) -> Tone {
    match fate {
        VerdictKind::Starts => Tone::Good,
        VerdictKind::Fails => Tone::Bad,
        VerdictKind::NotApplicable => Tone::Faint,
        VerdictKind::Depends | VerdictKind::Undetermined => Tone::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_only_where_asked() {
        assert_eq!(paint("x", tone_of(VerdictKind::Fails), false), "x");
        assert_eq!(paint("x", tone_of(VerdictKind::Fails), true), "\u{1b}[31mx\u{1b}[0m");
    }
}
