//! The library steps: shared libraries that a program needs to start, and those that it opens later.

use crate::fleet::{Launch, Mode, PoolEntry, PoolField, ToolkitOptions};
use crate::model::fact::{LibraryDependencies, LibraryProvider, RequiredLibrary, TypedFact, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::gpu_request::{GpuRequestKind, uses_container_toolkit};
use crate::replay::granted_capabilities::{GrantedCapabilities, NVIDIA_DRIVER_CAPABILITIES, includes_libraries};
use crate::replay::loader::ImageLibcuda;
use crate::replay::{
    Basis, Citation, CudaErrorCodes, Replay, ReplayFailure, StartRoute, StartStep, StepEvidenceList, StepRecord,
    StepResult, loader,
};

/// Citation for the rule that needed libraries are resolved at start.
const NEEDED_AT_START_CITATION: Citation =
    Citation("ld.so(8): what a program needs is resolved before its first instruction");
/// Citation for the rules for libraries that are opened later.
const OPENED_LATER_CITATION: Citation = Citation(
    "dlopen(3); libnvidia-container v1.20.0 (3e42819), src/nvc_info.c and src/options.h: the libraries of each capability",
);

/// Name of libcuda, the only driver library that an image may include itself.
const LIBCUDA: &str = "libcuda.so.1";

/// Whether a library is available once the container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LibraryAvailability {
    Yes,
    Unseen,
    Unfound,
    No,
}

/// Replays the libraries step: whether the libraries that the component needs to start are available.
pub(super) fn libraries_step(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = component_needs(replay).map(|needs| &needs.at_start) else {
        return not_applicable(StartStep::Libraries, NEEDED_AT_START_CITATION);
    };
    if fact.is_unknown() {
        return library_record(replay, StartStep::Libraries, StepResult::Unknown, fact, &[], NEEDED_AT_START_CITATION);
    }
    let Some(list) = fact.known() else { return not_applicable(StartStep::Libraries, NEEDED_AT_START_CITATION) };
    let result = match worst_availability(replay, list) {
        LibraryAvailability::No => StepResult::Stops(ReplayFailure::new(Outcome::LibraryMissing, CudaErrorCodes::NONE)),
        LibraryAvailability::Unfound => StepResult::Unknown,
        LibraryAvailability::Unseen => StepResult::NotSeen,
        LibraryAvailability::Yes => StepResult::Passes(StartRoute::Native),
    };
    library_record(replay, StartStep::Libraries, result, fact, list, NEEDED_AT_START_CITATION)
}

/// Whether the loader certainly stops the program before it can use a GPU.
pub(super) fn stops_in_loader(replay: Replay<'_>) -> bool {
    matches!(libraries_step(replay).result, StepResult::Stops(_))
}

/// Whether the first library that the loader does not find belongs to the driver.
pub(super) fn lacks_driver_library(replay: Replay<'_>) -> bool {
    first_missing_library(replay).is_some_and(|library| matches!(library.provider, LibraryProvider::Driver(_)))
}

/// Returns the first library that the loader does not find, in the order in which they are listed.
pub(super) fn first_missing_library(replay: Replay<'_>) -> Option<&RequiredLibrary> {
    let list = component_needs(replay)?.at_start.known()?;
    list.iter().find(|library| library_availability(replay, library) == LibraryAvailability::No)
}

