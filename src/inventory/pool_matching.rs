//! Matches machines with declared pools, and describes a pool as its machines actually are.

use crate::fleet::{Declared, DriverSpec, Fleet, GpuSpec, Pool};
use crate::inventory::similarity::similarity_points;
use crate::inventory::{GpuPartitioning, InventoryMachine, MachineConfig, MachineGpu};
use crate::knowledge::{GpuNameMatch, Knowledge};
use crate::source::Span;

/// How precisely a declared GPU name matches the name that a machine reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GpuNameAgreement {
    /// It omits details that make no difference: A100 for NVIDIA-A100-SXM4-40GB.
    Wider,
    /// It names the same GPU.
    Same,
}

/// Compares a declared GPU name with a reported one; `None` if they name different GPUs.
pub(super) fn match_gpu_name(declared: &str, own: &str, knowledge: Knowledge) -> Option<GpuNameAgreement> {
    // Labels have a dash where names have a blank.
    let sign = |sign: u8| if sign == b' ' { b'-' } else { sign.to_ascii_lowercase() };
    if declared.bytes().map(sign).eq(own.bytes().map(sign))
        || knowledge.compare_gpus(declared, own) == GpuNameMatch::Yes
    {
        return Some(GpuNameAgreement::Same);
    }
    knowledge.gpu_name_covers(declared, own).then_some(GpuNameAgreement::Wider)
}

/// Whether a declared name matches the GPU of a machine.
pub(super) fn is_same_gpu(declared: &str, own: &str, knowledge: Knowledge) -> bool {
    match_gpu_name(declared, own, knowledge).is_some()
}

/// Returns the name of a GPU in the tables, or the reported name if that is less or more specific.
pub(super) fn gpu_display_name(gpu: &MachineGpu, knowledge: Knowledge) -> &str {
    let row = knowledge.gpu(&gpu.name);
    row.map(|row| row.name)
        .filter(|name| match_gpu_name(name, &gpu.name, knowledge) == Some(GpuNameAgreement::Same))
        .unwrap_or(&gpu.name)
}

/// Whether a declared driver matches a driver version.
pub(super) fn matches_driver(spec: &DriverSpec, driver: crate::cuda::DriverVersion) -> bool {
    match spec {
        DriverSpec::Exact(own) => *own == driver,
        DriverSpec::Branch(branch) => *branch == driver.branch(),
        DriverSpec::Range { from, before } => {
            from.is_none_or(|from| from <= driver) && before.is_none_or(|before| driver < before)
        }
    }
}

/// Returns the indexes of the declared pools that match a machine best: by pool label, else by GPU. Several if they
/// declare the same.
pub fn matching_pools(fleet: &Fleet, machine: &InventoryMachine, knowledge: Knowledge) -> Vec<usize> {
    let scored = fleet.pools.iter().enumerate();
    let scored: Vec<_> =
        scored.filter_map(|(at, pool)| Some((similarity_points(pool, machine, knowledge)?, at))).collect();
    let best = scored.iter().map(|(points, _)| *points).max();
    scored.into_iter().filter(|(points, _)| Some(*points) == best).map(|(_, at)| at).collect()
}

/// Returns the index of the pool for each machine. Equal pools are filled up to their declared numbers of nodes.
pub(super) fn assign_pools(fleet: &Fleet, machines: &[InventoryMachine], knowledge: Knowledge) -> Vec<Option<usize>> {
    let mut room: Vec<u32> =
        fleet.pools.iter().map(|pool| pool.nodes.as_ref().map_or(1, |nodes| nodes.value)).collect();
    let mut placed: Vec<_> = machines
        .iter()
        .enumerate()
        .map(|(at, machine)| (at, machine, matching_pools(fleet, machine, knowledge)))
        .collect();
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

/// Returns a pool with the GPUs, driver and platform of its machines, and all other fields as declared.
pub fn pool_as_observed(base: Option<&Pool>, name: String, build: &MachineConfig, knowledge: Knowledge) -> Pool {
    let span = Span::new(0, 0);
    let mut pool = base.cloned().unwrap_or_else(|| Pool::with_name(Declared { value: String::new(), span }));
    pool.name = Declared { value: name, span };
    let named = build.gpus.iter().filter(|gpu| !gpu.name.is_empty());
    let gpus: Vec<_> = named.map(|gpu| observed_gpu_spec(gpu, &pool.gpu, knowledge)).collect();
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
        let known = knowledge.driver_branch(driver.branch()).is_some();
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

/// Returns a GPU of a machine with its declared fields, and whether it is declared.
fn observed_gpu_spec(gpu: &MachineGpu, declared: &[Declared<GpuSpec>], knowledge: Knowledge) -> (GpuSpec, bool) {
    // One that is divided as it is comes first.
    let fits =
        |spec: &&GpuSpec| match_gpu_name(&spec.name, &gpu.name, knowledge).map(|fit| (gpu.parts.may_match(spec), fit));
    let own = declared.iter().map(|spec| &spec.value).filter(|spec| fits(spec).is_some()).max_by_key(fits);
    let row = knowledge.gpu(&gpu.name);
    let capability = gpu.capability.filter(|own| row.is_none_or(|row| row.capability != *own));
    let spec = GpuSpec {
        name: gpu_display_name(gpu, knowledge).to_owned(),
        count: gpu.count.or_else(|| own.filter(|spec| gpu.parts.may_match(spec))?.count),
        compute_capability: capability.or_else(|| own?.compute_capability),
        brand: own.and_then(|spec| spec.brand.clone()),
        mig: match &gpu.parts {
            GpuPartitioning::Unknown => own.and_then(|spec| spec.mig.clone()),
            GpuPartitioning::Whole => None,
            GpuPartitioning::Mig { .. } => Some(gpu.parts.single_profile().unwrap_or_default().to_owned()),
        },
    };
    (spec, own.is_some())
}
