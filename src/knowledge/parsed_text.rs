//! Fields that the tables store as text and that are parsed at first use.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use crate::model::package::{ExactVersion, VersionRange};

/// A version in a row, such as `2.6.0`.
pub type RowVersion = &'static ParsedText<ExactVersion>;

/// A range of versions in a row, such as `>=2.1,<3`.
pub type RowRange = &'static ParsedText<VersionRange>;

/// A value with its text: the statics of the built-in tables contain the text, and the first use parses it.
pub struct ParsedText<T> {
    text: &'static str,
    value: OnceLock<T>,
}

impl<T> ParsedText<T> {
    /// Returns a value that is not parsed yet.
    pub const fn new(text: &'static str) -> Self {
        Self { text, value: OnceLock::new() }
    }

    /// Returns a value that lives as long as the process, as the rows of a user's tables do.
    pub fn leak(text: &str) -> &'static Self {
        Box::leak(Box::new(Self::new(text.to_owned().leak())))
    }

    /// Returns the text, without parsing it.
    pub const fn as_str(&self) -> &'static str {
        self.text
    }
}

impl<T: From<&'static str> + Clone> ParsedText<T> {
    /// Returns a copy of the value.
    pub fn cloned(&self) -> T {
        T::clone(self)
    }
}

impl<T: From<&'static str>> Deref for ParsedText<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.get_or_init(|| T::from(self.text))
    }
}

impl<T> PartialEq for ParsedText<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T> Eq for ParsedText<T> {}

impl<T> fmt::Debug for ParsedText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text, f)
    }
}

impl<T> fmt::Display for ParsedText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text)
    }
}
