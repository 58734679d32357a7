//! Loader equivalence: everything in an image and a component that a start reads up to the libcuda it loads.

use std::fmt::Write as _;

use crate::model::fact::{Component, ComponentRole, Evidence, FactId, FactKey, GpuCode, ValueState};
use crate::replay::cuda_callers::CudaCallers;
use crate::replay::{Replay, cuda_callers, requirement};

/// Returns a text that is equal for replays that no step up to the loader distinguishes, on any host. It includes the
/// ids of their facts, so that equal replays give the same messages.
pub(super) fn loader_equivalence_key(one: Replay<'_>) -> String {
    let Replay { image, component, .. } = one;
    let Component { name, role, cuda, code, possible_releases: may_be, .. } = component;
    let needs = image.needs.iter().find(|needs| needs.component == *name);
    let absent = |other: &Component| other.is_without_cuda();
    let stepped_back = image.components.iter().any(|other| other.role == ComponentRole::Extension && absent(other));
    let of_cuda = !may_be.is_empty() && may_be.iter().all(|one| one.cuda.known().is_some());
    let by_entrypoint = |id: FactId| match &image.facts.get(id).evidence {
        Evidence::Derived { from, .. } => from.iter().any(|id| image.facts.get(*id).key == FactKey::Entrypoint),
        Evidence::Leaf(_) => false,
    };
    // The exact CUDA version does not matter there.
    let cuda_is = match cuda.state {
        ValueState::Known(_) => "known",
        ValueState::Absent { .. } => "absent",
        ValueState::Unknown(_) => "unknown",
    };
    let flags = [
        stepped_back,
        of_cuda,
        code.known().is_some_and(GpuCode::has_code),
        cuda_callers::has_cuda_label(one),
        requirement::may_disable_requirements(one),
        cuda_callers::is_cuda_use_uncertain(one),
        matches!(image.base_cuda.state, ValueState::Absent { .. }),
        image.base.is_none(),
        by_entrypoint(image.compat_probe.id),
    ];
    let files = (&image.driver_libraries, &image.library_directory, &image.ld_conf, &image.ld_cache, &image.firmware);
    let mut key = String::new();
    // Writing into a text cannot fail.
    let callers = CudaCallers::of(one);
    let _ = write!(key, "{name} {role:?} {cuda_is} {:?} {flags:?} {callers:?} {needs:?}", cuda.id);
    let _ = write!(key, "{:?} {:?} {:?}", image.platforms, image.cuda_usage, image.env);
    let _ = write!(key, "{:?} {:?} {files:?}", image.compat, image.compat_probe);
    key
}
