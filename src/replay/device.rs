//! The devices and capabilities steps: whether a GPU and the driver's compute libraries are added to the container.

use crate::cuda::{DriverCapabilities, DriverCapabilitySyntax, EnvironmentVariables as _};
use crate::fleet::{DeviceSource, Host, Mode, PoolEntry, PoolField, ToolkitOptions};
use crate::knowledge::ToolkitChange;
use crate::model::outcome::Outcome;
use crate::replay::environment::ContainerEnv;
use crate::replay::gpu_request::{
    GpuRequest, GpuRequestKind, forbidden_mig_variable, max_gpu_count, reads_value_verbatim, resolve_gpu_request,
    uses_container_toolkit,
};
use crate::replay::granted_capabilities::{
    GrantedCapabilities, NVIDIA_DRIVER_CAPABILITIES, capability_reading, includes_libcuda,
};
use crate::replay::loader::ImageLibcuda;
use crate::replay::{
    Basis, Citation, CudaErrorCodes, RefusalReason, Replay, ReplayFailure, StartRoute, StartStep, StepRecord,
    StepResult, libraries, loader, mount, requirement,
};

/// Citation for the rules for device requests.
const DEVICE_REQUEST_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.20.0, internal/config/image/cuda_image.go and internal/modifier; moby docker-v29.2.0, daemon/devices_nvidia_linux.go; k8s-device-plugin 1b826ac, internal/plugin/server.go",
);
/// Citation for the rule that the hook of `--gpus` needs the legacy mode.
const LEGACY_MODE_HOOK_CITATION: Citation =
    Citation("nvidia-container-toolkit v1.20.0, cmd/nvidia-container-runtime-hook/hook_config.go, assertModeIsLegacy");
/// Citation for the rules of enroot.
const ENROOT_CITATION: Citation = Citation("enroot v4.1.2, conf/hooks/98-nvidia.sh");
/// Citation for the rules for driver capabilities.
const CAPABILITIES_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.20.0, cmd/nvidia-container-runtime-hook/container_config.go and internal/config/image/capabilities.go; libnvidia-container v1.20.0 (3e42819), src/options.h",
);

/// Citation for toolkits that compare the capabilities as a string.
const CAPABILITIES_AS_TEXT_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.13.5, cmd/nvidia-container-runtime-hook/container_config.go and capabilities.go: the value is compared as a string",
);
/// Citation for toolkits that read the capabilities one by one.
const CAPABILITIES_BY_NAME_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.6.0, cmd/nvidia-container-toolkit/container_config.go, main.go and capabilities.go",
);
/// Citation for toolkits that pass the device list on unchanged.
const UNCHANGED_DEVICE_LIST_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.11.0, internal/config/image/cuda_image.go, DevicesFromEnvvars; libnvidia-container 1aea987, src/cli/common.c, select_devices",
);
/// Citation for the rule that refuses the device variable in an unprivileged container.
const FORBIDDEN_REQUEST_CITATION: Citation =
    Citation("nvidia-container-toolkit v1.4.0, pkg/container_config.go, getDevices");

/// Citation for the rules for `CUDA_VISIBLE_DEVICES`.
const CUDA_VISIBLE_DEVICES_CITATION: Citation =
    Citation("CUDA C++ Programming Guide 13.4, CUDA Environment Variables: CUDA_VISIBLE_DEVICES");

/// Citation for the rule that adds `/dev/nvidia-uvm` only for the compute capability.
const UVM_DEVICE_CITATION: Citation = Citation(
    "libnvidia-container 077f498, src/nvc_mount.c, nvc_driver_mount: without compute no device but those of the driver's own major number, so no /dev/nvidia-uvm",
);

