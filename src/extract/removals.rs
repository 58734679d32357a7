//! Packages that commands remove: by an installer, or by `rm` of their folders.

use std::collections::BTreeSet;

use crate::build::{Command, is_at_or_below_pattern};
use crate::dockerfile::{BaseKind, ShellPattern};
use crate::extract::command_reader::CommandReader;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_copies::is_without_frameworks;
use crate::install::InstallEffects;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, Observations, Origin, PrintedValue, ValueState};
use crate::model::package::{
    ObservedPackage, PackageManager, PackageName, PackageVersion, PythonLocation, RemovedPackage,
};

/// The seed packages of an environment, which `uv pip sync` keeps even if its list does not name them: astral-sh/uv,
/// `crates/uv-installer/src/plan.rs`.
const SEED_PACKAGES: &[&str] = &["pip", "setuptools", "wheel", "uv"];

/// Removes all packages that the current command uninstalls from the observations.
pub(super) fn remove_packages(seen: &mut Observations, found: &InstallEffects) {
    for (manager, name, _) in &found.removed {
        let removal = RemovedPackage { manager: *manager, name: name.clone(), command: seen.commands, location: None };
        seen.remove_package(removal, &|_| true);
    }
}

impl CommandReader<'_> {
    /// Adds the packages that are removed since a command makes an environment equal to a list without them.
    pub(super) fn add_unlisted_packages(
        &mut self,
        found: &mut InstallEffects,
        command: &Command,
        location: Option<&PythonLocation>,
    ) {
        let installed = self.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Pip);
        let mut names: BTreeSet<PackageName> = installed.map(|one| one.requirement.name.clone()).collect();
        names.retain(|name| !SEED_PACKAGES.contains(&name.as_str()));
        for listed in &found.packages {
            names.remove(&listed.requirement.name);
        }
        found.removed.extend(names.into_iter().map(|name| (PackageManager::Pip, name, command.span)));
        // Packages of the base image are in no environment that a command created.
        if matches!(location, Some(PythonLocation::Environment { .. })) {
            return;
        }
        // Whether they are in this environment is unknown.
        for name in self.base_framework_packages() {
            if found.packages.iter().all(|listed| listed.requirement.name != name) {
                self.add_possible_framework(PackageManager::Pip, name, command);
            }
        }
    }

    /// Returns the packages of a framework image that the Dockerfile is based on.
    fn base_framework_packages(&self) -> Vec<PackageName> {
        let BaseKind::Image(image) = &self.tree.evaluated.base.kind else { return Vec::new() };
        let row = self.knowledge.framework_image(&image.familiar_name(), image.tag().unwrap_or_default());
        let framework = self.knowledge.framework_with_variants().filter(|_| row.is_some_and(|row| row.torch.is_some()));
        let listed = row.into_iter().flat_map(|row| row.packages).map(|(name, _)| *name);
        listed.chain(framework.map(|row| row.distribution)).map(PackageName::python).collect()
    }

    /// Records the packages that a command uninstalls from the environment at `location`.
    ///
    /// A removal in only some branches, or in an environment that is unknown, makes the package a possible one.
    pub(super) fn record_uninstalls(
        &mut self,
        found: &mut InstallEffects,
        command: &Command,
        location: Option<&PythonLocation>,
    ) {
        let is_conditional =
            command.conditional || found.syncs && !(found.files.is_empty() && found.unresolved.is_empty());
        if is_conditional {
            found.removed.retain(|(manager, ..)| *manager != PackageManager::System);
        }
        let is_known = |manager| manager != PackageManager::Pip || location != Some(&PythonLocation::Unknown);
        let removed = found.removed.clone();
        found.removed.retain(|(manager, ..)| !is_conditional && is_known(*manager));
        for (manager, name, _) in removed {
            let is_certain = !is_conditional && is_known(manager);
            let is_same_package =
                |package: &ObservedPackage| package.requirement.manager == manager && package.requirement.name == name;
            let location = location.filter(|_| manager == PackageManager::Pip);
            let is_here =
                |package: &ObservedPackage| manager != PackageManager::Pip || package.location.as_ref() == location;
            let may_be_here = |package: &ObservedPackage| {
                let own = package.location.as_ref();
                own == Some(&PythonLocation::Unknown) || !is_certain && (own == location || !is_known(manager))
            };
            let is_installed = self.seen.packages.iter().any(is_same_package);
            let is_installed_here =
                self.seen.packages.iter().any(|package| is_same_package(package) && is_here(package));
            let may_be_removed = |package: &&mut ObservedPackage| is_same_package(package) && may_be_here(package);
            for package in self.seen.packages.iter_mut().filter(may_be_removed) {
                package.conditional.get_or_insert_with(|| Cause::PerhapsRemoved { name: name.to_string() });
            }
            if is_certain && (is_installed_here || !is_installed && location.is_none()) {
                let removal =
                    RemovedPackage { manager, name, command: self.seen.commands, location: location.cloned() };
                self.seen.remove_package(removal, &is_here);
            } else if !is_certain
                && !is_installed
                && location.is_none_or(|location| *location == PythonLocation::Unknown)
            {
                self.add_possible_framework(manager, name, command);
            }
        }
    }

    /// Adds a framework of the base image, or a library package, that a command may have removed.
    fn add_possible_framework(&mut self, manager: PackageManager, name: PackageName, command: &Command) {
        let plain = match &self.tree.evaluated.base.kind {
            BaseKind::Image(image) => is_without_frameworks(image, self.knowledge),
            BaseKind::Scratch => true,
            _ => false,
        };
        let is_framework = !plain && self.knowledge.framework(&name).is_some();
        if !is_framework && self.knowledge.library_wheel(&name).is_none() {
            return;
        }
        let why = Cause::PerhapsRemoved { name: name.to_string() };
        let state = ValueState::Known(PrintedValue::Text(name.to_string()));
        let origins = vec![Origin::File { source: self.source, span: command.span }];
        let fact = self.seen.facts.add(FactKey::Package, Some(&name), state, Evidence::Leaf(origins));
        let version = PackageVersion::Unresolved(why.clone());
        let possible = ObservedPackage::new(manager, name, version, fact);
        self.seen.packages.push(ObservedPackage { conditional: Some(why), command: self.seen.commands, ..possible });
    }

    /// Marks frameworks as possibly absent if a command removes their folders, or moves them away.
    pub(super) fn record_removed_packages(&mut self, step: CommandStep<'_>) {
        for path in step.removed_or_moved_paths() {
            let Some(module) = ShellPattern::compile(removed_module(&path)) else { continue };
            self.mark_removed_frameworks(&path, |package| {
                let name = package.requirement.name.replace('-', "_");
                package.requirement.manager == PackageManager::Pip && module.matches(&name) == Some(true)
            });
        }
        for path in step.certainly_removed_paths() {
            let locations = &mut self.state.locations;
            let gone =
                locations.forget_locations(|root| is_at_or_below_pattern(root, &path) && !is_hidden(root, &path));
            self.mark_removed_frameworks(&path, |package| gone.contains(&package.fact));
        }
    }

    /// Marks those frameworks as possibly absent that the removal of a path concerns.
    fn mark_removed_frameworks(&mut self, path: &str, is_removed: impl Fn(&ObservedPackage) -> bool) {
        for package in &mut self.seen.packages {
            if self.knowledge.framework(&package.requirement.name).is_some() && is_removed(package) {
                package.conditional.get_or_insert_with(|| Cause::ModuleRemoved { path: path.to_owned() });
            }
        }
    }
}

/// Whether a pattern does not match a path since `*` leaves out names that begin with a dot.
fn is_hidden(path: &str, pattern: &str) -> bool {
    let mut components = pattern.split('/').zip(path.split('/'));
    components.any(|(pattern, name)| pattern.starts_with('*') && name.starts_with('.'))
}

/// Returns the module that the removal of a path removes: a name or pattern below a folder of packages, `*` for such a
/// folder; empty if the path is none of them.
fn removed_module(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    if path.ends_with("-packages") { "*" } else { path.rsplit_once("-packages/").map_or("", |(_, module)| module) }
}
