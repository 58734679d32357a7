//! Wheels of libraries that a later command puts in the place of those that came along with another wheel.

use std::collections::BTreeSet;

use crate::fact::Depth;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::infer::along::row_of;
use crate::infer::libraries::version_of;
use crate::infer::settled::pins;
use crate::install::admits;
use crate::knowledge::BEYOND;
use crate::knowledge::Knowledge;
use crate::knowledge::LibraryNeedsRow;

/// Whether a later command replaces the wheel of a library that came along with a package by one that has it not, and no
/// command behind that may bring it back.
pub(super) fn is_replaced(seen: &Observations, package: &PackageSeen, soname: &str, knowledge: Knowledge) -> bool {
    is_gone(seen, package, soname, false, knowledge)
}

/// Whether a library is not in the wheel that is there in the end; `gone`: whether it is not in the one that came with the
/// package.
fn is_gone(seen: &Observations, package: &PackageSeen, soname: &str, gone: bool, knowledge: Knowledge) -> bool {
    let Some(at) = seen.packages.iter().position(|one| one.fact == package.fact) else { return false };
    let ordered = seen.depth == Depth::Text;
    let later: Vec<&PackageSeen> = seen.packages.iter().skip(at + 1).filter(|one| one.apart == package.apart).collect();
    // Behind it there is nothing that has a say.
    if !gone && later.iter().all(|one| ordered && one.command == package.command) {
        return false;
    }
    let wheels = match knowledge.library_wheel(&package.name) {
        Some(own) => BTreeSet::from([own.distribution]),
        None => wheels_of(package, soname, knowledge),
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
            command.iter().map(|one| takes_its_place(package, one, soname, &wheels, knowledge)).collect();
        if said.iter().any(Option::is_some) {
            return !said.contains(&Some(false));
        }
    }
    gone
}

/// Whether the wheel of a library was there once, and a later command replaced it by one that has it not.
pub(super) fn is_fixed(seen: &Observations, soname: &str, knowledge: Knowledge) -> bool {
    let has = |name: &str| {
        let mut rows = knowledge.library_packages().iter().filter(|row| row.name == name);
        rows.any(|row| row.sonames.contains(&soname))
    };
    let of_wheel = |one: &&PackageSeen| one.manager == Manager::Pip && knowledge.library_wheel(&one.name).is_some();
    let mut wheels = seen.packages.iter().filter(of_wheel).filter(|one| has(&one.name)).peekable();
    let lacks = |one: &PackageSeen| {
        let row = knowledge.package_libraries(&one.name, version_of(one));
        one.conditional.is_none() && row.is_some_and(|row| !row.sonames.contains(&soname))
    };
    wheels.peek().is_some() && wheels.all(|one| is_gone(seen, one, soname, lacks(one), knowledge))
}

/// Whether a package puts a wheel there that has the library not; none where it leaves the wheel as it is, and false also
/// where it may bring the right one back.
fn takes_its_place(
    package: &PackageSeen,
    one: &PackageSeen,
    soname: &str,
    wheels: &BTreeSet<&str>,
    knowledge: Knowledge,
) -> Option<bool> {
    if one.manager != Manager::Pip {
        return None;
    }
    if wheels.contains(one.name.as_str()) {
        let row = match &one.version {
            PackageVersion::Exact(_) => knowledge.package_libraries(&one.name, version_of(one))?,
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
    let own = row_of(one, knowledge).filter(|_| one.conditional.is_none());
    let another = own.into_iter().flat_map(LibraryNeedsRow::sonames).find_map(|other| {
        let shares = wheels_of(one, other, knowledge).iter().any(|wheel| wheels.contains(wheel));
        (shares && stem(other) == stem(soname)).then_some(other != soname)
    });
    if another.is_some() {
        return another;
    }
    let told = knowledge.library_wheel(&one.name).is_some() || asks_for_none(one, knowledge);
    if told && !pins(one, knowledge) { None } else { Some(false) }
}

/// Whether a wheel is known to ask for no library of CUDA, nor anything that comes along with it.
fn asks_for_none(one: &PackageSeen, knowledge: Knowledge) -> bool {
    knowledge.is_library_free(&one.name, |from| match &one.version {
        PackageVersion::Exact(_) => version_of(one).is_some_and(|version| from <= version),
        PackageVersion::Open(range) => range.is_empty() || admits(range, BEYOND) == Some(true),
        PackageVersion::Unresolved(_) => false,
    })
}

/// The wheels out of which a package has a library, of the CUDA that its other libraries are of.
fn wheels_of(package: &PackageSeen, soname: &str, knowledge: Knowledge) -> BTreeSet<&'static str> {
    let Some(row) = row_of(package, knowledge) else { return BTreeSet::new() };
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

fn stem(soname: &str) -> &str {
    soname.split(".so").next().unwrap_or(soname)
}
