//! The results of variable expansion and variable lookup.

use crate::model::cause::Cause;
use crate::text::source::Span;

/// A text after expansion, or why it cannot be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpandedText {
    /// The text, and the values in the source that went into it.
    Known {
        /// The expanded text.
        value: String,
        /// Where the values of its variables are written.
        origins: Vec<Span>,
    },
    /// Some of it is not known from the file.
    Unresolved {
        /// The variables to blame; none for templating and command substitution.
        names: Vec<String>,
        /// Why.
        reason: Box<Cause>,
    },
}

impl ExpandedText {
    /// Returns an unknown text: the variables to blame, and why.
    pub fn unresolved(names: Vec<String>, reason: Cause) -> Self {
        Self::Unresolved { names, reason: Box::new(reason) }
    }

    /// Creates a text without variables.
    pub fn literal(value: impl Into<String>) -> Self {
        Self::Known { value: value.into(), origins: Vec::new() }
    }

    /// Returns the text, where it is known.
    pub fn known_text(&self) -> Option<&str> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Unresolved { .. } => None,
        }
    }

    /// Returns the source spans of the values in the text; empty where it is unknown.
    pub fn origins(&self) -> &[Span] {
        match self {
            Self::Known { origins, .. } => origins,
            Self::Unresolved { .. } => &[],
        }
    }
}

/// The result of looking up a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableLookup {
    /// Its value and where that is written.
    Known(String, Vec<Span>),
    /// Certainly not set.
    Unset,
    /// An ARG that has no value unless the command line gives one: plain use is unresolved, `:-` takes its default.
    NoValue,
    /// It may have any value: the names to blame and why.
    Unknown(Vec<String>, Cause),
}
