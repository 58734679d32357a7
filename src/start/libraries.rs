//! Libraries: those that a program needs to start, and those that it opens later.

use crate::cuda::SUPPORTED_CAPABILITIES;
use crate::cuda::driver_capabilities;
use crate::fact::Fact;
use crate::fact::Needs;
use crate::fact::Presence;
use crate::fact::Soname;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

const AT_START: Cite = Cite("ld.so(8): what a program needs is resolved before its first instruction");
const LATER: Cite = Cite("dlopen(3); libnvidia-container src/nvc_info.c: which capability brings which library");

const WANTED: &str = "NVIDIA_DRIVER_CAPABILITIES";

/// Whether a library is there once the container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum There {
    Yes,
    Unseen,
    No,
}

/// Are the libraries there that the component needs to start?
pub(super) fn needed(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = of_component(replay).map(|needs| &needs.at_start) else {
        return nothing(Step::Libraries, AT_START);
    };
    let Some(list) = fact.known() else { return nothing(Step::Libraries, AT_START) };
    let result = match worst(replay, list) {
        There::No => StepResult::Stops(Wall::new(Outcome::LibraryMissing, Codes::NONE)),
        There::Unseen => StepResult::NotSeen,
        There::Yes => StepResult::Passes(Route::Native),
    };
    record(replay, Step::Libraries, result, fact, list, AT_START)
}

/// Will the libraries be there that it opens later? They never keep it from starting.
pub(super) fn opened_later(replay: Replay<'_>) -> StepRecord {
    let Some(fact) = of_component(replay).map(|needs| &needs.later) else { return nothing(Step::OpenedLater, LATER) };
    let Some(list) = fact.known() else { return nothing(Step::OpenedLater, LATER) };
    let result = match worst(replay, list) {
        There::No => StepResult::FailsLater,
        There::Unseen => StepResult::NotSeen,
        There::Yes => StepResult::Passes(Route::Native),
    };
    record(replay, Step::OpenedLater, result, fact, list, LATER)
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
    let driver = list.iter().any(|library| matches!(library.presence, Presence::Driver(_)));
    let asked = driver && replay.host.mode == Mode::Legacy;
    let variable = if replay.host.env.contains_key(WANTED) {
        Basis::Pool(PoolField::Env)
    } else {
        Basis::Image(replay.image.env.get(WANTED).id)
    };
    let more = [variable, Basis::Pool(PoolField::Mode)].into_iter().filter(|_| asked);
    StepRecord::new(step, result, [Basis::Image(fact.id)].into_iter().chain(more), cite)
}

fn worst(replay: Replay<'_>, list: &[Soname]) -> There {
    list.iter().map(|library| there(replay, library)).max().unwrap_or(There::Yes)
}

fn there(replay: Replay<'_>, library: &Soname) -> There {
    match library.presence {
        Presence::Image => There::Yes,
        Presence::Absent => There::No,
        Presence::Unseen => There::Unseen,
        Presence::Driver(capability) => brought(replay, capability),
    }
}

/// Whether the container stack brings the libraries of a driver capability: legacy mode alone asks the variable.
fn brought(replay: Replay<'_>, capability: &str) -> There {
    if replay.host.mode != Mode::Legacy {
        return There::Yes;
    }
    let value = |name: &str| {
        let fact = replay.image.env.get(name);
        replay.host.env.get(name).or(fact.known()).map(String::as_str)
    };
    let unseen = |name: &str| value(name).is_none() && replay.image.env.get(name).is_unknown();
    let wanted = value(WANTED);
    if unseen(WANTED) || (wanted.is_none() && (unseen("CUDA_VERSION") || unseen("NVIDIA_REQUIRE_CUDA"))) {
        return There::Unseen;
    }
    let filled = |name: &str| value(name).is_some_and(|value| !value.is_empty());
    let legacy_image = filled("CUDA_VERSION") && !filled("NVIDIA_REQUIRE_CUDA");
    match driver_capabilities(wanted, legacy_image, SUPPORTED_CAPABILITIES) {
        Ok(given) if given.contains(capability) => There::Yes,
        Ok(_) => There::No,
        // The container is not created at all.
        Err(_) => There::Unseen,
    }
}

/// The names of the libraries of one step that are not there, or of which nothing can be told.
fn lacking(replay: Replay<'_>, step: Step, how: There) -> Vec<&str> {
    let needs = of_component(replay);
    let list =
        needs.and_then(|needs| if step == Step::Libraries { needs.at_start.known() } else { needs.later.known() });
    let list = list.into_iter().flatten().filter(|library| there(replay, library) == how);
    list.map(|library| library.name.as_str()).collect()
}

/// What the loader says of the first library that it does not find.
pub(super) fn message(replay: Replay<'_>) -> String {
    let first = lacking(replay, Step::Libraries, There::No).into_iter().next().unwrap_or("a needed library");
    format!("{first}: cannot open shared object file: No such file or directory")
}

