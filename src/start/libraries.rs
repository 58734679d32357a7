//! Libraries: those that a program needs to start, and those that it opens later.

use crate::cuda::Capabilities;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::Needs;
use crate::fact::Presence;
use crate::fact::Soname;
use crate::fact::State;
use crate::fleet::Launch;
use crate::fleet::Mode;
use crate::fleet::Options;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::BasisList;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::cause::why_no_gpu;
use crate::start::device::Given;
use crate::start::device::given_as_to;
use crate::start::device::requested;
use crate::start::environment::Env;
use crate::start::loader;
use crate::start::loader::Alone;
use crate::start::names::component;
use crate::start::request::Asked;
use crate::start::request::at_work;

const AT_START: Cite = Cite("ld.so(8): what a program needs is resolved before its first instruction");
const LATER: Cite = Cite(
    "dlopen(3); libnvidia-container v1.20.0 (3e42819), src/nvc_info.c and src/options.h: the libraries of each capability",
);

const WANTED: &str = "NVIDIA_DRIVER_CAPABILITIES";
/// The one library of the driver that an image may bring itself.
const LIBCUDA: &str = "libcuda.so.1";

/// Whether a library is there once the container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum There {
    Yes,
    Unseen,
    Unfound,
    No,
}

/// Are the libraries there that the component needs to start?
pub(super) fn needed(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = of_component(replay).map(|needs| &needs.at_start) else {
        return nothing(Step::Libraries, AT_START);
    };
    if fact.is_unknown() {
        return record(replay, Step::Libraries, StepResult::Unknown, fact, &[], AT_START);
    }
    let Some(list) = fact.known() else { return nothing(Step::Libraries, AT_START) };
    let result = match worst(replay, list) {
        There::No => StepResult::Stops(Wall::new(Outcome::LibraryMissing, Codes::NONE)),
        There::Unfound => StepResult::Unknown,
        There::Unseen => StepResult::NotSeen,
        There::Yes => StepResult::Passes(Route::Native),
    };
    record(replay, Step::Libraries, result, fact, list, AT_START)
}

/// Whether the loader certainly stops the program, before it can ask for a GPU.
pub(super) fn stops(replay: Replay<'_>) -> bool {
    matches!(needed(replay).result, StepResult::Stops(_))
}

/// Whether the first library that the loader misses is one of the driver's.
pub(super) fn lacks_driver(replay: Replay<'_>) -> bool {
    first_missing(replay).is_some_and(|library| matches!(library.presence, Presence::Driver(_)))
}

/// The library that the loader names: the first that it does not find, in the order in which they are asked for.
fn first_missing(replay: Replay<'_>) -> Option<&Soname> {
    let list = of_component(replay)?.at_start.known()?;
    list.iter().find(|library| there(replay, library) == There::No)
}

/// Will the libraries be there that it opens later? They never keep it from starting; but what goes on without a GPU
/// where one is not there does so on a node that has GPUs for it.
pub(super) fn opened_later(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = of_component(replay).map(|needs| &needs.later) else { return nothing(Step::OpenedLater, LATER) };
    let Some(list) = fact.known() else { return nothing(Step::OpenedLater, LATER) };
    let result = match worst(replay, list) {
        There::No if merely_unfound(replay, list) => StepResult::NotSeen,
        There::No if falls_back(replay) => StepResult::Stops(Wall::new(Outcome::LibraryMissing, Codes::NONE)),
        There::No => StepResult::FailsLater,
        There::Unseen | There::Unfound => StepResult::NotSeen,
        There::Yes => StepResult::Passes(Route::Native),
    };
    record(replay, Step::OpenedLater, result, fact, list, LATER)
}

/// Whether it goes on without a GPU wherever it runs, as far as was seen: libraries that the image has to bring are not
/// there, or nothing brings them, on a base without CUDA.
pub(super) fn lacks_its_own(replay: Replay<'_>) -> bool {
    let bare = matches!(replay.image.base_cuda.state, State::Absent { .. });
    let later = of_component(replay).and_then(|needs| needs.later.known());
    let lacks = |library: &Soname| matches!(library.presence, Presence::Absent | Presence::Unfound);
    bare && falls_back(replay) && later.is_some_and(|list| list.iter().any(lacks))
}