/// Replays whether the libraries that the component opens later are available. A missing one never prevents the
/// start; but a component that then falls back to the CPU stops here, on a node that has GPUs for it.
pub(super) fn opened_later_step(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = component_needs(replay).map(|needs| &needs.at_run_time) else {
        return not_applicable(StartStep::OpenedLater, OPENED_LATER_CITATION);
    };
    let Some(list) = fact.known() else { return not_applicable(StartStep::OpenedLater, OPENED_LATER_CITATION) };
    let result = match worst_availability(replay, list) {
        LibraryAvailability::No if lacks_only_unlocated(replay, list) => StepResult::NotSeen,
        LibraryAvailability::No if falls_back_to_cpu(replay) => {
            StepResult::Stops(ReplayFailure::new(Outcome::LibraryMissing, CudaErrorCodes::NONE))
        }
        LibraryAvailability::No => StepResult::FailsLater,
        LibraryAvailability::Unseen | LibraryAvailability::Unfound => StepResult::NotSeen,
        LibraryAvailability::Yes => StepResult::Passes(StartRoute::Native),
    };
    library_record(replay, StartStep::OpenedLater, result, fact, list, OPENED_LATER_CITATION)
}

/// Whether the component falls back to the CPU on every node: on a base without CUDA, libraries of the image are
/// missing.
pub(super) fn lacks_image_libraries(replay: Replay<'_>) -> bool {
    let bare = matches!(replay.image.base_cuda.state, ValueState::Absent { .. });
    let later = component_needs(replay).and_then(|needs| needs.at_run_time.known());
    let lacks =
        |library: &RequiredLibrary| matches!(library.provider, LibraryProvider::Absent | LibraryProvider::Unfound);
    bare && falls_back_to_cpu(replay) && later.is_some_and(|list| list.iter().any(lacks))
}

/// Whether nothing seen provides its libraries, and none but those of the driver is certainly missing.
fn lacks_only_unlocated(replay: Replay<'_>, list: &[RequiredLibrary]) -> bool {
    let any = |presence| list.iter().any(|library| library.provider == presence);
    falls_back_to_cpu(replay) && any(LibraryProvider::Unfound) && !any(LibraryProvider::Absent)
}

/// Returns the libraries that the component needs and opens.
pub(super) fn component_needs(replay: Replay<'_>) -> Option<&LibraryDependencies> {
    replay.image.needs.iter().find(|needs| needs.component == replay.component.name)
}

/// Returns the record of a step for which no library is known to be needed.
fn not_applicable(step: StartStep, cite: Citation) -> StepRecord {
    StepRecord::new(step, StepResult::NotApplicable, [], cite)
}

/// Creates the record of a library step.
fn library_record(
    replay: Replay<'_>,
    step: StartStep,
    result: StepResult,
    fact: &TypedFact<Vec<RequiredLibrary>>,
    list: &[RequiredLibrary],
    cite: Citation,
) -> StepRecord {
    // Where it stops, what is missing decided, and nothing else.
    let stops = matches!(result, StepResult::Stops(_));
    let decided =
        |library: &&RequiredLibrary| !stops || library_availability(replay, library) == LibraryAvailability::No;
    let driver = list.iter().filter(decided).any(|library| matches!(library.provider, LibraryProvider::Driver(_)));
    let more = if driver { driver_library_facts(replay, stops) } else { StepEvidenceList::default() };
    StepRecord::new(step, result, [Basis::Image(fact.id)].into_iter().chain(more.iter()), cite)
}

/// Returns the facts that decide which libraries of the driver are added to the container.
fn driver_library_facts(replay: Replay<'_>, stops: bool) -> StepEvidenceList {
    let (env, host) = (replay.environment(), replay.host);
    let request = replay.container_request();
    if stops && !uses_container_toolkit(request.kind) {
        return StepEvidenceList::new(request.facts.into_iter().flatten());
    }
    if stops && host.launch == Launch::Gke {
        return StepEvidenceList::new([env.basis(loader::SEARCH_PATH), Basis::Pool(PoolField::Launch)]);
    }
    let option = Basis::Entry(PoolEntry::Option(ToolkitOptions::SUPPORTED_CAPABILITIES));
    let capability_facts = [env.basis(NVIDIA_DRIVER_CAPABILITIES), Basis::Pool(PoolField::Mode), option];
    StepEvidenceList::new(capability_facts.into_iter().filter(|_| host.mode == Mode::Legacy))
}

