//! Facts: values with their evidence, or the reason why they are unknown.
//!
//! A fact never travels without its evidence. Evidence is a graph: a fact is read somewhere (a leaf
//! with its origin) or concluded from other facts and a table row. Labels, confidence and
//! fixes all walk that graph down to a leaf that a user can edit.

mod as_text;
mod fact_key;
mod image_facts;
mod observations;
mod printed_value;
mod saved_facts;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::fact_key::{FactKey, VOCABULARY};
pub use self::image_facts::{
    BaseImageBuild, CONTAINER_COMPONENT, CUDA_RUNTIME_COMPONENT, CodeTargets, CompatDirectory, CompatLibrary,
    Component, ComponentRole, CudaUsage, DriverLibrary, EnvFacts, FrameworkErrorCodes, GpuCode, GpuCodeLibrary,
    ImageFacts, LibraryDependencies, LibraryProvider, MinimumCapability, RequiredLibrary, TargetProcessor,
};
pub use self::observations::{
    BaseChanges, BuildMachineProperty, BuildMachineQuery, Completeness, EnvTemplate, FileKind, InspectionDepth,
    InstallerBehavior, InstallerCommands, Observations, ObservedArchList, ObservedBase, ObservedFile, ObservedGpuCode,
    ObservedLibraryDependencies, ReferencedText, TemplatePart, UnknownCodeKind, Unread,
};

pub use self::observations::UnpackagedFiles;
pub use self::printed_value::PrintedValue;
pub use self::saved_facts::REMOVED_BY_COMMAND;

pub use crate::cuda::CompatNote;
use crate::model::cause::Cause;
use crate::model::named_values::named_values;
use crate::model::row_info::{How, RowInfo};
use crate::text::source::{SourceId, Span};

/// The subject of the fact about packages that an image description leaves out, whatever list contains them.
pub const UNNAMED_LIST: &str = "more packages";
/// The subject of the fact about packages that the words of a command name, if no variable in them is known.
pub const UNNAMED_WORDS: &str = "words of a command";

/// The index of a fact in its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FactId(pub u32);

impl fmt::Display for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// A value, its certain absence, or the reason why it is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueState<T> {
    /// The value.
    Known(T),
    /// Certainly absent.
    Absent {
        /// What was searched to say so.
        searched: &'static str,
    },
    /// Unknown, for this reason.
    Unknown(Cause),
}

/// A typed value, with the id of its evidence.
#[derive(Clone, Debug)]
pub struct TypedFact<T> {
    /// The id of the entry with the evidence.
    pub id: FactId,
    /// The value, if known.
    pub state: ValueState<T>,
}

impl<T> TypedFact<T> {
    /// Returns the value if it is known.
    pub fn known(&self) -> Option<&T> {
        match &self.state {
            ValueState::Known(value) => Some(value),
            ValueState::Absent { .. } | ValueState::Unknown(_) => None,
        }
    }

    /// Whether it is unknown if there is a value.
    pub fn is_unknown(&self) -> bool {
        matches!(self.state, ValueState::Unknown(_))
    }
}

/// A place from which a fact was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A span of a file of the user, such as a Dockerfile or an image description.
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
    /// A file in a layer of an image.
    Layer {
        /// Digest of the layer as the manifest names it.
        digest: String,
        /// Path within the image.
        path: String,
        /// The history step that created the layer, if the configuration names it.
        step: Option<u32>,
        /// The command of that step, shortened.
        made_by: Option<String>,
    },
    /// A command-line option.
    Option(&'static str),
    /// A saved report or an SBOM, by its name.
    Report(String),
}

/// Returns the start of a configuration field that quotes a step of the image history.
pub fn history_field_prefix(number: usize) -> String {
    format!("history[{number}]: ")
}

/// Whether a configuration field quotes a step of the image history.
pub fn is_history_field(field: &str) -> bool {
    field.strip_prefix("history[").and_then(|rest| rest.split_once(']')).is_some_and(|(_, rest)| rest.starts_with(": "))
}

/// How a fact was derived from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// By expanding variables.
    Expansion,
    /// By inheriting from a base stage or base image.
    Inheritance,
    /// By looking up a row of a knowledge table.
    Row,
    /// By combining several facts.
    Resolution,
    /// By assuming the newest of several possible releases.
    Newest,
}

/// What a fact is based on.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// It was read from these places, which together contain it.
    Leaf(Vec<Origin>),
    /// It was derived from other facts.
    Derived {
        /// How.
        by: Derivation,
        /// From which facts.
        from: Vec<FactId>,
        /// With which table row.
        row: Option<&'static RowInfo>,
    },
}

named_values! {
    /// How far a fact or a verdict can be trusted, the weakest first; always computed from the evidence.
    #[schemars(rename = "VerdictConfidence")]
    Confidence {
        /// It comes from a database entry without a measurement.
        Assumed = "assumed",
        /// It comes from a database entry.
        Inferred = "inferred",
        /// The user declared it.
        Declared = "declared",
        /// It was read from the image.
        Measured = "measured",
    }
}

/// A fact in the arena, with its printed value and its evidence.
#[derive(Clone, Debug)]
pub struct FactEntry {
    /// The key of the fact.
    pub key: FactKey,
    /// The component, variable or path that the key refers to.
    pub subject: Option<String>,
    /// The printed value, if known.
    pub state: ValueState<PrintedValue>,
    /// What the fact is based on.
    pub evidence: Evidence,
}

