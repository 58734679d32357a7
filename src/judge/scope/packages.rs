//! Vocabulary names on installed software: packages, frameworks, components, the toolkit.

use crate::cuda::CudaVersion;
use crate::infer::variant_cuda;
use crate::judge::scope::{
    BlamedLookup, RuleScope, bool_lookup, fact_lookup, list_lookup, observed_list_lookup, text_lookup, version_lookup,
};
use crate::knowledge::{ParsedText, ProcessorPackageRow};
use crate::model::fact::{
    Component, ComponentRole, Derivation, Evidence, FactEntry, FactId, FactKey, ImageFacts, Observations, PrintedValue,
    ValueState,
};
use crate::model::package::{ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion};
use crate::model::reference::ImageReference;
use crate::rules::{ComponentScopes, FactLookup, FactScope, FactValue};

/// Marker of the CUDA release in the name of a system package: `libcudnn9-cuda-12`.
const CUDA_NAME_MARKER: &str = "-cuda-";
/// Marker of the CUDA release in the version of a system package: `2.21.5-1+cuda12.4`.
const CUDA_VERSION_MARKER: &str = "+cuda";

/// The framework that base images include.
const BASE_IMAGE_FRAMEWORK: &str = "torch";
/// Text for a release in a base image that the knowledge tables do not list.
const UNLISTED_RELEASE: &str = "of its own";

