//! Causes: which of several ways has led to a wall, where each has its own cure.

use crate::fleet::DeviceSource;
use crate::fleet::Host;
use crate::fleet::Options;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::outcome::Cause;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::Source;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::device;
use crate::start::device::Given;
use crate::start::device::brings_libcuda;
use crate::start::device::given;
use crate::start::environment::Env;
use crate::start::libraries;
use crate::start::loader;
use crate::start::loader::Alone;
use crate::start::mount::firmware_path;
use crate::start::request::Asked;
use crate::start::request::Request;
use crate::start::request::VISIBLE;
use crate::start::request::at_work;
use crate::start::request::mig_variable;
use crate::start::request::request;
use crate::start::request::stands_in;
use crate::start::request::written;
use crate::start::user_mode;

/// What has led to a wall; none where the outcome says all, or the most common way did.
pub fn cause(replay: Replay<'_>, wall: Wall) -> Option<Cause> {
    match (wall.outcome(), wall.reason()) {
        (Outcome::NoGpu, _) => no_gpu(replay),
        (Outcome::LibraryMissing, _) => {
            let of_driver = wall.codes().certain.is_none() && libraries::lacks_driver(replay);
            of_driver.then_some(Cause::DriverOutside)
        }
        (Outcome::Refused, Some(reason)) => refused(replay, reason),
        (Outcome::GpuUnsupported, _) => {
            let of_image = matches!(loader::step(replay).0.source, Some(Source::Compat(_) | Source::Image(_)));
            (of_image && !user_mode::kernel_lacks(replay)).then_some(Cause::LibraryUnaware)
        }
        _ => None,
    }
}

fn stops(step: &StepRecord) -> bool {
    matches!(step.result, StepResult::Stops(wall) if wall.outcome() == Outcome::NoGpu)
}

fn no_gpu(replay: Replay<'_>) -> Option<Cause> {
    if stops(&device::devices(replay)) || !at_work(request(Env::of(replay), replay.host).asked) {
        return by_request(replay);
    }
    let without_libcuda = matches!(given(replay), Given::Set(set) if !brings_libcuda(set));
    if stops(&device::capabilities(replay)) || without_libcuda {
        return Some(Cause::WithoutCompute);
    }
    Some(Cause::DriverElsewhere)
}

/// Why no GPU is put into the container.
fn by_request(replay: Replay<'_>) -> Option<Cause> {
    let host = replay.host;
    let env = Env::of(replay);
    let Request { asked, facts } = request(env, host);
    match (asked, facts.first().copied().flatten()) {
        (Asked::Gpus, _) => Some(Cause::Hidden),
        (Asked::DriverOnly, _) => Some(Cause::DriverOnly),
        (_, Some(Basis::Pool(PoolField::Gpu))) => Some(Cause::NoneHanded),
        (_, Some(Basis::Pool(PoolField::Runtime))) => Some(Cause::PlainRuntime),
        (_, Some(Basis::Pool(PoolField::Mode))) => Some(Cause::ToolkitOff),
        (_, Some(Basis::Entry(PoolEntry::Option(Options::ACCEPT_ENVVAR)))) => Some(Cause::VariableIgnored),
        (_, Some(Basis::Entry(PoolEntry::Option(Options::ACCEPT_MOUNTS)))) if host.options.accept_mounts => {
            Some(Cause::NoneHanded)
        }
        (_, Some(Basis::Entry(PoolEntry::Option(Options::ACCEPT_MOUNTS)))) => Some(Cause::MountsIgnored),
        _ => written(env, host).map(|_| Cause::AsksForNone),
    }
}

fn refused(replay: Replay<'_>, reason: Reason) -> Option<Cause> {
    let host = replay.host;
    Some(match reason {
        Reason::Requirement => return None,
        Reason::MalformedRequirement => Cause::MalformedRequirement,
        Reason::Capability => Cause::Capability,
        Reason::Hook => Cause::Hook,
        Reason::Device => match request(Env::of(replay), host).asked {
            Asked::Forbidden => Cause::VariableForbidden,
            _ if mig_variable(Env::of(replay), host).is_some() => Cause::MigVariable,
            Asked::Mixed => Cause::MixedDevices,
            _ if host.devices == DeviceSource::Mounts => Cause::MountsRefused,
            _ => Cause::MissingDevice,
        },
        Reason::Mount => match () {
            () if loader::scattered(replay) => Cause::CompatScattered,
            () if host.wsl => Cause::DriverLink,
            () if firmware_path(replay).is_some() => Cause::Firmware,
            () => Cause::NoModeset,
        },
    })
}

