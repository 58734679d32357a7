//! The data model of a report, schema version 1: the input of every output format, and the structure of the JSON
//! report, with the observations from which it can be checked again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fleet::cluster::{NodeRequirements, Start};
use crate::model::fact::{Confidence, InspectionDepth, Observations};
use crate::model::note::Note;
use crate::model::outcome::Outcome;
use crate::replay::{RefusalReason, StartRoute, StartStep};
use crate::report::kinds::{
    ChangeKind, FactState, FindingSeverity, FixSafety, LocationKind, StepStatus, SubjectKind, VerdictKind,
};
use crate::text::source::{SourceText, Span};

/// A run of imagelint.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// 1.
    pub schema_version: u32,
    /// The program.
    pub tool: Tool,
    /// Date for unpinned versions, `YYYY-MM-DD`; none = the newest entries.
    pub as_of: Option<String>,
    /// The fleet of the check.
    pub fleet: Fleet,
    /// Everything that was checked, in the order of its name.
    pub subjects: Vec<Subject>,
    /// Inputs that could not be read.
    pub errors: Vec<InputError>,
    /// The files that places refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
}

/// Versions of the program and of its compatibility database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Program version.
    pub version: String,
    /// Date of the newest entry of the compatibility database.
    pub knowledge: String,
}

/// The fleet of the check.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Path, or `built-in`.
    pub source: String,
    /// Whether it is the built-in reference fleet.
    pub built_in: bool,
    /// Pools in the order of the file.
    pub pools: Vec<Pool>,
}

/// One pool in words.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// Name.
    pub name: String,
    /// GPU names as written; empty = not declared.
    pub gpu: Vec<String>,
    /// Driver as written.
    pub driver: Option<String>,
    /// Number of nodes, if declared.
    pub nodes: Option<u32>,
    /// Place of the pool in the fleet file.
    pub location: Option<Location>,
    /// Every field that it declares.
    #[serde(default)]
    pub fields: Vec<PoolField>,
    /// Keys of undeclared fields that a step may depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undeclared: Vec<String>,
}

/// A field that a pool declares.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoolField {
    /// `pool.driver`.
    pub key: String,
    /// As declared, in one line.
    pub value: String,
    /// Its own place in the fleet file.
    pub location: Option<Location>,
}

/// One Dockerfile stage, image or description.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// Path or reference as given.
    pub name: String,
    /// What it is.
    pub kind: SubjectKind,
    /// Date for unpinned versions, if it differs from that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Stage of the check, for a Dockerfile with named stages.
    pub stage: Option<String>,
    /// Platform of the check, if only one was checked.
    pub platform: Option<String>,
    /// Digest that the name of an image resolves to: of its index, or else of its manifest.
    pub digest: Option<String>,
    /// Inspected images, one for each platform; empty for Dockerfiles and descriptions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageOf>,
    /// Whether any part of it concerns a GPU.
    pub gpu_content: bool,
    /// What imagelint inspected.
    pub inspected: Inspected,
    /// If no change makes the subject start on all its pools: the pools that require different images, and the smallest
    /// split of the pools. If changes were requested, `inspected` contains it as well.
    #[serde(skip)]
    pub split: Option<String>,
    /// Its frameworks and its CUDA in a few words.
    #[serde(skip)]
    pub about: Option<String>,
    /// Verdicts: per pool the image's first, then its components'.
    pub verdicts: Vec<Verdict>,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Facts that verdicts and findings refer to, by id.
    pub facts: Vec<Fact>,
    /// The image description: what `describe` prints.
    pub description: serde_json::Value,
    /// What imagelint observed; `check report.json` checks it again.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub observed: Observed,
}

/// An image of one platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageOf {
    /// Platform from its configuration, such as `linux/amd64`.
    pub platform: String,
    /// Digest of its manifest, or of its configuration in an archive without manifests.
    pub manifest: String,
    /// Digest of the index that lists it; none if the name resolves to the manifest itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
}

