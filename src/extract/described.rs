//! Packages of a description into observations, and back: told by their versions alone where that is enough.

use std::collections::BTreeSet;

use crate::describe::Gone;
use crate::describe::Named;
use crate::describe::Package;
use crate::describe::Packages;
use crate::describe::Spanned;
use crate::fact::BuildAskSeen;
use crate::fact::Depth;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageGone;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Why;
use crate::install::normalised;
use crate::knowledge::Knowledge;

const MANAGERS: [Manager; 3] = [Manager::Pip, Manager::Conda, Manager::Apt];

/// The sections of a description by who installs what is in them.
pub(super) fn sections(packages: &Packages) -> [(Manager, &[Named<Spanned<Package>>]); 3] {
    [(Manager::Pip, &packages.pip), (Manager::Conda, &packages.conda), (Manager::Apt, &packages.apt)]
}

/// The name of a package as observations have it.
pub(super) fn plain_name(manager: Manager, name: &str) -> String {
    if manager == Manager::Apt { name.to_owned() } else { normalised(name) }
}

/// A name as pip takes it, and the extras in brackets behind it: `jax[cuda12]`.
pub(super) fn with_extras(name: &str) -> (&str, Vec<String>) {
    let Some((plain, rest)) = name.split_once('[') else { return (name, Vec::new()) };
    let list = rest.split(']').next().unwrap_or_default();
    (plain.trim_end(), list.split(',').map(|extra| extra.trim().to_owned()).filter(|extra| !extra.is_empty()).collect())
}

/// The packages of pip by their plain names.
pub(super) fn names(packages: &Packages) -> BTreeSet<String> {
    packages.pip.iter().map(|(name, _)| normalised(with_extras(&name.value).0)).collect()
}

/// What a description says of a package, in few words.
pub(super) fn in_words(package: &Package) -> &str {
    if package.version.is_empty() { "*" } else { &package.version }
}

/// A package as it is described.
pub(super) fn observed(manager: Manager, name: String, package: &Package, depth: Depth, fact: FactId) -> PackageSeen {
    let supply = || "add it to the image description".to_owned();
    let why = |reason: &String| Why { reason: reason.clone(), supply: supply() };
    let exact = package.version.starts_with(|first: char| first.is_ascii_digit());
    let version = match &package.unknown {
        Some(reason) => PackageVersion::Unresolved(why(reason)),
        None if exact => PackageVersion::Exact(package.version.clone()),
        None => PackageVersion::Open(package.version.trim_start_matches('*').to_owned()),
    };
    let offered = match (&package.index_unknown, &package.index) {
        (Some(reason), _) => Offered::Unknown(why(reason)),
        (None, Some(tag)) => Offered::Only(tag.clone()),
        (None, None) if package.extra_index.is_empty() => Offered::Default,
        (None, None) => Offered::Beside(package.extra_index.clone()),
    };
    // Of a command `+cu118` behind a range is the index that it chooses from.
    let (version, of_index) = match version {
        PackageVersion::Open(range) if depth == Depth::Text => {
            let (range, tag) = range.split_once('+').map_or((range.as_str(), None), |(range, tag)| (range, Some(tag)));
            (PackageVersion::Open(range.to_owned()), tag.map(str::to_owned))
        }
        version => (version, None),
    };
    PackageSeen {
        variant: of_index.clone().or_else(|| package.variant.clone()),
        offered: of_index.map_or(offered, Offered::Only),
        early: package.early.as_ref().map(why),
        // Commands keep what is there unless they say otherwise; a plain description is of what is there.
        upgrade: package.upgrade || depth != Depth::Text,
        alone: package.alone,
        channel: package.channel.clone(),
        apart: package.apart,
        python: package.python.clone(),
        conditional: package.conditional.as_ref().map(why),
        command: package.command.unwrap_or(0),
        ..PackageSeen::new(manager, name, version, fact)
    }
}

/// Puts what was read in the order of the commands.
pub(super) fn in_order(packages: &Packages, seen: &mut Observations) {
    seen.packages.sort_by_key(|package| package.command);
    seen.other_python |= packages.other_python;
    for gone in &packages.gone {
        let Some(manager) = MANAGERS.into_iter().find(|manager| manager.name() == gone.value.manager) else { continue };
        let name = plain_name(manager, &gone.value.name);
        seen.gone.push(PackageGone { manager, name, command: gone.value.command });
    }
    let commands = seen.packages.iter().chain(&seen.bounds).map(|package| package.command);
    seen.commands = commands.chain(seen.gone.iter().map(|gone| gone.command)).max().unwrap_or(0);
}

