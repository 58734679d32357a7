//! Wheels whose CUDA libraries are installed as dependencies: whether those were omitted, removed again or replaced.

use std::collections::BTreeSet;

use crate::infer::release_version::{is_release_at_least, release_version};
use crate::infer::torch_release::requires_torch;
use crate::knowledge::{Knowledge, LibraryPackageRow, RequiredLibrariesRow};
use crate::model::cause::Cause;
use crate::model::fact::{FactKey, Facts, InspectionDepth, Observations, PrintedValue, ValueState};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion, RemovedPackage, VersionRange,
};

/// The architecture for which the tables list builds of a project's dedicated index.
const LISTED_ARCHITECTURE: &str = "amd64";

/// Whether the libraries that were installed with a package are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LibraryLoss {
    /// They stay.
    No,
    /// They may be lost, for this reason.
    Possible(Cause),
    /// They are lost.
    Certain,
}

/// Returns whether the effective wheel lacks its library dependencies: they were not installed, one was removed, or a
/// complete package list omits one.
pub(super) fn missing_library_dependencies(
    facts: &Facts,
    seen: &Observations,
    package: &ObservedPackage,
    row: &RequiredLibrariesRow,
    knowledge: Knowledge,
) -> LibraryLoss {
    // Files in an image show which libraries they need.
    if seen.depth == InspectionDepth::Layers
        || library_dependency_row(package, knowledge).is_none()
        || !is_last_install_of_name(seen, package)
    {
        return LibraryLoss::No;
    }
    let losses: Vec<LibraryLoss> =
        row.sonames().map(|soname| library_removed_later(seen, package, soname, knowledge)).collect();
    let lacks = package.requirement.no_deps
        || lists_library_packages(seen, row, knowledge)
        || losses.contains(&LibraryLoss::Certain);
    let possible = losses.into_iter().find(|loss| matches!(loss, LibraryLoss::Possible(_)));
    match (&package.conditional, possible) {
        (Some(why), possible) if lacks || possible.is_some() => LibraryLoss::Possible(why.clone()),
        (Some(_), _) => LibraryLoss::No,
        (None, _) if !is_component_version_from(facts, package, knowledge) => LibraryLoss::No,
        (None, _) if lacks => LibraryLoss::Certain,
        (None, possible) => possible.unwrap_or(LibraryLoss::No),
    }
}

/// Explains why the libraries that a wheel requires are unknown, if it was installed without dependencies and the
/// tables do not list its build.
pub(super) fn explain_unknown_library_needs(
    seen: &Observations,
    package: &ObservedPackage,
    arch: &str,
    knowledge: Knowledge,
) -> Option<Cause> {
    let of_command = package.requirement.manager == PackageManager::Pip && seen.depth != InspectionDepth::Layers;
    if !package.requirement.no_deps || !of_command || !is_last_install_of_name(seen, package) {
        return None;
    }
    let rows =
        knowledge.required_libraries().iter().filter(|row| row.along && row.distribution == package.requirement.name);
    let first = rows.map(|row| row.from).min()?;
    let version = release_version(package);
    if version.is_some_and(|version| version < first) {
        return None;
    }
    let row = version.and_then(|version| knowledge.library_needs_of(&package.requirement.name, version));
    let known = row.is_some_and(|row| match requested_variant(package) {
        Some(WheelVariant::Default) => true,
        Some(WheelVariant::Named(build)) => {
            arch == LISTED_ARCHITECTURE && (row.builds.contains(&build) || row.whole.contains(&build))
        }
        None => false,
    });
    // A list that names the wheels of libraries one by one may be complete, and others may have installed them.
    let wheel = |one: &ObservedPackage| knowledge.library_wheel(&one.requirement.name).is_some();
    let whole = |one: &ObservedPackage| {
        !one.requirement.no_deps && (one.requirement.name == package.requirement.name || requires_torch(one, knowledge))
    };
    let brings = |one: &ObservedPackage| one.requirement.manager == PackageManager::Pip && (wheel(one) || whole(one));
    if known || seen.packages.iter().any(brings) {
        return None;
    }
    let name = &package.requirement.name;
    Some(Cause::WithoutDependencies { name: name.to_string() })
}