/// What imagelint inspected of a subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Inspected {
    /// How deep.
    pub depth: InspectionDepth,
    /// What imagelint did not inspect and why, one line each.
    pub notes: Vec<Note>,
}

/// The verdict for a subject, or for one component, on a pool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Pool name.
    pub pool: String,
    /// Component name; none = the image.
    pub component: Option<String>,
    /// `starts`, `fails`, `depends`, `undetermined`, `not-applicable`.
    pub fate: VerdictKind,
    /// How it fails, if it fails.
    pub outcome: Option<Outcome>,
    /// `requirement`, `device`, ... for `refused`.
    pub reason: Option<RefusalReason>,
    /// Error codes.
    pub codes: Codes,
    /// `native`, `minor-version`, `forward-compat` or `jit`, if it starts.
    pub route: Option<StartRoute>,
    /// The expected error, or the reason why the result is unknown.
    pub message: String,
    /// The message without the kind and the route of the verdict: what is wrong, with the CUDA error, or why it is
    /// unknown. None where the whole message is the explanation, and in a report that was read from a file.
    #[serde(skip)]
    pub explanation: Option<String>,
    /// How far it can be trusted.
    pub confidence: Confidence,
    /// Pool fields and image facts that would decide a `depends` or `undetermined`, each with how to supply it.
    pub missing: Vec<Missing>,
    /// Components with unknown GPU code.
    pub not_seen: Vec<String>,
    /// Notes that do not change the verdict, such as extensions that fail or libraries for other GPUs.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Every possible host of the pool.
    pub scenarios: Vec<Scenario>,
    /// What keeps an image with GPU content from using a GPU; the message says it too.
    #[serde(skip)]
    pub unused_gpu: Option<String>,
}

/// An unknown value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Key of the fact or pool field: `pool.launch`, `torch.version`.
    pub key: String,
    /// How to supply it.
    pub supply: String,
}

/// Error codes of a failure.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Codes {
    /// The code that a program gets.
    pub certain: Option<u16>,
    /// Codes that are possible.
    pub possible: Vec<u16>,
}

/// A possible host of the pool, and the result there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// The host.
    pub when: When,
    /// `starts`, `fails`, `undetermined`.
    pub fate: VerdictKind,
    /// How it fails, if it fails.
    pub outcome: Option<Outcome>,
    /// Every step of the simulated start, in order.
    pub steps: Vec<Step>,
}

/// Properties that distinguish this host from others of the pool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct When {
    /// GPU.
    pub gpu: Option<String>,
    /// Kernel-mode driver.
    pub driver: Option<String>,
    /// Launch method.
    pub launch: Option<String>,
    /// Mode of the container toolkit.
    pub mode: Option<String>,
    /// Container toolkit version.
    pub toolkit: Option<String>,
    /// Brand of the GPU, if the hosts differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brand: Option<String>,
    /// Directory of the driver's libraries on the node, if the hosts differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library_directory: Option<String>,
    /// Build of the image, if its tag has several builds.
    pub build: Option<String>,
}

/// A step of the simulated start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The step.
    pub step: StartStep,
    /// `passes`, `stops`, `unknown`, `not-seen`, `fails-later`, `not-applicable`.
    pub result: StepStatus,
    /// The result in words, with the values that decided it.
    pub text: String,
    /// Ids of the deciding facts: subject facts (`f12`), pool fields (`pool.driver`), database entries (`gpus/NVIDIA A100`).
    pub facts: Vec<String>,
    /// Document or upstream file and version that the step follows.
    pub cite: String,
}

/// A finding of a rule.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Rule name.
    pub rule: String,
    /// `error`, `warning`, `note`.
    pub severity: FindingSeverity,
    /// One line: what is wrong, with the values of the input and of the pool.
    pub message: String,
    /// The rule of CUDA, Docker or pip that causes it: one sentence with the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What else is unknown, each with how to supply it; empty if the finding is about a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_unknown: Vec<String>,
    /// The literal error of the program or the container runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symptom: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Pools with this finding; empty = independent of pools.
    pub pools: Vec<String>,
    /// Component, if the finding concerns one.
    pub component: Option<String>,
    /// Places, the cause first.
    pub locations: Vec<Location>,
    /// Changes that fix it, the smallest first.
    #[serde(default)]
    pub fixes: Vec<Fix>,
    /// Whether the verdict is unknown because a base image or its configuration was not read.
    #[serde(skip)]
    pub base_not_read: bool,
}

