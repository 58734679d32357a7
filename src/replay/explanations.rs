//! Texts for step records: the result of a step, and the messages that a user sees.

use crate::fleet::{DeviceSource, Host, Mode};
use crate::model::fact::{GpuCode, PrintedValue, ValueState};
use crate::model::outcome::{FailureCause, Outcome};
use crate::replay::cuda_callers::{CudaCallers, is_bare_container};
pub use crate::replay::display_names::POOLS_PLACEHOLDER;
use crate::replay::display_names::{cpu_only_cause, driver_name, gpu_name, is_driver_assumed_from_cuda};
use crate::replay::failure_cause::{failure_cause, missing_compute_message, no_gpu_reason, unprivileged_default_note};
pub use crate::replay::failure_explanation::{
    FailureExplanation, FailureMessage, explain_failure, explain_failures, failure_message, failure_message_parts,
    failure_title, general_failure_message,
};
use crate::replay::gpu_request::{
    GpuRequestKind, VISIBLE_DEVICES_VARIABLE, first_swarm_variable, forbidden_mig_variable, resolve_gpu_request,
};
use crate::replay::granted_capabilities::{GrantedCapabilities, NVIDIA_DRIVER_CAPABILITIES, includes_libcuda};
pub use crate::replay::missing_facts::{MissingFact, missing_facts};
use crate::replay::requirement::{RequirementCheck, RequirementSkip};
use crate::replay::{
    LibcudaSource, LoadedLibcuda, Replay, StartRoute, StartStep, StepRecord, StepResult, gpu_code, libraries,
    library_messages, loader, minimum_capability, refusal_messages, requirement, runtime, user_mode,
};

/// Returns the result of a step in one sentence.
pub fn describe_step(replay: Replay<'_>, record: &StepRecord) -> String {
    if record.result == StepResult::Unknown {
        let missing: Vec<String> =
            missing_facts(replay, record).into_iter().map(|missing| missing.cause.explain().to_string()).collect();
        return if missing.is_empty() {
            "unknown, because an earlier step is unknown".to_owned()
        } else {
            format!("unknown: {}", missing.join("; "))
        };
    }
    let about_driver = match record.step {
        StartStep::Capabilities => replay.host.mode == Mode::Legacy,
        step => matches!(step, StartStep::Devices | StartStep::Loader | StartStep::UserMode | StartStep::GpuKnown),
    };
    if record.result == StepResult::NotApplicable && about_driver && replay.component.is_without_cuda() {
        return format!("{} and needs no driver", cpu_only_cause(replay));
    }
    if record.result == StepResult::NotApplicable
        && let Some(reason) = reason_without_callers(replay, record.step)
    {
        return reason.to_owned();
    }
    match record.step {
        StartStep::Platform => describe_platform(replay, record),
        StartStep::Mode => describe_mode(replay.host),
        StartStep::Devices => describe_devices_step(replay, record),
        StartStep::Capabilities => describe_capabilities_step(replay, record),
        StartStep::Requirement => describe_requirements_step(replay, record),
        StartStep::Mounts => match record.result {
            StepResult::NotApplicable => "the image blocks no known mount".to_owned(),
            StepResult::Stops(failure) => failure_message(replay, failure),
            StepResult::NotSeen => {
                "display is requested, and whether the node has /dev/nvidia-modeset is unknown".to_owned()
            }
            _ => "no file of the image blocks a mount".to_owned(),
        },
        StartStep::Libraries | StartStep::OpenedLater => library_messages::describe_library_step(replay, record),
        StartStep::Loader => describe_loader(replay, record),
        StartStep::UserMode => describe_user_mode(replay, record),
        StartStep::GpuKnown => describe_gpu_known(replay, record),
        StartStep::Build => match record.result {
            StepResult::Stops(_) => cpu_only_cause(replay),
            _ => format!("{} is a CUDA build", replay.component.display_name()),
        },
        StartStep::Runtime => describe_runtime(replay, record),
        StartStep::Code => describe_code(replay, record),
    }
}

