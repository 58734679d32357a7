//! Collects the requirements in the environment of a container.

use std::cmp::Ordering;

use thiserror::Error;

use crate::cuda::environment::EnvironmentVariables;

/// The releases of the container toolkit that parse versions alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContainerToolkitRelease {
    /// v1.20.0 and older, which reject leading zeros.
    #[default]
    UpTo1_20_0,
    /// Newer than v1.20.0.
    After1_20_0,
}

/// The largest number of requirements of one container.
pub const MAX_REQUIREMENTS: usize = 32;

/// The error for a `CUDA_VERSION` that the toolkit cannot parse.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("invalid CUDA version {value}: invalid {what}")]
pub struct InvalidCudaVersion {
    /// The value as written.
    pub value: String,
    what: &'static str,
}

/// The reason why a container is refused before its requirements are evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequirementsError {
    /// An image with `CUDA_VERSION` and no `NVIDIA_REQUIRE_CUDA`.
    #[error("failed to get version: {0}")]
    CudaVersion(#[from] InvalidCudaVersion),
    /// An invalid `CUDA_VERSION`, with the message of toolkits that scanned numbers.
    #[error("invalid CUDA version: {value}")]
    Unscanned {
        /// The value as written.
        value: String,
    },
    /// More than 32.
    #[error("input error: too many requirements")]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// Whether the toolkit certainly treats an image as one from before `NVIDIA_REQUIRE_CUDA`; false if the value of that
/// variable is unknown.
pub fn is_legacy_image(env: &impl EnvironmentVariables) -> bool {
    env.is_non_empty("CUDA_VERSION")
        && !env.is_non_empty("NVIDIA_REQUIRE_CUDA")
        && !env.is_unknown("NVIDIA_REQUIRE_CUDA")
}

/// Parses a boolean as Go does; `None` for any other text.
pub fn parse_go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// The component that turns the variables of a container into requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequirementsReader {
    /// The container toolkit.
    Toolkit(ContainerToolkitRelease),
    /// The container toolkit hook of older releases: every variable, and a `CUDA_VERSION` of plain numbers.
    OldHook,
    /// The container toolkit in csv mode, without a limit on the number of requirements.
    Csv(ContainerToolkitRelease),
    /// The hook of enroot: every variable, no legacy images, and any value disables the check.
    Enroot,
}

/// Whether the environment disables the check.
pub fn are_requirements_disabled(env: &impl EnvironmentVariables, reader: RequirementsReader) -> bool {
    match reader {
        RequirementsReader::Toolkit(_) | RequirementsReader::OldHook | RequirementsReader::Csv(_) => {
            env.get("NVIDIA_DISABLE_REQUIRE").and_then(parse_go_bool) == Some(true)
        }
        RequirementsReader::Enroot => env.is_non_empty("NVIDIA_DISABLE_REQUIRE"),
    }
}

/// Visits every requirement with the variable that contains it; all of them must hold.
///
/// That of a legacy image comes from `CUDA_VERSION`. None where the environment switches the check off.
pub fn visit_requirements(
    env: &impl EnvironmentVariables,
    reader: RequirementsReader,
    mut visit: impl FnMut(&str, &str),
) -> Result<(), RequirementsError> {
    if are_requirements_disabled(env, reader) {
        return Ok(());
    }
    let every = matches!(reader, RequirementsReader::Enroot | RequirementsReader::OldHook);
    let counts = |name: &str| every || !name.starts_with("NVIDIA_REQUIRE_JETPACK");
    let mut count = env.with_prefix("NVIDIA_REQUIRE_").filter(|(name, _)| counts(name)).count();
    let legacy = match reader {
        RequirementsReader::Toolkit(version) | RequirementsReader::Csv(version) if is_legacy_image(env) => {
            env.get("CUDA_VERSION").map(|value| cuda_version_requirement(value, version)).transpose()?
        }
        RequirementsReader::OldHook if is_legacy_image(env) => {
            let unread = |value: &str| RequirementsError::Unscanned { value: value.to_owned() };
            env.get("CUDA_VERSION")
                .map(|value| scan_cuda_version_requirement(value).ok_or_else(|| unread(value)))
                .transpose()?
        }
        _ => None,
    };
    count += usize::from(legacy.is_some());
    if count > MAX_REQUIREMENTS && !matches!(reader, RequirementsReader::Csv(_)) {
        return Err(RequirementsError::TooMany { count });
    }
    for (name, value) in env.with_prefix("NVIDIA_REQUIRE_").filter(|(name, _)| counts(name)) {
        visit(name, value);
    }
    if let Some(requirement) = legacy {
        visit("CUDA_VERSION", &requirement);
    }
    Ok(())
}

