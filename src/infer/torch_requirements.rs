//! What packages require of torch: as the tables list it, and by the release that an installer takes of a companion.
//!
//! The releases of a companion each match one torch release. A companion that is there already stays. What is not, an
//! installer takes in its newest release, and puts the torch that this one asks for in the place of another.

use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::release_version::{is_release_at_least, parse_release};
use crate::infer::torch_install::ImageTorch;
use crate::infer::torch_release::{
    TorchContext, has_torch_wheel_for_python, is_in_all_ranges, is_offered_by_indexes, is_released,
};
use crate::install::{compare_pep440_versions, is_bounded_above, public_version, range_contains};
use crate::knowledge::{Knowledge, RequiresDistRow, TorchRow};
use crate::model::cause::Cause;
use crate::model::fact::{IndexSelection, Observations, ObservedPackage, PackageManager, PackageVersion};

/// What a package requires of torch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TorchRequirement {
    /// PEP 440 version specifiers; empty if any version is accepted.
    pub(super) range: &'static str,
    /// The range that is required in any case; differs from `range` if that may be the one of a newer release.
    pub(super) least: &'static str,
}

impl TorchRequirement {
    /// A requirement that accepts every version.
    pub(super) const ANY: Self = Self::from_range("");

    /// Creates a requirement of exactly a range.
    const fn from_range(range: &'static str) -> Self {
        Self { range, least: range }
    }

    /// Creates a requirement of a range or of less.
    const fn at_most(range: &'static str) -> Self {
        Self { range, least: "" }
    }
}

/// Returns what a package requires of torch, within the ranges of others; `None` if it does not require torch.
///
/// Of a package that is not pinned, an installer takes the newest release that goes with them.
pub(super) fn requirement_within_ranges(
    package: &ObservedPackage,
    ranges: &[String],
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let newest = listed_torch_requirement(package, python, knowledge)?;
    let PackageVersion::Range(own) = &package.version else { return Some(newest) };
    let listed = || knowledge.torch_requirements_of(&package.name).filter(|row| row.version != "*" && !row.unasked);
    let admitted = || listed().filter(|row| range_contains(own, row.version) == Some(true));
    let by_version = |one: &&RequiresDistRow, other: &&RequiresDistRow| {
        compare_pep440_versions(one.version, other.version).unwrap_or(Ordering::Equal)
    };
    let first = newest.as_ref().ok().map(|ask| ask.range).or_else(|| Some(admitted().max_by(by_version)?.range));
    if first.is_none_or(|torch| shares_release(torch, ranges, knowledge)) {
        return Some(newest);
    }
    let chosen = admitted().filter(|row| shares_release(row.range, ranges, knowledge)).max_by(by_version);
    Some(match chosen {
        Some(row) => Ok(TorchRequirement::from_range(row.range)),
        // Only the newest is listed, and older ones ask for less.
        None if listed().next().is_none() => Ok(TorchRequirement::ANY),
        None => Err(Cause::ReleaseForTorch { package: package.name.clone(), torch: ranges.join(",").clone() }),
    })
}

/// Whether a release of a package is compatible with constraints on torch; `None` if its requirement is not listed.
pub(super) fn satisfies_torch_constraints(
    distribution: &str,
    version: &str,
    bounds: &[String],
    knowledge: Knowledge,
) -> Option<bool> {
    if bounds.is_empty() {
        return Some(true);
    }
    let mut rows = knowledge.torch_requirements_of(distribution);
    let row = rows.find(|row| compare_pep440_versions(row.version, version) == Some(Ordering::Equal))?;
    Some(row.unasked || shares_release(row.range, bounds, knowledge))
}

