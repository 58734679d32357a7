//! What commands install by lists, projects and scripts that were not read: a later command keeps what is there of it.

use crate::fact::FactId;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Why;
use crate::install::is_source;

/// Why it is unknown whether what a command installs is there already: the command, or an earlier one, installs by
/// something that was not read.
///
/// A version that is `pinned` stays with sources that the same command installs, which name no index, and behind scripts.
pub(super) fn there_already(seen: &Observations, command: u32, pinned: bool) -> Option<Why> {
    let counts = |number: u32, fact: FactId| {
        let source = || seen.facts.get(fact).of.as_deref().is_some_and(is_source);
        let passed = || seen.of_base.scripts.contains(&fact) || (number == command && source());
        number <= command && !(pinned && passed())
    };
    let (_, fact) = seen.of_base.unknown_wheels.iter().find(|(number, fact)| counts(*number, *fact))?;
    match &seen.facts.get(*fact).state {
        State::Unknown(why) => Some(why.clone()),
        State::Known(_) | State::Absent { .. } => None,
    }
}

/// The same of a package whose command keeps what is there.
pub(super) fn may_be_kept(seen: &Observations, package: &PackageSeen) -> Option<Why> {
    let pinned = matches!(package.version, PackageVersion::Exact(_));
    there_already(seen, package.command, pinned).filter(|_| !replaces(seen, package))
}

/// Whether a package takes the place of what is there, in any build.
///
/// Every package of an environment of its own counts as an upgrade, so that this tells nothing there.
pub(super) fn replaces(seen: &Observations, package: &PackageSeen) -> bool {
    let pinned = matches!(package.version, PackageVersion::Exact(_));
    let of_conda = package.manager == Manager::Conda && pinned;
    of_conda || (package.upgrade && !package.apart) || seen.of_base.renewing.contains(&package.command)
}
