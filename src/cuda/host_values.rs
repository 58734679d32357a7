//! What a requirement may ask of a host, and what is known of it.

use std::fmt;

/// What a requirement may ask of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// CUDA version of the driver.
    Cuda,
    /// Driver version.
    Driver,
    /// Compute capability.
    Arch,
    /// NVML brand.
    Brand,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cuda, Self::Driver, Self::Arch, Self::Brand];

    /// As written in a requirement.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Driver => "driver",
            Self::Arch => "arch",
            Self::Brand => "brand",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A property of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostValue {
    /// The check sees this value.
    Known(String),
    /// The check sees none: no device is visible, or a version is missing.
    NotVisible,
    /// We do not know what the check will see.
    #[default]
    Unknown,
}

impl HostValue {
    /// A known value, or one that the check does not see.
    pub fn visible(value: Option<&str>) -> Self {
        value.map_or(Self::NotVisible, |value| Self::Known(value.to_owned()))
    }
}

/// All that a requirement can ask of one host and one GPU.
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
    /// The value of a property.
    pub const fn get(&self, property: Property) -> &HostValue {
        match property {
            Property::Cuda => &self.cuda,
            Property::Driver => &self.driver,
            Property::Arch => &self.arch,
            Property::Brand => &self.brand,
        }
    }
}

/// Properties that would have to be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u8);

impl Needs {
    const fn bit(property: Property) -> u8 {
        1 << property as u8
    }

    /// Whether a property is one of them.
    pub const fn contains(self, property: Property) -> bool {
        self.0 & Self::bit(property) != 0
    }

    /// Those of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// In the order of [`Property::ALL`].
    pub fn list(self) -> Vec<Property> {
        Property::ALL.into_iter().filter(|property| self.contains(*property)).collect()
    }

    pub(crate) const fn insert(&mut self, property: Property) {
        self.0 |= Self::bit(property);
    }
}

impl FromIterator<Property> for Needs {
    fn from_iter<T: IntoIterator<Item = Property>>(list: T) -> Self {
        list.into_iter().fold(Self::default(), |needs, property| Self(needs.0 | Self::bit(property)))
    }
}
