//! Packages that commands remove: by an installer, or by `rm` of their folders.

use crate::build::{Command, Word};
use crate::dockerfile::{BaseKind, ShellPattern};
use crate::extract::active_python::PythonLocation;
use crate::extract::command_reader::CommandReader;
use crate::extract::stage_copies::is_without_frameworks;
use crate::extract::stage_files::absolute_path;
use crate::install::InstallEffects;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, Observations, Origin, PrintedValue, ValueState};
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion, RemovedPackage};

/// Removes all packages that the current command uninstalls from the observations.
pub(super) fn remove_packages(seen: &mut Observations, found: &InstallEffects) {
    for (manager, name, _) in &found.removed {
        let removal = RemovedPackage { manager: *manager, name: name.clone(), command: seen.commands };
        seen.remove_package(removal, &|_| true);
    }
}

impl CommandReader<'_> {
    /// Records the packages that a command uninstalls from the environment at `home`.
    ///
    /// A removal in only some branches, or in an environment that is unknown, makes the package a possible one.
    pub(super) fn record_uninstalls(
        &mut self,
        found: &mut InstallEffects,
        command: &Command,
        home: Option<&PythonLocation>,
    ) {
        if command.conditional {
            found.removed.retain(|(manager, ..)| *manager != PackageManager::System);
        }
        let is_known = |manager| manager != PackageManager::Pip || home != Some(&PythonLocation::Unknown);
        let removed = found.removed.clone();
        found.removed.retain(|(manager, ..)| !command.conditional && is_known(*manager));
        for (manager, name, _) in removed {
            let is_certain = !command.conditional && is_known(manager);
            let is_same_package =
                |package: &ObservedPackage| package.requirement.manager == manager && package.requirement.name == name;
            let home = home.filter(|_| manager == PackageManager::Pip);
            let homes = &self.state.homes;
            let is_here =
                |package: &ObservedPackage| manager != PackageManager::Pip || homes.get(&package.fact) == home;
            let may_be_here = |package: &ObservedPackage| {
                let own = homes.get(&package.fact);
                own == Some(&PythonLocation::Unknown) || !is_certain && (own == home || !is_known(manager))
            };
            let is_installed = self.seen.packages.iter().any(is_same_package);
            let is_installed_here =
                self.seen.packages.iter().any(|package| is_same_package(package) && is_here(package));
            let may_be_removed = |package: &&mut ObservedPackage| is_same_package(package) && may_be_here(package);
            for package in self.seen.packages.iter_mut().filter(may_be_removed) {
                package.conditional.get_or_insert_with(|| Cause::PerhapsRemoved { name: name.to_string() });
            }
            if is_certain && (is_installed_here || !is_installed && home.is_none()) {
                let removal = RemovedPackage { manager, name, command: self.seen.commands };
                self.seen.remove_package(removal, &is_here);
            } else if !is_certain && !is_installed && home.is_none_or(|home| *home == PythonLocation::Unknown) {
                self.add_possible_framework(manager, name, command);
            }
        }
    }

    /// Adds a framework that the base image may contain and a command may have removed.
    fn add_possible_framework(&mut self, manager: PackageManager, name: PackageName, command: &Command) {
        let plain = match &self.tree.evaluated.base.kind {
            BaseKind::Image(image) => is_without_frameworks(image, self.knowledge),
            BaseKind::Scratch => true,
            _ => false,
        };
        if plain || self.knowledge.framework(&name).is_none() {
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

    /// Marks frameworks as possibly absent if a command removes their folder in the packages of Python, or all of these.
    pub(super) fn record_removed_modules(&mut self, command: &Command) {
        if command.program() != Some("rm") {
            return;
        }
        let words: Vec<String> = command
            .words
            .iter()
            .skip(1)
            .filter_map(Word::known)
            .map(|word| absolute_path(&self.folder, word))
            .collect();
        for path in words {
            let path = path.trim_end_matches('/');
            let module = if path.ends_with("-packages") {
                "*"
            } else {
                path.rsplit_once("-packages/").map_or("", |(_, module)| module)
            };
            let Some(pattern) = ShellPattern::compile(module).filter(|_| !module.is_empty()) else { continue };
            let is_removed = |package: &ObservedPackage| {
                package.requirement.manager == PackageManager::Pip
                    && self.knowledge.framework(&package.requirement.name).is_some()
                    && pattern.matches(&package.requirement.name.replace('-', "_")) == Some(true)
            };
            for package in self.seen.packages.iter_mut().filter(|package| is_removed(package)) {
                package.conditional.get_or_insert_with(|| Cause::ModuleRemoved { path: path.to_owned() });
            }
        }
    }
}
