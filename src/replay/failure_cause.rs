//! The cause of a failure, where one outcome can have several causes that need different fixes.

use crate::fleet::{DeviceSource, Host, PoolEntry, PoolField, ToolkitOptions};
use crate::model::outcome::{FailureCause, Outcome};
use crate::replay::gpu_request::{
    GpuRequest, GpuRequestKind, VISIBLE_DEVICES_VARIABLE, device_list_text, first_swarm_variable,
    forbidden_mig_variable, resolve_gpu_request, uses_container_toolkit,
};
use crate::replay::granted_capabilities::{GrantedCapabilities, NVIDIA_DRIVER_CAPABILITIES, includes_libcuda};
use crate::replay::loader::ImageLibcuda;
use crate::replay::mount::blocking_firmware_path;
use crate::replay::{
    Basis, LibcudaSource, RefusalReason, Replay, ReplayFailure, StepRecord, StepResult, device, libraries, loader,
    user_mode,
};

/// Returns the cause of a failure; `None` where the outcome or its most common cause explains it.
pub fn failure_cause(replay: Replay<'_>, failure: ReplayFailure) -> Option<FailureCause> {
    match (failure.outcome(), failure.reason()) {
        (Outcome::NoGpu, _) => no_gpu_cause(replay),
        (Outcome::LibraryMissing, _) => {
            let of_driver = failure.codes().certain.is_none() && libraries::lacks_driver_library(replay);
            of_driver.then_some(FailureCause::DriverOutside)
        }
        (Outcome::Refused, Some(reason)) => refusal_cause(replay, reason),
        (Outcome::GpuUnsupported, _) => {
            let of_image = matches!(
                loader::loader_step(replay).0.source,
                Some(LibcudaSource::Compat(_) | LibcudaSource::Image(_))
            );
            (of_image && !user_mode::kernel_driver_lacks_gpu(replay)).then_some(FailureCause::LibraryUnaware)
        }
        _ => None,
    }
}

/// Whether a step stops because the container has no GPU.
fn stops_without_gpu(step: &StepRecord) -> bool {
    matches!(step.result, StepResult::Stops(failure) if failure.outcome() == Outcome::NoGpu)
}

/// Returns the cause of a container without a usable GPU.
fn no_gpu_cause(replay: Replay<'_>) -> Option<FailureCause> {
    if stops_without_gpu(&device::devices_step(replay))
        || !uses_container_toolkit(resolve_gpu_request(replay.environment(), replay.host).kind)
    {
        return no_device_cause(replay);
    }
    let without_libcuda =
        matches!(replay.granted_capabilities(), GrantedCapabilities::Set(set) if !includes_libcuda(set));
    if stops_without_gpu(&device::capabilities_step(replay)) || without_libcuda {
        return Some(FailureCause::WithoutCompute);
    }
    Some(FailureCause::DriverElsewhere)
}

/// Returns the cause of a container to which no GPU device is added.
fn no_device_cause(replay: Replay<'_>) -> Option<FailureCause> {
    let host = replay.host;
    let env = replay.environment();
    let GpuRequest { kind, facts } = resolve_gpu_request(env, host);
    match (kind, facts.first().copied().flatten()) {
        (GpuRequestKind::Gpus, _) => Some(FailureCause::Hidden),
        (GpuRequestKind::DriverOnly, _) => Some(FailureCause::DriverOnly),
        (_, Some(Basis::Pool(PoolField::Gpu))) => Some(FailureCause::LaunchRequestsNone),
        (_, Some(Basis::Pool(PoolField::Runtime))) => Some(FailureCause::PlainRuntime),
        (_, Some(Basis::Pool(PoolField::Mode))) => Some(FailureCause::ToolkitOff),
        (_, Some(Basis::Entry(PoolEntry::Option(ToolkitOptions::ACCEPT_ENVVAR)))) => {
            Some(FailureCause::VariableIgnored)
        }
        (_, Some(Basis::Entry(PoolEntry::Option(ToolkitOptions::ACCEPT_MOUNTS)))) if host.options.accept_mounts => {
            Some(FailureCause::LaunchRequestsNone)
        }
        (_, Some(Basis::Entry(PoolEntry::Option(ToolkitOptions::ACCEPT_MOUNTS)))) => Some(FailureCause::MountsIgnored),
        _ => device_list_text(env, host).map(|_| FailureCause::VariableRequestsNone),
    }
}

/// Returns the cause of a refused container; `None` for an unsatisfied requirement.
fn refusal_cause(replay: Replay<'_>, reason: RefusalReason) -> Option<FailureCause> {
    let host = replay.host;
    Some(match reason {
        RefusalReason::Requirement => return None,
        RefusalReason::MalformedRequirement => FailureCause::MalformedRequirement,
        RefusalReason::Capability => FailureCause::Capability,
        RefusalReason::Hook => FailureCause::Hook,
        RefusalReason::Device => match resolve_gpu_request(replay.environment(), host).kind {
            GpuRequestKind::Forbidden => FailureCause::VariableForbidden,
            _ if forbidden_mig_variable(replay.environment(), host).is_some() => FailureCause::MigVariable,
            GpuRequestKind::Mixed => FailureCause::MixedDevices,
            _ if host.devices == DeviceSource::Mounts => FailureCause::MountsRefused,
            _ => FailureCause::MissingDevice,
        },
        RefusalReason::Mount => match () {
            () if loader::has_scattered_compat_libraries(replay) => FailureCause::CompatScattered,
            () if host.wsl => FailureCause::DriverLink,
            () if blocking_firmware_path(replay).is_some() => FailureCause::Firmware,
            () => FailureCause::NoModeset,
        },
    })
}

