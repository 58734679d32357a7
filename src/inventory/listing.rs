//! What `nvidia-smi -L` prints: a line for each GPU, and one below it for each part that MIG makes of it.

use std::collections::BTreeMap;

use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::InventoryError;
use crate::inventory::Machine;
use crate::inventory::Parts;

/// No machine has more GPUs.
const MOST_GPUS: usize = 1024;

/// The name on a line such as `GPU 0: NVIDIA L4 (UUID: GPU-6f...)`.
fn gpu(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix("GPU ")?.split_once(": ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    rest.split_once(" (UUID: ").map(|(name, _)| name.trim()).filter(|name| is_number && !name.is_empty())
}

/// The profile on a line such as `MIG 1g.10gb Device 0: (UUID: MIG-1c...)`.
fn part(line: &str) -> Option<&str> {
    let (profile, _) = line.trim_start().strip_prefix("MIG ")?.split_once(" Device ")?;
    Some(profile.trim()).filter(|profile| !profile.is_empty())
}

/// Whether a text is such a list.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| gpu(line).is_some())
}

/// Reads the list of one machine.
pub(super) fn read(name: &str, text: &str) -> Result<Inventory, InventoryError> {
    let mut seen: Vec<(&str, Vec<&str>)> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match (gpu(line), part(line), seen.last_mut()) {
            (Some(name), _, _) => seen.push((name, Vec::new())),
            (None, Some(profile), Some((_, parts))) => parts.push(profile),
            _ => return Err(InventoryError::Unreadable(format!("line {}: neither a GPU nor a MIG device", at + 1))),
        }
        if seen.len() > MOST_GPUS {
            return Err(InventoryError::TooBig);
        }
    }
    let mut counted: BTreeMap<(&str, Parts), u32> = BTreeMap::new();
    for (name, mut parts) in seen {
        parts.dedup();
        let parts = if parts.is_empty() { Parts::Whole } else { Parts::mig(parts, Some(false)) };
        *counted.entry((name, parts)).or_default() += 1;
    }
    let gpus = counted.into_iter().map(|((name, parts), count)| Gpu {
        name: name.to_owned(),
        count: Some(count),
        parts,
        capability: None,
    });
    let build = Build { gpus: gpus.collect(), ..Build::default() };
    let machine = Machine { name: name.to_owned(), nodes: Some(1), build, ..Machine::default() };
    Ok(Inventory { machines: vec![machine], ..Inventory::default() })
}