/// Variable by which the CUDA runtime selects the visible GPUs.
pub(super) const CUDA_VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// Replays the devices step: whether GPUs are added to the container.
pub(super) fn devices_step(replay: Replay<'_>) -> StepRecord {
    let host = replay.host;
    let env = replay.environment();
    let GpuRequest { kind, facts } = replay.container_request();
    let cite = match kind {
        GpuRequestKind::Forbidden => FORBIDDEN_REQUEST_CITATION,
        _ if host.devices == DeviceSource::Enroot => ENROOT_CITATION,
        _ if reads_value_verbatim(host) => UNCHANGED_DEVICE_LIST_CITATION,
        _ => DEVICE_REQUEST_CITATION,
    };
    let record = |result| StepRecord::new(StartStep::Devices, result, facts.into_iter().flatten(), cite);
    let wrong_mode = host.devices == DeviceSource::Hook && host.mode != Mode::Legacy;
    let reads_first = host.behaviour.changes.contains(ToolkitChange::HookReadsFirst);
    let by_mode = || {
        let result = StepResult::Stops(ReplayFailure::refused(RefusalReason::Hook));
        let fields = [PoolField::Launch, PoolField::Mode, PoolField::Gpu].map(Basis::Pool);
        let option = Basis::Entry(PoolEntry::Option(ToolkitOptions::MODE));
        StepRecord::new(StartStep::Devices, result, fields.into_iter().chain([option]), LEGACY_MODE_HOOK_CITATION)
    };
    if wrong_mode && !reads_first {
        return by_mode();
    }
    if let Some(name) =
        forbidden_mig_variable(env, host).filter(|_| uses_container_toolkit(kind) && kind != GpuRequestKind::Forbidden)
    {
        let result = StepResult::Stops(ReplayFailure::refused(RefusalReason::Device));
        return StepRecord::new(
            StartStep::Devices,
            result,
            [env.basis(name), Basis::Pool(PoolField::Privileged)],
            CAPABILITIES_CITATION,
        );
    }
    // The hook ignores its mode if no GPU is requested, and reads the capabilities before it.
    if wrong_mode && uses_container_toolkit(kind) {
        if !has_refused_capabilities(replay) {
            return by_mode();
        }
        let result = StepResult::Stops(ReplayFailure::refused(RefusalReason::Capability));
        return StepRecord::new(
            StartStep::Devices,
            result,
            [env.basis(NVIDIA_DRIVER_CAPABILITIES), Basis::Pool(PoolField::Mode)],
            CAPABILITIES_CITATION,
        );
    }
    match visible_gpus(env, host) {
        Some(VisibleGpus::None) if !is_stopped_later(replay) && !is_stub_loaded(replay) => {
            let result = StepResult::Stops(ReplayFailure::new(Outcome::NoGpu, CudaErrorCodes::certain(100)));
            return StepRecord::new(
                StartStep::Devices,
                result,
                [env.basis(CUDA_VISIBLE_DEVICES)],
                CUDA_VISIBLE_DEVICES_CITATION,
            );
        }
        Some(VisibleGpus::Unknown) => {
            let facts = [env.basis(CUDA_VISIBLE_DEVICES), Basis::Pool(PoolField::Gpu)];
            return StepRecord::new(StartStep::Devices, StepResult::Unknown, facts, CUDA_VISIBLE_DEVICES_CITATION);
        }
        Some(VisibleGpus::None | VisibleGpus::Some) | None => {}
    }
    if let Some(missing) = env.unknown_set_variable(CUDA_VISIBLE_DEVICES).filter(|_| kind == GpuRequestKind::Gpus) {
        return StepRecord::new(StartStep::Devices, StepResult::Unknown, [missing], CUDA_VISIBLE_DEVICES_CITATION);
    }
    if kind == GpuRequestKind::Nothing {
        let (result, library) = result_without_devices(replay);
        return StepRecord::new(StartStep::Devices, result, facts.into_iter().flatten().chain(library), cite);
    }
    record(match kind {
        GpuRequestKind::Gpus => StepResult::Passes(StartRoute::Native),
        GpuRequestKind::UnknownVariable | GpuRequestKind::UnknownDevice => StepResult::Unknown,
        // No driver library is mounted either; that case was handled above.
        GpuRequestKind::Nothing => StepResult::NotApplicable,
        // Words that are no capability stop the hook before anybody looks for the device.
        GpuRequestKind::Missing | GpuRequestKind::Mixed
            if replay.granted_capabilities() == GrantedCapabilities::Refused =>
        {
            StepResult::Passes(StartRoute::Native)
        }
        // For a forbidden request the hook fails before it reads anything else.
        GpuRequestKind::Forbidden | GpuRequestKind::Missing | GpuRequestKind::Mixed => {
            StepResult::Stops(ReplayFailure::refused(RefusalReason::Device))
        }
        // The program runs into it; what keeps the container from being created comes first.
        GpuRequestKind::DriverOnly if is_stopped_later(replay) || is_stub_loaded(replay) => {
            StepResult::Passes(StartRoute::Native)
        }
        GpuRequestKind::DriverOnly => {
            StepResult::Stops(ReplayFailure::new(Outcome::NoGpu, CudaErrorCodes::certain(100)))
        }
    })
}

