//! Terminal colors in the output of reports.

use std::borrow::Cow;

use crate::report::kinds::VerdictKind;

/// The meaning of a text, which determines its color.
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

/// Returns the text in the color of its tone, or unchanged without `color`.
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

/// Returns the tone of a kind of verdict.
pub fn verdict_kind_tone(fate: VerdictKind) -> Tone {
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
        assert_eq!(paint("x", verdict_kind_tone(VerdictKind::Fails), false), "x");
        assert_eq!(paint("x", verdict_kind_tone(VerdictKind::Fails), true), "\u{1b}[31mx\u{1b}[0m");
    }
}
