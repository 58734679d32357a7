//! Wheels whose CUDA libraries are installed as dependencies: whether those were omitted or removed again.

use crate::cause::Cause;
use crate::fact::{
    FactKey, Facts, IndexSelection, InspectionDepth, Observations, ObservedPackage, PackageManager, PackageVersion,
    PrintedValue, RemovedPackage, ValueState,
};
use crate::infer::libraries::{LibraryPresence, release_version};
use crate::infer::replaced_library_wheels::is_dependency_replaced;
use crate::infer::version_resolution::requires_torch;
use crate::install::public_version;
use crate::knowledge::{Knowledge, LibraryNeedsRow};

/// The architecture for which the tables list builds of a project's dedicated index.
const LISTED_ARCHITECTURE: &str = "amd64";

/// Whether the effective wheel may lack its library dependencies: they were not installed, one was removed, or a
/// complete package list omits one.
pub(super) fn may_lack_library_dependencies(
    facts: &Facts,
    seen: &Observations,
    package: &ObservedPackage,
    row: &LibraryNeedsRow,
    knowledge: Knowledge,
) -> bool {
    let counts = is_last_install_of_name(seen, package) && is_component_version_from(facts, package, knowledge);
    // What lies in an image tells by itself what it asks for.
    let lacking = || row.sonames().any(|soname| is_library_removed_later(seen, package, soname, knowledge));
    seen.depth != InspectionDepth::Layers
        && library_dependency_row(package, knowledge).is_some()
        && package.conditional.is_none()
        && counts
        && (package.alone || lists_library_packages(seen, row, knowledge) || lacking())
}

/// Explains why the libraries that a wheel requires are unknown, if it was installed without dependencies and the
/// tables do not list its build.
pub(super) fn explain_unknown_library_needs(
    seen: &Observations,
    package: &ObservedPackage,
    arch: &str,
    knowledge: Knowledge,
) -> Option<Cause> {
    let of_command = package.manager == PackageManager::Pip
        && package.conditional.is_none()
        && seen.depth != InspectionDepth::Layers;
    if !package.alone || !of_command || !is_last_install_of_name(seen, package) {
        return None;
    }
    let rows = knowledge.library_needs().iter().filter(|row| row.along && row.distribution == package.name);
    let first = rows.map(|row| row.from).min()?;
    let version = release_version(package);
    if version.is_some_and(|version| version < first) {
        return None;
    }
    let row = version.and_then(|version| knowledge.library_needs_of(&package.name, version));
    let known = row.is_some_and(|row| match requested_build(package) {
        Some(WheelBuild::Default) => true,
        Some(WheelBuild::Named(build)) => {
            arch == LISTED_ARCHITECTURE && (row.builds.contains(&build) || row.whole.contains(&build))
        }
        None => false,
    });
    // A list that names the wheels of libraries one by one may be whole, and another command may have brought them.
    let wheel = |one: &ObservedPackage| knowledge.library_wheel(&one.name).is_some();
    let whole = |one: &ObservedPackage| !one.alone && (one.name == package.name || requires_torch(one, knowledge));
    let brings = |one: &ObservedPackage| one.manager == PackageManager::Pip && (wheel(one) || whole(one));
    if known || seen.packages.iter().any(brings) {
        return None;
    }
    let name = &package.name;
    Some(Cause::WithoutDependencies { name: name.clone() })
}

/// Whether no later package has the same name.
fn is_last_install_of_name(seen: &Observations, package: &ObservedPackage) -> bool {
    seen.packages.iter().rfind(|one| one.name == package.name).is_some_and(|last| last.fact == package.fact)
}

/// The build of a wheel that a command installs.
enum WheelBuild<'a> {
    /// The build of the default index.
    Default,
    /// A build of the project's dedicated index, such as `cu121`.
    Named(&'a str),
}

/// Returns the build that a command requests; `None` if it is unknown.
fn requested_build(package: &ObservedPackage) -> Option<WheelBuild<'_>> {
    let PackageVersion::Exact(text) = &package.version else { return None };
    let local = text.split_once('+').map(|(_, local)| local);
    match (local.or(package.variant.as_deref()), &package.offered) {
        (Some(build), _) => Some(WheelBuild::Named(build)),
        (None, IndexSelection::Default) => Some(WheelBuild::Default),
        (None, IndexSelection::Only(build)) => Some(WheelBuild::Named(build)),
        (None, IndexSelection::Beside(_) | IndexSelection::Unknown(_)) => None,
    }
}