/// A change that was applied and checked on every pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// One line: `use the tag 12.4.1-base-ubuntu22.04`.
    pub title: String,
    /// What is changed.
    pub kind: ChangeKind,
    /// `safe` if nothing else changes for the program, `unsafe` if a version changes or a pool breaks, `manual` if no file
    /// contains it.
    pub safety: FixSafety,
    /// Texts to replace, in the order of their places; empty if no file contains them.
    pub edits: Vec<Edit>,
    /// Pools on which the image certainly failed before and starts after the change.
    pub cures: Vec<String>,
    /// Pools on which the image certainly starts after the change; it may start there without the change as well.
    #[serde(default)]
    pub settles: Vec<String>,
    /// Pools on which the change removes the failure, and whether the image starts is unknown.
    #[serde(default)]
    pub lifts: Vec<String>,
    /// Pools on which a step that might fail passes after the change, and other steps stay unknown.
    #[serde(default)]
    pub narrows: Vec<String>,
    /// Pools on which the image no longer starts after the change.
    #[serde(default)]
    pub breaks: Vec<String>,
    /// Unknown properties of the image that the change depends on.
    #[serde(default)]
    pub supposes: Option<String>,
    /// Drivers with which the image starts after the change; only for a newer base together with a newer release.
    #[serde(default)]
    pub drivers: Vec<FixDrivers>,
}

/// A range of drivers with which an image starts after a change, by one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixDrivers {
    /// Pools that use this route.
    pub pools: Vec<String>,
    /// The route.
    pub route: StartRoute,
    /// The first release, `515.43.04`.
    pub from: String,
    /// The last release; none if it is the newest known release.
    pub to: Option<String>,
}

impl Fix {
    /// Whether it removes a certain failure on a pool.
    pub fn removes_failure(&self) -> bool {
        !self.cures.is_empty() || !self.lifts.is_empty()
    }

    /// Whether a tool may apply it without confirmation: it edits a file, it removes a failure, and no pool breaks.
    pub fn is_auto_applicable(&self) -> bool {
        !self.edits.is_empty() && self.removes_failure() && self.breaks.is_empty()
    }

    /// Returns its title with its safety, its effects and the drivers that it needs.
    pub fn describe(&self) -> String {
        let needs = self.required_drivers().map_or_else(String::new, |needs| format!("; {needs}"));
        format!("{} ({}; {}{needs})", self.title, self.safety, self.effects())
    }

    /// Returns its effects with the pools: `starts on a; breaks b`.
    pub fn effects(&self) -> String {
        let effects = [
            (&self.cures, "starts on ", ""),
            (&self.settles, "starts on ", if self.supposes.is_none() { " for all unknown values" } else { "" }),
            (&self.lifts, "removes this failure on ", ", the rest is unknown"),
            (&self.narrows, "leaves less unknown on ", ""),
            (&self.breaks, "breaks ", ""),
        ];
        let effects = effects.into_iter().filter(|(pools, ..)| !pools.is_empty());
        let effects = effects.map(|(pools, before, after)| format!("{before}{}{after}", pools.join(", ")));
        let supposed = self.supposes.iter().map(|what| format!("if {what}"));
        supposed.chain(effects).collect::<Vec<_>>().join("; ")
    }

