//! Which devices and driver capabilities the environment of a container asks for.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::cuda::environment::Environment;
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

/// Whether a device is a fully qualified CDI name: `vendor/class=name`.
pub fn is_cdi_name(name: &str) -> bool {
    let parts = name.split_once('=').and_then(|(kind, device)| Some((kind.split_once('/')?, device)));
    parts.is_some_and(|((vendor, class), device)| !vendor.is_empty() && !class.is_empty() && !device.is_empty())
}

/// The devices of a list, without blanks around them and without empty ones.
pub fn device_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// What `NVIDIA_VISIBLE_DEVICES` asks for, without its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceRequest {
    /// Nothing is injected.
    Nothing,
    /// Driver files without a GPU.
    DriverOnly,
    /// Every GPU.
    All,
    /// Those of the list.
    Listed,
}

/// What `NVIDIA_VISIBLE_DEVICES` asks for; `value` is none where it is unset.
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

/// The same as older toolkits read it: they know the special words only as the whole value.
pub fn device_request_as_written(value: Option<&str>, legacy_image: bool) -> DeviceRequest {
    match value {
        None if legacy_image => DeviceRequest::All,
        None | Some("" | "void") => DeviceRequest::Nothing,
        Some("none") => DeviceRequest::DriverOnly,
        Some("all") => DeviceRequest::All,
        Some(commas) if commas.bytes().all(|byte| byte == b',') => DeviceRequest::DriverOnly,
        Some(_) => DeviceRequest::Listed,
    }
}

/// What `NVIDIA_VISIBLE_DEVICES` asks for, with the list of devices.
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

/// What an environment asks for; variables of `preferred` that are set stand in for `NVIDIA_VISIBLE_DEVICES`.
pub fn visible_devices_of(env: &impl Environment, preferred: &[&str]) -> VisibleDevices {
    let legacy = is_legacy_image(env);
    let stand_ins: Vec<&str> = preferred.iter().filter_map(|name| env.get(name)).collect();
    if stand_ins.is_empty() {
        return visible_devices(env.get("NVIDIA_VISIBLE_DEVICES"), legacy);
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
        // A list of commas alone asks for nothing, and gets it.
        None | Some("") => return Ok(intersect_capabilities(DEFAULT_CAPABILITIES, supported)),
        Some(value) => value,
    };
    let requested = capability_list(value);
    if requested.contains("all") {
        return Ok(capability_list(supported));
    }
    let allowed = intersect_capabilities(value, supported);
    if allowed.len() == requested.len() {
        return Ok(allowed);
    }
    let joined = |words: &BTreeSet<String>| words.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    Err(UnsupportedCapabilities { requested: joined(&requested), allowed: joined(&allowed) })
}

/// How a container toolkit reads `NVIDIA_DRIVER_CAPABILITIES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapabilityReading {
    /// As a set of words; blanks around them do not count.
    #[default]
    Set,
    /// As a text that has to be the same once the allowed words of it are put together again.
    Text,
    /// Word by word up to an empty one; what the host gives does not count.
    Words,
}

