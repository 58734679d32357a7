//! Conversion of the installs and removals of a command to package observations.

use crate::install::{InstallEffects, PackageInstall, normalise_name};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactKey, Facts, IndexSelection, Observations, ObservedPackage, Origin, PackageManager, PackageVersion,
    PrintedValue, RemovedPackage, ValueState,
};

/// Returns the package observation of one install, and adds its fact with these origins.
pub(super) fn observe_package(
    facts: &mut Facts,
    install: &PackageInstall,
    origins: Vec<Origin>,
    command: u32,
    knowledge: Knowledge,
) -> ObservedPackage {
    let version = match &install.version {
        PackageVersion::Unresolved(why) => PackageVersion::Unresolved(unresolved_version_reason(install, why)),
        version => version.clone(),
    };
    let asked = match &version {
        PackageVersion::Exact(text) => format!("{}=={text}", install.name),
        PackageVersion::Range(range) => format!("{}{range}", install.name),
        PackageVersion::Unresolved(_) => install.name.clone(),
    };
    let state = ValueState::Known(PrintedValue::Text(asked));
    let fact = facts.add(FactKey::Package, Some(&install.name), state, Evidence::Leaf(origins));
    let offered = match &install.indexes {
        IndexSelection::Unknown(reason) if !matches!(reason, Cause::OutsideIndex { .. }) => {
            IndexSelection::Unknown(Cause::BuildNotKnown { because: Box::new(reason.clone()) })
        }
        indexes => indexes.clone(),
    };
    let conditional = install.conditional.then(|| Cause::InstalledByBranch { name: install.name.clone() });
    let early = install
        .prerelease
        .clone()
        .map(|because| Cause::EarlyVersion { name: install.name.clone(), because: Box::new(because) });
    let extras: Vec<String> = install.extras.iter().map(|extra| normalise_name(extra)).collect();
    let bare = install.manager == PackageManager::Pip && knowledge.lacks_library_extra(&install.name, &extras);
    let of_processor = |extra: &&String| knowledge.other_processor_of_word(extra).is_some();
    let of_extra = extras.iter().find(of_processor).filter(|_| knowledge.cpu_package(&install.name).is_some());
    ObservedPackage {
        prerelease: early,
        manager: install.manager,
        name: install.name.clone(),
        version,
        variant: install.variant.as_ref().map(|variant| &variant.tag).or(of_extra).cloned(),
        indexes: offered,
        upgrade: install.upgrade,
        no_deps: install.no_deps || bare,
        channel: install.channel.clone(),
        python: install.python.clone(),
        conditional,
        separate_environment: false,
        command,
        fact,
    }
}

/// Returns why the version of a package is unknown.
fn unresolved_version_reason(install: &PackageInstall, why: &Cause) -> Cause {
    match why {
        Cause::VariableWithoutValue => Cause::VersionBehindVariable { name: install.name.clone() },
        why => Cause::VersionNotKnown { name: install.name.clone(), because: Box::new(why.clone()) },
    }
}

/// Removes the packages that the current command uninstalls from the observations.
pub(super) fn remove_packages(seen: &mut Observations, found: &InstallEffects) {
    for (manager, name, _) in &found.removed {
        seen.packages.retain(|package| package.manager != *manager || package.name != *name);
        seen.removed_packages.push(RemovedPackage { manager: *manager, name: name.clone(), command: seen.commands });
    }
}
