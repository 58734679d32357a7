//! The torch that an image ends up with: per command, what is requested, installed as a dependency, replaced or kept.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::command_request::CommandRequest;
use crate::infer::python_version::python_of_package;
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::torch_ecosystem::{CompanionContext, torch_requirements_of_command};
use crate::infer::torch_release::{
    ImageTorch, TorchBuilder, TorchContext, TorchInstall, TorchRequirement, is_build_tag, is_in_all_ranges,
    is_torch_package, newest_torch, required_distribution, requires_torch, torch_as_specified, verify_build,
};
use crate::infer::unread_installs::{explain_possible_earlier_install, replaces_installed_build};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{InspectionDepth, InstallerBehavior, Observations};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, PythonLocation,
    VersionRange,
};
use crate::resolve::{Conflict, Resolution};

impl TorchInstall<'_> {
    /// Whether it replaces the installed torch: by an option of the command, or because the command names one build.
    fn replaces_installed(&self, seen: &Observations, knowledge: Knowledge) -> bool {
        let named = |bound: &&ObservedPackage| Some(bound.fact) == self.deciding_fact;
        let named = seen.bounds.iter().find(named).unwrap_or(self.package);
        let local = named.requirement.version.local().is_some();
        let own = is_torch_package(self.package, knowledge) && replaces_installed_build(seen, self.package);
        own || (is_torch_package(named, knowledge) && local)
            || seen.base_changes.installers.contains(InstallerBehavior::UpgradesDependencies, self.package.command)
    }

    /// Returns its version as installers compare it, with the local part of its wheel, and `true` if the local part is
    /// known; `None` for an unknown version. Packages of conda have no local part.
    pub(super) fn full_version(&self, day: TorchContext<'_>) -> Option<(ExactVersion, bool)> {
        let version = self.version.as_ref().ok()?;
        if self.package.requirement.manager == PackageManager::Conda {
            // Other channels than that of torch add a build number: `2.3.1.post300`.
            let own = |channel: &str| day.knowledge.conda_variants().iter().any(|row| row.channel == Some(channel));
            return Some((version.clone(), matches!(self.maker, TorchBuilder::Channel(channel) if own(channel))));
        }
        let own = is_torch_package(self.package, day.knowledge) && self.deciding_fact.is_none();
        let variant = match (&self.package.requirement.version, &self.variant) {
            (PackageVersion::Exact(text), _) if own && text.local().is_some() => return Some((text.clone(), true)),
            (PackageVersion::Exact(text), Err(why)) if own && why.address_outside_index().is_some() => {
                return Some((text.clone(), true));
            }
            (_, Err(_)) => return Some((version.clone(), false)),
            (_, Ok(variant)) => variant.as_ref(),
        };
        let named = |tag: &&String| !day.knowledge.is_unnamed_torch_build(version, tag, day.arch);
        let local = variant.filter(named);
        let built = local.map_or_else(|| version.clone(), |tag| ExactVersion::from(format!("{version}+{tag}")));
        Some((built, true))
    }

    /// Returns what is installed after an upgrade that offers this torch, where the installed one satisfies the
    /// requirements; `None` if that one stays, since it is as new. The local version `2.3.1+cpu` is newer than `2.3.1`
    /// (PEP 440).
    fn or_as_new(self, current_torch: &ImageTorch<'_>, build: &BaseBuild, day: TorchContext<'_>) -> Option<Self> {
        let installed = match current_torch {
            ImageTorch::None => None,
            ImageTorch::Base => build.torch.map(|(version, _)| (version.cloned(), false)),
            ImageTorch::Installed(installed) => installed.full_version(day),
        };
        let both = installed.zip(self.full_version(day));
        let Some(((installed, complete), (offered, offer_complete))) = both else { return Some(self) };
        let public = installed.without_local().compare_valid(&offered.without_local());
        let whole = installed.compare_valid(&offered).filter(|_| complete && offer_complete);
        let of_conda = matches!(current_torch, ImageTorch::Installed(torch) if torch.package.requirement.manager == PackageManager::Conda);
        let plain_offer = offer_complete && offered.local().is_none() && (complete || !of_conda);
        let Some(public) = public else { return Some(self) };
        if public.is_gt() || public.is_eq() && (plain_offer || whole.is_some_and(Ordering::is_ge)) {
            return None;
        }
        if public.is_lt() || whole.is_some() {
            return Some(self);
        }
        // Which of two builds of one version is newer is unknown.
        Some(match current_torch {
            ImageTorch::Installed(TorchInstall { variant: Err(why), .. }) => Self { variant: Err(why.clone()), ..self },
            _ => self.or_base_build(),
        })
    }

    /// Whether its version is the only one that satisfies the requirements.
    fn is_pinned(&self) -> bool {
        self.version.is_ok() && !self.newest
    }

    /// Joins this install with an earlier one of any build: the build becomes unknown, and an unpinned version too.
    fn or_already_installed(self, why: Cause) -> Self {
        let variant = Err(why.clone());
        let known = if self.is_pinned() { self } else { Self::unknown(self.package, why) };
        Self { variant, ..known }
    }

    /// Joins this install with an installed one of unknown version, which may be a newer build of the same version.
    ///
    /// A requirement with a local version names the build.
    fn or_newer_installed(self, current_torch: &ImageTorch<'_>, named: Option<&ObservedPackage>) -> Self {
        let ImageTorch::Installed(TorchInstall { version: Err(why), .. }) = current_torch else { return self };
        if why.is_about_unread_base() || named.is_some_and(|named| named.requirement.version.local().is_some()) {
            return self;
        }
        Self { variant: Err(why.clone()), ..self }
    }

    /// Joins this install with the case that its command is skipped: the build stays known only if it is the installed
    /// one.
    fn or_skipped(self, current_torch: &ImageTorch<'_>, open_base: bool) -> Self {
        let alike = match current_torch {
            ImageTorch::None => !open_base,
            ImageTorch::Base => false,
            ImageTorch::Installed(other) => {
                self.variant.is_ok() && self.variant.as_ref().ok() == other.variant.as_ref().ok()
            }
        };
        match &self.version {
            Err(why) if !alike => Self { variant: Err(why.clone()), ..self },
            _ => self,
        }
    }

    /// Returns this install with two known releases as candidates, if all are wheels of the same variant; otherwise
    /// unchanged.
    fn with_two_candidates(self, two: [&TorchInstall<'_>; 2], knowledge: Knowledge) -> Self {
        let [one, other] = two;
        let wheels =
            two.iter().all(|install| install.maker == TorchBuilder::Wheel && self.maker == TorchBuilder::Wheel);
        let rows = two.map(|install| knowledge.torch_release(install.version.as_ref().ok()?));
        match (rows, &one.variant, &other.variant) {
            ([Some(first), Some(second)], Ok(variant), Ok(same)) if wheels && variant == same => {
                Self { variant: Ok(variant.clone()), candidates: vec![first, second], closed: true, ..self }
            }
            _ => self,
        }
    }

    /// Joins this install with that of a base image that may contain the version: a pin accepts any build of it.
    fn or_base_build(self) -> Self {
        let Ok(version) = &self.version else { return self };
        let name = &self.package.requirement.name;
        let why = Cause::BaseMayIncludeBuild { name: name.to_string(), version: version.to_string() };
        Self { variant: Err(why), ..self }
    }

    /// Joins this install with an earlier one of unknown version: if that is the same version, its build stays.
    fn or_previous_build(self, other: &TorchInstall<'_>, ranges: &[VersionRange]) -> Self {
        let Err(why) = &other.version else { return self };
        let of_same = (&other.package.requirement.indexes, &other.package.variant)
            == (&self.package.requirement.indexes, &self.package.variant);
        let replaced = match &other.package.requirement.version {
            PackageVersion::Exact(version) => is_in_all_ranges(ranges, version) == Some(false),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => false,
        };
        if !of_same && !replaced && !why.is_about_unread_base() {
            Self { variant: Err(why.clone()), ..self }
        } else {
            self
        }
    }
}

