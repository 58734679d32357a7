//! `imagelint schema`: prints the JSON schema of reports.

use std::io::Write as _;

use crate::cli::args::{SchemaArgs, SchemaFormat};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::schema;

/// Runs `imagelint schema`.
pub(crate) fn run(args: &SchemaArgs) -> Result<Exit, CommandError> {
    let schema = match args.of {
        SchemaFormat::Json => schema::report_schema(),
        SchemaFormat::Ndjson => schema::ndjson_line_schema(),
    };
    let mut out = streams::stdout();
    writeln!(out, "{schema:#}")?;
    Ok(Exit::Clean)
}
