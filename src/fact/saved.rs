//! Facts as a report carries them: leaves in the order of their ids, each with the places where it was read.
//!
//! What was concluded is not kept: whoever reads a report concludes it again.

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde::de::Error;

use crate::fact::BaseSeen;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::source::SourceId;
use crate::source::Span;

/// Options that facts are read from; another one is not ours.
const OPTIONS: &[&str] = &["--build-arg", "--from-kubernetes", "--platform", "--target"];
/// What was searched for a fact that is absent because a command takes it away.
pub const REMOVED: &str = "a command of the build removes it";
/// What an absent fact of a report rests on where none of ours says it.
const SEARCHED: &str = "what the saved report lists as searched";

#[derive(Serialize, Deserialize)]
struct Leaf {
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    state: LeafState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    origins: Vec<LeafOrigin>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LeafState {
    Known(Value),
    Absent(String),
    Unknown(Why),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LeafOrigin {
    File {
        text: u32,
        start: usize,
        end: usize,
    },
    Config {
        digest: String,
        field: String,
    },
    Layer {
        digest: String,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<String>,
    },
    Option(String),
    Report(String),
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(id, entry)| Leaf {
            key: entry.key.pattern().to_owned(),
            of: entry.of.clone(),
            state: match &entry.state {
                State::Known(value) => LeafState::Known(value.clone()),
                State::Absent { searched } => LeafState::Absent((*searched).to_owned()),
                State::Unknown(why) => LeafState::Unknown(why.clone()),
            },
            origins: self.origins(id).into_iter().map(LeafOrigin::from).collect(),
        }))
    }
}

impl From<Origin> for LeafOrigin {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::File { source, span } => Self::File { text: source.0, start: span.start, end: span.end },
            Origin::Config { digest, field } => Self::Config { digest, field },
            Origin::Layer { digest, path, step, made_by } => Self::Layer { digest, path, step, made_by },
            Origin::Option(name) => Self::Option(name.to_owned()),
            Origin::Report(path) => Self::Report(path),
        }
    }
}

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut facts = Self::default();
        for leaf in Vec::<Leaf>::deserialize(deserializer)? {
            let key = FactKey::ALL.iter().find(|key| key.pattern() == leaf.key);
            let key = *key.ok_or_else(|| Error::custom(format!("unknown fact `{}`", leaf.key)))?;
            let state = match leaf.state {
                LeafState::Known(value) => State::Known(value),
                LeafState::Absent(searched) if searched == REMOVED => State::Absent { searched: REMOVED },
                LeafState::Absent(_) => State::Absent { searched: SEARCHED },
                LeafState::Unknown(why) => State::Unknown(why),
            };
            let origins = leaf.origins.into_iter().map(origin).collect::<Result<Vec<Origin>, D::Error>>()?;
            facts.add(key, leaf.of.as_deref(), state, Evidence::Leaf(origins));
        }
        Ok(facts)
    }
}

fn origin<E: Error>(origin: LeafOrigin) -> Result<Origin, E> {
    Ok(match origin {
        LeafOrigin::File { text, start, end } => Origin::File { source: SourceId(text), span: Span::new(start, end) },
        LeafOrigin::Config { digest, field } => Origin::Config { digest, field },
        LeafOrigin::Layer { digest, path, step, made_by } => Origin::Layer { digest, path, step, made_by },
        LeafOrigin::Report(path) => Origin::Report(path),
        LeafOrigin::Option(name) => match OPTIONS.iter().find(|option| **option == name) {
            Some(option) => Origin::Option(option),
            None => return Err(Error::custom(format!("unknown option `{name}`"))),
        },
    })
}

impl Facts {
    /// The texts that facts were read in, each place once or more.
    pub fn texts(&self) -> impl Iterator<Item = SourceId> {
        self.iter().flat_map(|(id, _)| self.origins(id)).filter_map(|origin| match origin {
            Origin::File { source, .. } => Some(source),
            Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
        })
    }

    /// Moves every place to the text that `moved` names for it; false where it names none.
    #[must_use]
    fn move_texts(&mut self, moved: &dyn Fn(SourceId, Span) -> Option<SourceId>) -> bool {
        let leaves = self.0.iter_mut().filter_map(|entry| match &mut entry.evidence {
            Evidence::Leaf(origins) => Some(origins),
            Evidence::Derived { .. } => None,
        });
        for origin in leaves.flatten() {
            if let Origin::File { source, span } = origin {
                let Some(there) = moved(*source, *span) else { return false };
                *source = there;
            }
        }
        true
    }

    /// Whether an id is one of this arena.
    pub fn has(&self, id: FactId) -> bool {
        id.0 < self.len()
    }
}

impl Observations {
    /// Moves every place and every text to the one that `moved` names for it; false where it names none.
    #[must_use]
    pub fn move_texts(&mut self, moved: &dyn Fn(SourceId, Span) -> Option<SourceId>) -> bool {
        for one in &mut self.of_base.brought {
            let Some(there) = moved(SourceId(one.text), Span::default()) else { return false };
            one.text = there.0;
        }
        self.facts.move_texts(moved)
    }

    /// Whether every id in it is that of a fact in it.
    pub fn is_whole(&self) -> bool {
        let base = match &self.base {
            BaseSeen::NotSaid => None,
            BaseSeen::Scratch(fact) | BaseSeen::Image(_, fact) | BaseSeen::Unresolved(_, fact) => Some(*fact),
        };
        let single = [
            base,
            self.built_on,
            self.platforms.as_ref().map(|(_, fact)| *fact),
            self.entrypoint.as_ref().map(|(_, fact)| *fact),
            self.of_base.starts.as_ref().map(|(_, fact)| *fact),
            self.tag_now.as_ref().map(|(_, fact)| *fact),
            self.cuda_runtime.as_ref().map(|(_, fact)| *fact),
        ];
        let env = self.env.values().map(|(_, fact)| *fact);
        let packages = self.packages.iter().chain(&self.bounds).map(|package| package.fact);
        let files = self.files.values().map(|file| file.fact);
        let removed = self.of_base.removed.iter().map(|(_, fact)| *fact);
        let code = self.code.iter().map(|code| code.fact).chain(self.needs.iter().map(|needs| needs.fact));
        let code = code.chain(self.build_asks.iter().map(|ask| ask.fact));
        let code = code.chain(self.of_base.arch_lists.iter().map(|list| list.fact));
        let code = code.chain(self.of_base.unknown_wheels.iter().map(|(_, fact)| *fact));
        let all = single.into_iter().flatten().chain(env).chain(packages).chain(files).chain(code).chain(removed);
        all.into_iter().all(|fact| self.facts.has(fact))
    }
}
