//! What conditions and messages of pages may ask: the vocabulary's names, answered from facts, pool and verdict.
//!
//! A name has one line: in `image`, `loader`, `base`, `packages` or `pool`, each beside what it is blamed on. A test compares
//! them with the entries of the vocabulary.

mod arch_lists;
mod base;
mod image;
mod loader;
mod packages;
mod pool;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::ImageFacts;
use crate::fact::Observations;
use crate::fact::State;
pub(super) use crate::judge::scope::pool::PoolWords;
use crate::knowledge::Knowledge;
use crate::rules::Components;
use crate::rules::Lookup;
use crate::rules::Scope;
use crate::rules::Value;

/// Whatever a page may speak of: one build of an image, and a pool with its verdict where the page asks for them.
pub(super) struct Subject<'a> {
    pub(super) image: &'a ImageFacts,
    /// What the readers saw of it.
    pub(super) seen: Option<&'a Observations>,
    pub(super) knowledge: Knowledge,
    /// The day that is asked for.
    pub(super) day: Date,
    pub(super) pool: Option<&'a PoolWords>,
}

/// The words of a notice alone.
pub(super) struct NoticeWords(pub(super) String);

impl Scope for NoticeWords {
    fn value(&self, name: &str) -> Lookup {
        if name == "notice.message" { Lookup::Known(Value::Text(self.0.clone())) } else { Lookup::Unknown }
    }
}

/// What is known under a name, and the fact that is blamed for it.
struct Said {
    lookup: Lookup,
    fact: Option<FactId>,
}

impl Said {
    /// Of no fact in particular.
    fn plain(lookup: Lookup) -> Self {
        Self { lookup, fact: None }
    }

    fn on(self, fact: Option<FactId>) -> Self {
        Self { fact, ..self }
    }
}

impl Subject<'_> {
    /// What is known under a name; none where it is not one of an image or a pool.
    fn said(&self, name: &str) -> Option<Said> {
        match name {
            "day" => Some(Said::plain(Lookup::Known(Value::Date(self.day)))),
            _ => None,
        }
        .or_else(|| self.of_image(name))
        .or_else(|| self.of_loader(name))
        .or_else(|| self.of_base(name))
        .or_else(|| self.of_packages(name))
        .or_else(|| self.of_pool(name))
    }

    /// The fact that a page blames, by its name in the vocabulary.
    pub(super) fn blamed(&self, name: &str) -> Option<FactId> {
        self.said(name)?.fact
    }
}

impl Scope for Subject<'_> {
    fn value(&self, name: &str) -> Lookup {
        self.said(name).map_or(Lookup::Unknown, |said| said.lookup)
    }

    fn components(&self) -> Components<'_> {
        self.all_components()
    }
}

/// What is known of a fact, in the form of the vocabulary.
fn of<T>(fact: &Fact<T>, value: impl Fn(&T) -> Lookup) -> Said {
    let lookup = match &fact.state {
        State::Known(known) => value(known),
        State::Absent { .. } => Lookup::Absent,
        State::Unknown(_) => Lookup::Unknown,
    };
    Said { lookup, fact: Some(fact.id) }
}

/// The same, where absence is an answer: `false`, or 0.
fn counted<T>(fact: &Fact<T>, none: Value, value: impl Fn(&T) -> Value) -> Said {
    let said = of(fact, |known| Lookup::Known(value(known)));
    match said.lookup {
        Lookup::Absent => Said { lookup: Lookup::Known(none), ..said },
        _ => said,
    }
}

fn text(text: impl Into<String>) -> Lookup {
    Lookup::Known(Value::Text(text.into()))
}

fn truth(holds: bool) -> Lookup {
    Lookup::Known(Value::Bool(holds))
}

fn version(version: &CudaVersion) -> Lookup {
    Lookup::Known(Value::Version(version.0))
}

fn list(texts: impl IntoIterator<Item = String>) -> Lookup {
    Lookup::Known(Value::List(texts.into_iter().collect::<Arc<[String]>>()))
}

/// What was seen of a list, of which there may be more unless it is complete.
fn seen(texts: Vec<String>, complete: bool) -> Lookup {
    match complete {
        true if texts.is_empty() => Lookup::Absent,
        true => list(texts),
        false if texts.is_empty() => Lookup::Unknown,
        false => Lookup::Known(Value::Seen(texts.into())),
    }
}

fn number(number: usize) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}