/// Why a container has no GPU, in words that name what to look at.
pub(super) fn why_no_gpu(replay: Replay<'_>) -> String {
    let host = replay.host;
    let env = Env::of(replay);
    let variable = stands_in(env, host).unwrap_or(VISIBLE);
    match no_gpu(replay) {
        Some(Cause::NoneHanded) => "the launch requests none".to_owned(),
        Some(Cause::PlainRuntime) => {
            format!("only the NVIDIA runtime reads {variable}")
        }
        Some(Cause::ToolkitOff) => "the pool uses no container toolkit (mode `none`)".to_owned(),
        Some(Cause::VariableIgnored) => format!("the node ignores {VISIBLE} in an unprivileged container"),
        Some(Cause::MountsIgnored) => "the node ignores device lists given as volume mounts".to_owned(),
        Some(Cause::Hidden) => {
            let value = env.value(device::HIDING).unwrap_or_default();
            format!("{}=`{value}` hides all GPUs", device::HIDING)
        }
        Some(Cause::WithoutCompute) => without_compute(replay),
        Some(Cause::DriverElsewhere) => {
            format!("LD_LIBRARY_PATH lacks {}, the directory of the driver", loader::DRIVER_DIRECTORY)
        }
        _ => match written(env, host) {
            Some(value) => format!("{variable} is `{value}`"),
            None => format!("{variable} is not set"),
        },
    }
}

/// The rule behind it.
#[expect(clippy::unnecessary_wraps, reason = "one signature for every cause")]
pub(super) fn rule_of_no_gpu(replay: Replay<'_>) -> Option<String> {
    let host = replay.host;
    let env = Env::of(replay);
    let variable = stands_in(env, host).unwrap_or(VISIBLE);
    let launch = host.launch.as_str();
    Some(match no_gpu(replay) {
        Some(Cause::NoneHanded) => {
            format!("with launch method `{launch}`, a container gets only the GPUs that it requests")
        }
        Some(Cause::PlainRuntime) => {
            "a container under another runtime gets GPUs only from the device plugin".to_owned()
        }
        Some(Cause::ToolkitOff) => "the container toolkit adds the devices and libraries of the driver".to_owned(),
        Some(Cause::VariableIgnored) => format!("`{}` is off on the node", Options::ACCEPT_ENVVAR),
        Some(Cause::MountsIgnored) => format!("`{}` is off on the node", Options::ACCEPT_MOUNTS),
        Some(Cause::Hidden) => format!("CUDA uses only the GPUs that {} lists", device::HIDING),
        Some(Cause::WithoutCompute) => {
            "the container toolkit mounts libcuda only for the capabilities compute and video".to_owned()
        }
        Some(Cause::DriverElsewhere) => {
            format!("GKE mounts the driver into {} and changes no search path", loader::DRIVER_DIRECTORY)
        }
        Some(Cause::DriverOnly) => format!("`none` in {variable} requests the driver without a GPU"),
        Some(Cause::AsksForNone) => format!("{variable} requests no GPU if it is empty or contains `void`"),
        _ => format!("with launch method `{launch}`, only {variable} requests GPUs"),
    })
}

/// What the words for the driver's capabilities leave out.
pub(super) fn without_compute(replay: Replay<'_>) -> String {
    let unset = Env::of(replay).value(device::WANTED).is_none_or(str::is_empty);
    let lacks = if unset { "is not set, and the default lacks" } else { "lacks" };
    let own = match (given(replay), loader::alone(replay)) {
        (Given::Set(set), Alone::Driver(..)) if !brings_libcuda(set) => {
            ", and libcuda of the image finds no /dev/nvidia-uvm"
        }
        (Given::Set(set), Alone::Stub) if !brings_libcuda(set) => ", and the image contains a stub of it",
        _ => "",
    };
    format!("{} {lacks} compute, so libcuda is not mounted{own}", device::WANTED)
}

/// What is said where the default of every engine decided.
pub(super) fn unsaid(host: &Host) -> &'static str {
    if host.privileged.is_some() {
        ""
    } else {
        " (the pool does not set `privileged`; no engine starts privileged containers by default)"
    }
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