impl RuleScope<'_> {
    /// Returns the value of a name on installed software; `None` for other names.
    pub(super) fn package_lookup(&self, name: &str) -> Option<BlamedLookup> {
        if let Some(package) = name.strip_prefix("package.") {
            return Some(self.package_version(&package.replace('_', "-")));
        }
        let framework = |first: &str| self.knowledge.frameworks().iter().any(|row| row.component == first);
        if let Some((framework, rest)) = name.split_once('.').filter(|(first, _)| framework(first)) {
            return self.framework_lookup(framework, rest);
        }
        match name {
            "image.packages" => Some(self.package_names()),
            "image.packages.named" => {
                let mut blamed = self.package_names();
                blamed.lookup = match blamed.lookup {
                    FactLookup::Known(FactValue::Seen(names)) => FactLookup::Known(FactValue::List(names)),
                    FactLookup::Unknown if self.seen.is_some() => FactLookup::Absent,
                    lookup => lookup,
                };
                Some(blamed)
            }
            "image.packages.other_cuda" => Some(self.packages_for_other_cuda()),
            "image.cuda_mix" => Some(self.mixed_cuda_components()),
            "image.processor_packages" => Some(self.cpu_only_packages()),
            "toolkit.cuda" => Some(self.toolkit_release()),
            _ => None,
        }
    }

    /// Returns the installed packages; those that are installed only as dependencies first.
    fn installed_packages<'s>(
        &'s self,
        all: &'s Observations,
    ) -> impl DoubleEndedIterator<Item = &'s ObservedPackage> + Clone {
        let named = all.packages.iter().filter(|package| package.dependent.is_none());
        self.image.dependencies.iter().chain(named)
    }

    /// Returns the names of the packages that are certainly installed.
    fn package_names(&self) -> BlamedLookup {
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let certain = |package: &&ObservedPackage| package.conditional.is_none();
        let mut names: Vec<String> =
            self.installed_packages(all).filter(certain).map(|package| package.requirement.name.to_string()).collect();
        names.sort_unstable();
        names.dedup();
        let complete = all.complete.packages && self.installed_packages(all).all(|package| certain(&package));
        BlamedLookup::without_fact(observed_list_lookup(names, complete))
            .with_fact(self.installed_packages(all).find(certain).map(|package| package.fact))
    }

    /// Returns packages for another CUDA major release than that of the base image.
    fn packages_for_other_cuda(&self) -> BlamedLookup {
        let base = fact_lookup(&self.image.base_cuda, version_lookup);
        let ValueState::Known(cuda) = &self.image.base_cuda.state else { return base };
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let other = |package: &&ObservedPackage| {
            package.requirement.manager == PackageManager::System
                && package.conditional.is_none()
                && package_cuda_major(package).is_some_and(|major| major != cuda.0.part(0))
        };
        let of_wheel = |package: &&ObservedPackage| self.wheel_opens_other_cuda(package, all, cuda.0.part(0));
        let found: Vec<&ObservedPackage> =
            self.installed_packages(all).filter(|one| other(one) || of_wheel(one)).collect();
        let names = found.iter().map(|package| package.requirement.name.to_string()).collect();
        BlamedLookup::without_fact(observed_list_lookup(names, true))
            .with_fact(found.first().map(|package| package.fact))
    }

    /// Whether a wheel opens libraries of another CUDA major release than `base` at run time, and no package provides
    /// them.
    fn wheel_opens_other_cuda(&self, package: &ObservedPackage, all: &Observations, base: u32) -> bool {
        let mut rows =
            self.knowledge.required_libraries().iter().filter(|row| row.distribution == package.requirement.name);
        let row = match &package.requirement.version {
            PackageVersion::Exact(exact) => exact
                .as_str()
                .parse()
                .ok()
                .and_then(|version| self.knowledge.library_needs_of(&package.requirement.name, version)),
            // The newest one.
            PackageVersion::Range(bounds) if bounds.is_any() => rows.find(|row| row.before.is_none()),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
        };
        let named = self.knowledge.cuda_of_name(&package.requirement.name).map(|(cuda, _)| cuda.0.part(0));
        let (Some(named), Some(row)) = (named.filter(|major| *major != base), row) else { return false };
        package.requirement.manager == PackageManager::Pip
            && package.conditional.is_none()
            && row.needs.is_empty()
            && !row.opens.is_empty()
            && !self.installed_packages(all).any(|one| {
                one.requirement.name != package.requirement.name && self.may_provide_library(one, row.opens, named)
            })
    }

    /// Whether a package may contain one of some libraries of a CUDA major release.
    fn may_provide_library(&self, package: &ObservedPackage, sonames: &[&str], major: u32) -> bool {
        if let Some(row) =
            self.knowledge.package_libraries(&package.requirement.name, exact_version(package).parse().ok())
        {
            return row.sonames.iter().any(|soname| sonames.contains(soname));
        }
        let cuda_major = package_cuda_major(package).or_else(|| toolkit_part_major(&package.requirement.name));
        self.knowledge.may_contain_libraries(&package.requirement.name)
            && cuda_major.is_none_or(|cuda_major| cuda_major == major)
    }

    /// Returns packages for the CPU only, if everything installed was read and none of it has GPU code.
    fn cpu_only_packages(&self) -> BlamedLookup {
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let there = |name: &str| self.installed_packages(all).any(|package| package.requirement.name == name);
        let is_cpu_only = |package: &&ObservedPackage| {
            let row = self
                .knowledge
                .cpu_package(&package.requirement.name)
                .filter(|_| package.requirement.manager != PackageManager::System);
            // The dependency of an extra may come from conda, from another package's extra, or from the base image.
            let extra = |row: &ProcessorPackageRow| row.instead.contains('[');
            let elsewhere = || {
                !self.has_cuda_base()
                    || self.installed_packages(all).any(|one| one.requirement.manager == PackageManager::Conda)
            };
            row.is_some_and(|row| !(there(row.instead) || extra(row) && elsewhere()))
        };
        let found: Vec<&ObservedPackage> = self.installed_packages(all).filter(is_cpu_only).collect();
        let certain = self.installed_packages(all).all(|package| package.conditional.is_none());
        let unread =
            |entry: &FactEntry| entry.key == FactKey::Requirements && matches!(entry.state, ValueState::Unknown(_));
        // Packages of the base image are no reason to need a GPU.
        let installed = |one: &Component| one.role != ComponentRole::Container && !one.anonymous;
        let off = |one: &Component| one.is_disabled_by_variable(&self.image.facts);
        let has_code = |one: &Component| installed(one) && (!one.is_without_cuda() || off(one));
        let silent = !certain || all.facts.iter().any(|(_, entry)| unread(entry));
        if found.is_empty() || silent || self.image.components.iter().any(has_code) {
            return BlamedLookup::without_fact(FactLookup::Absent);
        }
        let names = found.iter().map(|package| package.requirement.name.to_string());
        BlamedLookup::without_fact(list_lookup(names)).with_fact(found.first().map(|package| package.fact))
    }

    /// Returns the components with GPU code and their CUDA releases, if the major releases differ.
    fn mixed_cuda_components(&self) -> BlamedLookup {
        let mut built = Vec::new();
        let mut complete = true;
        for component in self.image.components.iter().filter(|component| component.role != ComponentRole::Container) {
            let own = find_fact(self.image, FactKey::ComponentVersion, &component.name);
            match (&component.cuda.state, own) {
                (ValueState::Known(cuda), Some(own)) => built.push((&component.name, cuda, own)),
                (ValueState::Unknown(_), _) => complete = false,
                _ => {}
            }
        }
        let of_wheels = self.wheels_with_cuda_version();
        built.extend(
            of_wheels
                .iter()
                .filter(|(name, ..)| !self.is_component(name))
                .map(|(name, cuda, fact)| (name, cuda, *fact)),
        );
        let first = built.first().map(|(_, cuda, _)| cuda.0.part(0));
        let other = built.iter().find(|(_, cuda, _)| Some(cuda.0.part(0)) != first);
        let Some((.., fact)) = other else {
            if let Some(blamed) = self.mixed_cuda_runtimes() {
                return blamed;
            }
            return BlamedLookup::without_fact(if complete { FactLookup::Absent } else { FactLookup::Unknown });
        };
        let names = built.iter().map(|(name, cuda, _)| format!("{name} (CUDA {cuda})"));
        BlamedLookup::without_fact(list_lookup(names)).with_fact(Some(*fact))
    }

    /// Returns the wheels whose version names the CUDA release, such as `2.11.0+cu128` of torchaudio.
    fn wheels_with_cuda_version(&self) -> Vec<(String, CudaVersion, FactId)> {
        let certain =
            |one: &&ObservedPackage| one.requirement.manager == PackageManager::Pip && one.conditional.is_none();
        let cuda_wheel = |one: &ObservedPackage| {
            let cuda = variant_cuda(one.requirement.version.local()?)?;
            self.knowledge.toolkit(cuda).map(|_| (one.requirement.name.to_string(), cuda, one.fact))
        };
        self.seen
            .map(|all| self.installed_packages(all).filter(certain).filter_map(cuda_wheel).collect())
            .unwrap_or_default()
    }

    /// Whether the image has a component of this name.
    fn is_component(&self, name: &str) -> bool {
        self.image.components.iter().any(|component| component.name == name)
    }

    /// Returns the CUDA runtimes of system packages, conda packages and the base image, if the major releases differ;
    /// without those of wheels.
    fn mixed_cuda_runtimes(&self) -> Option<BlamedLookup> {
        let of_base = self.image.base_cuda.known().zip(self.image.base).filter(|_| self.has_cuda_base());
        let mut found: Vec<(String, u32, FactId)> = Vec::new();
        if let Some((cuda, base)) = of_base {
            found.push((format!("the base image (CUDA {cuda})"), cuda.0.part(0), base));
        }
        let certain = |package: &&ObservedPackage| package.conditional.is_none();
        // The one of a conda framework is reported with the framework.
        let framework = self.image.components.iter().any(|one| one.name == BASE_IMAGE_FRAMEWORK);
        for package in self.seen?.packages.iter().filter(certain) {
            let named = self.knowledge.runtime_package(&package.requirement.name);
            let cuda = match (&package.requirement.manager, &package.requirement.version) {
                (PackageManager::System, _) => named.and_then(|(_, cuda)| cuda),
                (PackageManager::Conda, PackageVersion::Exact(exact)) => {
                    let row = self.knowledge.conda_variant(&package.requirement.name);
                    let brings = row.is_some_and(|row| !row.cpu && row.channel.is_none()) || named.is_some();
                    exact.as_str().parse::<CudaVersion>().ok().filter(|_| brings && !framework)
                }
                _ => None,
            };
            if let Some(cuda) = cuda {
                found.push((format!("{} (CUDA {cuda})", package.requirement.name), cuda.0.part(0), package.fact));
            }
        }
        let first = found.first()?.1;
        let (.., fact) = *found.iter().find(|(_, major, _)| *major != first)?;
        Some(BlamedLookup::without_fact(list_lookup(found.into_iter().map(|(label, ..)| label))).with_fact(Some(fact)))
    }

    /// Whether the base is a CUDA base image.
    fn has_cuda_base(&self) -> bool {
        let base = self.image.base.map(|base| &self.image.facts.get(base).state);
        let Some(ValueState::Known(PrintedValue::Text(written))) = base else { return false };
        ImageReference::parse(written).is_ok_and(|base| self.knowledge.is_cuda_repository(&base.familiar_name()))
    }

    /// Returns the version of a package; unknown if managers or branches of commands install different ones.
    fn package_version(&self, name: &str) -> BlamedLookup {
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let named: Vec<&ObservedPackage> =
            self.installed_packages(all).filter(|package| package.requirement.name == name).collect();
        let Some(last) = named.last() else {
            return BlamedLookup::without_fact(if all.complete.packages {
                FactLookup::Absent
            } else {
                FactLookup::Unknown
            });
        };
        let one_manager = named.iter().all(|package| package.requirement.manager == last.requirement.manager);
        let one_version = named.iter().all(|package| package.requirement.version == last.requirement.version);
        let lookup = match &last.requirement.version {
            PackageVersion::Exact(exact) if last.conditional.is_none() && (one_manager || one_version) => {
                text_lookup(exact.as_str())
            }
            PackageVersion::Exact(_) | PackageVersion::Range(_) | PackageVersion::Unresolved(_) => FactLookup::Unknown,
        };
        BlamedLookup::without_fact(lookup).with_fact(Some(last.fact))
    }

    /// Returns the CUDA release of the compiler in the base image.
    pub(super) fn toolkit_release(&self) -> BlamedLookup {
        let Some(base) = self.image.base else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let reference = match &self.image.facts.get(base).state {
            ValueState::Known(PrintedValue::Text(written)) => ImageReference::parse(written).ok(),
            _ => None,
        };
        let compiler = reference.is_some_and(|reference| {
            let family = self.knowledge.base_family(&reference.familiar_name());
            let flavour =
                reference.tag().and_then(|tag| self.knowledge.cuda_flavour(tag)).is_some_and(|row| row.compiler);
            family.is_some_and(|row| row.monthly || (row.cuda_base && flavour))
        });
        if compiler {
            fact_lookup(&self.image.base_cuda, version_lookup)
        } else {
            BlamedLookup::without_fact(FactLookup::Unknown).with_fact(Some(base))
        }
    }

    /// Returns the value of a name on a framework.
    fn framework_lookup(&self, framework: &str, name: &str) -> Option<BlamedLookup> {
        let component = self.image.components.iter().find(|component| component.name == framework);
        let key = match name {
            "variant" => FactKey::ComponentVariant,
            "cuda" | "cpu_build" => FactKey::ComponentCuda,
            "index_without_effect" => return Some(self.index_without_effect(framework)),
            "replaces" if framework == BASE_IMAGE_FRAMEWORK => return Some(self.replaced_torch()),
            "present" | "pinned" | "version" => FactKey::ComponentVersion,
            _ => return None,
        };
        let fact = find_fact(self.image, key, framework);
        let Some(component) = component else {
            let known = !self.image.base_cuda.is_unknown();
            return Some(
                BlamedLookup::without_fact(match name {
                    "present" | "cpu_build" if known => bool_lookup(false),
                    _ if known => FactLookup::Absent,
                    _ => FactLookup::Unknown,
                })
                .with_fact(fact),
            );
        };
        let lookup = match name {
            "present" => bool_lookup(true),
            "pinned" => bool_lookup(is_pinned(self.image, framework)),
            "version" => component_fact_lookup(self.image, FactKey::ComponentVersion, framework),
            "variant" => component_fact_lookup(self.image, FactKey::ComponentVariant, framework),
            "cuda" => fact_lookup(&component.cuda, version_lookup).lookup,
            _ => match component.cuda.state {
                ValueState::Known(_) => bool_lookup(false),
                ValueState::Absent { .. } => bool_lookup(true),
                ValueState::Unknown(_) => FactLookup::Unknown,
            },
        };
        Some(BlamedLookup::without_fact(lookup).with_fact(fact))
    }

    /// Returns the `PyTorch` release of the base image, if a command pins another one for the same environment.
    fn replaced_torch(&self) -> BlamedLookup {
        let absent = BlamedLookup::without_fact(FactLookup::Absent);
        let Some(base) = self.image.base else { return absent };
        let ValueState::Known(PrintedValue::Text(written)) = &self.image.facts.get(base).state else { return absent };
        let Ok(reference) = ImageReference::parse(written) else { return absent };
        let (repository, tag) = (reference.familiar_name(), reference.tag().unwrap_or_default());
        let own = self.knowledge.framework_image(&repository, tag).and_then(|row| row.torch);
        let family = self.knowledge.base_family(&repository).filter(|row| row.torch);
        let own = own.map(ParsedText::as_str).or(family.map(|_| UNLISTED_RELEASE));
        let named = self.seen.and_then(|all| {
            self.installed_packages(all).rev().find(|one| one.requirement.name == BASE_IMAGE_FRAMEWORK)
        });
        let (Some(own), Some(named)) =
            (own, named.filter(|one| one.separate_environment().is_none() && one.conditional.is_none()))
        else {
            return absent;
        };
        let PackageVersion::Exact(exact) = &named.requirement.version else { return absent };
        if exact.public() == ExactVersion::from(own).public() {
            absent
        } else {
            BlamedLookup::without_fact(text_lookup(own)).with_fact(Some(named.fact))
        }
    }

    /// Returns the builds of the extra indexes of the last install of a framework, if the installed build is none of
    /// them.
    fn index_without_effect(&self, framework: &str) -> BlamedLookup {
        let Some(all) = self.seen else { return BlamedLookup::without_fact(FactLookup::Unknown) };
        let named = |package: &&ObservedPackage| {
            package.requirement.name == framework && package.requirement.manager == PackageManager::Pip
        };
        let Some(last) = self.installed_packages(all).rev().find(named) else {
            return BlamedLookup::without_fact(FactLookup::Absent);
        };
        let IndexSelection::DefaultAndExtra(builds) = &last.requirement.indexes else {
            return BlamedLookup::without_fact(FactLookup::Absent);
        };
        // A dependency of a later command was not chosen here.
        let version = find_fact(self.image, FactKey::ComponentVersion, framework);
        if version.is_some_and(|version| !depends_on_fact(self.image, version, last.fact)) {
            return BlamedLookup::without_fact(FactLookup::Absent);
        }
        let chosen = self.image.components.iter().find(|component| component.name == framework);
        let cuda = chosen.map(|component| &component.cuda.state);
        let lookup = match (component_fact_lookup(self.image, FactKey::ComponentVariant, framework), cuda) {
            (FactLookup::Known(FactValue::Text(build)), _) if builds.contains(&build) => FactLookup::Absent,
            (_, Some(ValueState::Known(cuda))) => {
                let build = format!("cu{}{}", cuda.0.part(0), cuda.0.part(1));
                if builds.contains(&build) { FactLookup::Absent } else { list_lookup(builds.iter().cloned()) }
            }
            _ => FactLookup::Unknown,
        };
        BlamedLookup::without_fact(lookup).with_fact(Some(last.fact))
    }

    /// Returns the components for conditions on each of them.
    pub(super) fn all_components(&self) -> ComponentScopes<'_> {
        let one = |component| Box::new(ComponentScope { image: self.image, component }) as Box<dyn FactScope + '_>;
        let list = self.image.components.iter().map(one).collect();
        ComponentScopes { list, complete: !self.image.base_cuda.is_unknown() }
    }
}

