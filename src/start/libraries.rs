//! Libraries: those that a program needs to start, and those that it opens later.

use crate::cuda::Capabilities;
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
use crate::start::device::Given;
use crate::start::device::given_as_to;
use crate::start::environment::Env;

const AT_START: Cite = Cite("ld.so(8): what a program needs is resolved before its first instruction");
const LATER: Cite = Cite(
    "dlopen(3); libnvidia-container v1.20.0 (3e42819), src/nvc_info.c and src/options.h: which capability brings which library",
);

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
    let variable = Env::of(replay).basis(WANTED);
    let more = [variable, Basis::Pool(PoolField::Mode), Basis::Pool(PoolField::Host)].into_iter().filter(|_| asked);
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
    match given_as_to(replay, capability) {
        // Nothing is asked of the hook, and nothing comes.
        Given::NotAsked if replay.host.mode == Mode::Legacy => There::No,
        Given::NotAsked => There::Yes,
        Given::Set(set) if brings(set, capability) => There::Yes,
        Given::Set(_) => There::No,
        // Of the latter the container is not created at all.
        Given::Untold(_) | Given::Refused => There::Unseen,
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

/// What the loader says of the first library that it does not find.
pub(super) fn message(replay: Replay<'_>) -> String {
    let first = lacking(replay, Step::Libraries, There::No).into_iter().next().unwrap_or("a needed library");
    format!("{first}: cannot open shared object file: No such file or directory")
}

/// Whether the component goes on without a GPU where it cannot open a library.
fn falls_back(replay: Replay<'_>) -> bool {
    of_component(replay).is_some_and(|needs| needs.falls_back)
}

fn without_gpu(replay: Replay<'_>) -> String {
    let list = lacking(replay, Step::OpenedLater, There::No).join(", ");
    format!("{} starts and then uses no GPU: it cannot open {list}", replay.component.name)
}

/// What is worth knowing of a start: that no GPU will be used.
pub(super) fn note(replay: Replay<'_>) -> Option<String> {
    let lacks = falls_back(replay) && opened_later(replay).result == StepResult::FailsLater;
    lacks.then(|| without_gpu(replay))
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
        (_, StepResult::FailsLater) if falls_back(replay) => without_gpu(replay),
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
        on(env, asks, &format!("launch = \"{launch}\"\ntoolkit = \"1.17.8\""))
    }

    /// The same on a pool.
    fn on(env: &str, asks: &str, pool: &str) -> (StepResult, StepResult, String) {
        let text = format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
             [files]\n\"/usr/lib/libhere.so.1\" = {{}}\n\"/opt/libaway.so.1\" = {{}}\n[[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
        );
        let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
        let knowledge = Knowledge::built_in();
        let images = infer(&extract::of_description(&description, None, None), "linux/amd64", None, knowledge);
        let text = format!("[[pool]]\nname = \"p\"\n{pool}\n");
        let text = SourceText::new("fleet.toml", text);
        let source = Sources::default().add(text.clone());
        let fleet = fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet");
        let hosts = fleet.pools[0].hosts(knowledge, None);
        let (image, host) = (&images[0], &hosts[0]);
        let replay = Replay { image, component: &image.components[0], host, knowledge };
        (needed(replay).result, opened_later(replay).result, message(replay))
    }

    /// The note on a start with one version of TensorFlow.
    fn note_with(version: &str, files: &str) -> Option<String> {
        let text = format!(
            "cuda_runtime = \"11.2\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
             [packages.pip]\ntensorflow = \"{version}\"\n[files]\n{files}\n"
        );
        let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
        let knowledge = Knowledge::built_in();
        let images = infer(&extract::of_description(&description, None, None), "linux/amd64", None, knowledge);
        let text = SourceText::new("fleet.toml", "[[pool]]\nname = \"p\"\nlaunch = \"docker-gpus\"\n");
        let source = Sources::default().add(text.clone());
        let fleet = fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet");
        let hosts = fleet.pools[0].hosts(knowledge, None);
        let image = &images[0];
        let component = image.components.iter().find(|component| component.name == "tensorflow").expect("a component");
        note(Replay { image, component, host: &hosts[0], knowledge })
    }

    #[test]
    fn a_program_that_falls_back_says_so() {
        let all = ["cublas.so.11", "cublasLt.so.11", "cudart.so.11.0", "cufft.so.10", "curand.so.10", "cusolver.so.11"];
        let mut files: Vec<String> = all.iter().map(|name| format!("\"/usr/lib64/lib{name}\" = {{}}")).collect();
        files.push("\"/usr/lib64/libcusparse.so.11\" = {}".to_owned());
        let without = note_with("2.8.0", &files.join("\n"));
        assert_eq!(without.as_deref(), Some("tensorflow starts and then uses no GPU: it cannot open libcudnn.so.8"));
        files.push("\"/usr/lib64/libcudnn.so.8\" = {}".to_owned());
        assert_eq!(note_with("2.8.0", &files.join("\n")), None, "all there");
        assert_eq!(note_with("2.99.0", ""), None, "a release of which nothing is known");
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
    fn the_same_capabilities_are_given_as_in_the_step_before() {
        let gpus = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
        let narrow = format!("{gpus}\n[pool.host]\nsupported-driver-capabilities = \"compute,utility\"");
        let old = "launch = \"docker-gpus\"\ntoolkit = \"1.3.0\"";
        let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
        let nothing = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
        for (asked, library, pool, there) in [
            ("video,utility", "libcuda.so.1", gpus, true),
            ("video,utility", "libnvidia-ptxjitcompiler.so.1", gpus, true),
            ("display", "libGLX_nvidia.so.0", gpus, true),
            ("compute,utility", "libnvidia-encode.so.1", gpus, false),
            ("graphics", "libcuda.so.1", gpus, false),
            ("display", "libcuda.so.1", gpus, false),
            ("utility", "libcuda.so.1", gpus, false),
            ("all", "libnvcuvid.so.1", narrow.as_str(), false),
            ("all", "libcuda.so.1", narrow.as_str(), true),
            ("", "libcuda.so.1", old, false),
            ("", "libnvidia-ml.so.1", old, true),
            ("", "libcuda.so.1", enroot, false),
            ("all", "libnvidia-ngx.so.1", enroot, false),
            ("all", "libnvcuvid.so.1", enroot, true),
            ("all", "libcuda.so.1", nothing, false),
        ] {
            let env = format!("NVIDIA_DRIVER_CAPABILITIES = \"{asked}\"");
            let (_, later, _) = on(&env, &format!("opens = [\"{library}\"]"), pool);
            let expected = if there { StepResult::Passes(Route::Native) } else { StepResult::FailsLater };
            assert_eq!(later, expected, "{library} of `{asked}`: {pool}");
        }
    }

    #[test]
    fn the_message_is_the_loaders_own() {
        let (_, _, message) = found("", "needs = [\"libhere.so.1\", \"libgone.so.1\"]", "docker-gpus");
        assert_eq!(message, "libgone.so.1: cannot open shared object file: No such file or directory");
    }
}
