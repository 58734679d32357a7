//! Words for what the container is given: mode, devices, capabilities, requirements, and why it is not created.

use crate::cuda::Capabilities;
use crate::cuda::CapabilityReading;
use crate::cuda::CudaVersion;
use crate::cuda::driver_capabilities;
use crate::cuda::is_legacy_image;
use crate::fleet::DeviceSource;
use crate::fleet::Host;
use crate::fleet::Mode;
use crate::knowledge::ToolkitChange;
use crate::outcome::Cause;
use crate::outcome::Outcome;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::cause::cause;
use crate::start::cause::unsaid;
use crate::start::cause::why_no_gpu;
use crate::start::cause::without_compute;
use crate::start::device::Given;
use crate::start::device::HIDING;
use crate::start::device::WANTED;
use crate::start::device::brings_libcuda;
use crate::start::device::given;
use crate::start::device::reading;
use crate::start::device::untold_visible;
use crate::start::environment::Env;
use crate::start::libraries;
use crate::start::loader;
use crate::start::mount::LEADS_TO;
use crate::start::mount::firmware_path;
use crate::start::mount::in_the_way;
use crate::start::request::Asked;
use crate::start::request::MADE;
use crate::start::request::VISIBLE;
use crate::start::request::first;
use crate::start::request::mig_variable;
use crate::start::request::request;
use crate::start::request::stands_in;
use crate::start::requirement;
use crate::start::requirement::Check;
use crate::start::requirement::Off;
use crate::start::user_mode;
use crate::start::words::MissingFact;
use crate::start::words::POOLS;
use crate::start::words::message;

const CLI: &str = "nvidia-container-cli";

pub(super) fn mode(host: &Host) -> String {
    let toolkit = host.toolkit_version.map_or_else(String::new, |version| format!(" with container toolkit {version}"));
    format!("launch {}{toolkit} means mode {}", host.launch.as_str(), host.mode.as_str())
}

pub(super) fn devices(replay: Replay<'_>, record: &StepRecord) -> String {
    let host = replay.host;
    let env = Env::of(replay);
    let by_image =
        matches!(host.devices, DeviceSource::Environment | DeviceSource::LaunchAndEnvironment | DeviceSource::Enroot)
            || stands_in(env, host).is_some();
    let variable = stands_in(env, host).unwrap_or(VISIBLE);
    match record.result {
        StepResult::Stops(wall) if wall.outcome() == Outcome::NoGpu => {
            let why = why_no_gpu(replay);
            match cause(replay, wall) {
                Some(Cause::NoneHanded | Cause::Hidden) => why,
                Some(Cause::VariableIgnored) => format!("{why}{}", unsaid(host)),
                _ => format!("no GPU in the container: {why}"),
            }
        }
        StepResult::Stops(wall)
            if mig_variable(env, host).is_some() || request(env, host).asked == Asked::Forbidden =>
        {
            format!("{}{}", message(replay, wall), unsaid(host))
        }
        StepResult::Stops(wall) => message(replay, wall),
        StepResult::NotApplicable if libraries::stops(replay) => {
            "no GPU in the container, and the program ends before it needs one".to_owned()
        }
        StepResult::NotApplicable => "no GPU in the container, and the program uses the stub of the image".to_owned(),
        _ if by_image && request(env, host).asked == Asked::DriverOnly => {
            format!("{variable} requests driver files without a GPU")
        }
        _ if by_image => "the environment requests GPUs".to_owned(),
        _ => format!("launch method {} adds the GPUs; the image has no influence", host.launch.as_str()),
    }
}

pub(super) fn capabilities(replay: Replay<'_>, record: &StepRecord) -> String {
    match (record.result, given(replay)) {
        (StepResult::NotApplicable, _) if replay.host.mode == Mode::Legacy => {
            format!("without devices {WANTED} is not read")
        }
        (StepResult::NotApplicable, _) => format!("this mode does not read {WANTED}"),
        (_, Given::Refused) => capability_message(replay),
        (_, Given::Set(set)) if !brings_libcuda(set) => without_compute(replay),
        (_, Given::Set(set)) if !set.has("compute") => format!("{WANTED} includes video, which includes libcuda"),
        _ => format!("{WANTED} includes compute"),
    }
}