/// Whether nothing that was seen brings its libraries, and none is certainly missing but those of the driver.
fn merely_unfound(replay: Replay<'_>, list: &[Soname]) -> bool {
    let any = |presence| list.iter().any(|library| library.presence == presence);
    falls_back(replay) && any(Presence::Unfound) && !any(Presence::Absent)
}

fn of_component(replay: Replay<'_>) -> Option<&Needs> {
    replay.image.needs.iter().find(|needs| needs.component == replay.component.name)
}

/// Nothing is known that would be asked for.
fn nothing(step: Step, cite: Cite) -> StepRecord {
    StepRecord::new(step, StepResult::NotApplicable, [], cite)
}

fn record(
    replay: Replay<'_>,
    step: Step,
    result: StepResult,
    fact: &Fact<Vec<Soname>>,
    list: &[Soname],
    cite: Cite,
) -> StepRecord {
    // Where it stops, what is missing decided, and nothing else.
    let stops = matches!(result, StepResult::Stops(_));
    let decided = |library: &&Soname| !stops || there(replay, library) == There::No;
    let driver = list.iter().filter(decided).any(|library| matches!(library.presence, Presence::Driver(_)));
    let more = if driver { kept_by(replay, stops) } else { BasisList::default() };
    StepRecord::new(step, result, [Basis::Image(fact.id)].into_iter().chain(more.iter()), cite)
}

/// What says which libraries of the driver come into the container.
fn kept_by(replay: Replay<'_>, stops: bool) -> BasisList {
    let (env, host) = (Env::of(replay), replay.host);
    let request = requested(replay);
    if stops && !at_work(request.asked) {
        return BasisList::of(request.facts.into_iter().flatten());
    }
    if stops && host.launch == Launch::Gke {
        return BasisList::of([env.basis(loader::SEARCH_PATH), Basis::Pool(PoolField::Launch)]);
    }
    let option = Basis::Entry(PoolEntry::Option(Options::SUPPORTED_CAPABILITIES));
    let asked = [env.basis(WANTED), Basis::Pool(PoolField::Mode), option];
    BasisList::of(asked.into_iter().filter(|_| host.mode == Mode::Legacy))
}

fn worst(replay: Replay<'_>, list: &[Soname]) -> There {
    list.iter().map(|library| there(replay, library)).max().unwrap_or(There::Yes)
}

fn there(replay: Replay<'_>, library: &Soname) -> There {
    match library.presence {
        Presence::Image => There::Yes,
        Presence::Absent => There::No,
        Presence::Unseen => There::Unseen,
        Presence::Unfound => There::Unfound,
        Presence::Driver(capability) => brought(replay, &library.name, capability),
    }
}

/// Whether the container stack brings a library of a driver capability: legacy mode alone asks the variable for which,
/// and none comes where nothing is asked for.
fn brought(replay: Replay<'_>, name: &str, capability: &str) -> There {
    let host = replay.host;
    let asked = requested(replay).asked;
    let outside = match given_as_to(replay, capability) {
        Given::NotAsked => !at_work(asked),
        Given::Set(set) => !brings(set, capability),
        // Of the latter the container is not created at all.
        Given::Untold(_) | Given::Refused => return There::Unseen,
    };
    match outside {
        true if host.toolkit_newer => There::Unseen,
        true if name == LIBCUDA => of_image(replay),
        true => There::No,
        false if asked == Asked::UntoldVariable => There::Unseen,
        false if host.launch == Launch::Gke => on_gke(replay, name),
        false => There::Yes,
    }
}

/// A libcuda of the image's own, where the host puts none in.
fn of_image(replay: Replay<'_>) -> There {
    match loader::alone(replay) {
        Alone::Nothing => There::No,
        Alone::Stub | Alone::Driver(..) => There::Yes,
        Alone::Open(_) => There::Unseen,
    }
}

