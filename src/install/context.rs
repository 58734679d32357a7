//! Context that a command is read in: variables, files, marker environment and knowledge.

use crate::dockerfile::context::ParseCache;
use crate::dockerfile::{MappedText, VariableLookup};
use crate::install::marker::MarkerEnvironment;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::text::source::SourceId;

/// A file of the image as a command reads it.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    /// The source that its spans refer to; `None` for the command itself.
    pub source: Option<SourceId>,
    /// The path in the image.
    pub path: String,
    /// The contents.
    pub text: MappedText,
    /// The cached parse result.
    pub kept: ParseCache,
}

impl OpenedFile {
    /// Creates a file without a cached parse result.
    pub fn new(source: Option<SourceId>, path: impl Into<String>, text: MappedText) -> Self {
        Self { source, path: path.into(), text, kept: ParseCache::default() }
    }

    /// Returns the same file with other contents.
    #[must_use]
    pub fn with_text(&self, text: MappedText) -> Self {
        Self::new(self.source, self.path.clone(), text)
    }
}

/// The context of a command: variables, files, marker environment and knowledge.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// Looks up a variable that the command does not set itself.
    pub lookup: &'a dyn Fn(&str) -> VariableLookup,
    /// Opens a path relative to a folder; an empty folder is the working directory. An error is why that is not
    /// possible.
    pub open: &'a dyn Fn(&str, &str) -> Result<OpenedFile, Cause>,
    /// The environment that markers are evaluated for.
    pub environment: MarkerEnvironment<'a>,
    /// The knowledge tables.
    pub knowledge: Knowledge,
}