pub(super) fn requirements(replay: Replay<'_>, record: &StepRecord) -> String {
    let mode = replay.host.mode.as_str();
    match requirement::off(replay) {
        Some(Off::Mode) => return format!("mode {mode} does not check NVIDIA_REQUIRE_*"),
        Some(Off::NoDevices) => return "without devices NVIDIA_REQUIRE_* is not checked".to_owned(),
        Some(Off::Option) => return "the option disable-require disables the requirement check".to_owned(),
        Some(Off::Variable) => return "NVIDIA_DISABLE_REQUIRE disables the requirement check".to_owned(),
        None => {}
    }
    match (record.result, requirement::check(replay)) {
        (StepResult::Stops(_), Check::Refused | Check::Malformed) => requirement::message(replay),
        _ => "the host satisfies every NVIDIA_REQUIRE_* that is set".to_owned(),
    }
}

/// What keeps the container from being created.
pub(super) fn refusal_title(replay: Replay<'_>, reason: Option<Reason>, driver: &str) -> String {
    match reason {
        Some(Reason::Requirement) => match unsatisfied(replay) {
            Some(term) => format!("{term} is not satisfied by {driver}"),
            None => format!("NVIDIA_REQUIRE_* is not satisfied by {driver}"),
        },
        Some(Reason::MalformedRequirement) => "NVIDIA_REQUIRE_* or CUDA_VERSION is malformed".to_owned(),
        Some(Reason::Capability) => {
            let value = Env::of(replay).value(WANTED).unwrap_or_default();
            format!("{WANTED}=`{value}` contains an unsupported capability")
        }
        Some(Reason::Device) => device_title(replay),
        Some(Reason::Mount) if loader::scattered(replay) => "cuda-compat is in several directories".to_owned(),
        Some(Reason::Mount) if replay.host.wsl => "a driver library of the image blocks a mount".to_owned(),
        Some(Reason::Mount) if firmware_path(replay).is_some() => {
            "driver firmware of the image blocks a mount".to_owned()
        }
        Some(Reason::Mount) => "the node has no /dev/nvidia-modeset".to_owned(),
        Some(Reason::Hook) => "`--gpus` does not work with this toolkit mode".to_owned(),
        None => "a setup step of the container toolkit fails".to_owned(),
    }
}

fn device_title(replay: Replay<'_>) -> String {
    let host = replay.host;
    let env = Env::of(replay);
    if request(env, host).asked == Asked::Forbidden {
        return format!("{VISIBLE} is not allowed in an unprivileged container");
    }
    match mig_variable(env, host) {
        Some(name) => format!("{name} is not allowed in an unprivileged container"),
        None if request(env, host).asked == Asked::Mixed => format!("{VISIBLE} mixes two kinds of device names"),
        None => format!("the node has no GPU `{}`", first(env, host, Some(false)).unwrap_or_default()),
    }
}

/// The condition of the requirement that the node does not satisfy.
fn unsatisfied(replay: Replay<'_>) -> Option<String> {
    let text = requirement::message(replay);
    let (_, rest) = text.split_once("unsatisfied condition: ")?;
    let term = rest.split([',', ' ']).next().filter(|term| !term.is_empty())?;
    Some(term.to_owned())
}

/// The CUDA release that an unsatisfied condition requires at least.
fn required_cuda(replay: Replay<'_>) -> Option<CudaVersion> {
    unsatisfied(replay)?.strip_prefix("cuda>=")?.parse().ok()
}

/// The rule behind a refusal.
pub(super) fn refusal_rule(replay: Replay<'_>, reason: Option<Reason>, several: bool) -> Option<String> {
    Some(match reason? {
        Reason::Requirement => match (required_cuda(replay), replay.host.driver_cuda) {
            (Some(_), Some(cuda)) if !several => {
                format!("the toolkit compares NVIDIA_REQUIRE_* with the CUDA version of the driver, which is {cuda}")
            }
            (Some(_), _) => "the toolkit compares NVIDIA_REQUIRE_* with the CUDA version of the driver".to_owned(),
            _ => "the toolkit checks every condition in NVIDIA_REQUIRE_* before it starts a container".to_owned(),
        },
        Reason::MalformedRequirement => "the toolkit stops at a requirement that it cannot parse".to_owned(),
        Reason::Capability => {
            "the toolkit accepts only the capabilities that it supports and its settings allow".to_owned()
        }
        Reason::Device => "every device in the request must exist on the node and be allowed there".to_owned(),
        Reason::Mount => "the toolkit mounts every requested file of the driver, or stops".to_owned(),
        Reason::Hook => "the hook of `--gpus` supports only the legacy mode of the toolkit".to_owned(),
    })
}

