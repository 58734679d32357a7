//! What one command passes to its installer of Python packages: everything that is known of its requirements, its
//! constraints and the packages that are installed before it.
//!
//! torch, the packages built with it and other frameworks are all selected by this one request.

use std::collections::{BTreeMap, BTreeSet};

use crate::infer::base::BaseBuild;
use crate::infer::torch_release::{TorchContext, TorchRequirement, listed_torch_requirement, split_range_and_build};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{InstallerBehavior, Observations};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, RemovedPackage,
    VersionRange,
};
use crate::resolve::{
    Catalog, DependencySpecifier, InstallRequest, InstallerPolicy, Releases, Resolution, TableCatalog, UpgradePolicy,
    resolve,
};

/// The requirements of one command, with what the tables list for it.
pub(super) struct CommandRequest<'a> {
    request: InstallRequest,
    policy: InstallerPolicy,
    catalog: CommandCatalog<'a>,
    /// The requested packages whose installed release is unknown.
    pub(super) unknown_installed: BTreeSet<PackageName>,
}

impl<'a> CommandRequest<'a> {
    /// Collects the requirements of a command for a Python version, with the torch that is installed before it.
    ///
    /// Of a package whose releases are not listed, the requirements of the newest release count.
    pub(super) fn new(
        command: u32,
        installed_torch: InstalledRelease,
        python: Option<&'a str>,
        (seen, build): (&'a Observations, &BaseBuild),
        context: TorchContext<'a>,
    ) -> Self {
        let packages = pip_packages(command, seen);
        let mut collected = Self::without_requirements(&packages, python, context);
        for package in &packages {
            collected.add_requirement(package, seen);
        }
        collected.add_constraints(command, seen);
        let is_upgraded = packages.iter().any(|package| package.requirement.upgrade);
        (collected.policy, collected.request.upgrade) = upgrade_policy(command, is_upgraded, seen);
        if !seen.base_changes.installers.contains(InstallerBehavior::Reinstalls, command)
            && let Some(first) = packages.first()
        {
            collected.add_installed(first, installed_torch, (seen, build));
        }
        collected
    }

    /// Collects the requirements of a command that no other release, build or branch can avoid: if they conflict, the
    /// installer certainly stops with an error.
    pub(super) fn of_certain_requirements(
        command: u32,
        python: Option<&'a str>,
        seen: &'a Observations,
        context: TorchContext<'a>,
    ) -> Self {
        let packages = pip_packages(command, seen);
        let mut collected = Self::without_requirements(&packages, python, context);
        for package in &packages {
            collected.add_certain_requirement(package);
        }
        collected.add_constraints(command, seen);
        (collected.policy, _) = upgrade_policy(command, false, seen);
        collected
    }

    /// Creates a request without requirements.
    fn without_requirements(
        packages: &[&'a ObservedPackage],
        python: Option<&'a str>,
        context: TorchContext<'a>,
    ) -> Self {
        let indexes = packages.first().map_or(&IndexSelection::Default, |package| &package.requirement.indexes);
        let catalog = CommandCatalog {
            tables: context.catalog(python, indexes),
            unlisted: BTreeMap::new(),
            without_dependencies: BTreeSet::new(),
        };
        Self {
            request: InstallRequest::default(),
            policy: InstallerPolicy::Pip,
            catalog,
            unknown_installed: BTreeSet::new(),
        }
    }

    /// Adds the constraints of a command.
    fn add_constraints(&mut self, command: u32, seen: &Observations) {
        let knowledge = self.catalog.tables.knowledge;
        let bounds = seen.bounds.iter().filter(|bound| bound.command == command && bound.conditional.is_none());
        for bound in bounds {
            let name = &bound.requirement.name;
            if let Some(range) = public_range(bound, knowledge).filter(|range| self.is_relevant(name, range)) {
                self.request.constraints.push(DependencySpecifier::new(name.clone(), range));
            }
        }
    }

    /// Adds what a package certainly requires: its range excludes versions, and what a pinned release requires is
    /// required. Another release of the range may require less.
    fn add_certain_requirement(&mut self, package: &ObservedPackage) {
        let tables = self.catalog.tables;
        let requirement = &package.requirement;
        let name = &requirement.name;
        let is_of_index =
            !matches!(requirement.indexes, IndexSelection::Unknown(_)) && requirement.prerelease.is_none();
        let range = public_range(package, tables.knowledge).filter(|_| is_of_index && package.conditional.is_none());
        let Some(range) = range else { return };
        let is_listed = |version: &ExactVersion| tables.releases(name).versions().any(|own| own.is_same(version));
        let (is_listed, on_torch) = match &requirement.version {
            PackageVersion::Exact(version) if is_listed(&version.without_local()) => (true, None),
            PackageVersion::Exact(_) => (false, self.torch_requirement(package, |on_torch| on_torch.minimal_range)),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => (false, None),
        };
        // Most packages of a long list limit nothing that the tables know.
        if on_torch.is_none() && !self.is_relevant(name, &range) {
            return;
        }
        if !is_listed {
            self.catalog.unlisted_mut(name).requirements.extend(on_torch);
        }
        // What torch requires depends on its build.
        if requirement.no_deps || tables.knowledge.has_variants(name) {
            self.catalog.without_dependencies.insert(name.clone());
        }
        self.push_requirement(DependencySpecifier::new(name.clone(), range));
    }

    /// Returns the requirement on torch of a package whose release is not listed, if it is known.
    fn torch_requirement(
        &self,
        package: &ObservedPackage,
        range: impl Fn(TorchRequirement) -> &'static VersionRange,
    ) -> Option<DependencySpecifier> {
        let tables = self.catalog.tables;
        let on_torch = listed_torch_requirement(package, tables.python, tables.knowledge)?.ok()?;
        let framework = tables.knowledge.framework_with_variants()?;
        let range = split_range_and_build(range(on_torch)).0;
        Some(DependencySpecifier::new(PackageName::python(framework.distribution), range))
    }

    /// Adds a requirement, if it is not there already.
    fn push_requirement(&mut self, specifier: DependencySpecifier) {
        if !self.request.requirements.contains(&specifier) {
            self.request.requirements.push(specifier);
        }
    }

    /// Adds the requirement of a package.
    fn add_requirement(&mut self, package: &ObservedPackage, seen: &Observations) {
        let tables = self.catalog.tables;
        let requirement = &package.requirement;
        let name = &requirement.name;
        // What is not selected on an index of the tables.
        let elsewhere = match &requirement.indexes {
            IndexSelection::Unknown(why) => Some(why),
            IndexSelection::Default | IndexSelection::Only(_) | IndexSelection::DefaultAndExtra(_) => {
                requirement.prerelease.as_ref()
            }
        };
        let elsewhere = elsewhere.filter(|_| !tables.knowledge.has_variants(name));
        let range = public_range(package, tables.knowledge);
        let releases = tables.releases(name);
        let is_listed = elsewhere.is_none()
            && !releases.is_unlisted()
            && match &requirement.version {
                PackageVersion::Exact(version) => releases.versions().any(|own| own.is_same(&version.without_local())),
                PackageVersion::Range(_) => true,
                // Which one is unknown: it may be any listed or unlisted one.
                PackageVersion::Unresolved(_) => return,
            };
        if requirement.no_deps {
            self.catalog.without_dependencies.insert(name.clone());
        }
        if let Some(why) = elsewhere {
            self.catalog.unlisted.insert(name.clone(), UnlistedReleases::new(why.clone()));
        }
        if !is_listed && (elsewhere.is_none() || requirement.version.is_exact()) {
            if let Some(on_torch) = self.torch_requirement(package, |on_torch| on_torch.range) {
                self.catalog.unlisted_mut(name).requirements.push(on_torch);
            } else if !releases.is_unlisted() {
                self.catalog.unlisted_mut(name);
            }
        }
        let specifier = DependencySpecifier::new(name.clone(), range.unwrap_or_else(|| VersionRange::from("")));
        if is_listed
            && requirement.version.is_range()
            && let Some(parent) = parent_of(package, seen)
            && tables.releases(&parent.requirement.name).is_unlisted()
        {
            self.catalog.unlisted_mut(&parent.requirement.name).requirements.push(specifier);
        } else if self.is_relevant(name, &specifier.range) {
            self.push_requirement(specifier);
        }
    }

    /// Whether a requirement on a distribution can change what is selected of any listed one.
    fn is_relevant(&self, name: &PackageName, range: &VersionRange) -> bool {
        let tables = self.catalog.tables;
        self.catalog.unlisted.contains_key(name)
            || !range.is_any() && tables.knowledge.requirements_on(name).next().is_some()
            || !tables.releases(name).is_unlisted()
    }

    /// Adds the releases that are installed before the command of a package.
    fn add_installed(
        &mut self,
        package: &ObservedPackage,
        torch: InstalledRelease,
        (seen, build): (&Observations, &BaseBuild),
    ) {
        let knowledge = self.catalog.tables.knowledge;
        let named: BTreeSet<PackageName> = self.request.requirements.iter().map(|one| one.name.clone()).collect();
        let framework = knowledge.framework_with_variants().map(|row| PackageName::python(row.distribution));
        let is_framework = |name: &&PackageName| Some(*name) == framework.as_ref();
        // uv selects the installed torch first, pip only if the command names it.
        let requires_torch = |name: &PackageName| knowledge.torch_requirements_of(name).next().is_some();
        let is_preferred = named.iter().any(|name| is_framework(&name))
            || self.policy == InstallerPolicy::Uv && named.iter().any(requires_torch);
        let others = named.iter().filter(|name| !is_framework(name));
        let others = others.map(|name| (name, installed_release(name, package, seen, build)));
        let releases: Vec<(PackageName, InstalledRelease)> = others
            .map(|(name, release)| (name.clone(), release))
            .chain(framework.clone().map(|name| (name, torch)))
            .collect();
        for (name, release) in releases {
            match release {
                InstalledRelease::No => {}
                InstalledRelease::Known(version) => drop(self.request.installed.insert(name, version)),
                InstalledRelease::Unknown if is_framework(&&name) && !is_preferred => {}
                InstalledRelease::Unknown => drop(self.unknown_installed.insert(name)),
            }
        }
    }

    /// Adds the requirement of a package that a later command removes.
    pub(super) fn add_removed(&mut self, package: &ObservedPackage, seen: &Observations) {
        if !self.request.requirements.iter().any(|one| one.name == package.requirement.name) {
            self.add_requirement(package, seen);
        }
    }

    /// Returns the constraints on a distribution.
    pub(super) fn constraints_on(&self, name: &PackageName) -> impl Iterator<Item = &VersionRange> {
        self.request.constraints.iter().filter(move |one| one.name == *name).map(|one| &one.range)
    }

    /// Returns what the installer selects.
    pub(super) fn resolve(&self) -> Resolution {
        resolve(&self.request, &self.catalog, self.policy)
    }

    /// Returns what the installer selects for another Python version.
    pub(super) fn resolve_for_python(&self, python: &'a str) -> Resolution {
        let tables = TableCatalog { python: Some(python), ..self.catalog.tables };
        resolve(&self.request, &CommandCatalog { tables, ..self.catalog.clone() }, self.policy)
    }
}

/// Returns the packages that pip or uv installs by a command.
fn pip_packages(command: u32, seen: &Observations) -> Vec<&ObservedPackage> {
    seen.packages_of_command(command).filter(|one| one.requirement.manager == PackageManager::Pip).collect()
}

/// Returns the range of the versions that satisfy a requirement, without regard to builds.
fn public_range(package: &ObservedPackage, knowledge: Knowledge) -> Option<VersionRange> {
    let range = package.requirement.version.public_range()?;
    let has_variants = knowledge.has_variants(&package.requirement.name);
    Some(if has_variants { split_range_and_build(&range).0 } else { range })
}

/// Releases of a distribution that are not listed.
#[derive(Clone)]
struct UnlistedReleases {
    why: Cause,
    requirements: Vec<DependencySpecifier>,
}

impl UnlistedReleases {
    const fn new(why: Cause) -> Self {
        Self { why, requirements: Vec::new() }
    }
}

/// The releases in the tables, with what unlisted releases of the packages of a command require.
#[derive(Clone)]
struct CommandCatalog<'a> {
    tables: TableCatalog<'a>,
    /// The distributions of which an unlisted release is requested.
    unlisted: BTreeMap<PackageName, UnlistedReleases>,
    without_dependencies: BTreeSet<PackageName>,
}

impl CommandCatalog<'_> {
    /// Returns the unlisted releases of a distribution, of which one is requested.
    fn unlisted_mut(&mut self, name: &PackageName) -> &mut UnlistedReleases {
        let why = || Cause::TorchRequirement { package: name.to_string() };
        self.unlisted.entry(name.clone()).or_insert_with(|| UnlistedReleases::new(why()))
    }
}

