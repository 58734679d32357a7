//! `imagelint fleet check` and `fleet show`: the declared, derived and undeclared properties of the pools.

use std::io;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::cli::args::{FleetCheckArgs, FleetFileArgs, FleetShowArgs, OutputFormat};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::{fleet_drift, fleet_file, streams};
use crate::fleet::{DerivedPool, Fleet, derive_pool};
use crate::knowledge::Knowledge;
use crate::text::source::Sources;

/// Loads the fleet that the arguments select.
fn load_selected_fleet(options: &FleetFileArgs, knowledge: Knowledge) -> Result<Fleet, CommandError> {
    let named = options.path().or_else(fleet_file::fleet_file_from_environment);
    fleet_file::load_fleet_file(named, None, knowledge, &mut Sources::default())
}

/// Runs `imagelint fleet check`.
pub(crate) fn run_check(options: &FleetCheckArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let fleet = load_selected_fleet(&options.fleet, knowledge)?;
    if !options.against.is_empty() {
        return fleet_drift::print_drift(&fleet, &options.against, options.format, knowledge);
    }
    let mut out = io::BufWriter::new(streams::stdout());
    if options.format == OutputFormat::Json {
        let pools: Vec<Value> = fleet.pools.iter().map(|pool| pool_to_json(&derive_pool(pool, knowledge))).collect();
        writeln!(out, "{:#}", json!({ "fleet": fleet.name, "pools": pools }))?;
    } else {
        for pool in &fleet.pools {
            let found = derive_pool(pool, knowledge);
            let how = match found.open.len() {
                0 => "all properties are declared".to_owned(),
                _ => format!("{} node configurations are checked", found.hosts),
            };
            writeln!(out, "{}: {how}", pool.name.value)?;
            for open in &found.open {
                writeln!(out, "  {}: {}", open.field, open.cost)?;
            }
        }
        let number = fleet.pools.len();
        writeln!(out, "{}: {number} {}", fleet.name, if number == 1 { "pool" } else { "pools" })?;
    }
    out.flush()?;
    Ok(Exit::Clean)
}

/// Runs `imagelint fleet show`.
pub(crate) fn run_show(options: &FleetShowArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let fleet = load_selected_fleet(&options.fleet, knowledge)?;
    let mut out = io::BufWriter::new(streams::stdout());
    match options.format {
        OutputFormat::Json => {
            let pools: Vec<Value> =
                fleet.pools.iter().map(|pool| pool_to_json(&derive_pool(pool, knowledge))).collect();
            let date = knowledge.newest_source_date().to_string();
            writeln!(out, "{:#}", json!({ "knowledge": date, "fleet": fleet.name, "pools": pools }))?;
        }
        OutputFormat::Human => {
            for (at, pool) in fleet.pools.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                print_pool(&derive_pool(pool, knowledge), &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

/// Prints the properties of one pool.
fn print_pool(pool: &DerivedPool, out: &mut impl io::Write) -> io::Result<()> {
    let nodes = match pool.nodes {
        None => String::new(),
        Some(1) => " (1 node)".to_owned(),
        Some(nodes) => format!(" ({nodes} nodes)"),
    };
    writeln!(out, "{}{nodes}", pool.name)?;
    let mut printed_origin = None;
    for value in &pool.values {
        writeln!(out, "  {:<20} {}", value.name, value.text)?;
        // One row contains several values of a GPU.
        if let Some(from) = value.from.as_ref().filter(|from| printed_origin != Some(*from)) {
            writeln!(out, "  {:<20} {from}", "")?;
            printed_origin = Some(from);
        }
    }
    for open in &pool.open {
        writeln!(out, "  {:<20} not declared: {}", open.field, open.cost)?;
    }
    Ok(())
}

/// Returns the properties of one pool as JSON.
fn pool_to_json(pool: &DerivedPool) -> Value {
    let values = pool.values.iter().map(|value| json!({ "name": value.name, "value": value.text, "from": value.from }));
    let open = pool.open.iter().map(|open| json!({ "field": open.field, "cost": open.cost }));
    json!({
        "name": pool.name, "nodes": pool.nodes, "hosts": pool.hosts,
        "values": values.collect::<Vec<_>>(), "open": open.collect::<Vec<_>>(),
    })
}
