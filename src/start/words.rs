//! Words for the records: what a step found, and what a user would see, made only when somebody reads it.

use crate::fact::GpuCode;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Mode;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Source;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::code;
use crate::start::container_words;
pub use crate::start::failure::Failure;
pub use crate::start::failure::POOLS;
pub use crate::start::failure::failure;
pub use crate::start::failure::failure_of_several;
pub use crate::start::failure::message;
pub use crate::start::failure::message_of_several;
pub use crate::start::failure::title_of;
use crate::start::floor;
pub use crate::start::gaps::MissingFact;
pub use crate::start::gaps::missing;
use crate::start::libraries;
use crate::start::loader;
use crate::start::names::driver;
use crate::start::names::gpu;
use crate::start::names::stands_for_cuda;
use crate::start::names::without_cuda;
use crate::start::runtime;

/// What a step found, in one sentence.
pub fn step(replay: Replay<'_>, record: &StepRecord) -> String {
    if record.result == StepResult::Unknown {
        let missing: Vec<String> = missing(replay, record).into_iter().map(|missing| missing.reason).collect();
        return if missing.is_empty() {
            "unknown, because an earlier step is unknown".to_owned()
        } else {
            format!("unknown: {}", missing.join("; "))
        };
    }
    let about_driver = match record.step {
        Step::Capabilities => replay.host.mode == Mode::Legacy,
        step => matches!(step, Step::Devices | Step::Loader | Step::UserMode | Step::GpuKnown),
    };
    if record.result == StepResult::NotApplicable && about_driver && runtime::is_without_cuda(replay) {
        return format!("{} and needs no driver", without_cuda(replay));
    }
    let behind = matches!(record.step, Step::Libraries | Step::OpenedLater | Step::Build | Step::Runtime | Step::Code);
    if record.result == StepResult::NotApplicable {
        let of_nobody = runtime::of_nothing(replay, record.step) == Some(StepResult::NotApplicable);
        if of_nobody || (behind && runtime::is_container(replay)) {
            return "nothing in the image is known to call CUDA".to_owned();
        }
        let before = matches!(record.step, Step::Devices | Step::Capabilities);
        if (before || runtime::is_container(replay)) && runtime::does_without(replay, record) {
            return "the image requests no GPU for computing, and nothing in it is known to call CUDA".to_owned();
        }
    }
    match record.step {
        Step::Platform => platform(replay, record),
        Step::Mode => container_words::mode(replay.host),
        Step::Devices => container_words::devices(replay, record),
        Step::Capabilities => container_words::capabilities(replay, record),
        Step::Requirement => container_words::requirements(replay, record),
        Step::Mounts => match record.result {
            StepResult::NotApplicable => "the image blocks no known mount".to_owned(),
            StepResult::Stops(wall) => message(replay, wall),
            StepResult::NotSeen => {
                "display is requested, and whether the node has /dev/nvidia-modeset is unknown".to_owned()
            }
            _ => "no file of the image blocks a mount".to_owned(),
        },
        Step::Libraries | Step::OpenedLater => libraries::words(replay, record),
        Step::Loader => loader_text(replay, record),
        Step::UserMode => user_mode(replay, record),
        Step::GpuKnown => gpu_known(replay, record),
        Step::Build => match record.result {
            StepResult::Stops(_) => without_cuda(replay),
            _ => format!("{} is a CUDA build", replay.component.called()),
        },
        Step::Runtime => runtime_text(replay, record),
        Step::Code => code_text(replay, record),
    }
}

/// Whether a step cannot be told for nothing but an earlier one.
pub fn waits(replay: Replay<'_>, record: &StepRecord) -> bool {
    record.result == StepResult::Unknown && missing(replay, record).is_empty()
}