/// Whether no later package has the same name.
fn is_last_install_of_name(seen: &Observations, package: &ObservedPackage) -> bool {
    seen.packages
        .iter()
        .rfind(|one| one.requirement.name == package.requirement.name)
        .is_some_and(|last| last.fact == package.fact)
}

/// The variant of a wheel that a command requests.
enum WheelVariant<'a> {
    /// That of the default index.
    Default,
    /// A variant of the project's dedicated index, such as `cu121`.
    Named(&'a str),
}

/// Returns the wheel variant that a command requests; `None` if it is unknown.
fn requested_variant(package: &ObservedPackage) -> Option<WheelVariant<'_>> {
    let PackageVersion::Exact(version) = &package.requirement.version else { return None };
    match (version.local().or(package.variant.as_deref()), &package.requirement.indexes) {
        (Some(build), _) => Some(WheelVariant::Named(build)),
        (None, IndexSelection::Default) => Some(WheelVariant::Default),
        (None, IndexSelection::Only(build)) => Some(WheelVariant::Named(build)),
        (None, IndexSelection::DefaultAndExtra(_) | IndexSelection::Unknown(_)) => None,
    }
}

/// Returns whether a soname is installed with a wheel or its dependencies; `None` for packages without such
/// libraries.
pub(super) fn library_presence_in_dependencies(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    knowledge: Knowledge,
) -> Option<LibraryPresence> {
    if is_installed_without_libraries(package, knowledge) {
        return Some(LibraryPresence::No);
    }
    let Some(row) = library_dependency_row(package, knowledge) else {
        // A package that depends on such a wheel installs it, with any missing files.
        let depends_on_torch = package.requirement.manager == PackageManager::Pip && requires_torch(package, knowledge);
        return depends_on_torch.then_some(LibraryPresence::Maybe);
    };
    let stem = |name: &str| name.split(".so").next().map(str::to_owned);
    if !row.needs_library(soname) {
        let another = row.sonames().any(|own| stem(own) == stem(soname));
        return Some(if another { LibraryPresence::No } else { LibraryPresence::Maybe });
    }
    Some(match library_removed_later(seen, package, soname, knowledge) {
        LibraryLoss::Certain => LibraryPresence::No,
        _ if lists_library_packages(seen, row, knowledge) => LibraryPresence::No,
        LibraryLoss::Possible(_) => LibraryPresence::Maybe,
        LibraryLoss::No if package.conditional.is_some() => LibraryPresence::Maybe,
        LibraryLoss::No => LibraryPresence::Yes,
    })
}

/// Whether a wheel was installed without its dependencies and contains no CUDA library itself.
pub(super) fn is_installed_without_libraries(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    package.requirement.manager == PackageManager::Pip
        && package.requirement.no_deps
        && (library_dependency_row(package, knowledge).is_some() || requires_torch(package, knowledge))
}

/// Returns the row of a wheel whose CUDA libraries are dependencies: of the default index, or of a build with the
/// same requirements.
pub(super) fn library_dependency_row(
    package: &ObservedPackage,
    knowledge: Knowledge,
) -> Option<&'static RequiredLibrariesRow> {
    let version = release_version(package).filter(|_| package.requirement.manager == PackageManager::Pip)?;
    let row = knowledge.library_needs_of(&package.requirement.name, version).filter(|row| row.along)?;
    let known = match requested_variant(package)? {
        WheelVariant::Default => true,
        WheelVariant::Named(build) => row.builds.contains(&build),
    };
    known.then_some(row)
}

/// Whether the version of the component is that of this package; a later command may have installed another.
fn is_component_version_from(facts: &Facts, package: &ObservedPackage, knowledge: Knowledge) -> bool {
    let PackageVersion::Exact(own) = &package.requirement.version else { return false };
    let Some(framework) = knowledge.framework(&package.requirement.name) else { return false };
    let is_version =
        |key: FactKey, of: Option<&str>| key == FactKey::ComponentVersion && of == Some(framework.component);
    let version_fact = facts.iter().filter(|(_, entry)| is_version(entry.key, entry.subject.as_deref())).last();
    version_fact.is_some_and(
        |(_, entry)| matches!(&entry.state, ValueState::Known(PrintedValue::Text(version)) if ExactVersion::from(version.as_str()).public() == own.public()),
    )
}

