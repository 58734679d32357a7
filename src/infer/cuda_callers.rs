//! Whether the image has anything that calls CUDA; CUDA libraries without a program do not count.

use crate::cuda::LIBCUDA_SONAME;
use crate::knowledge::Knowledge;
use crate::model::fact::{
    Component, CudaUsage, FactKey, InspectionDepth, Observations, ObservedLibraryDependencies, ObservedPackage,
    PackageManager, ValueState,
};

/// Returns what indicates that something in the image calls CUDA: packages, programs, GPU code, builds for GPUs,
/// unread files or a description.
pub(super) fn detect_cuda_callers(seen: &Observations, components: &[Component], knowledge: Knowledge) -> CudaUsage {
    let stands_for_any = |one: &Component| one.anonymous && !one.program;
    let said = seen.of_base.builds_for_gpus
        || seen.cuda_runtime.is_some()
        || !seen.code.is_empty()
        || !seen.of_base.arch_lists.is_empty();
    let asks = |file: &ObservedLibraryDependencies| {
        file.needs
            .iter()
            .chain(&file.opens)
            .any(|name| name == LIBCUDA_SONAME || knowledge.cuda_of_runtime(name).is_some())
    };
    // Of an image that was read, the packages of its base are among those that were seen.
    let read = seen.depth == InspectionDepth::Layers;
    let brings = |package: &ObservedPackage| {
        knowledge.runtime_package(&package.name).is_some() || knowledge.may_contain_libraries(&package.name)
    };
    let stands = components.iter().all(stands_for_any);
    let brought = || seen.packages.iter().filter(|package| !read && brings(package));
    let runtime = |package: &ObservedPackage| knowledge.runtime_package(&package.name).is_some();
    if said || !stands || seen.needs.iter().any(asks) || !brought().all(runtime) {
        return CudaUsage::Seen;
    }
    let mut entries = seen.facts.iter();
    let unread =
        entries.find(|(_, entry)| entry.key == FactKey::Requirements && matches!(entry.state, ValueState::Unknown(_)));
    let of_system = |package: &ObservedPackage| package.manager == PackageManager::Apt;
    match unread {
        _ if brought().next().is_some() => CudaUsage::Runtime,
        Some((list, _)) => CudaUsage::Unread(list),
        None if !read && seen.complete.code && seen.packages.iter().all(of_system) => CudaUsage::Nobody,
        None => CudaUsage::None,
    }
}
