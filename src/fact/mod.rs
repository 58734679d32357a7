//! Facts: values with the evidence behind them, or the reason why there is none.
//!
//! A fact never travels without its evidence. Evidence is a graph: a fact is read somewhere (a leaf
//! with its origin) or concluded from other facts and a table row. Labels, confidence and
//! fixes all walk that graph down to a leaf that somebody can edit.

mod arch_list;
mod as_text;
mod image;
mod key;
mod loose;
mod observed;
mod package;
mod saved;
mod value;

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

pub use self::arch_list::ArchListSeen;
pub use self::image::{
    Callers, CodeFloor, CodeWording, Compat, CompatLibrary, Component, DriverLibrary, EnvFacts, GpuCode, ImageFacts,
    Library, MadeFor, Needs, OWN_RUNTIME, Presence, Role, Signature, Soname, UNCALLED,
};
pub use self::key::{FactKey, VOCABULARY};
pub use self::loose::LooseSeen;
pub use self::observed::{
    BaseSeen, BroughtText, BuildAskSeen, CodeSeen, Completeness, Depth, EnvTemplate, FileKind, FileSeen, NeedsSeen,
    Observations, OfBase, TemplatePart, Unread, Unsaid,
};
pub use self::package::{Manager, Offered, PackageGone, PackageSeen, PackageVersion};
pub use self::saved::REMOVED;
pub use self::value::Value;

pub use crate::cuda::ElfNote;
use crate::knowledge::How;
use crate::knowledge::RowInfo;
use crate::source::SourceId;
use crate::source::Span;

/// A fact's number within its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FactId(pub u32);

impl fmt::Display for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// Why something is unknown, and what would make it known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Why {
    /// What stands in the way: `the base image was not read`.
    pub reason: String,
    /// What the user can do: `run imagelint scan on it`.
    pub supply: String,
}

/// A value, its certain absence, or the reason why neither can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State<T> {
    /// The value.
    Known(T),
    /// Certainly not there.
    Absent {
        /// What was searched to say so.
        searched: &'static str,
    },
    /// Cannot be told.
    Unknown(Why),
}

/// A typed state and the arena entry that holds its evidence.
#[derive(Clone, Debug)]
pub struct Fact<T> {
    /// Where the evidence is.
    pub id: FactId,
    /// What is known.
    pub state: State<T>,
}

impl<T> Fact<T> {
    /// The value, where there is one.
    pub fn known(&self) -> Option<&T> {
        match &self.state {
            State::Known(value) => Some(value),
            State::Absent { .. } | State::Unknown(_) => None,
        }
    }

    /// Whether it cannot be told.
    pub fn is_unknown(&self) -> bool {
        matches!(self.state, State::Unknown(_))
    }
}

/// A place where something was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A span of a file that the user wrote: Dockerfile, image description.
    File {
        /// The text.
        source: SourceId,
        /// The span.
        span: Span,
    },
    /// A field of the image configuration.
    Config {
        /// Digest of the configuration.
        digest: String,
        /// `config.Env[NVIDIA_REQUIRE_CUDA]`, `history[3]`, `history[3]: ENV A=b`.
        field: String,
    },
    /// An entry of a layer of an image.
    Layer {
        /// Digest of the layer as the manifest names it.
        digest: String,
        /// Path within the image.
        path: String,
        /// The step of the history that made the layer, where the configuration tells it.
        step: Option<u32>,
        /// What that step says, shortened.
        made_by: Option<String>,
    },
    /// A command-line option.
    Option(&'static str),
    /// A saved report, or a list of packages beside an image, by its name.
    Report(String),
}

/// How the field of a configuration begins that is a step of the history, with its words behind it.
pub fn step_field(number: usize) -> String {
    format!("history[{number}]: ")
}

/// Whether a field of a configuration is a step of the history with its words.
pub fn is_step_field(field: &str) -> bool {
    field.strip_prefix("history[").and_then(|rest| rest.split_once(']')).is_some_and(|(_, rest)| rest.starts_with(": "))
}

/// How a fact was concluded from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// Variables were put in.
    Expansion,
    /// A stage or image was built on another.
    Inheritance,
    /// A table was asked.
    Row,
    /// Several facts were weighed.
    Resolution,
    /// The newest of several that would do was taken.
    Newest,
}

/// What a fact rests on.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// It was read here; several places where several spell it together.
    Leaf(Vec<Origin>),
    /// It was concluded.
    Derived {
        /// How.
        by: Derivation,
        /// From which facts.
        from: Vec<FactId>,
        /// With which table row.
        row: Option<&'static RowInfo>,
    },
}

/// How far a fact can be trusted, weakest first. Computed, never written by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Rests on a table row from memory.
    Assumed,
    /// Rests on a table row.
    Inferred,
    /// Somebody wrote it down.
    Declared,
    /// Read off the image itself.
    Measured,
}

impl Confidence {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Inferred => "inferred",
            Self::Declared => "declared",
            Self::Measured => "measured",
        }
    }
}

/// One entry of the arena.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which fact.
    pub key: FactKey,
    /// Of what: the component, variable or path that the key speaks of.
    pub of: Option<String>,
    /// The value as it prints.
    pub state: State<Value>,
    /// What it rests on.
    pub evidence: Evidence,
}

