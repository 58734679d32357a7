//! What conditions and messages of pages may ask: the vocabulary's names, answered from facts, pool and verdict.

use crate::cuda::CudaVersion;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::State;
use crate::fact::Value as FactValue;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;
use crate::rules::Components;
use crate::rules::Lookup;
use crate::rules::Scope;
use crate::rules::Value;

/// Whatever a page may speak of: one build of an image, and a pool with its verdict where the page asks for them.
pub(super) struct Subject<'a> {
    pub(super) image: &'a ImageFacts,
    pub(super) knowledge: Knowledge,
    pub(super) pool: Option<PoolWords>,
}

/// The words of a notice alone.
pub(super) struct NoticeWords(pub(super) String);

impl Scope for NoticeWords {
    fn value(&self, name: &str) -> Lookup {
        if name == "notice.message" { Lookup::Known(Value::Text(self.0.clone())) } else { Lookup::Unknown }
    }

    fn components(&self) -> Components<'_> {
        Components { list: Vec::new(), complete: false }
    }
}

/// A pool, or several alike, in words.
#[derive(Clone, Debug, Default)]
pub(super) struct PoolWords {
    pub(super) name: String,
    pub(super) gpu: Option<String>,
    pub(super) driver: Option<crate::cuda::DriverVersion>,
    pub(super) launch: Option<String>,
    pub(super) outcome: Option<String>,
    pub(super) fate: String,
    pub(super) message: String,
    /// Why a program that starts there uses no GPU.
    pub(super) without_gpu: Option<String>,
}

impl Scope for Subject<'_> {
    fn value(&self, name: &str) -> Lookup {
        if let Some(variable) = name.strip_prefix("image.env.") {
            return text(self.image.env.get(variable));
        }
        if let Some(rest) = name.strip_prefix("pool.").or_else(|| name.strip_prefix("verdict.")) {
            return self.pool.as_ref().map_or(Lookup::Unknown, |pool| of_pool(pool, rest));
        }
        let of_component =
            |(component, _): &(&str, &str)| self.knowledge.frameworks().iter().any(|row| row.component == *component);
        if let Some((component, rest)) = name.split_once('.').filter(of_component) {
            return self.of_framework(component, rest);
        }
        match name {
            "image.gpu_content" => Lookup::Known(Value::Bool(self.image.gpu_content)),
            "image.ld_library_path" => text(self.image.env.get("LD_LIBRARY_PATH")),
            "image.driver_libraries" => match &self.image.driver_libraries.state {
                State::Known(list) => {
                    Lookup::Known(Value::List(list.iter().map(|library| library.path.clone()).collect()))
                }
                State::Absent { .. } => Lookup::Absent,
                State::Unknown(_) => Lookup::Unknown,
            },
            "image.base.cuda" => version(&self.image.base_cuda),
            _ => self.of_base(name),
        }
    }

    fn components(&self) -> Components<'_> {
        let list = self
            .image
            .components
            .iter()
            .map(|component| Box::new(OneComponent { image: self.image, component }) as Box<dyn Scope + '_>);
        Components { list: list.collect(), complete: !self.image.base_cuda.is_unknown() }
    }
}

impl Subject<'_> {
    fn of_base(&self, name: &str) -> Lookup {
        let Some(base) = self.image.base else { return Lookup::Absent };
        let State::Known(FactValue::Text(written)) = &self.image.facts.get(base).state else { return Lookup::Unknown };
        let Ok(reference) = ImageReference::parse(written) else { return Lookup::Absent };
        let repository = reference.familiar();
        let tag = reference.tag();
        let cuda_base = self.knowledge.is_cuda_repository(&repository);
        // Where neither stands there, it is `latest` that is asked for.
        let asked = tag.or(reference.digest().is_none().then_some("latest"));
        let row = asked
            .filter(|_| cuda_base)
            .and_then(|tag| self.knowledge.withdrawn(&repository, crate::infer::tag_version(tag)));
        let said = |text: &str| Lookup::Known(Value::Text(text.to_owned()));
        match name {
            "image.base" => said(written),
            "image.base.repository" => said(&repository),
            "image.base.tag" => tag.map_or(Lookup::Absent, said),
            "image.base.digest" => reference.digest().map_or(Lookup::Absent, said),
            "image.base.nvidia" => {
                Lookup::Known(Value::Bool(self.knowledge.base_family(&repository).is_some_and(|row| row.cuda_base)))
            }
            "image.base.floating" => {
                let versioned = tag.is_some_and(|tag| tag.bytes().any(|byte| byte.is_ascii_digit()));
                Lookup::Known(Value::Bool(reference.digest().is_none() && !versioned))
            }
            "image.base.withdrawn" => Lookup::Known(Value::Bool(row.is_some())),
            "image.base.instead" => row.and_then(|row| row.instead).map_or(Lookup::Absent, said),
            _ => Lookup::Unknown,
        }
    }

    fn of_framework(&self, framework: &str, name: &str) -> Lookup {
        let component = self.image.components.iter().find(|component| component.name == framework);
        let Some(component) = component else {
            let known = !self.image.base_cuda.is_unknown();
            return match name {
                "present" | "cpu_build" if known => Lookup::Known(Value::Bool(false)),
                _ if known => Lookup::Absent,
                _ => Lookup::Unknown,
            };
        };
        let pinned = find(self.image, FactKey::ComponentVersion, framework)
            .map(|id| self.image.facts.get(id))
            .is_some_and(|version| {
                let newest = matches!(version.evidence, Evidence::Derived { by: Derivation::Newest, .. });
                matches!(version.state, State::Known(_)) && !newest
            });
        match name {
            "present" => Lookup::Known(Value::Bool(true)),
            "pinned" => Lookup::Known(Value::Bool(pinned)),
            "version" => fact_text(self.image, FactKey::ComponentVersion, framework),
            "variant" => fact_text(self.image, FactKey::ComponentVariant, framework),
            "cuda" => version(&component.cuda),
            "cpu_build" => match component.cuda.state {
                State::Known(_) => Lookup::Known(Value::Bool(false)),
                State::Absent { .. } => Lookup::Known(Value::Bool(true)),
                State::Unknown(_) => Lookup::Unknown,
            },
            _ => Lookup::Unknown,
        }
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
            "component.cuda" => version(&self.component.cuda),
            _ => Lookup::Unknown,
        }
    }
}

