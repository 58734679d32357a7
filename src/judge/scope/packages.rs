//! What a page may ask of what is installed: packages, frameworks, components, the toolkit.

use crate::cuda::CudaVersion;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Entry;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Role;
use crate::fact::State;
use crate::fact::Value as FactValue;
use crate::infer::variant_cuda;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::list;
use crate::judge::scope::of;
use crate::judge::scope::seen;
use crate::judge::scope::text;
use crate::judge::scope::truth;
use crate::judge::scope::version;
use crate::knowledge::ProcessorPackageRow;
use crate::reference::ImageReference;
use crate::rules::Components;
use crate::rules::Lookup;
use crate::rules::Scope;
use crate::rules::Value;

/// How the name of a system package says the CUDA release that it is for: `libcudnn9-cuda-12`.
const BY_NAME: &str = "-cuda-";
/// And how its version does: `2.21.5-1+cuda12.4`.
const BY_VERSION: &str = "+cuda";

/// The framework that base images bring, and what is said of its release where the tables do not have it.
const OF_BASES: &str = "torch";
const NOT_TOLD: &str = "of its own";

impl Subject<'_> {
    /// What is known under a name that speaks of what is installed.
    pub(super) fn of_packages(&self, name: &str) -> Option<Said> {
        if let Some(package) = name.strip_prefix("package.") {
            return Some(self.package(&package.replace('_', "-")));
        }
        let framework = |first: &str| self.knowledge.frameworks().iter().any(|row| row.component == first);
        if let Some((framework, rest)) = name.split_once('.').filter(|(first, _)| framework(first)) {
            return self.of_framework(framework, rest);
        }
        match name {
            "image.packages" => Some(self.packages()),
            "image.packages.named" => {
                let mut said = self.packages();
                said.lookup = match said.lookup {
                    Lookup::Known(Value::Seen(names)) => Lookup::Known(Value::List(names)),
                    Lookup::Unknown if self.seen.is_some() => Lookup::Absent,
                    lookup => lookup,
                };
                Some(said)
            }
            "image.packages.other_cuda" => Some(self.other_cuda()),
            "image.cuda_mix" => Some(self.cuda_mix()),
            "image.processor_packages" => Some(self.processor_packages()),
            "toolkit.cuda" => Some(self.toolkit()),
            _ => None,
        }
    }

    fn packages(&self) -> Said {
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        let certain = |package: &&PackageSeen| package.conditional.is_none();
        let mut names: Vec<String> = all.packages.iter().filter(certain).map(|package| package.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let complete = all.complete.packages && all.packages.iter().all(|package| certain(&package));
        Said::plain(seen(names, complete)).on(all.packages.iter().find(certain).map(|package| package.fact))
    }

    /// Packages for another CUDA major release than that of the base image.
    fn other_cuda(&self) -> Said {
        let base = of(&self.image.base_cuda, version);
        let State::Known(cuda) = &self.image.base_cuda.state else { return base };
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        let other = |package: &&PackageSeen| {
            package.manager == Manager::Apt
                && package.conditional.is_none()
                && major_of(package).is_some_and(|major| major != cuda.0.part(0))
        };
        let of_wheel = |package: &&PackageSeen| self.wheel_asks_for_another(package, all, cuda.0.part(0));
        let found: Vec<&PackageSeen> = all.packages.iter().filter(|one| other(one) || of_wheel(one)).collect();
        let names = found.iter().map(|package| package.name.clone()).collect();
        Said::plain(seen(names, true)).on(found.first().map(|package| package.fact))
    }

    /// Whether a wheel opens libraries of another CUDA major release than `base` while it runs, which nothing beside the
    /// base image brings; what is missing at the start is in the verdicts.
    fn wheel_asks_for_another(&self, package: &PackageSeen, all: &Observations, base: u32) -> bool {
        let mut rows = self.knowledge.library_needs().iter().filter(|row| row.distribution == package.name);
        let row = match &package.version {
            PackageVersion::Exact(exact) => {
                exact.parse().ok().and_then(|version| self.knowledge.needs_of(&package.name, version))
            }
            // The newest one.
            PackageVersion::Open(bounds) if bounds.is_empty() => rows.find(|row| row.before.is_none()),
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
        };
        let named = self.knowledge.named_cuda(&package.name).map(|(cuda, _)| cuda.0.part(0));
        let (Some(named), Some(row)) = (named.filter(|major| *major != base), row) else { return false };
        package.manager == Manager::Pip
            && package.conditional.is_none()
            && row.needs.is_empty()
            && !row.opens.is_empty()
            && !all.packages.iter().any(|one| one.name != package.name && self.may_bring(one, row.opens, named))
    }

    /// Whether a package may bring one of some libraries of a CUDA major release.
    fn may_bring(&self, package: &PackageSeen, sonames: &[&str], major: u32) -> bool {
        if let Some(row) = self.knowledge.package_libraries(&package.name, exact_of(package).parse().ok()) {
            return row.sonames.iter().any(|soname| sonames.contains(soname));
        }
        let said = major_of(package).or_else(|| in_release_name(&package.name));
        self.knowledge.carries_libraries(&package.name) && said.is_none_or(|said| said == major)
    }

    /// Packages for processors alone, where everything that installs was read and nothing of it has GPU code.
    fn processor_packages(&self) -> Said {
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        let there = |name: &str| all.packages.iter().any(|package| package.name == name);
        let alone = |package: &&PackageSeen| {
            let row = self.knowledge.processor_package(&package.name).filter(|_| package.manager != Manager::Apt);
            // What an extra brings may come by conda, by another package's extra, or with the base.
            let extra = |row: &ProcessorPackageRow| row.instead.contains('[');
            let elsewhere = || !self.is_cuda_base() || all.packages.iter().any(|one| one.manager == Manager::Conda);
            row.is_some_and(|row| !(there(row.instead) || extra(row) && elsewhere()))
        };
        let found: Vec<&PackageSeen> = all.packages.iter().filter(alone).collect();
        let certain = all.packages.iter().all(|package| package.conditional.is_none());
        let unread = |entry: &Entry| entry.key == FactKey::Requirements && matches!(entry.state, State::Unknown(_));
        // What the base image brings along is no reason to want a GPU.
        let installed = |one: &Component| one.role != Role::Container && !one.anonymous;
        let has_code = |one: &Component| installed(one) && !matches!(one.cuda.state, State::Absent { .. });
        let silent = !certain || all.facts.iter().any(|(_, entry)| unread(entry));
        if found.is_empty() || silent || self.image.components.iter().any(has_code) {
            return Said::plain(Lookup::Absent);
        }
        let names = found.iter().map(|package| package.name.clone());
        Said::plain(list(names)).on(found.first().map(|package| package.fact))
    }

    /// The components with GPU code and their CUDA releases, where the major ones differ.
    fn cuda_mix(&self) -> Said {
        let mut built = Vec::new();
        let mut complete = true;
        for component in self.image.components.iter().filter(|component| component.role != Role::Container) {
            let own = find(self.image, FactKey::ComponentVersion, &component.name);
            match (&component.cuda.state, own) {
                (State::Known(cuda), Some(own)) => built.push((&component.name, cuda, own)),
                (State::Unknown(_), _) => complete = false,
                _ => {}
            }
        }
        let of_wheels = self.wheels_of_a_variant();
        built.extend(
            of_wheels
                .iter()
                .filter(|(name, ..)| !self.is_component(name))
                .map(|(name, cuda, fact)| (name, cuda, *fact)),
        );
        let first = built.first().map(|(_, cuda, _)| cuda.0.part(0));
        let other = built.iter().find(|(_, cuda, _)| Some(cuda.0.part(0)) != first);
        let Some((.., fact)) = other else {
            if let Some(said) = self.system_mix() {
                return said;
            }
            return Said::plain(if complete { Lookup::Absent } else { Lookup::Unknown });
        };
        let names = built.iter().map(|(name, cuda, _)| format!("{name} (CUDA {cuda})"));
        Said::plain(list(names)).on(Some(*fact))
    }

    /// The wheels of which the version says the CUDA release, as `2.11.0+cu128` of torchaudio does.
    fn wheels_of_a_variant(&self) -> Vec<(String, CudaVersion, FactId)> {
        let certain = |one: &&PackageSeen| one.manager == Manager::Pip && one.conditional.is_none();
        let told = |one: &PackageSeen| match &one.version {
            PackageVersion::Exact(exact) => {
                let cuda = variant_cuda(exact.split_once('+')?.1)?;
                self.knowledge.toolkit(cuda).map(|_| (one.name.clone(), cuda, one.fact))
            }
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
        };
        self.seen.map(|all| all.packages.iter().filter(certain).filter_map(told).collect()).unwrap_or_default()
    }

    fn is_component(&self, name: &str) -> bool {
        self.image.components.iter().any(|component| component.name == name)
    }

    /// The runtimes that system packages, packages of conda and a CUDA base image bring, where they are of several
    /// major releases; what wheels bring lies apart from these.
    fn system_mix(&self) -> Option<Said> {
        let of_base = self.image.base_cuda.known().zip(self.image.base).filter(|_| self.is_cuda_base());
        let mut found: Vec<(String, u32, FactId)> = Vec::new();
        if let Some((cuda, base)) = of_base {
            found.push((format!("the base image (CUDA {cuda})"), cuda.0.part(0), base));
        }
        let certain = |package: &&PackageSeen| package.conditional.is_none();
        // That of a framework of conda is told of where the framework is.
        let framework = self.image.components.iter().any(|one| one.name == OF_BASES);
        for package in self.seen?.packages.iter().filter(certain) {
            let named = self.knowledge.runtime_package(&package.name);
            let cuda = match (&package.manager, &package.version) {
                (Manager::Apt, _) => named.and_then(|(_, cuda)| cuda),
                (Manager::Conda, PackageVersion::Exact(exact)) => {
                    let row = self.knowledge.conda_variant(&package.name);
                    let brings = row.is_some_and(|row| !row.cpu && row.channel.is_none()) || named.is_some();
                    exact.parse::<CudaVersion>().ok().filter(|_| brings && !framework)
                }
                _ => None,
            };
            if let Some(cuda) = cuda {
                found.push((format!("{} (CUDA {cuda})", package.name), cuda.0.part(0), package.fact));
            }
        }
        let first = found.first()?.1;
        let (.., fact) = *found.iter().find(|(_, major, _)| *major != first)?;
        Some(Said::plain(list(found.into_iter().map(|(told, ..)| told))).on(Some(fact)))
    }

    fn is_cuda_base(&self) -> bool {
        let base = self.image.base.map(|base| &self.image.facts.get(base).state);
        let Some(State::Known(FactValue::Text(written))) = base else { return false };
        ImageReference::parse(written).is_ok_and(|base| self.knowledge.is_cuda_repository(&base.familiar()))
    }

    /// The version of a package; not known where two managers, or two ways through the commands, give others.
    fn package(&self, name: &str) -> Said {
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        let named: Vec<&PackageSeen> = all.packages.iter().filter(|package| package.name == name).collect();
        let Some(last) = named.last() else {
            return Said::plain(if all.complete.packages { Lookup::Absent } else { Lookup::Unknown });
        };
        let one_manager = named.iter().all(|package| package.manager == last.manager);
        let one_version = named.iter().all(|package| package.version == last.version);
        let lookup = match &last.version {
            PackageVersion::Exact(exact) if last.conditional.is_none() && (one_manager || one_version) => text(exact),
            PackageVersion::Exact(_) | PackageVersion::Open(_) | PackageVersion::Unresolved(_) => Lookup::Unknown,
        };
        Said::plain(lookup).on(Some(last.fact))
    }

    /// The release of the compiler that the base image brings.
    pub(super) fn toolkit(&self) -> Said {
        let Some(base) = self.image.base else { return Said::plain(Lookup::Unknown) };
        let reference = match &self.image.facts.get(base).state {
            State::Known(FactValue::Text(written)) => ImageReference::parse(written).ok(),
            _ => None,
        };
        let compiler = reference.is_some_and(|reference| {
            let family = self.knowledge.base_family(&reference.familiar());
            let flavour =
                reference.tag().and_then(|tag| self.knowledge.cuda_flavour(tag)).is_some_and(|row| row.compiler);
            family.is_some_and(|row| row.monthly || (row.cuda_base && flavour))
        });
        if compiler { of(&self.image.base_cuda, version) } else { Said::plain(Lookup::Unknown).on(Some(base)) }
    }

    fn of_framework(&self, framework: &str, name: &str) -> Option<Said> {
        let component = self.image.components.iter().find(|component| component.name == framework);
        let key = match name {
            "variant" => FactKey::ComponentVariant,
            "cuda" | "cpu_build" => FactKey::ComponentCuda,
            "index_without_effect" => return Some(self.index_without_effect(framework)),
            "replaces" if framework == OF_BASES => return Some(self.replaces()),
            "present" | "pinned" | "version" => FactKey::ComponentVersion,
            _ => return None,
        };
        let fact = find(self.image, key, framework);
        let Some(component) = component else {
            let known = !self.image.base_cuda.is_unknown();
            return Some(
                Said::plain(match name {
                    "present" | "cpu_build" if known => truth(false),
                    _ if known => Lookup::Absent,
                    _ => Lookup::Unknown,
                })
                .on(fact),
            );
        };
        let lookup = match name {
            "present" => truth(true),
            "pinned" => truth(pinned(self.image, framework)),
            "version" => fact_text(self.image, FactKey::ComponentVersion, framework),
            "variant" => fact_text(self.image, FactKey::ComponentVariant, framework),
            "cuda" => of(&component.cuda, version).lookup,
            _ => match component.cuda.state {
                State::Known(_) => truth(false),
                State::Absent { .. } => truth(true),
                State::Unknown(_) => Lookup::Unknown,
            },
        };
        Some(Said::plain(lookup).on(fact))
    }

    /// The release of the base image's own `PyTorch`, where a command writes down another one for the same environment.
    fn replaces(&self) -> Said {
        let absent = Said::plain(Lookup::Absent);
        let Some(base) = self.image.base else { return absent };
        let State::Known(FactValue::Text(written)) = &self.image.facts.get(base).state else { return absent };
        let Ok(reference) = ImageReference::parse(written) else { return absent };
        let (repository, tag) = (reference.familiar(), reference.tag().unwrap_or_default());
        let own = self.knowledge.framework_image(&repository, tag).and_then(|row| row.torch);
        let family = self.knowledge.base_family(&repository).filter(|row| row.torch);
        let own = own.or(family.map(|_| NOT_TOLD));
        let named = self.seen.and_then(|all| all.packages.iter().rev().find(|one| one.name == OF_BASES));
        let (Some(own), Some(named)) = (own, named.filter(|one| !one.apart && one.conditional.is_none())) else {
            return absent;
        };
        let PackageVersion::Exact(exact) = &named.version else { return absent };
        let release = |version: &str| version.split('+').next().unwrap_or_default().to_owned();
        if release(exact) == release(own) { absent } else { Said::plain(text(own)).on(Some(named.fact)) }
    }

    /// The builds whose indexes the last install of a framework had to choose from beside the default one, where
    /// what it chose is none of them.
    fn index_without_effect(&self, framework: &str) -> Said {
        let Some(all) = self.seen else { return Said::plain(Lookup::Unknown) };
        let named = |package: &&PackageSeen| package.name == framework && package.manager == Manager::Pip;
        let Some(last) = all.packages.iter().rev().find(named) else { return Said::plain(Lookup::Absent) };
        let Offered::Beside(builds) = &last.offered else { return Said::plain(Lookup::Absent) };
        // Another command may have put another in the place of what this one installs.
        let of_last = all.facts.origins(last.fact);
        let version = find(self.image, FactKey::ComponentVersion, framework);
        let origins = version.map(|version| self.image.facts.origins(version)).unwrap_or_default();
        if !origins.is_empty() && origins.iter().all(|origin| !of_last.contains(origin)) {
            return Said::plain(Lookup::Absent);
        }
        let chosen = self.image.components.iter().find(|component| component.name == framework);
        let cuda = chosen.map(|component| &component.cuda.state);
        let lookup = match (fact_text(self.image, FactKey::ComponentVariant, framework), cuda) {
            (Lookup::Known(Value::Text(build)), _) if builds.contains(&build) => Lookup::Absent,
            (_, Some(State::Known(cuda))) => {
                let build = format!("cu{}{}", cuda.0.part(0), cuda.0.part(1));
                if builds.contains(&build) { Lookup::Absent } else { list(builds.iter().cloned()) }
            }
            _ => Lookup::Unknown,
        };
        Said::plain(lookup).on(Some(last.fact))
    }

    /// The components, as conditions go through them.
    pub(super) fn all_components(&self) -> Components<'_> {
        let one = |component| Box::new(OneComponent { image: self.image, component }) as Box<dyn Scope + '_>;
        let list = self.image.components.iter().map(one).collect();
        Components { list, complete: !self.image.base_cuda.is_unknown() }
    }
}

