//! How much a machine is like a declared pool: point by point what both say, and what only one of them does.
//!
//! A pool that an import has written of a machine has every point that the machine can give; another pool has as many
//! only where it declares the same.

use crate::fleet::DriverSpec;
use crate::fleet::Pool;
use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Machine;
use crate::inventory::Parts;
use crate::inventory::labels::POOL_LABELS;
use crate::inventory::labels::TELLING;
use crate::inventory::placed::Fit;
use crate::inventory::placed::fit;
use crate::inventory::placed::goes_with;
use crate::inventory::write::is_written;
use crate::knowledge::Knowledge;

/// For the label of a pool, which outweighs all else.
const OF_POOL: i64 = 1000;

/// For a GPU of the declared name, number and parts.
const OF_GPU: i64 = 4;

/// The points of a machine for a pool, more where it is more of what the pool declares; none where it is of another
/// pool.
pub(super) fn likeness(pool: &Pool, machine: &Machine, knowledge: Knowledge) -> Option<i64> {
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
    let of_gpus = of_gpus(pool, build, knowledge);
    let agree = pool.labels.iter().filter(|(name, value)| machine.labels.get(name) == Some(&value.value)).count();
    // What a node does not say of its GPU is declared for the nodes that have the labels of the pool.
    let labels = agree == pool.labels.len() && (agree > 0 || build.labels.is_empty());
    let divided = |gpu: &Gpu| pool.gpu.is_empty() || pool.gpu.iter().any(|spec| gpu.parts.may_be(&spec.value));
    let nameless = named(build).next().is_none() && build.gpus.iter().all(divided) && (labels || pool.gpu.is_empty());
    // Of a GPU that no fleet file can name none is declared.
    let unnamed = pool.gpu.is_empty() && build.gpus.iter().any(|gpu| !is_written(gpu, knowledge));
    let platform = pool.platform.as_ref().zip(build.platform.as_ref());
    let same_platform = platform.is_none_or(|(own, seen)| own.value.starts_with(seen.as_str()));
    if !by_label && !(same_platform && (of_gpus.is_some() || own_name || nameless || unnamed)) {
        return None;
    }
    let mut points = OF_POOL * i64::from(by_label) + i64::from(own_name && !by_label) + of_gpus.unwrap_or_default();
    points -= i64::from(of_gpus.is_none() && !pool.gpu.is_empty());
    points += OF_GPU * i64::from(unnamed);
    for (name, value) in &pool.labels {
        // A label that another says better is left out of a pool that is written of the machine.
        let counts = build.labels.contains_key(name) || !TELLING.contains(&name.as_str());
        points += said(machine.labels.get(name), |own| i64::from(counts && *own == value.value));
    }
    points += of_driver(pool, build);
    if let Some(platform) = &pool.platform {
        points += said(build.platform.as_ref(), |own| i64::from(platform.value.starts_with(own.as_str())));
    }
    if let Some(cuda) = &pool.driver_cuda {
        points += said(build.cuda, |own| i64::from(own == cuda.value));
    }
    if let Some(capability) = &pool.compute_capability {
        let own = build.gpus.iter().find_map(|gpu| gpu.capability);
        points += said(own, |own| i64::from(own == capability.value));
    }
    points += i64::from(pool.launch.as_ref().is_some_and(|launch| build.launch == Some(launch.value)));
    points -= i64::from(pool.wsl.as_ref().is_some_and(|wsl| wsl.value) != build.wsl);
    Some(points)
}

/// The points for something that is declared: fewer than for another value where the machine does not say it.
fn said<T>(own: Option<T>, points: impl FnOnce(T) -> i64) -> i64 {
    own.map_or(-1, points)
}

/// The GPUs that have a name.
fn named(build: &Build) -> impl Iterator<Item = &Gpu> {
    build.gpus.iter().filter(|gpu| !gpu.name.is_empty())
}

/// The points for GPUs; none where no declared one is in the machine.
fn of_gpus(pool: &Pool, build: &Build, knowledge: Knowledge) -> Option<i64> {
    let specs = || pool.gpu.iter().map(|spec| &spec.value);
    let pairs = specs().flat_map(|spec| named(build).map(move |gpu| (spec, gpu)));
    let pairs: Vec<_> = pairs
        .filter(|(spec, gpu)| gpu.parts.may_be(spec))
        .filter_map(|(spec, gpu)| Some((spec, gpu, fit(&spec.name, &gpu.name, knowledge)?)))
        .collect();
    let best = pairs.iter().map(|(spec, gpu, fit)| {
        let count = match (spec.count, gpu.count) {
            (Some(declared), own) => said(own, |own| i64::from(own == declared)),
            (None, _) => 0,
        };
        let parts = match (&gpu.parts, spec.mig.as_deref()) {
            (Parts::Whole, None) => 1,
            (Parts::Mig { .. }, Some(own)) => i64::from(gpu.parts.only().unwrap_or_default() == own),
            (Parts::Untold, Some(_)) => -1,
            (Parts::Untold | Parts::Mig { .. }, None) | (Parts::Whole, Some(_)) => 0,
        };
        1 + i64::from(*fit == Fit::Same) + count + parts
    });
    let best = best.max()?;
    // A list is what a node may have any one of: one that says no more than the machine has is closer.
    let lacking = specs().filter(|spec| !pairs.iter().any(|(own, ..)| own == spec)).count();
    let beside = named(build).filter(|gpu| !pairs.iter().any(|(_, own, _)| own == gpu)).count();
    Some(best - i64::try_from(lacking + beside).unwrap_or(i64::MAX / 2))
}

fn of_driver(pool: &Pool, build: &Build) -> i64 {
    let specs = || pool.driver.iter().map(|spec| &spec.value);
    match build.driver {
        None => -i64::from(!pool.driver.is_empty()),
        Some(_) if pool.driver.is_empty() => -1,
        Some(own) if specs().any(|spec| *spec == DriverSpec::Exact(own)) => 3,
        Some(own) => 2 * i64::from(specs().any(|spec| goes_with(spec, own))),
    }
}
