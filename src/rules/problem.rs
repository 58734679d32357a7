//! What is wrong with a page, as the place in its text, a reason and a way out.

use miette::Diagnostic;
use miette::NamedSource;
use miette::SourceSpan;
use thiserror::Error;

use crate::nearest::nearest;
use crate::source::Span;

/// Something wrong at a place in a text whose name is not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Place.
    pub span: Span,
    /// What is wrong there.
    pub reason: String,
    /// What to do.
    pub help: Option<String>,
}

impl Fault {
    pub(super) fn new(span: Span, reason: impl Into<String>) -> Self {
        Self { span, reason: reason.into(), help: None }
    }

    pub(super) fn help(self, help: impl Into<Option<String>>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// The same, of a text that begins at `start` in a larger one.
    pub(super) fn shifted(self, start: usize) -> Self {
        Self { span: Span::new(self.span.start + start, self.span.end + start), ..self }
    }

    /// The refusal of the page that the text belongs to.
    pub(super) fn of(self, path: &str, text: &str) -> PageError {
        // A label of no length at the end of a text is not drawn, so it covers the last character instead.
        let start = self.span.start.min(text.len().saturating_sub(1));
        let length = self.span.len().max(1).min(text.len() - start);
        PageError {
            path: path.to_owned(),
            text: NamedSource::new(path, text.to_owned()),
            at: (start, length).into(),
            reason: self.reason,
            help: self.help,
        }
    }
}

/// A rule page that cannot be used.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("cannot use the rule page `{path}`: {reason}")]
pub struct PageError {
    path: String,
    #[source_code]
    text: NamedSource<String>,
    #[label("{reason}")]
    at: SourceSpan,
    reason: String,
    #[help]
    help: Option<String>,
}

impl PageError {
    /// Path of the page as given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The place in the page.
    pub fn span(&self) -> Span {
        Span::new(self.at.offset(), self.at.offset() + self.at.len())
    }

    /// What to do, where something is likely.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// A help line that offers the nearest word.
pub(super) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}
