//! What `lsp` takes.

use crate::cli::args::builds::BuildArgs;
use crate::cli::args::builds::BuildSet;
use crate::cli::args::judging::JudgingArgs;

/// What `lsp` takes: what `check` does, but for files and formats.
#[derive(Debug, clap::Args)]
pub(crate) struct LspArgs {
    /// Speak over standard input and output, as is done anyway: many editors say it.
    #[arg(long)]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) set: BuildSet,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}
