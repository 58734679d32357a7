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
use crate::inventory::likeness::likeness;
use crate::knowledge::Knowledge;
use crate::knowledge::SameGpu;
use crate::source::Span;

/// How well a declared name goes with what a machine calls its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It leaves out what makes no difference: A100 for NVIDIA-A100-SXM4-40GB.
    Wider,
    /// It is the same.
    Same,
}

/// How well; none where it is the name of another GPU.
pub(super) fn fit(declared: &str, own: &str, knowledge: Knowledge) -> Option<Fit> {
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

/// The numbers of the declared pools that a machine may belong to: that of its own pool label, else that of its GPU, and
/// of several the one that says most of what is so. Several where they declare the same of it; none where it is of none.
pub fn places(fleet: &Fleet, machine: &Machine, knowledge: Knowledge) -> Vec<usize> {
    let scored = fleet.pools.iter().enumerate();
    let scored: Vec<_> = scored.filter_map(|(at, pool)| Some((likeness(pool, machine, knowledge)?, at))).collect();
    let best = scored.iter().map(|(points, _)| *points).max();
    scored.into_iter().filter(|(points, _)| Some(*points) == best).map(|(_, at)| at).collect()
}

/// The number of the declared pool of each machine. Of pools that declare the same, each has as many nodes as it
/// declares, as far as there are so many.
pub(super) fn spread(fleet: &Fleet, machines: &[Machine], knowledge: Knowledge) -> Vec<Option<usize>> {
    let mut room: Vec<u32> =
        fleet.pools.iter().map(|pool| pool.nodes.as_ref().map_or(1, |nodes| nodes.value)).collect();
    let mut placed: Vec<_> =
        machines.iter().enumerate().map(|(at, machine)| (at, machine, places(fleet, machine, knowledge))).collect();
    placed.sort_by_key(|(at, _, places)| (places.len() > 1, *at));
    let mut found: Vec<(usize, Option<usize>)> = Vec::with_capacity(machines.len());
    for (at, machine, places) in placed {
        let nodes = machine.nodes.unwrap_or(1);
        let with = |least: u32| places.iter().find(|pool| room.get(**pool).is_some_and(|room| *room >= least));
        let pool = with(nodes).or_else(|| with(1)).or(places.first()).copied();
        if let Some(room) = pool.and_then(|pool| room.get_mut(pool)) {
            *room = room.saturating_sub(nodes);
        }
        found.push((at, pool));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, pool)| pool).collect()
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