impl ImageTorch<'_> {
    /// Whether its version is known.
    fn is_version_known(&self) -> bool {
        matches!(self, Self::Installed(install) if install.version.is_ok())
    }
}

/// Determines the torch of the image by applying its commands in order.
pub(super) fn resolve_torch<'a>(
    seen: &'a Observations,
    build: &BaseBuild,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> ImageTorch<'a> {
    let day = TorchContext { arch, as_of, knowledge };
    let base_has_torch = build.torch.is_some() || build.torch_bounds.is_some();
    let base_torch =
        if base_has_torch || build.other_vendor_torch.is_some() { ImageTorch::Base } else { ImageTorch::None };
    if seen.depth != InspectionDepth::Text {
        let of_manager = |accepts: &dyn Fn(PackageManager) -> bool| {
            seen.packages
                .iter()
                .rfind(|package| is_torch_package(package, knowledge) && accepts(package.requirement.manager))
        };
        let of_conda = of_manager(&|manager| manager == PackageManager::Conda)
            .map(|package| torch_from_conda(package, seen, knowledge));
        let of_pip = of_manager(&|manager| manager != PackageManager::Conda)
            .map(|package| verify_build(torch_as_specified(package, day), seen, day));
        return match (of_pip, of_conda) {
            (Some(pip), Some(conda)) => ImageTorch::Installed(select_imported_torch(pip, conda, seen, day)),
            (Some(one), None) | (None, Some(one)) => ImageTorch::Installed(one),
            (None, None) => base_torch,
        };
    }
    let open_base = build.torch.is_none() && !matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda);
    let commands: BTreeSet<u32> = seen
        .packages
        .iter()
        .chain(&seen.uninstalled_packages)
        .map(|package| package.command)
        .chain(seen.removed_packages.iter().map(|removed| removed.command))
        .collect();
    let mut environments = BTreeMap::from([(None, EnvironmentTorch { torch: base_torch, open_base })]);
    // The environment whose torch changed last is the one of the image.
    let mut last = None;
    for command in commands {
        for removed in seen.removed_packages.iter().filter(|removed| removed.command == command) {
            if knowledge.has_variants(&removed.name) {
                last = environment_folder(removed.location.as_ref());
                environments.insert(last, EnvironmentTorch::default());
            }
        }
        let here: Vec<&ObservedPackage> = seen.packages_of_command(command).collect();
        let location = here.iter().find_map(|package| package.location.as_ref());
        // An unknown Python is taken to be the one that was changed last.
        let own = match location {
            Some(PythonLocation::Unknown) => last,
            location => environment_folder(location),
        };
        let is_separate = location.is_some_and(|location| location.separate_environment().is_some());
        // A separate environment does not see packages outside it.
        let outer = environments.get(&None).filter(|_| !is_separate).cloned().unwrap_or_default();
        let environment = environments.entry(own).or_insert(outer);
        let EnvironmentTorch { torch: current_torch, open_base } = &*environment;
        if let Some(install) = apply_command(&here, current_torch, *open_base, seen, build, day) {
            let install = match explain_possible_earlier_install(seen, command, install.is_pinned()) {
                Some(why) if !current_torch.is_version_known() && !install.replaces_installed(seen, knowledge) => {
                    install.or_already_installed(why)
                }
                _ => install,
            };
            let torch = ImageTorch::Installed(verify_build(install, seen, day));
            *environment = EnvironmentTorch { torch, open_base: false };
            last = own;
        }
    }
    match environments.remove(&last).unwrap_or_default().torch {
        ImageTorch::Installed(install) => ImageTorch::Installed(reconcile_with_cuda_builds(install, seen, knowledge)),
        torch => torch,
    }
}

