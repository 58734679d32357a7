//! Dotted version numbers that order by number and print as written.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The error for a text that is not a version number.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a {what}: expected {expected}")]
pub struct BadVersion {
    /// The text as written.
    pub text: String,
    /// What it should have been.
    pub what: &'static str,
    /// The form that is understood.
    pub expected: &'static str,
}

/// One to four numbers with dots, such as `12.4` or `450.80.02`.
///
/// Orders by number, a missing component counting as zero (`11` = `11.0`, `450.80.02` = `450.80.2`),
/// and prints with the zeros it was written with.
#[derive(Clone, Copy, Debug, Default)]
pub struct DottedVersion {
    parts: [u32; 4],
    widths: [u8; 4],
    len: u8,
}

impl DottedVersion {
    /// Returns a version known at compile time.
    ///
    /// # Panics
    /// At compile time, where the text is none.
    pub const fn constant(text: &str) -> Self {
        match Self::scan(text.as_bytes()) {
            Some(version) => version,
            None => panic!("not a version"),
        }
    }

    /// Parses a version; `None` if the text is not one.
    const fn scan(text: &[u8]) -> Option<Self> {
        let mut version = Self { parts: [0; 4], widths: [0; 4], len: 0 };
        let mut at = 0;
        loop {
            let start = at;
            let mut number: u32 = 0;
            while at < text.len() && text[at].is_ascii_digit() {
                if at - start >= 9 {
                    return None;
                }
                number = number * 10 + (text[at] - b'0') as u32;
                at += 1;
            }
            if at == start || version.len == 4 {
                return None;
            }
            version.parts[version.len as usize] = number;
            #[expect(clippy::cast_possible_truncation, reason = "at most nine digits")]
            {
                version.widths[version.len as usize] = (at - start) as u8;
            }
            version.len += 1;
            if at == text.len() {
                return Some(version);
            }
            if text[at] != b'.' {
                return None;
            }
            at += 1;
        }
    }

    /// Returns the component at `index`, zero if it was not written.
    pub const fn part(self, index: usize) -> u32 {
        self.parts[index]
    }

    /// Returns the number of digits with which the first component was written.
    pub(super) const fn first_component_width(self) -> u8 {
        self.widths[0]
    }

    /// Returns the number of components that were written.
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it has no component, which is never true of a parsed version.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether `self` begins with all components of `prefix`: `535.161.08` starts with `535`.
    pub fn starts_with(self, prefix: Self) -> bool {
        self.parts[..prefix.len()] == prefix.parts[..prefix.len()]
    }
}

impl PartialEq for DottedVersion {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}
impl Eq for DottedVersion {}
impl PartialOrd for DottedVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for DottedVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts.cmp(&other.parts)
    }
}

impl fmt::Display for DottedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for index in 0..self.len() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{:0width$}", self.parts[index], width = usize::from(self.widths[index]))?;
        }
        Ok(())
    }
}

macro_rules! versions {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $expected:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub DottedVersion);

        impl $name {
            /// A version known when the program is written or generated.
            pub const fn constant(text: &str) -> Self {
                Self(DottedVersion::constant(text))
            }

            /// First component.
            pub const fn major(self) -> u32 {
                self.0.part(0)
            }

            /// Second component, zero where none was written.
            pub const fn minor(self) -> u32 {
                self.0.part(1)
            }
        }

        impl FromStr for $name {
            type Err = BadVersion;

            fn from_str(text: &str) -> Result<Self, BadVersion> {
                DottedVersion::scan(text.as_bytes())
                    .map(Self)
                    .ok_or_else(|| BadVersion { text: text.to_owned(), what: $what, expected: $expected })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

versions! {
    /// A CUDA toolkit or runtime version, such as `12.4` or `12.4.1`.
    CudaVersion, "CUDA version", "numbers with dots, such as 12.4";
    /// A driver version, such as `535.161.08`; also that of a user-mode driver (`libcuda.so.535.161.08`).
    DriverVersion, "driver version", "numbers with dots, such as 535.161.08";
}

impl CudaVersion {
    /// Returns major and minor version, which decide compatibility.
    pub const fn release(self) -> (u32, u32) {
        (self.major(), self.minor())
    }

    /// Whether it is a major version without a minor, such as `12`.
    pub const fn is_major_only(self) -> bool {
        self.0.len() == 1
    }
}

impl DriverVersion {
    /// Returns the driver branch: `535` for `535.161.08`.
    pub const fn branch(self) -> u32 {
        self.major()
    }

    /// Whether it is a branch without a release, such as `535`.
    pub const fn is_branch_only(self) -> bool {
        self.0.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_number_and_prints_as_written() {
        let version = |text: &str| text.parse::<DriverVersion>().expect(text);
        assert_eq!(version("450.80.02"), version("450.80.2"));
        assert_eq!(version("11"), version("11.0.0"));
        assert!(version("550.54.15") < version("550.163.01"));
        assert_eq!(version("450.80.02").to_string(), "450.80.02");
    }

    #[test]
    fn invalid_version_is_refused() {
        for text in ["", ".", "1.", ".1", "1..2", "v1", "1.2.3.4.5", "12.4-rc", "9999999999"] {
            assert!(text.parse::<CudaVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_branch_is_a_prefix_by_component() {
        assert!(DottedVersion::constant("535.161.08").starts_with(DottedVersion::constant("535")));
        assert!(!DottedVersion::constant("5350.1").starts_with(DottedVersion::constant("535")));
    }
}
