//! `imagelint schema`: what reports look like.

use std::io;
use std::io::Write as _;

use crate::cli::Failure;
use crate::cli::exit::Exit;
use crate::report::schema;

/// Runs it.
pub(crate) fn run() -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{:#}", schema::schema())?;
    Ok(Exit::Clean)
}
