//! The report as data: schema version 1, the only thing that renderers see, the same in JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::observed::Observed;
use crate::report::observed::Text;
use crate::source::SourceText;
use crate::source::Span;

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// 1.
    pub schema_version: u32,
    /// The program.
    pub tool: Tool,
    /// Day for which tables were asked, `YYYY-MM-DD`; none = the newest rows.
    pub as_of: Option<String>,
    /// The fleet judged against.
    pub fleet: Fleet,
    /// Everything judged, in the order of its name.
    pub subjects: Vec<Subject>,
    /// Inputs that could not be read.
    pub errors: Vec<InputError>,
    /// The texts that places point into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Text>,
}

/// Program and knowledge versions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Program version.
    pub version: String,
    /// Day of the newest knowledge row.
    pub knowledge: String,
}

/// The fleet as judged.
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
    /// Nodes, where declared.
    pub nodes: Option<u32>,
    /// Place of the pool in the fleet file.
    pub location: Option<Location>,
    /// Every field that it declares.
    #[serde(default)]
    pub fields: Vec<PoolField>,
    /// Keys of the fields that it leaves out and that steps may name.
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
    /// `dockerfile`, `image` or `description`.
    pub kind: String,
    /// Day for which tables were asked, where the run does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Stage judged, for a Dockerfile with names.
    pub stage: Option<String>,
    /// Platform judged, where one alone.
    pub platform: Option<String>,
    /// The digest that the name of an image leads to: of its index, else of its manifest.
    pub digest: Option<String>,
    /// The images behind the name that were looked into, one a platform; none of what is no image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageOf>,
    /// Whether anything in it concerns a GPU.
    pub gpu_content: bool,
    /// How deep it was looked into.
    pub inspected: Inspected,
    /// Where changes were sought and none makes it start on all its pools: which pools want different images, and the
    /// smallest way to part them. Where changes are asked for, `inspected` notes it as well.
    #[serde(skip)]
    pub split: Option<String>,
    /// Its frameworks and its CUDA in a few words.
    #[serde(skip)]
    pub about: Option<String>,
    /// Verdicts: per pool the image's first, then its components'.
    pub verdicts: Vec<Verdict>,
    /// What the rules say of it.
    pub findings: Vec<Finding>,
    /// The facts behind, by id.
    pub facts: Vec<Fact>,
    /// The image description: what `describe` prints.
    pub description: serde_json::Value,
    /// What was seen: `check report.json` judges it again.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub observed: Observed,
}

/// An image of one platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageOf {
    /// `linux/amd64`, as its configuration names it.
    pub platform: String,
    /// Digest of its manifest; of its configuration in an archive without manifests.
    pub manifest: String,
    /// Digest of the index that names it; none where the name leads to the manifest itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
}

/// Kind of a subject that is a settings file, with what has no effect in it.
pub const SETTINGS: &str = "settings";

/// How deep a subject was looked into.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Inspected {
    /// `text` (Dockerfile), `description`, `config`, `layers`.
    pub depth: String,
    /// What was left out and why, one line each.
    pub notes: Vec<String>,
}

/// The fate of a subject, or of one component, on a pool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Pool name.
    pub pool: String,
    /// Component name; none = the image.
    pub component: Option<String>,
    /// `starts`, `fails`, `depends`, `undetermined`, `not-applicable`.
    pub fate: String,
    /// Outcome name where it fails.
    pub outcome: Option<String>,
    /// `requirement`, `device`, ... for `refused`.
    pub reason: Option<String>,
    /// Error codes.
    pub codes: Codes,
    /// `native`, `minor-version`, `forward-compat`, `jit` where it starts.
    pub route: Option<String>,
    /// What a user would see, or a sentence why it cannot be told.
    pub message: String,
    /// `measured`, `declared`, `inferred`, `assumed`.
    pub confidence: String,
    /// What would settle a `depends` or `undetermined`: pool fields and image facts, each with how to supply it.
    pub missing: Vec<Missing>,
    /// GPU code that nothing is known of.
    pub not_seen: Vec<String>,
    /// What decides nothing and is worth knowing: extensions that fail, libraries for other GPUs.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Every host that the pool may be.
    pub scenarios: Vec<Scenario>,
}

