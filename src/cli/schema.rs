//! `imagelint schema`: what reports look like.

use std::io::Write as _;

use crate::cli::Failure;
use crate::cli::args::SchemaArgs;
use crate::cli::args::SchemaOf;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::schema;

/// Runs it.
pub(crate) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.of {
        SchemaOf::Json => schema::schema(),
        SchemaOf::Ndjson => schema::lines(),
    };
    let mut out = streams::out();
    writeln!(out, "{schema:#}")?;
    Ok(Exit::Clean)
}
