//! Packages that require torch, each release of which may work with one torch release only: what they require of the
//! torch of an image.

use crate::cuda::CudaVersion;
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::command_request::{
    CommandRequest, InstalledRelease, earlier_installs, installed_release, last_removal,
};
use crate::infer::release_version::{is_release_at_least, parse_release};
use crate::infer::torch_release::{ImageTorch, TorchContext, TorchRequirement, joined_text, listed_torch_requirement};
use crate::infer::unread_installs::explain_possibly_installed;
use crate::knowledge::RowVersion;
use crate::model::cause::Cause;
use crate::model::fact::{InstallerBehavior, Observations};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion, VersionRange,
};
use crate::resolve::{Resolution, Selection};

/// The state of the image in which a command installs a companion.
#[derive(Clone, Copy)]
pub(super) struct CompanionContext<'a> {
    /// The torch that is installed before the command.
    pub(super) current_torch: &'a ImageTorch<'a>,
    /// The build of the base image.
    pub(super) build: &'a BaseBuild,
    /// The observations.
    pub(super) seen: &'a Observations,
    /// The Python version of the command, if known.
    pub(super) python: Option<&'a str>,
    /// The architecture and the date.
    pub(super) day: TorchContext<'a>,
}

impl CompanionContext<'_> {
    /// Returns the request of a command.
    fn request_of_command(&self, command: u32) -> CommandRequest<'_> {
        let installed = match self.current_torch {
            ImageTorch::Installed(install) => install.full_version(self.day).map(|(version, _)| version),
            ImageTorch::Base => self.build.torch.map(|(version, _)| version.cloned()),
            ImageTorch::None => None,
        };
        let installed = installed.map_or(InstalledRelease::No, InstalledRelease::Known);
        CommandRequest::new(command, installed, self.python, (self.seen, self.build), self.day)
    }
}

/// Whether a companion is installed before its command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CompanionPresence {
    No,
    Yes,
    /// Possibly; with a description of what may have installed it.
    Maybe(String),
}

/// What a package of a command requires of torch.
enum TorchDemand {
    /// Torch in a range, or an unknown one.
    Range(Result<TorchRequirement, Cause>),
    /// The torch of the release that the installer selects.
    OfSelectedRelease(CompanionPresence),
    /// That of an installed release of unknown version, which stays.
    OfInstalledRelease,
}

/// Returns what the packages of a command require of torch; those that require none are left out.
///
/// `ranges` limit torch. If the command names one version of it (`exact`), the installer selects releases of the packages
/// without a pin for that version.
pub(super) fn torch_requirements_of_command<'a>(
    packages: &[&'a ObservedPackage],
    command: u32,
    ranges: &[VersionRange],
    exact: bool,
    companion_context: CompanionContext<'_>,
) -> Vec<(&'a ObservedPackage, Result<TorchRequirement, Cause>)> {
    let demand = |package: &&'a ObservedPackage| {
        Some((*package, torch_requirement_of_package(package, exact, companion_context)?))
    };
    let demands: Vec<(&'a ObservedPackage, TorchDemand)> = packages.iter().filter_map(demand).collect();
    let is_selected =
        |(_, demand): &(&ObservedPackage, TorchDemand)| matches!(demand, TorchDemand::OfSelectedRelease(_));
    let selected = demands.iter().any(is_selected).then(|| companion_context.request_of_command(command).resolve());
    let unknown_release = demands.iter().find(|(_, demand)| matches!(demand, TorchDemand::OfInstalledRelease));
    let unknown_release = unknown_release.map(|(package, _)| package.requirement.name.to_string());
    let requirement = |(package, demand): (&'a ObservedPackage, TorchDemand)| match (demand, &selected) {
        (TorchDemand::Range(requirement), _) => Some((package, requirement)),
        (TorchDemand::OfInstalledRelease, _) => Some((package, Ok(TorchRequirement::any()))),
        (TorchDemand::OfSelectedRelease(presence), Some(selected)) => match &unknown_release {
            Some(name) => Some((package, Err(Cause::InstalledReleaseNotKnown { name: name.clone() }))),
            None => Some((
                package,
                requirement_of_selected_release(package, &presence, selected, ranges, companion_context)?,
            )),
        },
        (TorchDemand::OfSelectedRelease(_), None) => None,
    };
    demands.into_iter().filter_map(requirement).collect()
}