/// The torch of one Python environment.
#[derive(Clone)]
struct EnvironmentTorch<'a> {
    torch: ImageTorch<'a>,
    /// Whether the base image may contain another one.
    open_base: bool,
}

impl Default for EnvironmentTorch<'_> {
    fn default() -> Self {
        Self { torch: ImageTorch::None, open_base: false }
    }
}

/// Returns the folder of an environment, if the location is one.
fn environment_folder(location: Option<&PythonLocation>) -> Option<&str> {
    match location {
        Some(PythonLocation::Environment { folder, .. }) => Some(folder),
        Some(PythonLocation::Folder(_) | PythonLocation::Unknown) | None => None,
    }
}

/// Whether an unread base image may contain the pinned package: its name contains the package name, or is unknown.
fn base_may_include(build: &BaseBuild, package: &ObservedPackage, knowledge: Knowledge) -> bool {
    let of_index = package.variant.is_none() && package.requirement.indexes == IndexSelection::Default;
    of_index && build.torch_bounds.is_none() && build.name_may_contain(required_distribution(package, knowledge))
}

/// Returns the ranges that a command and its constraints require of torch, and why others are unknown.
fn requested_ranges<'a>(
    requested: Option<&'a ObservedPackage>,
    bounds: impl Iterator<Item = &'a ObservedPackage>,
) -> (Vec<VersionRange>, Option<Cause>) {
    let is_exact = requested.is_some_and(|requested| requested.requirement.version.is_exact());
    let (mut ranges, mut unknown_cause) = (Vec::new(), None);
    for package in requested.into_iter().chain(bounds) {
        match (&package.requirement.version, &package.conditional) {
            (_, Some(why)) if Some(package.fact) != requested.map(|requested| requested.fact) => {
                unknown_cause = unknown_cause.or_else(|| Some(why.clone()));
            }
            (PackageVersion::Exact(version), _) => ranges.push(VersionRange::exactly(version)),
            (PackageVersion::Range(range), _) => ranges.push(range.clone()),
            // A bound that is not known changes nothing about the one version that a command names.
            (PackageVersion::Unresolved(_), _) if is_exact => {}
            (PackageVersion::Unresolved(why), _) => unknown_cause = unknown_cause.or_else(|| Some(why.clone())),
        }
    }
    (ranges, unknown_cause)
}

