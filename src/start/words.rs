//! Words for the records: what a step found, and what a user would see, made only when somebody reads it.

use crate::cuda::CudaVersion;
use crate::fact::GpuCode;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Host;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Source;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::cause::why_no_gpu;
use crate::start::code;
use crate::start::container_words;
use crate::start::floor;
pub use crate::start::gaps::MissingFact;
pub use crate::start::gaps::missing;
use crate::start::libraries;
use crate::start::loader;
use crate::start::runtime;
use crate::start::user_mode;

/// What keeps a component from CUDA.
fn without_cuda(replay: Replay<'_>) -> String {
    let name = &replay.component.name;
    match replay.component.switch(&replay.image.facts) {
        Some(variable) => format!("{name} is kept on the processor by {variable}"),
        None => format!("{name} is a build without CUDA"),
    }
}

/// What a step found, in one sentence.
pub fn step(replay: Replay<'_>, record: &StepRecord) -> String {
    if record.result == StepResult::Unknown {
        let missing: Vec<String> = missing(replay, record).into_iter().map(|missing| missing.reason).collect();
        return if missing.is_empty() {
            "cannot tell: an earlier step could not be told".to_owned()
        } else {
            format!("cannot tell: {}", missing.join("; "))
        };
    }
    let about_driver = match record.step {
        Step::Capabilities => replay.host.mode == Mode::Legacy,
        step => matches!(step, Step::Devices | Step::Loader | Step::UserMode | Step::GpuKnown),
    };
    if record.result == StepResult::NotApplicable && about_driver && runtime::is_without_cuda(replay) {
        return format!("{} and asks for no driver", without_cuda(replay));
    }
    let behind = matches!(record.step, Step::Libraries | Step::OpenedLater | Step::Build | Step::Runtime | Step::Code);
    if record.result == StepResult::NotApplicable {
        if behind && runtime::is_container(replay) {
            return "nothing was seen that calls CUDA".to_owned();
        }
        let before = matches!(record.step, Step::Devices | Step::Capabilities);
        if (before || runtime::is_container(replay)) && runtime::does_without(replay, record) {
            return "the image itself does without a GPU for computing, and nothing was seen that calls CUDA"
                .to_owned();
        }
    }
    match record.step {
        Step::Platform => platform(replay, record),
        Step::Mode => container_words::mode(replay.host),
        Step::Devices => container_words::devices(replay, record),
        Step::Capabilities => container_words::capabilities(replay, record),
        Step::Requirement => container_words::requirements(replay, record),
        Step::Mounts => match record.result {
            StepResult::NotApplicable => "nothing is in the way of the mounts that this model knows of".to_owned(),
            StepResult::Stops(wall) => message(replay, wall),
            StepResult::NotSeen => {
                "display is asked for: whether the node has /dev/nvidia-modeset is not said".to_owned()
            }
            _ => "no file of the image is in the way".to_owned(),
        },
        Step::Libraries | Step::OpenedLater => libraries::words(replay, record),
        Step::Loader => loader_text(replay, record),
        Step::UserMode => user_mode(replay, record),
        Step::GpuKnown => gpu_known(replay, record),
        Step::Build => match record.result {
            StepResult::Stops(_) => without_cuda(replay),
            _ => format!("{} is a CUDA build", replay.component.name),
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
            format!("there is no manifest for {host}: the base has none for the platform that is asked of the build")
        }
        (State::Known(list), StepResult::Stops(_)) => {
            format!("there is no manifest for {host}, only for {}", list.join(", "))
        }
        (State::Known(_), _) => format!("there is a manifest for {host}"),
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
        Some(_) => format!("{} of the host", driver_of(host)),
        None => "of the host".to_owned(),
    };
    match (record.result, found.source) {
        (StepResult::Stops(wall), _) => message(replay, wall),
        (_, Some(Source::Host)) => format!("programs get libcuda {driver}"),
        (_, Some(Source::Compat(library))) if found.by_note => format!(
            "programs get libcuda {} of the image's compat directory where its note names branch {}, else {driver}: either will do",
            library.version,
            library.version.branch()
        ),
        (_, Some(Source::Compat(library))) => {
            format!("programs get libcuda {} of the image's compat directory instead of {driver}", library.version)
        }
        (_, Some(Source::Image(path))) => format!("programs get {path} of the image instead of libcuda {driver}"),
        (_, Some(Source::Nowhere) | None) => "programs find no libcuda".to_owned(),
    }
}

