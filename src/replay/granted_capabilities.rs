//! The driver capabilities that a container gets, and the driver libraries that they include.

use crate::cuda::{DriverCapabilities, DriverCapabilitySyntax, is_legacy_image};
use crate::fleet::{DeviceSource, Host, Mode};
use crate::knowledge::ToolkitChange;
use crate::model::fact::ImageFacts;
use crate::replay::Basis;
use crate::replay::environment::ContainerEnv;
use crate::replay::gpu_request::{GpuRequestKind, uses_container_toolkit};

/// Variable that requests driver capabilities.
pub(super) const NVIDIA_DRIVER_CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";

/// The driver capabilities that a container gets.
#[derive(Clone, Copy, Debug)]
pub(super) enum GrantedCapabilities {
    /// The variable is not read.
    NotRead,
    /// Unknown, because this fact is missing.
    Unknown(Basis),
    /// The container is not created.
    Refused,
    /// These capabilities.
    Set(DriverCapabilities),
}

impl PartialEq for GrantedCapabilities {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::NotRead, Self::NotRead) | (Self::Refused, Self::Refused) | (Self::Unknown(_), Self::Unknown(_)) => {
                true
            }
            (Self::Set(one), Self::Set(other)) => one == other,
            _ => false,
        }
    }
}

/// Returns how the container toolkit of a host reads `NVIDIA_DRIVER_CAPABILITIES`.
pub(super) fn capability_reading(host: &Host) -> DriverCapabilitySyntax {
    if host.behaviour.changes.contains(ToolkitChange::CapabilitySet) {
        DriverCapabilitySyntax::Set
    } else if host.behaviour.changes.contains(ToolkitChange::CapabilityList) {
        DriverCapabilitySyntax::Text
    } else {
        DriverCapabilitySyntax::Words
    }
}

/// Returns the driver capabilities that a container gets with a device request; unknown only where that affects one
/// capability. Only legacy mode reads the variable.
pub(super) fn resolve_capabilities(
    env: ContainerEnv<'_>,
    host: &Host,
    request: GpuRequestKind,
    capability: &str,
) -> GrantedCapabilities {
    if host.mode != Mode::Legacy || !uses_container_toolkit(request) {
        return GrantedCapabilities::NotRead;
    }
    if let Some(missing) = env.unknown_variable(NVIDIA_DRIVER_CAPABILITIES) {
        return GrantedCapabilities::Unknown(missing);
    }
    let value = env.value(NVIDIA_DRIVER_CAPABILITIES);
    if host.devices == DeviceSource::Enroot {
        return enroot_capabilities(value).map_or(GrantedCapabilities::Refused, GrantedCapabilities::Set);
    }
    let (default, supported) = (host.behaviour.default_capabilities, host.options.supported);
    let set =
        |legacy| DriverCapabilities::granted_by_syntax(capability_reading(host), value, legacy, default, supported);
    let found = |legacy| set(legacy).map_or(GrantedCapabilities::Refused, GrantedCapabilities::Set);
    let includes = |legacy| set(legacy).map(|set| includes_libraries(set, capability));
    match env.missing_legacy_fact() {
        // A legacy image gets more; often that makes no difference here.
        Some(missing) if includes(true) != includes(false) => GrantedCapabilities::Unknown(missing),
        Some(_) => found(false),
        None => found(is_legacy_image(&env)),
    }
}

/// Returns the capabilities that enroot grants: only utility by default; it does not support `ngx`.
fn enroot_capabilities(value: Option<&str>) -> Option<DriverCapabilities> {
    let value = value.filter(|value| !value.is_empty()).unwrap_or("utility");
    let mut words = value.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
    // It reads up to the first `all`.
    let ends = words.clone().position(|word| word == "all");
    let known = |word: &str| word != "ngx" && DriverCapabilities::NAMES.contains(&word);
    let read = words.clone().take(ends.unwrap_or(usize::MAX));
    if !read.clone().all(known) {
        return None;
    }
    if ends.is_some() {
        return DriverCapabilities::parse("compat32,compute,display,graphics,utility,video");
    }
    words.try_fold(DriverCapabilities::default(), |set, word| Some(set.union(DriverCapabilities::parse(word)?)))
}

/// Whether the image itself sets driver capabilities, and none of them includes libcuda.
pub(super) fn requests_no_libcuda(image: &ImageFacts) -> bool {
    let named = image.env.get(NVIDIA_DRIVER_CAPABILITIES).known().filter(|value| !value.is_empty() && *value != "all");
    named.and_then(|value| DriverCapabilities::parse(value)).is_some_and(|set| !includes_libcuda(set))
}

/// Whether a set of capabilities includes libcuda, as compute and video do.
pub(super) fn includes_libcuda(set: DriverCapabilities) -> bool {
    includes_libraries(set, "compute")
}

/// Whether a set includes the libraries of a capability; video includes those of compute, display those of graphics.
pub(super) fn includes_libraries(set: DriverCapabilities, capability: &str) -> bool {
    let with = match capability {
        "compute" => "video",
        "graphics" => "display",
        _ => capability,
    };
    set.contains(capability) || set.contains(with)
}
