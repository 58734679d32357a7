//! Conversion of the packages of an image description into observations, and back.

use std::collections::BTreeSet;

use crate::describe::{DescribedPackage, DescribedPackages, DescribedRemoval, NamedEntry, Spanned};
use crate::install::normalise_name;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{
    BuildMachineQuery, FactId, FactKey, IndexSelection, InspectionDepth, Observations, ObservedPackage, PackageManager,
    PackageVersion, RemovedPackage, ValueState,
};

/// The package managers that a description covers.
const MANAGERS: [PackageManager; 3] = [PackageManager::Pip, PackageManager::Conda, PackageManager::System];

/// Returns the sections of a description by package manager.
pub(super) fn package_sections(
    packages: &DescribedPackages,
) -> [(PackageManager, &[NamedEntry<Spanned<DescribedPackage>>]); 3] {
    [
        (PackageManager::Pip, &packages.pip),
        (PackageManager::Conda, &packages.conda),
        (PackageManager::System, &packages.apt),
    ]
}

/// Returns the name of a package in the form that observations use.
pub(super) fn normalised_name(manager: PackageManager, name: &str) -> String {
    if manager == PackageManager::System { name.to_owned() } else { normalise_name(name) }
}

/// Splits a name as pip takes it into the plain name and the extras in brackets: `jax[cuda12]`.
pub(super) fn split_extras(name: &str) -> (&str, Vec<String>) {
    let Some((plain, rest)) = name.split_once('[') else { return (name, Vec::new()) };
    let list = rest.split(']').next().unwrap_or_default();
    (plain.trim_end(), list.split(',').map(|extra| extra.trim().to_owned()).filter(|extra| !extra.is_empty()).collect())
}

/// Returns the normalised names of the pip packages of a description.
pub(super) fn pip_names(packages: &DescribedPackages) -> BTreeSet<String> {
    packages.pip.iter().map(|(name, _)| normalise_name(split_extras(&name.value).0)).collect()
}

/// Returns the version of a described package, `*` if there is none.
pub(super) fn version_text(package: &DescribedPackage) -> &str {
    if package.version.is_empty() { "*" } else { &package.version }
}

/// Converts a described package into an observed one.
pub(super) fn observe_described_package(
    manager: PackageManager,
    name: String,
    package: &DescribedPackage,
    depth: InspectionDepth,
    fact: FactId,
) -> ObservedPackage {
    let supply = || "add it to the image description".to_owned();
    let why = |reason: &String| Cause::Recorded { reason: reason.clone(), remedy: supply() };
    let exact = package.version.starts_with(|first: char| first.is_ascii_digit());
    let version = match &package.unknown {
        Some(reason) => PackageVersion::Unresolved(why(reason)),
        None if exact => PackageVersion::Exact(package.version.clone()),
        None => PackageVersion::Range(package.version.trim_start_matches('*').to_owned()),
    };
    let offered = match (&package.index_unknown, &package.index) {
        (Some(reason), _) => IndexSelection::Unknown(why(reason)),
        (None, Some(tag)) => IndexSelection::Only(tag.clone()),
        (None, None) if package.extra_index.is_empty() => IndexSelection::Default,
        (None, None) => IndexSelection::Beside(package.extra_index.clone()),
    };
    // Of a command `+cu118` behind a range is the index that it chooses from.
    let (version, of_index) = match version {
        PackageVersion::Range(range) if depth == InspectionDepth::Text => {
            let (range, tag) = range.split_once('+').map_or((range.as_str(), None), |(range, tag)| (range, Some(tag)));
            (PackageVersion::Range(range.to_owned()), tag.map(str::to_owned))
        }
        version => (version, None),
    };
    ObservedPackage {
        variant: of_index.clone().or_else(|| package.variant.clone()),
        indexes: of_index.map_or(offered, IndexSelection::Only),
        prerelease: package.early.as_ref().map(why),
        // Commands keep what is there unless they say otherwise; a plain description is of what is there.
        upgrade: package.upgrade || depth != InspectionDepth::Text,
        no_deps: package.alone,
        channel: package.channel.clone(),
        separate_environment: package.apart,
        python: package.python.clone(),
        conditional: package.conditional.as_ref().map(why),
        command: package.command.unwrap_or(0),
        ..ObservedPackage::new(manager, name, version, fact)
    }
}

/// Sorts the packages by command, and restores the removals and the number of commands.
pub(super) fn restore_command_order(packages: &DescribedPackages, seen: &mut Observations) {
    seen.packages.sort_by_key(|package| package.command);
    seen.other_python |= packages.other_python;
    for gone in &packages.gone {
        let Some(manager) = MANAGERS.into_iter().find(|manager| manager.name() == gone.value.manager) else { continue };
        let name = normalised_name(manager, &gone.value.name);
        seen.removed_packages.push(RemovedPackage { manager, name, command: gone.value.command });
    }
    let commands = seen.packages.iter().chain(&seen.bounds).map(|package| package.command);
    seen.commands = commands.chain(seen.removed_packages.iter().map(|gone| gone.command)).max().unwrap_or(0);
}