fn user_mode(replay: Replay<'_>, record: &StepRecord) -> String {
    let found = loaded(replay);
    let version = found.version.map_or_else(|| "of unknown version".to_owned(), |version| version.to_string());
    let kernel = replay.host.driver.map_or_else(|| "an undeclared version".to_owned(), |_| driver_of(replay.host));
    match record.result {
        StepResult::Passes(Route::ForwardCompat) if found.by_note => format!(
            "libcuda {version} may run on kernel-mode driver {kernel} of this GPU where it is taken, else its own does"
        ),
        StepResult::Passes(Route::ForwardCompat) => {
            format!("libcuda {version} may run on kernel-mode driver {kernel} of this GPU by forward compatibility")
        }
        StepResult::Stops(wall) => message(replay, wall),
        StepResult::NotApplicable => "there is no libcuda".to_owned(),
        _ => "the user-mode driver is the kernel-mode driver's own".to_owned(),
    }
}

fn gpu_known(replay: Replay<'_>, record: &StepRecord) -> String {
    match record.result {
        StepResult::Stops(wall) => message(replay, wall),
        _ => format!("the driver knows {}", gpu(replay)),
    }
}

fn runtime_text(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = &replay.component.name;
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
                format!("the CUDA {runtime} runtime of {name} asks for driver {oldest} or newer, and this is {version}")
            }
            None => format!("the CUDA {runtime} runtime of {name} needs a newer driver than one for {supported}"),
        },
        StepResult::NotApplicable if libraries::goes_without(replay) => {
            format!(
                "{name} looks for its libraries before it asks the CUDA {runtime} runtime, and does not find them all"
            )
        }
        StepResult::NotApplicable => format!("the CUDA {runtime} runtime of {name} finds no driver"),
        _ => format!("the driver supports {supported}, the runtime of {name} is CUDA {runtime}"),
    }
}