/// What a step found, in one sentence.
pub(super) fn words(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = &replay.component.name;
    let list = |how| lacking(replay, record.step, how).join(", ");
    match (record.step, record.result) {
        (Step::Libraries, StepResult::Stops(_)) => format!("{name} needs {}, which is not there", list(There::No)),
        (Step::Libraries, StepResult::NotSeen) => {
            format!("{name} needs {}: whether it is there was not seen", list(There::Unseen))
        }
        (Step::Libraries, StepResult::Passes(_)) => format!("every library that {name} needs to start is there"),
        (Step::Libraries, _) => format!("nothing is known that {name} needs from outside of its package"),
        (_, StepResult::FailsLater) => {
            format!("{name} starts, and will fail when it opens {}, which is not there", list(There::No))
        }
        (_, StepResult::NotSeen) => {
            format!("{name} opens {} later: whether it is there was not seen", list(There::Unseen))
        }
        (_, StepResult::Passes(_)) => format!("every library that {name} opens later is there"),
        _ => format!("nothing is known that {name} opens later"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Description;
    use crate::extract;
    use crate::fleet;
    use crate::fleet::GpuName;
    use crate::infer::infer;
    use crate::knowledge::Knowledge;
    use crate::source::SourceText;
    use crate::source::Sources;

    /// What both steps find, and what the first says.
    fn found(env: &str, asks: &str, launch: &str) -> (StepResult, StepResult, String) {
        let text = format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
             [files]\n\"/usr/lib/libhere.so.1\" = {{}}\n\"/opt/libaway.so.1\" = {{}}\n[[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
        );
        let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
        let knowledge = Knowledge::built_in();
        let images = infer(&extract::of_description(&description, None, None), "linux/amd64", None, knowledge);
        let text = format!("[[pool]]\nname = \"p\"\nlaunch = \"{launch}\"\ntoolkit = \"1.17.8\"\n");
        let text = SourceText::new("fleet.toml", text);
        let source = Sources::default().add(text.clone());
        let fleet = fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet");
        let hosts = fleet.pools[0].hosts(knowledge, None);
        let (image, host) = (&images[0], &hosts[0]);
        let replay = Replay { image, component: &image.components[0], host, knowledge };
        (needed(replay).result, opened_later(replay).result, message(replay))
    }

    #[test]
    fn what_is_missing_stops_at_the_start_and_not_later() {
        let passes = StepResult::Passes(Route::Native);
        let stops = StepResult::Stops(Wall::new(Outcome::LibraryMissing, Codes::NONE));
        let none = StepResult::NotApplicable;
        let (few, all) = ("NVIDIA_DRIVER_CAPABILITIES = \"compute,utility\"", "NVIDIA_DRIVER_CAPABILITIES = \"all\"");
        let old = "CUDA_VERSION = \"8.0.61\"";
        for (env, asks, launch, expected) in [
            ("", "", "docker-gpus", (none, none)),
            ("", "needs = [\"libhere.so.1\"]", "docker-gpus", (passes, none)),
            ("", "needs = [\"libaway.so.1\"]", "docker-gpus", (StepResult::NotSeen, none)),
            ("", "needs = [\"libgone.so.1\", \"libaway.so.1\"]", "docker-gpus", (stops, none)),
            ("", "opens = [\"libgone.so.1\"]", "docker-gpus", (none, StepResult::FailsLater)),
            ("", "opens = [\"libaway.so.1\"]", "docker-gpus", (none, StepResult::NotSeen)),
            ("", "opens = [\"libnvcuvid.so.1\"]", "docker-gpus", (none, StepResult::FailsLater)),
            (few, "opens = [\"libnvcuvid.so.1\"]", "docker-gpus", (none, StepResult::FailsLater)),
            (few, "opens = [\"libnvcuvid.so.1\"]", "docker-cdi", (none, passes)),
            (few, "needs = [\"libcuda.so.1\"]", "docker-gpus", (passes, none)),
            (few, "needs = [\"libnvcuvid.so.1\"]", "docker-gpus", (stops, none)),
            (all, "needs = [\"libnvcuvid.so.1\"]", "docker-gpus", (passes, none)),
            (old, "needs = [\"libnvcuvid.so.1\"]", "docker-gpus", (passes, none)),
        ] {
            let (needed, later, _) = found(env, asks, launch);
            assert_eq!((needed, later), expected, "{env} {asks} {launch}");
        }
    }

    #[test]
    fn the_message_is_the_loaders_own() {
        let (_, _, message) = found("", "needs = [\"libhere.so.1\", \"libgone.so.1\"]", "docker-gpus");
        assert_eq!(message, "libgone.so.1: cannot open shared object file: No such file or directory");
    }
}