/// Returns whether a soname is installed with a wheel or its dependencies; `None` for packages without such
/// libraries.
pub(super) fn library_presence_in_dependencies(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    knowledge: Knowledge,
) -> Option<LibraryPresence> {
    if is_installed_without_libraries(package, knowledge) {
        return Some(LibraryPresence::No);
    }
    let Some(row) = library_dependency_row(package, knowledge) else {
        // What depends on such a wheel brings it, and completes what is there of it.
        let asks = package.manager == PackageManager::Pip && requires_torch(package, knowledge);
        return asks.then_some(LibraryPresence::Perhaps);
    };
    let stem = |name: &str| name.split(".so").next().map(str::to_owned);
    Some(if !row.needs_library(soname) {
        let another = row.sonames().any(|own| stem(own) == stem(soname));
        if another { LibraryPresence::No } else { LibraryPresence::Perhaps }
    } else if is_library_removed_later(seen, package, soname, knowledge) || lists_library_packages(seen, row, knowledge)
    {
        LibraryPresence::No
    } else if package.conditional.is_some() {
        LibraryPresence::Perhaps
    } else {
        LibraryPresence::Yes
    })
}

/// Whether a wheel was installed without its dependencies and contains no CUDA library itself.
pub(super) fn is_installed_without_libraries(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    package.manager == PackageManager::Pip
        && package.alone
        && (library_dependency_row(package, knowledge).is_some() || requires_torch(package, knowledge))
}

/// Returns the row of a wheel whose CUDA libraries are dependencies: of the default index, or of a build with the
/// same requirements.
pub(super) fn library_dependency_row(
    package: &ObservedPackage,
    knowledge: Knowledge,
) -> Option<&'static LibraryNeedsRow> {
    let version = release_version(package).filter(|_| package.manager == PackageManager::Pip)?;
    let row = knowledge.library_needs_of(&package.name, version).filter(|row| row.along)?;
    let known = match requested_build(package)? {
        WheelBuild::Default => true,
        WheelBuild::Named(build) => row.builds.contains(&build),
    };
    known.then_some(row)
}

/// Whether the version of the component is that of this package; a later command may have installed another.
fn is_component_version_from(facts: &Facts, package: &ObservedPackage, knowledge: Knowledge) -> bool {
    let PackageVersion::Exact(text) = &package.version else { return false };
    let Some(framework) = knowledge.framework(&package.name) else { return false };
    let own = |key: FactKey, of: Option<&str>| key == FactKey::ComponentVersion && of == Some(framework.component);
    let said = facts.iter().filter(|(_, entry)| own(entry.key, entry.subject.as_deref())).last();
    said.is_some_and(
        |(_, entry)| matches!(&entry.state, ValueState::Known(PrintedValue::Text(version)) if public_version(version) == public_version(text)),
    )
}

/// Whether a later command removes the package with a library dependency, or replaces it with one that lacks the
/// library.
fn is_library_removed_later(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    knowledge: Knowledge,
) -> bool {
    let holds = |name: &str| {
        let mut rows = knowledge.library_packages().iter();
        rows.any(|row| row.name == name && row.sonames.contains(&soname))
    };
    let later = |command: u32| command >= package.command;
    let taken = |gone: &RemovedPackage| gone.manager == PackageManager::Pip && later(gone.command) && holds(&gone.name);
    seen.gone.iter().any(taken) || is_dependency_replaced(seen, package, soname, knowledge)
}

/// Whether the package list is complete and includes library wheels, so that a package that is not listed is not
/// installed.
fn lists_library_packages(seen: &Observations, row: &LibraryNeedsRow, knowledge: Knowledge) -> bool {
    let holds = |package: &ObservedPackage| {
        let found = knowledge.package_libraries(&package.name, release_version(package));
        package.manager == PackageManager::Pip
            && found.is_some_and(|own| own.sonames.iter().any(|name| row.needs_library(name)))
    };
    let listed = seen.complete.libraries || seen.packages.iter().any(holds);
    seen.complete.packages && seen.depth != InspectionDepth::Layers && listed
}