/// Returns the result of a program that gets neither a device nor a library of the host. With a libcuda of the image
/// the error is that there is no device, without one that there is no driver. A stub that the loader finds, or a
/// library that it does not find, is reported by another step.
fn result_without_devices(replay: Replay<'_>) -> (StepResult, Option<Basis>) {
    if libraries::stops_in_loader(replay) {
        return (StepResult::NotApplicable, None);
    }
    let (codes, library) = match loader::image_libcuda(replay) {
        ImageLibcuda::Nothing => (CudaErrorCodes::certain(35), None),
        ImageLibcuda::Stub => return (StepResult::NotApplicable, None),
        ImageLibcuda::Driver(_, library) => (CudaErrorCodes::certain(100), Some(library)),
        ImageLibcuda::Open(missing) => (CudaErrorCodes::possible(&[34, 35, 100]), Some(missing)),
    };
    (StepResult::Stops(ReplayFailure::new(Outcome::NoGpu, codes)), library)
}

/// Returns the result of a program that gets devices, but neither the driver's compute libraries nor
/// `/dev/nvidia-uvm`.
fn result_without_compute(replay: Replay<'_>) -> (StepResult, Option<Basis>) {
    let (codes, library) = match loader::image_libcuda(replay) {
        ImageLibcuda::Nothing => (CudaErrorCodes::certain(35), None),
        ImageLibcuda::Stub => return (StepResult::NotApplicable, None),
        // A libcuda of the same version works if the user adds that device in another way, which is unknown.
        ImageLibcuda::Driver(own, library)
            if own.is_none() || replay.host.driver.is_none() || own == replay.host.driver =>
        {
            return (StepResult::Unknown, Some(library));
        }
        ImageLibcuda::Driver(_, library) => (CudaErrorCodes::possible(&[100, 803, 999]), Some(library)),
        ImageLibcuda::Open(missing) => return (StepResult::Unknown, Some(missing)),
    };
    (StepResult::Stops(ReplayFailure::new(Outcome::NoGpu, codes)), library)
}

/// Returns which GPUs `CUDA_VISIBLE_DEVICES` leaves visible; `None` if it is not set, or the container has no GPU.
fn visible_gpus(env: ContainerEnv<'_>, host: &Host) -> Option<VisibleGpus> {
    let value =
        env.get(CUDA_VISIBLE_DEVICES).filter(|_| resolve_gpu_request(env, host).kind == GpuRequestKind::Gpus)?;
    Some(VisibleGpus::from_value(value, max_gpu_count(env, host)))
}

/// Returns the device in `CUDA_VISIBLE_DEVICES` of which it is unknown whether the container has it.
pub(super) fn unknown_visible_device<'a>(env: ContainerEnv<'a>, host: &Host) -> Option<&'a str> {
    let value = env.value(CUDA_VISIBLE_DEVICES).filter(|_| visible_gpus(env, host) == Some(VisibleGpus::Unknown))?;
    Some(value.split(',').next().unwrap_or(value).trim())
}

/// Which GPUs of a container `CUDA_VISIBLE_DEVICES` leaves visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VisibleGpus {
    /// None.
    None,
    /// At least one.
    Some,
    /// Unknown: the first entry names a GPU that may be absent.
    Unknown,
}

impl VisibleGpus {
    /// Reads the first entry, which decides: a number below the count of GPUs, or an identifier with a known prefix.
    fn from_value(value: &str, at_most: Option<usize>) -> Self {
        let first = value.split(',').next().unwrap_or(value).trim();
        let named = IDENTIFIER_PREFIXES
            .iter()
            .any(|prefix| first.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)));
        if named {
            return Self::Unknown;
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
            (_, None) => Self::Unknown,
        }
    }
}

