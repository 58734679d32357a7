//! What `completions` and `man` take.

use std::path::PathBuf;

use clap_complete::Shell;

/// What `completions` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// What `man` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages; files of the same names are replaced.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