/// Returns the constraints on torch of a package's command as ranges; `None` if one is unknown.
pub(super) fn torch_constraints(
    package: &ObservedPackage,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<Vec<String>> {
    let of_command = seen.bounds.iter().filter(|bound| bound.command == package.command);
    let of_torch = of_command.filter(|bound| knowledge.has_variants(&bound.name));
    let range = |bound: &ObservedPackage| match &bound.version {
        PackageVersion::Exact(version) => Some(format!("=={}", public_version(version))),
        PackageVersion::Range(range) => Some(range.clone()),
        PackageVersion::Unresolved(_) => None,
    };
    of_torch.map(|bound| range(bound).filter(|_| bound.conditional.is_none())).collect()
}

/// Whether some torch release lies in a range and in all others.
fn shares_release(torch: &str, ranges: &[String], knowledge: Knowledge) -> bool {
    let both =
        |version: &str| range_contains(torch, version) == Some(true) && is_in_all_ranges(ranges, version) == Some(true);
    ranges.is_empty() || knowledge.served_torch_releases().any(|row| both(row.version))
}

/// Returns the newest listed version that a range admits, if it is not the newest of all.
fn newest_admitted_row(range: &str, listed: &[&'static RequiresDistRow]) -> Option<&'static RequiresDistRow> {
    let newest = |rows: &mut dyn Iterator<Item = &'static RequiresDistRow>| {
        rows.reduce(|one, other| {
            if compare_pep440_versions(other.version, one.version) == Some(Ordering::Greater) { other } else { one }
        })
    };
    let of_all = newest(&mut listed.iter().copied())?;
    let admitted = newest(&mut listed.iter().copied().filter(|row| range_contains(range, row.version) != Some(false)))?;
    (admitted.version != of_all.version).then_some(admitted)
}

/// Returns what a package requires of torch, for a Python version if known; `None` if it does not require torch.
fn listed_torch_requirement(
    package: &ObservedPackage,
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let rows = || knowledge.torch_requirements_of(&package.name);
    let listed = || rows().filter(|row| row.version != "*");
    rows().next()?;
    let any = rows().find(|row| row.version == "*");
    // One of which the metadata ask for none.
    let whole = |row: &'static RequiresDistRow| (!row.unasked).then(|| TorchRequirement::from_range(row.range));
    let ask = match &package.version {
        PackageVersion::Exact(version) => {
            let own = listed()
                .find(|row| compare_pep440_versions(row.version, public_version(version)) == Some(Ordering::Equal));
            let other = any.filter(|_| listed().next().is_none());
            own.map(whole).or_else(|| other.map(|row| Some(requirement_of_older_release(row, public_version(version)))))
        }
        PackageVersion::Range(range) if any.is_some() && !range.is_empty() => {
            let within = newest_admitted_row(range, &listed().collect::<Vec<_>>());
            within.map(whole).or_else(|| any.map(|row| Some(requirement_of_range(row, range, python))))
        }
        PackageVersion::Range(range) => any.map(|row| Some(requirement_of_range(row, range, python))),
        PackageVersion::Unresolved(_) => any.map(|row| Some(TorchRequirement::at_most(row.range))),
    };
    let untold = || Cause::TorchRequirement { package: package.name.clone() };
    match ask {
        Some(asked) => asked.map(Ok),
        None => Some(Err(untold())),
    }
}

/// Returns what a release requires of which at most newer ones are listed.
fn requirement_of_older_release(row: &'static RequiresDistRow, version: &str) -> TorchRequirement {
    let not_before =
        |(listed, _): &&(&str, &str)| compare_pep440_versions(listed, version).is_some_and(Ordering::is_ge);
    match row.older.iter().find(not_before) {
        Some((listed, range)) if compare_pep440_versions(listed, version) == Some(Ordering::Equal) => {
            TorchRequirement::from_range(range)
        }
        Some((_, range)) => TorchRequirement::at_most(range),
        None => TorchRequirement::at_most(row.range),
    }
}

/// Returns what the newest release within a range requires.
fn requirement_of_range(row: &'static RequiresDistRow, range: &str, python: Option<&str>) -> TorchRequirement {
    if !is_bounded_above(range) {
        let Some(python) = python else {
            let oldest = row.on_python.first().map_or(row.range, |(_, range)| range);
            return TorchRequirement { range: row.range, least: oldest };
        };
        let not_before =
            |(listed, _): &&(&str, &str)| compare_pep440_versions(listed, python).is_some_and(Ordering::is_ge);
        return match row.on_python.iter().find(not_before) {
            Some((listed, range)) if *listed == python => TorchRequirement::from_range(range),
            Some((_, range)) => TorchRequirement::at_most(range),
            None => TorchRequirement::from_range(row.range),
        };
    }
    // The one behind the last that lies within asks for no less than any that does.
    let last = row.older.iter().rposition(|(listed, _)| range_contains(range, listed) == Some(true));
    let behind = last.and_then(|last| row.older.get(last + 1));
    TorchRequirement::at_most(behind.map_or(row.range, |(_, range)| range))
}

/// Whether a package requires torch.
pub(super) fn requires_torch(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.torch_requirements_of(&package.name).next().is_some()
}

/// The state of the image in which a command installs a companion.
#[derive(Clone, Copy)]
pub(super) struct CompanionContext<'a> {
    /// The torch that is installed before the command.
    pub(super) now: &'a ImageTorch<'a>,
    /// The build of the base image.
    pub(super) build: &'a BaseBuild,
    /// The observations.
    pub(super) seen: &'a Observations,
    /// The Python version of the command, if known.
    pub(super) python: Option<&'a str>,
    /// The architecture and the date.
    pub(super) day: TorchContext<'a>,
}

/// Whether a companion is installed before its command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CompanionPresence {
    No,
    Yes,
    /// Possibly; with a description of what may have installed it.
    Perhaps(String),
}

