//! What is told of an image's needs: schema version 1, the same in print and in JSON.

use serde::Serialize;

/// The needs of one input.
#[derive(Clone, Debug, Serialize)]
pub struct Needs {
    /// Path or reference as given.
    pub name: String,
    /// `os/architecture` that it was inferred for.
    pub platform: String,
    /// Which build of the base's tag, where several answer to it.
    pub build: Option<String>,
    /// Platforms that there are manifests for; empty = built for whatever is asked.
    pub platforms: Vec<String>,
    /// The result in one sentence.
    pub summary: String,
    /// Newest driver release that was tried.
    pub newest_driver: Option<String>,
    /// One entry per core component; empty where nothing concerns a GPU.
    pub components: Vec<Component>,
}

/// The needs of one component.
#[derive(Clone, Debug, Serialize)]
pub struct Component {
    /// `torch`, `cuda`.
    pub name: String,
    /// Its CUDA runtime, where known.
    pub cuda: Option<String>,
    /// Its GPU code, where known: `sm_80`, `compute_90`.
    pub code: Vec<String>,
    /// Kinds of GPU that need the same.
    pub groups: Vec<Group>,
}

/// Kinds of GPU for which everything ends alike.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Compute capabilities.
    pub capabilities: Vec<String>,
    /// `data-center`, `consumer`, ...
    pub classes: Vec<&'static str>,
    /// Names of the GPUs, as drivers print them.
    pub gpus: Vec<&'static str>,
    /// Whether a driver branch still in support drives them.
    pub driver_in_support: bool,
    /// How their code is covered: `native`, `jit`, `none`, `unknown`.
    pub code: &'static str,
    /// One entry per way of starting.
    pub ways: Vec<Way>,
    /// Ranges of older container toolkits under which it is otherwise.
    pub older_toolkits: Vec<OlderToolkit>,
}

/// One way of starting a container.
#[derive(Clone, Debug, Serialize)]
pub struct Way {
    /// `docker --gpus`, `CDI`, `no container`.
    pub title: &'static str,
    /// The launch, as in a fleet file.
    pub launch: &'static str,
    /// Version of the container toolkit.
    pub toolkit: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub span: Span,
    /// Why no older driver does; none where all known ones do.
    pub because: Option<Because>,
}

/// The drivers that do.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Span {
    /// Driver from which on every known release starts; none where no release does.
    pub smallest_driver: Option<String>,
    /// Newest driver that starts, where newer ones do not any more.
    pub up_to: Option<String>,
    /// Older ranges that start as well: `535.54.03 to 535.288.01`.
    pub also: Vec<Range>,
    /// Ranges of which it cannot be told.
    pub undetermined: Vec<Range>,
}

/// Driver releases from one to another, both included.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Range {
    /// First.
    pub from: String,
    /// Last.
    pub to: String,
    /// By which route it starts; none where it cannot be told.
    pub route: Option<&'static str>,
}

/// What stops the newest driver that does not do.
#[derive(Clone, Debug, Serialize)]
pub struct Because {
    /// That driver.
    pub driver: String,
    /// How it ends: `insufficient-driver`, `undetermined`.
    pub outcome: String,
    /// The step.
    pub step: &'static str,
    /// The step in one sentence.
    pub message: String,
    /// Facts and table rows behind it, with their places.
    pub evidence: Vec<Evidence>,
}

/// A fact or row that decided.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Evidence {
    /// `env.NVIDIA_REQUIRE_CUDA`, `minor_compat[12]`.
    pub key: String,
    /// Value, where it is a known fact.
    pub value: Option<String>,
    /// Where it stands: `Dockerfile:3:5`, or source and date of the row.
    pub place: String,
}

/// Container toolkits under which one way differs from the newest.
#[derive(Clone, Debug, Serialize)]
pub struct OlderToolkit {
    /// The way.
    pub title: &'static str,
    /// First version of the range.
    pub from: String,
    /// First version after it.
    pub before: Option<String>,
    /// What was found under it.
    #[serde(flatten)]
    pub span: Span,
}