/// Returns the torch that one command installs; `None` if it changes nothing.
fn apply_command<'a>(
    here: &[&'a ObservedPackage],
    current_torch: &ImageTorch<'_>,
    open_base: bool,
    seen: &'a Observations,
    build: &BaseBuild,
    day: TorchContext<'_>,
) -> Option<TorchInstall<'a>> {
    let is_exact = |package: &&ObservedPackage| package.requirement.version.is_exact();
    let torches = || here.iter().copied().filter(|package| is_torch_package(package, day.knowledge));
    // Of several requirements on torch, a pin determines the release.
    let is_certain_pin = |package: &&ObservedPackage| is_exact(package) && package.conditional.is_none();
    let requested = torches().rfind(is_certain_pin).or_else(|| torches().next_back());
    let command = here.first()?.command;
    let bounds =
        || seen.bounds.iter().filter(|bound| bound.command == command && is_torch_package(bound, day.knowledge));
    // What names one version: the command itself, else what bounds it.
    let bound = || bounds().filter(|bound| bound.conditional.is_none()).rfind(is_exact);
    let named = requested
        .filter(is_exact)
        .or_else(|| bound().filter(|_| requested.is_none_or(|requested| requested.requirement.version.is_range())));
    let exact = named.is_some();
    // Next to a pin, a requirement of only some branches changes nothing, or ends the build.
    let counts = |package: &&ObservedPackage| {
        let is_pinned = requested.is_some_and(|requested| is_certain_pin(&requested));
        package.requirement.manager == PackageManager::Pip && (package.conditional.is_none() || !is_pinned)
    };
    let others = torches().filter(|package| Some(package.fact) != requested.map(|requested| requested.fact));
    let (mut ranges, mut unknown_cause) = requested_ranges(requested, bounds().chain(others.filter(counts)));
    let runs_on = here.first().and_then(|package| python_of_package(seen, package, day.knowledge).ok());
    let companion_context = CompanionContext { current_torch, build, seen, python: runs_on.as_deref(), day };
    let others = other_pip_packages(here, requested, build);
    let pins = torch_requirements_of_command(&others, command, &ranges, exact, companion_context);
    // A package that was not read may require any build.
    let unread = |(package, _): &&(&'a ObservedPackage, Result<TorchRequirement, Cause>)| {
        matches!(package.requirement.indexes, IndexSelection::Unknown(_))
    };
    let first = pins.iter().find(unread).or(pins.first());
    let package = requested.or_else(|| first.map(|(package, _)| *package))?;
    if package.requirement.manager == PackageManager::Conda {
        return Some(torch_from_conda(package, seen, day.knowledge));
    }
    let perhaps = |other: &&&ObservedPackage| package.conditional.is_none() && requires_torch(other, day.knowledge);
    let mut possible = here.iter().filter(perhaps).filter_map(|other| other.conditional.clone());
    unknown_cause = unknown_cause.or_else(|| possible.next().filter(|_| !exact));
    let older = find_possibly_older_requirement(&pins, &ranges, current_torch, build, day);
    for (_, pin) in &pins {
        match pin {
            Ok(ask) => ranges.push(ask.range.clone()),
            Err(why) if !exact => unknown_cause = unknown_cause.or_else(|| Some(why.clone())),
            Err(_) => {}
        }
    }
    let upgraded = requested.is_some_and(|requested| requested.requirement.upgrade)
        || seen.base_changes.installers.contains(InstallerBehavior::UpgradesDependencies, command);
    // A version of a pre-release index requires one of the same kind.
    let reinstalled = seen.base_changes.installers.contains(InstallerBehavior::Reinstalls, command)
        || requested.is_none()
            && package.requirement.prerelease.is_some()
            && !matches!(package.requirement.indexes, IndexSelection::Default | IndexSelection::DefaultAndExtra(_));
    let replaced = upgraded || reinstalled;
    let kept = || unknown_cause.is_none() && satisfies_ranges(current_torch, build, &ranges, day);
    if !replaced && (kept() || keeps_other_vendor_torch(package, current_torch, build)) {
        return None;
    }
    if let Some(older) = older.filter(|_| unknown_cause.is_none() && !replaced) {
        return Some(TorchInstall::unknown(older, explain_older_requirement(older)));
    }
    let certain = unknown_cause.is_none();
    if let Some(why) = unknown_cause.or_else(|| package.conditional.clone()) {
        let sure = || newest_torch(package, &ranges, &python_of_package(seen, package, day.knowledge), day);
        let sure = (certain && package.conditional.is_some()).then(sure);
        return Some(uncertain_torch(package, requested, why, sure, (current_torch, open_base), day.knowledge));
    }
    if let (ImageTorch::Installed(TorchInstall { version: Err(why), .. }), false, false) =
        (current_torch, replaced, exact)
    {
        return Some(TorchInstall::unknown(package, why.clone()));
    }
    if open_base && !exact {
        let why = Cause::BaseMayInclude { name: required_distribution(package, day.knowledge).to_owned() };
        // An installed torch stays, whatever index it is from: the build is unknown, too.
        let variant = Err(why.clone());
        return Some(TorchInstall { variant, ..TorchInstall::unknown(package, why) });
    }
    let chosen = match named {
        Some(named) => {
            if let Some(why) = explain_impossible_pin(named, package, companion_context) {
                return Some(TorchInstall { variant: Err(why.clone()), ..TorchInstall::unknown(package, why) });
            }
            let deciding_fact = Some(named.fact).filter(|fact| *fact != package.fact);
            let install = TorchInstall { package, deciding_fact, ..torch_as_specified(named, day) };
            let local = named.requirement.version.local().is_some();
            if open_base && !local && base_may_include(build, package, day.knowledge) {
                return Some(install.or_base_build());
            }
            match current_torch {
                ImageTorch::Installed(other) if !replaced && !local => install.or_previous_build(other, &ranges),
                _ => install,
            }
        }
        None => newest_torch(package, &ranges, &python_of_package(seen, package, day.knowledge), day),
    };
    let prefers_newer = upgraded && !reinstalled;
    let chosen = if prefers_newer { chosen.or_newer_installed(current_torch, named) } else { chosen };
    if prefers_newer && satisfies_ranges(current_torch, build, &ranges, day) {
        chosen.or_as_new(current_torch, build, day)
    } else {
        Some(chosen)
    }
}

