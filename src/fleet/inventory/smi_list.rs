//! Reads the output of `nvidia-smi -L`: a line for each GPU, followed by a line for each of its MIG devices.

use std::collections::BTreeMap;

use crate::fleet::inventory::{
    GpuPartitioning, Inventory, InventoryError, InventoryMachine, MachineConfig, MachineGpu,
};

/// The largest number of GPUs in one machine.
const MAX_GPUS: usize = 1024;

/// Returns the name on a line such as `GPU 0: NVIDIA L4 (UUID: GPU-6f...)`.
fn parse_gpu_line(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix("GPU ")?.split_once(": ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    rest.split_once(" (UUID: ").map(|(name, _)| name.trim()).filter(|name| is_number && !name.is_empty())
}

/// Returns the profile on a line such as `MIG 1g.10gb Device 0: (UUID: MIG-1c...)`.
fn parse_mig_line(line: &str) -> Option<&str> {
    let (profile, _) = line.trim_start().strip_prefix("MIG ")?.split_once(" Device ")?;
    Some(profile.trim()).filter(|profile| !profile.is_empty())
}

/// Whether a text is the output of `nvidia-smi -L`.
pub(super) fn is_gpu_list(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| parse_gpu_line(line).is_some())
}

/// Reads the list of one machine.
pub(super) fn read_gpu_list(name: &str, text: &str) -> Result<Inventory, InventoryError> {
    let mut seen: Vec<(&str, Vec<&str>)> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match (parse_gpu_line(line), parse_mig_line(line), seen.last_mut()) {
            (Some(name), _, _) => seen.push((name, Vec::new())),
            (None, Some(profile), Some((_, parts))) => parts.push(profile),
            _ => return Err(InventoryError::Unreadable(format!("line {}: neither a GPU nor a MIG device", at + 1))),
        }
        if seen.len() > MAX_GPUS {
            return Err(InventoryError::TooBig);
        }
    }
    let mut counted: BTreeMap<(&str, GpuPartitioning), u32> = BTreeMap::new();
    for (name, mut parts) in seen {
        parts.dedup();
        let parts = if parts.is_empty() { GpuPartitioning::Whole } else { GpuPartitioning::mig(parts, Some(false)) };
        *counted.entry((name, parts)).or_default() += 1;
    }
    let gpus = counted.into_iter().map(|((name, parts), count)| MachineGpu {
        name: name.to_owned(),
        count: Some(count),
        parts,
        capability: None,
    });
    let build = MachineConfig { gpus: gpus.collect(), ..MachineConfig::default() };
    let machine = InventoryMachine { name: name.to_owned(), nodes: Some(1), build, ..InventoryMachine::default() };
    Ok(Inventory { machines: vec![machine], ..Inventory::default() })
}