/// What makes the node satisfy a requirement.
pub(super) fn refusal_help(replay: Replay<'_>, several: bool) -> Option<String> {
    let wanted = required_cuda(replay)?;
    let branch = replay.knowledge.branches().iter().find(|row| row.cuda.release() >= wanted.release())?.branch;
    let image = match replay.host.driver_cuda.filter(|_| !several) {
        Some(cuda) => format!("that requires CUDA {cuda} or older"),
        None => "with an older CUDA release".to_owned(),
    };
    let own = user_mode::is_jetson(replay) || replay.host.wsl;
    Some(if own {
        format!("use an image {image}")
    } else {
        format!("upgrade the driver of {POOLS} to branch {branch} or newer, or use an image {image}")
    })
}

/// Why the container is not created, as the user reads it.
pub(super) fn refusal(replay: Replay<'_>, reason: Option<Reason>) -> String {
    match reason {
        Some(Reason::Requirement | Reason::MalformedRequirement) => requirement::message(replay),
        Some(Reason::Capability) => capability_message(replay),
        Some(Reason::Device) => device_message(replay),
        Some(Reason::Mount) => mount_message(replay),
        Some(Reason::Hook) => {
            let plain = replay.host.behaviour.changes.has(ToolkitChange::HookPlainError);
            let dot = if plain { "" } else { "." };
            format!(
                "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not \
                 supported. Please use the NVIDIA Container Runtime (e.g. specify the --runtime=nvidia flag) \
                 instead{dot}"
            )
        }
        None => "the container is not created".to_owned(),
    }
}

fn capability_message(replay: Replay<'_>) -> String {
    let env = Env::of(replay);
    let value = env.value("NVIDIA_DRIVER_CAPABILITIES").unwrap_or_default();
    let host = replay.host;
    if host.devices == DeviceSource::Enroot {
        let known = |word: &&str| *word != "ngx" && *word != "all" && Capabilities::read(word).is_some();
        let mut words = value.split([',', ' ']).filter(|word| !word.is_empty());
        return format!("Unknown NVIDIA driver capability: {}", words.find(|word| !known(word)).unwrap_or_default());
    }
    let supported = host.options.supported;
    match reading(host) {
        // The words that are left are put together in the order in which they were asked for.
        CapabilityReading::Text => {
            let words = value.split(',').map(str::trim);
            let allowed: Vec<&str> = words.filter(|word| supported.has(word)).collect();
            format!("unsupported capabilities found in '{value}' (allowed '{}')", allowed.join(","))
        }
        // The first word that it does not know, as it is written.
        CapabilityReading::Words => {
            let word = value.split(',').find(|word| !Capabilities::WORDS.contains(word));
            format!("unknown driver capability: {}", word.unwrap_or_default())
        }
        CapabilityReading::Set => {
            match driver_capabilities(Some(value), is_legacy_image(&env), &host.options.supported_text) {
                Err(error) => error.to_string(),
                Ok(_) => "unsupported capabilities found in NVIDIA_DRIVER_CAPABILITIES".to_owned(),
            }
        }
    }
}