/// Returns why a step is skipped if nothing in the image is known to call CUDA.
fn reason_without_callers(replay: Replay<'_>, step: StartStep) -> Option<&'static str> {
    let bare = is_bare_container(replay);
    let of_component = matches!(
        step,
        StartStep::Libraries | StartStep::OpenedLater | StartStep::Build | StartStep::Runtime | StartStep::Code
    );
    if bare && of_component {
        return Some("nothing in the image is known to call CUDA");
    }
    match CudaCallers::of(replay) {
        CudaCallers::NotRequested if bare || is_caller_step(step) => {
            Some("the image requests no GPU for computing, and nothing in it is known to call CUDA")
        }
        CudaCallers::Absent if is_caller_step(step) => Some("nothing in the image calls CUDA"),
        _ => None,
    }
}

/// Whether the step matters only to a program that calls CUDA.
fn is_caller_step(step: StartStep) -> bool {
    matches!(
        step,
        StartStep::Devices
            | StartStep::Capabilities
            | StartStep::Loader
            | StartStep::UserMode
            | StartStep::GpuKnown
            | StartStep::Runtime
    )
}

/// Whether a step is unknown only because an earlier step is unknown.
pub fn waits_for_earlier_step(replay: Replay<'_>, record: &StepRecord) -> bool {
    record.result == StepResult::Unknown && missing_facts(replay, record).is_empty()
}

/// Returns the sentence for the platform step.
fn describe_platform(replay: Replay<'_>, record: &StepRecord) -> String {
    let host = &replay.host.platform;
    match (&replay.image.platforms.state, record.result) {
        (ValueState::Known(list), StepResult::Stops(_)) if list.is_empty() => {
            format!("no manifest for {host}: the base has none for the requested platform")
        }
        (ValueState::Known(list), StepResult::Stops(_)) => {
            format!("no manifest for {host}, only for {}", list.join(", "))
        }
        (ValueState::Known(_), _) => format!("the image has a manifest for {host}"),
        _ => format!("built for {host}"),
    }
}

/// Describes the toolkit mode of a host.
fn describe_mode(host: &Host) -> String {
    let toolkit = host.toolkit_version.map_or_else(String::new, |version| format!(" with container toolkit {version}"));
    format!("launch {}{toolkit} means mode {}", host.launch.as_str(), host.mode.as_str())
}

/// Describes the result of the devices step.
fn describe_devices_step(replay: Replay<'_>, record: &StepRecord) -> String {
    let host = replay.host;
    let env = replay.environment();
    let by_image =
        matches!(host.devices, DeviceSource::Environment | DeviceSource::LaunchAndEnvironment | DeviceSource::Enroot)
            || first_swarm_variable(env, host).is_some();
    let variable = first_swarm_variable(env, host).unwrap_or(VISIBLE_DEVICES_VARIABLE);
    match record.result {
        StepResult::Stops(failure) if failure.outcome() == Outcome::NoGpu => {
            let why = no_gpu_reason(replay);
            match failure_cause(replay, failure) {
                Some(FailureCause::LaunchRequestsNone | FailureCause::Hidden) => why,
                Some(FailureCause::VariableIgnored) => format!("{why}{}", unprivileged_default_note(host)),
                _ => format!("no GPU in the container: {why}"),
            }
        }
        StepResult::Stops(failure)
            if forbidden_mig_variable(env, host).is_some()
                || resolve_gpu_request(env, host).kind == GpuRequestKind::Forbidden =>
        {
            format!("{}{}", failure_message(replay, failure), unprivileged_default_note(host))
        }
        StepResult::Stops(failure) => failure_message(replay, failure),
        StepResult::NotApplicable if libraries::stops_in_loader(replay) => {
            "no GPU in the container, and the program ends before it needs one".to_owned()
        }
        StepResult::NotApplicable => "no GPU in the container, and the program uses the stub of the image".to_owned(),
        _ if by_image && resolve_gpu_request(env, host).kind == GpuRequestKind::DriverOnly => {
            format!("{variable} requests driver files without a GPU")
        }
        _ if by_image => "the environment requests GPUs".to_owned(),
        _ => format!("launch method {} adds the GPUs; the image has no influence", host.launch.as_str()),
    }
}

/// Describes the result of the capabilities step.
fn describe_capabilities_step(replay: Replay<'_>, record: &StepRecord) -> String {
    match (record.result, replay.granted_capabilities()) {
        (StepResult::NotApplicable, _) if replay.host.mode == Mode::Legacy => {
            format!("without devices {NVIDIA_DRIVER_CAPABILITIES} is not read")
        }
        (StepResult::NotApplicable, _) => format!("this mode does not read {NVIDIA_DRIVER_CAPABILITIES}"),
        (_, GrantedCapabilities::Refused) => refusal_messages::capability_message(replay),
        (_, GrantedCapabilities::Set(set)) if !includes_libcuda(set) => missing_compute_message(replay),
        (_, GrantedCapabilities::Set(set)) if !set.contains("compute") => {
            format!("{NVIDIA_DRIVER_CAPABILITIES} includes video, which includes libcuda")
        }
        _ => format!("{NVIDIA_DRIVER_CAPABILITIES} includes compute"),
    }
}

/// Describes the result of the requirement step.
fn describe_requirements_step(replay: Replay<'_>, record: &StepRecord) -> String {
    let mode = replay.host.mode.as_str();
    match requirement::requirement_skip(replay) {
        Some(RequirementSkip::Mode) => return format!("mode {mode} does not check NVIDIA_REQUIRE_*"),
        Some(RequirementSkip::NoDevices) => return "without devices NVIDIA_REQUIRE_* is not checked".to_owned(),
        Some(RequirementSkip::Option) => return "the option disable-require disables the requirement check".to_owned(),
        Some(RequirementSkip::Variable) => return "NVIDIA_DISABLE_REQUIRE disables the requirement check".to_owned(),
        None => {}
    }
    match (record.result, requirement::check_requirements(replay)) {
        (StepResult::Stops(_), RequirementCheck::Refused | RequirementCheck::Malformed) => {
            requirement::refused_requirement(replay).message
        }
        _ => "the host satisfies every NVIDIA_REQUIRE_* that is set".to_owned(),
    }
}

/// Returns the libcuda that a program loads.
fn loaded_libcuda(replay: Replay<'_>) -> LoadedLibcuda<'_> {
    loader::loader_step(replay).0
}

/// Returns the sentence for the loader step.
fn describe_loader(replay: Replay<'_>, record: &StepRecord) -> String {
    let found = loaded_libcuda(replay);
    let host = replay.host;
    let driver = match host.driver {
        Some(driver) if !is_driver_assumed_from_cuda(host) => format!("{driver} of the host"),
        Some(_) | None => "of the host".to_owned(),
    };
    match (record.result, found.source) {
        (StepResult::Stops(failure), _) => failure_message(replay, failure),
        (_, Some(LibcudaSource::Host)) => format!("programs load libcuda {driver}"),
        (_, Some(LibcudaSource::Compat(library))) if found.by_note => format!(
            "programs load libcuda {} of the image's compat directory if its note lists branch {}, else {driver}; both work",
            library.version,
            library.version.branch()
        ),
        (_, Some(LibcudaSource::Compat(library))) => {
            format!("programs load libcuda {} of the image's compat directory instead of {driver}", library.version)
        }
        (_, Some(LibcudaSource::Image(path))) => {
            format!("programs load {path} of the image instead of libcuda {driver}")
        }
        (_, Some(LibcudaSource::Nowhere) | None) => "programs find no libcuda".to_owned(),
    }
}

/// Returns the sentence for the user-mode step.
fn describe_user_mode(replay: Replay<'_>, record: &StepRecord) -> String {
    let found = loaded_libcuda(replay);
    let version = found.version.map_or_else(|| "of unknown version".to_owned(), |version| version.to_string());
    let kernel = driver_name(replay.host);
    match record.result {
        StepResult::Passes(StartRoute::ForwardCompat) if found.by_note => {
            format!("libcuda {version} works on {kernel} of this GPU, as does the libcuda of the host")
        }
        StepResult::Passes(StartRoute::ForwardCompat) => {
            format!("libcuda {version} works on {kernel} of this GPU by forward compatibility")
        }
        StepResult::Stops(failure) => failure_message(replay, failure),
        StepResult::NotApplicable => "there is no libcuda".to_owned(),
        _ => "the user-mode driver is the kernel-mode driver's own".to_owned(),
    }
}

/// Returns the sentence for the step that checks whether the driver supports the GPU.
fn describe_gpu_known(replay: Replay<'_>, record: &StepRecord) -> String {
    match record.result {
        StepResult::Stops(failure) => failure_message(replay, failure),
        _ => format!("the driver supports {}", gpu_name(replay)),
    }
}

/// Returns the sentence for the runtime step.
fn describe_runtime(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = replay.component.display_name();
    let Some(runtime) = replay.component.cuda.known() else { return format!("{name} has no CUDA runtime") };
    let loaded = loaded_libcuda(replay);
    let supported = match (loaded.cuda, user_mode::surrounding_branches(replay, &loaded)) {
        (Some(cuda), _) => format!("CUDA {cuda}"),
        (None, Some([below, above])) if below.cuda == above.cuda => format!("CUDA {}", below.cuda),
        (None, Some([below, above])) => format!("CUDA {} to {}", below.cuda, above.cuda),
        (None, None) => "an unknown CUDA".to_owned(),
    };
    match record.result {
        StepResult::Passes(StartRoute::MinorVersion) => {
            format!(
                "the CUDA {runtime} runtime of {name} starts on a driver for {supported} by minor version compatibility"
            )
        }
        StepResult::Stops(_) => match runtime::named_minimum_driver(replay, &loaded).zip(loaded.version) {
            Some((oldest, version)) => {
                format!("the CUDA {runtime} runtime of {name} needs driver {oldest} or newer, and this is {version}")
            }
            None => match (runtime::minimum_driver(replay, &loaded), loaded.version) {
                (Some((_, oldest)), Some(version)) => format!(
                    "the CUDA {runtime} runtime of {name} needs driver {oldest} or newer; {version} supports {supported}"
                ),
                _ => format!("the CUDA {runtime} runtime of {name} needs a newer driver than one for {supported}"),
            },
        },
        StepResult::NotApplicable if libraries::starts_without_gpu(replay) => {
            format!("{name} opens its libraries before the CUDA {runtime} runtime, and does not find them all")
        }
        StepResult::NotApplicable => format!("the CUDA {runtime} runtime of {name} finds no driver"),
        _ => format!("the driver supports {supported}, the runtime of {name} is CUDA {runtime}"),
    }
}

/// Returns the sentence for the GPU code step.
fn describe_code(replay: Replay<'_>, record: &StepRecord) -> String {
    let name = replay.component.display_name();
    let list = match &replay.image.facts.get(replay.component.code.id).state {
        ValueState::Known(value) => value.to_string(),
        ValueState::Absent { .. } | ValueState::Unknown(_) => String::new(),
    };
    let description = match record.result {
        StepResult::NotSeen => return format!("the GPU code of {name} is unknown"),
        StepResult::NotApplicable => return format!("{name} has no GPU code to check"),
        StepResult::Stops(failure) if list.is_empty() => {
            let floor = minimum_capability::minimum_capability_of(replay).and_then(|floor| floor.lowest.known());
            let lowest =
                floor.map_or_else(String::new, |floor| format!("; it supports compute capability {floor} and newer"));
            return format!("the GPU code of {name} is unknown{lowest}: {}", failure_message(replay, failure));
        }
        StepResult::Stops(failure) => match gpu_code::stopping_library(replay, &loaded_libcuda(replay)) {
            Some(library) => {
                let own = PrintedValue::from(&GpuCode { libraries: vec![library.clone()], unsorted: false });
                format!("{} of {name} has {own}: {}", library.file, failure_message(replay, failure))
            }
            None if list.is_empty() => {
                let cuda = replay.component.cuda.known().map_or_else(String::new, |cuda| format!(" of CUDA {cuda}"));
                format!(
                    "the compilers{cuda} make no code for a GPU as old as {}: {}",
                    gpu_name(replay),
                    failure_message(replay, failure)
                )
            }
            None => format!("{name} has {list}: {}", failure_message(replay, failure)),
        },
        StepResult::Passes(StartRoute::Jit) => {
            format!("{name} has {list}: the driver compiles its PTX for {}", gpu_name(replay))
        }
        _ => format!("{name} has {list}: native code for {}", gpu_name(replay)),
    };
    let idle = gpu_code::unusable_optional_libraries(replay);
    if idle.is_empty() {
        description
    } else {
        format!("{description}; not counted, without code for it: {}", idle.join(", "))
    }
}

/// Returns notes that do not change the verdict: libraries without which the program uses no GPU.
pub fn missing_library_notes(replay: Replay<'_>) -> Vec<String> {
    library_messages::possible_fallback_note(replay).into_iter().collect()
}

/// Returns what a program that starts may lack: GPU code in libraries that it selects while it runs and, if it starts
/// by PTX, in the libraries of its CUDA.
pub fn unknown_gpu_code(replay: Replay<'_>, route: StartRoute) -> Vec<String> {
    let code_in = |what: String| format!("GPU code for {} in {what}", gpu_name(replay));
    let idle = gpu_code::unusable_optional_libraries(replay)
        .into_iter()
        .map(|file| format!("{file}, which {} may run", replay.component.name));
    let cuda = replay.component.cuda.known().map(|cuda| cuda.release());
    let cuda = cuda.filter(|_| route == StartRoute::Jit && gpu_code::is_beyond_cuda_libraries(replay));
    let of_cuda = cuda.map(|cuda| format!("the libraries of CUDA {}.{}", cuda.0, cuda.1));
    of_cuda.into_iter().chain(idle).map(code_in).collect()
}

/// Whether a program that starts certainly uses no GPU.
pub fn runs_without_gpu(replay: Replay<'_>) -> bool {
    libraries::starts_without_gpu(replay)
}

/// Returns why a program that starts uses no GPU, if known.
pub fn unused_gpu_reason(replay: Replay<'_>) -> Option<String> {
    library_messages::possible_fallback_note(replay)
}

/// Returns what a program that starts will certainly fail at later, because a library is missing that it opens while
/// it runs.
pub fn later_failure(replay: Replay<'_>) -> Option<String> {
    library_messages::later_failure_note(replay)
}
