//! Whether the image has anything that calls CUDA; CUDA libraries without a program do not count.

use crate::cuda::LIBCUDA_SONAME;
use crate::knowledge::Knowledge;
use crate::model::fact::{
    Component, CudaUsage, FactKey, InspectionDepth, Observations, ObservedLibraryDependencies, ObservedPackage,
    PackageManager, ValueState,
};

/// Returns what indicates that something in the image calls CUDA: packages, programs, GPU code, builds for GPUs,
/// unread files, a description or the command that it starts.
pub(super) fn detect_cuda_callers(seen: &Observations, components: &[Component], knowledge: Knowledge) -> CudaUsage {
    let calls_nothing = |one: &Component| (one.anonymous && !one.program) || one.is_without_cuda();
    let said = seen.base_changes.builds_for_gpus
        || seen.cuda_runtime.is_some()
        || !seen.code.is_empty()
        || !seen.base_changes.arch_lists.is_empty();
    let asks = |file: &ObservedLibraryDependencies| {
        file.needs
            .iter()
            .chain(&file.opens)
            .any(|name| name == LIBCUDA_SONAME || knowledge.cuda_of_runtime(name).is_some())
    };
    if said || !components.iter().all(calls_nothing) || seen.needs.iter().any(asks) {
        return CudaUsage::Found;
    }
    // In an image that was scanned, the packages of its base are among those that were seen.
    let scanned = seen.depth == InspectionDepth::Layers;
    let packages = if scanned { &[][..] } else { seen.packages.as_slice() };
    let has_runtime = |package: &ObservedPackage| {
        knowledge.runtime_package(&package.name).is_some()
            || knowledge.library_wheel(&package.name).is_some_and(|row| row.runtime)
    };
    let may_call = |package: &ObservedPackage| {
        knowledge.may_contain_libraries(&package.name)
            && knowledge.cpu_package(&package.name).is_none()
            && !has_runtime(package)
    };
    let mut entries = seen.facts.iter();
    let unread =
        entries.find(|(_, entry)| entry.key == FactKey::Requirements && matches!(entry.state, ValueState::Unknown(_)));
    let of_system = |package: &ObservedPackage| package.manager == PackageManager::System;
    let monitor = |command: &String| knowledge.monitoring_program(command).is_some();
    let complete = seen.complete.packages && seen.complete.code;
    let started = seen.base_changes.starts.iter().flat_map(|(commands, _)| commands);
    match unread {
        None if started.clone().next().is_some() && started.clone().all(monitor) => CudaUsage::MonitoringProgram,
        None if !scanned && complete && seen.packages.iter().all(of_system) => CudaUsage::Absent,
        Some((list, _)) => CudaUsage::UnreadList(list),
        None if seen.base_changes.copies_unread_images || packages.iter().any(may_call) => CudaUsage::Possible,
        None if packages.iter().any(has_runtime) => CudaUsage::RuntimePackage,
        None => CudaUsage::NotFound,
    }
}