/// Returns what a package requires of torch; `None` if it requires none.
fn torch_requirement_of_package(
    package: &ObservedPackage,
    exact: bool,
    companion_context: CompanionContext<'_>,
) -> Option<TorchDemand> {
    let knowledge = companion_context.day.knowledge;
    let listed = || listed_torch_requirement(package, companion_context.python, knowledge).map(TorchDemand::Range);
    if exact {
        return if package.requirement.version.is_range() {
            listed().map(|_| TorchDemand::Range(Ok(TorchRequirement::any())))
        } else {
            listed()
        };
    }
    if knowledge.is_built_with_torch(&package.requirement.name) {
        let is_unresolved = matches!(package.requirement.version, PackageVersion::Unresolved(_));
        if let Some(why) = package.requirement.prerelease.as_ref().filter(|_| !is_unresolved) {
            return if prerelease_may_replace_torch(package, companion_context) {
                Some(TorchDemand::Range(Err(why.clone())))
            } else {
                listed()
            };
        }
        return match &package.requirement.version {
            PackageVersion::Range(own) => Some(if is_forced_upgrade(package, companion_context) {
                demand_of_upgrade(package, companion_context)
            } else {
                match companion_presence(package, own, companion_context) {
                    CompanionPresence::Yes => demand_of_installed(package, companion_context),
                    other => TorchDemand::OfSelectedRelease(other),
                }
            }),
            // A build from sources is compiled for the installed torch.
            PackageVersion::Unresolved(_) if is_built_from_sources(&package.requirement.indexes) => {
                Some(TorchDemand::Range(Ok(TorchRequirement::any())))
            }
            // Each of its releases requires another torch.
            PackageVersion::Unresolved(why) => Some(TorchDemand::Range(Err(why.clone()))),
            PackageVersion::Exact(_) => listed(),
        };
    }
    let has_listed_releases =
        || knowledge.torch_requirements_of(&package.requirement.name).any(|row| row.version.is_some());
    match &package.requirement.version {
        PackageVersion::Range(own) if has_listed_releases() => {
            if let Some(why) = explain_possibly_installed(companion_context.seen, package) {
                return Some(TorchDemand::Range(Err(why)));
            }
            let is_in_base =
                || companion_context.build.packages.iter().any(|(name, _)| package.requirement.name == *name);
            Some(match earlier_install(package, own, companion_context) {
                _ if is_forced_upgrade(package, companion_context) => demand_of_upgrade(package, companion_context),
                CompanionPresence::Yes => demand_of_installed(package, companion_context),
                CompanionPresence::No if is_in_base() => demand_of_installed(package, companion_context),
                other => TorchDemand::OfSelectedRelease(other),
            })
        }
        _ => listed(),
    }
}

/// Returns what a package requires of torch that a command upgrades to the newest release of its indexes.
///
/// The index of one CUDA release may end before the installed release, which then stays.
fn demand_of_upgrade(package: &ObservedPackage, companion_context: CompanionContext<'_>) -> TorchDemand {
    let CompanionContext { build, seen, .. } = companion_context;
    let name = &package.requirement.name;
    let reinstalls = seen.base_changes.installers.contains(InstallerBehavior::Reinstalls, package.command);
    let is_older = !reinstalls && matches!(package.requirement.indexes, IndexSelection::Only(_));
    if is_older && matches!(installed_release(name, package, seen, build), InstalledRelease::Unknown) {
        return TorchDemand::Range(Err(Cause::InstalledReleaseNotKnown { name: name.to_string() }));
    }
    TorchDemand::OfSelectedRelease(CompanionPresence::No)
}

/// Returns what an installed package requires of torch: its release takes part in the selection if it is listed.
fn demand_of_installed(package: &ObservedPackage, companion_context: CompanionContext<'_>) -> TorchDemand {
    let mut rows = companion_context.day.knowledge.torch_requirements_of(&package.requirement.name);
    match installed_release(&package.requirement.name, package, companion_context.seen, companion_context.build) {
        InstalledRelease::Known(version) if rows.any(|row| row.is_of_version(&version.without_local())) => {
            TorchDemand::OfSelectedRelease(CompanionPresence::No)
        }
        _ => TorchDemand::OfInstalledRelease,
    }
}