impl Entry {
    /// The name in reports: `env.CUDA_VERSION`, `torch.version`, `image.base`.
    pub fn name(&self) -> String {
        self.key.name_of(self.of.as_deref())
    }
}

/// The entry of no fact.
static NOTHING: Entry = Entry {
    key: FactKey::File,
    of: None,
    state: State::Unknown(Why { reason: String::new(), supply: String::new() }),
    evidence: Evidence::Leaf(Vec::new()),
};

/// All facts of one subject.
#[derive(Clone, Debug, Default)]
pub struct Facts(Vec<Entry>);

impl Facts {
    /// Adds a fact.
    pub fn add(&mut self, key: FactKey, of: Option<&str>, state: State<Value>, evidence: Evidence) -> FactId {
        self.0.push(Entry { key, of: of.map(str::to_owned), state, evidence });
        FactId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a typed fact, with its printed form.
    pub fn add_typed<T>(&mut self, key: FactKey, of: Option<&str>, state: State<T>, evidence: Evidence) -> Fact<T>
    where
        for<'a> Value: From<&'a T>,
    {
        let printed = match &state {
            State::Known(value) => State::Known(Value::from(value)),
            State::Absent { searched } => State::Absent { searched },
            State::Unknown(why) => State::Unknown(why.clone()),
        };
        Fact { id: self.add(key, of, printed, evidence), state }
    }

    /// The entry behind an id of this arena; one of which nothing is known for an id of none.
    pub fn get(&self, id: FactId) -> &Entry {
        self.0.get(id.0 as usize).unwrap_or(&NOTHING)
    }

    /// Puts the lines that made something before the place where it was measured; concluded facts stay as they are.
    pub fn ascribe(&mut self, id: FactId, lines: Vec<Origin>) {
        let Some(Entry { evidence: Evidence::Leaf(origins), .. }) = self.0.get_mut(id.0 as usize) else { return };
        let new: Vec<Origin> = lines.into_iter().filter(|line| !origins.contains(line)).collect();
        origins.splice(0..0, new);
    }

    /// Lets every absence that was concluded from nothing else rest on a fact that claims it.
    pub fn claim(&mut self, id: FactId) {
        for Entry { state, evidence, .. } in &mut self.0 {
            if let (State::Absent { .. }, Evidence::Derived { from, row: None, .. }) = (state, evidence)
                && from.is_empty()
            {
                from.push(id);
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every entry in the order of its id.
    pub fn iter(&self) -> impl Iterator<Item = (FactId, &Entry)> {
        self.0.iter().enumerate().map(|(at, entry)| (FactId(u32::try_from(at).unwrap_or(u32::MAX)), entry))
    }

    /// The strength of the weakest thing that a fact rests on.
    pub fn confidence(&self, id: FactId) -> Confidence {
        match &self.get(id).evidence {
            // The line that made what was measured takes nothing from it.
            Evidence::Leaf(origins) => origins.iter().map(origin_confidence).max().unwrap_or(Confidence::Declared),
            Evidence::Derived { from, row, .. } => {
                let own = row.map_or(Confidence::Measured, row_confidence);
                from.iter().map(|id| self.confidence(*id)).fold(own, Confidence::min)
            }
        }
    }

    /// The table row behind the newest release that was taken where nothing pins one, anywhere below a fact.
    pub fn newest(&self, id: FactId) -> Option<&'static RowInfo> {
        match &self.get(id).evidence {
            Evidence::Derived { by: Derivation::Newest, row, .. } => *row,
            Evidence::Derived { from, .. } => from.iter().find_map(|id| self.newest(*id)),
            Evidence::Leaf(_) => None,
        }
    }

    /// The places at the bottom of a fact's evidence, in the order in which they were concluded from.
    pub fn origins(&self, id: FactId) -> Vec<Origin> {
        match &self.get(id).evidence {
            Evidence::Leaf(origins) => origins.clone(),
            Evidence::Derived { from, .. } => {
                let mut found: Vec<Origin> = Vec::new();
                for origin in from.iter().flat_map(|id| self.origins(*id)) {
                    if !found.contains(&origin) {
                        found.push(origin);
                    }
                }
                found
            }
        }
    }

    /// Of a component without CUDA, the fact that decides this: its own, or that of the component that it runs on.
    pub fn without_cuda(&self, id: FactId) -> FactId {
        let Evidence::Derived { from, .. } = &self.get(id).evidence else { return id };
        let is_other = |one: &&FactId| {
            let entry = self.get(**one);
            entry.key == FactKey::ComponentCuda
                && matches!(entry.state, State::Absent { .. })
                && entry.of != self.get(id).of
        };
        from.iter().find(is_other).map_or(id, |one| self.without_cuda(*one))
    }

    /// The variable that a fact depends on.
    pub fn variable(&self, id: FactId) -> Option<FactId> {
        let Evidence::Derived { from, .. } = &self.get(id).evidence else { return None };
        from.iter().copied().find(|one| self.get(*one).key == FactKey::Env)
    }
}

fn origin_confidence(origin: &Origin) -> Confidence {
    match origin {
        Origin::Config { .. } | Origin::Layer { .. } => Confidence::Measured,
        Origin::File { .. } | Origin::Option(_) | Origin::Report(_) => Confidence::Declared,
    }
}

fn row_confidence(row: &RowInfo) -> Confidence {
    if row.how == How::Memory { Confidence::Assumed } else { Confidence::Inferred }
}