/// Prefixes of the identifiers of GPUs and MIG devices.
const IDENTIFIER_PREFIXES: [&str; 2] = ["GPU-", "MIG-"];

/// Whether a container without devices stops at its capabilities or requirements, or its program in the loader.
fn is_stopped_later(replay: Replay<'_>) -> bool {
    let without_libcuda = match replay.granted_capabilities() {
        GrantedCapabilities::Refused => true,
        GrantedCapabilities::Set(set) => !includes_libcuda(set),
        GrantedCapabilities::NotRead | GrantedCapabilities::Unknown(_) => false,
    };
    without_libcuda || is_refused_later(replay) || libraries::stops_in_loader(replay)
}

/// Whether programs load a stub of libcuda, which uses no device.
fn is_stub_loaded(replay: Replay<'_>) -> bool {
    matches!(loader::loader_step(replay).1.result, StepResult::Stops(failure) if failure.outcome() == Outcome::StubLibrary)
}

/// Whether the container is refused because of its requirements or mounts.
fn is_refused_later(replay: Replay<'_>) -> bool {
    requirement::refuses_container(replay) || matches!(mount::mount_step(replay).result, StepResult::Stops(_))
}

/// Whether the hook refuses the value of `NVIDIA_DRIVER_CAPABILITIES`, whatever else the image sets.
fn has_refused_capabilities(replay: Replay<'_>) -> bool {
    let value = replay.environment().value(NVIDIA_DRIVER_CAPABILITIES);
    let (default, supported) = (replay.host.behaviour.default_capabilities, replay.host.options.supported);
    DriverCapabilities::granted_by_syntax(capability_reading(replay.host), value, false, default, supported).is_none()
}

/// Replays the capabilities step: whether the driver's compute libraries are added to the container.
pub(super) fn capabilities_step(replay: Replay<'_>) -> StepRecord {
    let env = replay.environment();
    let cite = match capability_reading(replay.host) {
        _ if replay.host.devices == DeviceSource::Enroot => ENROOT_CITATION,
        _ if replay.host.toolkit.is_none() => CAPABILITIES_CITATION,
        DriverCapabilitySyntax::Set => CAPABILITIES_CITATION,
        DriverCapabilitySyntax::Text => CAPABILITIES_AS_TEXT_CITATION,
        DriverCapabilitySyntax::Words => CAPABILITIES_BY_NAME_CITATION,
    };
    let decided = [
        env.basis(NVIDIA_DRIVER_CAPABILITIES),
        Basis::Pool(PoolField::Toolkit),
        Basis::Entry(PoolEntry::Option(ToolkitOptions::SUPPORTED_CAPABILITIES)),
    ];
    let result = match replay.granted_capabilities() {
        GrantedCapabilities::NotRead => {
            let facts = [Basis::Pool(PoolField::Mode)];
            return StepRecord::new(StartStep::Capabilities, StepResult::NotApplicable, facts, cite);
        }
        GrantedCapabilities::Unknown(missing) => {
            return StepRecord::new(StartStep::Capabilities, StepResult::Unknown, [missing], cite);
        }
        GrantedCapabilities::Refused => StepResult::Stops(ReplayFailure::refused(RefusalReason::Capability)),
        GrantedCapabilities::Set(set) if includes_libcuda(set) => StepResult::Passes(StartRoute::Native),
        // Libcuda is not mounted, unless the container is not created or the loader needs it first.
        GrantedCapabilities::Set(_) if is_refused_later(replay) || libraries::stops_in_loader(replay) => {
            StepResult::Passes(StartRoute::Native)
        }
        GrantedCapabilities::Set(_) => {
            let (result, library) = result_without_compute(replay);
            let facts = decided.into_iter().chain(library);
            return StepRecord::new(
                StartStep::Capabilities,
                result,
                facts,
                if library.is_some() { UVM_DEVICE_CITATION } else { cite },
            );
        }
    };
    StepRecord::new(StartStep::Capabilities, result, decided, cite)
}

#[cfg(test)]
#[path = "device_hook_tests.rs"]
mod hook_tests;
#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
