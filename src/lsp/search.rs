//! The search for cures, which takes its time: made on a copy of what is open, beside the session.

use std::path::PathBuf;

use crate::lsp::document::Open;
use crate::lsp::world::Depth;
use crate::lsp::world::Judged;
use crate::lsp::world::Kind;
use crate::lsp::world::World;

/// A search that is to be made.
pub struct Search<W> {
    pub(super) world: W,
    pub(super) uri: String,
    pub(super) kind: Kind,
    pub(super) path: Option<PathBuf>,
    pub(super) text: String,
    pub(super) open: Open,
    pub(super) serial: u64,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    pub(super) uri: String,
    pub(super) serial: u64,
    pub(super) judged: Judged,
}

impl<W: World> Search<W> {
    /// Makes it.
    pub fn run(mut self) -> Found {
        let judged = self.world.judge(self.kind, self.path.as_deref(), &self.text, &self.open, Depth::Fixes);
        Found { uri: self.uri, serial: self.serial, judged }
    }
}
