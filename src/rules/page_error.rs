//! Errors in rule pages: the span in the text, the message and an advice.

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::text::nearest::nearest_word;
use crate::text::source::Span;

/// An error at a span of a text, without the path of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The span in the text.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// The advice.
    pub help: Option<String>,
}

impl Fault {
    /// Returns an error without an advice.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None }
    }

    /// Returns the same error with an advice.
    pub(super) fn with_help(self, help: impl Into<Option<String>>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Returns the same error with its span moved by `start` bytes, for a surrounding text.
    pub(super) fn shifted(self, start: usize) -> Self {
        Self { span: Span::new(self.span.start + start, self.span.end + start), ..self }
    }

    /// Converts the error into one of the page with this path and text.
    pub(super) fn into_page_error(self, path: &str, text: &str) -> RulePageError {
        // A label of no length at the end of a text is not drawn, so it covers the last character instead.
        let start = self.span.start.min(text.len().saturating_sub(1));
        let length = self.span.len().max(1).min(text.len() - start);
        RulePageError {
            path: path.to_owned(),
            text: NamedSource::new(path, text.to_owned()),
            at: (start, length).into(),
            message: self.message,
            help: self.help,
        }
    }
}

/// An invalid rule page, with the location of the error.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("cannot use the rule page `{path}`: {message}")]
pub struct RulePageError {
    path: String,
    #[source_code]
    text: NamedSource<String>,
    #[label("{message}")]
    at: SourceSpan,
    message: String,
    #[help]
    help: Option<String>,
}

impl RulePageError {
    /// Returns the path of the page.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the span in the page.
    pub fn span(&self) -> Span {
        Span::new(self.at.offset(), self.at.offset() + self.at.len())
    }

    /// Returns how to correct the error, if there is an advice.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// Returns an advice with the candidate that is most similar to a word, if one is similar enough.
pub(super) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest_word(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}