/// Explains why an installer cannot install a pinned torch: the requirements of the command conflict, or the release has
/// no wheel for the Python version.
fn explain_impossible_pin(
    pin: &ObservedPackage,
    package: &ObservedPackage,
    companion_context: CompanionContext<'_>,
) -> Option<Cause> {
    let CompanionContext { seen, python, day, .. } = companion_context;
    let PackageVersion::Exact(version) = &pin.requirement.version else { return None };
    let is_unknown_index = matches!(package.requirement.indexes, IndexSelection::Unknown(_));
    if seen.depth != InspectionDepth::Text || pin.requirement.manager != PackageManager::Pip || is_unknown_index {
        return None;
    }
    let name = required_distribution(package, day.knowledge).to_owned();
    let version = version.without_local();
    let row = day.knowledge.torch_release(&version)?;
    if let Some(python) =
        python.filter(|python| day.catalog(Some(python), &package.requirement.indexes).lacks_wheel(row))
    {
        return Some(Cause::ReleaseWithoutWheel { name, version: version.to_string(), python: python.to_owned() });
    }
    if !checks_requirements(package.command, seen, python) {
        return None;
    }
    let request = CommandRequest::of_certain_requirements(package.command, python, seen, day);
    let Resolution::Impossible(conflict) = request.resolve() else { return None };
    let conflict = conflict.unwrap_or_else(|| Conflict {
        name: PackageName::python(&name),
        requirements: vec![(None, VersionRange::exactly(&version))],
    });
    let excludes = |range: &VersionRange| range.contains(&version) == Some(false);
    let is_torch = day.knowledge.has_variants(&conflict.name);
    let pinned = || version.to_string();
    if let Some(range) = request.constraints_on(&conflict.name).find(|range| is_torch && excludes(range)) {
        let package = "a constraint".to_owned();
        return Some(Cause::ConflictingPins { name, version: pinned(), package, range: range.to_string() });
    }
    let mut of_packages = conflict.requirements.iter().filter_map(|(parent, range)| Some((parent.as_ref()?, range)));
    match of_packages.find(|(_, range)| is_torch && excludes(range)) {
        Some((parent, range)) => {
            let is_parent = |other: &&ObservedPackage| other.requirement.name == *parent;
            let written = seen.packages_of_command(package.command).find(is_parent);
            let package = match written.map(|other| &other.requirement.version) {
                Some(PackageVersion::Exact(version)) => format!("{parent} {version}"),
                _ => parent.to_string(),
            };
            Some(Cause::ConflictingPins { name, version: pinned(), package, range: range.to_string() })
        }
        None => Some(Cause::ConflictingRequirements {
            name: conflict.name.to_string(),
            requirements: describe_requirements(&conflict),
        }),
    }
}

