//! What an expansion comes to, and what it is told of a variable.

use crate::source::Span;

/// A text after expansion, or why it cannot be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
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
        reason: String,
    },
}

impl Resolved {
    /// A text that needs no expansion.
    pub fn literal(value: impl Into<String>) -> Self {
        Self::Known { value: value.into(), origins: Vec::new() }
    }

    /// The text, where it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Unresolved { .. } => None,
        }
    }

    /// Where the values in it are written; empty where it is not known.
    pub fn origins(&self) -> &[Span] {
        match self {
            Self::Known { origins, .. } => origins,
            Self::Unresolved { .. } => &[],
        }
    }
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Its value and where that is written.
    Known(String, Vec<Span>),
    /// Certainly not set.
    Unset,
    /// An ARG that has no value unless the command line gives one: plain use is unresolved, `:-` takes its default.
    NoValue,
    /// It may have any value: the names to blame and why.
    Unknown(Vec<String>, String),
}
