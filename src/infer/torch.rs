//! Which torch an image ends up with: per command, what is requested, installed as a dependency, replaced or
//! retained.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::conda_torch::{reconcile_with_cuda_builds, select_imported_torch, torch_from_conda};
use crate::infer::python_version::python_of_package;
use crate::infer::torch_install::{ImageTorch, TorchBuilder, TorchInstall, is_torch_package, required_distribution};
use crate::infer::torch_release::{TorchContext, is_in_all_ranges, newest_torch, torch_as_specified, verify_build};
use crate::infer::torch_requirements::{
    CompanionContext, CompanionRequirement, TorchRequirement, companion_requirement, requirement_within_ranges,
};
use crate::infer::unread_installs::{explain_possible_earlier_install, replaces_installed_build};
use crate::install::VersionSet;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{
    IndexSelection, InspectionDepth, Observations, ObservedPackage, PackageManager, PackageVersion,
};

impl TorchInstall<'_> {
    /// Whether it replaces the installed torch: by an option of the command, or because the command names one build.
    fn replaces_installed(&self, seen: &Observations, knowledge: Knowledge) -> bool {
        let named = |bound: &&ObservedPackage| Some(bound.fact) == self.told;
        let named = seen.bounds.iter().find(named).unwrap_or(self.package);
        let local = matches!(&named.version, PackageVersion::Exact(version) if version.contains('+'));
        let own = is_torch_package(self.package, knowledge) && replaces_installed_build(seen, self.package);
        own || (is_torch_package(named, knowledge) && local)
            || seen.base_changes.renewing.contains(&self.package.command)
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

    /// Joins this install with the case that its command is skipped: the build stays known only if it is the installed
    /// one.
    fn or_skipped(self, now: &ImageTorch<'_>, open_base: bool) -> Self {
        let alike = match now {
            ImageTorch::None => !open_base,
            ImageTorch::Base => false,
            ImageTorch::Brought(other) => {
                self.variant.is_ok() && self.variant.as_ref().ok() == other.variant.as_ref().ok()
            }
        };
        match &self.version {
            Err(why) if !alike => Self { variant: Err(why.clone()), ..self },
            _ => self,
        }
    }

    /// Joins this install with two known ones of the same variant: either release is possible.
    fn or_either(self, two: [&TorchInstall<'_>; 2], knowledge: Knowledge) -> Self {
        let [one, other] = two;
        let wheels =
            two.iter().all(|brought| brought.maker == TorchBuilder::Wheel && self.maker == TorchBuilder::Wheel);
        let rows = two.map(|brought| knowledge.torch_release(brought.version.as_ref().ok()?));
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
        let name = &self.package.name;
        let why = Cause::BaseMayIncludeBuild { name: name.clone(), version: version.clone() };
        Self { variant: Err(why), ..self }
    }

    /// Joins this install with an earlier one that may have been skipped: its build of the same version stays.
    fn or_previous_build(self, other: &TorchInstall<'_>, ranges: &[String]) -> Self {
        let Err(why) = &other.version else { return self };
        let of_same =
            (&other.package.indexes, &other.package.variant) == (&self.package.indexes, &self.package.variant);
        let replaced = match &other.package.version {
            PackageVersion::Exact(version) => is_in_all_ranges(ranges, version) == Some(false),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => false,
        };
        let stays = other.package.conditional.is_some() && !of_same && !replaced;
        if stays { Self { variant: Err(why.clone()), ..self } } else { self }
    }
}

impl ImageTorch<'_> {
    /// Whether its version is known.
    fn is_version_known(&self) -> bool {
        matches!(self, Self::Brought(brought) if brought.version.is_ok())
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
    let told = build.torch.is_some() || build.torch_bounds.is_some();
    let mut now = if told || build.of_others.is_some() { ImageTorch::Base } else { ImageTorch::None };
    if seen.depth != InspectionDepth::Text {
        let of_manager = |wanted: &dyn Fn(PackageManager) -> bool| {
            seen.packages.iter().rfind(|package| is_torch_package(package, knowledge) && wanted(package.manager))
        };
        let of_conda = of_manager(&|manager| manager == PackageManager::Conda)
            .map(|package| torch_from_conda(package, seen, knowledge));
        let of_pip = of_manager(&|manager| manager != PackageManager::Conda)
            .map(|package| verify_build(torch_as_specified(package, day), seen, day));
        return match (of_pip, of_conda) {
            (Some(pip), Some(conda)) => ImageTorch::Brought(select_imported_torch(pip, conda, seen, day)),
            (Some(one), None) | (None, Some(one)) => ImageTorch::Brought(one),
            (None, None) => now,
        };
    }
    let mut open_base = build.torch.is_none() && !matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda);
    let commands: BTreeSet<u32> = seen
        .packages
        .iter()
        .map(|package| package.command)
        .chain(seen.removed_packages.iter().map(|gone| gone.command))
        .collect();
    for command in commands {
        if seen.removed_packages.iter().any(|gone| gone.command == command && knowledge.has_variants(&gone.name)) {
            now = ImageTorch::None;
            open_base = false;
        }
        let here: Vec<&ObservedPackage> = seen.packages.iter().filter(|package| package.command == command).collect();
        if let Some(brought) = apply_command(&here, &now, open_base, seen, build, day) {
            let brought = match explain_possible_earlier_install(seen, command, brought.is_pinned()) {
                Some(why) if !now.is_version_known() && !brought.replaces_installed(seen, knowledge) => {
                    brought.or_already_installed(why)
                }
                _ => brought,
            };
            now = ImageTorch::Brought(verify_build(brought, seen, day));
            open_base = false;
        }
    }
    match now {
        ImageTorch::Brought(brought) => ImageTorch::Brought(reconcile_with_cuda_builds(brought, seen, knowledge)),
        now => now,
    }
}

