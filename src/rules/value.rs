//! Values of facts, their types, the lookup of facts in a scope, and three-valued logic.

use std::fmt;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::DottedVersion;

/// The type of a fact or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// `true` or `false`.
    Bool,
    /// A string; only compared for equality.
    Text,
    /// A dotted version, compared number by number.
    Version,
    /// An integer.
    Number,
    /// A date.
    Date,
    /// A list of strings.
    List,
}

impl ValueType {
    /// Returns the name of the type in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Text => "text",
            Self::Version => "version",
            Self::Number => "number",
            Self::Date => "date",
            Self::List => "list",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "Boolean",
            Self::Text => "string",
            Self::Version => "version",
            Self::Number => "number",
            Self::Date => "date",
            Self::List => "list of strings",
        })
    }
}

/// The value of a fact or an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactValue {
    /// A value of the type `Bool`.
    Bool(bool),
    /// A value of the type `Text`.
    Text(String),
    /// A value of the type `Version`.
    Version(DottedVersion),
    /// A value of the type `Number`.
    Number(i64),
    /// A value of the type `Date`.
    Date(Date),
    /// A complete list.
    List(Arc<[String]>),
    /// An incomplete list: there may be more entries.
    Seen(Arc<[String]>),
}

impl FactValue {
    /// Returns the type of the value.
    pub const fn value_type(&self) -> ValueType {
        match self {
            Self::Bool(_) => ValueType::Bool,
            Self::Text(_) => ValueType::Text,
            Self::Version(_) => ValueType::Version,
            Self::Number(_) => ValueType::Number,
            Self::Date(_) => ValueType::Date,
            Self::List(_) | Self::Seen(_) => ValueType::List,
        }
    }
}

impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
            Self::Version(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Date(value) => value.fmt(f),
            Self::List(values) => f.write_str(&values.join(", ")),
            Self::Seen(values) => write!(f, "{}, and uninspected entries", values.join(", ")),
        }
    }
}

/// The result of looking up a fact in a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactLookup {
    /// The fact has this value.
    Known(FactValue),
    /// The fact is known to have no value.
    Absent,
    /// The fact could not be determined.
    Unknown,
}

/// A source of facts under the names of the vocabulary.
pub trait FactScope {
    /// Looks up the fact of that name; `component.*` names only have values in the scopes of `components`.
    fn value(&self, name: &str) -> FactLookup;

    /// Returns the components of the image; by default an incomplete list without entries.
    fn components(&self) -> ComponentScopes<'_> {
        ComponentScopes { list: Vec::new(), complete: false }
    }
}

/// The components of an image.
pub struct ComponentScopes<'a> {
    /// The detected components; each is a scope for the `component.*` names.
    pub list: Vec<Box<dyn FactScope + 'a>>,
    /// Whether the image has no other components.
    pub complete: bool,
}

/// A truth value of Kleene's three-valued logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The condition is true.
    True,
    /// The condition is false.
    False,
    /// A fact that decides it is unknown.
    Unknown,
}

impl Truth {
    /// Returns the conjunction; it is false if either side is false.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }

    /// Returns the disjunction; it is true if either side is true.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::False, Self::False) => Self::False,
            _ => Self::Unknown,
        }
    }

    /// Returns the negation; `Unknown` stays unknown.
    #[must_use]
    pub const fn negate(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}