fn platform(replay: Replay<'_>, record: &StepRecord) -> String {
    let host = &replay.host.platform;
    match (&replay.image.platforms.state, record.result) {
        (State::Known(list), StepResult::Stops(_)) if list.is_empty() => {
            format!("no manifest for {host}: the base has none for the requested platform")
        }
        (State::Known(list), StepResult::Stops(_)) => {
            format!("no manifest for {host}, only for {}", list.join(", "))
        }
        (State::Known(_), _) => format!("the image has a manifest for {host}"),
        _ => format!("built for {host}"),
    }
}

fn loaded(replay: Replay<'_>) -> Loaded<'_> {
    loader::step(replay).0
}

fn loader_text(replay: Replay<'_>, record: &StepRecord) -> String {
    let found = loaded(replay);
    let host = replay.host;
    let driver = match host.driver {
        Some(driver) if !stands_for_cuda(host) => format!("{driver} of the host"),
        Some(_) | None => "of the host".to_owned(),
    };
    match (record.result, found.source) {
        (StepResult::Stops(wall), _) => message(replay, wall),
        (_, Some(Source::Host)) => format!("programs load libcuda {driver}"),
        (_, Some(Source::Compat(library))) if found.by_note => format!(
            "programs load libcuda {} of the image's compat directory if its note lists branch {}, else {driver}; both work",
            library.version,
            library.version.branch()
        ),
        (_, Some(Source::Compat(library))) => {
            format!("programs load libcuda {} of the image's compat directory instead of {driver}", library.version)
        }
        (_, Some(Source::Image(path))) => format!("programs load {path} of the image instead of libcuda {driver}"),
        (_, Some(Source::Nowhere) | None) => "programs find no libcuda".to_owned(),
    }
}

fn user_mode(replay: Replay<'_>, record: &StepRecord) -> String {
    let found = loaded(replay);
    let version = found.version.map_or_else(|| "of unknown version".to_owned(), |version| version.to_string());
    let kernel = driver(replay.host);
    match record.result {
        StepResult::Passes(Route::ForwardCompat) if found.by_note => {
            format!("libcuda {version} works on {kernel} of this GPU, as does the libcuda of the host")
        }
        StepResult::Passes(Route::ForwardCompat) => {
            format!("libcuda {version} works on {kernel} of this GPU by forward compatibility")
        }
        StepResult::Stops(wall) => message(replay, wall),
        StepResult::NotApplicable => "there is no libcuda".to_owned(),
        _ => "the user-mode driver is the kernel-mode driver's own".to_owned(),
    }
}

fn gpu_known(replay: Replay<'_>, record: &StepRecord) -> String {
    match record.result {
        StepResult::Stops(wall) => message(replay, wall),
        _ => format!("the driver supports {}", gpu(replay)),
    }
}

fn runtime_text(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = replay.component.called();
    let Some(runtime) = replay.component.cuda.known() else { return format!("{name} has no CUDA runtime") };
    let loaded = loaded(replay);
    let supported = match (loaded.cuda, runtime::between(replay, &loaded)) {
        (Some(cuda), _) => format!("CUDA {cuda}"),
        (None, Some([below, above])) if below.cuda == above.cuda => format!("CUDA {}", below.cuda),
        (None, Some([below, above])) => format!("CUDA {} to {}", below.cuda, above.cuda),
        (None, None) => "an unknown CUDA".to_owned(),
    };
    match record.result {
        StepResult::Passes(Route::MinorVersion) => {
            format!(
                "the CUDA {runtime} runtime of {name} starts on a driver for {supported} by minor version compatibility"
            )
        }
        StepResult::Stops(_) => match runtime::named(replay, &loaded).zip(loaded.version) {
            Some((oldest, version)) => {
                format!("the CUDA {runtime} runtime of {name} needs driver {oldest} or newer, and this is {version}")
            }
            None => match (runtime::floor(replay, &loaded), loaded.version) {
                (Some((_, oldest)), Some(version)) => format!(
                    "the CUDA {runtime} runtime of {name} needs driver {oldest} or newer; {version} supports {supported}"
                ),
                _ => format!("the CUDA {runtime} runtime of {name} needs a newer driver than one for {supported}"),
            },
        },
        StepResult::NotApplicable if libraries::goes_without(replay) => {
            format!("{name} opens its libraries before the CUDA {runtime} runtime, and does not find them all")
        }
        StepResult::NotApplicable => format!("the CUDA {runtime} runtime of {name} finds no driver"),
        _ => format!("the driver supports {supported}, the runtime of {name} is CUDA {runtime}"),
    }
}

fn code_text(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = replay.component.called();
    let list = match &replay.image.facts.get(replay.component.code.id).state {
        State::Known(value) => value.to_string(),
        State::Absent { .. } | State::Unknown(_) => String::new(),
    };
    let told = match record.result {
        StepResult::NotSeen => return format!("the GPU code of {name} is unknown"),
        StepResult::NotApplicable => return format!("{name} has no GPU code to check"),
        StepResult::Stops(wall) if list.is_empty() => {
            let floor = floor::of(replay).and_then(|floor| floor.lowest.known());
            let lowest =
                floor.map_or_else(String::new, |floor| format!("; it supports compute capability {floor} and newer"));
            return format!("the GPU code of {name} is unknown{lowest}: {}", message(replay, wall));
        }
        StepResult::Stops(wall) => match code::deciding(replay, &loaded(replay)) {
            Some(library) => {
                let own = Value::from(&GpuCode { libraries: vec![library.clone()], unsorted: false });
                format!("{} of {name} has {own}: {}", library.file, message(replay, wall))
            }
            None if list.is_empty() => {
                let cuda = replay.component.cuda.known().map_or_else(String::new, |cuda| format!(" of CUDA {cuda}"));
                format!(
                    "the compilers{cuda} make no code for a GPU as old as {}: {}",
                    gpu(replay),
                    message(replay, wall)
                )
            }
            None => format!("{name} has {list}: {}", message(replay, wall)),
        },
        StepResult::Passes(Route::Jit) => format!("{name} has {list}: the driver compiles its PTX for {}", gpu(replay)),
        _ => format!("{name} has {list}: native code for {}", gpu(replay)),
    };
    let idle = code::idle(replay);
    if idle.is_empty() { told } else { format!("{told}; not counted, without code for it: {}", idle.join(", ")) }
}

/// What is worth knowing and decides nothing: libraries without which no GPU is used.
pub fn notes(replay: Replay<'_>) -> Vec<String> {
    libraries::note(replay).into_iter().collect()
}

/// What a program that starts may lack there: code for the GPU in libraries that it picks as it runs and, where it starts
/// by its PTX, in those of its CUDA.
pub fn unseen_libraries(replay: Replay<'_>, route: Route) -> Vec<String> {
    let code_in = |what: String| format!("GPU code for {} in {what}", gpu(replay));
    let idle = code::idle(replay).into_iter().map(|file| format!("{file}, which {} may run", replay.component.name));
    let cuda = replay.component.cuda.known().map(|cuda| cuda.release());
    let cuda = cuda.filter(|_| route == Route::Jit && code::outruns_its_libraries(replay));
    let of_cuda = cuda.map(|cuda| format!("the libraries of CUDA {}.{}", cuda.0, cuda.1));
    of_cuda.into_iter().chain(idle).map(code_in).collect()
}

/// Whether a program that starts certainly uses no GPU.
pub fn goes_without_gpu(replay: Replay<'_>) -> bool {
    libraries::goes_without(replay)
}

/// Why a program that starts uses no GPU, as far as that is known.
pub fn without_gpu(replay: Replay<'_>) -> Option<String> {
    libraries::note(replay)
}

/// What a program that starts will certainly fail at, for want of a library that it opens as it runs.
pub fn fails_later(replay: Replay<'_>) -> Option<String> {
    libraries::fails_later(replay)
}