/// Returns what the selected release of a package requires of torch; `None` if it requires none.
fn requirement_of_selected_release(
    package: &ObservedPackage,
    presence: &CompanionPresence,
    selected: &Resolution,
    ranges: &[VersionRange],
    companion_context: CompanionContext<'_>,
) -> Option<Result<TorchRequirement, Cause>> {
    let knowledge = companion_context.day.knowledge;
    let row = match selected.selection(&package.requirement.name) {
        Some(Selection::Release(version) | Selection::Installed(version)) => {
            let version = version.without_local();
            knowledge.torch_requirements_of(&package.requirement.name).find(|row| row.is_of_version(&version))?
        }
        Some(Selection::Unknown(cause)) => return Some(Err(cause.clone())),
        None => {
            return Some(match selected {
                Resolution::Unknown(cause) => Err(cause.clone()),
                Resolution::Selected(_) | Resolution::Impossible(_) => Err(Cause::ReleaseForTorch {
                    package: package.requirement.name.to_string(),
                    torch: joined_text(ranges),
                }),
            });
        }
    };
    if let CompanionPresence::Maybe(who) = presence
        && !matches!(companion_context.current_torch, ImageTorch::None)
        && !row.unasked
        && installed_torch_version(companion_context.current_torch)
            .is_none_or(|version| row.range.contains(version) != Some(true))
    {
        return Some(Err(explain_possible_presence(package, who)));
    }
    if row.unasked {
        return None;
    }
    Some(Ok(match companion_context.python {
        None if !knowledge.is_built_with_torch(&package.requirement.name) => TorchRequirement::from_range(row.range),
        Some(_) => TorchRequirement::from_range(row.range),
        // A release for an older Python requires an older torch.
        None if matches!(companion_context.current_torch, ImageTorch::None) => TorchRequirement::any(),
        None => TorchRequirement::at_most(row.range),
    }))
}

/// Returns the version of the installed torch, if known.
fn installed_torch_version<'t>(current_torch: &'t ImageTorch<'_>) -> Option<&'t ExactVersion> {
    match current_torch {
        ImageTorch::Installed(install) => install.version.as_ref().ok(),
        ImageTorch::None | ImageTorch::Base => None,
    }
}

/// Whether the command installs the newest release of a package, whatever is installed.
fn is_forced_upgrade(package: &ObservedPackage, companion_context: CompanionContext<'_>) -> bool {
    package.requirement.upgrade
        || companion_context
            .seen
            .base_changes
            .installers
            .contains(InstallerBehavior::UpgradesDependencies, package.command)
}

/// Whether a pre-release may be installed that replaces the installed torch.
fn prerelease_may_replace_torch(package: &ObservedPackage, companion_context: CompanionContext<'_>) -> bool {
    let CompanionContext { current_torch, seen, day, .. } = companion_context;
    let torch = |one: &ObservedPackage| day.knowledge.has_variants(&one.requirement.name);
    let own = match &package.requirement.version {
        PackageVersion::Range(own) => own,
        PackageVersion::Exact(_) | PackageVersion::Unresolved(_) => return false,
    };
    let is_satisfied = || {
        !is_forced_upgrade(package, companion_context)
            && companion_presence(package, own, companion_context) == CompanionPresence::Yes
    };
    !matches!(current_torch, ImageTorch::None)
        && !seen.packages_of_command(package.command).any(torch)
        && !is_satisfied()
}

/// Whether a command builds the package from its sources, for the torch that is installed.
fn is_built_from_sources(offered: &IndexSelection) -> bool {
    matches!(offered, IndexSelection::Unknown(cause) if cause.is_built_from_sources())
}

/// Returns whether an earlier command names the package and installs it in an acceptable version.
fn earlier_install(
    package: &ObservedPackage,
    own: &VersionRange,
    companion_context: CompanionContext<'_>,
) -> CompanionPresence {
    let is_acceptable = |one: &&ObservedPackage| match &one.requirement.version {
        PackageVersion::Exact(version) => own.is_any() || own.contains(&version.without_local()) != Some(false),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => true,
    };
    let earlier = || earlier_installs(&package.requirement.name, package, companion_context.seen).filter(is_acceptable);
    if earlier().any(|one| one.conditional.is_none()) {
        return CompanionPresence::Yes;
    }
    match earlier().next() {
        Some(one) => CompanionPresence::Maybe(format!(
            "the command that installs {} in only some branches",
            one.requirement.name
        )),
        None => CompanionPresence::No,
    }
}