/// Describes why a container has no GPU, naming the setting to check.
pub(super) fn no_gpu_reason(replay: Replay<'_>) -> String {
    let host = replay.host;
    let env = replay.environment();
    let variable = first_swarm_variable(env, host).unwrap_or(VISIBLE_DEVICES_VARIABLE);
    match no_gpu_cause(replay) {
        Some(FailureCause::LaunchRequestsNone) => "the launch requests none".to_owned(),
        Some(FailureCause::PlainRuntime) => {
            format!("only the NVIDIA runtime reads {variable}")
        }
        Some(FailureCause::ToolkitOff) => "the pool uses no container toolkit (mode `none`)".to_owned(),
        Some(FailureCause::VariableIgnored) => {
            format!("the node ignores {VISIBLE_DEVICES_VARIABLE} in an unprivileged container")
        }
        Some(FailureCause::MountsIgnored) => "the node ignores device lists given as volume mounts".to_owned(),
        Some(FailureCause::Hidden) => {
            let value = env.value(device::CUDA_VISIBLE_DEVICES).unwrap_or_default();
            format!("{}=`{value}` hides all GPUs", device::CUDA_VISIBLE_DEVICES)
        }
        Some(FailureCause::WithoutCompute) => missing_compute_message(replay),
        Some(FailureCause::DriverElsewhere) => {
            format!("LD_LIBRARY_PATH lacks {}, the directory of the driver", loader::GKE_DRIVER_DIRECTORY)
        }
        _ => match device_list_text(env, host) {
            Some(value) => format!("{variable} is `{value}`"),
            None => format!("{variable} is not set"),
        },
    }
}

/// Describes the rule by which a container has no GPU.
#[expect(clippy::unnecessary_wraps, reason = "one signature for every cause")]
pub(super) fn no_gpu_rule(replay: Replay<'_>) -> Option<String> {
    let host = replay.host;
    let env = replay.environment();
    let variable = first_swarm_variable(env, host).unwrap_or(VISIBLE_DEVICES_VARIABLE);
    let launch = host.launch.as_str();
    Some(match no_gpu_cause(replay) {
        Some(FailureCause::LaunchRequestsNone) => {
            format!("with launch method `{launch}`, a container gets only the GPUs that it requests")
        }
        Some(FailureCause::PlainRuntime) => {
            "a container under another runtime gets GPUs only from the device plugin".to_owned()
        }
        Some(FailureCause::ToolkitOff) => {
            "the container toolkit adds the devices and libraries of the driver".to_owned()
        }
        Some(FailureCause::VariableIgnored) => format!("`{}` is off on the node", ToolkitOptions::ACCEPT_ENVVAR),
        Some(FailureCause::MountsIgnored) => format!("`{}` is off on the node", ToolkitOptions::ACCEPT_MOUNTS),
        Some(FailureCause::Hidden) => format!("CUDA uses only the GPUs that {} lists", device::CUDA_VISIBLE_DEVICES),
        Some(FailureCause::WithoutCompute) => {
            "the container toolkit mounts libcuda only for the capabilities compute and video".to_owned()
        }
        Some(FailureCause::DriverElsewhere) => {
            format!("GKE mounts the driver into {} and changes no search path", loader::GKE_DRIVER_DIRECTORY)
        }
        Some(FailureCause::DriverOnly) => format!("`none` in {variable} requests the driver without a GPU"),
        Some(FailureCause::VariableRequestsNone) => {
            format!("{variable} requests no GPU if it is empty or contains `void`")
        }
        _ => format!("with launch method `{launch}`, only {variable} requests GPUs"),
    })
}

/// Describes a capabilities variable that lacks `compute`, so that libcuda is not mounted.
pub(super) fn missing_compute_message(replay: Replay<'_>) -> String {
    let unset = replay.environment().value(NVIDIA_DRIVER_CAPABILITIES).is_none_or(str::is_empty);
    let lacks = if unset { "is not set, and the default lacks" } else { "lacks" };
    let own = match (replay.granted_capabilities(), loader::image_libcuda(replay)) {
        (GrantedCapabilities::Set(set), ImageLibcuda::Driver(..)) if !includes_libcuda(set) => {
            ", and libcuda of the image finds no /dev/nvidia-uvm"
        }
        (GrantedCapabilities::Set(set), ImageLibcuda::Stub) if !includes_libcuda(set) => {
            ", and the image contains a stub of it"
        }
        _ => "",
    };
    format!("{NVIDIA_DRIVER_CAPABILITIES} {lacks} compute, so libcuda is not mounted{own}")
}

/// Returns a note that containers are unprivileged by default; empty if the pool sets `privileged`.
pub(super) fn unprivileged_default_note(host: &Host) -> &'static str {
    if host.privileged.is_some() {
        ""
    } else {
        " (the pool does not set `privileged`; no engine starts privileged containers by default)"
    }
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