/// Whether an unread base image may contain the pinned package: its name contains the package name, or is unknown.
fn base_may_include(build: &BaseBuild, package: &ObservedPackage, knowledge: Knowledge) -> bool {
    let of_index = package.variant.is_none() && package.indexes == IndexSelection::Default;
    of_index && build.torch_bounds.is_none() && build.name_may_contain(required_distribution(package, knowledge))
}

/// Returns the torch that one command installs; `None` if it changes nothing.
fn apply_command<'a>(
    here: &[&'a ObservedPackage],
    now: &ImageTorch<'_>,
    open_base: bool,
    seen: &'a Observations,
    build: &BaseBuild,
    day: TorchContext<'_>,
) -> Option<TorchInstall<'a>> {
    // An environment of its own does not see what lies outside it.
    let apart = here.iter().any(|package| package.separate_environment);
    let inside = matches!(now, ImageTorch::Brought(brought) if brought.package.separate_environment);
    let (now, open_base) = if apart && !inside { (&ImageTorch::None, false) } else { (now, open_base) };
    let asked = here.iter().rfind(|package| is_torch_package(package, day.knowledge)).copied();
    let command = here.first()?.command;
    let of_command = |bound: &&ObservedPackage| bound.command == command && is_torch_package(bound, day.knowledge);
    let bounds = || seen.bounds.iter().filter(of_command);
    // What names one version: the command itself, else what bounds it.
    let is_exact = |package: &&ObservedPackage| matches!(package.version, PackageVersion::Exact(_));
    let open = |asked: &ObservedPackage| matches!(asked.version, PackageVersion::Range(_));
    let bound = || bounds().filter(|bound| bound.conditional.is_none()).rfind(is_exact);
    let named = asked.filter(is_exact).or_else(|| bound().filter(|_| asked.is_none_or(open)));
    let exact = named.is_some();
    let mut ranges: Vec<String> = Vec::new();
    let mut untold: Option<Cause> = None;
    for package in asked.into_iter().chain(bounds()) {
        match (&package.version, &package.conditional) {
            (_, Some(why)) if Some(package.fact) != asked.map(|asked| asked.fact) => {
                untold = untold.or_else(|| Some(why.clone()));
            }
            (PackageVersion::Exact(version), _) => ranges.push(format!("=={version}")),
            (PackageVersion::Range(range), _) => ranges.push(range.clone()),
            // A bound that is not known changes nothing about the one version that a command names.
            (PackageVersion::Unresolved(_), _) if asked.is_some_and(|asked| is_exact(&asked)) => {}
            (PackageVersion::Unresolved(why), _) => untold = untold.or_else(|| Some(why.clone())),
        }
    }
    let runs_on = here.first().and_then(|package| python_of_package(seen, package, day.knowledge).ok());
    let place = CompanionContext { now, build, seen, python: runs_on.as_deref(), day };
    let pins: Vec<(&'a ObservedPackage, Result<TorchRequirement, Cause>)> = here
        .iter()
        .filter(|package| package.manager == PackageManager::Pip && !package.no_deps)
        .filter(|package| Some(package.fact) != asked.map(|asked| asked.fact))
        // What was compiled for the image runs on what the image has.
        .filter(|package| build.compiled_package_row(package).is_none())
        .filter_map(|package| Some((*package, torch_requirement_of(package, &ranges, exact, place)?)))
        .collect();
    // A package that was not read may require any build.
    let unread = |(package, _): &&(&'a ObservedPackage, Result<TorchRequirement, Cause>)| {
        matches!(package.indexes, IndexSelection::Unknown(_))
    };
    let first = pins.iter().find(unread).or(pins.first());
    let package = asked.or_else(|| first.map(|(package, _)| *package))?;
    if package.manager == PackageManager::Conda {
        return Some(torch_from_conda(package, seen, day.knowledge));
    }
    let older = find_possibly_older_requirement(&pins, &ranges, now, build);
    for (_, pin) in &pins {
        match pin {
            Ok(ask) => ranges.push(ask.range.to_owned()),
            Err(why) if !exact => untold = untold.or_else(|| Some(why.clone())),
            Err(_) => {}
        }
    }
    let replaced = asked.is_some_and(|asked| asked.upgrade && !keeps_local_version(asked, now, seen, day));
    // What comes of an index of early versions asks for one of its own kind.
    let replaced = replaced
        || asked.is_none() && package.prerelease.is_some() && matches!(package.indexes, IndexSelection::Only(_));
    let replaced = replaced || seen.base_changes.renewing.contains(&command);
    let kept = untold.is_none() && !replaced && satisfies_ranges(now, build, &ranges);
    if kept || !replaced && keeps_other_vendor_torch(package, now, build) {
        return None;
    }
    if let Some(older) = older.filter(|_| untold.is_none() && !replaced) {
        return Some(TorchInstall::unknown(older, explain_older_requirement(older)));
    }
    let ways = package.conditional.clone();
    let certain = untold.is_none();
    if let Some(why) = untold.or(ways) {
        let brought = TorchInstall::unknown(package, why);
        if package.conditional.is_none() {
            return Some(brought);
        }
        let sure =
            certain.then(|| newest_torch(package, &ranges, &python_of_package(seen, package, day.knowledge), day));
        let brought = brought.or_skipped(now, open_base);
        return Some(match (sure, now) {
            (Some(sure), ImageTorch::Brought(there)) => brought.or_either([&sure, there], day.knowledge),
            _ => brought,
        });
    }
    if let (ImageTorch::Brought(TorchInstall { version: Err(why), .. }), false, false) = (now, replaced, exact) {
        return Some(TorchInstall::unknown(package, why.clone()));
    }
    if open_base && !exact {
        let name = required_distribution(package, day.knowledge);
        let why = Cause::BaseMayInclude { name: name.to_string() };
        // What is there already stays, of whatever index: neither is the build told.
        let variant = Err(why.clone());
        return Some(TorchInstall { variant, ..TorchInstall::unknown(package, why) });
    }
    Some(match named {
        Some(named) => {
            let told = Some(named.fact).filter(|fact| *fact != package.fact);
            let said = TorchInstall { package, told, ..torch_as_specified(named, day) };
            let local = matches!(&named.version, PackageVersion::Exact(version) if version.contains('+'));
            if open_base && !local && base_may_include(build, package, day.knowledge) {
                return Some(said.or_base_build());
            }
            match now {
                ImageTorch::Brought(other) if !replaced && !local => said.or_previous_build(other, &ranges),
                _ => said,
            }
        }
        None => newest_torch(package, &ranges, &python_of_package(seen, package, day.knowledge), day),
    })
}