/// Describes requirements that exclude each other: `vllm requires >=4.50, the command requires ==4.40.0`.
fn describe_requirements(conflict: &Conflict) -> String {
    let limited = conflict.requirements.iter().filter(|(_, range)| !range.is_any());
    let mut all: Vec<String> = limited
        .map(|(parent, range)| match parent {
            Some(parent) => format!("{parent} requires {range}"),
            None => format!("the command requires {range}"),
        })
        .collect();
    all.dedup();
    all.join(", ")
}

/// The first minor version of Python 3 whose pip refuses conflicting requirements: both 3.9 and pip 20.3 are from the end
/// of 2020.
const FIRST_MINOR_WITH_RESOLVER: u32 = 9;

/// Whether the installer of a command certainly refuses packages with conflicting requirements.
fn checks_requirements(command: u32, seen: &Observations, python: Option<&str>) -> bool {
    let installers = &seen.base_changes.installers;
    let is_recent = |python: &str| {
        let minor = python.strip_prefix("3.").and_then(|minor| minor.parse::<u32>().ok());
        minor.is_some_and(|minor| minor >= FIRST_MINOR_WITH_RESOLVER)
    };
    let names_pip = |package: &ObservedPackage| {
        package.requirement.name == "pip"
            && package.command < command
            && !matches!(&package.requirement.version, PackageVersion::Range(range) if range.is_any())
    };
    let is_uv = installers.contains(InstallerBehavior::KeepsInstalled, command);
    !installers.contains(InstallerBehavior::IgnoresRequirements, command)
        && (is_uv || python.is_some_and(is_recent) && !seen.packages.iter().any(names_pip))
}

/// Returns the packages of a command that pip installs with their dependencies, except the requested torch.
fn other_pip_packages<'a>(
    here: &[&'a ObservedPackage],
    requested: Option<&ObservedPackage>,
    build: &BaseBuild,
) -> Vec<&'a ObservedPackage> {
    here.iter()
        .filter(|package| package.requirement.manager == PackageManager::Pip && !package.requirement.no_deps)
        .filter(|package| Some(package.fact) != requested.map(|requested| requested.fact))
        // A package that was compiled for the image runs on the torch of the image.
        .filter(|package| build.compiled_package_row(package).is_none())
        .copied()
        .collect()
}

/// Returns the torch of a command with an unknown requirement, or of one that may be skipped and would install `sure`.
fn uncertain_torch<'a>(
    package: &'a ObservedPackage,
    requested: Option<&ObservedPackage>,
    why: Cause,
    sure: Option<TorchInstall<'a>>,
    (current_torch, open_base): (&ImageTorch<'_>, bool),
    knowledge: Knowledge,
) -> TorchInstall<'a> {
    let mut install = TorchInstall::unknown(package, why.clone());
    let mut listed = knowledge.torch_requirements_of(&package.requirement.name);
    if requested.is_none() && !package.requirement.version.is_range() && listed.any(|row| row.unasked) {
        // Some of its releases do not require torch.
        install.variant = Err(why);
    }
    if package.conditional.is_none() {
        return install;
    }
    let install = install.or_skipped(current_torch, open_base);
    match (sure, current_torch) {
        (Some(sure), ImageTorch::Installed(there)) => install.with_two_candidates([&sure, there], knowledge),
        _ => install,
    }
}

/// Returns the first package that may require less than the tables list, if the installed torch satisfies all the
/// minimal requirements.
fn find_possibly_older_requirement<'a>(
    pins: &[(&'a ObservedPackage, Result<TorchRequirement, Cause>)],
    ranges: &[VersionRange],
    current_torch: &ImageTorch<'_>,
    build: &BaseBuild,
    day: TorchContext<'_>,
) -> Option<&'a ObservedPackage> {
    let (older, _) =
        pins.iter().find(|(_, pin)| matches!(pin, Ok(required) if required.minimal_range != required.range))?;
    let minimal_ranges = pins.iter().filter_map(|(_, pin)| Some(pin.as_ref().ok()?.minimal_range.clone()));
    satisfies_ranges(current_torch, build, &ranges.iter().cloned().chain(minimal_ranges).collect::<Vec<_>>(), day)
        .then_some(*older)
}

/// Explains why it is unknown whether the installed torch stays: only newer releases of the package are listed.
fn explain_older_requirement(package: &ObservedPackage) -> Cause {
    let name = &package.requirement.name;
    let of = match &package.requirement.version {
        PackageVersion::Exact(version) => format!("{name} {version}"),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => format!("the installed release of {name}"),
    };
    Cause::OlderTorchPossible { package: of.clone() }
}