/// Returns the exact version of a package; empty if there is none.
fn exact_version(package: &ObservedPackage) -> &str {
    match &package.requirement.version {
        PackageVersion::Exact(exact) => exact.as_str(),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => "",
    }
}

/// Returns the CUDA major release of a system package, from its name or version.
fn package_cuda_major(package: &ObservedPackage) -> Option<u32> {
    major_after_marker(&package.requirement.name, CUDA_NAME_MARKER)
        .or_else(|| major_after_marker(exact_version(package), CUDA_VERSION_MARKER))
}

/// Returns the CUDA major release of a toolkit package: 12 of `cuda-nvrtc-12-4`.
fn toolkit_part_major(name: &str) -> Option<u32> {
    let (rest, minor) = name.rsplit_once('-')?;
    let (_, major) = rest.rsplit_once('-')?;
    minor.parse::<u32>().ok().and(major.parse().ok())
}

/// Returns the major release after a marker.
fn major_after_marker(text: &str, mark: &str) -> Option<u32> {
    let (_, behind) = text.split_once(mark)?;
    behind.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Whether the version of a component is pinned, and not the newest available.
fn is_pinned(image: &ImageFacts, component: &str) -> bool {
    let version = find_fact(image, FactKey::ComponentVersion, component).map(|id| image.facts.get(id));
    version.is_some_and(|version| matches!(version.state, ValueState::Known(_)) && !is_newest(image, &version.evidence))
}

/// Whether a version is the newest of the day, or depends on a package version that is.
fn is_newest(image: &ImageFacts, evidence: &Evidence) -> bool {
    match evidence {
        Evidence::Derived { by: Derivation::Newest, .. } => true,
        Evidence::Derived { by: Derivation::Resolution, from, .. } => from.iter().any(|from| {
            let of = image.facts.get(*from);
            of.key == FactKey::Package && matches!(of.evidence, Evidence::Derived { by: Derivation::Newest, .. })
        }),
        _ => false,
    }
}

/// Whether a fact depends on another.
fn depends_on_fact(image: &ImageFacts, id: FactId, on: FactId) -> bool {
    match &image.facts.get(id).evidence {
        _ if id == on => true,
        Evidence::Derived { from, .. } => from.iter().any(|from| from.0 < id.0 && depends_on_fact(image, *from, on)),
        Evidence::Leaf(_) => false,
    }
}

/// The scope of a condition on one component.
struct ComponentScope<'a> {
    image: &'a ImageFacts,
    component: &'a Component,
}

