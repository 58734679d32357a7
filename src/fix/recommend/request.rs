//! The request for a recommendation: packages with version ranges, a base image, a Python version.

use crate::install::parse_requirement;
use crate::knowledge::Knowledge;
use crate::model::package::{ExactVersion, PackageVersion, Requirement, VersionRange};
use crate::text::source::Span;

/// The request as written on the command line.
#[derive(Clone, Copy, Debug)]
pub struct RecommendRequest<'a> {
    /// Requirements: `torch>=2.4`, `tensorflow[and-cuda]`, `torchvision`.
    pub with: &'a [String],
    /// Base image: `nvidia/cuda`, or a whole reference.
    pub base: Option<&'a str>,
    /// Python version: `3.11`.
    pub python: Option<&'a str>,
    /// Maximum number of combinations to report.
    pub limit: usize,
    /// Number of combinations to test in parallel.
    pub jobs: usize,
}

/// A requested distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackageRequest {
    /// As written.
    pub(super) text: String,
    /// What it means.
    pub(super) requirement: Requirement,
    /// The build, such as `cu118`, if the version names it.
    pub(super) build: Option<String>,
}

impl PackageRequest {
    /// Parses a requirement; returns an error if it is invalid.
    pub(super) fn parse(text: &str, knowledge: Knowledge) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a requirement: expected a name with versions, such as name, name>=2.4 or name==2.4.*"
            )
        };
        if text.contains(['/', '@', ';']) {
            return Err(wrong());
        }
        let requirement = parse_requirement(text, Span::default(), knowledge).ok_or_else(wrong)?.requirement;
        let range = requirement.version.public_range().ok_or_else(wrong)?;
        if !range.is_valid() {
            return Err(format!("`{text}`: `{range}` is not a version range; write one such as >=2.4,<3"));
        }
        let build = requirement.version.local().map(str::to_owned);
        Ok(Self { text: text.trim().to_owned(), requirement, build })
    }

    /// Whether a version satisfies the specifier, whatever its build.
    pub(super) fn admits(&self, version: &ExactVersion) -> bool {
        self.requirement.version.public_range().is_some_and(|range| range.contains(version) == Some(true))
    }
}

/// Merges requests for the same distribution; returns an error if they name two builds of it.
pub(super) fn merge_requests(requests: Vec<PackageRequest>) -> Result<Vec<PackageRequest>, String> {
    let mut kept: Vec<PackageRequest> = Vec::new();
    for request in requests {
        let Some(own) = kept.iter_mut().find(|own| own.requirement.name == request.requirement.name) else {
            kept.push(request);
            continue;
        };
        if own.build.is_some() && request.build.is_some() && own.build != request.build {
            return Err(format!(
                "`{}` and `{}` are two builds of the same package: name only one",
                own.text, request.text
            ));
        }
        if own.text != request.text {
            own.text = format!("{} {}", own.text, request.text);
        }
        own.build = own.build.take().or(request.build);
        let (own, request) = (&mut own.requirement, request.requirement);
        let ranges: Vec<VersionRange> =
            [&own.version, &request.version].into_iter().filter_map(PackageVersion::public_range).collect();
        own.version = PackageVersion::Range(VersionRange::of_all(&ranges));
        own.extras.extend(request.extras);
        own.extras.sort();
        own.extras.dedup();
    }
    Ok(kept)
}

/// Formats a requirement from a name and versions: `>=2.4`, `2.4`, `2.4.1+cu118` or none; returns an error for
/// anything else.
pub fn requirement_text(name: &str, versions: &str) -> Result<String, String> {
    let versions = versions.trim();
    if versions.starts_with(|c: char| c.is_ascii_digit()) {
        let whole = versions.matches('.').count() >= 2 || versions.contains('+');
        return Ok(if whole { format!("{name}=={versions}") } else { format!("{name}=={versions}.*") });
    }
    if !versions.is_empty() && !versions.starts_with(['<', '>', '=', '!', '~', '[']) {
        return Err(format!(
            "`{versions}` is not a version or version range of {name}; write 2.4, 2.4.1 or '>=2.4,<3'"
        ));
    }
    Ok(format!("{name}{versions}"))
}

