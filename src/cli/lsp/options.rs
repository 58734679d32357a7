//! Options of the command line that apply to every document.

use crate::cli::args::{BuildArgs, BuildTargetArgs, JudgingArgs};

/// Options of the command line that apply to every document.
#[derive(Debug)]
pub(super) struct LspOptions<'a> {
    pub(super) build: BuildArgs,
    pub(super) set: &'a BuildTargetArgs,
    pub(super) judging: JudgingArgs,
}