impl FactEntry {
    /// Returns the name in reports: `env.CUDA_VERSION`, `torch.version`, `image.base`.
    pub fn name(&self) -> String {
        self.key.name_for(self.subject.as_deref())
    }
}

/// The entry for an id that is not in the arena.
static UNKNOWN_ENTRY: FactEntry = FactEntry {
    key: FactKey::File,
    subject: None,
    state: ValueState::Unknown(Cause::NotRead),
    evidence: Evidence::Leaf(Vec::new()),
};

/// The arena of all facts of one subject.
#[derive(Clone, Debug, Default)]
pub struct Facts(Vec<FactEntry>);

impl Facts {
    /// Adds a fact, and returns its id.
    pub fn add(
        &mut self,
        key: FactKey,
        of: Option<&str>,
        state: ValueState<PrintedValue>,
        evidence: Evidence,
    ) -> FactId {
        self.0.push(FactEntry { key, subject: of.map(str::to_owned), state, evidence });
        FactId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a fact with a typed value, and returns it.
    pub fn add_typed<T>(
        &mut self,
        key: FactKey,
        of: Option<&str>,
        state: ValueState<T>,
        evidence: Evidence,
    ) -> TypedFact<T>
    where
        for<'a> PrintedValue: From<&'a T>,
    {
        let printed = match &state {
            ValueState::Known(value) => ValueState::Known(PrintedValue::from(value)),
            ValueState::Absent { searched } => ValueState::Absent { searched },
            ValueState::Unknown(why) => ValueState::Unknown(why.clone()),
        };
        TypedFact { id: self.add(key, of, printed, evidence), state }
    }

    /// Returns the entry of an id; an unknown one for an id of another arena.
    pub fn get(&self, id: FactId) -> &FactEntry {
        self.0.get(id.0 as usize).unwrap_or(&UNKNOWN_ENTRY)
    }

    /// Whether a fact is directly derived from another one.
    pub fn is_derived_from(&self, id: FactId, other: FactId) -> bool {
        matches!(&self.get(id).evidence, Evidence::Derived { from, .. } if from.contains(&other))
    }

    /// Adds the lines that caused something before the place where it was measured; derived facts do not change.
    pub fn prepend_origins(&mut self, id: FactId, lines: Vec<Origin>) {
        let Some(FactEntry { evidence: Evidence::Leaf(origins), .. }) = self.0.get_mut(id.0 as usize) else { return };
        let new: Vec<Origin> = lines.into_iter().filter(|line| !origins.contains(line)).collect();
        origins.splice(0..0, new);
    }

    /// Bases every derived absence without evidence on the fact that declares it.
    pub fn support_absences(&mut self, id: FactId) {
        for FactEntry { state, evidence, .. } in &mut self.0 {
            if let (ValueState::Absent { .. }, Evidence::Derived { from, row: None, .. }) = (state, evidence)
                && from.is_empty()
            {
                from.push(id);
            }
        }
    }

    /// Returns the number of facts.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all entries in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FactId, &FactEntry)> {
        self.0.iter().enumerate().map(|(at, entry)| (FactId(u32::try_from(at).unwrap_or(u32::MAX)), entry))
    }

    /// Returns the confidence of the weakest evidence of a fact.
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

    /// Returns the table row of the newest release that the evidence of a fact assumes for an unpinned version.
    pub fn newest_release_row(&self, id: FactId) -> Option<&'static RowInfo> {
        match &self.get(id).evidence {
            Evidence::Derived { by: Derivation::Newest, row, .. } => *row,
            Evidence::Derived { from, .. } => from.iter().find_map(|id| self.newest_release_row(*id)),
            Evidence::Leaf(_) => None,
        }
    }

    /// Returns the places from which the evidence of a fact was read, in order and without duplicates.
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

    /// Returns the fact that explains why a component has no CUDA: its own, or that of the component that it depends
    /// on.
    pub fn cuda_absence_source(&self, id: FactId) -> FactId {
        let Evidence::Derived { from, .. } = &self.get(id).evidence else { return id };
        let is_other = |one: &&FactId| {
            let entry = self.get(**one);
            entry.key == FactKey::ComponentCuda
                && matches!(entry.state, ValueState::Absent { .. })
                && entry.subject != self.get(id).subject
        };
        from.iter().find(is_other).map_or(id, |one| self.cuda_absence_source(*one))
    }

    /// Returns the environment variable that a fact was derived from.
    pub fn env_variable(&self, id: FactId) -> Option<FactId> {
        let Evidence::Derived { from, .. } = &self.get(id).evidence else { return None };
        from.iter().copied().find(|one| self.get(*one).key == FactKey::Env)
    }
}

/// Returns the confidence of something that was read from a place.
fn origin_confidence(origin: &Origin) -> Confidence {
    match origin {
        Origin::Config { .. } | Origin::Layer { .. } => Confidence::Measured,
        Origin::File { .. } | Origin::Option(_) | Origin::Report(_) => Confidence::Declared,
    }
}

/// Returns the confidence of a table row.
fn row_confidence(row: &RowInfo) -> Confidence {
    if row.how == How::Memory { Confidence::Assumed } else { Confidence::Inferred }
}
