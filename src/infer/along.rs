//! Wheels whose libraries come along as packages of their own: whether these were left out, or taken away again.

use crate::fact::Depth;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::infer::libraries::Says;
use crate::infer::libraries::version_of;
use crate::infer::settled::pins;
use crate::knowledge::Knowledge;
use crate::knowledge::LibraryNeedsRow;

/// Whether the wheel that counts may lack what comes along with it: it was installed without that, a part of it was
/// taken away, or a full list of packages leaves a part out.
pub(super) fn is_bare(
    facts: &Facts,
    seen: &Observations,
    package: &PackageSeen,
    row: &LibraryNeedsRow,
    knowledge: Knowledge,
) -> bool {
    let last = seen.packages.iter().rfind(|one| one.name == package.name);
    let counts = last.is_some_and(|last| last.fact == package.fact) && is_told(facts, package, knowledge);
    // What lies in an image tells by itself what it asks for.
    let lacking = || row.sonames().any(|soname| taken_away(seen, package, soname, knowledge));
    seen.depth != Depth::Layers
        && row_of(package, knowledge).is_some()
        && package.conditional.is_none()
        && counts
        && (package.alone || lists_one_by_one(seen, row, knowledge) || lacking())
}

/// What a wheel says of a soname that comes along with it, or with what it depends on; none of any other package.
pub(super) fn says(seen: &Observations, package: &PackageSeen, soname: &str, knowledge: Knowledge) -> Option<Says> {
    if brings_nothing(package, knowledge) {
        return Some(Says::No);
    }
    let Some(row) = row_of(package, knowledge) else {
        // What depends on such a wheel brings it, and completes what is there of it.
        let asks = package.manager == Manager::Pip && pins(package, knowledge);
        return asks.then_some(Says::Perhaps);
    };
    let stem = |name: &str| name.split(".so").next().map(str::to_owned);
    Some(if !row.names(soname) {
        let another = row.sonames().any(|own| stem(own) == stem(soname));
        if another { Says::No } else { Says::Perhaps }
    } else if taken_away(seen, package, soname, knowledge) || lists_one_by_one(seen, row, knowledge) {
        Says::No
    } else if package.conditional.is_some() {
        Says::Perhaps
    } else {
        Says::Yes
    })
}

/// Whether a wheel was installed without what it depends on, and holds no library of CUDA itself.
pub(super) fn brings_nothing(package: &PackageSeen, knowledge: Knowledge) -> bool {
    package.manager == Manager::Pip
        && package.alone
        && (row_of(package, knowledge).is_some() || pins(package, knowledge))
}

/// The row of a wheel of the default index whose libraries come along.
fn row_of(package: &PackageSeen, knowledge: Knowledge) -> Option<&'static LibraryNeedsRow> {
    let PackageVersion::Exact(text) = &package.version else { return None };
    let of_index = package.manager == Manager::Pip
        && package.variant.is_none()
        && package.offered == Offered::Default
        && !text.contains('+');
    let version = version_of(package).filter(|_| of_index)?;
    knowledge.needs_of(&package.name, version).filter(|row| row.along)
}

/// Whether the version of the component is that of the package: a later command may have brought another.
fn is_told(facts: &Facts, package: &PackageSeen, knowledge: Knowledge) -> bool {
    let PackageVersion::Exact(text) = &package.version else { return false };
    let Some(framework) = knowledge.framework(&package.name) else { return false };
    let own = |key: FactKey, of: Option<&str>| key == FactKey::ComponentVersion && of == Some(framework.component);
    let said = facts.iter().filter(|(_, entry)| own(entry.key, entry.of.as_deref())).last();
    said.is_some_and(|(_, entry)| matches!(&entry.state, State::Known(Value::Text(version)) if version == text))
}

/// Whether a later command takes away the package with a library, of those that came along.
fn taken_away(seen: &Observations, package: &PackageSeen, soname: &str, knowledge: Knowledge) -> bool {
    let holds = |name: &str| {
        let mut rows = knowledge.library_packages().iter();
        rows.any(|row| row.name == name && row.sonames.contains(&soname))
    };
    let later = |command: u32| command >= package.command;
    seen.gone.iter().any(|gone| gone.manager == Manager::Pip && later(gone.command) && holds(&gone.name))
}

/// Whether all packages are listed, and the wheels of libraries with them, or that there are none: one that is not listed is
/// not there.
fn lists_one_by_one(seen: &Observations, row: &LibraryNeedsRow, knowledge: Knowledge) -> bool {
    let holds = |package: &PackageSeen| {
        let found = knowledge.package_libraries(&package.name, version_of(package));
        package.manager == Manager::Pip && found.is_some_and(|own| own.sonames.iter().any(|name| row.names(name)))
    };
    let listed = seen.complete.libraries || seen.packages.iter().any(holds);
    seen.complete.packages && seen.depth != Depth::Layers && listed
}