impl FactScope for ComponentScope<'_> {
    fn value(&self, name: &str) -> FactLookup {
        match name {
            "component.name" => FactLookup::Known(FactValue::Text(self.component.name.clone())),
            "component.version" => component_fact_lookup(self.image, FactKey::ComponentVersion, &self.component.name),
            "component.variant" => component_fact_lookup(self.image, FactKey::ComponentVariant, &self.component.name),
            "component.cuda" => fact_lookup(&self.component.cuda, version_lookup).lookup,
            _ => FactLookup::Unknown,
        }
    }
}

/// Returns the value of the last fact of a key about a component.
fn component_fact_lookup(image: &ImageFacts, key: FactKey, of: &str) -> FactLookup {
    match find_fact(image, key, of).map(|id| &image.facts.get(id).state) {
        Some(ValueState::Known(value)) => text_lookup(value.to_string()),
        Some(ValueState::Unknown(_)) => FactLookup::Unknown,
        Some(ValueState::Absent { .. }) | None => FactLookup::Absent,
    }
}

/// Returns the last fact of a key, which replaces earlier ones.
fn find_fact(image: &ImageFacts, key: FactKey, of: &str) -> Option<FactId> {
    image
        .facts
        .iter()
        .filter(|(_, entry)| entry.key == key && entry.subject.as_deref() == Some(of))
        .last()
        .map(|(id, _)| id)
}