/// Whether the base image's torch for another vendor's GPUs is assumed to stay, as no release of a package is requested.
fn keeps_other_vendor_torch(package: &ObservedPackage, current_torch: &ImageTorch<'_>, build: &BaseBuild) -> bool {
    build.other_vendor_torch.is_some()
        && matches!(current_torch, ImageTorch::Base)
        && !package.requirement.version.is_exact()
}

/// Whether the installed torch satisfies ranges; for a base image of unknown version, whether every version between
/// the listed neighbours does.
fn satisfies_ranges(
    current_torch: &ImageTorch<'_>,
    build: &BaseBuild,
    ranges: &[VersionRange],
    day: TorchContext<'_>,
) -> bool {
    let will_do = |version: &ExactVersion| is_in_all_ranges(ranges, version) == Some(true);
    match current_torch {
        ImageTorch::None => false,
        ImageTorch::Base => match build.torch {
            Some((version, _)) => will_do(version),
            None => build.torch_bounds.is_some_and(|[from, to]| {
                let possible = VersionRange::between(from.map(|own| &**own), to.map(|own| &**own));
                ranges.iter().all(|range| possible.is_subset_of(range))
            }),
        },
        ImageTorch::Installed(installed) => installed.full_version(day).is_some_and(|(version, _)| will_do(&version)),
    }
}

/// Returns the torch that a conda command installs.
fn torch_from_conda<'a>(package: &'a ObservedPackage, seen: &Observations, knowledge: Knowledge) -> TorchInstall<'a> {
    if let Some(why) = &package.conditional {
        return TorchInstall::unknown(package, why.clone());
    }
    let version = match &package.requirement.version {
        PackageVersion::Exact(version) => Ok(complete_version(version.without_local(), knowledge)),
        PackageVersion::Unresolved(why) => Err(why.clone()),
        PackageVersion::Range(_) => Err(Cause::CondaByDate { package: package.requirement.name.to_string() }),
    };
    let row_of = |other: &ObservedPackage| knowledge.conda_variant(&other.requirement.name);
    // What chooses the build of a command with a torch of its own may be in another environment.
    let has_own = |command: u32| {
        let of_conda =
            |other: &&ObservedPackage| other.requirement.manager == PackageManager::Conda && other.command == command;
        seen.packages.iter().filter(of_conda).any(|other| knowledge.has_variants(&other.requirement.name))
    };
    let choosers = |cpu: Option<bool>| {
        let all = seen.packages.iter().rev().filter(|other| other.requirement.manager == PackageManager::Conda);
        all.filter(move |other| row_of(other).is_some_and(|row| cpu.is_none_or(|cpu| row.cpu == cpu)))
    };
    let in_command = |other: &&ObservedPackage| other.command == package.command;
    let is_chosen = choosers(None).any(|other| in_command(&other));
    let counts = |other: &&ObservedPackage| if is_chosen { in_command(other) } else { !has_own(other.command) };
    let find_chooser = |cpu: bool| choosers(Some(cpu)).find(counts);
    let local = package.requirement.version.local().filter(|local| is_build_tag(local));
    let named = package.variant.clone().or(local.map(str::to_owned));
    let variant = match (&named, find_chooser(true), find_chooser(false).map(|cuda| &cuda.requirement.version)) {
        (Some(variant), _, _) => Ok(Some(variant.clone())),
        (None, Some(_), _) => Ok(Some("cpu".to_owned())),
        (None, None, Some(PackageVersion::Exact(cuda))) => {
            let mut parts = cuda.as_str().split('.');
            Ok(Some(format!("cu{}{}", parts.next().unwrap_or(""), parts.next().unwrap_or("0"))))
        }
        _ => Err(Cause::CondaByChannel { package: package.requirement.name.to_string() }),
    };
    let maker =
        match (TorchBuilder::of_package(package), find_chooser(false).and_then(row_of).and_then(|row| row.channel)) {
            (TorchBuilder::Unknown, Some(channel)) => TorchBuilder::Channel(channel),
            (maker, _) => maker,
        };
    let (candidates, closed) = (Vec::new(), false);
    TorchInstall { package, version, variant, newest: false, row: None, deciding_fact: None, candidates, closed, maker }
}

