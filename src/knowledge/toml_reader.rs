//! Reads TOML values with their spans, and reports all errors of a file at once.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::knowledge::Knowledge;
use crate::text::nearest::nearest_word;
use crate::text::source::{SourceText, Span};

/// An error in a TOML file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The span of the error.
    pub span: Span,
    /// The error message.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Another span that this one contradicts, with a label for it.
    pub conflict: Option<(Span, String)>,
}

impl Problem {
    /// Returns the help, unless it has several lines.
    fn single_line_help(&self) -> Option<&str> {
        self.help.as_deref().filter(|help| !help.contains('\n'))
    }
}

/// All errors of a TOML file, shown in the text of the file.
#[derive(Debug)]
pub struct Problems {
    what: &'static str,
    source: NamedSource<String>,
    all: Vec<Problem>,
}

impl Problems {
    /// Returns the errors in the order of the file; at least one.
    pub fn all(&self) -> &[Problem] {
        &self.all
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.all.len();
        let errors = if count == 1 { "error" } else { "errors" };
        write!(f, "{count} {errors} in the {} `{}`", self.what, self.source.name())?;
        // In a file without a line nothing can be underlined.
        match self.all.first().filter(|_| self.source.inner().trim().is_empty()) {
            Some(problem) => write!(f, ": {}", problem.message),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problems {}

impl Diagnostic for Problems {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = |span: Span, message: &str| LabeledSpan::new(Some(message.to_owned()), span.start, span.len());
        let several = self.all.len() > 1;
        let own = self.all.iter().map(move |problem| match problem.single_line_help().filter(|_| several) {
            Some(help) => label(problem.span, &format!("{}; {help}", problem.message)),
            None => label(problem.span, &problem.message),
        });
        let others = self.all.iter().filter_map(|problem| problem.conflict.as_ref());
        Some(Box::new(own.chain(others.map(move |(span, message)| label(*span, message)))))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        // Each of several errors has its help on the same line, unless that has several lines.
        let several = self.all.len() > 1;
        let below = self.all.iter().filter(|problem| !several || problem.single_line_help().is_none());
        let mut lines: Vec<&str> = below.filter_map(|problem| problem.help.as_deref()).collect();
        lines.dedup();
        if lines.is_empty() { None } else { Some(Box::new(lines.join("\n"))) }
    }
}

/// A TOML value with its span.
pub(crate) type Value<'i> = Spanned<DeValue<'i>>;

/// A key with its span and its value.
pub(crate) type TomlEntry<'t, 'i> = (&'t str, Span, &'t Value<'i>);

/// Returns the span of a key, value or table.
pub(crate) fn span_of<T>(node: &Spanned<T>) -> Span {
    let range = node.span();
    Span::new(range.start, range.end)
}

/// Returns the entries of a table in the order of the file.
pub(crate) fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<TomlEntry<'t, 'i>> {
    let mut entries: Vec<TomlEntry<'t, 'i>> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), span_of(key), value)).collect();
    entries.sort_by_key(|(_, span, value)| (*span, span_of(value)));
    entries
}

/// Returns the type of a value for an error message: `a string`, `an integer`, ...
pub(crate) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Reads values of a TOML file and collects its errors.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    /// Parses a text; after a syntax error nothing else is reported.
    pub(crate) fn parse<'i>(&mut self, text: &'i SourceText) -> Spanned<DeTable<'i>> {
        let (table, errors) = DeTable::parse_recoverable(text.text());
        if let Some(error) = errors.first() {
            let range = error.span().unwrap_or(0..0);
            self.report(Span::new(range.start, range.end), error.message(), None);
        }
        table
    }

    /// Whether no error was reported so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Reports an error.
    pub(crate) fn report(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        self.problems.push(Problem { span, message: message.into(), help, conflict: None });
    }

    /// Reports an error in two places that contradict each other.
    pub(crate) fn report_conflict(&mut self, span: Span, message: impl Into<String>, against: (Span, String)) {
        self.problems.push(Problem { span, message: message.into(), help: None, conflict: Some(against) });
    }

    /// Returns the value, or all errors if there are any.
    pub(crate) fn finish<T>(mut self, what: &'static str, text: &SourceText, value: T) -> Result<T, Box<Problems>> {
        if self.is_clean() {
            return Ok(value);
        }
        self.problems.sort_by_key(|problem| problem.span);
        let source = NamedSource::new(text.name(), text.text().to_owned());
        Err(Box::new(Problems { what, source, all: self.problems }))
    }

    /// Reports a key that is not one of `known`.
    pub(crate) fn unknown_key(&mut self, key: &str, span: Span, known: &[&str]) {
        let help = nearest_word(key, known.iter().copied())
            .map_or_else(|| format!("the keys are {}", known.join(", ")), |word| format!("did you mean `{word}`?"));
        self.report(span, format!("unknown key `{key}`"), Some(help));
    }

    /// Reports a word that is not one of `known`.
    pub(crate) fn unknown_word(&mut self, what: &str, word: &str, span: Span, known: &[&str]) {
        let help = Knowledge::built_in().did_you_mean(word, known);
        let help = help.unwrap_or_else(|| format!("one of {}", known.join(", ")));
        self.report(span, format!("unknown {what} `{word}`"), Some(help));
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, key: &str, value: &Value<'_>, expected: &str) {
        let written = match value.get_ref() {
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Float(number) => Some(number.to_string()),
            DeValue::Boolean(boolean) => Some(boolean.to_string()),
            _ => None,
        };
        let help =
            written.filter(|_| expected.contains("string")).map(|written| format!("put it in quotes: \"{written}\""));
        self.report(span_of(value), format!("`{key}` is {}, expected {expected}", type_name(value.get_ref())), help);
    }

    /// Returns a string; reports any other type.
    pub(crate) fn string(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(key, value, "a string");
        }
        text
    }

    /// Returns a boolean; reports any other type.
    pub(crate) fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.wrong_type(key, value, "true or false");
        }
        boolean
    }

    /// Returns a whole number that is not negative; reports any other value.
    pub(crate) fn number(&mut self, key: &str, value: &Value<'_>) -> Option<u32> {
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u32::from_str_radix(integer.as_str(), integer.radix()).ok());
        if number.is_none() {
            self.wrong_type(key, value, "a whole number from 0");
        }
        number
    }

    /// Reports an empty list under a key that must have elements or be left out.
    pub(crate) fn require_not_empty(&mut self, span: Span, value: &Value<'_>, message: &str) {
        if value.get_ref().as_array().is_some_and(|list| list.is_empty()) {
            self.report(span, message, None);
        }
    }

    /// Returns the elements of a list; any other value counts as its only element.
    pub(crate) fn one_or_more<'t, 'i>(value: &'t Value<'i>) -> Vec<&'t Value<'i>> {
        value.get_ref().as_array().map_or_else(|| vec![value], |list| list.iter().collect())
    }

    /// Returns a table; reports any other type.
    pub(crate) fn table<'t, 'i>(&mut self, key: &str, value: &'t Value<'i>) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong_type(key, value, "a table");
        }
        table
    }
}
