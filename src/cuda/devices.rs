//! The devices and driver capabilities that the environment of a container requests.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::cuda::environment::EnvironmentVariables;
use crate::cuda::image_requirements::is_legacy_image;

/// The devices that a container requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisibleDevices {
    /// Nothing is injected: no GPU and no driver files.
    Nothing,
    /// Driver files without a GPU (`none`).
    DriverOnly,
    /// Every GPU.
    All,
    /// A list of indexes, UUIDs or fully qualified CDI names, in order and without duplicates.
    Listed(Vec<String>),
}

impl VisibleDevices {
    /// Whether all devices are fully qualified CDI names (`vendor/class=name`), so that the toolkit selects its cdi
    /// mode.
    pub fn are_all_cdi_names(&self) -> bool {
        matches!(self, Self::Listed(names) if names.iter().all(|name| is_cdi_name(name)))
    }
}

/// Whether a device is a fully qualified CDI name: `vendor/class=name`.
pub fn is_cdi_name(name: &str) -> bool {
    let parts = name.split_once('=').and_then(|(kind, device)| Some((kind.split_once('/')?, device)));
    parts.is_some_and(|((vendor, class), device)| !vendor.is_empty() && !class.is_empty() && !device.is_empty())
}

/// Returns the devices in a comma-separated list, trimmed and without empty ones.
pub fn device_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The kind of devices that `NVIDIA_VISIBLE_DEVICES` requests, without the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceRequest {
    /// Nothing is injected.
    Nothing,
    /// Driver files without a GPU.
    DriverOnly,
    /// Every GPU.
    All,
    /// The listed GPUs.
    Listed,
}

/// Returns the kind of devices that `NVIDIA_VISIBLE_DEVICES` requests; `value` is `None` if it is unset.
pub fn device_request(value: Option<&str>, legacy_image: bool) -> DeviceRequest {
    let Some(value) = value else {
        return if legacy_image { DeviceRequest::All } else { DeviceRequest::Nothing };
    };
    if device_names(value).next().is_none() || device_names(value).any(|name| name == "void") {
        return DeviceRequest::Nothing;
    }
    match device_names(value).find(|name| matches!(*name, "all" | "none")) {
        Some("all") => DeviceRequest::All,
        Some(_) => DeviceRequest::DriverOnly,
        None => DeviceRequest::Listed,
    }
}

/// Returns the device request of older toolkits, which recognise the special values only as the whole value.
pub fn old_toolkit_device_request(value: Option<&str>, legacy_image: bool) -> DeviceRequest {
    match value {
        None if legacy_image => DeviceRequest::All,
        None | Some("" | "void") => DeviceRequest::Nothing,
        Some("none") => DeviceRequest::DriverOnly,
        Some("all") => DeviceRequest::All,
        Some(commas) if commas.bytes().all(|byte| byte == b',') => DeviceRequest::DriverOnly,
        Some(_) => DeviceRequest::Listed,
    }
}

