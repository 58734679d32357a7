//! Version ranges: resolved to the newest release if all releases are equivalent, else to the newest one available
//! for the date and Python.
//!
//! Of a range that has no end, a release of tomorrow may be meant: it never counts as one whose releases end alike.

use jiff::civil::Date;

use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::command_request::{CommandRequest, InstalledRelease, installed_release};
use crate::infer::python_version::python_of_package;
use crate::infer::release_version::parse_release;
use crate::infer::torch_release::TorchContext;
use crate::infer::unread_installs::explain_possibly_installed;
use crate::knowledge::{FrameworkBuildRow, Knowledge, newest_framework_build};
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, Evidence, FactId, FactKey, Facts, InspectionDepth, Observations, PrintedValue, ValueState,
};
use crate::model::package::{
    IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, VersionRange,
};
use crate::resolve::{Catalog as _, LISTED_ARCHITECTURE, Resolution, Selection, TableCatalog};

/// The base image, architecture and date for which packages are installed.
#[derive(Clone, Copy)]
pub(super) struct InstallContext<'a> {
    pub(super) build: &'a BaseBuild,
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// Returns the observations with an exact version for every package whose range determines one; `None` if none does.
pub(super) fn resolve_version_ranges(seen: &Observations, install_context: InstallContext<'_>) -> Option<Observations> {
    let news: Vec<(usize, (&'static FrameworkBuildRow, Derivation))> = seen
        .packages
        .iter()
        .enumerate()
        .filter(|(_, package)| package.requirement.manager == PackageManager::Pip && package.conditional.is_none())
        .filter_map(|(at, package)| Some((at, resolve_release(package, seen, install_context)?)))
        .collect();
    let unserved: Vec<(usize, Cause)> = seen
        .packages
        .iter()
        .enumerate()
        .filter_map(|(at, package)| Some((at, explain_missing_wheel(package, seen, install_context.knowledge)?)))
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
            package.requirement.version = PackageVersion::exact(row.version_text());
        }
    }
    Some(seen)
}

/// Explains why a package of an extra may not be installed: no release has a wheel for the Python version.
fn explain_missing_wheel(package: &ObservedPackage, seen: &Observations, knowledge: Knowledge) -> Option<Cause> {
    let open = package.requirement.version.is_range() && package.conditional.is_none();
    let is_extra_dependency = || knowledge.gpu_dependencies_on(&package.requirement.name).any(|row| row.from.is_some());
    if !open
        || seen.depth != InspectionDepth::Text
        || package.requirement.manager != PackageManager::Pip
        || !is_extra_dependency()
    {
        return None;
    }
    let python = python_of_package(seen, package, knowledge).ok()?;
    let mut own = knowledge.complete_wheel_pythons_of(&package.requirement.name).peekable();
    own.peek()?;
    let name = &package.requirement.name;
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
    let state = ValueState::Known(PrintedValue::Text(format!("{}=={}", package.requirement.name, row.version_text())));
    let evidence = Evidence::Derived { by, from: vec![package.fact], row: Some(&row.info) };
    facts.add(FactKey::Package, Some(&package.requirement.name), state, evidence)
}

/// Returns the release that a package's range resolves to, and how that is known.
fn resolve_release(
    package: &ObservedPackage,
    seen: &Observations,
    install_context: InstallContext<'_>,
) -> Option<(&'static FrameworkBuildRow, Derivation)> {
    let knowledge = install_context.knowledge;
    let framework = knowledge.framework(&package.requirement.name)?;
    let range = combined_range(package, seen)?;
    // An unread command may have installed another release or build, which the command then keeps.
    if framework.variants || range.names_build() || explain_possibly_installed(seen, package).is_some() {
        return None;
    }
    let rows = knowledge.framework_releases_of(&package.requirement.name);
    let within: Vec<&'static FrameworkBuildRow> =
        rows.filter(|row| row.is_full_release() && row.is_in_range(&range)).collect();
    let ends = range.is_bounded_above();
    if are_equivalent(&within, knowledge) && ends {
        let python = python_of_package(seen, package, knowledge).ok();
        let (arch, as_of, indexes) = (install_context.arch, install_context.as_of, &package.requirement.indexes);
        let catalog = TableCatalog { knowledge, arch, as_of, python: python.as_deref(), indexes };
        let is_available = |row: &&FrameworkBuildRow| {
            catalog.framework_releases(row.distribution).any(|own| own.info.row == row.info.row)
        };
        let available = newest_framework_build(within.iter().copied().filter(is_available));
        return available.or_else(|| newest_framework_build(within.iter().copied())).map(|row| (row, Derivation::Row));
    }
    newest_available_release(package, seen, &within, install_context).map(|row| (row, Derivation::Newest))
}