/// Whether the build of a package depends on the commands around it, or influences such a choice.
fn is_order_sensitive(name: &str, knowledge: Knowledge) -> bool {
    let mut brought = knowledge.brought_packages().iter().filter(|row| row.distribution == name);
    let mut written_over = knowledge.processor_packages().iter().filter(|row| row.same_folder);
    knowledge.framework(name).is_some_and(|row| row.variants)
        || brought.any(|row| knowledge.torch_requirements_of(row.brings).next().is_some())
        || written_over.any(|row| row.distribution == name || row.instead == name)
        || knowledge.torch_requirements_of(name).next().is_some()
        || !knowledge.project_indexes(name).is_empty()
}

/// Converts observed packages into the packages of a description.
pub(super) fn describe_packages(seen: &Observations, knowledge: Knowledge) -> DescribedPackages {
    let chosen = |package: &&ObservedPackage| is_order_sensitive(&package.name, knowledge);
    let commands: BTreeSet<u32> = seen.packages.iter().filter(chosen).map(|package| package.command).collect();
    // The base image may bring any framework, and another package a library.
    let library = |name: &str| knowledge.library_packages().iter().any(|row| row.name == name);
    let told = |name: &str| knowledge.framework(name).is_some() || is_order_sensitive(name, knowledge) || library(name);
    let gone = seen.removed_packages.iter().filter(|gone| told(&gone.name));
    let simple = |package: &ObservedPackage| is_version_sufficient(package, seen.depth);
    // What goes with one release of torch, and has none of its own: what came before it has a say.
    let goes_with = |package: &ObservedPackage| {
        knowledge.is_built_with_torch(&package.name) && matches!(package.version, PackageVersion::Range(_))
    };
    let open = seen.packages.iter().any(goes_with);
    let around = open && !(seen.base_changes.unread_commands.is_empty() && seen.base_changes.keeping.is_empty());
    let numbers = |list: &[u32]| list.iter().filter(|_| around).copied().map(Spanned::without_span).collect();
    let ordered = commands.len() > 1
        || seen.removed_packages.iter().any(|gone| is_order_sensitive(&gone.name, knowledge))
        || !seen.bounds.is_empty()
        || !seen.base_changes.unknown_wheels.is_empty()
        || around
        || !seen.base_changes.renewing.is_empty()
        || !seen.packages.iter().filter(chosen).all(simple);
    let by_driver = seen.build_asks.iter().find(|ask| ask.what == BuildMachineQuery::SELECTS_BY_DRIVER);
    let mut found = DescribedPackages {
        other_python: seen.other_python,
        by_driver: by_driver.map(|ask| spanned_text(&ask.command)),
        unread: seen.facts.iter().find_map(|(_, entry)| match (entry.key, &entry.state) {
            (FactKey::Requirements, ValueState::Unknown(why)) => Some(spanned_text(&why.reason())),
            _ => None,
        }),
        untold: numbers(&seen.base_changes.unread_commands),
        keeping: numbers(&seen.base_changes.keeping),
        renewing: seen.base_changes.renewing.iter().copied().map(Spanned::without_span).collect(),
        unknown_wheels: seen
            .base_changes
            .unknown_wheels
            .iter()
            .map(|(number, _)| Spanned::without_span(*number))
            .collect(),
        ..DescribedPackages::default()
    };
    let named =
        |package: &ObservedPackage, said: DescribedPackage| (spanned_text(&package.name), Spanned::without_span(said));
    for package in &seen.packages {
        let list = match package.manager {
            PackageManager::Pip => &mut found.pip,
            PackageManager::Conda => &mut found.conda,
            PackageManager::System => &mut found.apt,
        };
        if ordered && chosen(&package) {
            list.push(named(package, full_description(package)));
            continue;
        }
        // A later install replaces an earlier one.
        list.retain(|(name, _)| name.value != package.name);
        let in_short = simple(package) || !chosen(&package) && has_known_version(package);
        // Of libraries, what they depend on would be others.
        let bare = library(&package.name) || knowledge.lacks_library_extra(&package.name, &[]);
        let in_short = in_short && !(package.no_deps && bare);
        let said = if in_short {
            DescribedPackage::with_version(version_with_variant(package))
        } else {
            full_description(package)
        };
        // Builds of a framework differ from channel to channel.
        let channel = package.channel.clone().filter(|_| knowledge.framework(&package.name).is_some());
        list.push(named(package, DescribedPackage { command: None, channel, ..said }));
    }
    if ordered {
        found.bounds = seen.bounds.iter().map(|package| named(package, full_description(package))).collect();
    }
    let of = |gone: &RemovedPackage| DescribedRemoval {
        manager: gone.manager.name().to_owned(),
        name: gone.name.clone(),
        command: gone.command,
    };
    found.gone = gone.map(|gone| Spanned::without_span(of(gone))).collect();
    found
}

