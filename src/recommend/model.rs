//! What is told of a recommendation: schema version 1, the same in print and in JSON.

use serde::Serialize;

/// Combinations for a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// 1.
    pub schema_version: u32,
    /// The day of the tables.
    pub knowledge: String,
    /// What they are for.
    pub fleet: FleetTold,
    /// What was wished for.
    pub wishes: Wishes,
    /// How many combinations were tried.
    pub tried: usize,
    /// Those that start on every pool, the best first.
    pub combinations: Vec<Combination>,
    /// How many more start on every pool.
    pub more: usize,
    /// What would be better and does not start on every pool; where some pool has nothing that starts, what fails.
    pub rejected: Vec<Rejected>,
    /// Of what it cannot be told.
    pub undetermined: Undetermined,
    /// Where nothing starts on every pool: the smallest number of images that do together. Where the first one does only
    /// with code that is compiled at start-up, as far as it was seen: of images that need no such code.
    pub split: Vec<Part>,
    /// Where nothing starts on every pool: the pools on which nothing that was tried does.
    pub never: Vec<String>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// A fleet, in short.
#[derive(Clone, Debug, Serialize)]
pub struct FleetTold {
    /// Path, or `built-in`.
    pub source: String,
    /// Whether it is the built-in reference fleet.
    pub built_in: bool,
    /// The pools that were asked about.
    pub pools: Vec<String>,
}

/// Wishes as they were written.
#[derive(Clone, Debug, Serialize)]
pub struct Wishes {
    /// Distributions with their versions.
    pub with: Vec<String>,
    /// Base image.
    pub base: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
}

/// One combination.
#[derive(Clone, Debug, Serialize)]
pub struct Combination {
    /// From 1.
    pub rank: usize,
    /// The base image with its tag.
    pub base: String,
    /// The Python of the base, where the tables tell it.
    pub python: Option<String>,
    /// What is chosen.
    pub packages: Vec<Package>,
    /// The CUDA that it was built with, as far as it is known.
    pub cuda: Option<String>,
    /// The commands of pip; none where the base brings everything.
    pub pip: Vec<String>,
    /// The head of a Dockerfile.
    pub dockerfile: String,
    /// How it starts.
    pub pools: Vec<OnPool>,
    /// Whether it starts as far as it was seen, and its GPU code or libraries were not.
    pub unseen: bool,
    /// What is worse than at the first one.
    pub lost_because: Option<String>,
}

/// One distribution.
#[derive(Clone, Debug, Serialize)]
pub struct Package {
    /// Normalised name.
    pub name: String,
    /// Version without its build.
    pub version: String,
    /// `cu118`, where there are several.
    pub build: Option<String>,
    /// What is written behind `pip install`; none where the base brings it.
    pub spec: Option<String>,
}

/// How a combination ends on a pool.
#[derive(Clone, Debug, Serialize)]
pub struct OnPool {
    /// Its name.
    pub pool: String,
    /// `starts`, `fails`, `undetermined`, or `no-gpu-used` where it starts and uses no GPU or may use none.
    pub fate: &'static str,
    /// `native`, `minor-version`, `forward-compat`, `jit`.
    pub route: Option<&'static str>,
    /// The outcome that it fails with.
    pub outcome: Option<&'static str>,
    /// The smallest driver with which it starts there, all else as declared.
    pub smallest_driver: Option<String>,
    /// Whether its own driver is older than that and does as well, and releases in between do not.
    pub below: bool,
}

/// A combination that would be better and does not start on every pool.
#[derive(Clone, Debug, Serialize)]
pub struct Rejected {
    /// The base image with its tag.
    pub base: String,
    /// What is chosen.
    pub packages: String,
    /// The pools that it does not start on.
    pub pools: Vec<OnPool>,
}

/// What cannot be told.
#[derive(Clone, Debug, Serialize)]
pub struct Undetermined {
    /// How many combinations.
    pub combinations: usize,
    /// Why, of the first one.
    pub because: Option<String>,
}

/// One of several images that start on every pool together.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// The pools that it is for.
    pub on: Vec<String>,
    /// The image.
    pub combination: Combination,
}