/// Returns whether a later command removes the package with a library dependency, or replaces it with one that lacks
/// the library.
fn library_removed_later(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    knowledge: Knowledge,
) -> LibraryLoss {
    let holds = |name: &str| {
        let mut rows = knowledge.library_packages().iter();
        rows.any(|row| row.name == name && row.sonames.contains(&soname))
    };
    let later = |command: u32| command >= package.command;
    let removes_library = |removed: &RemovedPackage| {
        removed.manager == PackageManager::Pip
            && later(removed.command)
            && holds(&removed.name)
            && removed.shares_environment_with(package)
    };
    if seen.removed_packages.iter().any(removes_library) {
        return LibraryLoss::Certain;
    }
    library_loss(seen, package, soname, false, knowledge)
}

/// Whether the package list is complete and includes library wheels, so that a package that is not listed is not
/// installed.
fn lists_library_packages(seen: &Observations, row: &RequiredLibrariesRow, knowledge: Knowledge) -> bool {
    let holds = |package: &ObservedPackage| {
        let found = knowledge.package_libraries(&package.requirement.name, release_version(package));
        package.requirement.manager == PackageManager::Pip
            && found.is_some_and(|own| own.sonames.iter().any(|name| row.needs_library(name)))
    };
    let listed = seen.complete.libraries || seen.packages.iter().any(holds);
    seen.complete.packages && seen.depth != InspectionDepth::Layers && listed
}

/// Whether one source of libraries has a soname.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LibraryPresence {
    /// It does not have it.
    No,
    /// It may have it, or has it where the loader may not search.
    Maybe,
    /// It has it.
    Yes,
}

/// Returns whether the finally installed wheel of a package's library lacks it; `is_missing`: whether the wheel that is
/// installed with the package lacks it.
fn library_loss(
    seen: &Observations,
    package: &ObservedPackage,
    soname: &str,
    is_missing: bool,
    knowledge: Knowledge,
) -> LibraryLoss {
    let mut loss = if is_missing { LibraryLoss::Certain } else { LibraryLoss::No };
    let Some(at) = seen.packages.iter().position(|one| one.fact == package.fact) else { return LibraryLoss::No };
    let ordered = seen.depth == InspectionDepth::Text;
    let later: Vec<&ObservedPackage> = seen
        .packages
        .iter()
        .skip(at + 1)
        .filter(|one| one.shares_environment_with(package) && !(ordered && one.command == package.command))
        .collect();
    if later.is_empty() {
        return loss;
    }
    let wheels = match knowledge.library_wheel(&package.requirement.name) {
        Some(own) => BTreeSet::from([own.distribution]),
        None => library_wheels_for(package, soname, knowledge),
    };
    if wheels.is_empty() {
        return LibraryLoss::No;
    }
    // An installer resolves what a command names together; a list has no such order.
    for command in later.chunk_by(|one, other| ordered && one.command == other.command) {
        if let Some(effect) = effect_of_command(package, command, soname, &wheels, knowledge) {
            loss = loss.after(effect);
        }
    }
    loss
}

/// What a command does to the wheel of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WheelEffect {
    /// It installs one without the library.
    Lost,
    /// It may install one without the library.
    PossiblyLost(Cause),
    /// It installs one with the library.
    Restored,
    /// It may install one with the library.
    PossiblyRestored(Cause),
}

impl WheelEffect {
    /// Returns the effect of an install that may not happen.
    fn if_conditional(self, conditional: Option<&Cause>) -> Self {
        match (self, conditional) {
            (Self::Lost, Some(why)) => Self::PossiblyLost(why.clone()),
            (Self::Restored, Some(why)) => Self::PossiblyRestored(why.clone()),
            (effect, _) => effect,
        }
    }
}

