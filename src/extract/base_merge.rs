//! Merging of the observations of a base image into those of the Dockerfile that builds on it.

use crate::model::fact::{
    Evidence, FactId, FactKey, Facts, Observations, ObservedBase, ObservedFile, ObservedGpuCode,
    ObservedLibraryDependencies, Origin, PrintedValue, ValueState,
};
use crate::model::package::ObservedPackage;
use crate::registry::Platform;

/// Adds the observations of the base image to those of the Dockerfile, whose own values take precedence.
pub(super) fn merge_base_observations(base: &Observations, seen: &mut Observations) {
    let shift = append_facts(&base.facts, &mut seen.facts);
    merge_platforms(base, seen, &shift);
    if seen.base_env {
        for (name, (value, fact)) in &base.env {
            if seen.env.contains_key(name) {
                continue;
            }
            seen.env.insert(name.clone(), (value.clone(), shift(*fact)));
            if let Some(template) = base.base_changes.env_templates.get(name) {
                seen.base_changes.env_templates.insert(name.clone(), template.clone());
            }
        }
        seen.complete.env |= base.complete.env;
        seen.complete_by = seen.complete_by.or(base.complete_by.map(&shift));
        seen.complete.libraries &= base.complete.libraries;
        if seen.entrypoint.is_none() {
            seen.entrypoint = base.entrypoint.as_ref().map(|(words, fact)| (words.clone(), shift(*fact)));
        }
        if seen.tag_now.is_none() {
            seen.tag_now = base.tag_now.as_ref().map(|(changes, fact)| (changes.clone(), shift(*fact)));
        }
        // What was read is all there is: rows for the tag add nothing to it.
        seen.base_env = base.base_env && !(base.complete.env && matches!(base.base, ObservedBase::NotSaid));
    }
    match &base.base {
        ObservedBase::NotSaid => {}
        ObservedBase::Scratch(fact) => seen.base = ObservedBase::Scratch(shift(*fact)),
        ObservedBase::Image(reference, fact) => seen.base = ObservedBase::Image(reference.clone(), shift(*fact)),
        ObservedBase::Unresolved(why, fact) => seen.base = ObservedBase::Unresolved(why.clone(), shift(*fact)),
    }
    seen.as_of = seen.as_of.or(base.as_of);
    seen.other_python |= base.other_python;
    if seen.cuda_runtime.is_none() {
        seen.cuda_runtime = base.cuda_runtime.map(|(cuda, fact)| (cuda, shift(fact)));
    }
    shift_command_numbers(base.commands, seen);
    merge_contents(base, seen, &shift);
    seen.removed_packages.splice(0..0, base.removed_packages.iter().cloned());
}

/// Renumbers the commands of a build to follow those of its base image.
fn shift_command_numbers(commands: u32, seen: &mut Observations) {
    for package in seen.packages.iter_mut().chain(&mut seen.uninstalled_packages).chain(&mut seen.bounds) {
        package.command = package.command.saturating_add(commands);
    }
    for (command, _) in &mut seen.base_changes.unknown_wheels {
        *command = command.saturating_add(commands);
    }
    seen.base_changes.installers.shift(commands);
    for removal in &mut seen.removed_packages {
        removal.command = removal.command.saturating_add(commands);
    }
    seen.commands = seen.commands.saturating_add(commands);
}

/// Appends copies of facts to other facts; returns the mapping from an old id to the new one.
fn append_facts(from: &Facts, to: &mut Facts) -> impl Fn(FactId) -> FactId + use<> {
    let offset = to.len();
    let shift = move |id: FactId| FactId(id.0.saturating_add(offset));
    for (_, entry) in from.iter() {
        let evidence = match &entry.evidence {
            Evidence::Leaf(origins) => Evidence::Leaf(origins.clone()),
            Evidence::Derived { by, from, row } => {
                Evidence::Derived { by: *by, from: from.iter().map(|id| shift(*id)).collect(), row: *row }
            }
        };
        to.add(entry.key, entry.subject.as_deref(), entry.state.clone(), evidence);
    }
    shift
}

