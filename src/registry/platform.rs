//! The operating system and processor architecture of an image.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// A platform `os/architecture[/variant]`, as in the OCI image specification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct Platform {
    /// Operating system, such as `linux`.
    #[serde(default)]
    pub os: String,
    /// Processor architecture, such as `amd64`.
    #[serde(default)]
    pub architecture: String,
    /// Variant of the architecture, such as `v8`.
    #[serde(default)]
    pub variant: Option<String>,
}

impl Platform {
    /// Creates a platform without a variant.
    pub fn new(os: &str, architecture: &str) -> Self {
        Self { os: os.into(), architecture: architecture.into(), variant: None }
    }

    /// Whether an image for `offered` is an image for `self`; variants are compared only if both have one.
    pub fn accepts(&self, offered: &Self) -> bool {
        let variants = match (&self.variant, &offered.variant) {
            (Some(requested), Some(offered)) => requested == offered,
            _ => true,
        };
        self.os == offered.os && self.architecture == offered.architecture && variants
    }

    /// Whether this is the placeholder `unknown/unknown` of attestations.
    pub(crate) fn is_unknown(&self) -> bool {
        self.os == "unknown" && self.architecture == "unknown"
    }

    /// Whether the image does not specify its platform.
    pub(crate) fn is_unspecified(&self) -> bool {
        self.os.is_empty() && self.architecture.is_empty()
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(f, "/{variant}"))
    }
}

/// The error of a text that is not `os/architecture[/variant]`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a platform of the form os/architecture[/variant]")]
pub struct PlatformParseError(String);

impl FromStr for Platform {
    type Err = PlatformParseError;

    fn from_str(text: &str) -> Result<Self, PlatformParseError> {
        let parts: Vec<&str> = text.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(PlatformParseError(text.into()));
        }
        match parts[..] {
            [os, architecture] => Ok(Self::new(os, architecture)),
            [os, architecture, variant] => Ok(Self { variant: Some(variant.into()), ..Self::new(os, architecture) }),
            _ => Err(PlatformParseError(text.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_compared_only_if_both_have_one() {
        let plain: Platform = "linux/arm64".parse().expect("platform");
        let v8: Platform = "linux/arm64/v8".parse().expect("platform");
        let v9: Platform = "linux/arm64/v9".parse().expect("platform");
        assert!(plain.accepts(&v8) && v8.accepts(&plain) && !v8.accepts(&v9));
        assert!("linux".parse::<Platform>().is_err() && "linux//v8".parse::<Platform>().is_err());
    }
}