impl Catalog for CommandCatalog<'_> {
    fn releases(&self, name: &PackageName) -> Releases {
        match self.unlisted.get(name) {
            Some(unlisted) => Releases::unlisted(unlisted.why.clone()),
            None => self.tables.releases(name),
        }
    }

    fn requirements(
        &self,
        name: &PackageName,
        version: Option<&ExactVersion>,
        extras: &[PackageName],
    ) -> Vec<DependencySpecifier> {
        if self.without_dependencies.contains(name) {
            return Vec::new();
        }
        match self.unlisted.get(name) {
            Some(unlisted) => unlisted.requirements.clone(),
            None => self.tables.requirements(name, version, extras),
        }
    }
}

/// Returns the package of a command that a package is a dependency of: it has the same place in the text, and follows.
fn parent_of<'a>(package: &ObservedPackage, seen: &'a Observations) -> Option<&'a ObservedPackage> {
    let places = seen.facts.origins(package.fact);
    let shares_place = |other: &&ObservedPackage| seen.facts.origins(other.fact).iter().any(|own| places.contains(own));
    let others = seen.packages_of_command(package.command);
    others.skip_while(|other| other.fact != package.fact).skip(1).filter(shares_place).last()
}

/// Returns which installed distributions a command replaces by newer releases.
fn upgrade_policy(command: u32, is_upgraded: bool, seen: &Observations) -> (InstallerPolicy, UpgradePolicy) {
    let is_uv = seen.base_changes.installers.contains(InstallerBehavior::KeepsInstalled, command);
    let policy = if is_uv { InstallerPolicy::Uv } else { InstallerPolicy::Pip };
    let upgrade = match (is_upgraded, policy) {
        _ if seen.base_changes.installers.contains(InstallerBehavior::UpgradesDependencies, command) => {
            UpgradePolicy::All
        }
        (false, _) => UpgradePolicy::Never,
        (true, InstallerPolicy::Pip) => UpgradePolicy::Named,
        (true, InstallerPolicy::Uv) => UpgradePolicy::All,
    };
    (policy, upgrade)
}

