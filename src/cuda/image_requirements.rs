//! Which requirements the environment of a container makes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use thiserror::Error;

/// Which reading of versions the container toolkit has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolkitVersion {
    /// v1.20.0 and older: no leading zeros.
    #[default]
    UpTo1_20_0,
    /// Newer than v1.20.0.
    After1_20_0,
}

/// The most requirements that one container may have.
pub const MAX_REQUIREMENTS: usize = 32;

/// A `CUDA_VERSION` that the toolkit cannot read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("invalid CUDA version {value}: invalid version string{detail}")]
pub struct BadCudaVersion {
    /// The value as written.
    pub value: String,
    detail: &'static str,
}

/// Why an environment has no requirements to evaluate, although the container is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequirementsError {
    /// An image with `CUDA_VERSION` and no `NVIDIA_REQUIRE_CUDA`.
    #[error("failed to get version: {0}")]
    CudaVersion(#[from] BadCudaVersion),
    /// More than 32.
    #[error("input error: too many requirements")]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// Whether the toolkit treats an image as one from before `NVIDIA_REQUIRE_CUDA`.
pub fn is_legacy_image(env: &BTreeMap<String, String>) -> bool {
    let filled = |name: &str| env.get(name).is_some_and(|value| !value.is_empty());
    filled("CUDA_VERSION") && !filled("NVIDIA_REQUIRE_CUDA")
}

/// A boolean as Go reads it; nothing for any other text.
pub fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// All requirements of an environment by the variable they come from; every one must hold.
///
/// That of a legacy image comes from `CUDA_VERSION`. Empty where `NVIDIA_DISABLE_REQUIRE` is true.
pub fn image_requirements(
    env: &BTreeMap<String, String>,
    version: ToolkitVersion,
) -> Result<Vec<(String, String)>, RequirementsError> {
    if env.get("NVIDIA_DISABLE_REQUIRE").and_then(|value| go_bool(value)) == Some(true) {
        return Ok(Vec::new());
    }
    let mut requirements: Vec<(String, String)> = env
        .iter()
        .filter(|(name, _)| name.starts_with("NVIDIA_REQUIRE_") && !name.starts_with("NVIDIA_REQUIRE_JETPACK"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if is_legacy_image(env)
        && let Some(value) = env.get("CUDA_VERSION")
    {
        requirements.push(("CUDA_VERSION".to_owned(), cuda_version_requirement(value, version)?));
    }
    if requirements.len() > MAX_REQUIREMENTS {
        return Err(RequirementsError::TooMany { count: requirements.len() });
    }
    Ok(requirements)
}

/// The requirement that `CUDA_VERSION` stands for: `cuda>=12.4` of `12.4.1`.
pub fn cuda_version_requirement(value: &str, version: ToolkitVersion) -> Result<String, BadCudaVersion> {
    let detail = match version {
        ToolkitVersion::UpTo1_20_0 => "",
        ToolkitVersion::After1_20_0 => ": invalid semantic version",
    };
    let semver = Semver::read(value, version).ok_or_else(|| BadCudaVersion { value: value.to_owned(), detail })?;
    let [major, minor, _] = semver.numbers;
    if major.max(minor) > u64::from(u32::MAX) {
        return Err(BadCudaVersion { value: value.to_owned(), detail });
    }
    Ok(format!("cuda>={major}.{minor}"))
}

/// A semantic version as the toolkit reads it; build metadata is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver<'a> {
    numbers: [u64; 3],
    prerelease: Option<&'a str>,
}

impl<'a> Semver<'a> {
    pub(crate) fn read(text: &'a str, version: ToolkitVersion) -> Option<Self> {
        let strict = version == ToolkitVersion::UpTo1_20_0;
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        let (core, prerelease) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        let mut numbers = [0; 3];
        let mut count = 0;
        for part in core.split('.') {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if !digits || (strict && part.len() > 1 && part.starts_with('0')) {
                return None;
            }
            *numbers.get_mut(count)? = part.parse().ok()?;
            count += 1;
        }
        if strict && count < 3 && (prerelease.is_some() || build.is_some()) {
            return None;
        }
        let word =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let zero_led = |word: &str| word.len() > 1 && word.starts_with('0') && is_number(word);
        let good = prerelease.is_none_or(|pre| pre.split('.').all(|part| word(part) && !zero_led(part)))
            && build.is_none_or(|build| build.split('.').all(word));
        good.then_some(Self { numbers, prerelease })
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

impl PartialOrd for Semver<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Semver<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.prerelease, other.prerelease) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => compare_prereleases(a, b),
        })
    }
}

fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let key = |part: &str| {
        if is_number(part) { (0, part.len(), part.to_owned()) } else { (1, 0, part.to_owned()) }
    };
    a.split('.').map(key).cmp(b.split('.').map(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_32_requirements() {
        let env = |count: usize| (0..count).map(|at| (format!("NVIDIA_REQUIRE_{at}"), String::new())).collect();
        assert!(image_requirements(&env(32), ToolkitVersion::default()).is_ok());
        let error = image_requirements(&env(33), ToolkitVersion::default()).expect_err("too many");
        assert_eq!(error.to_string(), "input error: too many requirements");
    }

    #[test]
    fn versions_read_and_order_as_semantic_versions() {
        let read = |text| Semver::read(text, ToolkitVersion::UpTo1_20_0);
        assert!(read("11.6-rc1").is_none() && read("11.6.0-rc1") < read("11.6") && read("v11") == read("11.0.0"));
        assert!(Semver::read("11.6-rc1", ToolkitVersion::After1_20_0).is_some());
        assert!(read("1.0.0-2") < read("1.0.0-10") && read("1.0.0-10") < read("1.0.0-a"));
    }
}
