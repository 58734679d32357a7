//! The slow search for fixes, which runs outside of the session on a copy of the open documents.

use std::path::PathBuf;

use crate::cli::language_server::open_documents::OpenDocuments;
use crate::cli::language_server::workspace::{AnalysisLevel, DocumentAnalysis, DocumentKind, Workspace};

/// A search for fixes of one document that is ready to run.
pub struct FixSearch<W> {
    pub(super) world: W,
    pub(super) uri: String,
    pub(super) kind: DocumentKind,
    pub(super) path: Option<PathBuf>,
    pub(super) text: String,
    pub(super) open: OpenDocuments,
    pub(super) revision: u64,
}

/// The result of a search for fixes.
#[derive(Debug)]
pub struct FixSearchOutcome {
    pub(super) uri: String,
    pub(super) revision: u64,
    pub(super) analysis: DocumentAnalysis,
}

impl<W: Workspace> FixSearch<W> {
    /// Runs the search.
    pub fn run(mut self) -> FixSearchOutcome {
        let judged = self.world.analyze(self.kind, self.path.as_deref(), &self.text, &self.open, AnalysisLevel::Fixes);
        FixSearchOutcome { uri: self.uri, revision: self.revision, analysis: judged }
    }
}
