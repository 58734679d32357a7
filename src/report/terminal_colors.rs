//! Terminal colors in the output of reports.

use std::borrow::Cow;

use crate::report::kinds::VerdictKind;

/// The meaning of a text, which determines its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// It works.
    Good,
    /// It does not.
    Bad,
    /// Undetermined.
    Open,
    /// A heading.
    Strong,
    /// Of little interest.
    Faint,
}

/// Returns the text in the color of its tone, or unchanged without `color`.
pub fn paint(text: &str, tone: TextStyle, color: bool) -> Cow<'_, str> {
    if !color {
        return Cow::Borrowed(text);
    }
    let code = match tone {
        TextStyle::Good => 32,
        TextStyle::Bad => 31,
        TextStyle::Open => 33,
        TextStyle::Strong => 1,
        TextStyle::Faint => 2,
    };
    Cow::Owned(format!("\u{1b}[{code}m{text}\u{1b}[0m"))
}

/// Returns the tone of a kind of verdict.
pub fn verdict_kind_tone(fate: VerdictKind) -> TextStyle {
    match fate {
        VerdictKind::Starts => TextStyle::Good,
        VerdictKind::Fails => TextStyle::Bad,
        VerdictKind::NotApplicable => TextStyle::Faint,
        VerdictKind::Depends | VerdictKind::Undetermined => TextStyle::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_written_only_if_enabled() {
        assert_eq!(paint("x", verdict_kind_tone(VerdictKind::Fails), false), "x");
        assert_eq!(paint("x", verdict_kind_tone(VerdictKind::Fails), true), "\u{1b}[31mx\u{1b}[0m");
    }
}
