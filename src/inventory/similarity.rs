//! Scores how well a machine matches a declared pool, property by property.
//!
//! A pool that an import has written of a machine has every point that the machine can give; another pool has as many
//! only where it declares the same.

use crate::fleet::{DriverSpec, Pool};
use crate::inventory::fleet_file::is_expressible;
use crate::inventory::node_labels::{IDENTIFYING_LABELS, POOL_LABELS};
use crate::inventory::pool_matching::{GpuNameAgreement, match_gpu_name, matches_driver};
use crate::inventory::{GpuPartitioning, InventoryMachine, MachineConfig, MachineGpu};
use crate::knowledge::Knowledge;

/// The points for the label of a pool, which outweigh all others.
const POOL_LABEL_POINTS: i64 = 1000;

/// The points for a GPU with the declared name, count and partitioning.
const GPU_POINTS: i64 = 4;

/// Returns the points of a machine for a pool, more for a better match; `None` if it belongs to another pool.
pub(super) fn similarity_points(pool: &Pool, machine: &InventoryMachine, knowledge: Knowledge) -> Option<i64> {
    let build = &machine.build;
    let declared = |name: &str| pool.labels.iter().find(|(own, _)| own == name).map(|(_, value)| value.value.as_str());
    let labelled = POOL_LABELS.iter().find_map(|name| Some((*name, declared(name)?)));
    let by_label = match labelled {
        Some((name, value)) if !machine.labels.is_empty() => {
            if machine.labels.get(name).map(String::as_str) != Some(value) {
                return None;
            }
            true
        }
        _ => false,
    };
    let own_name = build.pool.as_deref() == Some(pool.name.value.as_str());
    let of_gpus = gpu_points(pool, build, knowledge);
    let agree = pool.labels.iter().filter(|(name, value)| machine.labels.get(name) == Some(&value.value)).count();
    // What a node does not say of its GPU is declared for the nodes that have the labels of the pool.
    let labels = agree == pool.labels.len() && (agree > 0 || build.labels.is_empty());
    let divided =
        |gpu: &MachineGpu| pool.gpu.is_empty() || pool.gpu.iter().any(|spec| gpu.parts.may_match(&spec.value));
    let nameless =
        named_gpus(build).next().is_none() && build.gpus.iter().all(divided) && (labels || pool.gpu.is_empty());
    // Of a GPU that no fleet file can name none is declared.
    let unnamed = pool.gpu.is_empty() && build.gpus.iter().any(|gpu| !is_expressible(gpu, knowledge));
    let platform = pool.platform.as_ref().zip(build.platform.as_ref());
    let same_platform = platform.is_none_or(|(own, seen)| own.value.starts_with(seen.as_str()));
    if !by_label && !(same_platform && (of_gpus.is_some() || own_name || nameless || unnamed)) {
        return None;
    }
    let mut points =
        POOL_LABEL_POINTS * i64::from(by_label) + i64::from(own_name && !by_label) + of_gpus.unwrap_or_default();
    points -= i64::from(of_gpus.is_none() && !pool.gpu.is_empty());
    points += GPU_POINTS * i64::from(unnamed);
    for (name, value) in &pool.labels {
        // A label that another says better is left out of a pool that is written of the machine.
        let counts = build.labels.contains_key(name) || !IDENTIFYING_LABELS.contains(&name.as_str());
        points += points_or_penalty(machine.labels.get(name), |own| i64::from(counts && *own == value.value));
    }
    points += driver_points(pool, build);
    if let Some(platform) = &pool.platform {
        points += points_or_penalty(build.platform.as_ref(), |own| i64::from(platform.value.starts_with(own.as_str())));
    }
    if let Some(cuda) = &pool.driver_cuda {
        points += points_or_penalty(build.cuda, |own| i64::from(own == cuda.value));
    }
    if let Some(capability) = &pool.compute_capability {
        let own = build.gpus.iter().find_map(|gpu| gpu.capability);
        points += points_or_penalty(own, |own| i64::from(own == capability.value));
    }
    points += i64::from(pool.launch.as_ref().is_some_and(|launch| build.launch == Some(launch.value)));
    points -= i64::from(pool.wsl.as_ref().is_some_and(|wsl| wsl.value) != build.wsl);
    Some(points)
}

/// Returns the points for a declared property, or a penalty if the machine does not state it.
fn points_or_penalty<T>(own: Option<T>, points: impl FnOnce(T) -> i64) -> i64 {
    own.map_or(-1, points)
}

/// Returns the GPUs that have a name.
fn named_gpus(build: &MachineConfig) -> impl Iterator<Item = &MachineGpu> {
    build.gpus.iter().filter(|gpu| !gpu.name.is_empty())
}

/// Returns the points for the GPUs; `None` if the machine has no declared one.
fn gpu_points(pool: &Pool, build: &MachineConfig, knowledge: Knowledge) -> Option<i64> {
    let specs = || pool.gpu.iter().map(|spec| &spec.value);
    let pairs = specs().flat_map(|spec| named_gpus(build).map(move |gpu| (spec, gpu)));
    let pairs: Vec<_> = pairs
        .filter(|(spec, gpu)| gpu.parts.may_match(spec))
        .filter_map(|(spec, gpu)| Some((spec, gpu, match_gpu_name(&spec.name, &gpu.name, knowledge)?)))
        .collect();
    let best = pairs.iter().map(|(spec, gpu, fit)| {
        let count = match (spec.count, gpu.count) {
            (Some(declared), own) => points_or_penalty(own, |own| i64::from(own == declared)),
            (None, _) => 0,
        };
        let parts = match (&gpu.parts, spec.mig.as_deref()) {
            (GpuPartitioning::Whole, None) => 1,
            (GpuPartitioning::Mig { .. }, Some(own)) => {
                i64::from(gpu.parts.single_profile().unwrap_or_default() == own)
            }
            (GpuPartitioning::Unknown, Some(_)) => -1,
            (GpuPartitioning::Unknown | GpuPartitioning::Mig { .. }, None) | (GpuPartitioning::Whole, Some(_)) => 0,
        };
        1 + i64::from(*fit == GpuNameAgreement::Same) + count + parts
    });
    let best = best.max()?;
    // A list is what a node may have any one of: one that says no more than the machine has is closer.
    let lacking = specs().filter(|spec| !pairs.iter().any(|(own, ..)| own == spec)).count();
    let beside = named_gpus(build).filter(|gpu| !pairs.iter().any(|(_, own, _)| own == gpu)).count();
    Some(best - i64::try_from(lacking + beside).unwrap_or(i64::MAX / 2))
}

/// Returns the points for the driver.
fn driver_points(pool: &Pool, build: &MachineConfig) -> i64 {
    let specs = || pool.driver.iter().map(|spec| &spec.value);
    match build.driver {
        None => -i64::from(!pool.driver.is_empty()),
        Some(_) if pool.driver.is_empty() => -1,
        Some(own) if specs().any(|spec| *spec == DriverSpec::Exact(own)) => 3,
        Some(own) => 2 * i64::from(specs().any(|spec| matches_driver(spec, own))),
    }
}
