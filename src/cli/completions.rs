//! `imagelint completions`: a script for a shell, made from the flags.

use std::io::Write as _;

use clap::CommandFactory as _;

use crate::cli::Failure;
use crate::cli::args::Args;
use crate::cli::args::CompletionsArgs;
use crate::cli::exit::Exit;
use crate::cli::streams;

/// Runs it.
pub(crate) fn run(options: &CompletionsArgs) -> Result<Exit, Failure> {
    // Into memory first: the generator takes no writer that fails, and a pipe may be closed.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Args::command(), "imagelint", &mut script);
    streams::out().write_all(&script)?;
    Ok(Exit::Clean)
}