impl LibraryLoss {
    /// Returns the loss after a command.
    fn after(self, effect: WheelEffect) -> Self {
        match (self, effect) {
            (_, WheelEffect::Lost) => Self::Certain,
            (_, WheelEffect::Restored) => Self::No,
            (Self::No, WheelEffect::PossiblyLost(why)) | (Self::Certain, WheelEffect::PossiblyRestored(why)) => {
                Self::Possible(why)
            }
            (loss, WheelEffect::PossiblyLost(_) | WheelEffect::PossiblyRestored(_)) => loss,
        }
    }
}

/// Returns what the packages of a command do to the wheel of a library; `None` if they leave it unchanged.
fn effect_of_command(
    package: &ObservedPackage,
    command: &[&ObservedPackage],
    soname: &str,
    wheels: &BTreeSet<&str>,
    knowledge: Knowledge,
) -> Option<WheelEffect> {
    let (named, others): (Vec<&ObservedPackage>, Vec<&ObservedPackage>) = command
        .iter()
        .copied()
        .filter(|one| one.requirement.manager == PackageManager::Pip)
        .partition(|one| wheels.contains(one.requirement.name.as_str()));
    let mut named = named.into_iter().filter_map(|wheel| {
        effect_of_wheel(wheel, soname, knowledge).map(|effect| effect.if_conditional(wheel.conditional.as_ref()))
    });
    let effects: Vec<WheelEffect> = others
        .into_iter()
        .filter_map(|one| {
            effect_of_package(package, one, soname, wheels, knowledge)
                .map(|effect| effect.if_conditional(one.conditional.as_ref()))
        })
        .collect();
    let is_restored = effects.contains(&WheelEffect::Restored);
    match named.next_back() {
        // Another package of the command requires a release with the library.
        Some(WheelEffect::Lost) if is_restored => Some(WheelEffect::PossiblyLost(dependency_version(wheels, package))),
        Some(effect) => Some(effect),
        None if is_restored => Some(WheelEffect::Restored),
        None => effects.into_iter().min_by_key(|effect| *effect != WheelEffect::Lost),
    }
}

/// Whether the wheel of a library was installed, and a later command replaced it with one that lacks the library.
pub(super) fn is_library_wheel_replaced(seen: &Observations, soname: &str, knowledge: Knowledge) -> bool {
    let has = |name: &str| {
        let mut rows = knowledge.library_packages().iter().filter(|row| row.name == name);
        rows.any(|row| row.sonames.contains(&soname))
    };
    let of_wheel = |one: &&ObservedPackage| {
        one.requirement.manager == PackageManager::Pip && knowledge.library_wheel(&one.requirement.name).is_some()
    };
    // A range that the installed release satisfies replaces nothing.
    let replaces = |one: &&ObservedPackage| effect_of_wheel(one, soname, knowledge).is_some();
    let own = seen.packages.iter().filter(of_wheel).filter(|one| has(&one.requirement.name));
    let mut wheels = own.filter(replaces).peekable();
    let lacks = |one: &ObservedPackage| {
        let row = knowledge.package_libraries(&one.requirement.name, release_version(one));
        one.conditional.is_none() && row.is_some_and(|row| !row.sonames.contains(&soname))
    };
    wheels.peek().is_some()
        && wheels.all(|one| library_loss(seen, one, soname, lacks(one), knowledge) == LibraryLoss::Certain)
}

/// Returns what the dependencies of `one` do to the wheel of a library; `None` if they leave it unchanged.
fn effect_of_package(
    package: &ObservedPackage,
    one: &ObservedPackage,
    soname: &str,
    wheels: &BTreeSet<&str>,
    knowledge: Knowledge,
) -> Option<WheelEffect> {
    if one.requirement.no_deps {
        return None;
    }
    if one.requirement.name == package.requirement.name {
        return Some(WheelEffect::Restored);
    }
    // A package with its own library wheel uses the matching one.
    let own = library_dependency_row(one, knowledge).filter(|_| one.conditional.is_none());
    let another = own.into_iter().flat_map(RequiredLibrariesRow::sonames).find_map(|other| {
        let shares = library_wheels_for(one, other, knowledge).iter().any(|wheel| wheels.contains(wheel));
        let effect = if other == soname { WheelEffect::Restored } else { WheelEffect::Lost };
        (shares && soname_stem(other) == soname_stem(soname)).then_some(effect)
    });
    if another.is_some() {
        return another;
    }
    let is_known = knowledge.library_wheel(&one.requirement.name).is_some() || requires_no_cuda_library(one, knowledge);
    if requires_torch(one, knowledge) {
        return Some(WheelEffect::Restored);
    }
    (!is_known).then(|| WheelEffect::PossiblyRestored(dependency_version(wheels, one)))
}