/// Whether the builds of a package are chosen command by command, or it has a say in that choice.
fn is_chosen(name: &str, knowledge: Knowledge) -> bool {
    let mut brought = knowledge.brought_packages().iter().filter(|row| row.distribution == name);
    let mut written_over = knowledge.processor_packages().iter().filter(|row| row.same_folder);
    knowledge.framework(name).is_some_and(|row| row.variants)
        || brought.any(|row| knowledge.torch_pins_of(row.brings).next().is_some())
        || written_over.any(|row| row.distribution == name || row.instead == name)
        || knowledge.torch_pins_of(name).next().is_some()
        || !knowledge.own_indexes(name).is_empty()
}

/// Packages as a description tells of them.
pub(super) fn described(seen: &Observations, knowledge: Knowledge) -> Packages {
    let chosen = |package: &&PackageSeen| is_chosen(&package.name, knowledge);
    let commands: BTreeSet<u32> = seen.packages.iter().filter(chosen).map(|package| package.command).collect();
    // The base image may bring any framework, and another package a library.
    let library = |name: &str| knowledge.library_packages().iter().any(|row| row.name == name);
    let told = |name: &str| knowledge.framework(name).is_some() || is_chosen(name, knowledge) || library(name);
    let gone = seen.gone.iter().filter(|gone| told(&gone.name));
    let simple = |package: &PackageSeen| is_simple(package, seen.depth);
    // What goes with one release of torch, and has none of its own: what came before it has a say.
    let goes_with = |package: &PackageSeen| {
        knowledge.is_built_with_torch(&package.name) && matches!(package.version, PackageVersion::Open(_))
    };
    let open = seen.packages.iter().any(goes_with);
    let around = open && !(seen.of_base.untold.is_empty() && seen.of_base.keeping.is_empty());
    let numbers = |list: &[u32]| list.iter().filter(|_| around).copied().map(Spanned::nowhere).collect();
    let ordered = commands.len() > 1
        || seen.gone.iter().any(|gone| is_chosen(&gone.name, knowledge))
        || !seen.bounds.is_empty()
        || !seen.of_base.unknown_wheels.is_empty()
        || around
        || !seen.of_base.renewing.is_empty()
        || !seen.packages.iter().filter(chosen).all(simple);
    let by_driver = seen.build_asks.iter().find(|ask| ask.what == BuildAskSeen::BY_DRIVER);
    let mut found = Packages {
        other_python: seen.other_python,
        by_driver: by_driver.map(|ask| text(&ask.command)),
        unread: seen.facts.iter().find_map(|(_, entry)| match (entry.key, &entry.state) {
            (FactKey::Requirements, State::Unknown(why)) => Some(text(&why.reason)),
            _ => None,
        }),
        untold: numbers(&seen.of_base.untold),
        keeping: numbers(&seen.of_base.keeping),
        renewing: seen.of_base.renewing.iter().copied().map(Spanned::nowhere).collect(),
        unknown_wheels: seen.of_base.unknown_wheels.iter().map(|(number, _)| Spanned::nowhere(*number)).collect(),
        ..Packages::default()
    };
    let named = |package: &PackageSeen, said: Package| (text(&package.name), Spanned::nowhere(said));
    for package in &seen.packages {
        let list = match package.manager {
            Manager::Pip => &mut found.pip,
            Manager::Conda => &mut found.conda,
            Manager::Apt => &mut found.apt,
        };
        if ordered && chosen(&package) {
            list.push(named(package, in_full(package)));
            continue;
        }
        // A later install replaces an earlier one.
        list.retain(|(name, _)| name.value != package.name);
        let in_short = simple(package) || !chosen(&package) && is_plain(package);
        // Of libraries, what they depend on would be others.
        let bare = library(&package.name) || knowledge.lacks_extra(&package.name, &[]);
        let in_short = in_short && !(package.alone && bare);
        let said = if in_short { Package::of(written_version(package)) } else { in_full(package) };
        // Builds of a framework differ from channel to channel.
        let channel = package.channel.clone().filter(|_| knowledge.framework(&package.name).is_some());
        list.push(named(package, Package { command: None, channel, ..said }));
    }
    if ordered {
        found.bounds = seen.bounds.iter().map(|package| named(package, in_full(package))).collect();
    }
    let of = |gone: &PackageGone| Gone {
        manager: gone.manager.name().to_owned(),
        name: gone.name.clone(),
        command: gone.command,
    };
    found.gone = gone.map(|gone| Spanned::nowhere(of(gone))).collect();
    found
}

