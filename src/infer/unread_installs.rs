//! Installs from lists, projects and scripts that were not read: a later command leaves their packages in place.

use crate::install::is_source_requirement;
use crate::model::cause::Cause;
use crate::model::fact::{FactId, InstallerBehavior, Observations, ValueState};
use crate::model::package::{ObservedPackage, PackageManager};

/// Explains why a package may already be installed: this command or an earlier one installs something that was not
/// read.
///
/// A version that is `pinned` stays with sources that the same command installs, which name no index, and behind scripts.
pub(super) fn explain_possible_earlier_install(seen: &Observations, command: u32, pinned: bool) -> Option<Cause> {
    let counts = |number: u32, fact: FactId| {
        let source = || seen.facts.get(fact).subject.as_deref().is_some_and(is_source_requirement);
        let passed = || seen.base_changes.scripts.contains(&fact) || (number == command && source());
        number <= command && !(pinned && passed())
    };
    let (_, fact) = seen.base_changes.unknown_wheels.iter().find(|(number, fact)| counts(*number, *fact))?;
    match &seen.facts.get(*fact).state {
        ValueState::Unknown(why) => Some(why.clone()),
        ValueState::Known(_) | ValueState::Absent { .. } => None,
    }
}

/// Explains why a package may already be installed, if its command leaves installed packages in place.
pub(super) fn explain_possibly_installed(seen: &Observations, package: &ObservedPackage) -> Option<Cause> {
    let pinned = package.requirement.version.is_exact();
    explain_possible_earlier_install(seen, package.command, pinned).filter(|_| !replaces_installed_build(seen, package))
}

/// Whether a package replaces an installed one in any build.
pub(super) fn replaces_installed_build(seen: &Observations, package: &ObservedPackage) -> bool {
    let pinned = package.requirement.version.is_exact();
    let of_conda = package.requirement.manager == PackageManager::Conda && pinned;
    of_conda
        || (package.requirement.upgrade && package.separate_environment().is_none())
        || seen.base_changes.installers.contains(InstallerBehavior::UpgradesDependencies, package.command)
}
