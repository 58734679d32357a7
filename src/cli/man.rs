//! `imagelint man`: the manual, made from the flags.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::Failure;
use crate::cli::args::Args;
use crate::cli::args::ManArgs;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::escape::clean;

/// Runs it.
pub(crate) fn run(options: &ManArgs) -> Result<Exit, Failure> {
    let folder = &options.folder;
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Args::command(), folder));
    written.map_err(|error| cannot(folder, &error))?;
    let name = folder.display().to_string();
    writeln!(streams::out(), "manual pages are in {}; man -l {0}/imagelint.1 shows the first", clean(&name))?;
    Ok(Exit::Clean)
}

fn cannot(folder: &Path, error: &io::Error) -> Failure {
    let text = format!("error: cannot write manual pages into {}: {error}", folder.display());
    Failure::Said(clean(&text).into_owned())
}
