//! `imagelint completions`: a shell completion script, generated from the flags.

use std::io::Write as _;

use clap::CommandFactory as _;

use crate::cli::args::{Args, CompletionsArgs};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::streams;

/// Runs `imagelint completions`.
pub(crate) fn run(options: &CompletionsArgs) -> Result<Exit, CommandError> {
    // Into memory first: the generator takes no writer that fails, and a pipe may be closed.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Args::command(), "imagelint", &mut script);
    streams::stdout().write_all(&script)?;
    Ok(Exit::Clean)
}
