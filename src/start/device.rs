//! Devices and capabilities: whether a GPU and the driver's compute libraries are put into the container.

use crate::cuda::Capabilities;
use crate::cuda::CapabilityReading;
use crate::cuda::Environment as _;
use crate::cuda::is_legacy_image;
use crate::fact::ImageFacts;
use crate::fleet::DeviceSource;
use crate::fleet::Host;
use crate::fleet::Mode;
use crate::fleet::Options;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::knowledge::ToolkitChange;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::environment::Env;
use crate::start::libraries;
use crate::start::libraries::brings;
use crate::start::loader;
use crate::start::loader::Alone;
use crate::start::mount;
use crate::start::request::Asked;
use crate::start::request::Request;
use crate::start::request::as_written;
use crate::start::request::at_most;
use crate::start::request::at_work;
use crate::start::request::mig_variable;
use crate::start::request::request;
use crate::start::requirement;

const DEVICES: Cite = Cite(
    "nvidia-container-toolkit v1.20.0, internal/config/image/cuda_image.go and internal/modifier; moby docker-v29.2.0, daemon/devices_nvidia_linux.go; k8s-device-plugin 1b826ac, internal/plugin/server.go",
);
const HOOK: Cite =
    Cite("nvidia-container-toolkit v1.20.0, cmd/nvidia-container-runtime-hook/hook_config.go, assertModeIsLegacy");
const ENROOT: Cite = Cite("enroot v4.1.2, conf/hooks/98-nvidia.sh");
const CAPABILITIES: Cite = Cite(
    "nvidia-container-toolkit v1.20.0, cmd/nvidia-container-runtime-hook/container_config.go and internal/config/image/capabilities.go; libnvidia-container v1.20.0 (3e42819), src/options.h",
);

const AS_TEXT: Cite = Cite(
    "nvidia-container-toolkit v1.13.5, cmd/nvidia-container-runtime-hook/container_config.go and capabilities.go: the value is compared as a string",
);
const WORD_BY_WORD: Cite = Cite(
    "nvidia-container-toolkit v1.6.0, cmd/nvidia-container-toolkit/container_config.go, main.go and capabilities.go",
);
const AS_WRITTEN: Cite = Cite(
    "nvidia-container-toolkit v1.11.0, internal/config/image/cuda_image.go, DevicesFromEnvvars; libnvidia-container 1aea987, src/cli/common.c, select_devices",
);
const FORBIDDEN: Cite = Cite("nvidia-container-toolkit v1.4.0, pkg/container_config.go, getDevices");

const RUNTIME: Cite = Cite("CUDA C++ Programming Guide 13.4, CUDA Environment Variables: CUDA_VISIBLE_DEVICES");

const UVM: Cite = Cite(
    "libnvidia-container 077f498, src/nvc_mount.c, nvc_driver_mount: without compute no device but those of the driver's own major number, so no /dev/nvidia-uvm",
);

/// The variable by which the CUDA runtime itself leaves GPUs out.
pub(super) const HIDING: &str = "CUDA_VISIBLE_DEVICES";
/// The variable that asks for the driver's capabilities.
pub(super) const WANTED: &str = "NVIDIA_DRIVER_CAPABILITIES";

