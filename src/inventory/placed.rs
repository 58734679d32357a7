//! Which declared pool a machine belongs to, and a pool as its machines really are.

use crate::fleet::Declared;
use crate::fleet::DriverSpec;
use crate::fleet::Fleet;
use crate::fleet::GpuSpec;
use crate::fleet::Pool;
use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Machine;
use crate::inventory::Parts;
use crate::inventory::labels::POOL_LABELS;
use crate::knowledge::Knowledge;
use crate::knowledge::SameGpu;
use crate::source::Span;

/// How well a declared name goes with what a machine calls its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It leaves out what makes no difference: A100 for NVIDIA-A100-SXM4-40GB.
    Wider,
    /// It is the same.
    Same,
}

/// How well; none where it is the name of another GPU.
fn fit(declared: &str, own: &str, knowledge: Knowledge) -> Option<Fit> {
    // Labels have a dash where names have a blank.
    let sign = |sign: u8| if sign == b' ' { b'-' } else { sign.to_ascii_lowercase() };
    if declared.bytes().map(sign).eq(own.bytes().map(sign)) || knowledge.same_gpu(declared, own) == SameGpu::Yes {
        return Some(Fit::Same);
    }
    knowledge.gpu_covers(declared, own).then_some(Fit::Wider)
}

/// Whether a declared name is that of a machine's GPU.
pub(super) fn is_of(declared: &str, own: &str, knowledge: Knowledge) -> bool {
    fit(declared, own, knowledge).is_some()
}

/// A GPU by the name of its row; as its source calls it where that says less, or says what no row has.
pub(super) fn called(gpu: &Gpu, knowledge: Knowledge) -> &str {
    let row = knowledge.gpu(&gpu.name);
    row.map(|row| row.name).filter(|name| fit(name, &gpu.name, knowledge) == Some(Fit::Same)).unwrap_or(&gpu.name)
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
    let named = || build.gpus.iter().filter(|gpu| !gpu.name.is_empty());
    let pairs = pool.gpu.iter().flat_map(|spec| named().map(|gpu| (&spec.value, gpu)));
    let pairs = pairs.filter(|(declared, own)| own.parts.may_be(declared));
    let by_gpu = pairs.filter_map(|(declared, own)| fit(&declared.name, &own.name, knowledge)).max();
    let agree = pool.labels.iter().filter(|(name, value)| machine.labels.get(name) == Some(&value.value)).count();
    // What a node does not say of its GPU is declared for the nodes that have the labels of the pool.
    let labels = agree == pool.labels.len() && (agree > 0 || build.labels.is_empty());
    let divided = |gpu: &Gpu| pool.gpu.is_empty() || pool.gpu.iter().any(|spec| gpu.parts.may_be(&spec.value));
    let nameless = named().next().is_none() && build.gpus.iter().all(divided) && (labels || pool.gpu.is_empty());
    let own_name = build.pool.as_deref() == Some(pool.name.value.as_str());
    let platform = pool.platform.as_ref().zip(build.platform.as_ref());
    let same_platform = platform.is_none_or(|(own, seen)| own.value.starts_with(seen.as_str()));
    if !by_label && !(same_platform && (by_gpu.is_some() || own_name || nameless)) {
        return None;
    }
    let driver = build.driver.is_some_and(|driver| pool.driver.iter().any(|spec| goes_with(&spec.value, driver)));
    let count = pool.gpu.iter().any(|spec| build.gpus.iter().any(|gpu| gpu.count == spec.value.count));
    let by_gpu = by_gpu.map_or(0, |fit| 1 + usize::from(fit == Fit::Same));
    Some(1 + 100 * usize::from(by_label) + agree + 2 * usize::from(driver) + usize::from(count) + by_gpu)
}

/// A pool with the GPUs, the driver and the platform that machines really have; the rest as declared, where it is.
pub fn as_seen(base: Option<&Pool>, name: String, build: &Build, knowledge: Knowledge) -> Pool {
    let span = Span::new(0, 0);
    let mut pool = base.cloned().unwrap_or_else(|| Pool::undeclared(Declared { value: String::new(), span }));
    pool.name = Declared { value: name, span };
    let named = build.gpus.iter().filter(|gpu| !gpu.name.is_empty());
    let gpus: Vec<_> = named.map(|gpu| spec(gpu, &pool.gpu, knowledge)).collect();
    if !gpus.is_empty() {
        // What is declared of another GPU does not hold for this one.
        if gpus.iter().any(|(_, declared)| !declared) {
            pool.compute_capability = None;
            pool.brand = None;
        }
        pool.gpu = gpus.into_iter().map(|(value, _)| Declared { value, span }).collect();
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

/// A GPU of a machine with what is declared of it, and whether it is declared.
fn spec(gpu: &Gpu, declared: &[Declared<GpuSpec>], knowledge: Knowledge) -> (GpuSpec, bool) {
    // One that is divided as it is comes first.
    let fits = |spec: &&GpuSpec| fit(&spec.name, &gpu.name, knowledge).map(|fit| (gpu.parts.may_be(spec), fit));
    let own = declared.iter().map(|spec| &spec.value).filter(|spec| fits(spec).is_some()).max_by_key(fits);
    let row = knowledge.gpu(&gpu.name);
    let capability = gpu.capability.filter(|own| row.is_none_or(|row| row.capability != *own));
    let spec = GpuSpec {
        name: called(gpu, knowledge).to_owned(),
        count: gpu.count.or_else(|| own.filter(|spec| gpu.parts.may_be(spec))?.count),
        compute_capability: capability.or_else(|| own?.compute_capability),
        brand: own.and_then(|spec| spec.brand.clone()),
        mig: match &gpu.parts {
            Parts::Untold => own.and_then(|spec| spec.mig.clone()),
            Parts::Whole => None,
            Parts::Mig { .. } => Some(gpu.parts.only().unwrap_or_default().to_owned()),
        },
    };
    (spec, own.is_some())
}