fn text(text: &str) -> Spanned<String> {
    Spanned::nowhere(text.to_owned())
}

/// Whether nothing but its version has a say, where its build is not chosen by the commands around it.
fn is_plain(package: &PackageSeen) -> bool {
    package.conditional.is_none() && !matches!(package.version, PackageVersion::Unresolved(_))
}

/// Whether its version, with the build behind it, says all there is to say.
fn is_simple(package: &PackageSeen, depth: Depth) -> bool {
    let local = matches!(&package.version, PackageVersion::Exact(text) if text.contains('+'));
    let one_index = match (&package.variant, &package.offered) {
        (None, Offered::Default) => true,
        (Some(variant), Offered::Only(tag)) => variant == tag,
        _ => false,
    };
    let known = match &package.version {
        PackageVersion::Open(_) if depth == Depth::Text => one_index && package.python.is_none(),
        PackageVersion::Exact(_) | PackageVersion::Open(_) => true,
        PackageVersion::Unresolved(_) => false,
    };
    let of_build = match (&package.variant, &package.offered) {
        (Some(_), _) if package.manager != Manager::Pip => false,
        // One without CUDA that is there, and that nobody is known to have chosen.
        (Some(variant), Offered::Default) => local || variant.starts_with("cu"),
        (_, Offered::Default | Offered::Only(_)) => true,
        (_, Offered::Beside(_) | Offered::Unknown(_)) => local,
    };
    // What it brings along is chosen from the indexes, whatever its own version says.
    let along = local && package.offered != Offered::Default;
    let pins = || Knowledge::built_in().torch_pins_of(&package.name).next().is_some();
    known
        && of_build
        && !(along && pins())
        && package.early.is_none()
        && package.conditional.is_none()
        && !((package.upgrade || package.alone || package.apart) && depth == Depth::Text)
}

/// Everything that has a say in which package it is.
fn in_full(package: &PackageSeen) -> Package {
    let (version, unknown) = match &package.version {
        PackageVersion::Exact(version) => (version.clone(), None),
        PackageVersion::Open(range) if range.starts_with(|first: char| first.is_ascii_digit()) => {
            (format!("*{range}"), None)
        }
        PackageVersion::Open(range) => (range.clone(), None),
        PackageVersion::Unresolved(why) => (String::new(), Some(why.reason.clone())),
    };
    let (mut index, mut extra_index, mut index_unknown) = (None, Vec::new(), None);
    match &package.offered {
        Offered::Default => {}
        Offered::Only(tag) => index = Some(tag.clone()),
        Offered::Beside(tags) => extra_index.clone_from(tags),
        Offered::Unknown(why) => index_unknown = Some(why.reason.clone()),
    }
    Package {
        version,
        unknown,
        conditional: package.conditional.as_ref().map(|why| why.reason.clone()),
        variant: package.variant.clone(),
        index,
        extra_index,
        index_unknown,
        early: package.early.as_ref().map(|why| why.reason.clone()),
        upgrade: package.upgrade,
        alone: package.alone,
        channel: package.channel.clone(),
        apart: package.apart,
        python: package.python.clone(),
        command: Some(package.command),
    }
}

/// The version with the variant that a command chose by its index, as a local version says it.
fn written_version(package: &PackageSeen) -> String {
    match (&package.version, &package.variant) {
        (PackageVersion::Exact(version), Some(variant)) if !version.contains('+') => format!("{version}+{variant}"),
        (PackageVersion::Exact(version), _) => version.clone(),
        (PackageVersion::Open(range), variant) => {
            let offered = match &package.offered {
                Offered::Only(tag) => Some(tag),
                Offered::Default | Offered::Beside(_) | Offered::Unknown(_) => None,
            };
            let range = if range.is_empty() { "*" } else { range };
            let variant = variant.as_ref().or(offered).filter(|_| !range.contains('+'));
            variant.map_or_else(|| range.to_owned(), |variant| format!("{range}+{variant}"))
        }
        (PackageVersion::Unresolved(_), _) => "*".to_owned(),
    }
}