/// Are GPUs put into the container?
pub(super) fn devices(replay: Replay<'_>) -> StepRecord {
    let host = replay.host;
    let env = Env::of(replay);
    let Request { asked, facts } = requested(replay);
    let cite = match asked {
        Asked::Forbidden => FORBIDDEN,
        _ if host.devices == DeviceSource::Enroot => ENROOT,
        _ if as_written(host) => AS_WRITTEN,
        _ => DEVICES,
    };
    let record = |result| StepRecord::new(Step::Devices, result, facts.into_iter().flatten(), cite);
    let wrong_mode = host.devices == DeviceSource::Hook && host.mode != Mode::Legacy;
    let reads_first = host.behaviour.changes.has(ToolkitChange::HookReadsFirst);
    let by_mode = || {
        let result = StepResult::Stops(Wall::refused(Reason::Hook));
        let fields = [PoolField::Launch, PoolField::Mode, PoolField::Gpu].map(Basis::Pool);
        let option = Basis::Entry(PoolEntry::Option(Options::MODE));
        StepRecord::new(Step::Devices, result, fields.into_iter().chain([option]), HOOK)
    };
    if wrong_mode && !reads_first {
        return by_mode();
    }
    if let Some(name) = mig_variable(env, host).filter(|_| at_work(asked) && asked != Asked::Forbidden) {
        let result = StepResult::Stops(Wall::refused(Reason::Device));
        return StepRecord::new(
            Step::Devices,
            result,
            [env.basis(name), Basis::Pool(PoolField::Privileged)],
            CAPABILITIES,
        );
    }
    // The hook does not look at its mode where nothing is asked, and reads the words before it does.
    if wrong_mode && at_work(asked) {
        if !words_refused(replay) {
            return by_mode();
        }
        let result = StepResult::Stops(Wall::refused(Reason::Capability));
        return StepRecord::new(Step::Devices, result, [env.basis(WANTED), Basis::Pool(PoolField::Mode)], CAPABILITIES);
    }
    match visible(env, host) {
        Some(Visible::None) if !stopped_later(replay) && !by_stub(replay) => {
            let result = StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(100)));
            return StepRecord::new(Step::Devices, result, [env.basis(HIDING)], RUNTIME);
        }
        Some(Visible::Untold) => {
            let facts = [env.basis(HIDING), Basis::Pool(PoolField::Gpu)];
            return StepRecord::new(Step::Devices, StepResult::Unknown, facts, RUNTIME);
        }
        Some(Visible::None | Visible::Some) | None => {}
    }
    if let Some(untold) = env.set_untold(HIDING).filter(|_| asked == Asked::Gpus) {
        return StepRecord::new(Step::Devices, StepResult::Unknown, [untold], RUNTIME);
    }
    if asked == Asked::Nothing {
        let (result, library) = nothing_given(replay);
        return StepRecord::new(Step::Devices, result, facts.into_iter().flatten().chain(library), cite);
    }
    record(match asked {
        Asked::Gpus => StepResult::Passes(Route::Native),
        Asked::UntoldVariable | Asked::UntoldDevice => StepResult::Unknown,
        // No driver library is put in either, and that was told above.
        Asked::Nothing => StepResult::NotApplicable,
        // Words that are no capability stop the hook before anybody looks for the device.
        Asked::Missing | Asked::Mixed if given(replay) == Given::Refused => StepResult::Passes(Route::Native),
        // Of what may not be asked for, the hook ends before it reads anything else.
        Asked::Forbidden | Asked::Missing | Asked::Mixed => StepResult::Stops(Wall::refused(Reason::Device)),
        // The program runs into it; what keeps the container from being created comes first.
        Asked::DriverOnly if stopped_later(replay) || by_stub(replay) => StepResult::Passes(Route::Native),
        Asked::DriverOnly => StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(100))),
    })
}

/// What a program says that gets neither device nor library of the host: with a libcuda of the image that there is no
/// device, without one that there is no driver. A stub answers for itself, where the loader finds it; and one that the
/// loader stops says nothing.
fn nothing_given(replay: Replay<'_>) -> (StepResult, Option<Basis>) {
    if libraries::stops(replay) {
        return (StepResult::NotApplicable, None);
    }
    let (codes, library) = match loader::alone(replay) {
        Alone::Nothing => (Codes::certain(35), None),
        Alone::Stub => return (StepResult::NotApplicable, None),
        Alone::Driver(_, library) => (Codes::certain(100), Some(library)),
        Alone::Open(missing) => (Codes::possible(&[34, 35, 100]), Some(missing)),
    };
    (StepResult::Stops(Wall::new(Outcome::NoGpu, codes)), library)
}

/// The same where the devices come without the driver's libraries for computing, and without `/dev/nvidia-uvm`.
fn not_for_computing(replay: Replay<'_>) -> (StepResult, Option<Basis>) {
    let (codes, library) = match loader::alone(replay) {
        Alone::Nothing => (Codes::certain(35), None),
        Alone::Stub => return (StepResult::NotApplicable, None),
        // The driver's own library works where something else brings that device: who starts it knows.
        Alone::Driver(own, library) if own.is_none() || replay.host.driver.is_none() || own == replay.host.driver => {
            return (StepResult::Unknown, Some(library));
        }
        Alone::Driver(_, library) => (Codes::possible(&[100, 803, 999]), Some(library)),
        Alone::Open(missing) => return (StepResult::Unknown, Some(missing)),
    };
    (StepResult::Stops(Wall::new(Outcome::NoGpu, codes)), library)
}

/// What the variable leaves of the GPUs that a container gets; none where it is not set, or there is no GPU to leave out.
fn visible(env: Env<'_>, host: &Host) -> Option<Visible> {
    let value = env.get(HIDING).filter(|_| request(env, host).asked == Asked::Gpus)?;
    Some(Visible::of(value, at_most(env, host)))
}

