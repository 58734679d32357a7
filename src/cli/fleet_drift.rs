//! `imagelint fleet check --against`: differences between a fleet file and the machines.

use std::io;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::args::OutputFormat;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::{fleet_import, streams};
use crate::fleet::inventory::{Drift, Inventory};
use crate::fleet::{Fleet, inventory};
use crate::knowledge::Knowledge;
use crate::report::escape::escape_one_line;
use crate::report::phrases::pluralize;

/// Compares the fleet file with the machines, and prints every difference.
pub(crate) fn print_drift(
    fleet: &Fleet,
    against: &[PathBuf],
    format: OutputFormat,
    knowledge: Knowledge,
) -> Result<Exit, CommandError> {
    if fleet.built_in {
        return Err(CommandError::Message("error: there is no fleet file to compare; pass one".to_owned()));
    }
    let mut seen = Inventory::default();
    for path in against {
        seen.merge(fleet_import::read_source(path, knowledge)?);
    }
    let found = inventory::fleet_drift(fleet, &seen, knowledge);
    let mut out = io::BufWriter::new(streams::stdout());
    match format {
        OutputFormat::Json => {
            let one = |drift: &Drift| json!({ "pool": drift.pool, "what": drift.what, "declared": drift.declared, "seen": drift.seen });
            let drift: Vec<Value> = found.iter().map(one).collect();
            writeln!(out, "{:#}", json!({ "fleet": fleet.name, "machines": seen.machines.len(), "drift": drift }))?;
        }
        OutputFormat::Human => {
            for drift in &found {
                writeln!(out, "{}", drift_line(drift))?;
            }
            let how = match found.len() {
                0 => "no differences".to_owned(),
                some => pluralize(some, "difference"),
            };
            let machines = pluralize(seen.machines.len(), "machine");
            writeln!(out, "{}: {how} from {machines} with GPUs", fleet.name)?;
        }
    }
    out.flush()?;
    Ok(if found.is_empty() { Exit::Clean } else { Exit::Found })
}

/// Returns a difference as one line of text.
fn drift_line(drift: &Drift) -> String {
    let Drift { pool, what, declared, seen } = drift;
    let text = match *what {
        "new" => format!("new: {pool}: {seen}, in no pool"),
        "vanished" => format!("{pool}: vanished: declared with {declared}, but no node matches"),
        _ => format!("{pool}: {what}: declared {declared}, found {seen}"),
    };
    // Labels and names come from outside.
    escape_one_line(&text).into_owned()
}
