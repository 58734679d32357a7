//! Compute capabilities of GPUs and the targets that GPU code is built for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cuda::version::BadVersion;

/// The compute capability X.Y of a GPU, such as 8.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// X of X.Y.
    pub major: u8,
    /// Y of X.Y.
    pub minor: u8,
}

impl ComputeCapability {
    /// Returns the capability X.Y.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ComputeCapability {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion { text: text.to_owned(), what: "compute capability", expected: "X.Y, such as 8.6" };
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| digits)
        };
        Ok(Self {
            major: number(major).ok_or_else(bad)?,
            minor: number(minor).filter(|minor| *minor < 10).ok_or_else(bad)?,
        })
    }
}

/// The suffix of a code target, which determines the compute capabilities that can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetSuffix {
    /// No suffix: the code runs on later minors of the same major (cubin), or on everything later (PTX).
    None,
    /// `a`: only this compute capability.
    ArchitectureSpecific,
    /// `f`: the family of this compute capability.
    FamilySpecific,
}

/// The target of a piece of GPU code: the `90a` of `sm_90a` or of `compute_90a`.
///
/// Whether it is a cubin or PTX depends on the list that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CodeTarget {
    /// The capability that it names.
    pub capability: ComputeCapability,
    /// How far it reaches.
    pub suffix: TargetSuffix,
}

impl CodeTarget {
    /// Returns a target known at compile time: `constant(9, 0, 'a')`, with `' '` for no suffix.
    pub const fn constant(major: u8, minor: u8, suffix: char) -> Self {
        let suffix = match suffix {
            'a' => TargetSuffix::ArchitectureSpecific,
            'f' => TargetSuffix::FamilySpecific,
            _ => TargetSuffix::None,
        };
        Self { capability: ComputeCapability::new(major, minor), suffix }
    }

    /// Returns the number with its suffix: `90a`.
    pub fn number(self) -> String {
        let suffix = match self.suffix {
            TargetSuffix::None => "",
            TargetSuffix::ArchitectureSpecific => "a",
            TargetSuffix::FamilySpecific => "f",
        };
        format!("{}{}{suffix}", self.capability.major, self.capability.minor)
    }
}

impl From<CodeTarget> for String {
    fn from(target: CodeTarget) -> Self {
        target.number()
    }
}

impl TryFrom<String> for CodeTarget {
    type Error = BadVersion;

    fn try_from(text: String) -> Result<Self, BadVersion> {
        text.parse()
    }
}

impl FromStr for CodeTarget {
    type Err = BadVersion;

    /// Reads `sm_90a`, `compute_90a`, `90a` and the dotted `9.0a`.
    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion {
            text: text.to_owned(),
            what: "code target",
            expected: "sm_XY or compute_XY, such as sm_90a",
        };
        let number = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let (number, suffix) = match number.as_bytes().last() {
            Some(b'a') => (&number[..number.len() - 1], TargetSuffix::ArchitectureSpecific),
            Some(b'f') => (&number[..number.len() - 1], TargetSuffix::FamilySpecific),
            _ => (number, TargetSuffix::None),
        };
        let dotted = if number.contains('.') || number.len() < 2 || !number.is_ascii() {
            number.to_owned()
        } else {
            format!("{}.{}", &number[..number.len() - 1], &number[number.len() - 1..])
        };
        Ok(Self { capability: dotted.parse().map_err(|_| bad())?, suffix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_spelling_of_a_target() {
        for (text, expected) in [
            ("sm_90a", CodeTarget::constant(9, 0, 'a')),
            ("compute_120f", CodeTarget::constant(12, 0, 'f')),
            ("75", CodeTarget::constant(7, 5, ' ')),
            ("8.6", CodeTarget::constant(8, 6, ' ')),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn invalid_gpu_target_is_refused() {
        for text in ["", "sm_", "sm_9", "sm_é0", "native", "sm_90b", "+PTX", "8.66", "-1.2"] {
            assert!(text.parse::<CodeTarget>().is_err(), "{text}");
        }
    }
}