/// The device that programs are to see, where nobody has said whether the container has it.
pub(super) fn untold_visible<'a>(env: Env<'a>, host: &Host) -> Option<&'a str> {
    let value = env.value(HIDING).filter(|_| visible(env, host) == Some(Visible::Untold))?;
    Some(value.split(',').next().unwrap_or(value).trim())
}

/// What `CUDA_VISIBLE_DEVICES` leaves of the GPUs of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visible {
    /// None.
    None,
    /// At least one.
    Some,
    /// It names one of which we do not know whether it is there.
    Untold,
}

impl Visible {
    /// By the first entry, since only what stands before one that is none is visible: a number below that of the
    /// GPUs, or a name that begins with one of [`NAMED`].
    fn of(value: &str, at_most: Option<usize>) -> Self {
        let first = value.split(',').next().unwrap_or(value).trim();
        let named =
            NAMED.iter().any(|prefix| first.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)));
        if named {
            return Self::Untold;
        }
        let digits = first.trim_start_matches('+');
        let end = digits.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(digits.len());
        let digits = digits.get(..end).unwrap_or_default();
        if digits.is_empty() {
            return Self::None;
        }
        match (digits.parse::<usize>(), at_most) {
            (Ok(0), _) => Self::Some,
            (Ok(number), Some(count)) if number < count => Self::Some,
            (_, Some(_)) => Self::None,
            (_, None) => Self::Untold,
        }
    }
}

/// How the identifiers of GPUs and of their parts begin.
const NAMED: [&str; 2] = ["GPU-", "MIG-"];

/// Whether a container without devices already ends at its capabilities or requirements, or its program in the loader.
fn stopped_later(replay: Replay<'_>) -> bool {
    let without_libcuda = match given(replay) {
        Given::Refused => true,
        Given::Set(set) => !brings_libcuda(set),
        Given::NotAsked | Given::Untold(_) => false,
    };
    without_libcuda || refused_later(replay) || libraries::stops(replay)
}

/// Whether programs get a stub, which asks for no device.
fn by_stub(replay: Replay<'_>) -> bool {
    matches!(loader::step(replay).1.result, StepResult::Stops(wall) if wall.outcome() == Outcome::StubLibrary)
}

/// Whether the container is not created for what comes behind its devices and capabilities.
fn refused_later(replay: Replay<'_>) -> bool {
    requirement::refuses(replay) || matches!(mount::step(replay).result, StepResult::Stops(_))
}

/// What the variable gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// Nobody asks it.
    NotAsked,
    /// Cannot be told for lack of this.
    Untold(Basis),
    /// The container is not created.
    Refused,
    /// These.
    Set(Capabilities),
}

impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::NotAsked, Self::NotAsked) | (Self::Refused, Self::Refused) | (Self::Untold(_), Self::Untold(_)) => {
                true
            }
            (Self::Set(one), Self::Set(other)) => one == other,
            _ => false,
        }
    }
}

/// Whether the hook does not take the words of the variable, whatever the image is otherwise.
fn words_refused(replay: Replay<'_>) -> bool {
    let value = Env::of(replay).value(WANTED);
    let (default, supported) = (replay.host.behaviour.default_capabilities, replay.host.options.supported);
    Capabilities::given_by(reading(replay.host), value, false, default, supported).is_none()
}

/// How the toolkit of a host reads the variable.
pub(super) fn reading(host: &Host) -> CapabilityReading {
    if host.behaviour.changes.has(ToolkitChange::CapabilitySet) {
        CapabilityReading::Set
    } else if host.behaviour.changes.has(ToolkitChange::CapabilityList) {
        CapabilityReading::Text
    } else {
        CapabilityReading::Words
    }
}

/// What is handed to a container: its devices, and the driver's libraries for computing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handed {
    request: Request,
    given: Given,
}

impl Handed {
    pub(super) fn of(replay: Replay<'_>) -> Self {
        Self { request: requested(replay), given: given(replay) }
    }
}

/// Which devices a container gets.
pub(super) fn requested(replay: Replay<'_>) -> Request {
    replay.handed.map_or_else(|| request(Env::of(replay), replay.host), |handed| handed.request)
}

/// The driver capabilities of a container. Only legacy mode asks the variable.
pub(super) fn given(replay: Replay<'_>) -> Given {
    replay.handed.map_or_else(|| given_as_to(replay, "compute"), |handed| handed.given)
}

