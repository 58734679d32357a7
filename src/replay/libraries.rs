//! The library steps: shared libraries that a program needs to start, and those that it opens later.

use crate::cuda::DriverCapabilities;
use crate::fact::{FactId, LibraryDependencies, LibraryProvider, RequiredLibrary, TypedFact, ValueState};
use crate::fleet::{Launch, Mode, PoolEntry, PoolField, ToolkitOptions};
use crate::outcome::Outcome;
use crate::replay::device::{GrantedCapabilities, container_request, granted_capabilities_for};
use crate::replay::display_names::component_name;
use crate::replay::environment::ContainerEnv;
use crate::replay::failure_cause::no_gpu_reason;
use crate::replay::gpu_request::{GpuRequestKind, uses_container_toolkit};
use crate::replay::loader::ImageLibcuda;
use crate::replay::{
    Basis, BasisList, Citation, CudaErrorCodes, Replay, ReplayFailure, Route, StartStep, StepRecord, StepResult, loader,
};

/// Source of the rule that needed libraries are resolved at start.
const AT_START: Citation = Citation("ld.so(8): what a program needs is resolved before its first instruction");
/// Source of the rules for libraries that are opened later.
const LATER: Citation = Citation(
    "dlopen(3); libnvidia-container v1.20.0 (3e42819), src/nvc_info.c and src/options.h: the libraries of each capability",
);

/// Variable that requests driver capabilities.
const NVIDIA_DRIVER_CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";
/// Name of libcuda, the only driver library that an image may include itself.
const LIBCUDA: &str = "libcuda.so.1";

/// Whether a library is available once the container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LibraryAvailability {
    Yes,
    Unseen,
    Unfound,
    No,
}

/// Replays the libraries step: whether the libraries that the component needs to start are available.
pub(super) fn libraries_step(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = component_needs(replay).map(|needs| &needs.at_start) else {
        return not_applicable(StartStep::Libraries, AT_START);
    };
    if fact.is_unknown() {
        return library_record(replay, StartStep::Libraries, StepResult::Unknown, fact, &[], AT_START);
    }
    let Some(list) = fact.known() else { return not_applicable(StartStep::Libraries, AT_START) };
    let result = match worst_availability(replay, list) {
        LibraryAvailability::No => StepResult::Stops(ReplayFailure::new(Outcome::LibraryMissing, CudaErrorCodes::NONE)),
        LibraryAvailability::Unfound => StepResult::Unknown,
        LibraryAvailability::Unseen => StepResult::NotSeen,
        LibraryAvailability::Yes => StepResult::Passes(Route::Native),
    };
    library_record(replay, StartStep::Libraries, result, fact, list, AT_START)
}

/// Whether the loader certainly stops the program before it can use a GPU.
pub(super) fn stops_in_loader(replay: Replay<'_>) -> bool {
    matches!(libraries_step(replay).result, StepResult::Stops(_))
}

/// Whether the first library that the loader misses belongs to the driver.
pub(super) fn lacks_driver_library(replay: Replay<'_>) -> bool {
    first_missing_library(replay).is_some_and(|library| matches!(library.provider, LibraryProvider::Driver(_)))
}

/// Returns the first library that the loader does not find, in the order in which they are listed.
fn first_missing_library(replay: Replay<'_>) -> Option<&RequiredLibrary> {
    let list = component_needs(replay)?.at_start.known()?;
    list.iter().find(|library| library_availability(replay, library) == LibraryAvailability::No)
}