/// Wraps a text as a described value without a source position.
fn spanned_text(text: &str) -> Spanned<String> {
    Spanned::without_span(text.to_owned())
}

/// Whether a package is unconditional and its version is not unresolved.
fn has_known_version(package: &ObservedPackage) -> bool {
    package.conditional.is_none() && !matches!(package.version, PackageVersion::Unresolved(_))
}

/// Whether the version of a package, with its build tag, describes it completely.
fn is_version_sufficient(package: &ObservedPackage, depth: InspectionDepth) -> bool {
    let local = matches!(&package.version, PackageVersion::Exact(text) if text.contains('+'));
    let one_index = match (&package.variant, &package.indexes) {
        (None, IndexSelection::Default) => true,
        (Some(variant), IndexSelection::Only(tag)) => variant == tag,
        _ => false,
    };
    let known = match &package.version {
        PackageVersion::Range(_) if depth == InspectionDepth::Text => one_index && package.python.is_none(),
        PackageVersion::Exact(_) | PackageVersion::Range(_) => true,
        PackageVersion::Unresolved(_) => false,
    };
    let of_build = match (&package.variant, &package.indexes) {
        (Some(_), _) if package.manager != PackageManager::Pip => false,
        // One without CUDA that is there, and that nobody is known to have chosen.
        (Some(variant), IndexSelection::Default) => local || variant.starts_with("cu"),
        (_, IndexSelection::Default | IndexSelection::Only(_)) => true,
        // The GPU code of a wheel at an unread URL is unknown, whatever its version names.
        (_, IndexSelection::Unknown(_)) => local && !Knowledge::built_in().has_variants(&package.name),
        (_, IndexSelection::Beside(_)) => local,
    };
    // What it brings along is chosen from the indexes, whatever its own version says.
    let along = local && package.indexes != IndexSelection::Default;
    let pins = || Knowledge::built_in().torch_requirements_of(&package.name).next().is_some();
    known
        && of_build
        && !(along && pins())
        && package.prerelease.is_none()
        && package.conditional.is_none()
        && !((package.upgrade || package.no_deps || package.separate_environment) && depth == InspectionDepth::Text)
}

/// Describes a package with everything that influences which build it is.
fn full_description(package: &ObservedPackage) -> DescribedPackage {
    let (version, unknown) = match &package.version {
        PackageVersion::Exact(version) => (version.clone(), None),
        PackageVersion::Range(range) if range.starts_with(|first: char| first.is_ascii_digit()) => {
            (format!("*{range}"), None)
        }
        PackageVersion::Range(range) => (range.clone(), None),
        PackageVersion::Unresolved(why) => (String::new(), Some(why.reason())),
    };
    let (mut index, mut extra_index, mut index_unknown) = (None, Vec::new(), None);
    match &package.indexes {
        IndexSelection::Default => {}
        IndexSelection::Only(tag) => index = Some(tag.clone()),
        IndexSelection::Beside(tags) => extra_index.clone_from(tags),
        IndexSelection::Unknown(why) => index_unknown = Some(why.reason()),
    }
    DescribedPackage {
        version,
        unknown,
        conditional: package.conditional.as_ref().map(Cause::reason),
        variant: package.variant.clone(),
        index,
        extra_index,
        index_unknown,
        early: package.prerelease.as_ref().map(Cause::reason),
        upgrade: package.upgrade,
        alone: package.no_deps,
        channel: package.channel.clone(),
        apart: package.separate_environment,
        python: package.python.clone(),
        command: Some(package.command),
    }
}

/// Returns the version with the variant that a command chose by its index, written as a local version.
fn version_with_variant(package: &ObservedPackage) -> String {
    match (&package.version, &package.variant) {
        (PackageVersion::Exact(version), Some(variant)) if !version.contains('+') => format!("{version}+{variant}"),
        (PackageVersion::Exact(version), _) => version.clone(),
        (PackageVersion::Range(range), variant) => {
            let offered = match &package.indexes {
                IndexSelection::Only(tag) => Some(tag),
                IndexSelection::Default | IndexSelection::Beside(_) | IndexSelection::Unknown(_) => None,
            };
            let range = if range.is_empty() { "*" } else { range };
            let variant = variant.as_ref().or(offered).filter(|_| !range.contains('+'));
            variant.map_or_else(|| range.to_owned(), |variant| format!("{range}+{variant}"))
        }
        (PackageVersion::Unresolved(_), _) => "*".to_owned(),
    }
}
