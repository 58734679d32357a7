//! A recommendation in schema version 1, for text and JSON output.

use serde::Serialize;

use crate::model::named_values::named_values;
use crate::model::outcome::Outcome;
use crate::replay::StartRoute;

/// The recommended combinations for a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// 1.
    pub schema_version: u32,
    /// The date of the knowledge tables.
    pub knowledge: String,
    /// The fleet.
    pub fleet: RecommendedFleet,
    /// The requirements.
    #[serde(rename = "wishes")]
    pub requests: RecommendedRequest,
    /// How many combinations were tested.
    pub tried: usize,
    /// Combinations that start on every pool, the best first.
    pub combinations: Vec<Combination>,
    /// How many more start on every pool.
    pub more: usize,
    /// Better combinations that do not start on every pool; failing ones if nothing starts on some pool.
    pub rejected: Vec<RejectedCombination>,
    /// Combinations with an unknown result.
    pub undetermined: UndeterminedCombinations,
    /// The fewest images that start on every pool together, if no single one does, or only with uninspected PTX JIT.
    pub split: Vec<SplitImage>,
    /// If nothing starts on every pool: the pools on which no tested combination starts.
    pub never: Vec<String>,
    /// Notes on the recommendation.
    pub notes: Vec<String>,
}

/// The fleet of a recommendation.
#[derive(Clone, Debug, Serialize)]
pub struct RecommendedFleet {
    /// Path, or `built-in`.
    pub source: String,
    /// Whether it is the built-in reference fleet.
    pub built_in: bool,
    /// The selected pools.
    pub pools: Vec<String>,
}

/// The requirements as written.
#[derive(Clone, Debug, Serialize)]
pub struct RecommendedRequest {
    /// Distributions with their versions.
    pub with: Vec<String>,
    /// Base image.
    pub base: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
}

/// A combination of base image and packages.
#[derive(Clone, Debug, Serialize)]
pub struct Combination {
    /// Rank, from 1.
    pub rank: usize,
    /// The base image with its tag.
    pub base: String,
    /// The Python version of the base image, if the tables list it.
    pub python: Option<String>,
    /// The chosen packages.
    pub packages: Vec<RecommendedPackage>,
    /// The CUDA release that it was built with, if it is known.
    pub cuda: Option<String>,
    /// The pip commands; empty if the base image includes everything.
    pub pip: Vec<String>,
    /// The head of a Dockerfile.
    pub dockerfile: String,
    /// The result on each pool.
    pub pools: Vec<CombinationOnPool>,
    /// Whether no failure was found but its GPU code or libraries were not inspected.
    pub unseen: bool,
    /// Why it ranks below the first one.
    pub lost_because: Option<String>,
}

/// A chosen release of a distribution.
#[derive(Clone, Debug, Serialize)]
pub struct RecommendedPackage {
    /// Normalised name.
    pub name: String,
    /// Version without its build.
    pub version: String,
    /// The build, such as `cu118`, if there are several.
    pub build: Option<String>,
    /// Requirement specifier for `pip install`; `None` if the base image includes it.
    pub spec: Option<String>,
}

named_values! {
    /// How the start of a combination ends on a pool.
    CombinationResult {
        /// It starts and uses a GPU.
        Starts = "starts",
        /// It starts and uses no GPU, or may use none.
        NoGpuUsed = "no-gpu-used",
        /// It fails.
        Fails = "fails",
        /// A deciding value is unknown.
        Undetermined = "undetermined",
    }
}

/// The result of a combination on a pool.
#[derive(Clone, Debug, Serialize)]
pub struct CombinationOnPool {
    /// Its name.
    pub pool: String,
    /// How the start ends.
    pub fate: CombinationResult,
    /// The route by which it starts.
    pub route: Option<StartRoute>,
    /// The outcome of a failure.
    pub outcome: Option<Outcome>,
    /// The oldest driver with which it starts there, with all other fields as declared.
    pub smallest_driver: Option<String>,
    /// Whether the driver of the pool is older than that and works as well, but releases in between do not.
    pub below: bool,
}

/// A combination that would be better but does not start on every pool.
#[derive(Clone, Debug, Serialize)]
pub struct RejectedCombination {
    /// The base image with its tag.
    pub base: String,
    /// The chosen packages.
    pub packages: String,
    /// The pools on which it does not start.
    pub pools: Vec<CombinationOnPool>,
}

/// Combinations with an unknown result.
#[derive(Clone, Debug, Serialize)]
pub struct UndeterminedCombinations {
    /// How many combinations.
    pub combinations: usize,
    /// Cause for the first one.
    pub because: Option<String>,
}

/// One of several images that start on every pool together.
#[derive(Clone, Debug, Serialize)]
pub struct SplitImage {
    /// The pools that it is for.
    pub on: Vec<String>,
    /// The image.
    pub combination: Combination,
}