/// Returns all requirements of an environment as the container toolkit reads them, each with its variable.
pub fn image_requirements(
    env: &impl EnvironmentVariables,
    version: ContainerToolkitRelease,
) -> Result<Vec<(String, String)>, RequirementsError> {
    let mut list = Vec::new();
    visit_requirements(env, RequirementsReader::Toolkit(version), |name, value| {
        list.push((name.to_owned(), value.to_owned()));
    })?;
    Ok(list)
}

/// Returns the requirement that `CUDA_VERSION` implies: `cuda>=12.4` for `12.4.1`.
pub fn cuda_version_requirement(value: &str, version: ContainerToolkitRelease) -> Result<String, InvalidCudaVersion> {
    let bad = |what| InvalidCudaVersion { value: value.to_owned(), what };
    let unread = match version {
        ContainerToolkitRelease::UpTo1_20_0 => "version string",
        ContainerToolkitRelease::After1_20_0 => "version string: invalid semantic version",
    };
    let semver = Semver::parse(value, version).ok_or_else(|| bad(unread))?;
    let [major, minor, _] = semver.numbers;
    for (number, what) in [(major, "major version"), (minor, "minor version")] {
        if number > u64::from(u32::MAX) {
            return Err(bad(what));
        }
    }
    Ok(format!("cuda>={major}.{minor}"))
}

/// Returns the requirement for a CUDA version as older toolkits parse it: one to three numbers, leading zeros
/// ignored.
fn scan_cuda_version_requirement(value: &str) -> Option<String> {
    let mut numbers = [0_u32; 3];
    let mut places = numbers.iter_mut();
    for part in value.trim_matches(' ').split('.') {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        *places.next()? = part.parse().ok().filter(|_| digits)?;
    }
    let [major, minor, _] = numbers;
    Some(format!("cuda>={major}.{minor}"))
}

/// A semantic version as the toolkit parses it, without build metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver<'a> {
    numbers: [u64; 3],
    prerelease: Option<&'a str>,
}

impl<'a> Semver<'a> {
    /// Parses a version with the rules of a toolkit release.
    pub(crate) fn parse(text: &'a str, version: ContainerToolkitRelease) -> Option<Self> {
        let strict = version == ContainerToolkitRelease::UpTo1_20_0;
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
            // The older reader compares digits of any length; no host comes near the end of a number here.
            *numbers.get_mut(count)? = if strict { part.parse().unwrap_or(u64::MAX) } else { part.parse().ok()? };
            count += 1;
        }
        if strict && count < 3 && (prerelease.is_some() || build.is_some()) {
            return None;
        }
        let word =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let zero_led = |word: &str| word.len() > 1 && word.starts_with('0') && is_decimal(word);
        let good = prerelease.is_none_or(|pre| pre.split('.').all(|part| word(part) && !zero_led(part)))
            && build.is_none_or(|build| build.split('.').all(word));
        good.then_some(Self { numbers, prerelease })
    }
}