/// Returns the devices that `NVIDIA_VISIBLE_DEVICES` requests.
pub fn visible_devices(value: Option<&str>, legacy_image: bool) -> VisibleDevices {
    match device_request(value, legacy_image) {
        DeviceRequest::Nothing => VisibleDevices::Nothing,
        DeviceRequest::DriverOnly => VisibleDevices::DriverOnly,
        DeviceRequest::All => VisibleDevices::All,
        DeviceRequest::Listed => {
            let mut names: Vec<String> = Vec::new();
            for name in value.into_iter().flat_map(device_names) {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
            VisibleDevices::Listed(names)
        }
    }
}

/// Returns the devices that an environment requests; variables in `preferred` that are set replace
/// `NVIDIA_VISIBLE_DEVICES`.
pub fn visible_devices_from_env(env: &impl EnvironmentVariables, preferred: &[&str]) -> VisibleDevices {
    let legacy = is_legacy_image(env);
    let stand_ins: Vec<&str> = preferred.iter().filter_map(|name| env.get(name)).collect();
    if stand_ins.is_empty() {
        return visible_devices(env.get("NVIDIA_VISIBLE_DEVICES"), legacy);
    }
    visible_devices(Some(&stand_ins.join(",")), legacy)
}

/// All driver capabilities, in alphabetical order.
pub const SUPPORTED_CAPABILITIES: &str = "compat32,compute,display,graphics,ngx,utility,video";

/// The driver capabilities of a container that requests none.
pub const DEFAULT_CAPABILITIES: &str = "compute,utility";

/// The error for requested driver capabilities that the host does not allow; the container is not created.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unsupported capabilities found in '{requested}' (allowed '{allowed}')")]
pub struct UnsupportedCapabilities {
    /// Alphabetical, with commas.
    pub requested: String,
    /// Those of them that the host gives.
    pub allowed: String,
}

/// Parses a comma-separated list of driver capabilities, without the blanks at their ends.
pub fn parse_capability_list(value: &str) -> BTreeSet<String> {
    value.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns the requested capabilities that are supported; `all` requests every supported one.
pub fn intersect_capabilities(requested: &str, supported: &str) -> BTreeSet<String> {
    let (requested, supported) = (parse_capability_list(requested), parse_capability_list(supported));
    if requested.contains("all") {
        return supported;
    }
    if supported.contains("all") {
        return requested;
    }
    requested.intersection(&supported).cloned().collect()
}

/// Returns the driver capabilities that a container gets for `NVIDIA_DRIVER_CAPABILITIES`; `value` is `None` if it is
/// unset, `supported` is what the host allows.
pub fn driver_capability_names(
    value: Option<&str>,
    legacy_image: bool,
    supported: &str,
) -> Result<BTreeSet<String>, UnsupportedCapabilities> {
    let value = match value {
        None if legacy_image => "all",
        // A list of commas only requests nothing, and gets nothing.
        None | Some("") => return Ok(intersect_capabilities(DEFAULT_CAPABILITIES, supported)),
        Some(value) => value,
    };
    let requested = parse_capability_list(value);
    if requested.contains("all") {
        return Ok(parse_capability_list(supported));
    }
    let allowed = intersect_capabilities(value, supported);
    if allowed.len() == requested.len() {
        return Ok(allowed);
    }
    let joined = |words: &BTreeSet<String>| words.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    Err(UnsupportedCapabilities { requested: joined(&requested), allowed: joined(&allowed) })
}

/// How a container toolkit parses `NVIDIA_DRIVER_CAPABILITIES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverCapabilitySyntax {
    /// As a set of names, without the blanks at their ends.
    #[default]
    Set,
    /// As a text that must equal the joined list of its allowed names.
    Text,
    /// Name by name up to an empty one, without a limit by the host.
    Words,
}

/// A set of driver capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverCapabilities(u8);

impl DriverCapabilities {
    /// The names of all driver capabilities, in alphabetical order.
    pub const NAMES: &[&str] = &["compat32", "compute", "display", "graphics", "ngx", "utility", "video"];

    const ALL: Self = Self(0x7f);

    /// Parses a list of names, with `all` for every capability; `None` if a name is unknown.
    pub fn parse(list: &str) -> Option<Self> {
        let words = || list.split(',').map(str::trim).filter(|word| !word.is_empty());
        if words().any(|word| word == "all") {
            return Some(Self::ALL);
        }
        Self::parse_exact(words())
    }

    /// Whether the set contains a capability.
    pub fn contains(self, word: &str) -> bool {
        Self::bit_index(word).is_some_and(|at| self.0 & 1 << at != 0)
    }

    /// Returns the capabilities in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the capabilities in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the capabilities that a container gets, as `driver_capability_names` does; `None` if it is not
    /// created.
    pub fn granted(value: Option<&str>, legacy_image: bool, default: Self, supported: Self) -> Option<Self> {
        let value = match value {
            None if legacy_image => "all",
            None | Some("") => return Some(default.intersection(supported)),
            Some(value) => value,
        };
        if value.split(',').any(|word| word.trim() == "all") {
            return Some(supported);
        }
        Self::parse(value).filter(|requested| requested.intersection(supported) == *requested)
    }

    /// Returns the capabilities that a container gets from a toolkit with this syntax; `None` if it is not created.
    pub fn granted_by_syntax(
        reading: DriverCapabilitySyntax,
        value: Option<&str>,
        legacy_image: bool,
        default: Self,
        supported: Self,
    ) -> Option<Self> {
        match (reading, value) {
            (DriverCapabilitySyntax::Text, Some(value)) if !matches!(value, "" | "all") => {
                Self::parse_exact(value.split(',')).filter(|requested| requested.intersection(supported) == *requested)
            }
            (DriverCapabilitySyntax::Set | DriverCapabilitySyntax::Text, _) => {
                Self::granted(value, legacy_image, default, supported)
            }
            (DriverCapabilitySyntax::Words, Some("all")) => Some(Self::ALL),
            (DriverCapabilitySyntax::Words, None) if legacy_image => Some(Self::ALL),
            (DriverCapabilitySyntax::Words, None | Some("")) => Some(default),
            (DriverCapabilitySyntax::Words, Some(value)) => {
                Self::parse_exact(value.split(',').take_while(|word| !word.is_empty()))
            }
        }
    }

    /// Returns the set of exact names; `None` if one is unknown.
    fn parse_exact<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        words.try_fold(Self::default(), |set, word| Some(Self(set.0 | 1 << Self::bit_index(word)?)))
    }

    /// Returns the bit of a capability.
    fn bit_index(word: &str) -> Option<usize> {
        Self::NAMES.iter().position(|known| *known == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_capability_is_refused_in_alphabetical_order() {
        let error =
            driver_capability_names(Some("foo, compute"), false, SUPPORTED_CAPABILITIES).expect_err("unknown word");
        assert_eq!(error.to_string(), "unsupported capabilities found in 'compute,foo' (allowed 'compute')");
        assert!(driver_capability_names(Some("none"), false, SUPPORTED_CAPABILITIES).is_err());
    }

    #[test]
    fn the_set_and_the_list_agree() {
        for value in
            [None, Some(""), Some(","), Some("all"), Some("foo,all"), Some("compute"), Some(" video , utility")]
        {
            for supported in [SUPPORTED_CAPABILITIES, "compute,utility", "utility"] {
                for legacy in [false, true] {
                    let default = DriverCapabilities::parse(DEFAULT_CAPABILITIES).expect("known words");
                    let set = DriverCapabilities::granted(
                        value,
                        legacy,
                        default,
                        DriverCapabilities::parse(supported).expect("known"),
                    );
                    let list = driver_capability_names(value, legacy, supported).ok();
                    let words = |set: DriverCapabilities| -> BTreeSet<String> {
                        DriverCapabilities::NAMES
                            .iter()
                            .filter(|word| set.contains(word))
                            .map(|word| (*word).to_owned())
                            .collect()
                    };
                    assert_eq!(set.map(words), list, "{value:?} of {supported}");
                }
            }
        }
        assert!(DriverCapabilities::parse("compute,foo").is_none() && DriverCapabilities::parse("Compute").is_none());
    }

    #[test]
    fn older_toolkits_compare_words_as_they_are_written() {
        let all = DriverCapabilities::parse("all").expect("known");
        let default = DriverCapabilities::parse(DEFAULT_CAPABILITIES).expect("known words");
        let given = |reading, value, supported| {
            DriverCapabilities::granted_by_syntax(reading, value, false, default, supported)
        };
        let two = DriverCapabilities::parse("compute,utility");
        for (value, set, text, words) in [
            (Some("compute,utility"), two, two, two),
            (Some("utility,compute"), two, two, two),
            (Some("compute,compute,utility"), two, two, two),
            (Some("all"), Some(all), Some(all), Some(all)),
            (None, two, two, two),
            (Some(""), two, two, two),
            (Some("compute, utility"), two, None, None),
            (Some(" compute"), DriverCapabilities::parse("compute"), None, None),
            (Some("compute,utility,"), two, None, two),
            (Some("compute,all"), Some(all), None, None),
            (Some("all,foo"), Some(all), None, None),
            (Some(","), Some(DriverCapabilities::default()), None, Some(DriverCapabilities::default())),
            (Some("compute,,foo"), None, None, DriverCapabilities::parse("compute")),
            (Some("compute,foo"), None, None, None),
            (Some("Compute"), None, None, None),
        ] {
            assert_eq!(given(DriverCapabilitySyntax::Set, value, all), set, "{value:?}");
            assert_eq!(given(DriverCapabilitySyntax::Text, value, all), text, "{value:?}");
            assert_eq!(given(DriverCapabilitySyntax::Words, value, all), words, "{value:?}");
        }
        let narrow = DriverCapabilities::parse("utility").expect("known");
        assert_eq!(given(DriverCapabilitySyntax::Text, Some("compute,utility"), narrow), None);
        assert_eq!(given(DriverCapabilitySyntax::Text, Some("all"), narrow), Some(narrow));
        assert_eq!(given(DriverCapabilitySyntax::Words, Some("compute,utility"), narrow), two, "no such option yet");
    }

    #[test]
    fn older_toolkits_know_special_words_as_the_whole_value() {
        for (value, legacy, expected) in [
            (None, false, DeviceRequest::Nothing),
            (None, true, DeviceRequest::All),
            (Some(""), true, DeviceRequest::Nothing),
            (Some("void"), true, DeviceRequest::Nothing),
            (Some("none"), false, DeviceRequest::DriverOnly),
            (Some("all"), false, DeviceRequest::All),
            (Some(",,"), false, DeviceRequest::DriverOnly),
            (Some("0,void"), false, DeviceRequest::Listed),
            (Some("none,all"), false, DeviceRequest::Listed),
            (Some(" all"), false, DeviceRequest::Listed),
            (Some(" "), false, DeviceRequest::Listed),
        ] {
            assert_eq!(old_toolkit_device_request(value, legacy), expected, "{value:?}");
        }
    }

    #[test]
    fn void_in_a_device_list_disables_all_gpus() {
        for (value, legacy, expected) in [
            (None, false, DeviceRequest::Nothing),
            (None, true, DeviceRequest::All),
            (Some(""), true, DeviceRequest::Nothing),
            (Some(" , "), false, DeviceRequest::Nothing),
            (Some("all,void"), false, DeviceRequest::Nothing),
            (Some("none,all"), false, DeviceRequest::DriverOnly),
            (Some("0,all"), false, DeviceRequest::All),
            (Some("ALL"), false, DeviceRequest::Listed),
        ] {
            assert_eq!(device_request(value, legacy), expected, "{value:?}");
        }
    }
}
