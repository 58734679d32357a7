//! Facts as saved in a report: the directly read ones in the order of their ids, each with its origins.
//!
//! Conclusions are not stored: they are inferred again when the report is read.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactId, FactKey, Facts, Observations, ObservedBase, Origin, PrintedValue, ValueState,
};
use crate::text::source::{SourceId, Span};

/// The command-line options that facts are read from.
const ORIGIN_OPTIONS: &[&str] = &["--build-arg", "--from-kubernetes", "--platform", "--target"];
/// What was searched for a fact that is absent because a build command removes it.
pub const REMOVED_BY_COMMAND: &str = "a command of the build removes it";
/// What was searched for any other absent fact of a saved report.
const SEARCHED_IN_SAVED_REPORT: &str = "what the saved report lists as searched";

/// A fact as saved in a report.
#[derive(Serialize, Deserialize)]
struct SavedFact {
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    state: SavedState,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    origins: Vec<SavedOrigin>,
}

/// The value of a saved fact.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedState {
    Known(PrintedValue),
    Absent(String),
    Unknown(Cause),
}

/// The place from which a saved fact was read.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedOrigin {
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
        serializer.collect_seq(self.iter().map(|(id, entry)| SavedFact {
            key: entry.key.pattern().to_owned(),
            of: entry.subject.clone(),
            state: match &entry.state {
                ValueState::Known(value) => SavedState::Known(value.clone()),
                ValueState::Absent { searched } => SavedState::Absent((*searched).to_owned()),
                ValueState::Unknown(why) => SavedState::Unknown(why.clone()),
            },
            origins: self.origins(id).into_iter().map(SavedOrigin::from).collect(),
        }))
    }
}

impl From<Origin> for SavedOrigin {
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
        for leaf in Vec::<SavedFact>::deserialize(deserializer)? {
            let key = FactKey::ALL.iter().find(|key| key.pattern() == leaf.key);
            let key = *key.ok_or_else(|| Error::custom(format!("unknown fact `{}`", leaf.key)))?;
            let state = match leaf.state {
                SavedState::Known(value) => ValueState::Known(value),
                SavedState::Absent(searched) if searched == REMOVED_BY_COMMAND => {
                    ValueState::Absent { searched: REMOVED_BY_COMMAND }
                }
                SavedState::Absent(_) => ValueState::Absent { searched: SEARCHED_IN_SAVED_REPORT },
                SavedState::Unknown(why) => ValueState::Unknown(why),
            };
            let origins = leaf.origins.into_iter().map(restore_origin).collect::<Result<Vec<Origin>, D::Error>>()?;
            facts.add(key, leaf.of.as_deref(), state, Evidence::Leaf(origins));
        }
        Ok(facts)
    }
}

/// Returns the origin of a saved fact; an error for an unknown option.
fn restore_origin<E: Error>(origin: SavedOrigin) -> Result<Origin, E> {
    Ok(match origin {
        SavedOrigin::File { text, start, end } => Origin::File { source: SourceId(text), span: Span::new(start, end) },
        SavedOrigin::Config { digest, field } => Origin::Config { digest, field },
        SavedOrigin::Layer { digest, path, step, made_by } => Origin::Layer { digest, path, step, made_by },
        SavedOrigin::Report(path) => Origin::Report(path),
        SavedOrigin::Option(name) => match ORIGIN_OPTIONS.iter().find(|option| **option == name) {
            Some(option) => Origin::Option(option),
            None => return Err(Error::custom(format!("unknown option `{name}`"))),
        },
    })
}

impl Facts {
    /// Returns the texts from which facts were read; a text can occur more than once.
    pub fn source_ids(&self) -> impl Iterator<Item = SourceId> {
        self.iter().flat_map(|(id, _)| self.origins(id)).filter_map(|origin| match origin {
            Origin::File { source, .. } => Some(source),
            Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
        })
    }

    /// Replaces every text by the one that `moved` returns for it; false if it returns none.
    #[must_use]
    fn remap_sources(&mut self, moved: &dyn Fn(SourceId, Span) -> Option<SourceId>) -> bool {
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

    /// Whether an id belongs to this arena.
    pub fn contains(&self, id: FactId) -> bool {
        id.0 < self.len()
    }
}

impl Observations {
    /// Replaces every text by the one that `moved` returns for it; false if it returns none.
    #[must_use]
    pub fn remap_sources(&mut self, moved: &dyn Fn(SourceId, Span) -> Option<SourceId>) -> bool {
        for one in &mut self.base_changes.referenced_texts {
            let Some(there) = moved(SourceId(one.text), Span::default()) else { return false };
            one.text = there.0;
        }
        self.facts.remap_sources(moved)
    }

    /// Whether every fact id in the observations refers to one of their facts.
    pub fn has_valid_ids(&self) -> bool {
        let base = match &self.base {
            ObservedBase::NotSaid => None,
            ObservedBase::Scratch(fact) | ObservedBase::Image(_, fact) | ObservedBase::Unresolved(_, fact) => {
                Some(*fact)
            }
        };
        let single = [
            base,
            self.built_on,
            self.platforms.as_ref().map(|(_, fact)| *fact),
            self.entrypoint.as_ref().map(|(_, fact)| *fact),
            self.command.as_ref().map(|(_, fact)| *fact),
            self.base_changes.starts.as_ref().map(|(_, fact)| *fact),
            self.tag_now.as_ref().map(|(_, fact)| *fact),
            self.cuda_runtime.as_ref().map(|(_, fact)| *fact),
        ];
        let env = self.env.values().map(|(_, fact)| *fact);
        let packages = self.packages.iter().chain(&self.uninstalled_packages).chain(&self.bounds);
        let packages = packages.map(|package| package.fact);
        let files = self.files.values().map(|file| file.fact);
        let removed = self.base_changes.removed.iter().map(|(_, fact)| *fact);
        let code = self.code.iter().map(|code| code.fact).chain(self.needs.iter().map(|needs| needs.fact));
        let code = code.chain(self.build_probes.iter().map(|ask| ask.fact));
        let code = code.chain(self.base_changes.arch_lists.iter().map(|list| list.fact));
        let code = code.chain(self.base_changes.unknown_wheels.iter().map(|(_, fact)| *fact));
        let all = single.into_iter().flatten().chain(env).chain(packages).chain(files).chain(code).chain(removed);
        all.into_iter().all(|fact| self.facts.contains(fact))
    }
}
