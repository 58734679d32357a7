//! What lies around a session: files, the fleet, the judge.

use std::path::Path;
use std::path::PathBuf;

use crate::lsp::document::Open;
use crate::report::model::Report;
use crate::source::Sources;
use crate::source::Span;

/// What a document is to the linter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Dockerfile.
    Dockerfile,
    /// An image description.
    Description,
    /// A fleet file.
    Fleet,
    /// Perhaps a file that Dockerfiles read.
    List,
    /// Nothing that is judged.
    Other,
}

/// How much is wanted of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Verdicts and findings.
    Findings,
    /// Facts as well.
    Facts,
    /// Changes that cure as well.
    Fixes,
}

/// What became of a document.
#[derive(Debug, Default)]
pub struct Judged {
    /// Subjects, the fleet, and what could not be read; none where it was not judged.
    pub report: Option<Report>,
    /// The texts that places point into, as they were judged.
    pub sources: Sources,
    /// Mistakes with their place: the name of the text, the span in it, and what is told.
    pub mistakes: Vec<(String, Span, String)>,
    /// Why nothing was judged.
    pub refused: Option<String>,
}

/// Reads files and judges.
pub trait World {
    /// The folder that is open in the editor: names of files count from there.
    fn enter(&mut self, folder: &Path);
    /// The full path of a file that a report names.
    fn full(&self, name: &str) -> PathBuf;
    /// What a document is, by its name and the editor's word for its language.
    fn kind(&self, path: Option<&Path>, language: &str) -> Kind;
    /// Judges a document; `path` is its own, where it has one.
    fn judge(&mut self, kind: Kind, path: Option<&Path>, text: &str, open: &Open, depth: Depth) -> Judged;
    /// What may stand at a place of a text.
    fn pools(&mut self, path: Option<&Path>, open: &Open) -> Vec<String>;
    /// The names of all rules.
    fn rules(&mut self, path: Option<&Path>) -> Vec<String>;
    /// Names of GPUs.
    fn gpus(&self) -> Vec<String>;
    /// Tags of a base image, the newest first.
    fn tags(&self, repository: &str) -> Vec<String>;
    /// Something on the disk changed.
    fn refresh(&mut self);
}