/// Whether a package is the wheel of a CUDA library of which only other releases have the soname.
pub(super) fn is_wheel_without_library(package: &ObservedPackage, soname: &str, knowledge: Knowledge) -> bool {
    let mut rows = knowledge.library_packages().iter().filter(|row| row.name == package.requirement.name);
    package.requirement.manager == PackageManager::Pip
        && rows.any(|row| row.sonames.contains(&soname))
        && effect_of_wheel(package, soname, knowledge) == Some(WheelEffect::Lost)
}

/// Returns the cause for a library package whose version another package may determine.
fn dependency_version(wheels: &BTreeSet<&str>, package: &ObservedPackage) -> Cause {
    let name = wheels.first().copied().unwrap_or_default().to_owned();
    Cause::DependencyVersion { name, package: package.requirement.name.to_string() }
}

/// Returns what a wheel of a library does to it; `None` if an installed release stays.
fn effect_of_wheel(wheel: &ObservedPackage, soname: &str, knowledge: Knowledge) -> Option<WheelEffect> {
    let name = wheel.requirement.name.to_string();
    let of_sonames = |has: bool| if has { WheelEffect::Restored } else { WheelEffect::Lost };
    match &wheel.requirement.version {
        PackageVersion::Unresolved(why) => {
            let why = Cause::VersionNotKnown { name, because: Box::new(why.clone()) };
            Some(WheelEffect::PossiblyLost(why))
        }
        PackageVersion::Exact(version) => Some(match knowledge.package_libraries(&name, release_version(wheel)) {
            Some(row) => of_sonames(row.sonames.contains(&soname)),
            None => WheelEffect::PossiblyLost(Cause::VersionNotInTables {
                package: name,
                version: version.to_string(),
                date: knowledge.newest_source_date(),
            }),
        }),
        PackageVersion::Range(range) => {
            let is_possible = |row: &&LibraryPackageRow| {
                let from = row.from.map(|from| VersionRange::from(format!(">={from}")));
                let before = row.before.map(|before| VersionRange::from(format!("<{before}")));
                row.name == name && range.overlaps(&VersionRange::of_all(from.iter().chain(&before))) != Some(false)
            };
            let rows: Vec<_> = knowledge.library_packages().iter().filter(is_possible).collect();
            let first = rows.first()?.sonames.contains(&soname);
            let is_same = rows.iter().all(|row| row.sonames.contains(&soname) == first);
            let by_date = || Cause::VersionByDate { package: name.clone(), specifier: range.to_string() };
            match (is_same, wheel.requirement.upgrade) {
                (true, _) => Some(of_sonames(first)),
                (false, true) => Some(WheelEffect::PossiblyLost(by_date())),
                // Each of the releases satisfies the range.
                (false, false) => None,
            }
        }
    }
}

/// Whether a wheel is known to require no CUDA library and to have none as a dependency.
fn requires_no_cuda_library(one: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.is_library_free(&one.requirement.name, |from| is_release_at_least(one, from))
}

/// Returns the wheels that provide a library to a package, for the CUDA major version of its other libraries.
fn library_wheels_for(package: &ObservedPackage, soname: &str, knowledge: Knowledge) -> BTreeSet<&'static str> {
    let Some(row) = library_dependency_row(package, knowledge) else { return BTreeSet::new() };
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

/// Returns the soname without `.so` and version.
fn soname_stem(soname: &str) -> &str {
    soname.split(".so").next().unwrap_or(soname)
}
