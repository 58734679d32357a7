//! The data model of the needs of an image: schema version 1, for text and JSON output.

use serde::Serialize;

use crate::fleet::Launch;
use crate::model::named_values::named_values;
use crate::model::outcome::Outcome;
use crate::replay::{StartRoute, StartStep};

/// The needs of one input image.
#[derive(Clone, Debug, Serialize)]
pub struct ImageNeeds {
    /// Path or image reference, as in the input.
    pub name: String,
    /// Platform (`os/architecture`) for which they were inferred.
    pub platform: String,
    /// The build of the base tag, where several match it.
    pub build: Option<String>,
    /// Platforms in the manifest list; empty if it is built for any requested platform.
    pub platforms: Vec<String>,
    /// The result in one sentence.
    pub summary: String,
    /// Newest driver release that was replayed.
    pub newest_driver: Option<String>,
    /// One entry per core component; empty where nothing concerns a GPU.
    pub components: Vec<ComponentNeeds>,
}

/// What one component of an image needs to start: the drivers and settings for each group of GPUs.
#[derive(Clone, Debug, Serialize)]
pub struct ComponentNeeds {
    /// `torch`, `cuda`.
    pub name: String,
    /// Its CUDA runtime, where known.
    pub cuda: Option<String>,
    /// Its GPU code, where known: `sm_80`, `compute_90`.
    pub code: Vec<String>,
    /// Groups of GPUs with the same needs.
    pub groups: Vec<GpuGroupNeeds>,
}

/// A group of GPUs with the same results throughout.
#[derive(Clone, Debug, Serialize)]
pub struct GpuGroupNeeds {
    /// Compute capabilities.
    pub capabilities: Vec<String>,
    /// `data-center`, `consumer`, ...
    pub classes: Vec<&'static str>,
    /// Names of the GPUs, as drivers print them.
    pub gpus: Vec<&'static str>,
    /// Whether a driver branch still in support drives them.
    pub driver_in_support: bool,
    /// How their code is covered.
    pub code: CodeCoverage,
    /// One entry per launch method.
    pub ways: Vec<LaunchNeeds>,
    /// Ranges of older container toolkits with a different result.
    pub older_toolkits: Vec<OlderToolkit>,
}

named_values! {
    /// How the code of a component covers the GPUs of a group.
    CodeCoverage {
        /// By native code.
        Native = "native",
        /// By PTX, which the driver compiles at start-up.
        Jit = "jit",
        /// By neither native code nor PTX.
        None = "none",
        /// Native code and PTX are unknown.
        Unknown = "unknown",
    }
}

/// The needs of one launch method.
#[derive(Clone, Debug, Serialize)]
pub struct LaunchNeeds {
    /// `docker --gpus`, `CDI`, `no container`.
    pub title: &'static str,
    /// The launch, as in a fleet file.
    pub launch: Launch,
    /// Version of the container toolkit.
    pub toolkit: Option<String>,
    /// The drivers on which it starts.
    #[serde(flatten)]
    pub span: SupportedDrivers,
    /// Why the next older driver does not start it; `None` where all known drivers do.
    pub because: Option<BlockingStep>,
}

impl LaunchNeeds {
    /// Whether it starts without a container.
    pub fn is_without_container(&self) -> bool {
        self.launch == Launch::Native
    }
}

/// The drivers on which an image starts.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct SupportedDrivers {
    /// Driver from which on every known release starts; none where no release does.
    pub smallest_driver: Option<String>,
    /// Newest driver that starts, where newer ones do not any more.
    pub up_to: Option<String>,
    /// Older ranges that start as well: `535.54.03 to 535.288.01`.
    pub also: Vec<DriverRange>,
    /// Ranges for which the result is unknown.
    pub undetermined: Vec<DriverRange>,
}

/// A range of driver releases, both ends included.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct DriverRange {
    /// First.
    pub from: String,
    /// Last.
    pub to: String,
    /// The route by which it starts; `None` where that is unknown.
    pub route: Option<StartRoute>,
}

/// How a start ends that a step stops or leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockingOutcome {
    /// A deciding value is unknown.
    Undetermined,
    /// It fails.
    #[serde(untagged)]
    Fails(Outcome),
}

/// The step that stops the start on the newest unsupported driver.
#[derive(Clone, Debug, Serialize)]
pub struct BlockingStep {
    /// The driver release.
    pub driver: String,
    /// How it ends: an outcome such as `insufficient-driver`, or `undetermined`.
    pub outcome: BlockingOutcome,
    /// Name of the step.
    pub step: StartStep,
    /// The step in one sentence; that of an undetermined start begins with `unknown`.
    pub message: String,
    /// The deciding facts and table rows, with their locations.
    pub evidence: Vec<NeedsEvidence>,
}

/// A fact or table row that decided a result.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct NeedsEvidence {
    /// `env.NVIDIA_REQUIRE_CUDA`, `minor_compat[12]`.
    pub key: String,
    /// Value, where it is a known fact.
    pub value: Option<String>,
    /// Its location: `Dockerfile:3:5`, or source and date of the row.
    pub place: String,
}

/// A range of container toolkits under which one launch method differs from the newest toolkit.
#[derive(Clone, Debug, Serialize)]
pub struct OlderToolkit {
    /// Title of the launch method.
    pub title: &'static str,
    /// The launch method.
    #[serde(skip)]
    pub launch: Launch,
    /// First version of the range.
    pub from: String,
    /// First version after it.
    pub before: Option<String>,
    /// The drivers on which it starts with them.
    #[serde(flatten)]
    pub span: SupportedDrivers,
}