/// Returns whether an earlier command or the base image installs the package in an acceptable version.
fn companion_presence(
    package: &ObservedPackage,
    own: &VersionRange,
    companion_context: CompanionContext<'_>,
) -> CompanionPresence {
    let CompanionContext { build, seen, .. } = companion_context;
    let last_removal = last_removal(&package.requirement.name, package, seen);
    let is_kept = |command: u32| last_removal.is_none_or(|removal| removal < command);
    let earlier = earlier_install(package, own, companion_context);
    if earlier == CompanionPresence::Yes {
        return earlier;
    }
    let log = || seen.packages.iter().chain(&seen.uninstalled_packages);
    let before = || log().filter(|one| one.command < package.command && one.shares_environment_with(package));
    let after = |one: &&ObservedPackage| {
        one.requirement.manager == PackageManager::Pip && !one.requirement.no_deps && is_kept(one.command)
    };
    let brings: Vec<(&ObservedPackage, CompanionDependency)> = before()
        .filter(after)
        .map(|one| (one, companion_dependency(one, &package.requirement.name, companion_context)))
        .collect();
    if brings.iter().any(|(one, brings)| *brings == CompanionDependency::Yes && one.conditional.is_none()) {
        return CompanionPresence::Yes;
    }
    // An environment of its own does not see what the base has.
    if package.separate_environment().is_none() && last_removal.is_none() {
        let of_base = |(name, version): &(&str, RowVersion)| {
            let reaches = |from| parse_release(version.as_str()).is_some_and(|version| from <= version);
            let companion = &package.requirement.name;
            *name == *companion
                || companion_context.day.knowledge.requires_companion(name, companion, reaches) == Some(true)
        };
        let base_has_torch =
            build.torch.is_some() || build.torch_bounds.is_some() || build.other_vendor_torch.is_some();
        if base_has_torch || build.packages.iter().any(of_base) {
            return CompanionPresence::Yes;
        }
        if !matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda) {
            return CompanionPresence::Maybe("the base image".to_owned());
        }
    }
    if let Some((one, _)) = brings.iter().find(|(_, brings)| *brings != CompanionDependency::No) {
        return CompanionPresence::Maybe(one.requirement.name.to_string());
    }
    if earlier != CompanionPresence::No {
        return earlier;
    }
    if seen
        .base_changes
        .installers
        .commands(InstallerBehavior::InstallsUnknown)
        .iter()
        .any(|command| *command < package.command && is_kept(*command))
    {
        return CompanionPresence::Maybe("an earlier command".to_owned());
    }
    CompanionPresence::No
}

/// Whether a package has a companion as a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompanionDependency {
    No,
    Yes,
    Maybe,
}

/// Returns whether installing a package also installs a companion.
fn companion_dependency(
    one: &ObservedPackage,
    companion: &str,
    companion_context: CompanionContext<'_>,
) -> CompanionDependency {
    let knowledge = companion_context.day.knowledge;
    let reaches = |from: CudaVersion| is_release_at_least(one, from);
    if let Some(requires) = knowledge.requires_companion(&one.requirement.name, companion, reaches) {
        return if requires { CompanionDependency::Yes } else { CompanionDependency::No };
    }
    let known = knowledge.has_variants(&one.requirement.name)
        || knowledge.is_built_with_torch(&one.requirement.name)
        || knowledge.is_library_free(&one.requirement.name, reaches)
        || knowledge.library_packages().iter().any(|row| row.name == one.requirement.name);
    if known { CompanionDependency::No } else { CompanionDependency::Maybe }
}

/// Explains why it is unknown whether a companion is already installed.
fn explain_possible_presence(package: &ObservedPackage, who: &str) -> Cause {
    let name = &package.requirement.name;
    Cause::MayAlreadyInclude { source: who.to_string(), name: name.to_string() }
}