/// Returns what a package requires of torch, within the ranges of others or with an `exact` version.
fn torch_requirement_of(
    package: &ObservedPackage,
    ranges: &[String],
    exact: bool,
    place: CompanionContext<'_>,
) -> Option<Result<TorchRequirement, Cause>> {
    // Of what is not pinned, the installer takes a release that goes with the version that is named.
    let beside = if exact { &[] } else { ranges };
    if let Some(own) = companion_requirement(package, beside, place).filter(|_| !exact) {
        return match own {
            CompanionRequirement::Nothing => None,
            CompanionRequirement::Torch(pin) => Some(pin),
        };
    }
    let pin = requirement_within_ranges(package, beside, place.python, place.day.knowledge)?;
    let open = matches!(package.version, PackageVersion::Range(_));
    Some(if exact && open { Ok(TorchRequirement::ANY) } else { pin })
}

/// Returns the first package that may require less than the tables list, if the installed torch satisfies all the
/// least requirements.
fn find_possibly_older_requirement<'a>(
    pins: &[(&'a ObservedPackage, Result<TorchRequirement, Cause>)],
    ranges: &[String],
    now: &ImageTorch<'_>,
    build: &BaseBuild,
) -> Option<&'a ObservedPackage> {
    let (older, _) = pins.iter().find(|(_, pin)| matches!(pin, Ok(ask) if ask.least != ask.range))?;
    let asks = pins.iter().filter_map(|(_, pin)| Some(pin.as_ref().ok()?.least.to_owned()));
    satisfies_ranges(now, build, &ranges.iter().cloned().chain(asks).collect::<Vec<_>>()).then_some(*older)
}

