//! Other extras of a package, which select the build of the same release for another CUDA version.

use std::collections::BTreeSet;

use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::last_pip_package;
use crate::fix::versions::may_have_wheel;
use crate::fix::{FixCandidate, ProposedChange};
use crate::knowledge::{
    FrameworkBuildRow, ParsedText, RequiredLibrariesRow, RequiresDistRow, compare_natural, newest_framework_build,
};
use crate::model::outcome::Outcome;
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion};
use crate::report::kinds::{ChangeKind, FixSafety};

/// The outcome of an image that lacks libraries.
const LIBRARY_MISSING: Outcome = Outcome::LibraryMissing;

/// Returns candidates for the same release for another CUDA version, where an extra selects it.
pub(super) fn extra_variant_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let knowledge = case.knowledge();
    let rows = || knowledge.gpu_dependencies().filter(|row| row.same).filter_map(|row| Some((row, row.extra?)));
    let mut found: Vec<FixCandidate> = Vec::new();
    for (row, extra) in rows() {
        let (Some(package), Some(dependency)) =
            (last_pip_package(&case.seen, row.distribution), last_pip_package(&case.seen, row.package))
        else {
            continue;
        };
        if dependency.command != package.command {
            continue;
        }
        let now = build_for_extra(case, package, row.package).and_then(|build| build.version);
        let pinned = package.requirement.version.is_exact();
        let other = |(one, own_extra): &(&RequiresDistRow, &str)| {
            let version = build_for_extra(case, package, one.package).and_then(|build| build.version);
            one.distribution == row.distribution
                && one.package != row.package
                && extra_without_digits(own_extra) == extra_without_digits(extra)
                && version.is_some_and(|version| one.applies_to(version))
        };
        let mut others: Vec<(&RequiresDistRow, &str)> = rows().filter(other).collect();
        others.sort_by(|(_, one), (_, other)| compare_natural(other, one));
        for (other, other_extra) in others {
            let Some(then) = build_for_extra(case, package, other.package) else { continue };
            let Some(cuda) = then.cuda else { continue };
            let name = row.distribution;
            let title = match &package.requirement.version {
                PackageVersion::Exact(version) => {
                    format!("install {name}[{other_extra}]=={}, the same release for CUDA {cuda}", version.public())
                }
                _ => format!("install {name}[{other_extra}], the newest release for CUDA {cuda}"),
            };
            found.push(FixCandidate {
                kind: ChangeKind::FrameworkVariant,
                step: found.len(),
                title,
                safety: if pinned || now.map(ParsedText::as_str) == Some(then.version_text()) {
                    FixSafety::Safe
                } else {
                    FixSafety::Unsafe
                },
                change: ProposedChange::Extra {
                    package: PackageName::python(name),
                    from: Some(PackageName::python(extra)),
                    to: PackageName::python(other_extra),
                    without: Some(PackageName::python(row.package)),
                    installs: PackageName::python(other.package),
                },
            });
        }
    }
    found
}

/// Returns candidates that install the libraries which a package needs, through an extra or through its dependencies.
pub(super) fn missing_dependency_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let knowledge = case.knowledge();
    if !case.has_outcome(LIBRARY_MISSING) {
        return Vec::new();
    }
    let mut found: Vec<FixCandidate> = Vec::new();
    // What a candidate installs: each package with the extra and the version that it names.
    let mut installed: BTreeSet<(&PackageName, Option<(&str, String)>)> = BTreeSet::new();
    let candidate = |title: String, change: ProposedChange| FixCandidate {
        kind: ChangeKind::FrameworkVariant,
        step: 0,
        title,
        safety: FixSafety::Unsafe,
        change,
    };
    for package in case.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Pip) {
        let name = &package.requirement.name;
        let installs_libraries =
            |row: &RequiredLibrariesRow| row.distribution == *name && row.along && row.with.is_none();
        let without_dependencies =
            package.requirement.no_deps && knowledge.required_libraries().iter().any(installs_libraries);
        if without_dependencies && installed.insert((name, None)) {
            let title = format!("install {name} with its dependencies, without --no-deps");
            found.push(candidate(title, ProposedChange::Whole { package: name.clone() }));
        }
        let PackageVersion::Exact(version) = &package.requirement.version else { continue };
        let version = version.without_local();
        let rows = knowledge.gpu_dependencies_of(name).filter(|row| row.applies_to(&version));
        let rows = rows.filter_map(|row| Some((row, row.extra?)));
        // Extras whose libraries are there already are asked for.
        let libraries = |(row, _): &(&RequiresDistRow, &str)| knowledge.library_wheel(row.package).is_some();
        let python = case.python_version(package);
        let met = |(_, extra): &(&RequiresDistRow, &str)| {
            !knowledge.is_unusable_extra(name, extra, &version, python.as_deref())
        };
        let missing = |(row, _): &(&RequiresDistRow, &str)| last_pip_package(&case.seen, row.package).is_none();
        for (row, extra) in rows.filter(libraries).filter(met).filter(missing) {
            if !installed.insert((name, Some((extra, version.to_string())))) {
                continue;
            }
            let title = format!("install {name}[{extra}]=={version}, with the libraries that it loads");
            let change = ProposedChange::Extra {
                package: name.clone(),
                from: None,
                to: PackageName::python(extra),
                without: None,
                installs: PackageName::python(row.package),
            };
            found.push(candidate(title, change));
        }
    }
    found
}

/// Returns the build that an extra installs. It is the pinned release, else the newest of the day that the specifier
/// admits and that has a wheel for the image's Python.
fn build_for_extra(
    case: &FixContext<'_>,
    package: &ObservedPackage,
    brings: &str,
) -> Option<&'static FrameworkBuildRow> {
    let knowledge = case.knowledge();
    let rows = knowledge.framework_releases_of(brings);
    let python = case.python_version(package);
    let there = |row: &&FrameworkBuildRow| {
        python
            .as_ref()
            .is_none_or(|python| row.version.is_none_or(|version| may_have_wheel(knowledge, brings, version, python)))
    };
    let mut rows = rows.filter(there);
    match &package.requirement.version {
        PackageVersion::Exact(version) => {
            let version = version.without_local();
            rows.find(|row| row.is_of_version(&version))
        }
        PackageVersion::Range(range) => {
            let day = case.seen.as_of.or(case.settings.as_of);
            let out =
                |row: &&FrameworkBuildRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
            let fits = |row: &&FrameworkBuildRow| row.is_full_release() && (range.is_any() || row.is_in_range(range));
            newest_framework_build(rows.filter(out).filter(fits))
        }
        PackageVersion::Unresolved(_) => None,
    }
}

/// Returns an extra without its digits, for comparison; the first value is `None` if it has no digits.
fn extra_without_digits(extra: &str) -> (Option<String>, String) {
    let numbered = extra.contains(|c: char| c.is_ascii_digit());
    let word: String = extra.chars().filter(|c| !c.is_ascii_digit()).collect();
    // What names no CUDA is no neighbour of what does.
    (numbered.then(|| word.clone()), word)
}
