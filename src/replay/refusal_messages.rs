//! Messages about a refused container: its title, the rule behind it, the error that the user sees, and advice.

use crate::cuda::{CudaVersion, DriverCapabilities, DriverCapabilitySyntax, driver_capability_names, is_legacy_image};
use crate::fleet::{DeviceSource, Host, Mode};
use crate::knowledge::ToolkitChange;
use crate::replay::display_names::POOLS_PLACEHOLDER;
use crate::replay::gpu_request::{
    GpuRequestKind, RUNTIME_CDI_PREFIX, VISIBLE_DEVICES_VARIABLE, first_device_with, forbidden_mig_variable,
    resolve_gpu_request,
};
use crate::replay::granted_capabilities::{GrantedCapabilities, NVIDIA_DRIVER_CAPABILITIES, capability_reading};
use crate::replay::mount::{LINK_ARROW, blocking_firmware_path, blocks_wsl_mount};
use crate::replay::{RefusalReason, Replay, loader, requirement, user_mode};

/// Name of the command-line tool that reports errors in legacy mode.
const CLI: &str = "nvidia-container-cli";

/// Returns a title for the reason why the container is refused.
pub(super) fn refusal_title(replay: Replay<'_>, reason: Option<RefusalReason>, driver: &str) -> String {
    match reason {
        Some(RefusalReason::Requirement) => match requirement::refused_requirement(replay).condition {
            Some(term) => format!("{term} is not satisfied by {driver}"),
            None => format!("NVIDIA_REQUIRE_* is not satisfied by {driver}"),
        },
        Some(RefusalReason::MalformedRequirement) => "NVIDIA_REQUIRE_* or CUDA_VERSION is malformed".to_owned(),
        Some(RefusalReason::Capability) => {
            let value = replay.environment().value(NVIDIA_DRIVER_CAPABILITIES).unwrap_or_default();
            format!("{NVIDIA_DRIVER_CAPABILITIES}=`{value}` contains an unsupported capability")
        }
        Some(RefusalReason::Device) => device_refusal_title(replay),
        Some(RefusalReason::Mount) if loader::has_scattered_compat_libraries(replay) => {
            "cuda-compat is in several directories".to_owned()
        }
        Some(RefusalReason::Mount) if replay.host.wsl => "a driver library of the image blocks a mount".to_owned(),
        Some(RefusalReason::Mount) if blocking_firmware_path(replay).is_some() => {
            "driver firmware of the image blocks a mount".to_owned()
        }
        Some(RefusalReason::Mount) => "the node has no /dev/nvidia-modeset".to_owned(),
        Some(RefusalReason::Hook) => "`--gpus` does not work with this toolkit mode".to_owned(),
        None => "a setup step of the container toolkit fails".to_owned(),
    }
}

/// Returns a title for a container that is refused because of its device request.
fn device_refusal_title(replay: Replay<'_>) -> String {
    let host = replay.host;
    let env = replay.environment();
    if resolve_gpu_request(env, host).kind == GpuRequestKind::Forbidden {
        return format!("{VISIBLE_DEVICES_VARIABLE} is not allowed in an unprivileged container");
    }
    match forbidden_mig_variable(env, host) {
        Some(name) => format!("{name} is not allowed in an unprivileged container"),
        None if resolve_gpu_request(env, host).kind == GpuRequestKind::Mixed => {
            format!("{VISIBLE_DEVICES_VARIABLE} mixes two kinds of device names")
        }
        None => format!("the node has no GPU `{}`", first_device_with(env, host, Some(false)).unwrap_or_default()),
    }
}

/// Returns the minimum CUDA release that an unsatisfied condition requires.
fn required_cuda(replay: Replay<'_>) -> Option<CudaVersion> {
    let condition = requirement::refused_requirement(replay).condition?;
    condition.replace(' ', "").strip_prefix("cuda>=")?.parse().ok()
}

/// Returns the rule of the container toolkit behind a refusal.
pub(super) fn refusal_rule(replay: Replay<'_>, reason: Option<RefusalReason>, several: bool) -> Option<String> {
    Some(match reason? {
        RefusalReason::Requirement => match (required_cuda(replay), replay.host.driver_cuda) {
            (Some(_), Some(cuda)) if !several => {
                format!("the toolkit compares NVIDIA_REQUIRE_* with the CUDA version of the driver, which is {cuda}")
            }
            (Some(_), _) => "the toolkit compares NVIDIA_REQUIRE_* with the CUDA version of the driver".to_owned(),
            _ => "the toolkit checks every condition in NVIDIA_REQUIRE_* before it starts a container".to_owned(),
        },
        RefusalReason::MalformedRequirement => "the toolkit stops at a requirement that it cannot parse".to_owned(),
        RefusalReason::Capability => {
            "the toolkit accepts only the capabilities that it supports and its settings allow".to_owned()
        }
        RefusalReason::Device => "every device in the request must exist on the node and be allowed there".to_owned(),
        RefusalReason::Mount => "the toolkit mounts every requested file of the driver, or stops".to_owned(),
        RefusalReason::Hook => "the hook of `--gpus` supports only the legacy mode of the toolkit".to_owned(),
    })
}

/// Returns advice for satisfying a requirement on the node.
pub(super) fn refusal_help(replay: Replay<'_>, several: bool) -> Option<String> {
    let required = required_cuda(replay)?;
    let branch = replay.knowledge.driver_branches().iter().find(|row| row.cuda.release() >= required.release())?.branch;
    let image = match replay.host.driver_cuda.filter(|_| !several) {
        Some(cuda) => format!("that requires CUDA {cuda} or older"),
        None => "with an older CUDA release".to_owned(),
    };
    let own = user_mode::is_jetson(replay) || replay.host.wsl;
    Some(if own {
        format!("use an image {image}")
    } else {
        format!("upgrade the driver of {POOLS_PLACEHOLDER} to branch {branch} or newer, or use an image {image}")
    })
}

