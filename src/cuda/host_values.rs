//! The host properties that a requirement can check, and their known values.

use std::fmt;

/// A property of the host that a requirement can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostProperty {
    /// CUDA version of the driver.
    Cuda,
    /// Driver version.
    Driver,
    /// Compute capability.
    Arch,
    /// NVML brand.
    Brand,
}

impl HostProperty {
    /// All properties.
    pub const ALL: [Self; 4] = [Self::Cuda, Self::Driver, Self::Arch, Self::Brand];

    /// Returns the name as written in a requirement.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Driver => "driver",
            Self::Arch => "arch",
            Self::Brand => "brand",
        }
    }
}

impl fmt::Display for HostProperty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The value of a host property.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostValue {
    /// The value that the check sees.
    Known(String),
    /// The check sees none: no device is visible, or a version is missing.
    NotVisible,
    /// Unknown what the check sees.
    #[default]
    Unknown,
}

impl HostValue {
    /// Returns a known value, or `NotVisible` for `None`.
    pub fn from_visible(value: Option<&str>) -> Self {
        value.map_or(Self::NotVisible, |value| Self::Known(value.to_owned()))
    }
}

/// The values of all properties of one host and one of its GPUs that requirements can check.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequirementHost {
    /// CUDA version of the driver, such as `12.4`.
    pub cuda: HostValue,
    /// Driver version, such as `535.161.08`.
    pub driver: HostValue,
    /// Compute capability, such as `8.0`.
    pub arch: HostValue,
    /// NVML brand, such as `Tesla`.
    pub brand: HostValue,
}

impl RequirementHost {
    /// Returns the value of a property.
    pub const fn get(&self, property: HostProperty) -> &HostValue {
        match property {
            HostProperty::Cuda => &self.cuda,
            HostProperty::Driver => &self.driver,
            HostProperty::Arch => &self.arch,
            HostProperty::Brand => &self.brand,
        }
    }
}

/// A set of host properties, such as those that would have to be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostPropertySet(u8);

impl HostPropertySet {
    /// Returns the bit of a property.
    const fn bit(property: HostProperty) -> u8 {
        1 << property as u8
    }

    /// Whether the set contains a property.
    pub const fn contains(self, property: HostProperty) -> bool {
        self.0 & Self::bit(property) != 0
    }

    /// Returns the properties in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the properties in the order of `HostProperty::ALL`.
    pub fn to_vec(self) -> Vec<HostProperty> {
        HostProperty::ALL.into_iter().filter(|property| self.contains(*property)).collect()
    }

    /// Adds a property.
    pub(crate) const fn insert(&mut self, property: HostProperty) {
        self.0 |= Self::bit(property);
    }
}

impl FromIterator<HostProperty> for HostPropertySet {
    fn from_iter<T: IntoIterator<Item = HostProperty>>(list: T) -> Self {
        list.into_iter().fold(Self::default(), |needs, property| Self(needs.0 | Self::bit(property)))
    }
}
