//! `imagelint fleet check --against`: what a fleet file says and the machines do not.

use std::io;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::Format;
use crate::cli::exit::Exit;
use crate::cli::fleet_import;
use crate::cli::streams;
use crate::fleet::Fleet;
use crate::inventory;
use crate::inventory::Drift;
use crate::inventory::Inventory;
use crate::knowledge::Knowledge;
use crate::report::escape::clean;
use crate::report::words::count;

/// Compares, and tells every difference.
pub(crate) fn run(fleet: &Fleet, against: &[PathBuf], format: Format, knowledge: Knowledge) -> Result<Exit, Failure> {
    if fleet.built_in {
        return Err(Failure::Said("error: there is no fleet file to compare; pass one".to_owned()));
    }
    let mut seen = Inventory::default();
    for path in against {
        seen.join(fleet_import::source(path, knowledge)?);
    }
    let found = inventory::drift(fleet, &seen, knowledge);
    let mut out = io::BufWriter::new(streams::out());
    match format {
        Format::Json => {
            let one = |drift: &Drift| json!({ "pool": drift.pool, "what": drift.what, "declared": drift.declared, "seen": drift.seen });
            let drift: Vec<Value> = found.iter().map(one).collect();
            writeln!(out, "{:#}", json!({ "fleet": fleet.name, "machines": seen.machines.len(), "drift": drift }))?;
        }
        Format::Human => {
            for drift in &found {
                writeln!(out, "{}", told(drift))?;
            }
            let how = match found.len() {
                0 => "no differences".to_owned(),
                some => count(some, "difference"),
            };
            let machines = count(seen.machines.len(), "machine");
            writeln!(out, "{}: {how} from {machines} with GPUs", fleet.name)?;
        }
    }
    out.flush()?;
    Ok(if found.is_empty() { Exit::Clean } else { Exit::Found })
}

fn told(drift: &Drift) -> String {
    let Drift { pool, what, declared, seen } = drift;
    let text = match *what {
        "new" => format!("new: {pool}: {seen}, in no pool"),
        "vanished" => format!("{pool}: vanished: declared with {declared}, but no node matches"),
        _ => format!("{pool}: {what}: declared {declared}, found {seen}"),
    };
    // Labels and names come from outside.
    clean(&text).into_owned()
}