/// The same, untold only where that makes a difference to one capability.
pub(super) fn given_as_to(replay: Replay<'_>, capability: &str) -> Given {
    let host = replay.host;
    let env = Env::of(replay);
    if host.mode != Mode::Legacy || !at_work(requested(replay).asked) {
        return Given::NotAsked;
    }
    if let Some(missing) = env.untold(WANTED) {
        return Given::Untold(missing);
    }
    let value = env.value(WANTED);
    if host.devices == DeviceSource::Enroot {
        return by_enroot(value).map_or(Given::Refused, Given::Set);
    }
    let (default, supported) = (host.behaviour.default_capabilities, host.options.supported);
    let set = |legacy| Capabilities::given_by(reading(host), value, legacy, default, supported);
    let found = |legacy| set(legacy).map_or(Given::Refused, Given::Set);
    let brought = |legacy| set(legacy).map(|set| brings(set, capability));
    match env.untold_age() {
        // A legacy image gets more; often that makes no difference here.
        Some(missing) if brought(true) != brought(false) => Given::Untold(missing),
        Some(_) => found(false),
        None => found(is_legacy_image(&env)),
    }
}

/// enroot asks for the utility capability alone where nothing is said, and knows one word less.
fn by_enroot(value: Option<&str>) -> Option<Capabilities> {
    let value = value.filter(|value| !value.is_empty()).unwrap_or("utility");
    let mut words = value.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
    // It reads up to the first `all`.
    let ends = words.clone().position(|word| word == "all");
    let known = |word: &str| word != "ngx" && Capabilities::WORDS.contains(&word);
    let read = words.clone().take(ends.unwrap_or(usize::MAX));
    if !read.clone().all(known) {
        return None;
    }
    if ends.is_some() {
        return Capabilities::read("compat32,compute,display,graphics,utility,video");
    }
    words.try_fold(Capabilities::default(), |set, word| Some(set.with(Capabilities::read(word)?)))
}

/// Whether the image itself names capabilities, and none of them brings libcuda.
pub(super) fn wants_no_libcuda(image: &ImageFacts) -> bool {
    let named = image.env.get(WANTED).known().filter(|value| !value.is_empty() && *value != "all");
    named.and_then(|value| Capabilities::read(value)).is_some_and(|set| !brings_libcuda(set))
}

/// Whether libcuda is among the files of a set: compute and video bring it.
pub(super) fn brings_libcuda(set: Capabilities) -> bool {
    brings(set, "compute")
}

/// Are the driver's compute libraries put into the container?
pub(super) fn capabilities(replay: Replay<'_>) -> StepRecord {
    let env = Env::of(replay);
    let cite = match reading(replay.host) {
        _ if replay.host.devices == DeviceSource::Enroot => ENROOT,
        _ if replay.host.toolkit.is_none() => CAPABILITIES,
        CapabilityReading::Set => CAPABILITIES,
        CapabilityReading::Text => AS_TEXT,
        CapabilityReading::Words => WORD_BY_WORD,
    };
    let decided = [
        env.basis(WANTED),
        Basis::Pool(PoolField::Toolkit),
        Basis::Entry(PoolEntry::Option(Options::SUPPORTED_CAPABILITIES)),
    ];
    let result = match given(replay) {
        Given::NotAsked => {
            let facts = [Basis::Pool(PoolField::Mode)];
            return StepRecord::new(Step::Capabilities, StepResult::NotApplicable, facts, cite);
        }
        Given::Untold(missing) => return StepRecord::new(Step::Capabilities, StepResult::Unknown, [missing], cite),
        Given::Refused => StepResult::Stops(Wall::refused(Reason::Capability)),
        Given::Set(set) if brings_libcuda(set) => StepResult::Passes(Route::Native),
        // Libcuda stays outside, unless the container is not even created or the loader asks for it first.
        Given::Set(_) if refused_later(replay) || libraries::stops(replay) => StepResult::Passes(Route::Native),
        Given::Set(_) => {
            let (result, library) = not_for_computing(replay);
            let facts = decided.into_iter().chain(library);
            return StepRecord::new(Step::Capabilities, result, facts, if library.is_some() { UVM } else { cite });
        }
    };
    StepRecord::new(Step::Capabilities, result, decided, cite)
}

#[cfg(test)]
#[path = "device_hook_tests.rs"]
mod hook_tests;
#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