/// Returns the error message of a refused container, as the user sees it.
pub(super) fn refusal_message(replay: Replay<'_>, reason: Option<RefusalReason>) -> String {
    match reason {
        Some(RefusalReason::Requirement | RefusalReason::MalformedRequirement) => {
            requirement::refused_requirement(replay).message
        }
        Some(RefusalReason::Capability) => capability_message(replay),
        Some(RefusalReason::Device) => device_message(replay),
        Some(RefusalReason::Mount) => mount_message(replay),
        Some(RefusalReason::Hook) => {
            let plain = replay.host.behaviour.changes.contains(ToolkitChange::HookPlainError);
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

/// Returns the error message for an unsupported driver capability.
pub(super) fn capability_message(replay: Replay<'_>) -> String {
    let env = replay.environment();
    let value = env.value("NVIDIA_DRIVER_CAPABILITIES").unwrap_or_default();
    let host = replay.host;
    if host.devices == DeviceSource::Enroot {
        let known = |word: &&str| *word != "ngx" && *word != "all" && DriverCapabilities::parse(word).is_some();
        let mut words = value.split([',', ' ']).filter(|word| !word.is_empty());
        return format!("Unknown NVIDIA driver capability: {}", words.find(|word| !known(word)).unwrap_or_default());
    }
    let supported = host.options.supported;
    match capability_reading(host) {
        // The remaining words are joined in the order of the request.
        DriverCapabilitySyntax::Text => {
            let words = value.split(',').map(str::trim);
            let allowed: Vec<&str> = words.filter(|word| supported.contains(word)).collect();
            format!("unsupported capabilities found in '{value}' (allowed '{}')", allowed.join(","))
        }
        // The first word that it does not know, as it is written.
        DriverCapabilitySyntax::Words => {
            let word = value.split(',').find(|word| !DriverCapabilities::NAMES.contains(word));
            format!("unknown driver capability: {}", word.unwrap_or_default())
        }
        DriverCapabilitySyntax::Set => {
            match driver_capability_names(Some(value), is_legacy_image(&env), &host.options.supported_text) {
                Err(error) => error.to_string(),
                Ok(_) => "unsupported capabilities found in NVIDIA_DRIVER_CAPABILITIES".to_owned(),
            }
        }
    }
}

/// Returns the error message for a device that cannot be added to the container.
fn device_message(replay: Replay<'_>) -> String {
    let host = replay.host;
    let env = replay.environment();
    if resolve_gpu_request(env, host).kind == GpuRequestKind::Forbidden {
        return format!("insufficient privileges to read device list from {VISIBLE_DEVICES_VARIABLE} envvar");
    }
    if let Some(name) = forbidden_mig_variable(env, host) {
        let name = name.trim_start_matches("NVIDIA_");
        return format!("cannot set {name} in non privileged container");
    }
    if resolve_gpu_request(env, host).kind == GpuRequestKind::Mixed {
        return "requesting a CDI device with vendor 'runtime.nvidia.com' is not supported when requesting other CDI \
            devices"
            .to_owned();
    }
    let name = first_device_with(env, host, Some(false)).unwrap_or_default();
    match host.mode {
        Mode::Cdi => format!("unresolvable CDI devices {}", qualified_device_name(&name, host)),
        Mode::JitCdi if !host.behaviour.changes.contains(ToolkitChange::NoneInJitCdi) => {
            format!(
                "unresolvable CDI devices {}",
                if crate::cuda::is_cdi_name(&name) { name } else { format!("{RUNTIME_CDI_PREFIX}{name}") }
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

/// Returns a device name with the CDI vendor and class in front.
fn qualified_device_name(name: &str, host: &Host) -> String {
    let named = host.behaviour.changes.contains(ToolkitChange::NoneInJitCdi);
    match name {
        "none" if !named => "nvidia.com/gpu=".to_owned(),
        _ if crate::cuda::is_cdi_name(name) => name.to_owned(),
        _ => format!("nvidia.com/gpu={name}"),
    }
}

/// Returns the error message for a driver file that cannot be mounted.
fn mount_message(replay: Replay<'_>) -> String {
    if loader::has_scattered_compat_libraries(replay) {
        return "the cuda-compat libraries that are newer than the driver are in several directories".to_owned();
    }
    if let Some(path) = blocking_firmware_path(replay).filter(|_| !replay.host.wsl) {
        return match path.split_once(LINK_ARROW) {
            Some((path, _)) => format!("{CLI}: mount error: path error: ...{path} resolves outside of the container"),
            None => format!("{CLI}: mount error: path error: ...{path}/gsp_*.bin: not a directory"),
        };
    }
    if !replay.host.wsl {
        return format!("{CLI}: mount error: stat failed: /dev/nvidia-modeset: no such file or directory");
    }
    let GrantedCapabilities::Set(set) = replay.granted_capabilities() else { return format!("{CLI}: mount error") };
    let libraries = replay.image.driver_libraries.known();
    let library = libraries.into_iter().flatten().find(|library| blocks_wsl_mount(library, set));
    let path = match library {
        Some(library) if !library.is_package() => library.path.as_str(),
        _ if set.contains("utility") => "/libnvidia-ml.so.1",
        _ => "/libcuda.so.1",
    };
    // The path of the container's files on the host stands before it.
    format!("{CLI}: mount error: file creation failed: ...{path}: file exists")
}
