//! `imagelint fleet import`: generates a fleet file from clusters, machines or machine types.

use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;

use crate::cli::args::FleetImportArgs;
use crate::cli::error::{CommandError, render_diagnostic};
use crate::cli::exit::Exit;
use crate::cli::{fleet_file, image_names, streams};
use crate::fleet::inventory;
use crate::fleet::inventory::Inventory;
use crate::knowledge::Knowledge;
use crate::text::nearest::nearest_words;
use crate::text::source::{SourceText, Sources};

/// Reads the inventory of one source; `-` is standard input.
pub(crate) fn read_source(path: &Path, knowledge: Knowledge) -> Result<Inventory, CommandError> {
    let name = path.display().to_string();
    let text =
        image_names::read_file_or_stdin(path, false, inventory::MAX_FILE_SIZE as u64).map_err(|error| match error {
            CommandError::Message(error) if !path.exists() && knowledge.cloud_instance(&name).is_some() => {
                CommandError::Message(format!(
                    "{error}\nhelp: for a cloud machine type: imagelint fleet import --instance {name}"
                ))
            }
            error => error,
        })?;
    let found = inventory::read_inventory(&name, &text, knowledge);
    let found = found.map_err(|error| {
        CommandError::Message(format!(
            "error: cannot read {name}: {error}\nhelp: {}",
            inventory::example_command(&text)
        ))
    })?;
    Ok(found.with_instance_type_gpus(knowledge))
}

/// Runs `imagelint fleet import`.
pub(crate) fn run(options: &FleetImportArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut found = Inventory::default();
    let mut source_names = Vec::new();
    if options.sources.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(CommandError::Message("error: standard input can be read only once".to_owned()));
    }
    for path in &options.sources {
        found.merge(read_source(path, knowledge)?);
        let name = path.file_name().map_or_else(|| "standard input".into(), |name| name.to_string_lossy());
        source_names.push(if name == "-" { "standard input".to_owned() } else { name.into_owned() });
    }
    for text in &options.instances {
        found.merge(parse_instance(text, knowledge)?);
        source_names.push(text.clone());
    }
    for note in &found.notes {
        writeln!(streams::stderr(), "note: {note}")?;
    }
    if found.machines.is_empty() {
        let others = found.skipped_summary().unwrap_or_else(|| "no node".to_owned());
        writeln!(streams::stderr(), "nothing to import: found no machine with an NVIDIA GPU ({others})")?;
        return Ok(Exit::Nothing);
    }
    let drafts = inventory::draft_pools(&found);
    let text =
        inventory::fleet_file_toml("fleet import", &drafts, &found, &source_names, options.with_names, knowledge);
    // What is printed can be read back, or nothing is printed.
    let written = SourceText::new("fleet.toml", text.as_str());
    let source = Sources::default().add(written.clone());
    fleet_file::parse_fleet(&written, source, knowledge)
        .map_err(|errors| CommandError::Message(render_diagnostic(errors.as_ref())))?;
    streams::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

/// Parses a cloud machine type with an optional number of nodes, such as `p5.48xlarge=4`.
fn parse_instance(text: &str, knowledge: Knowledge) -> Result<Inventory, CommandError> {
    let (name, nodes) = match text.rsplit_once('=') {
        None => (text, None),
        Some((name, number)) => {
            let nodes: NonZero<u32> = number.parse().map_err(|_| {
                CommandError::Message(format!("error: `{number}` is not a number of nodes; write --instance {name}=4"))
            })?;
            (name, Some(nodes.get()))
        }
    };
    inventory::inventory_of_instance_type(name, nodes, knowledge).ok_or_else(|| {
        let known = knowledge.cloud_instances().iter().map(|row| row.name);
        let near: Vec<String> = nearest_words(name, known, 3).iter().map(|near| format!("`{near}`")).collect();
        let near = if near.is_empty() { String::new() } else { format!("; the nearest names are {}", near.join(", ")) };
        CommandError::Message(format!(
            "error: machine type `{name}` has no NVIDIA GPU, or is not in the compatibility database{near}"
        ))
    })
}
