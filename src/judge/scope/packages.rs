//! What a page may ask of what is installed: packages, frameworks, components, the toolkit.

use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value as FactValue;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::of;
use crate::judge::scope::seen;
use crate::judge::scope::text;
use crate::judge::scope::truth;
use crate::judge::scope::version;
use crate::reference::ImageReference;
use crate::rules::Components;
use crate::rules::Lookup;
use crate::rules::Scope;
use crate::rules::Value;

/// The flavour of CUDA base images that has a compiler.
const WITH_COMPILER: &str = "devel";

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
    fn toolkit(&self) -> Said {
        let Some(base) = self.image.base else { return Said::plain(Lookup::Unknown) };
        let reference = match &self.image.facts.get(base).state {
            State::Known(FactValue::Text(written)) => ImageReference::parse(written).ok(),
            _ => None,
        };
        let compiler = reference.is_some_and(|reference| {
            let family = self.knowledge.base_family(&reference.familiar());
            let flavour = reference.tag().is_some_and(|tag| tag.split('-').any(|word| word == WITH_COMPILER));
            family.is_some_and(|row| row.monthly || (row.cuda_base && flavour))
        });
        if compiler { of(&self.image.base_cuda, version) } else { Said::plain(Lookup::Unknown).on(Some(base)) }
    }

    fn of_framework(&self, framework: &str, name: &str) -> Option<Said> {
        let component = self.image.components.iter().find(|component| component.name == framework);
        let key = match name {
            "variant" => FactKey::ComponentVariant,
            "cuda" | "cpu_build" => FactKey::ComponentCuda,
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

    /// The components, as conditions go through them.
    pub(super) fn all_components(&self) -> Components<'_> {
        let one = |component| Box::new(OneComponent { image: self.image, component }) as Box<dyn Scope + '_>;
        let list = self.image.components.iter().map(one).collect();
        Components { list, complete: !self.image.base_cuda.is_unknown() }
    }
}

/// Whether the version of a component is written down, and not the newest that there was.
fn pinned(image: &ImageFacts, component: &str) -> bool {
    let version = find(image, FactKey::ComponentVersion, component).map(|id| image.facts.get(id));
    version.is_some_and(|version| {
        let newest = matches!(version.evidence, Evidence::Derived { by: Derivation::Newest, .. });
        matches!(version.state, State::Known(_)) && !newest
    })
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