fn device_message(replay: Replay<'_>) -> String {
    let host = replay.host;
    let env = Env::of(replay);
    if request(env, host).asked == Asked::Forbidden {
        return format!("insufficient privileges to read device list from {VISIBLE} envvar");
    }
    if let Some(name) = mig_variable(env, host) {
        let name = name.trim_start_matches("NVIDIA_");
        return format!("cannot set {name} in non privileged container");
    }
    if request(env, host).asked == Asked::Mixed {
        return "requesting a CDI device with vendor 'runtime.nvidia.com' is not supported when requesting other CDI \
            devices"
            .to_owned();
    }
    let name = first(env, host, Some(false)).unwrap_or_default();
    match host.mode {
        Mode::Cdi => format!("unresolvable CDI devices {}", qualified(&name, host)),
        Mode::JitCdi if !host.behaviour.changes.has(ToolkitChange::NoneInJitCdi) => {
            format!(
                "unresolvable CDI devices {}",
                if crate::cuda::is_cdi_name(&name) { name } else { format!("{MADE}{name}") }
            )
        }
        Mode::JitCdi => format!(
            "failed to create the automatic CDI modifier: failed to generate CDI spec for mode \"auto\": failed to \
             construct device spec generators: the node has no device `{name}`"
        ),
        Mode::Csv => format!(
            "failed to generate CDI spec for mode \"csv\": failed to construct device spec generators: unsupported \
             device id: {name}"
        ),
        Mode::Legacy | Mode::None => format!("{CLI}: device error: {name}: unknown device"),
    }
}

fn qualified(name: &str, host: &Host) -> String {
    let named = host.behaviour.changes.has(ToolkitChange::NoneInJitCdi);
    match name {
        "none" if !named => "nvidia.com/gpu=".to_owned(),
        _ if crate::cuda::is_cdi_name(name) => name.to_owned(),
        _ => format!("nvidia.com/gpu={name}"),
    }
}

fn mount_message(replay: Replay<'_>) -> String {
    if loader::scattered(replay) {
        return "the cuda-compat libraries that are newer than the driver are in several directories".to_owned();
    }
    if let Some(path) = firmware_path(replay).filter(|_| !replay.host.wsl) {
        return match path.split_once(LEADS_TO) {
            Some((path, _)) => format!("{CLI}: mount error: path error: ...{path} resolves outside of the container"),
            None => format!("{CLI}: mount error: path error: ...{path}/gsp_*.bin: not a directory"),
        };
    }
    if !replay.host.wsl {
        return format!("{CLI}: mount error: stat failed: /dev/nvidia-modeset: no such file or directory");
    }
    let Given::Set(set) = given(replay) else { return format!("{CLI}: mount error") };
    let libraries = replay.image.driver_libraries.known();
    let library = libraries.into_iter().flatten().find(|library| in_the_way(library, set));
    let path = match library {
        Some(library) if !library.packaged() => library.path.as_str(),
        _ if set.has("utility") => "/libnvidia-ml.so.1",
        _ => "/libcuda.so.1",
    };
    // The path of the container's files on the host stands before it.
    format!("{CLI}: mount error: file creation failed: ...{path}: file exists")
}

/// What would have to be known of a device that the environment names.
pub(super) fn missing_device(replay: Replay<'_>) -> Option<MissingFact> {
    let env = Env::of(replay);
    if let Some(name) = untold_visible(env, replay.host) {
        return Some(missing_visible(name));
    }
    if request(env, replay.host).asked != Asked::UntoldDevice {
        return None;
    }
    let name = first(env, replay.host, None)?;
    let by_index = name.rsplit('=').next().is_some_and(is_number);
    Some(if by_index {
        MissingFact {
            key: "pool.gpu".to_owned(),
            reason: format!(
                "it is unknown whether the node has a GPU `{name}`: the pool does not declare the \
                number of GPUs"
            ),
            supply: "set `count` in the `gpu` of the pool".to_owned(),
        }
    } else {
        MissingFact {
            key: format!("env.{VISIBLE}"),
            reason: format!("it is unknown whether the node has the device `{name}`"),
            supply: "request devices by index, or let the launch method select them".to_owned(),
        }
    })
}

/// The same of one that the CUDA runtime is told to use.
fn missing_visible(name: &str) -> MissingFact {
    // What is no identifier is read as a number, whatever stands behind it.
    if name.trim_start_matches('+').starts_with(|sign: char| sign.is_ascii_digit()) {
        MissingFact {
            key: "pool.gpu".to_owned(),
            reason: format!(
                "it is unknown whether the container has a GPU `{name}` for {HIDING}: the pool does not declare \
                    the number of GPUs"
            ),
            supply: "set `count` in the `gpu` of the pool".to_owned(),
        }
    } else {
        MissingFact {
            key: format!("env.{HIDING}"),
            reason: format!("it is unknown whether the node has `{name}`, which {HIDING} lists"),
            supply: "list GPUs by index, or let the launch method select them".to_owned(),
        }
    }
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}