/// Something not known.
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

/// One host that the pool may be, and what happens there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// The host.
    pub when: When,
    /// `starts`, `fails`, `undetermined`.
    pub fate: String,
    /// Outcome where it fails.
    pub outcome: Option<String>,
    /// Every step of the replay, in order.
    pub steps: Vec<Step>,
}

/// What tells this host from others of the pool.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct When {
    /// GPU.
    pub gpu: Option<String>,
    /// Kernel-mode driver.
    pub driver: Option<String>,
    /// Launch.
    pub launch: Option<String>,
    /// Mode of the container toolkit.
    pub mode: Option<String>,
    /// Container toolkit version.
    pub toolkit: Option<String>,
    /// Brand of the GPU, where the hosts differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brand: Option<String>,
    /// Directory of the driver's libraries on the node, where the hosts differ in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library_directory: Option<String>,
    /// Build of the image where several answer to its tag.
    pub build: Option<String>,
}

/// One step of the replay.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// `requirement`, `loader`, ...
    pub step: String,
    /// `passes`, `stops`, `unknown`, `not-seen`, `not-applicable`.
    pub result: String,
    /// A sentence: what was decided, with the values that decided it.
    pub text: String,
    /// Ids of the deciding facts: subject facts (`f12`), pool fields (`pool.driver`), table rows (`gpus/NVIDIA A100`).
    pub facts: Vec<String>,
    /// Document or upstream file and version that the step follows.
    pub cite: String,
}

/// What a rule says.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Rule name.
    pub rule: String,
    /// `error`, `warning`, `note`.
    pub severity: String,
    /// One line: what is wrong, with the values of the input and of the pool.
    pub message: String,
    /// The rule of CUDA, Docker or pip behind it, one sentence with the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The error that the program or the container runtime prints, literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symptom: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Pools that it holds for; empty = independent of pools.
    pub pools: Vec<String>,
    /// Component, where it is about one.
    pub component: Option<String>,
    /// Places, the blamed one first.
    pub locations: Vec<Location>,
    /// Changes that cure it, the smallest first.
    #[serde(default)]
    pub fixes: Vec<Fix>,
}

/// A change that was tried: the whole road was gone again with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// One line: `use the tag 12.4.1-base-ubuntu22.04`.
    pub title: String,
    /// `base-tag`, `framework-variant`, `driver`, ...: what is changed.
    pub kind: String,
    /// `safe` where nothing else changes for the program, `unsafe` where a version does or a pool breaks, `manual` where no
    /// file holds it.
    pub safety: String,
    /// What to write, in the order of its places; empty where no file holds it.
    pub edits: Vec<Edit>,
    /// Pools on which the image starts with it and failed for certain before.
    pub cures: Vec<String>,
    /// Pools on which the image starts with it whatever is not known; it may start there without it as well.
    #[serde(default)]
    pub settles: Vec<String>,
    /// Pools on which the failure is gone with it, and whether the image starts cannot be told.
    #[serde(default)]
    pub lifts: Vec<String>,
    /// Pools on which less is left open with it: a step that may stop the image passes, the rest cannot be told.
    #[serde(default)]
    pub narrows: Vec<String>,
    /// Pools on which it no longer starts with it.
    #[serde(default)]
    pub breaks: Vec<String>,
    /// What has to be true for it to help, of what is not known of the image.
    #[serde(default)]
    pub supposes: Option<String>,
    /// The drivers with which the image starts with it; told of a newer base and release together.
    #[serde(default)]
    pub drivers: Vec<FixDrivers>,
}

/// Drivers with which an image starts with a change, by one route: releases one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixDrivers {
    /// Pools whose way of starting it is.
    pub pools: Vec<String>,
    /// `native`, `minor-version`, `forward-compat`.
    pub route: String,
    /// The first release, `515.43.04`.
    pub from: String,
    /// The last release; none where it is the newest that is known.
    pub to: Option<String>,
}

