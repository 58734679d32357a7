//! Other distributions of a package with the same release for another CUDA version, such as `cupy-cuda12x`.

use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::last_pip_package;
use crate::fix::versions::may_have_wheel;
use crate::fix::{FixCandidate, ProposedChange};
use crate::knowledge::{FrameworkBuildRow, FrameworkRow, Knowledge, RowVersion, compare_natural};
use crate::model::package::{ExactVersion, ObservedPackage, PackageManager, PackageName, PackageVersion};
use crate::report::kinds::{ChangeKind, FixSafety};

/// Returns candidates for the same release for another CUDA version, where the distribution name selects it.
pub(super) fn renamed_variant_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let knowledge = case.knowledge();
    let mut found: Vec<FixCandidate> = Vec::new();
    let pip = case.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Pip);
    for (package, row) in pip.filter_map(|one| Some((one, knowledge.framework(&one.requirement.name)?))) {
        let version = match &package.requirement.version {
            PackageVersion::Exact(text) => Some(text.without_local()),
            PackageVersion::Range(range) if range.is_any() => None,
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => continue,
        };
        // Packages that depend on it require its present name.
        let is_only_component = case.image.components.iter().filter(|one| one.name != row.component).count() == 0;
        for (other, build) in sibling_distributions(knowledge, row, version.as_ref()) {
            let there = |python: String| {
                let has_wheel = |version: RowVersion| may_have_wheel(knowledge, other.distribution, version, &python);
                build.version.is_none_or(has_wheel)
            };
            let twice = last_pip_package(&case.seen, other.distribution).is_some();
            let Some(cuda) = build.cuda.filter(|_| !twice && python_satisfies(case, package, there)) else { continue };
            let name = other.distribution;
            let (title, safety) = match &version {
                Some(version) => {
                    let safety = if is_only_component { FixSafety::Safe } else { FixSafety::Unsafe };
                    (format!("install {name}=={version}, the same release for CUDA {cuda}"), safety)
                }
                None => (format!("install {name}, the newest release for CUDA {cuda}"), FixSafety::Unsafe),
            };
            let change = ProposedChange::Name { from: package.requirement.name.clone(), to: PackageName::python(name) };
            found.push(FixCandidate { kind: ChangeKind::FrameworkVariant, step: found.len(), title, safety, change });
        }
    }
    found
}

/// Whether the Python version of a package satisfies a condition, or is unknown.
fn python_satisfies(case: &FixContext<'_>, package: &ObservedPackage, there: impl Fn(String) -> bool) -> bool {
    case.python_version(package).is_none_or(there)
}

/// Returns distributions whose names differ only in a number and that have the release, or any if none is pinned; the
/// newest CUDA first.
fn sibling_distributions(
    knowledge: Knowledge,
    own: &FrameworkRow,
    version: Option<&ExactVersion>,
) -> Vec<(&'static FrameworkRow, &'static FrameworkBuildRow)> {
    let build = |name: &str| match version {
        Some(version) => knowledge.framework_releases_of(name).find(|row| row.is_of_version(version)),
        None => knowledge.framework_build_of_every_version(name),
    };
    let numbered = own.distribution.contains(|c: char| c.is_ascii_digit());
    let alike = |row: &&FrameworkRow| {
        numbered
            && row.component == own.component
            && row.distribution != own.distribution
            && name_without_digits(row.distribution) == name_without_digits(own.distribution)
    };
    let rows = knowledge.frameworks().iter().filter(alike);
    let mut found: Vec<_> = rows.filter_map(|row| Some((row, build(row.distribution)?))).collect();
    found.sort_by(|(one, _), (other, _)| compare_natural(other.distribution, one.distribution));
    found
}

/// Returns a distribution name without its digits.
fn name_without_digits(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_release_differ_in_their_number() {
        let knowledge = Knowledge::built_in();
        for (name, version, expected) in [
            ("cupy-cuda13x", Some("13.6.0"), &["cupy-cuda12x", "cupy-cuda11x"][..]),
            ("cupy-cuda13x", Some("14.2.0"), &["cupy-cuda12x"]),
            ("cupy-cuda12x", Some("14.2.0"), &["cupy-cuda13x"]),
            ("cupy-cuda12x", Some("13.3.0"), &[]),
            ("cupy-cuda13x", Some("99.0.0"), &[]),
            ("cupy", Some("13.6.0"), &[]),
            ("torch", Some("2.6.0"), &[]),
            ("tensorflow-gpu", Some("2.4.0"), &[]),
            ("onnxruntime-gpu", None, &[]),
            ("cupy-cuda12x", None, &["cupy-cuda13x", "cupy-cuda11x"]),
        ] {
            let row = knowledge.framework(name).expect(name);
            let version = version.map(ExactVersion::from);
            let found: Vec<&str> = sibling_distributions(knowledge, row, version.as_ref())
                .iter()
                .map(|(row, _)| row.distribution)
                .collect();
            assert_eq!(found, expected, "{name} {version:?}");
        }
    }
}
