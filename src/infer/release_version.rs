//! Release numbers in the versions of packages.

use crate::cuda::CudaVersion;
use crate::model::package::{ObservedPackage, PackageVersion};

/// Returns the release part of a package's exact version.
pub(super) fn release_version(package: &ObservedPackage) -> Option<CudaVersion> {
    match &package.requirement.version {
        PackageVersion::Exact(version) => parse_release(version.as_str()),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
    }
}

/// Whether the installed release of a package is at least `from`; without an exact version, the newest is installed.
pub(super) fn is_release_at_least(package: &ObservedPackage, from: CudaVersion) -> bool {
    match &package.requirement.version {
        PackageVersion::Exact(_) => release_version(package).is_some_and(|version| from <= version),
        PackageVersion::Range(range) => range.is_open_above(),
        PackageVersion::Unresolved(_) => false,
    }
}

/// Parses the numbers at the start of a version: 2.15.0 of `2.15.0.post1`, 2.16.0 of `2.16.0rc0`.
pub(super) fn parse_release(version: &str) -> Option<CudaVersion> {
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    version.get(..end)?.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_the_numeric_prefix_of_a_version() {
        for (version, expected) in [
            ("2.15.0.post1", Some("2.15.0")),
            ("2.16.0rc0", Some("2.16.0")),
            ("2.15.1+cu12", Some("2.15.1")),
            ("8.9.7.29-1+cuda12.2", Some("8.9.7.29")),
            ("2.15", Some("2.15")),
            ("nightly", None),
            ("", None),
            ("v2.15", None),
            (".post1", None),
        ] {
            assert_eq!(parse_release(version), expected.and_then(|text| text.parse().ok()), "{version}");
        }
    }
}