/// Replays whether the libraries that the component opens later are available. A missing one never prevents the
/// start; but a component that then falls back to the CPU stops here, on a node that has GPUs for it.
pub(super) fn opened_later_step(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = component_needs(replay).map(|needs| &needs.at_run_time) else {
        return not_applicable(StartStep::OpenedLater, LATER);
    };
    let Some(list) = fact.known() else { return not_applicable(StartStep::OpenedLater, LATER) };
    let result = match worst_availability(replay, list) {
        LibraryAvailability::No if lacks_only_unlocated(replay, list) => StepResult::NotSeen,
        LibraryAvailability::No if falls_back_to_cpu(replay) => {
            StepResult::Stops(ReplayFailure::new(Outcome::LibraryMissing, CudaErrorCodes::NONE))
        }
        LibraryAvailability::No => StepResult::FailsLater,
        LibraryAvailability::Unseen | LibraryAvailability::Unfound => StepResult::NotSeen,
        LibraryAvailability::Yes => StepResult::Passes(Route::Native),
    };
    library_record(replay, StartStep::OpenedLater, result, fact, list, LATER)
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
fn component_needs(replay: Replay<'_>) -> Option<&LibraryDependencies> {
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
    let more = if driver { driver_library_facts(replay, stops) } else { BasisList::default() };
    StepRecord::new(step, result, [Basis::Image(fact.id)].into_iter().chain(more.iter()), cite)
}

/// Returns the facts that decide which libraries of the driver are added to the container.
fn driver_library_facts(replay: Replay<'_>, stops: bool) -> BasisList {
    let (env, host) = (ContainerEnv::from_replay(replay), replay.host);
    let request = container_request(replay);
    if stops && !uses_container_toolkit(request.asked) {
        return BasisList::new(request.facts.into_iter().flatten());
    }
    if stops && host.launch == Launch::Gke {
        return BasisList::new([env.basis(loader::SEARCH_PATH), Basis::Pool(PoolField::Launch)]);
    }
    let option = Basis::Entry(PoolEntry::Option(ToolkitOptions::SUPPORTED_CAPABILITIES));
    let asked = [env.basis(NVIDIA_DRIVER_CAPABILITIES), Basis::Pool(PoolField::Mode), option];
    BasisList::new(asked.into_iter().filter(|_| host.mode == Mode::Legacy))
}

/// Returns the worst availability of several libraries.
fn worst_availability(replay: Replay<'_>, list: &[RequiredLibrary]) -> LibraryAvailability {
    list.iter().map(|library| library_availability(replay, library)).max().unwrap_or(LibraryAvailability::Yes)
}

/// Returns the availability of one library.
fn library_availability(replay: Replay<'_>, library: &RequiredLibrary) -> LibraryAvailability {
    match library.provider {
        LibraryProvider::Image => LibraryAvailability::Yes,
        LibraryProvider::Absent => LibraryAvailability::No,
        LibraryProvider::Unseen => LibraryAvailability::Unseen,
        LibraryProvider::Unfound => LibraryAvailability::Unfound,
        LibraryProvider::Driver(capability) => driver_library_availability(replay, &library.name, capability),
    }
}

/// Returns whether the container stack adds a library of a driver capability. Only legacy mode reads the capabilities
/// variable, and nothing is added without a device request.
fn driver_library_availability(replay: Replay<'_>, name: &str, capability: &str) -> LibraryAvailability {
    let host = replay.host;
    let asked = container_request(replay).asked;
    let outside = match granted_capabilities_for(replay, capability) {
        GrantedCapabilities::NotAsked => !uses_container_toolkit(asked),
        GrantedCapabilities::Set(set) => !includes_libraries(set, capability),
        // Of the latter the container is not created at all.
        GrantedCapabilities::Untold(_) | GrantedCapabilities::Refused => return LibraryAvailability::Unseen,
    };
    match outside {
        true if host.toolkit_newer => LibraryAvailability::Unseen,
        true if name == LIBCUDA => image_libcuda_availability(replay),
        true => LibraryAvailability::No,
        false if asked == GpuRequestKind::UntoldVariable => LibraryAvailability::Unseen,
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

/// Whether a set includes the libraries of a capability; video includes those of compute, display those of graphics.
pub(super) fn includes_libraries(set: DriverCapabilities, capability: &str) -> bool {
    let with = match capability {
        "compute" => "video",
        "graphics" => "display",
        _ => capability,
    };
    set.contains(capability) || set.contains(with)
}

/// Returns the names of the libraries of one step that have an availability.
fn library_names_with(replay: Replay<'_>, step: StartStep, how: LibraryAvailability) -> Vec<&str> {
    let needs = component_needs(replay);
    let list =
        needs.and_then(
            |needs| if step == StartStep::Libraries { needs.at_start.known() } else { needs.at_run_time.known() },
        );
    let list = list.into_iter().flatten().filter(|library| library_availability(replay, library) == how);
    list.map(|library| library.name.as_str()).collect()
}

/// Describes the library that is missing.
pub(super) fn missing_library_title(replay: Replay<'_>) -> String {
    let name = component_name(replay);
    match first_missing_library(replay) {
        Some(library) => format!("{name} needs {}, which is not in the container", library.name),
        None if starts_without_gpu(replay) => {
            let list = library_names_with(replay, StartStep::OpenedLater, LibraryAvailability::No);
            let first = list.first().copied().unwrap_or_default();
            match list.len().saturating_sub(1) {
                0 => format!("{name} uses no GPU without {first}"),
                1 => format!("{name} uses no GPU without {first} and 1 more library"),
                more => format!("{name} uses no GPU without {first} and {more} more libraries"),
            }
        }
        None => format!("a library that {name} needs is not in the container"),
    }
}

/// Describes the rule behind a missing library.
#[expect(clippy::unnecessary_wraps, reason = "one signature for every cause")]
pub(super) fn missing_library_rule(replay: Replay<'_>) -> Option<String> {
    if replay.host.wsl_lacks.is_some() {
        return Some("the toolkit mounts the files of the Windows driver that its version lists by name".to_owned());
    }
    let Some(library) = first_missing_library(replay) else {
        let list = library_names_with(replay, StartStep::OpenedLater, LibraryAvailability::No).join(", ");
        let rule = "it opens its libraries at run time, and continues on the CPU if one is missing";
        return Some(if list.is_empty() { rule.to_owned() } else { format!("{rule}; missing: {list}") });
    };
    Some(match library.provider {
        LibraryProvider::Driver(capability) => {
            format!(
                "the library is part of the driver of the node: {}",
                missing_driver_library_reason(replay, capability)
            )
        }
        _ => "the dynamic loader resolves every library before the program starts".to_owned(),
    })
}

/// Returns the error that the loader prints.
pub(super) fn missing_library_symptom(replay: Replay<'_>) -> Option<String> {
    let list = library_names_with(replay, StartStep::OpenedLater, LibraryAvailability::No);
    match (first_missing_library(replay), list.first()) {
        (Some(library), _) => {
            Some(format!("{}: cannot open shared object file: No such file or directory", library.name))
        }
        (None, Some(first)) if starts_without_gpu(replay) => Some(format!("Could not load dynamic library '{first}'")),
        (None, _) => None,
    }
}

/// Returns the loader's error for the first library that it does not find, with the reason.
pub(super) fn missing_library_message(replay: Replay<'_>) -> String {
    let needed = first_missing_library(replay);
    if needed.is_none() && starts_without_gpu(replay) {
        return cpu_fallback_message(replay);
    }
    let first = needed.map_or("a needed library", |library| library.name.as_str());
    let why = needed.and_then(|library| match library.provider {
        LibraryProvider::Driver(capability) => {
            Some(format!(" ({})", missing_driver_library_reason(replay, capability)))
        }
        _ => None,
    });
    format!("{first}: cannot open shared object file: No such file or directory{}", why.unwrap_or_default())
}

/// Describes why the libraries of a driver capability are not in the container.
fn missing_driver_library_reason(replay: Replay<'_>, capability: &str) -> String {
    match granted_capabilities_for(replay, capability) {
        GrantedCapabilities::Set(_) if replay.host.launch != Launch::Gke => {
            format!("the driver capability {capability} is not requested")
        }
        _ => no_gpu_reason(replay),
    }
}

/// Whether the component continues without a GPU if it cannot open a library.
fn falls_back_to_cpu(replay: Replay<'_>) -> bool {
    component_needs(replay).is_some_and(|needs| needs.falls_back)
}

/// Describes a component that starts without a GPU because libraries are missing.
fn cpu_fallback_message(replay: Replay<'_>) -> String {
    let list = library_names_with(replay, StartStep::OpenedLater, LibraryAvailability::No).join(", ");
    format!("{} starts and uses no GPU, because it cannot open {list}", replay.component.display_name())
}

/// Whether the component starts and certainly uses no GPU, whatever code it has.
pub(super) fn starts_without_gpu(replay: Replay<'_>) -> bool {
    falls_back_to_cpu(replay) && matches!(opened_later_step(replay).result, StepResult::Stops(_))
}

/// Returns a note on a component that starts but may use no GPU.
pub(super) fn possible_fallback_note(replay: Replay<'_>) -> Option<String> {
    if !falls_back_to_cpu(replay) || starts_without_gpu(replay) {
        return None;
    }
    let list = library_names_with(replay, StartStep::OpenedLater, LibraryAvailability::Unfound).join(", ");
    let name = replay.component.display_name();
    (!list.is_empty())
        .then(|| format!("{name} uses no GPU without {list}, and nothing in the image is known to include it"))
}

/// Returns a note on libraries of the image that the component opens later and that are certainly missing.
pub(super) fn later_failure_note(replay: Replay<'_>) -> Option<String> {
    let later = component_needs(replay)?.at_run_time.known()?;
    let absent = later.iter().filter(|library| library.provider == LibraryProvider::Absent);
    let list: Vec<&str> = absent.map(|library| library.name.as_str()).collect();
    let fails = !list.is_empty() && opened_later_step(replay).result == StepResult::FailsLater;
    fails.then(|| later_failure_message(replay.component.display_name(), &list.join(", ")))
}

/// Describes a component that starts and fails when it opens libraries.
fn later_failure_message(name: &str, list: &str) -> String {
    format!("{name} starts, and fails when it opens {list}, which is not in the image")
}

/// Returns the fact and the reason of needed libraries that nothing in the image is known to include.
pub(super) fn unlocated_libraries_reason(replay: Replay<'_>) -> Option<(FactId, String)> {
    let fact = &component_needs(replay)?.at_start;
    let list = library_names_with(replay, StartStep::Libraries, LibraryAvailability::Unfound).join(", ");
    let name = replay.component.display_name();
    (!list.is_empty())
        .then(|| (fact.id, format!("{name} needs {list}, and nothing in the image is known to include it")))
}

/// Describes why the missing libraries are not in the container.
fn missing_libraries_reason(replay: Replay<'_>) -> String {
    let needs = component_needs(replay).and_then(|needs| needs.at_start.known());
    let missing = || {
        needs.into_iter().flatten().filter(|library| library_availability(replay, library) == LibraryAvailability::No)
    };
    let of_image = missing().any(|library| library.provider == LibraryProvider::Absent);
    let of_driver = missing().find_map(|library| match library.provider {
        LibraryProvider::Driver(capability) => Some(capability),
        _ => None,
    });
    let image = of_image.then(|| "no file, package or base of the image includes it".to_owned());
    let driver = of_driver.map(|capability| missing_driver_library_reason(replay, capability));
    let told: Vec<String> = image.into_iter().chain(driver).collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) }
}

/// Describes the result of a library step in one sentence.
pub(super) fn describe_library_step(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = replay.component.display_name();
    let list = |how| library_names_with(replay, record.step, how).join(", ");
    match (record.step, record.result) {
        (StartStep::Libraries, StepResult::Stops(_)) => {
            format!(
                "{name} needs {}, which is missing{}",
                list(LibraryAvailability::No),
                missing_libraries_reason(replay)
            )
        }
        (StartStep::Libraries, StepResult::NotSeen) => {
            format!("{name} needs {}: whether the image contains it is unknown", list(LibraryAvailability::Unseen))
        }
        (StartStep::Libraries, StepResult::Unknown)
            if library_names_with(replay, record.step, LibraryAvailability::Unfound).is_empty() =>
        {
            format!("the list of libraries that {name} needs is incomplete")
        }
        (StartStep::Libraries, StepResult::Unknown) => {
            format!(
                "{name} needs {}, and nothing in the image is known to include it",
                list(LibraryAvailability::Unfound)
            )
        }
        (StartStep::Libraries, StepResult::Passes(_)) => format!("every library that {name} needs to start is present"),
        (StartStep::Libraries, _) => format!("{name} is not known to need a library from outside its package"),
        (_, StepResult::Stops(_)) => cpu_fallback_message(replay),
        (_, StepResult::FailsLater) => later_failure_message(name, &list(LibraryAvailability::No)),
        (_, StepResult::NotSeen) => {
            let both: Vec<&str> = [LibraryAvailability::Unseen, LibraryAvailability::Unfound]
                .into_iter()
                .flat_map(|how| library_names_with(replay, record.step, how))
                .collect();
            format!("{name} opens {} later: whether the image contains it is unknown", both.join(", "))
        }
        (_, StepResult::Passes(_)) => format!("every library that {name} opens later is present"),
        _ => format!("{name} is not known to open a library later"),
    }
}

#[cfg(test)]
#[path = "libraries_tests.rs"]
mod tests;
