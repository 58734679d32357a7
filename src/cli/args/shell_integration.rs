//! Arguments of `imagelint completions` and `imagelint man`.

use std::path::PathBuf;

use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Directory for the manual pages
    ///
    /// imagelint replaces files of the same names.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