/// Whether a text consists of digits.
fn is_decimal(word: &str) -> bool {
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

/// Compares pre-release identifiers by the rules of semantic versioning.
fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let key = |part: &str| {
        if is_decimal(part) { (0, part.len(), part.to_owned()) } else { (1, 0, part.to_owned()) }
    };
    a.split('.').map(key).cmp(b.split('.').map(key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn enroot_takes_every_variable_and_any_switch() {
        let env = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let count = |env: &BTreeMap<String, String>, reader| {
            let mut count = 0;
            visit_requirements(env, reader, |_, _| count += 1).expect("readable");
            count
        };
        let toolkit = RequirementsReader::Toolkit(ContainerToolkitRelease::default());
        let jetpack = env(&[("NVIDIA_REQUIRE_JETPACK", "csv-mounts=all"), ("CUDA_VERSION", "11.8.0")]);
        assert_eq!((count(&jetpack, toolkit), count(&jetpack, RequirementsReader::Enroot)), (1, 1));
        let legacy = env(&[("CUDA_VERSION", "11.8.0")]);
        assert_eq!((count(&legacy, toolkit), count(&legacy, RequirementsReader::Enroot)), (1, 0));
        let off = env(&[("NVIDIA_REQUIRE_CUDA", "cuda>=12"), ("NVIDIA_DISABLE_REQUIRE", "no")]);
        assert_eq!((count(&off, toolkit), count(&off, RequirementsReader::Enroot)), (1, 0));
    }

    #[test]
    fn only_a_command_line_has_room_for_so_many() {
        let env: BTreeMap<String, String> = (0..33).map(|at| (format!("NVIDIA_REQUIRE_{at}"), String::new())).collect();
        let version = ContainerToolkitRelease::default();
        for (reader, read) in [
            (RequirementsReader::Csv(version), true),
            (RequirementsReader::Toolkit(version), false),
            (RequirementsReader::Enroot, false),
        ] {
            assert_eq!(visit_requirements(&env, reader, |_, _| {}).is_ok(), read, "{reader:?}");
        }
    }

    #[test]
    fn at_most_32_requirements() {
        let env = |count: usize| -> BTreeMap<String, String> {
            (0..count).map(|at| (format!("NVIDIA_REQUIRE_{at}"), String::new())).collect()
        };
        assert!(image_requirements(&env(32), ContainerToolkitRelease::default()).is_ok());
        let error = image_requirements(&env(33), ContainerToolkitRelease::default()).expect_err("too many");
        assert_eq!(error.to_string(), "input error: too many requirements");
    }

    #[test]
    fn invalid_version_is_reported_with_its_fault() {
        for (value, expected) in [
            ("12.x", "invalid CUDA version 12.x: invalid version string"),
            ("4294967296.1", "invalid CUDA version 4294967296.1: invalid major version"),
            ("12.4294967296", "invalid CUDA version 12.4294967296: invalid minor version"),
        ] {
            let error = cuda_version_requirement(value, ContainerToolkitRelease::UpTo1_20_0).expect_err(value);
            assert_eq!(error.to_string(), expected);
        }
        let found = cuda_version_requirement("4294967295.0.1", ContainerToolkitRelease::UpTo1_20_0);
        assert_eq!(found.as_deref(), Ok("cuda>=4294967295.0"));
    }

    #[test]
    fn versions_read_and_order_as_semantic_versions() {
        let read = |text| Semver::parse(text, ContainerToolkitRelease::UpTo1_20_0);
        assert!(read("11.6-rc1").is_none() && read("11.6.0-rc1") < read("11.6") && read("v11") == read("11.0.0"));
        assert!(Semver::parse("11.6-rc1", ContainerToolkitRelease::After1_20_0).is_some());
        let long = "99999999999999999999";
        assert!(read(long) > read("13.0") && Semver::parse(long, ContainerToolkitRelease::After1_20_0).is_none());
        assert!(read("1.0.0-2") < read("1.0.0-10") && read("1.0.0-10") < read("1.0.0-a"));
    }
}
