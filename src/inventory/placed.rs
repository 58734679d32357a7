//! Which declared pool a machine belongs to, and a pool as its machines really are.

use crate::fleet::Declared;
use crate::fleet::DriverSpec;
use crate::fleet::Fleet;
use crate::fleet::GpuSpec;
use crate::fleet::Pool;
use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Machine;
use crate::inventory::labels::POOL_LABELS;
use crate::knowledge::Knowledge;
use crate::source::Span;

/// Whether two names mean one GPU.
pub(super) fn same_gpu(one: &str, other: &str, knowledge: Knowledge) -> bool {
    // Labels have a dash where names have a blank.
    let sign = |sign: u8| if sign == b' ' { b'-' } else { sign.to_ascii_lowercase() };
    if one.bytes().map(sign).eq(other.bytes().map(sign)) {
        return true;
    }
    match (knowledge.gpu(one), knowledge.gpu(other)) {
        (Some(one), Some(other)) => one.name == other.name,
        _ => one.eq_ignore_ascii_case(other),
    }
}

/// Whether a declaration goes with a driver.
pub(super) fn goes_with(spec: &DriverSpec, driver: crate::cuda::DriverVersion) -> bool {
    match spec {
        DriverSpec::Exact(own) => *own == driver,
        DriverSpec::Branch(branch) => *branch == driver.branch(),
        DriverSpec::Range { from, before } => {
            from.is_none_or(|from| from <= driver) && before.is_none_or(|before| driver < before)
        }
    }
}

/// The number of the declared pool that a machine belongs to: that of its own pool label, else that of its GPU, and
/// of several the one that says most of what is so.
pub fn place(fleet: &Fleet, machine: &Machine, knowledge: Knowledge) -> Option<usize> {
    let fits = |pool: &Pool| likeness(pool, machine, knowledge);
    let scored = fleet.pools.iter().enumerate().filter_map(|(at, pool)| Some((fits(pool)?, at)));
    // Of equals the first of the file.
    scored.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at))).map(|(_, at)| at)
}

/// How much of what a pool declares is so of a machine; none where it is of another pool.
fn likeness(pool: &Pool, machine: &Machine, knowledge: Knowledge) -> Option<usize> {
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
    let has = |spec: &Declared<GpuSpec>| build.gpus.iter().any(|gpu| same_gpu(&gpu.name, &spec.value.name, knowledge));
    let by_gpu = pool.gpu.iter().any(has);
    let nameless = build.gpus.is_empty() && pool.gpu.is_empty();
    let own_name = build.pool.as_deref() == Some(pool.name.value.as_str());
    let platform = pool.platform.as_ref().zip(build.platform.as_ref());
    let same_platform = platform.is_none_or(|(own, seen)| own.value.starts_with(seen.as_str()));
    if !by_label && !(same_platform && (by_gpu || own_name || nameless)) {
        return None;
    }
    let agree = pool.labels.iter().filter(|(name, value)| machine.labels.get(name) == Some(&value.value)).count();
    let driver = build.driver.is_some_and(|driver| pool.driver.iter().any(|spec| goes_with(&spec.value, driver)));
    let count = pool.gpu.iter().any(|spec| build.gpus.iter().any(|gpu| gpu.count == spec.value.count));
    Some(1 + 100 * usize::from(by_label) + agree + 2 * usize::from(driver) + usize::from(count) + usize::from(by_gpu))
}

/// A pool with the GPUs, the driver and the platform that machines really have; the rest as declared, where it is.
pub fn as_seen(base: Option<&Pool>, name: String, build: &Build, knowledge: Knowledge) -> Pool {
    let span = Span::new(0, 0);
    let mut pool = base.cloned().unwrap_or_else(|| Pool::undeclared(Declared { value: String::new(), span }));
    pool.name = Declared { value: name, span };
    let named = build.gpus.iter().filter(|gpu| !gpu.name.is_empty());
    let gpus: Vec<_> = named.map(|gpu| Declared { value: spec(gpu, knowledge), span }).collect();
    if !gpus.is_empty() {
        pool.gpu = gpus;
        // What is declared of another GPU does not hold for this one.
        pool.compute_capability = None;
        pool.brand = None;
    }
    if let Some(driver) = build.driver {
        pool.driver = vec![Declared { value: DriverSpec::Exact(driver), span }];
        let known = knowledge.branch(driver.branch()).is_some();
        pool.driver_cuda = build.cuda.filter(|_| !known).map(|value| Declared { value, span });
    }
    if let Some(platform) = &build.platform {
        pool.platform = Some(Declared { value: platform.clone(), span });
    }
    if pool.launch.is_none() {
        pool.launch = build.launch.map(|value| Declared { value, span });
    }
    pool
}

fn spec(gpu: &Gpu, knowledge: Knowledge) -> GpuSpec {
    let row = knowledge.gpu(&gpu.name);
    GpuSpec {
        name: row.map_or(gpu.name.as_str(), |row| row.name).to_owned(),
        count: gpu.count,
        compute_capability: gpu.capability.filter(|own| row.is_none_or(|row| row.capability != *own)),
        brand: None,
        mig: gpu.mig.is_some(),
    }
}