/// Merges packages, files and GPU code, those of the base image first.
fn merge_contents(base: &Observations, seen: &mut Observations, shift: &impl Fn(FactId) -> FactId) {
    let replaced = |component: &Option<String>, seen: &Observations| {
        let of = |package: &&ObservedPackage| component.as_deref() == Some(package.requirement.name.as_str());
        seen.packages
            .iter()
            .filter(of)
            .any(|package| package.requirement.upgrade || !package.requirement.version.is_range())
    };
    let code = base.code.iter().filter(|code| !replaced(&code.component, seen));
    let code: Vec<ObservedGpuCode> =
        code.map(|code| ObservedGpuCode { fact: shift(code.fact), ..code.clone() }).collect();
    let needs = base.needs.iter().filter(|needs| !replaced(&needs.component, seen));
    let needs: Vec<ObservedLibraryDependencies> =
        needs.map(|needs| ObservedLibraryDependencies { fact: shift(needs.fact), ..needs.clone() }).collect();
    let packages: Vec<ObservedPackage> =
        base.packages.iter().map(|package| ObservedPackage { fact: shift(package.fact), ..package.clone() }).collect();
    seen.code.splice(0..0, code);
    seen.needs.splice(0..0, needs);
    seen.packages.splice(0..0, packages);
    let uninstalled = base
        .uninstalled_packages
        .iter()
        .map(|package| ObservedPackage { fact: shift(package.fact), ..package.clone() });
    seen.uninstalled_packages.splice(0..0, uninstalled.collect::<Vec<_>>());
    let bounds = base.bounds.iter().map(|package| ObservedPackage { fact: shift(package.fact), ..package.clone() });
    seen.bounds.splice(0..0, bounds.collect::<Vec<_>>());
    seen.base_changes.removed.extend(base.base_changes.removed.iter().map(|(what, fact)| (what.clone(), shift(*fact))));
    for (path, file) in &base.files {
        let shifted = || ObservedFile { kind: file.kind.clone(), fact: shift(file.fact) };
        seen.files.entry(path.clone()).or_insert_with(shifted);
    }
    let wheels = base.base_changes.unknown_wheels.iter().map(|(command, fact)| (*command, shift(*fact)));
    seen.base_changes.unknown_wheels.splice(0..0, wheels.collect::<Vec<_>>());
    seen.base_changes
        .scripts
        .splice(0..0, base.base_changes.scripts.iter().map(|fact| shift(*fact)).collect::<Vec<_>>());
    seen.base_changes.builds_for_gpus |= base.base_changes.builds_for_gpus;
    seen.base_changes.copies_unread_images |= base.base_changes.copies_unread_images;
    seen.base_changes.installers.prepend(&base.base_changes.installers);
    seen.base_changes.unpackaged.extend(base.base_changes.unpackaged.iter().cloned());
    for (path, (reason, fact)) in &base.base_changes.perhaps {
        seen.base_changes.perhaps.entry(path.clone()).or_insert_with(|| (reason.clone(), shift(*fact)));
    }
}

/// Limits the platforms of a build to those of its base image.
fn merge_platforms(base: &Observations, seen: &mut Observations, shift: &impl Fn(FactId) -> FactId) {
    let Some((offered, fact)) = &base.platforms else { return };
    let parsed: Vec<Platform> = offered.iter().filter_map(|one| one.parse().ok()).collect();
    if parsed.is_empty() {
        return;
    }
    let there =
        |made: &String| made.parse::<Platform>().map_or(true, |made| parsed.iter().any(|own| made.accepts(own)));
    let (list, also) = match &seen.platforms {
        None => (parsed.iter().map(ToString::to_string).collect(), None),
        Some((made, _)) if made.iter().all(there) => return,
        Some((made, own)) => (made.iter().filter(|made| there(made)).cloned().collect::<Vec<_>>(), Some(*own)),
    };
    // The line that names the base comes first: it is the one to change.
    let from = match &seen.base {
        ObservedBase::Image(_, fact) | ObservedBase::Scratch(fact) | ObservedBase::Unresolved(_, fact) => Some(*fact),
        ObservedBase::NotSaid => None,
    };
    let mut origins: Vec<Origin> = Vec::new();
    for origin in from.into_iter().chain(also).chain([shift(*fact)]).flat_map(|id| seen.facts.origins(id)) {
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    let state = ValueState::Known(PrintedValue::from(&list));
    let fact = seen.facts.add(FactKey::Platforms, None, state, Evidence::Leaf(origins));
    seen.platforms = Some((list, fact));
}