fn of_pool(pool: &PoolWords, name: &str) -> Lookup {
    let said = |text: &Option<String>| text.clone().map_or(Lookup::Absent, |text| Lookup::Known(Value::Text(text)));
    match name {
        "name" => Lookup::Known(Value::Text(pool.name.clone())),
        "gpu" => said(&pool.gpu),
        "driver" => pool.driver.map_or(Lookup::Unknown, |driver| Lookup::Known(Value::Version(driver.0))),
        "launch" => said(&pool.launch),
        "outcome" => said(&pool.outcome),
        "fate" => Lookup::Known(Value::Text(pool.fate.clone())),
        "message" => Lookup::Known(Value::Text(pool.message.clone())),
        "without_gpu" => said(&pool.without_gpu),
        _ => Lookup::Unknown,
    }
}

fn text(fact: &Fact<String>) -> Lookup {
    match &fact.state {
        State::Known(text) => Lookup::Known(Value::Text(text.clone())),
        State::Absent { .. } => Lookup::Absent,
        State::Unknown(_) => Lookup::Unknown,
    }
}

fn version(fact: &Fact<CudaVersion>) -> Lookup {
    match &fact.state {
        State::Known(version) => Lookup::Known(Value::Version(version.0)),
        State::Absent { .. } => Lookup::Absent,
        State::Unknown(_) => Lookup::Unknown,
    }
}

fn fact_text(image: &ImageFacts, key: FactKey, of: &str) -> Lookup {
    match find(image, key, of).map(|id| &image.facts.get(id).state) {
        Some(State::Known(value)) => Lookup::Known(Value::Text(value.to_string())),
        Some(State::Unknown(_)) => Lookup::Unknown,
        Some(State::Absent { .. }) | None => Lookup::Absent,
    }
}

/// The last fact of a key: a later one replaces an earlier one.
fn find(image: &ImageFacts, key: FactKey, of: &str) -> Option<FactId> {
    image.facts.iter().filter(|(_, entry)| entry.key == key && entry.of.as_deref() == Some(of)).last().map(|(id, _)| id)
}

/// The libraries without which a program uses no GPU.
fn opened(image: &ImageFacts) -> Option<FactId> {
    image.needs.iter().find(|needs| needs.falls_back).map(|needs| needs.later.id)
}

/// The fact that a page blames, by its name in the vocabulary.
pub(super) fn blamed(image: &ImageFacts, blame: &str) -> Option<FactId> {
    if let Some(variable) = blame.strip_prefix("image.env.") {
        return Some(image.env.get(variable).id);
    }
    let of_component = blame.split_once('.').and_then(|(component, rest)| {
        let key = match rest {
            "variant" => FactKey::ComponentVariant,
            "cuda" | "cpu_build" => FactKey::ComponentCuda,
            "version" | "pinned" | "present" => FactKey::ComponentVersion,
            _ => return None,
        };
        Some((component, key))
    });
    if let Some((component, key)) = of_component {
        return find(image, key, component);
    }
    match blame {
        "verdict.without_gpu" => opened(image),
        "image.driver_libraries" => Some(image.driver_libraries.id),
        "image.base.cuda" => Some(image.base_cuda.id),
        "image.ld_library_path" => Some(image.env.get("LD_LIBRARY_PATH").id),
        _ if blame.starts_with("image.base") => image.base,
        _ => None,
    }
}