/// What the release that an installer takes requires of torch.
pub(super) enum CompanionRequirement {
    /// It does not require torch.
    Nothing,
    /// It requires torch, with the range, or why that is unknown.
    Torch(Result<TorchRequirement, Cause>),
}

/// Returns what an unpinned companion requires of torch, within the ranges of others; `None` if it is no companion or
/// its release is unknown.
pub(super) fn companion_requirement(
    package: &ObservedPackage,
    ranges: &[String],
    place: CompanionContext<'_>,
) -> Option<CompanionRequirement> {
    let CompanionContext { now, day, .. } = place;
    if !day.knowledge.is_built_with_torch(&package.name) {
        return None;
    }
    if let Some(why) = &package.prerelease {
        return prerelease_may_replace_torch(package, place).then(|| CompanionRequirement::Torch(Err(why.clone())));
    }
    let own = match &package.version {
        PackageVersion::Range(own) => own,
        // What is built here from its sources is built for the torch that is there.
        PackageVersion::Unresolved(_) if is_built_from_sources(&package.indexes) => {
            return Some(CompanionRequirement::Torch(Ok(TorchRequirement::ANY)));
        }
        // Of early versions the tables know none.
        PackageVersion::Exact(_) | PackageVersion::Unresolved(_) => return None,
    };
    let there =
        if is_forced_upgrade(package, place) { CompanionPresence::No } else { companion_presence(package, own, place) };
    let nothing_there = matches!(now, ImageTorch::None);
    let stays = if there == CompanionPresence::Yes {
        CompanionPresence::Yes
    } else {
        torch_stays_when_named(package, ranges, place)
    };
    if stays == CompanionPresence::Yes {
        return Some(CompanionRequirement::Torch(Ok(TorchRequirement::ANY)));
    }
    let row = newest_installable_companion(package, own, ranges, place);
    let will_do = row
        .is_some_and(|row| installed_torch_version(now).is_some_and(|it| range_contains(row.range, it) == Some(true)));
    if let (CompanionPresence::Perhaps(who), false) = (stays, will_do) {
        return Some(CompanionRequirement::Torch(Err(explain_possible_replacement(&who))));
    }
    if let CompanionPresence::Perhaps(who) = there
        && !nothing_there
        && !row.is_some_and(|row| {
            row.unasked || installed_torch_version(now).is_some_and(|it| range_contains(row.range, it) == Some(true))
        })
    {
        return Some(CompanionRequirement::Torch(Err(explain_possible_presence(package, &who))));
    }
    let row = row?;
    Some(match (row.unasked, place.python) {
        (true, _) => CompanionRequirement::Nothing,
        (false, Some(_)) => CompanionRequirement::Torch(Ok(TorchRequirement::from_range(row.range))),
        // A release for an older Python asks for an older torch.
        (false, None) if nothing_there => CompanionRequirement::Torch(Ok(TorchRequirement::ANY)),
        (false, None) => CompanionRequirement::Torch(Ok(TorchRequirement { range: row.range, least: "" })),
    })
}

/// Whether the command installs the newest release of a package, whatever is installed.
fn is_forced_upgrade(package: &ObservedPackage, place: CompanionContext<'_>) -> bool {
    package.upgrade || place.seen.base_changes.renewing.contains(&package.command)
}