/// Returns the major and minor Python version: `3.11` of `3.11` and `3.11.4`.
pub(super) fn parse_python_version(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.trim().split('.').collect();
    let numbers = parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    match parts.as_slice() {
        [major, minor] | [major, minor, _] if numbers => Ok(format!("{major}.{minor}")),
        _ => Err(format!("`{text}` is not a Python version; write one such as 3.11")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::package::PackageName;

    /// Returns the name, the extras, the range and the build of a request.
    fn parts(request: PackageRequest) -> (PackageName, Vec<PackageName>, VersionRange, Option<String>) {
        let Requirement { name, extras, version, .. } = request.requirement;
        (name, extras, version.public_range().expect("a range"), request.build)
    }

    #[test]
    fn request_is_a_name_with_versions() {
        let parsed = |text: &str| PackageRequest::parse(text, Knowledge::built_in()).map(parts);
        let request = |name: &str, extras: &[&str], range: &str, build: Option<&str>| {
            let extras = extras.iter().map(|extra| PackageName::python(extra)).collect::<Vec<_>>();
            Ok((PackageName::python(name), extras, VersionRange::from(range), build.map(str::to_owned)))
        };
        assert_eq!(parsed("torch>=2.4"), request("torch", &[], ">=2.4", None));
        assert_eq!(parsed("Jax[cuda12]"), request("jax", &["cuda12"], "", None));
        assert_eq!(parsed("torch==2.6.0+cu118"), request("torch", &[], "==2.6.0", Some("cu118")));
        assert_eq!(parsed("torch==2.4.*"), request("torch", &[], "==2.4.*", None));
        for wrong in ["", ">=2", "torch>=", "torch=>2", "a b c", "https://x/y.whl", "torch @ https://x", "torch>=$X"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_for_one_distribution_are_merged() {
        let merged = |texts: &[&str]| {
            let requests = texts.iter().map(|text| PackageRequest::parse(text, Knowledge::built_in()).expect(text));
            merge_requests(requests.collect()).map(|kept| {
                let describe = |request: PackageRequest| {
                    let (name, extras, range, build) = parts(request);
                    format!("{name}[{}]{range}{}", extras.join(","), build.unwrap_or_default())
                };
                kept.into_iter().map(describe).collect::<Vec<_>>().join(" ")
            })
        };
        for (texts, expected) in [
            (&["torch", "torch"][..], "torch[]"),
            (&["torch>=2.4", "Torch<2.6"], "torch[]>=2.4,<2.6"),
            (&["torch>=2.4", "jax", "torch"], "torch[]>=2.4 jax[]"),
            (&["jax[cuda12]", "jax[k8s]>=0.5"], "jax[cuda12,k8s]>=0.5"),
            (&["torch==2.6.0+cu118", "torch"], "torch[]==2.6.0cu118"),
            (&["torch==2.6.0", "torch==2.6.0+cu118", "torch>=2.4"], "torch[]==2.6.0,==2.6.0,>=2.4cu118"),
            (&["torch==2.6.0+cu118", "torch<2.6"], "torch[]==2.6.0,<2.6cu118"),
            (&["torch", "torchvision"], "torch[] torchvision[]"),
        ] {
            assert_eq!(merged(texts).as_deref(), Ok(expected), "{texts:?}");
        }
        assert!(merged(&["torch==2.6.0+cu118", "torch==2.6.0+cu124"]).is_err_and(|error| error.contains("two builds")));
    }

    #[test]
    fn version_without_an_operator_matches_its_releases() {
        for (versions, expected) in [
            ("", "torch"),
            (">=2.4", "torch>=2.4"),
            ("2.4", "torch==2.4.*"),
            ("2", "torch==2.*"),
            ("2.4.1", "torch==2.4.1"),
            ("2.4.1+cu118", "torch==2.4.1+cu118"),
        ] {
            assert_eq!(requirement_text("torch", versions).as_deref(), Ok(expected));
        }
        assert_eq!(requirement_text("torch", "[opt-einsum]>=2").as_deref(), Ok("torch[opt-einsum]>=2"));
        for wrong in ["foo", "latest", "v2.4", "-1", "*", ".4", "vision"] {
            assert!(
                requirement_text("torch", wrong).is_err_and(|error| error.contains(&format!("`{wrong}`"))),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_python_is_two_numbers() {
        assert_eq!(parse_python_version("3.11").as_deref(), Ok("3.11"));
        assert_eq!(parse_python_version("3.11.4").as_deref(), Ok("3.11"));
        for wrong in ["", "3", "python3.11", "3.", ".11", "3.11.4.5", "3.x"] {
            assert!(parse_python_version(wrong).is_err(), "{wrong}");
        }
    }
}
