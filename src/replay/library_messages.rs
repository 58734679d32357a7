//! Messages about the libraries that a program needs to start or opens later.

use crate::fleet::Launch;
use crate::model::cause::Cause;
use crate::model::fact::{FactId, LibraryProvider};
use crate::replay::display_names::component_name;
use crate::replay::failure_cause::no_gpu_reason;
use crate::replay::granted_capabilities::GrantedCapabilities;
use crate::replay::libraries::{
    LibraryAvailability, component_needs, falls_back_to_cpu, first_missing_library, library_availability,
    library_names_with, opened_later_step, starts_without_gpu,
};
use crate::replay::{Replay, StartStep, StepRecord, StepResult};

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
    match replay.granted_capabilities_for(capability) {
        GrantedCapabilities::Set(_) if replay.host.launch != Launch::Gke => {
            format!("the driver capability {capability} is not requested")
        }
        _ => no_gpu_reason(replay),
    }
}

/// Describes a component that starts without a GPU because libraries are missing.
fn cpu_fallback_message(replay: Replay<'_>) -> String {
    let list = library_names_with(replay, StartStep::OpenedLater, LibraryAvailability::No).join(", ");
    format!("{} starts and uses no GPU, because it cannot open {list}", replay.component.display_name())
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
pub(super) fn unlocated_libraries_cause(replay: Replay<'_>) -> Option<(FactId, Cause)> {
    let fact = &component_needs(replay)?.at_start;
    let libraries = library_names_with(replay, StartStep::Libraries, LibraryAvailability::Unfound).join(", ");
    let component = replay.component.display_name().to_owned();
    (!libraries.is_empty()).then_some((fact.id, Cause::LibrariesNotFound { component, libraries }))
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
    let reasons: Vec<String> = image.into_iter().chain(driver).collect();
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
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
