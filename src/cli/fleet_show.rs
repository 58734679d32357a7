//! `imagelint fleet check` and `fleet show`: what a fleet declares, what follows from it, and what it leaves open.

use std::io;
use std::io::Write as _;

use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::FleetCheckArgs;
use crate::cli::args::FleetFileArgs;
use crate::cli::args::FleetShowArgs;
use crate::cli::args::Format;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::fleet_drift;
use crate::cli::streams;
use crate::fleet::Derived;
use crate::fleet::Fleet;
use crate::fleet::derived;
use crate::knowledge::Knowledge;
use crate::source::Sources;

/// The fleet that is asked for.
fn load(options: &FleetFileArgs, knowledge: Knowledge) -> Result<Fleet, Failure> {
    let named = options.file.clone().or_else(fleet::from_environment);
    fleet::of_file(named, None, knowledge, &mut Sources::default())
}

/// Runs `fleet check`.
pub(crate) fn check(options: &FleetCheckArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let fleet = load(&options.fleet, knowledge)?;
    if !options.against.is_empty() {
        return fleet_drift::run(&fleet, &options.against, options.format, knowledge);
    }
    let mut out = io::BufWriter::new(streams::out());
    if options.format == Format::Json {
        let pools: Vec<Value> = fleet.pools.iter().map(|pool| of_pool(&derived(pool, knowledge))).collect();
        writeln!(out, "{:#}", json!({ "fleet": fleet.name, "pools": pools }))?;
    } else {
        for pool in &fleet.pools {
            let found = derived(pool, knowledge);
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

/// Runs `fleet show`.
pub(crate) fn run(options: &FleetShowArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let fleet = load(&options.fleet, knowledge)?;
    let mut out = io::BufWriter::new(streams::out());
    match options.format {
        Format::Json => {
            let pools: Vec<Value> = fleet.pools.iter().map(|pool| of_pool(&derived(pool, knowledge))).collect();
            let date = knowledge.newest_date().to_string();
            writeln!(out, "{:#}", json!({ "knowledge": date, "fleet": fleet.name, "pools": pools }))?;
        }
        Format::Human => {
            for (at, pool) in fleet.pools.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                print(&derived(pool, knowledge), &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

fn print(pool: &Derived, out: &mut impl io::Write) -> io::Result<()> {
    let nodes = match pool.nodes {
        None => String::new(),
        Some(1) => " (1 node)".to_owned(),
        Some(nodes) => format!(" ({nodes} nodes)"),
    };
    writeln!(out, "{}{nodes}", pool.name)?;
    let mut told = None;
    for value in &pool.values {
        writeln!(out, "  {:<20} {}", value.name, value.text)?;
        // One row tells several values of a GPU.
        if let Some(from) = value.from.as_ref().filter(|from| told != Some(*from)) {
            writeln!(out, "  {:<20} {from}", "")?;
            told = Some(from);
        }
    }
    for open in &pool.open {
        writeln!(out, "  {:<20} not declared: {}", open.field, open.cost)?;
    }
    Ok(())
}

fn of_pool(pool: &Derived) -> Value {
    let values = pool.values.iter().map(|value| json!({ "name": value.name, "value": value.text, "from": value.from }));
    let open = pool.open.iter().map(|open| json!({ "field": open.field, "cost": open.cost }));
    json!({
        "name": pool.name, "nodes": pool.nodes, "hosts": pool.hosts,
        "values": values.collect::<Vec<_>>(), "open": open.collect::<Vec<_>>(),
    })
}
