//! What a session needs from outside: files, the fleet and the analysis.

use std::path::{Path, PathBuf};

use crate::cli::language_server::open_documents::OpenDocuments;
use crate::report::model::Report;
use crate::text::source::{Sources, Span};

/// What kind of input a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A Dockerfile.
    Dockerfile,
    /// An image description.
    Description,
    /// A fleet file.
    Fleet,
    /// A file that Dockerfiles may read, such as a requirements file.
    List,
    /// A document that is not analyzed.
    Other,
}

/// How much an analysis computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnalysisLevel {
    /// Verdicts and findings.
    Findings,
    /// Verdicts, findings and facts.
    Facts,
    /// Verdicts, findings, facts and fixes.
    Fixes,
}

/// The result of analyzing a document.
#[derive(Debug, Default)]
pub struct DocumentAnalysis {
    /// The report on the document; `None` if it was not analyzed.
    pub report: Option<Report>,
    /// The analyzed texts, into which the locations point.
    pub sources: Sources,
    /// Errors in settings and fleet files: the name of the text, the span and the message.
    pub mistakes: Vec<(String, Span, String)>,
    /// The reason why the document was not analyzed.
    pub refused: Option<String>,
}

/// Reads files and analyzes documents for a session.
pub trait Workspace {
    /// Sets the workspace folder, to which file names are relative.
    fn set_root_folder(&mut self, folder: &Path);
    /// Returns the absolute path of a file that a report names.
    fn absolute_path(&self, name: &str) -> PathBuf;
    /// Returns the kind of a document by its file name and the language id of the editor.
    fn document_kind(&self, path: Option<&Path>, language: &str) -> DocumentKind;
    /// Analyzes a document; `path` is its own, if it has one.
    fn analyze(
        &mut self,
        kind: DocumentKind,
        path: Option<&Path>,
        text: &str,
        open: &OpenDocuments,
        depth: AnalysisLevel,
    ) -> DocumentAnalysis;
    /// Returns the names of the pools that can be written in a document.
    fn pool_names(&mut self, path: Option<&Path>, open: &OpenDocuments) -> Vec<String>;
    /// Returns the names of all rules.
    fn rule_names(&mut self, path: Option<&Path>) -> Vec<String>;
    /// Returns the names of all GPUs.
    fn gpu_names(&self) -> Vec<String>;
    /// Returns the tags of a base image, the newest first.
    fn base_image_tags(&self, repository: &str) -> Vec<String>;
    /// Discards cached files after a change on disk.
    fn refresh(&mut self);
}