/// Explains why it is unknown whether the installed torch stays: only newer releases of the package are listed.
fn explain_older_requirement(package: &ObservedPackage) -> Cause {
    let name = &package.name;
    let of = match &package.version {
        PackageVersion::Exact(version) => format!("{name} {version}"),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => format!("the installed release of {name}"),
    };
    Cause::OlderTorchPossible { package: of.clone() }
}

/// Whether the base image's torch for another vendor's GPUs is assumed to stay, as no version is requested.
fn keeps_other_vendor_torch(package: &ObservedPackage, now: &ImageTorch<'_>, build: &BaseBuild) -> bool {
    build.of_others.is_some() && matches!(now, ImageTorch::Base) && matches!(package.version, PackageVersion::Range(_))
}

/// Whether an upgrade to an exact version keeps the installed torch, whose local version such as `2.3.1+cpu` is newer
/// than the `2.3.1` of the default index (PEP 440).
fn keeps_local_version(
    asked: &ObservedPackage,
    now: &ImageTorch<'_>,
    seen: &Observations,
    day: TorchContext<'_>,
) -> bool {
    let ImageTorch::Brought(TorchInstall { package, version: Ok(installed), .. }) = now else { return false };
    let PackageVersion::Exact(version) = &asked.version else { return false };
    let has_local_version = match (&package.version, &package.indexes) {
        (PackageVersion::Exact(text), _) if text.contains('+') => true,
        (_, IndexSelection::Only(tag)) => !day.knowledge.is_unnamed_torch_build(installed, tag, day.arch),
        _ => false,
    };
    has_local_version
        && installed == version
        && asked.indexes == IndexSelection::Default
        && !seen.base_changes.renewing.contains(&asked.command)
}

/// Whether the installed torch satisfies ranges; for a base image of unknown version, whether every version between
/// the listed neighbours does.
fn satisfies_ranges(now: &ImageTorch<'_>, build: &BaseBuild, ranges: &[String]) -> bool {
    let will_do = |version: &str| is_in_all_ranges(ranges, version) == Some(true);
    match now {
        ImageTorch::None => false,
        ImageTorch::Base => match build.torch {
            Some((version, _)) => will_do(version),
            None => build.torch_bounds.is_some_and(|[from, to]| {
                let possible = VersionSet::between(from, to);
                possible.zip(VersionSet::of_all(ranges)).is_some_and(|(one, all)| one.is_subset_of(&all))
            }),
        },
        ImageTorch::Brought(brought) => brought.version.as_ref().is_ok_and(|version| match &brought.variant {
            Ok(Some(variant)) => will_do(&format!("{version}+{variant}")),
            _ => will_do(version),
        }),
    }
}