/// Whether a pre-release may be installed that replaces the installed torch.
fn prerelease_may_replace_torch(package: &ObservedPackage, place: CompanionContext<'_>) -> bool {
    let CompanionContext { now, seen, day, .. } = place;
    let torch = |one: &ObservedPackage| one.command == package.command && day.knowledge.has_variants(&one.name);
    let own = match &package.version {
        PackageVersion::Range(own) => own,
        PackageVersion::Exact(_) | PackageVersion::Unresolved(_) => return false,
    };
    let stays =
        || !is_forced_upgrade(package, place) && companion_presence(package, own, place) == CompanionPresence::Yes;
    !matches!(now, ImageTorch::None) && !seen.packages.iter().any(torch) && !stays()
}

/// Returns the version of the installed torch, if known.
fn installed_torch_version<'t>(now: &'t ImageTorch<'_>) -> Option<&'t str> {
    match now {
        ImageTorch::Brought(brought) => brought.version.as_deref().ok(),
        ImageTorch::None | ImageTorch::Base => None,
    }
}

/// Whether the installed torch stays although the command names it too, with an installer that prefers installed
/// versions.
///
/// That one turns to newer releases where too many of a package that it was told do not go with it: it has to have taken
/// torch first, and be told none of which each release goes with one torch alone.
fn torch_stays_when_named(
    package: &ObservedPackage,
    ranges: &[String],
    place: CompanionContext<'_>,
) -> CompanionPresence {
    let CompanionContext { now, seen, day, .. } = place;
    let together = || seen.packages.iter().filter(|one| one.command == package.command);
    let is_torch = |one: &ObservedPackage| day.knowledge.has_variants(&one.name);
    let fits = installed_torch_version(now).is_some_and(|it| is_in_all_ranges(ranges, it) == Some(true));
    let stays = |one: &ObservedPackage| !one.upgrade && matches!(one.version, PackageVersion::Range(_));
    let kept = together().rfind(|one| is_torch(one)).is_some_and(stays);
    if !fits || !kept || !seen.base_changes.keeping.contains(&package.command) {
        return CompanionPresence::No;
    }
    let exact =
        |one: &ObservedPackage| day.knowledge.torch_requirements_of(&one.name).any(|row| row.range.starts_with("=="));
    // What another one brings along stands in front of that one, and is written where that is.
    let place = |one: &ObservedPackage| seen.facts.origins(one.fact);
    let brought =
        |one: &ObservedPackage| together().any(|other| other.fact.0 > one.fact.0 && place(other) == place(one));
    let named = || together().filter(|one| !brought(one));
    let told = |one: &ObservedPackage| is_torch(one) || !day.knowledge.is_library_free(&one.name, |_| true);
    let first = named().find(|one| told(one)).is_some_and(is_torch);
    if first && !named().any(exact) { CompanionPresence::Yes } else { CompanionPresence::Perhaps(package.name.clone()) }
}

/// Whether a command builds the package from its sources, for the torch that is installed.
fn is_built_from_sources(offered: &IndexSelection) -> bool {
    matches!(offered, IndexSelection::Unknown(cause) if cause.is_built_from_sources())
}

/// Explains why it is unknown whether an installer that prefers the installed torch keeps it.
fn explain_possible_replacement(name: &str) -> Cause {
    Cause::InstallerMayReplaceTorch { name: name.to_string() }
}

