//! What conditions and messages are made of: values, facts as a scope gives them, and truth in three values.

use std::fmt;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::DottedVersion;

/// What a fact or an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// Text, compared for equality only.
    Text,
    /// A dotted version, ordered by number.
    Version,
    /// An integer.
    Number,
    /// A day.
    Date,
    /// A list of texts.
    List,
}

impl Type {
    /// The type's name in JSON.
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

impl fmt::Display for Type {
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

/// A value of one of the types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// See [`Type::Bool`].
    Bool(bool),
    /// See [`Type::Text`].
    Text(String),
    /// See [`Type::Version`].
    Version(DottedVersion),
    /// See [`Type::Number`].
    Number(i64),
    /// See [`Type::Date`].
    Date(Date),
    /// See [`Type::List`]: all that there is.
    List(Arc<[String]>),
    /// See [`Type::List`]: what was seen, and there may be more.
    Seen(Arc<[String]>),
}

impl Value {
    /// Its type.
    pub const fn kind(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Text(_) => Type::Text,
            Self::Version(_) => Type::Version,
            Self::Number(_) => Type::Number,
            Self::Date(_) => Type::Date,
            Self::List(_) | Self::Seen(_) => Type::List,
        }
    }
}

impl fmt::Display for Value {
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

/// What a scope knows of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It has this value.
    Known(Value),
    /// It was looked for and is not there.
    Absent,
    /// It could not be found out.
    Unknown,
}

/// Facts under the names of the vocabulary.
pub trait Scope {
    /// The fact of that name; `component.*` names are asked of the scopes in [`Scope::components`] alone.
    fn value(&self, name: &str) -> Lookup;

    /// The components of the image; none are known unless a scope says otherwise.
    fn components(&self) -> Components<'_> {
        Components { list: Vec::new(), complete: false }
    }
}

/// The components of an image.
pub struct Components<'a> {
    /// Those that were seen, each answering to the `component.*` names.
    pub list: Vec<Box<dyn Scope + 'a>>,
    /// Whether there are no others.
    pub complete: bool,
}

/// Truth by Kleene's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// A fact is missing to tell.
    Unknown,
}

impl Truth {
    /// Holds where both hold; `False` on either side decides.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }

    /// Holds where either holds; `True` on either side decides.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::False, Self::False) => Self::False,
            _ => Self::Unknown,
        }
    }

    /// The opposite; `Unknown` stays.
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
