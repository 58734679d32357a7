//! Wheels whose libraries come along as packages of their own: whether these were left out, or taken away again.

use crate::fact::Depth;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageGone;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::infer::libraries::Says;
use crate::infer::libraries::version_of;
use crate::infer::replaced::is_replaced;
use crate::infer::settled::pins;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::knowledge::LibraryNeedsRow;

/// The architecture whose builds of a project's own index the tables tell of.
const TOLD_OF: &str = "amd64";

/// Whether the wheel that counts may lack what comes along with it: it was installed without that, a part of it was
/// taken away, or a full list of packages leaves a part out.
pub(super) fn is_bare(
    facts: &Facts,
    seen: &Observations,
    package: &PackageSeen,
    row: &LibraryNeedsRow,
    knowledge: Knowledge,
) -> bool {
    let counts = is_last(seen, package) && is_told(facts, package, knowledge);
    // What lies in an image tells by itself what it asks for.
    let lacking = || row.sonames().any(|soname| taken_away(seen, package, soname, knowledge));
    seen.depth != Depth::Layers
        && row_of(package, knowledge).is_some()
        && package.conditional.is_none()
        && counts
        && (package.alone || lists_one_by_one(seen, row, knowledge) || lacking())
}

/// Why it is not known what a wheel asks for that was installed without what it depends on: of some of its builds the
/// libraries come along, and no table says it of this one, or which of them it is.
pub(super) fn untold(seen: &Observations, package: &PackageSeen, arch: &str, knowledge: Knowledge) -> Option<Why> {
    let of_command = package.manager == Manager::Pip && package.conditional.is_none() && seen.depth != Depth::Layers;
    if !package.alone || !of_command || !is_last(seen, package) {
        return None;
    }
    let rows = knowledge.library_needs().iter().filter(|row| row.along && row.distribution == package.name);
    let first = rows.map(|row| row.from).min()?;
    let version = version_of(package);
    if version.is_some_and(|version| version < first) {
        return None;
    }
    let row = version.and_then(|version| knowledge.needs_of(&package.name, version));
    let known = row.is_some_and(|row| match build_of(package) {
        Some(Build::Default) => true,
        Some(Build::Named(build)) => arch == TOLD_OF && (row.builds.contains(&build) || row.whole.contains(&build)),
        None => false,
    });
    // A list that names the wheels of libraries one by one may be whole, and another command may have brought them.
    let wheel = |one: &PackageSeen| knowledge.library_wheel(&one.name).is_some();
    let whole = |one: &PackageSeen| !one.alone && (one.name == package.name || pins(one, knowledge));
    let brings = |one: &PackageSeen| one.manager == Manager::Pip && (wheel(one) || whole(one));
    if known || seen.packages.iter().any(brings) {
        return None;
    }
    let name = &package.name;
    Some(Why {
        reason: format!(
            "{name} is installed without its dependencies, and the compatibility database does not list whether \
                this build includes its libraries"
        ),
        supply: format!("install {name} with its dependencies, or scan the built image"),
    })
}

/// Whether nothing that comes later has its name.
fn is_last(seen: &Observations, package: &PackageSeen) -> bool {
    seen.packages.iter().rfind(|one| one.name == package.name).is_some_and(|last| last.fact == package.fact)
}

/// A build of a wheel.
enum Build<'a> {
    /// That of the default index.
    Default,
    /// One of the project's own index: `cu121`.
    Named(&'a str),
}

/// The build that a command asks for; none where that is not known.
fn build_of(package: &PackageSeen) -> Option<Build<'_>> {
    let PackageVersion::Exact(text) = &package.version else { return None };
    let local = text.split_once('+').map(|(_, local)| local);
    match (local.or(package.variant.as_deref()), &package.offered) {
        (Some(build), _) => Some(Build::Named(build)),
        (None, Offered::Default) => Some(Build::Default),
        (None, Offered::Only(build)) => Some(Build::Named(build)),
        (None, Offered::Beside(_) | Offered::Unknown(_)) => None,
    }
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

/// The row of a wheel whose libraries come along: one of the default index, or a build that asks for the same.
pub(super) fn row_of(package: &PackageSeen, knowledge: Knowledge) -> Option<&'static LibraryNeedsRow> {
    let version = version_of(package).filter(|_| package.manager == Manager::Pip)?;
    let row = knowledge.needs_of(&package.name, version).filter(|row| row.along)?;
    let known = match build_of(package)? {
        Build::Default => true,
        Build::Named(build) => row.builds.contains(&build),
    };
    known.then_some(row)
}

/// Whether the version of the component is that of the package: a later command may have brought another.
fn is_told(facts: &Facts, package: &PackageSeen, knowledge: Knowledge) -> bool {
    let PackageVersion::Exact(text) = &package.version else { return false };
    let Some(framework) = knowledge.framework(&package.name) else { return false };
    let own = |key: FactKey, of: Option<&str>| key == FactKey::ComponentVersion && of == Some(framework.component);
    let said = facts.iter().filter(|(_, entry)| own(entry.key, entry.of.as_deref())).last();
    said.is_some_and(
        |(_, entry)| matches!(&entry.state, State::Known(Value::Text(version)) if public(version) == public(text)),
    )
}

/// Whether a later command takes away the package with a library, of those that came along, or puts one without it there.
fn taken_away(seen: &Observations, package: &PackageSeen, soname: &str, knowledge: Knowledge) -> bool {
    let holds = |name: &str| {
        let mut rows = knowledge.library_packages().iter();
        rows.any(|row| row.name == name && row.sonames.contains(&soname))
    };
    let later = |command: u32| command >= package.command;
    let taken = |gone: &PackageGone| gone.manager == Manager::Pip && later(gone.command) && holds(&gone.name);
    seen.gone.iter().any(taken) || is_replaced(seen, package, soname, knowledge)
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
