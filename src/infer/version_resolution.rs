//! Version ranges: resolved to the newest release if all releases are equivalent, else to the newest one available
//! for the date and Python.
//!
//! Of a range that has no end, a release of tomorrow may be meant: it never counts as one whose releases end alike.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::python_version::python_of_package;
use crate::infer::release_version::parse_release;
use crate::infer::torch_release::{requires_torch, satisfies_torch_constraints, torch_constraints};
use crate::infer::unread_installs::explain_possibly_installed;
use crate::knowledge::{FrameworkBuildRow, Knowledge, WheelPythonRow};
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, Evidence, FactId, FactKey, Facts, InspectionDepth, Observations, PrintedValue, ValueState,
};
use crate::model::package::{
    IndexSelection, ObservedPackage, PackageManager, PackageVersion, VersionRange, compare_pep440_versions,
};

/// The architecture whose wheels the tables list by Python version.
const WHEEL_ARCHITECTURE: &str = "amd64";
/// The base image, architecture and date for which packages are installed.
#[derive(Clone, Copy)]
pub(super) struct InstallContext<'a> {
    pub(super) build: &'a BaseBuild,
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// Returns the observations with an exact version for every package whose range determines one; `None` if none does.
pub(super) fn resolve_version_ranges(seen: &Observations, place: InstallContext<'_>) -> Option<Observations> {
    let news: Vec<(usize, (&'static FrameworkBuildRow, Derivation))> = seen
        .packages
        .iter()
        .enumerate()
        .filter(|(_, package)| package.manager == PackageManager::Pip && package.conditional.is_none())
        .filter_map(|(at, package)| Some((at, resolve_release(package, seen, place)?)))
        .collect();
    let unserved: Vec<(usize, Cause)> = seen
        .packages
        .iter()
        .enumerate()
        .filter_map(|(at, package)| Some((at, explain_missing_wheel(package, seen, place.knowledge)?)))
        .collect();
    if news.is_empty() && unserved.is_empty() {
        return None;
    }
    let mut seen = seen.clone();
    for (at, why) in unserved {
        if let Some(package) = seen.packages.get_mut(at) {
            package.conditional = Some(why);
        }
    }
    for (at, (row, by)) in news {
        let Observations { packages, facts, .. } = &mut seen;
        if let Some(package) = packages.get_mut(at) {
            package.fact = add_resolved_version(facts, package, row, by);
            package.version = PackageVersion::exact(row.version);
        }
    }
    Some(seen)
}

/// Explains why a package of an extra may not be installed: no release has a wheel for the Python version.
fn explain_missing_wheel(package: &ObservedPackage, seen: &Observations, knowledge: Knowledge) -> Option<Cause> {
    let open = package.version.is_range() && package.conditional.is_none();
    let brought =
        || knowledge.dependencies_with_gpu_code().iter().any(|row| row.requires == package.name && row.from.is_some());
    if !open || seen.depth != InspectionDepth::Text || package.manager != PackageManager::Pip || !brought() {
        return None;
    }
    let python = python_of_package(seen, package, knowledge).ok()?;
    let mut own = knowledge.wheel_pythons().iter().filter(|row| row.distribution == package.name).peekable();
    own.peek()?;
    let name = &package.name;
    own.all(|row| row.python != python)
        .then(|| Cause::NoWheelForPython { name: name.to_string(), python: python.clone() })
}

/// Adds the fact of the version that a range was resolved to.
fn add_resolved_version(
    facts: &mut Facts,
    package: &ObservedPackage,
    row: &'static FrameworkBuildRow,
    by: Derivation,
) -> FactId {
    let state = ValueState::Known(PrintedValue::Text(format!("{}=={}", package.name, row.version)));
    let evidence = Evidence::Derived { by, from: vec![package.fact], row: Some(&row.info) };
    facts.add(FactKey::Package, Some(&package.name), state, evidence)
}

/// Returns the release that a package's range resolves to, and how that is known.
fn resolve_release(
    package: &ObservedPackage,
    seen: &Observations,
    place: InstallContext<'_>,
) -> Option<(&'static FrameworkBuildRow, Derivation)> {
    let knowledge = place.knowledge;
    let framework = knowledge.framework(&package.name)?;
    let range = combined_range(package, seen)?;
    // What was not read may have brought another release, or another build, which the command then keeps.
    if framework.variants || range.names_build() || explain_possibly_installed(seen, package).is_some() {
        return None;
    }
    let rows = knowledge.framework_builds().iter().filter(|row| row.distribution == package.name);
    let within: Vec<&'static FrameworkBuildRow> =
        rows.filter(|row| is_full_release(row.version) && range.contains_text(row.version) == Some(true)).collect();
    let ends = range.is_bounded_above();
    if let Some(row) = newest_of_equivalent(&within, knowledge).filter(|_| ends) {
        return Some((row, Derivation::Row));
    }
    newest_available_release(package, seen, &within, place).map(|row| (row, Derivation::Newest))
}

/// Combines the range of a package's command and its constraints.
fn combined_range(package: &ObservedPackage, seen: &Observations) -> Option<VersionRange> {
    let PackageVersion::Range(range) = &package.version else { return None };
    let mut ranges = vec![range.clone()];
    for bound in seen.bounds.iter().filter(|bound| bound.name == package.name && bound.command == package.command) {
        ranges.push(match &bound.version {
            PackageVersion::Exact(version) => VersionRange::from(format!("=={version}")),
            PackageVersion::Range(range) => range.clone(),
            PackageVersion::Unresolved(_) => return None,
        });
    }
    Some(VersionRange::of_all(&ranges))
}

/// Returns the newest of several releases if all have the same CUDA, code and library needs.
fn newest_of_equivalent(
    within: &[&'static FrameworkBuildRow],
    knowledge: Knowledge,
) -> Option<&'static FrameworkBuildRow> {
    let first = within.first()?;
    let needs = |row: &FrameworkBuildRow| {
        parse_release(row.version)
            .and_then(|version| knowledge.library_needs_of(row.distribution, version))
            .map(|row| row.info.row)
    };
    let same = |row: &&'static FrameworkBuildRow| {
        let code = |row: &FrameworkBuildRow| (row.code_known, row.sass, row.ptx);
        row.cuda == first.cuda && code(row) == code(first) && needs(row) == needs(first)
    };
    within.iter().all(same).then_some(())?;
    newest_build_row(within.iter().copied())
}

/// Returns the newest release on the date, if an installer takes it and no installed one is acceptable.
///
/// Of an image that somebody describes or that was read, a range says what is there and not what was taken.
fn newest_available_release(
    package: &ObservedPackage,
    seen: &Observations,
    within: &[&'static FrameworkBuildRow],
    place: InstallContext<'_>,
) -> Option<&'static FrameworkBuildRow> {
    let InstallContext { build, arch, as_of, knowledge } = place;
    let untouched = matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda) && build.of_others.is_none();
    let of_index = matches!(package.indexes, IndexSelection::Default) && package.prerelease.is_none();
    if seen.depth != InspectionDepth::Text
        || arch != WHEEL_ARCHITECTURE
        || !untouched
        || !of_index
        || has_competing_requirement(package, seen, knowledge)
    {
        return None;
    }
    // A package that asks for torch is taken in a release that goes with the bounds on it.
    let bounds =
        if requires_torch(package, knowledge) { torch_constraints(package, seen, knowledge)? } else { Vec::new() };
    let going =
        |row: &FrameworkBuildRow| satisfies_torch_constraints(row.distribution, row.version, &bounds, knowledge);
    let there =
        |row: &&'static FrameworkBuildRow| as_of.is_none_or(|day| row.released.is_none_or(|released| released <= day));
    let own = || knowledge.wheel_pythons().iter().filter(|row| row.distribution == package.name);
    // A release of an unknown day is no answer for a day.
    let of_python = |python: &str| {
        let fitting =
            within.iter().copied().filter(there).filter(|row| has_wheel_for_python(own(), python, row.version));
        let newest = newest_build_row(fitting.filter(|row| going(row) != Some(false)));
        newest.filter(|row| going(row) == Some(true) && (as_of.is_none() || row.released.is_some()))
    };
    if let Ok(python) = python_of_package(seen, package, knowledge) {
        return of_python(&python);
    }
    let mut each: Vec<_> = own().filter_map(|row| of_python(row.python)).collect();
    each.dedup_by_key(|row| row.version);
    match each.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether another package affects the version: the same framework again, or a torch installed together with a
/// package that requires one.
fn has_competing_requirement(package: &ObservedPackage, seen: &Observations, knowledge: Knowledge) -> bool {
    let component = |name: &str| knowledge.framework(name).map(|row| row.component);
    let own = component(&package.name);
    let asks = requires_torch(package, knowledge);
    seen.packages.iter().filter(|other| other.fact != package.fact).any(|other| {
        let beside = other.command == package.command
            && (knowledge.has_variants(&other.name) || requires_torch(other, knowledge));
        component(&other.name) == own || asks && beside
    })
}

/// Whether a release has a wheel for a Python version.
fn has_wheel_for_python<'a>(mut rows: impl Iterator<Item = &'a WheelPythonRow>, python: &str, version: &str) -> bool {
    rows.any(|row| {
        row.python == python
            && compare_pep440_versions(version, row.first).is_some_and(Ordering::is_ge)
            && row.last.is_none_or(|last| compare_pep440_versions(version, last).is_some_and(Ordering::is_le))
    })
}

/// Returns the row of the newest version.
fn newest_build_row(rows: impl Iterator<Item = &'static FrameworkBuildRow>) -> Option<&'static FrameworkBuildRow> {
    rows.max_by(|one, other| compare_pep440_versions(one.version, other.version).unwrap_or(Ordering::Equal))
}

/// Whether a row is about one release, rather than a minor version or all versions.
fn is_full_release(version: &str) -> bool {
    version.split('.').count() > 2
}