/// GKE puts the driver where a program looks only if it is told to.
fn on_gke(replay: Replay<'_>, name: &str) -> There {
    match loader::finds_driver_on_gke(replay) {
        Some(true) => There::Yes,
        Some(false) if name == LIBCUDA => of_image(replay),
        Some(false) => There::No,
        None => There::Unseen,
    }
}

/// Whether a set brings the libraries of a capability: video comes with those of compute, display with graphics.
pub(super) fn brings(set: Capabilities, capability: &str) -> bool {
    let with = match capability {
        "compute" => "video",
        "graphics" => "display",
        _ => capability,
    };
    set.has(capability) || set.has(with)
}

/// The names of the libraries of one step that are not there, or of which nothing can be told.
fn lacking(replay: Replay<'_>, step: Step, how: There) -> Vec<&str> {
    let needs = of_component(replay);
    let list =
        needs.and_then(|needs| if step == Step::Libraries { needs.at_start.known() } else { needs.later.known() });
    let list = list.into_iter().flatten().filter(|library| there(replay, library) == how);
    list.map(|library| library.name.as_str()).collect()
}

/// What is missing.
pub(super) fn title(replay: Replay<'_>) -> String {
    let name = component(replay);
    match first_missing(replay) {
        Some(library) => format!("{name} needs {}, which is not in the container", library.name),
        None if goes_without(replay) => {
            let list = lacking(replay, Step::OpenedLater, There::No);
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

/// The rule behind it.
#[expect(clippy::unnecessary_wraps, reason = "one signature for every cause")]
pub(super) fn rule(replay: Replay<'_>) -> Option<String> {
    if replay.host.wsl_lacks.is_some() {
        return Some("the toolkit mounts the files of the Windows driver that its version lists by name".to_owned());
    }
    let Some(library) = first_missing(replay) else {
        let list = lacking(replay, Step::OpenedLater, There::No).join(", ");
        let rule = "it opens its libraries at run time, and continues on the CPU if one is missing";
        return Some(if list.is_empty() { rule.to_owned() } else { format!("{rule}; missing: {list}") });
    };
    Some(match library.presence {
        Presence::Driver(capability) => {
            format!("the library is part of the driver of the node: {}", kept_out(replay, capability))
        }
        _ => "the dynamic loader resolves every library before the program starts".to_owned(),
    })
}

/// What the loader prints.
pub(super) fn symptom(replay: Replay<'_>) -> Option<String> {
    let list = lacking(replay, Step::OpenedLater, There::No);
    match (first_missing(replay), list.first()) {
        (Some(library), _) => {
            Some(format!("{}: cannot open shared object file: No such file or directory", library.name))
        }
        (None, Some(first)) if goes_without(replay) => Some(format!("Could not load dynamic library '{first}'")),
        (None, _) => None,
    }
}

/// What the loader says of the first library that it does not find.
pub(super) fn message(replay: Replay<'_>) -> String {
    let needed = first_missing(replay);
    if needed.is_none() && goes_without(replay) {
        return without_gpu(replay);
    }
    let first = needed.map_or("a needed library", |library| library.name.as_str());
    let why = needed.and_then(|library| match library.presence {
        Presence::Driver(capability) => Some(format!(" ({})", kept_out(replay, capability))),
        _ => None,
    });
    format!("{first}: cannot open shared object file: No such file or directory{}", why.unwrap_or_default())
}

/// Why the libraries of a driver capability are not in the container.
fn kept_out(replay: Replay<'_>, capability: &str) -> String {
    match given_as_to(replay, capability) {
        Given::Set(_) if replay.host.launch != Launch::Gke => {
            format!("the driver capability {capability} is not requested")
        }
        _ => why_no_gpu(replay),
    }
}

/// Whether the component goes on without a GPU where it cannot open a library.
fn falls_back(replay: Replay<'_>) -> bool {
    of_component(replay).is_some_and(|needs| needs.falls_back)
}

fn without_gpu(replay: Replay<'_>) -> String {
    let list = lacking(replay, Step::OpenedLater, There::No).join(", ");
    format!("{} starts and uses no GPU, because it cannot open {list}", replay.component.called())
}

/// Whether it starts and certainly uses no GPU, however its code would run there.
pub(super) fn goes_without(replay: Replay<'_>) -> bool {
    falls_back(replay) && matches!(opened_later(replay).result, StepResult::Stops(_))
}

/// What is worth knowing of a start: that no GPU may be used.
pub(super) fn note(replay: Replay<'_>) -> Option<String> {
    if !falls_back(replay) || goes_without(replay) {
        return None;
    }
    let list = lacking(replay, Step::OpenedLater, There::Unfound).join(", ");
    let name = replay.component.called();
    (!list.is_empty())
        .then(|| format!("{name} uses no GPU without {list}, and nothing in the image is known to include it"))
}

/// What a program that starts will fail at: libraries of the image that it opens as it runs, and that are certainly not there.
pub(super) fn fails_later(replay: Replay<'_>) -> Option<String> {
    let later = of_component(replay)?.later.known()?;
    let absent = later.iter().filter(|library| library.presence == Presence::Absent);
    let list: Vec<&str> = absent.map(|library| library.name.as_str()).collect();
    let fails = !list.is_empty() && opened_later(replay).result == StepResult::FailsLater;
    fails.then(|| will_fail(replay.component.called(), &list.join(", ")))
}

fn will_fail(name: &str, list: &str) -> String {
    format!("{name} starts, and fails when it opens {list}, which is not in the image")
}

/// What a start lacks of which nothing tells that it is there.
pub(super) fn unfound(replay: Replay<'_>) -> Option<(FactId, String)> {
    let fact = &of_component(replay)?.at_start;
    let list = lacking(replay, Step::Libraries, There::Unfound).join(", ");
    let name = replay.component.called();
    (!list.is_empty())
        .then(|| (fact.id, format!("{name} needs {list}, and nothing in the image is known to include it")))
}

/// What was looked through for what is missing.
fn searched(replay: Replay<'_>) -> String {
    let needs = of_component(replay).and_then(|needs| needs.at_start.known());
    let missing = || needs.into_iter().flatten().filter(|library| there(replay, library) == There::No);
    let of_image = missing().any(|library| library.presence == Presence::Absent);
    let of_driver = missing().find_map(|library| match library.presence {
        Presence::Driver(capability) => Some(capability),
        _ => None,
    });
    let image = of_image.then(|| "no file, package or base of the image includes it".to_owned());
    let driver = of_driver.map(|capability| kept_out(replay, capability));
    let told: Vec<String> = image.into_iter().chain(driver).collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) }
}

/// What a step found, in one sentence.
pub(super) fn words(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = replay.component.called();
    let list = |how| lacking(replay, record.step, how).join(", ");
    match (record.step, record.result) {
        (Step::Libraries, StepResult::Stops(_)) => {
            format!("{name} needs {}, which is missing{}", list(There::No), searched(replay))
        }
        (Step::Libraries, StepResult::NotSeen) => {
            format!("{name} needs {}: whether the image contains it is unknown", list(There::Unseen))
        }
        (Step::Libraries, StepResult::Unknown) if lacking(replay, record.step, There::Unfound).is_empty() => {
            format!("the list of libraries that {name} needs is incomplete")
        }
        (Step::Libraries, StepResult::Unknown) => {
            format!("{name} needs {}, and nothing in the image is known to include it", list(There::Unfound))
        }
        (Step::Libraries, StepResult::Passes(_)) => format!("every library that {name} needs to start is present"),
        (Step::Libraries, _) => format!("{name} is not known to need a library from outside its package"),
        (_, StepResult::Stops(_)) => without_gpu(replay),
        (_, StepResult::FailsLater) => will_fail(name, &list(There::No)),
        (_, StepResult::NotSeen) => {
            let both: Vec<&str> =
                [There::Unseen, There::Unfound].into_iter().flat_map(|how| lacking(replay, record.step, how)).collect();
            format!("{name} opens {} later: whether the image contains it is unknown", both.join(", "))
        }
        (_, StepResult::Passes(_)) => format!("every library that {name} opens later is present"),
        _ => format!("{name} is not known to open a library later"),
    }
}

#[cfg(test)]
#[path = "libraries_tests.rs"]
mod tests;