/// The version of a package, where it is one; else nothing.
fn exact_of(package: &PackageSeen) -> &str {
    match &package.version {
        PackageVersion::Exact(exact) => exact,
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => "",
    }
}

/// The CUDA major release that a system package is for, by its name or its version.
fn major_of(package: &PackageSeen) -> Option<u32> {
    said_major(&package.name, BY_NAME).or_else(|| said_major(exact_of(package), BY_VERSION))
}

/// The major release of a toolkit's part: 12 of `cuda-nvrtc-12-4`.
fn in_release_name(name: &str) -> Option<u32> {
    let (rest, minor) = name.rsplit_once('-')?;
    let (_, major) = rest.rsplit_once('-')?;
    minor.parse::<u32>().ok().and(major.parse().ok())
}

/// The major release that stands behind a mark.
fn said_major(text: &str, mark: &str) -> Option<u32> {
    let (_, behind) = text.split_once(mark)?;
    behind.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Whether the version of a component is written down, and not the newest that there was.
fn pinned(image: &ImageFacts, component: &str) -> bool {
    let version = find(image, FactKey::ComponentVersion, component).map(|id| image.facts.get(id));
    version.is_some_and(|version| matches!(version.state, State::Known(_)) && !newest(image, &version.evidence))
}

/// Whether a version is the newest of the day, or that of a package that is.
fn newest(image: &ImageFacts, evidence: &Evidence) -> bool {
    match evidence {
        Evidence::Derived { by: Derivation::Newest, .. } => true,
        Evidence::Derived { by: Derivation::Resolution, from, .. } => from.iter().any(|from| {
            let of = image.facts.get(*from);
            of.key == FactKey::Package && matches!(of.evidence, Evidence::Derived { by: Derivation::Newest, .. })
        }),
        _ => false,
    }
}

struct OneComponent<'a> {
    image: &'a ImageFacts,
    component: &'a Component,
}

impl Scope for OneComponent<'_> {
    fn value(&self, name: &str) -> Lookup {
        match name {
            "component.name" => Lookup::Known(Value::Text(self.component.name.clone())),
            "component.version" => fact_text(self.image, FactKey::ComponentVersion, &self.component.name),
            "component.variant" => fact_text(self.image, FactKey::ComponentVariant, &self.component.name),
            "component.cuda" => of(&self.component.cuda, version).lookup,
            _ => Lookup::Unknown,
        }
    }
}

fn fact_text(image: &ImageFacts, key: FactKey, of: &str) -> Lookup {
    match find(image, key, of).map(|id| &image.facts.get(id).state) {
        Some(State::Known(value)) => text(value.to_string()),
        Some(State::Unknown(_)) => Lookup::Unknown,
        Some(State::Absent { .. }) | None => Lookup::Absent,
    }
}

/// The last fact of a key: a later one replaces an earlier one.
fn find(image: &ImageFacts, key: FactKey, of: &str) -> Option<FactId> {
    image.facts.iter().filter(|(_, entry)| entry.key == key && entry.of.as_deref() == Some(of)).last().map(|(id, _)| id)
}