impl Fix {
    /// Whether the image fails for certain without it, somewhere where it helps.
    pub fn is_for_failure(&self) -> bool {
        !self.cures.is_empty() || !self.lifts.is_empty()
    }

    /// Whether readers of a report may put it into the text unasked: a text holds it, the image fails without it, and no
    /// pool breaks with it.
    pub fn may_be_taken(&self) -> bool {
        !self.edits.is_empty() && self.is_for_failure() && self.breaks.is_empty()
    }

    /// Its title with its safety, what it does and the drivers that it needs.
    pub fn told(&self) -> String {
        let needs = self.needs().map_or_else(String::new, |needs| format!("; {needs}"));
        format!("{} ({}; {}{needs})", self.title, self.safety, self.effects())
    }

    /// What it does, pools by words: `starts on a; breaks b`.
    pub fn effects(&self) -> String {
        let told = [
            (&self.cures, "starts on ", ""),
            (
                &self.settles,
                "starts on ",
                if self.supposes.is_none() { " whatever the unknown values are" } else { "" },
            ),
            (&self.lifts, "removes this failure on ", ", the rest is unknown"),
            (&self.narrows, "leaves less unknown on ", ""),
            (&self.breaks, "breaks ", ""),
        ];
        let told = told.into_iter().filter(|(pools, ..)| !pools.is_empty());
        let told = told.map(|(pools, before, after)| format!("{before}{}{after}", pools.join(", ")));
        let supposed = self.supposes.iter().map(|what| format!("if {what}"));
        supposed.chain(told).collect::<Vec<_>>().join("; ")
    }

    /// The drivers that it needs, pools by words: `with driver 470.42.01 to 470.256.02 (forward-compat) on a`.
    pub fn needs(&self) -> Option<String> {
        let alike = |one: &FixDrivers, other: &FixDrivers| (&one.pools, &one.route) == (&other.pools, &other.route);
        let of_route = |ranges: &[FixDrivers]| {
            let to =
                |one: &FixDrivers| one.to.as_ref().map_or_else(|| " or newer".to_owned(), |to| format!(" to {to}"));
            let told: Vec<String> = ranges.iter().map(|one| format!("{}{}", one.from, to(one))).collect();
            let route = ranges.first().map_or("", |one| &one.route);
            format!("{} ({route})", told.join(", "))
        };
        let of_pools = |of_them: &[FixDrivers]| {
            let told: Vec<String> = of_them.chunk_by(alike).map(of_route).collect();
            let pools = of_them.first().map_or_else(String::new, |one| one.pools.join(", "));
            format!("with driver {} on {pools}", told.join(", "))
        };
        let told: Vec<String> = self.drivers.chunk_by(|one, other| one.pools == other.pools).map(of_pools).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// One text in the place of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// File.
    pub path: String,
    /// What is replaced; empty at the place of an insertion.
    pub region: Region,
    /// What stands there afterwards.
    pub replacement: String,
}

/// A place that somebody can look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// `file`, `fleet`, `config`, `layer`, `option`, `description`.
    pub kind: String,
    /// File path, config field, layer digest, option name.
    pub path: String,
    /// What is there.
    pub label: String,
    /// Place in the text, for `file`, `fleet` and `description`.
    pub region: Option<Region>,
    /// What made a layer, as the history of the image says it.
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
    /// The region of a span in its text.
    pub fn of(text: &SourceText, span: Span) -> Self {
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
    pub state: String,
    /// Value where known.
    pub value: Option<serde_json::Value>,
    /// Places where it was read.
    pub origins: Vec<Location>,
    /// Facts that it was concluded from, then table rows.
    pub derived_from: Vec<String>,
    /// What was searched, or why it is unknown and how to supply it.
    pub why: Option<String>,
}

/// An input that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InputError {
    /// Input as given.
    pub input: String,
    /// What is wrong and what to do.
    pub message: String,
    /// Place, where there is one.
    pub location: Option<Location>,
}
