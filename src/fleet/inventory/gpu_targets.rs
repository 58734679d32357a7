//! Reads `gpu-targets.yml`, version 1: the list of targets of a release.

use serde::Deserialize;

use crate::fleet::inventory::{
    GpuPartitioning, Inventory, InventoryError, InventoryMachine, MachineConfig, MachineGpu,
};

/// The largest number of targets in one file.
const MAX_TARGETS: usize = 256;

/// The content of `gpu-targets.yml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetsFile {
    version: u32,
    targets: Vec<ReleaseTarget>,
}

/// One target of a release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseTarget {
    name: String,
    vendor: Option<String>,
    driver: Option<String>,
    compute_capability: Option<String>,
    platform: Option<String>,
}

/// Reads the file.
pub(super) fn read_targets(text: &str) -> Result<Inventory, InventoryError> {
    let bad = |message: String| Err(InventoryError::Unreadable(message));
    let file: TargetsFile = match serde_saphyr::from_str(text) {
        Ok(file) => file,
        Err(error) => return bad(error.to_string().lines().next().unwrap_or_default().to_owned()),
    };
    if file.version != 1 {
        return bad(format!("version {} is not supported; expected version 1", file.version));
    }
    if file.targets.is_empty() || file.targets.len() > MAX_TARGETS {
        return bad(format!("got {} targets, expected 1 to {MAX_TARGETS}", file.targets.len()));
    }
    let mut found = Inventory::default();
    for target in file.targets {
        if target.vendor.as_deref().is_some_and(|vendor| vendor != "nvidia") {
            found.notes.insert(format!("target {}: skipped, because it is not an NVIDIA target", target.name));
            continue;
        }
        match machine_from_target(target) {
            Ok(Ok(machine)) => found.machines.push(machine),
            Ok(Err(note)) => {
                found.notes.insert(note);
            }
            Err(message) => return bad(message),
        }
    }
    Ok(found)
}

/// Returns the machine for a target, or a note if it is skipped.
fn machine_from_target(target: ReleaseTarget) -> Result<Result<InventoryMachine, String>, String> {
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
    let gpus = capability.map(|capability| MachineGpu {
        // No such list names the GPU.
        name: String::new(),
        count: None,
        parts: GpuPartitioning::Unknown,
        capability: Some(capability),
    });
    let build = MachineConfig {
        pool: Some(name.clone()),
        gpus: gpus.into_iter().collect(),
        driver,
        platform: platform.contains('/').then(|| platform.to_owned()),
        ..MachineConfig::default()
    };
    Ok(Ok(InventoryMachine { name, build, ..InventoryMachine::default() }))
}
