//! Library wheels that a later command installs in place of dependencies of another wheel.

use std::collections::BTreeSet;

use crate::fact::{InspectionDepth, Observations, ObservedPackage, PackageManager, PackageVersion};
use crate::infer::libraries::release_version;
use crate::infer::library_dependencies::library_dependency_row;
use crate::infer::version_resolution::requires_torch;
use crate::install::range_contains;
use crate::knowledge::{HIGHEST_VERSION, Knowledge, LibraryNeedsRow};

/// Whether a later command replaces a package's library wheel with one that lacks the library, and no later command
/// may restore it.
pub(super) fn is_dependency_replaced(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    knowledge: Knowledge,
) -> bool {
    is_library_lost(seen, package, soname, false, knowledge)
}

/// Whether the finally installed wheel lacks a library; `gone`: whether the wheel installed with the package lacks
/// it.
fn is_library_lost(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    gone: bool,
    knowledge: Knowledge,
) -> bool {
    let Some(at) = seen.packages.iter().position(|one| one.fact == package.fact) else { return false };
    let ordered = seen.depth == InspectionDepth::Text;
    let later: Vec<&ObservedPackage> =
        seen.packages.iter().skip(at + 1).filter(|one| one.apart == package.apart).collect();
    // Behind it there is nothing that has a say.
    if !gone && later.iter().all(|one| ordered && one.command == package.command) {
        return false;
    }
    let wheels = match knowledge.library_wheel(&package.name) {
        Some(own) => BTreeSet::from([own.distribution]),
        None => library_wheels_for(package, soname, knowledge),
    };
    if wheels.is_empty() {
        return false;
    }
    // An installer looks at all that a command names together; what is listed is looked at one by one.
    // The last that has a say decides.
    for command in later.chunk_by(|one, other| ordered && one.command == other.command).rev() {
        if command.iter().any(|one| ordered && one.command == package.command) {
            continue;
        }
        let said: Vec<Option<bool>> =
            command.iter().map(|one| replaces_library(package, one, soname, &wheels, knowledge)).collect();
        if said.iter().any(Option::is_some) {
            return !said.contains(&Some(false));
        }
    }
    gone
}

/// Whether the wheel of a library was installed, and a later command replaced it with one that lacks the library.
pub(super) fn is_library_wheel_replaced(seen: &Observations, soname: &str, knowledge: Knowledge) -> bool {
    let has = |name: &str| {
        let mut rows = knowledge.library_packages().iter().filter(|row| row.name == name);
        rows.any(|row| row.sonames.contains(&soname))
    };
    let of_wheel =
        |one: &&ObservedPackage| one.manager == PackageManager::Pip && knowledge.library_wheel(&one.name).is_some();
    let mut wheels = seen.packages.iter().filter(of_wheel).filter(|one| has(&one.name)).peekable();
    let lacks = |one: &ObservedPackage| {
        let row = knowledge.package_libraries(&one.name, release_version(one));
        one.conditional.is_none() && row.is_some_and(|row| !row.sonames.contains(&soname))
    };
    wheels.peek().is_some() && wheels.all(|one| is_library_lost(seen, one, soname, lacks(one), knowledge))
}

/// Whether a package installs a wheel without the library; `None` if it leaves the wheel unchanged, false if it may
/// restore the library.
fn replaces_library(
    package: &ObservedPackage,
    one: &ObservedPackage,
    soname: &str,
    wheels: &BTreeSet<&str>,
    knowledge: Knowledge,
) -> Option<bool> {
    if one.manager != PackageManager::Pip {
        return None;
    }
    if wheels.contains(one.name.as_str()) {
        let row = match &one.version {
            PackageVersion::Exact(_) => knowledge.package_libraries(&one.name, release_version(one))?,
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => return Some(false),
        };
        return Some(one.conditional.is_none() && !row.sonames.contains(&soname));
    }
    if one.alone {
        return None;
    }
    if one.name == package.name {
        return Some(false);
    }
    // What asks for a wheel of its own takes the one that goes with it.
    let own = library_dependency_row(one, knowledge).filter(|_| one.conditional.is_none());
    let another = own.into_iter().flat_map(LibraryNeedsRow::sonames).find_map(|other| {
        let shares = library_wheels_for(one, other, knowledge).iter().any(|wheel| wheels.contains(wheel));
        (shares && soname_stem(other) == soname_stem(soname)).then_some(other != soname)
    });
    if another.is_some() {
        return another;
    }
    let told = knowledge.library_wheel(&one.name).is_some() || requires_no_cuda_library(one, knowledge);
    if told && !requires_torch(one, knowledge) { None } else { Some(false) }
}

/// Whether a wheel is known to require no CUDA library and to have none as a dependency.
fn requires_no_cuda_library(one: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.is_library_free(&one.name, |from| match &one.version {
        PackageVersion::Exact(_) => release_version(one).is_some_and(|version| from <= version),
        PackageVersion::Open(range) => range.is_empty() || range_contains(range, HIGHEST_VERSION) == Some(true),
        PackageVersion::Unresolved(_) => false,
    })
}

/// Returns the wheels that provide a library to a package, for the CUDA major version of its other libraries.
fn library_wheels_for(package: &ObservedPackage, soname: &str, knowledge: Knowledge) -> BTreeSet<&'static str> {
    let Some(row) = library_dependency_row(package, knowledge) else { return BTreeSet::new() };
    let holding = |soname: &str| {
        let rows = knowledge.library_packages().iter().filter(|row| row.sonames.contains(&soname));
        rows.filter_map(|row| Some((row.name, knowledge.library_wheel(row.name)?.cuda?.major()))).collect::<Vec<_>>()
    };
    let mut majors: Option<BTreeSet<u32>> = None;
    for own in row.sonames() {
        let of_own: BTreeSet<u32> = holding(own).into_iter().map(|(_, major)| major).collect();
        if !of_own.is_empty() {
            majors = Some(majors.map_or_else(|| of_own.clone(), |majors| &majors & &of_own));
        }
    }
    let majors = majors.unwrap_or_default();
    holding(soname).into_iter().filter(|(_, major)| majors.contains(major)).map(|(name, _)| name).collect()
}

/// Returns the soname without `.so` and version.
fn soname_stem(soname: &str) -> &str {
    soname.split(".so").next().unwrap_or(soname)
}
