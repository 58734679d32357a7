//! A list of targets that a release is for: `gpu-targets.yml`, version 1.

use serde::Deserialize;

use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::InventoryError;
use crate::inventory::Machine;
use crate::inventory::Parts;

/// So many targets may stand in one file.
const MOST: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    name: String,
    vendor: Option<String>,
    driver: Option<String>,
    compute_capability: Option<String>,
    platform: Option<String>,
}

/// Reads the file.
pub(super) fn read(text: &str) -> Result<Inventory, InventoryError> {
    let bad = |message: String| Err(InventoryError::Unreadable(message));
    let file: File = match serde_saphyr::from_str(text) {
        Ok(file) => file,
        Err(error) => return bad(error.to_string().lines().next().unwrap_or_default().to_owned()),
    };
    if file.version != 1 {
        return bad(format!("version {} is not supported; expected version 1", file.version));
    }
    if file.targets.is_empty() || file.targets.len() > MOST {
        return bad(format!("got {} targets, expected 1 to {MOST}", file.targets.len()));
    }
    let mut found = Inventory::default();
    for target in file.targets {
        if target.vendor.as_deref().is_some_and(|vendor| vendor != "nvidia") {
            found.notes.insert(format!("target {}: skipped, because it is not an NVIDIA target", target.name));
            continue;
        }
        match machine(target) {
            Ok(Ok(machine)) => found.machines.push(machine),
            Ok(Err(note)) => {
                found.notes.insert(note);
            }
            Err(message) => return bad(message),
        }
    }
    Ok(found)
}

/// A target; a note where it is left out.
fn machine(target: Target) -> Result<Result<Machine, String>, String> {
    let name = target.name;
    let platform = target.platform.as_deref().unwrap_or("linux");
    if platform.split('/').next() == Some("windows") {
        return Ok(Err(format!("target {name}: skipped, because {platform} has no Linux containers")));
    }
    let capability = match &target.compute_capability {
        Some(text) => Some(text.parse().map_err(|error| format!("target {name}: {error}"))?),
        None => None,
    };
    let driver = match &target.driver {
        Some(text) => Some(text.parse().map_err(|error| format!("target {name}: {error}"))?),
        None => None,
    };
    let gpus = capability.map(|capability| Gpu {
        // No such list names the GPU.
        name: String::new(),
        count: None,
        parts: Parts::Untold,
        capability: Some(capability),
    });
    let build = Build {
        pool: Some(name.clone()),
        gpus: gpus.into_iter().collect(),
        driver,
        platform: platform.contains('/').then(|| platform.to_owned()),
        ..Build::default()
    };
    Ok(Ok(Machine { name, build, ..Machine::default() }))
}