/// Makes a conda CPU build unknown if another command of the image installs a CUDA build.
fn reconcile_with_cuda_builds<'a>(
    install: TorchInstall<'a>,
    seen: &'a Observations,
    knowledge: Knowledge,
) -> TorchInstall<'a> {
    let is_cpu = |variant: &str| variant_cuda(variant).is_none();
    let own = install.package;
    if own.requirement.manager != PackageManager::Conda
        || !matches!(&install.variant, Ok(Some(variant)) if is_cpu(variant))
    {
        return install;
    }
    let is_for_gpus = |other: &ObservedPackage| {
        if other.requirement.manager == PackageManager::Conda {
            return matches!(torch_from_conda(other, seen, knowledge).variant, Ok(Some(variant)) if !is_cpu(&variant));
        }
        other.variant.as_deref().or(other.requirement.version.local()).is_some_and(|variant| !is_cpu(variant))
    };
    let is_other = |one: &&ObservedPackage| one.command != own.command && knowledge.has_variants(&one.requirement.name);
    if !seen.packages.iter().filter(is_other).any(is_for_gpus) {
        return install;
    }
    let why = Cause::CpuAndCudaBuilds { package: own.requirement.name.to_string() };
    TorchInstall { variant: Err(why.clone()), ..TorchInstall::unknown(own, why) }
}

/// Returns which of two torch installs, one of pip and one of conda, Python imports.
///
/// Of the same version they are the same files. Else the order of the commands and the search path of Python decide,
/// which no list of packages tells; a CUDA runtime that somebody states is that of one of them at the most.
fn select_imported_torch<'a>(
    pip: TorchInstall<'a>,
    conda: TorchInstall<'a>,
    seen: &Observations,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    let (Ok(one), Ok(other)) = (&pip.version, &conda.version) else {
        let why = pip.version.clone().err().or(conda.version.clone().err());
        return why.map_or(conda.clone(), |why| TorchInstall::unknown(pip.package, why));
    };
    if one == other {
        let maker = conda.maker;
        return if matches!(conda.variant, Ok(Some(_))) { conda } else { TorchInstall { maker, ..pip } };
    }
    if let Some((cuda, fact)) = seen.cuda_runtime {
        let is = |install: &TorchInstall<'_>| effective_cuda(install, day).map(|own| own.release() == cuda.release());
        let deciding_fact = Some(fact);
        match (is(&pip), is(&conda)) {
            (Some(true), Some(false)) => return TorchInstall { deciding_fact, ..pip },
            (Some(false), Some(true)) => return TorchInstall { deciding_fact, ..conda },
            _ => {}
        }
    }
    let why = Cause::PipAndConda {
        package: pip.package.requirement.name.to_string(),
        pip_build: one.to_string(),
        conda_build: other.to_string(),
    };
    let unknown = TorchInstall::unknown(pip.package, why.clone());
    // What both have in common holds whichever it is.
    let build = effective_build(&pip, day).filter(|build| effective_build(&conda, day) == Some(build));
    let listed = |version: &ExactVersion| {
        day.knowledge.torch_release(version).filter(|row| build.is_some_and(|build| row.variants.contains(&build)))
    };
    match (build, listed(one), listed(other)) {
        (Some(build), Some(one), Some(other)) => {
            // Where the build of conda has no other PTX than the wheel, both end alike.
            let of_conda = match conda.maker {
                TorchBuilder::Channel(channel) => day.knowledge.conda_build(channel, other.version, build),
                _ => None,
            };
            let wheel = day.knowledge.torch_build(other.version, build, day.arch);
            let alike = of_conda.zip(wheel).is_some_and(|(conda, wheel)| conda.ptx == wheel.ptx);
            let maker = if alike { TorchBuilder::Wheel } else { TorchBuilder::Unknown };
            TorchInstall { variant: Ok(Some(build.to_owned())), candidates: vec![one, other], maker, ..unknown }
        }
        _ => TorchInstall { variant: Err(why), ..unknown },
    }
}

/// Returns the build of a torch, or the default build of its version; `None` if unknown.
fn effective_build<'a>(install: &'a TorchInstall<'_>, day: TorchContext<'_>) -> Option<&'a str> {
    let version = install.version.as_ref().ok()?;
    let default = || {
        let row = day.knowledge.torch_release(version)?;
        row.default_variant.iter().find(|value| value.arch == day.arch).map(|value| value.value)
    };
    install.variant.as_ref().ok()?.as_deref().or_else(default)
}

/// Returns the CUDA version of a torch build; `None` if unknown or without CUDA.
fn effective_cuda(install: &TorchInstall<'_>, day: TorchContext<'_>) -> Option<CudaVersion> {
    variant_cuda(effective_build(install, day)?)
}

/// Completes a version such as `2.1` to its newest patch release.
fn complete_version(version: ExactVersion, knowledge: Knowledge) -> ExactVersion {
    if version.as_str().matches('.').count() > 1 {
        return version;
    }
    let range = VersionRange::from(format!("=={version}.*"));
    let newest = knowledge.served_torch_releases().filter(|row| range.contains(row.version) == Some(true)).last();
    newest.map_or(version, |row| row.version.cloned())
}