/// Returns whether an earlier command or the base image installs the package in an acceptable version.
fn companion_presence(package: &ObservedPackage, own: &str, place: CompanionContext<'_>) -> CompanionPresence {
    let CompanionContext { build, seen, .. } = place;
    let taken =
        seen.removed_packages.iter().filter(|gone| gone.name == package.name && gone.command <= package.command);
    let taken = taken.map(|gone| gone.command).max();
    let stays = |command: u32| taken.is_none_or(|taken| taken < command);
    let will_do = |version: &PackageVersion| match version {
        PackageVersion::Exact(version) => own.is_empty() || range_contains(own, public_version(version)) != Some(false),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => true,
    };
    let here = |one: &&ObservedPackage| one.name == package.name && one.command < package.command;
    let fits = |one: &&ObservedPackage| {
        one.separate_environment == package.separate_environment && stays(one.command) && will_do(&one.version)
    };
    let earlier = || seen.packages.iter().filter(here).filter(fits);
    if earlier().any(|one| one.conditional.is_none()) {
        return CompanionPresence::Yes;
    }
    let before = || {
        seen.packages
            .iter()
            .filter(|one| one.command < package.command && one.separate_environment == package.separate_environment)
    };
    let after = |one: &&ObservedPackage| one.manager == PackageManager::Pip && !one.no_deps && stays(one.command);
    let brings: Vec<(&ObservedPackage, CompanionDependency)> =
        before().filter(after).map(|one| (one, companion_dependency(one, &package.name, place))).collect();
    if brings.iter().any(|(one, brings)| *brings == CompanionDependency::Yes && one.conditional.is_none()) {
        return CompanionPresence::Yes;
    }
    let perhaps =
        earlier().chain(brings.iter().filter(|(_, brings)| *brings == CompanionDependency::Yes).map(|(one, _)| *one));
    let perhaps = perhaps.map(|one| one.name.clone()).next();
    // An environment of its own does not see what the base has.
    if !package.separate_environment && taken.is_none() {
        let of_base = |(name, version): &(&str, &str)| {
            let reaches = |from| parse_release(version).is_some_and(|version| from <= version);
            let brought = place.day.knowledge.companion_packages_of(name, reaches);
            *name == package.name || brought.is_some_and(|brought| brought.contains(&package.name.as_str()))
        };
        let told = build.torch.is_some() || build.torch_bounds.is_some() || build.of_others.is_some();
        if told || build.brings.iter().any(of_base) {
            return CompanionPresence::Yes;
        }
        if !matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda) {
            return CompanionPresence::Perhaps("the base image".to_owned());
        }
    }
    if let Some((one, _)) = brings.iter().find(|(_, brings)| *brings != CompanionDependency::No) {
        return CompanionPresence::Perhaps(one.name.clone());
    }
    if let Some(name) = perhaps {
        return CompanionPresence::Perhaps(format!("the command that installs {name} in only some branches"));
    }
    if seen.base_changes.unread_commands.iter().any(|command| *command < package.command && stays(*command)) {
        return CompanionPresence::Perhaps("an earlier command".to_owned());
    }
    CompanionPresence::No
}

/// Whether a package has a companion as a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompanionDependency {
    No,
    Yes,
    Perhaps,
}

/// Returns whether installing a package also installs a companion.
fn companion_dependency(one: &ObservedPackage, companion: &str, place: CompanionContext<'_>) -> CompanionDependency {
    let knowledge = place.day.knowledge;
    let reaches = |from: CudaVersion| is_release_at_least(one, from);
    if let Some(all) = knowledge.companion_packages_of(&one.name, reaches) {
        return if all.contains(&companion) { CompanionDependency::Yes } else { CompanionDependency::No };
    }
    let known = knowledge.has_variants(&one.name)
        || knowledge.is_built_with_torch(&one.name)
        || knowledge.is_library_free(&one.name, reaches)
        || knowledge.library_packages().iter().any(|row| row.name == one.name);
    if known { CompanionDependency::No } else { CompanionDependency::Perhaps }
}

/// Returns the newest allowed release of a companion package such as torchvision with an installable torch, for the
/// given indexes, date and Python version.
fn newest_installable_companion(
    package: &ObservedPackage,
    own: &str,
    ranges: &[String],
    place: CompanionContext<'_>,
) -> Option<&'static RequiresDistRow> {
    let CompanionContext { day, python, .. } = place;
    let served = |row: &&RequiresDistRow| {
        let goes = |torch: &TorchRow| {
            range_contains(row.range, torch.version) == Some(true)
                && (row.unasked || is_in_all_ranges(ranges, torch.version) == Some(true))
        };
        let there = |torch: &TorchRow| is_released(torch, day) && is_offered_by_indexes(torch, package, day);
        let of_python =
            |torch: &TorchRow| python.is_none_or(|python| has_torch_wheel_for_python(torch, python, day.knowledge));
        day.knowledge.served_torch_releases().any(|torch| goes(torch) && there(torch) && of_python(torch))
    };
    let listed =
        day.knowledge.torch_requirements_of(&package.name).filter(|row| row.version != "*" && !row.range.is_empty());
    let admitted = listed.filter(|row| own.is_empty() || range_contains(own, row.version) == Some(true));
    admitted
        .filter(served)
        .max_by(|one, other| compare_pep440_versions(one.version, other.version).unwrap_or(Ordering::Equal))
}

/// Explains why it is unknown whether a companion is already installed.
fn explain_possible_presence(package: &ObservedPackage, who: &str) -> Cause {
    let name = &package.name;
    Cause::MayAlreadyInclude { source: who.to_string(), name: name.clone() }
}
