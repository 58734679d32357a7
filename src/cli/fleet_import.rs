//! `imagelint fleet import`: a fleet file out of what exists.

use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::args::FleetImportArgs;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::names;
use crate::cli::render;
use crate::cli::streams;
use crate::inventory;
use crate::inventory::Inventory;
use crate::knowledge::Knowledge;
use crate::nearest::nearest_few;
use crate::source::SourceText;
use crate::source::Sources;

/// Reads one source; `-` is standard input.
pub(crate) fn source(path: &Path, knowledge: Knowledge) -> Result<Inventory, Failure> {
    let name = path.display().to_string();
    let text = names::text(path, false, inventory::LONGEST as u64).map_err(|error| match error {
        Failure::Said(error) if !path.exists() && knowledge.cloud_instance(&name).is_some() => {
            Failure::Said(format!("{error}\nhelp: for a cloud machine type: imagelint fleet import --instance {name}"))
        }
        error => error,
    })?;
    let found = inventory::read(&name, &text, knowledge);
    let found = found.map_err(|error| {
        Failure::Said(format!("error: cannot read {name}: {error}\nhelp: {}", inventory::command_for(&text)))
    })?;
    Ok(found.with_types(knowledge))
}

/// Runs it.
pub(crate) fn run(options: &FleetImportArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut found = Inventory::default();
    let mut told = Vec::new();
    if options.sources.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Said("error: standard input can be read only once".to_owned()));
    }
    for path in &options.sources {
        found.join(source(path, knowledge)?);
        let name = path.file_name().map_or_else(|| "standard input".into(), |name| name.to_string_lossy());
        told.push(if name == "-" { "standard input".to_owned() } else { name.into_owned() });
    }
    for text in &options.instances {
        found.join(instance(text, knowledge)?);
        told.push(text.clone());
    }
    for note in &found.notes {
        writeln!(streams::err(), "note: {note}")?;
    }
    if found.machines.is_empty() {
        let others = found.told_left_out().unwrap_or_else(|| "no node".to_owned());
        writeln!(streams::err(), "nothing to import: found no machine with an NVIDIA GPU ({others})")?;
        return Ok(Exit::Nothing);
    }
    let drafts = inventory::drafts(&found);
    let text = inventory::to_toml("fleet import", &drafts, &found, &told, options.with_names, knowledge);
    // What is printed can be read back, or nothing is printed.
    let written = SourceText::new("fleet.toml", text.as_str());
    let source = Sources::default().add(written.clone());
    fleet::of_text(&written, source, knowledge).map_err(|errors| Failure::Said(render(errors.as_ref())))?;
    streams::out().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

/// A machine type with how many there are.
fn instance(text: &str, knowledge: Knowledge) -> Result<Inventory, Failure> {
    let (name, nodes) = match text.rsplit_once('=') {
        None => (text, None),
        Some((name, number)) => {
            let nodes: NonZero<u32> = number.parse().map_err(|_| {
                Failure::Said(format!("error: `{number}` is not a number of nodes; write --instance {name}=4"))
            })?;
            (name, Some(nodes.get()))
        }
    };
    inventory::of_instance(name, nodes, knowledge).ok_or_else(|| {
        let known = knowledge.cloud_instances().iter().map(|row| row.name);
        let near: Vec<String> = nearest_few(name, known, 3).iter().map(|near| format!("`{near}`")).collect();
        let near = if near.is_empty() { String::new() } else { format!("; the nearest names are {}", near.join(", ")) };
        Failure::Said(format!(
            "error: machine type `{name}` has no NVIDIA GPU, or is not in the compatibility database{near}"
        ))
    })
}