/// A set of driver capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// All driver capabilities, in alphabetical order.
    pub const WORDS: &[&str] = &["compat32", "compute", "display", "graphics", "ngx", "utility", "video"];

    const EVERY: Self = Self(0x7f);

    /// The words of a list, `all` for every one of them; none where a word is no capability.
    pub fn read(list: &str) -> Option<Self> {
        let words = || list.split(',').map(str::trim).filter(|word| !word.is_empty());
        if words().any(|word| word == "all") {
            return Some(Self::EVERY);
        }
        Self::as_written(words())
    }

    /// Whether a capability is among them.
    pub fn has(self, word: &str) -> bool {
        Self::place(word).is_some_and(|at| self.0 & 1 << at != 0)
    }

    /// Those of either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What a container gets, as [`driver_capabilities`] without its words: none where it is not created.
    pub fn given(value: Option<&str>, legacy_image: bool, default: Self, supported: Self) -> Option<Self> {
        let value = match value {
            None if legacy_image => "all",
            None | Some("") => return Some(default.common(supported)),
            Some(value) => value,
        };
        if value.split(',').any(|word| word.trim() == "all") {
            return Some(supported);
        }
        Self::read(value).filter(|asked| asked.common(supported) == *asked)
    }

    /// The same as an older toolkit reads it.
    pub fn given_by(
        reading: CapabilityReading,
        value: Option<&str>,
        legacy_image: bool,
        default: Self,
        supported: Self,
    ) -> Option<Self> {
        match (reading, value) {
            (CapabilityReading::Text, Some(value)) if !matches!(value, "" | "all") => {
                Self::as_written(value.split(',')).filter(|asked| asked.common(supported) == *asked)
            }
            (CapabilityReading::Set | CapabilityReading::Text, _) => {
                Self::given(value, legacy_image, default, supported)
            }
            (CapabilityReading::Words, Some("all")) => Some(Self::EVERY),
            (CapabilityReading::Words, None) if legacy_image => Some(Self::EVERY),
            (CapabilityReading::Words, None | Some("")) => Some(default),
            (CapabilityReading::Words, Some(value)) => {
                Self::as_written(value.split(',').take_while(|word| !word.is_empty()))
            }
        }
    }

    fn as_written<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        words.try_fold(Self::default(), |set, word| Some(Self(set.0 | 1 << Self::place(word)?)))
    }

    fn place(word: &str) -> Option<usize> {
        Self::WORDS.iter().position(|known| *known == word)
    }
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

    #[test]
    fn the_set_and_the_list_agree() {
        for value in
            [None, Some(""), Some(","), Some("all"), Some("foo,all"), Some("compute"), Some(" video , utility")]
        {
            for supported in [SUPPORTED_CAPABILITIES, "compute,utility", "utility"] {
                for legacy in [false, true] {
                    let default = Capabilities::read(DEFAULT_CAPABILITIES).expect("known words");
                    let set =
                        Capabilities::given(value, legacy, default, Capabilities::read(supported).expect("known"));
                    let list = driver_capabilities(value, legacy, supported).ok();
                    let words = |set: Capabilities| -> BTreeSet<String> {
                        Capabilities::WORDS.iter().filter(|word| set.has(word)).map(|word| (*word).to_owned()).collect()
                    };
                    assert_eq!(set.map(words), list, "{value:?} of {supported}");
                }
            }
        }
        assert!(Capabilities::read("compute,foo").is_none() && Capabilities::read("Compute").is_none());
    }

    #[test]
    fn older_toolkits_compare_words_as_they_are_written() {
        let all = Capabilities::read("all").expect("known");
        let default = Capabilities::read(DEFAULT_CAPABILITIES).expect("known words");
        let given = |reading, value, supported| Capabilities::given_by(reading, value, false, default, supported);
        let two = Capabilities::read("compute,utility");
        for (value, set, text, words) in [
            (Some("compute,utility"), two, two, two),
            (Some("utility,compute"), two, two, two),
            (Some("compute,compute,utility"), two, two, two),
            (Some("all"), Some(all), Some(all), Some(all)),
            (None, two, two, two),
            (Some(""), two, two, two),
            (Some("compute, utility"), two, None, None),
            (Some(" compute"), Capabilities::read("compute"), None, None),
            (Some("compute,utility,"), two, None, two),
            (Some("compute,all"), Some(all), None, None),
            (Some("all,foo"), Some(all), None, None),
            (Some(","), Some(Capabilities::default()), None, Some(Capabilities::default())),
            (Some("compute,,foo"), None, None, Capabilities::read("compute")),
            (Some("compute,foo"), None, None, None),
            (Some("Compute"), None, None, None),
        ] {
            assert_eq!(given(CapabilityReading::Set, value, all), set, "{value:?}");
            assert_eq!(given(CapabilityReading::Text, value, all), text, "{value:?}");
            assert_eq!(given(CapabilityReading::Words, value, all), words, "{value:?}");
        }
        let narrow = Capabilities::read("utility").expect("known");
        assert_eq!(given(CapabilityReading::Text, Some("compute,utility"), narrow), None);
        assert_eq!(given(CapabilityReading::Text, Some("all"), narrow), Some(narrow));
        assert_eq!(given(CapabilityReading::Words, Some("compute,utility"), narrow), two, "no such option yet");
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
            assert_eq!(device_request_as_written(value, legacy), expected, "{value:?}");
        }
    }

    #[test]
    fn one_void_anywhere_hands_out_nothing() {
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