/// Returns the worst availability of several libraries.
fn worst_availability(replay: Replay<'_>, list: &[RequiredLibrary]) -> LibraryAvailability {
    list.iter().map(|library| library_availability(replay, library)).max().unwrap_or(LibraryAvailability::Yes)
}

/// Returns the availability of one library.
pub(super) fn library_availability(replay: Replay<'_>, library: &RequiredLibrary) -> LibraryAvailability {
    match library.provider {
        LibraryProvider::Image => LibraryAvailability::Yes,
        LibraryProvider::Absent => LibraryAvailability::No,
        LibraryProvider::Unknown => LibraryAvailability::Unseen,
        LibraryProvider::Unfound => LibraryAvailability::Unfound,
        LibraryProvider::Driver(capability) => driver_library_availability(replay, &library.name, capability),
    }
}

/// Returns whether the container stack adds a library of a driver capability. Only legacy mode reads the capabilities
/// variable, and nothing is added without a device request.
fn driver_library_availability(replay: Replay<'_>, name: &str, capability: &str) -> LibraryAvailability {
    let host = replay.host;
    let kind = replay.container_request().kind;
    let outside = match replay.granted_capabilities_for(capability) {
        GrantedCapabilities::NotRead => !uses_container_toolkit(kind),
        GrantedCapabilities::Set(set) => !includes_libraries(set, capability),
        // Of the latter the container is not created at all.
        GrantedCapabilities::Unknown(_) | GrantedCapabilities::Refused => return LibraryAvailability::Unseen,
    };
    match outside {
        true if host.toolkit_newer => LibraryAvailability::Unseen,
        true if name == LIBCUDA => image_libcuda_availability(replay),
        true => LibraryAvailability::No,
        false if kind == GpuRequestKind::UnknownVariable => LibraryAvailability::Unseen,
        false if host.launch == Launch::Gke => gke_library_availability(replay, name),
        false => LibraryAvailability::Yes,
    }
}

/// Returns whether the image contains libcuda, where the host adds none.
fn image_libcuda_availability(replay: Replay<'_>) -> LibraryAvailability {
    match loader::image_libcuda(replay) {
        ImageLibcuda::Nothing => LibraryAvailability::No,
        ImageLibcuda::Stub | ImageLibcuda::Driver(..) => LibraryAvailability::Yes,
        ImageLibcuda::Open(_) => LibraryAvailability::Unseen,
    }
}

/// Returns whether a program finds a driver library on GKE, which requires a search path.
fn gke_library_availability(replay: Replay<'_>, name: &str) -> LibraryAvailability {
    match loader::searches_gke_driver_directory(replay) {
        Some(true) => LibraryAvailability::Yes,
        Some(false) if name == LIBCUDA => image_libcuda_availability(replay),
        Some(false) => LibraryAvailability::No,
        None => LibraryAvailability::Unseen,
    }
}

/// Returns the names of the libraries of one step that have an availability.
pub(super) fn library_names_with(replay: Replay<'_>, step: StartStep, how: LibraryAvailability) -> Vec<&str> {
    let needs = component_needs(replay);
    let list =
        needs.and_then(
            |needs| if step == StartStep::Libraries { needs.at_start.known() } else { needs.at_run_time.known() },
        );
    let list = list.into_iter().flatten().filter(|library| library_availability(replay, library) == how);
    list.map(|library| library.name.as_str()).collect()
}

/// Whether the component continues without a GPU if it cannot open a library.
pub(super) fn falls_back_to_cpu(replay: Replay<'_>) -> bool {
    component_needs(replay).is_some_and(|needs| needs.falls_back)
}

/// Whether the component starts and certainly uses no GPU, whatever code it has.
pub(super) fn starts_without_gpu(replay: Replay<'_>) -> bool {
    falls_back_to_cpu(replay) && matches!(opened_later_step(replay).result, StepResult::Stops(_))
}

#[cfg(test)]
#[path = "libraries_tests.rs"]
mod tests;