    /// Returns the drivers that it needs with the pools: `with driver 470.42.01 to 470.256.02 (forward-compat) on a`.
    pub fn required_drivers(&self) -> Option<String> {
        let alike = |one: &FixDrivers, other: &FixDrivers| (&one.pools, &one.route) == (&other.pools, &other.route);
        let of_route = |ranges: &[FixDrivers]| {
            let to =
                |one: &FixDrivers| one.to.as_ref().map_or_else(|| " or newer".to_owned(), |to| format!(" to {to}"));
            let range_texts: Vec<String> = ranges.iter().map(|one| format!("{}{}", one.from, to(one))).collect();
            let route = ranges.first().map_or("", |one| one.route.name());
            format!("{} ({route})", range_texts.join(", "))
        };
        let of_pools = |of_them: &[FixDrivers]| {
            let route_texts: Vec<String> = of_them.chunk_by(alike).map(of_route).collect();
            let pools = of_them.first().map_or_else(String::new, |one| one.pools.join(", "));
            format!("with driver {} on {pools}", route_texts.join(", "))
        };
        let pool_texts: Vec<String> =
            self.drivers.chunk_by(|one, other| one.pools == other.pools).map(of_pools).collect();
        (!pool_texts.is_empty()).then(|| pool_texts.join("; "))
    }
}

/// A text to replace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// File.
    pub path: String,
    /// The text to replace; empty for an insertion.
    pub region: Region,
    /// The text after the change.
    pub replacement: String,
}

/// A place in a file, an image or the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// Where it points.
    pub kind: LocationKind,
    /// File path, config field, layer digest, option name.
    pub path: String,
    /// What is there.
    pub label: String,
    /// Place in the text, for `file`, `fleet` and `description`.
    pub region: Option<Region>,
    /// The command that made a layer, from the history of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

/// Lines and columns from 1, columns in UTF-8 bytes, end exclusive; bytes from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// First line.
    pub start_line: usize,
    /// First column.
    pub start_column: usize,
    /// Line of the end.
    pub end_line: usize,
    /// Column after the end.
    pub end_column: usize,
    /// First byte.
    pub start_byte: usize,
    /// Byte after the end.
    pub end_byte: usize,
}

impl Region {
    /// Returns the region of a span in its text.
    pub fn from_span(text: &SourceText, span: Span) -> Self {
        let (start, end) = (text.position(span.start), text.position(span.end));
        Self {
            start_line: start.line,
            start_column: start.column,
            end_line: end.line,
            end_column: end.column,
            start_byte: span.start,
            end_byte: span.end,
        }
    }
}

/// A fact of a subject.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// `f12`.
    pub id: String,
    /// `env.NVIDIA_REQUIRE_CUDA`, `torch.version`.
    pub key: String,
    /// `known`, `absent`, `unknown`.
    pub state: FactState,
    /// Value, if known.
    pub value: Option<serde_json::Value>,
    /// Places that imagelint read it from.
    pub origins: Vec<Location>,
    /// Facts that it was derived from, then entries of the compatibility database.
    pub derived_from: Vec<String>,
    /// What imagelint searched, or why the value is unknown and how to supply it.
    pub why: Option<String>,
}

/// An input that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InputError {
    /// Input as given.
    pub input: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Place, if there is one.
    pub location: Option<Location>,
}

/// A file that places in the report refer to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// The number that facts refer to.
    pub id: u32,
    /// Its path.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// The observations of a subject.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Observed {
    /// The path as the pools' patterns see it.
    pub path: String,
    /// Number of the Dockerfile's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u32>,
    /// What was left out before any stage was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The node requirements of the workload, if a cluster declares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeRequirements>,
    /// The GPU request of the workload, if a cluster or a compose file declares one.
    #[serde(default, skip_serializing_if = "Start::is_unknown")]
    pub start: Start,
    /// The location of its name in a list or a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_at: Option<Location>,
    /// The checksum of `facts` as written, which detects edits; the facts themselves are not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<String>,
    /// What was seen for each platform; an empty name stands for all.
    pub platforms: Vec<OnPlatform>,
}

/// The observations for one platform.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OnPlatform {
    /// `linux/amd64`.
    pub platform: String,
    /// Name of the stage that ships.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Numbers of the stages that it is built from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<usize>,
    /// What was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The observations.
    pub seen: Observations,
}
