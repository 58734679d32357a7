//! Values that rule conditions and messages query: names of the vocabulary, answered from facts, pool and verdict.
//!
//! A name has one line: in `image`, `loader`, `base`, `packages` or `pool`, with the fact that it refers to. A test
//! compares them with the entries of the vocabulary.

mod arch_lists;
mod base_image;
mod image;
mod loader;
mod packages;
mod pool;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
pub(super) use crate::judge::scope::pool::PoolSummary;
use crate::knowledge::Knowledge;
use crate::model::fact::{FactId, ImageFacts, Observations, TypedFact, ValueState};
use crate::rules::{ComponentScopes, FactLookup, FactScope, FactValue};

/// The scope of a rule: one build of an image, and a pool with its verdict if the rule is about pools.
pub(super) struct RuleScope<'a> {
    pub(super) image: &'a ImageFacts,
    /// The observations of the image.
    pub(super) seen: Option<&'a Observations>,
    pub(super) knowledge: Knowledge,
    /// The day as of which conditions are evaluated.
    pub(super) day: Date,
    pub(super) pool: Option<&'a PoolSummary>,
}

/// The template variables of a notice page: `notice.message`, and no other.
pub(super) struct NoticeScope(pub(super) String);

impl FactScope for NoticeScope {
    fn value(&self, name: &str) -> FactLookup {
        if name == "notice.message" { FactLookup::Known(FactValue::Text(self.0.clone())) } else { FactLookup::Unknown }
    }
}

/// The value of a name in a rule condition, and the fact that is reported as its cause.
struct BlamedLookup {
    lookup: FactLookup,
    fact: Option<FactId>,
}

impl BlamedLookup {
    /// Creates a lookup result without a fact as its cause.
    fn without_fact(lookup: FactLookup) -> Self {
        Self { lookup, fact: None }
    }

    /// Sets the fact that is reported as the cause.
    fn with_fact(self, fact: Option<FactId>) -> Self {
        Self { fact, ..self }
    }
}

impl RuleScope<'_> {
    /// Returns the value of a name; `None` if it is not a name on an image or a pool.
    fn lookup(&self, name: &str) -> Option<BlamedLookup> {
        match name {
            "day" => Some(BlamedLookup::without_fact(FactLookup::Known(FactValue::Date(self.day)))),
            _ => None,
        }
        .or_else(|| self.image_lookup(name))
        .or_else(|| self.loader_lookup(name))
        .or_else(|| self.base_image_lookup(name))
        .or_else(|| self.package_lookup(name))
        .or_else(|| self.pool_lookup(name))
    }

    /// Returns the fact that is blamed for a name of the vocabulary.
    pub(super) fn fact_for_condition_name(&self, name: &str) -> Option<FactId> {
        self.lookup(name)?.fact
    }
}

impl FactScope for RuleScope<'_> {
    fn value(&self, name: &str) -> FactLookup {
        self.lookup(name).map_or(FactLookup::Unknown, |blamed| blamed.lookup)
    }

    fn components(&self) -> ComponentScopes<'_> {
        self.all_components()
    }
}

/// Converts a fact to a value of the vocabulary.
fn fact_lookup<T>(fact: &TypedFact<T>, value: impl Fn(&T) -> FactLookup) -> BlamedLookup {
    let lookup = match &fact.state {
        ValueState::Known(known) => value(known),
        ValueState::Absent { .. } => FactLookup::Absent,
        ValueState::Unknown(_) => FactLookup::Unknown,
    };
    BlamedLookup { lookup, fact: Some(fact.id) }
}

/// Converts a fact to a value of the vocabulary; `none` if it is absent.
fn fact_lookup_with_default<T>(fact: &TypedFact<T>, none: FactValue, value: impl Fn(&T) -> FactValue) -> BlamedLookup {
    let blamed = fact_lookup(fact, |known| FactLookup::Known(value(known)));
    match blamed.lookup {
        FactLookup::Absent => BlamedLookup { lookup: FactLookup::Known(none), ..blamed },
        _ => blamed,
    }
}

/// Returns a known text.
fn text_lookup(text: impl Into<String>) -> FactLookup {
    FactLookup::Known(FactValue::Text(text.into()))
}

/// Returns a known boolean.
fn bool_lookup(holds: bool) -> FactLookup {
    FactLookup::Known(FactValue::Bool(holds))
}

/// Returns a known version.
fn version_lookup(version: &CudaVersion) -> FactLookup {
    FactLookup::Known(FactValue::Version(version.0))
}

/// Returns a known list.
fn list_lookup(texts: impl IntoIterator<Item = String>) -> FactLookup {
    FactLookup::Known(FactValue::List(texts.into_iter().collect::<Arc<[String]>>()))
}

/// Returns an observed list, which may have more entries unless it is complete.
fn observed_list_lookup(texts: Vec<String>, complete: bool) -> FactLookup {
    match complete {
        true if texts.is_empty() => FactLookup::Absent,
        true => list_lookup(texts),
        false if texts.is_empty() => FactLookup::Unknown,
        false => FactLookup::Known(FactValue::Seen(texts.into())),
    }
}

/// Converts a count to a number.
fn number_value(number: usize) -> FactValue {
    FactValue::Number(i64::try_from(number).unwrap_or(i64::MAX))
}
