//! Which devices and driver capabilities the environment of a container asks for.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use thiserror::Error;

use crate::cuda::image_requirements::is_legacy_image;

/// The devices of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisibleDevices {
    /// Nothing is injected: no GPU and no driver files.
    Nothing,
    /// Driver files without a GPU (`none`).
    DriverOnly,
    /// Every GPU.
    All,
    /// These: indexes, UUIDs or fully qualified CDI names, in order, without doubles.
    Listed(Vec<String>),
}

impl VisibleDevices {
    /// Whether all are fully qualified CDI names (`vendor/class=name`), so that the toolkit takes its cdi mode.
    pub fn only_cdi_names(&self) -> bool {
        matches!(self, Self::Listed(names) if names.iter().all(|name| is_cdi_name(name)))
    }
}

fn is_cdi_name(name: &str) -> bool {
    let parts = name.split_once('=').and_then(|(kind, device)| Some((kind.split_once('/')?, device)));
    parts.is_some_and(|((vendor, class), device)| !vendor.is_empty() && !class.is_empty() && !device.is_empty())
}

/// What `NVIDIA_VISIBLE_DEVICES` asks for; `value` is none where it is unset.
pub fn visible_devices(value: Option<&str>, legacy_image: bool) -> VisibleDevices {
    let Some(value) = value else {
        return if legacy_image { VisibleDevices::All } else { VisibleDevices::Nothing };
    };
    let mut names: Vec<String> = Vec::new();
    for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() || names.iter().any(|name| name == "void") {
        return VisibleDevices::Nothing;
    }
    match names.iter().find(|name| matches!(name.as_str(), "all" | "none")).map(String::as_str) {
        Some("all") => VisibleDevices::All,
        Some(_) => VisibleDevices::DriverOnly,
        None => VisibleDevices::Listed(names),
    }
}

/// What an environment asks for; variables of `preferred` that are set stand in for `NVIDIA_VISIBLE_DEVICES`.
pub fn visible_devices_of(env: &BTreeMap<String, String>, preferred: &[&str]) -> VisibleDevices {
    let legacy = is_legacy_image(env);
    let stand_ins: Vec<&str> = preferred.iter().filter_map(|name| env.get(*name)).map(String::as_str).collect();
    if stand_ins.is_empty() {
        return visible_devices(env.get("NVIDIA_VISIBLE_DEVICES").map(String::as_str), legacy);
    }
    visible_devices(Some(&stand_ins.join(",")), legacy)
}

/// All driver capabilities, in alphabetical order.
pub const SUPPORTED_CAPABILITIES: &str = "compat32,compute,display,graphics,ngx,utility,video";

/// What a container gets that asks for none.
pub const DEFAULT_CAPABILITIES: &str = "compute,utility";

/// Capabilities that the host does not give: the container is not created.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unsupported capabilities found in '{requested}' (allowed '{allowed}')")]
pub struct UnsupportedCapabilities {
    /// Alphabetical, with commas.
    pub requested: String,
    /// Those of them that the host gives.
    pub allowed: String,
}

/// The words of a list of capabilities, alphabetical; blanks around them do not count.
pub fn capability_list(value: &str) -> BTreeSet<String> {
    value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The requested capabilities that are supported; `all` requests every supported one.
pub fn intersect_capabilities(requested: &str, supported: &str) -> BTreeSet<String> {
    let (requested, supported) = (capability_list(requested), capability_list(supported));
    if requested.contains("all") {
        return supported;
    }
    if supported.contains("all") {
        return requested;
    }
    requested.intersection(&supported).cloned().collect()
}

/// What `NVIDIA_DRIVER_CAPABILITIES` asks for; `value` is none where it is unset, `supported` is what the host gives.
pub fn driver_capabilities(
    value: Option<&str>,
    legacy_image: bool,
    supported: &str,
) -> Result<BTreeSet<String>, UnsupportedCapabilities> {
    let value = match value {
        None if legacy_image => "all",
        None => "",
        Some(value) => value,
    };
    let mut requested = capability_list(value);
    if requested.contains("all") {
        return Ok(capability_list(supported));
    }
    if requested.is_empty() {
        requested = intersect_capabilities(DEFAULT_CAPABILITIES, supported);
    }
    let joined = |words: &BTreeSet<String>| words.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let allowed = intersect_capabilities(&joined(&requested), supported);
    if allowed.len() == requested.len() {
        return Ok(allowed);
    }
    Err(UnsupportedCapabilities { requested: joined(&requested), allowed: joined(&allowed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_capability_is_refused_in_alphabetical_order() {
        let error = driver_capabilities(Some("foo, compute"), false, SUPPORTED_CAPABILITIES).expect_err("unknown word");
        assert_eq!(error.to_string(), "unsupported capabilities found in 'compute,foo' (allowed 'compute')");
        assert!(driver_capabilities(Some("none"), false, SUPPORTED_CAPABILITIES).is_err());
    }
}