/// The release of a distribution that is installed before a command.
pub(super) enum InstalledRelease {
    /// None that earlier commands or the base image name.
    No,
    /// This one.
    Known(ExactVersion),
    /// An unknown one.
    Unknown,
}

/// Returns the release of a distribution that is installed before the command of a package.
pub(super) fn installed_release(
    name: &PackageName,
    package: &ObservedPackage,
    seen: &Observations,
    build: &BaseBuild,
) -> InstalledRelease {
    let removal = last_removal(name, package, seen);
    if let Some(last) = earlier_installs(name, package, seen).max_by_key(|one| one.command) {
        return match (&last.requirement.version, &last.conditional) {
            (PackageVersion::Exact(version), None) => InstalledRelease::Known(version.clone()),
            _ => InstalledRelease::Unknown,
        };
    }
    let in_base = build.packages.iter().find(|(own, _)| *name == *own).map(|(_, version)| version.cloned());
    match in_base.filter(|_| removal.is_none() && package.separate_environment().is_none()) {
        Some(version) => InstalledRelease::Known(version),
        None => InstalledRelease::No,
    }
}

/// Returns the installs of a distribution by earlier commands in the environment of a package, if none removed it since.
pub(super) fn earlier_installs<'a>(
    name: &'a PackageName,
    package: &'a ObservedPackage,
    seen: &'a Observations,
) -> impl Iterator<Item = &'a ObservedPackage> {
    let removal = last_removal(name, package, seen);
    seen.packages.iter().chain(&seen.uninstalled_packages).filter(move |one| {
        one.requirement.name == *name
            && one.command < package.command
            && one.shares_environment_with(package)
            && removal.is_none_or(|removal| removal < one.command)
    })
}

/// Returns the number of the last command, up to that of a package, that removes a distribution from its environment.
pub(super) fn last_removal(name: &PackageName, package: &ObservedPackage, seen: &Observations) -> Option<u32> {
    let is_before = |removed: &&RemovedPackage| {
        removed.name == *name && removed.command <= package.command && removed.shares_environment_with(package)
    };
    seen.removed_packages.iter().filter(is_before).map(|removed| removed.command).max()
}