/// Combines the range of a package's command and its constraints.
pub(super) fn combined_range(package: &ObservedPackage, seen: &Observations) -> Option<VersionRange> {
    let PackageVersion::Range(range) = &package.requirement.version else { return None };
    let mut ranges = vec![range.clone()];
    let is_same = |other: &&ObservedPackage| {
        other.requirement.name == package.requirement.name
            && other.command == package.command
            && other.requirement.manager == package.requirement.manager
    };
    let again = seen.packages.iter().filter(is_same).filter(|other| other.fact != package.fact);
    for other in seen.bounds.iter().filter(is_same).chain(again) {
        ranges.push(match &other.requirement.version {
            PackageVersion::Exact(version) => VersionRange::exactly(version),
            PackageVersion::Range(range) => range.clone(),
            PackageVersion::Unresolved(_) => return None,
        });
    }
    Some(VersionRange::of_all(&ranges))
}

/// Whether there are releases, and all have the same CUDA, code and library needs.
fn are_equivalent(within: &[&'static FrameworkBuildRow], knowledge: Knowledge) -> bool {
    let Some(first) = within.first() else { return false };
    let needs = |row: &FrameworkBuildRow| {
        parse_release(row.version_text())
            .and_then(|version| knowledge.library_needs_of(row.distribution, version))
            .map(|row| row.info.row)
    };
    within.iter().all(|row| {
        let code = |row: &FrameworkBuildRow| (row.code_known, row.sass, row.ptx);
        row.cuda == first.cuda && code(row) == code(first) && needs(row) == needs(first)
    })
}

/// Returns the newest release on the date, if an installer takes it and no installed one is acceptable.
///
/// In an image description or an inspected image, a range describes the installed version, not a selection.
fn newest_available_release(
    package: &ObservedPackage,
    seen: &Observations,
    within: &[&'static FrameworkBuildRow],
    install_context: InstallContext<'_>,
) -> Option<&'static FrameworkBuildRow> {
    let InstallContext { build, arch, as_of, knowledge } = install_context;
    let untouched = matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda) && build.other_vendor_torch.is_none();
    let of_index =
        matches!(package.requirement.indexes, IndexSelection::Default) && package.requirement.prerelease.is_none();
    if seen.depth != InspectionDepth::Text
        || arch != LISTED_ARCHITECTURE
        || !untouched
        || !of_index
        || is_installed_twice(package, seen, knowledge)
    {
        return None;
    }
    let is_listed = |one: &&ObservedPackage| {
        let catalog = TableCatalog { knowledge, arch, as_of, python: None, indexes: &package.requirement.indexes };
        one.requirement.manager == PackageManager::Pip
            && one.command == package.command
            && !catalog.releases(&one.requirement.name).is_unlisted()
    };
    let is_uncertain = |one: &ObservedPackage| {
        one.conditional.is_some() || matches!(one.requirement.version, PackageVersion::Unresolved(_))
    };
    if seen.packages.iter().chain(&seen.bounds).filter(is_listed).any(is_uncertain) {
        return None;
    }
    let torch = knowledge.framework_with_variants().map(|row| PackageName::python(row.distribution));
    let torch = torch.map_or(InstalledRelease::No, |torch| installed_release(&torch, package, seen, build));
    let python = python_of_package(seen, package, knowledge);
    let day = TorchContext { arch, as_of, knowledge };
    let request = CommandRequest::new(package.command, torch, python.as_deref().ok(), (seen, build), day);
    if !request.unknown_installed.is_empty() {
        return None;
    }
    let row_of = |resolution: Resolution| match resolution.selection(&package.requirement.name) {
        Some(Selection::Release(version)) => within.iter().copied().find(|row| row.is_of_version(version)),
        _ => None,
    };
    if python.is_ok() {
        return row_of(request.resolve());
    }
    let own = || knowledge.complete_wheel_pythons_of(&package.requirement.name);
    let mut each: Vec<_> = own().filter_map(|row| row_of(request.resolve_for_python(row.python))).collect();
    each.dedup_by_key(|row| row.info.row);
    match each.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether another command or package installs the same framework, too.
fn is_installed_twice(package: &ObservedPackage, seen: &Observations, knowledge: Knowledge) -> bool {
    let component = |name: &str| knowledge.framework(name).map(|row| row.component);
    let own = component(&package.requirement.name);
    seen.packages.iter().any(|other| other.fact != package.fact && component(&other.requirement.name) == own)
}