fn code_text(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = &replay.component.name;
    let list = match &replay.image.facts.get(replay.component.code.id).state {
        State::Known(value) => value.to_string(),
        State::Absent { .. } | State::Unknown(_) => String::new(),
    };
    let told = match record.result {
        StepResult::NotSeen => return format!("the GPU code of {name} was not seen"),
        StepResult::NotApplicable => return format!("{name} has no GPU code to look at"),
        StepResult::Stops(wall) if list.is_empty() => {
            let floor = floor::of(replay).and_then(|floor| floor.lowest.known());
            let lowest = floor.map_or_else(String::new, |floor| format!(" and takes {floor} and later"));
            return format!("{name} was not read{lowest}: {}", message(replay, wall));
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
        StepResult::Passes(Route::Jit) => format!("{name} has {list}: PTX is compiled at start-up for {}", gpu(replay)),
        _ => format!("{name} has {list}: machine code for {}", gpu(replay)),
    };
    let idle = code::idle(replay);
    if idle.is_empty() { told } else { format!("{told}; without code for it, and not counted: {}", idle.join(", ")) }
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

fn gpu(replay: Replay<'_>) -> String {
    match &replay.host.gpu {
        // The pool does not say which it has.
        Some(gpu) if !gpu.named && gpu.row.is_some() => match gpu.capability {
            Some(capability) => format!("a GPU such as {} (compute capability {capability})", gpu.name),
            None => format!("a GPU such as {}", gpu.name),
        },
        Some(gpu) => match gpu.capability {
            Some(capability) => format!("{} (compute capability {capability})", gpu.name),
            None => gpu.name.clone(),
        },
        None => "the GPU".to_owned(),
    }
}

/// The driver of the host, behind the word for it: its number, where somebody stated that.
fn driver_of(host: &Host) -> String {
    match (host.driver, host.driver_cuda) {
        // Tried for the CUDA version that the pool declares in its place.
        (_, Some(cuda)) if stands_for_cuda(host) => format!("of CUDA {cuda}"),
        (Some(driver), _) => driver.to_string(),
        (None, _) => "of the host".to_owned(),
    }
}

/// Whether the pool says of its driver the CUDA version alone, so that the release here is one of many.
fn stands_for_cuda(host: &Host) -> bool {
    host.driver_row.is_none() && host.driver_cuda.is_some() && host.assumed.contains(&PoolField::Driver)
}

/// The CUDA version that the pool declares for its driver, whatever the tables say of that.
fn declared_cuda(host: &Host) -> Option<CudaVersion> {
    host.driver_cuda.filter(|_| host.overrides.contains(&PoolField::DriverCuda))
}

/// What a user would see at a wall.
pub fn message(replay: Replay<'_>, wall: Wall) -> String {
    let driver = driver_of(replay.host);
    let found = loaded(replay);
    let of_host = found.source == Some(Source::Host);
    let own = of_host && stands_for_cuda(replay.host);
    let loaded = found.version.filter(|_| !own).map_or_else(|| driver.clone(), |version| version.to_string());
    let declared = declared_cuda(replay.host).filter(|_| of_host && !own);
    let loaded =
        declared.map_or(loaded.clone(), |cuda| format!("{loaded} with CUDA {cuda}, as the pool's `driver_cuda` says"));
    told(replay, wall, &Met { gpu: gpu(replay), driver, loaded })
}

/// What the users of several pools would see at a wall: the message of one, without its GPU and its driver.
pub fn message_of_several(replay: Replay<'_>, wall: Wall) -> String {
    // A finding names its pools, or those of them that are new.
    let theirs = "of these pools".to_owned();
    // What decides beside the driver is told of each: pools that do not say it do not share the message.
    let declared = declared_cuda(replay.host).filter(|_| loaded(replay).source == Some(Source::Host));
    let loaded =
        declared.map_or(theirs.clone(), |cuda| format!("{theirs} with CUDA {cuda}, as the `driver_cuda` of each says"));
    told(replay, wall, &Met { gpu: format!("the GPUs {theirs}"), driver: theirs, loaded })
}

/// What of a host a message names.
struct Met {
    gpu: String,
    driver: String,
    /// Version of the libcuda that programs get.
    loaded: String,
}

fn told(replay: Replay<'_>, wall: Wall, met: &Met) -> String {
    let name = &replay.component.name;
    let code_text = |code: u16| {
        let row = replay.knowledge.error(code);
        row.map_or_else(|| format!("error {code}"), |row| format!("error {code}: {}", row.text))
    };
    let certain = wall.codes().certain.map(code_text);
    let said = certain.unwrap_or_else(|| {
        let possible: Vec<String> = wall.codes().possible.iter().map(u16::to_string).collect();
        match possible.as_slice() {
            [] => String::new(),
            [one] => format!("error {one}"),
            [others @ .., last] => format!("error {} or {last}", others.join(", ")),
        }
    });
    let found = loaded(replay);
    let library = found.version.map_or_else(|| "libcuda".to_owned(), |version| format!("libcuda {version}"));
    let Met { gpu, driver, loaded: accepted } = met;
    match wall.outcome() {
        Outcome::Refused => container_words::refusal(replay, wall.reason()),
        Outcome::WrongPlatform => {
            format!("no manifest for {}: exec format error, or nothing to pull", replay.host.platform)
        }
        Outcome::NoGpu => format!("{said}: the container has no GPU: {}", why_no_gpu(replay)),
        Outcome::LibraryMissing => match replay.host.wsl_lacks.filter(|_| wall.codes().certain.is_some()) {
            Some(row) => format!("{said}: the container toolkit does not bring {} of the Windows driver", row.library),
            None => libraries::message(replay),
        },
        Outcome::StubLibrary => said,
        Outcome::DriverMismatch => format!("{said}: {library} of the image on kernel-mode driver {driver}"),
        Outcome::CompatNotSupported => {
            format!("{said}: {library} of the image on {gpu} with kernel-mode driver {driver}")
        }
        Outcome::CompatUnusable => {
            format!("{said}: {library} of the image is not for kernel-mode driver {driver}")
        }
        Outcome::GpuUnsupported => match found.source {
            Some(Source::Compat(_) | Source::Image(_)) if !user_mode::kernel_lacks(replay) => {
                format!("{said}: {library} of the image does not know {gpu}")
            }
            _ => format!("{said}: driver {driver} does not know {gpu}"),
        },
        Outcome::InsufficientDriver => {
            let runtime = replay.component.cuda.known().map_or_else(String::new, |cuda| format!(" {cuda}"));
            // What the runtime asks is the libcuda that is loaded, which need not be that of the pool's driver.
            let asked = match found.source {
                Some(Source::Compat(_)) => format!("libcuda {accepted} of the image's compat directory"),
                Some(Source::Image(_)) => format!("libcuda {accepted} of the image"),
                Some(Source::Host | Source::Nowhere) | None => format!("driver {accepted}"),
            };
            format!("{said}: CUDA{runtime} of {name} on {asked}")
        }
        Outcome::CpuOnly => format!("{}: no error, and no GPU is used", without_cuda(replay)),
        Outcome::NoKernelImage | Outcome::UnsupportedPtx | Outcome::JitFailed => {
            format!("{said} ({name} on {gpu}{})", code::switch(replay))
        }
    }
}
