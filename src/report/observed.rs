//! The part of a report from which it can be checked again: the observations of each subject, and the source texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeRequirements, Start};
use crate::fact::Observations;
use crate::report::model::Location;

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
    pub notes: Vec<String>,
    /// What it asks of the nodes that it runs on, where a cluster says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeRequirements>,
    /// How it comes to its GPUs, where a cluster or a compose file says it.
    #[serde(default, skip_serializing_if = "Start::is_untold")]
    pub start: Start,
    /// Where a list or a manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_at: Option<Location>,
    /// The sum of `facts` as they were written: nobody judges them, and whether they were changed can be told.
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
    pub notes: Vec<String>,
    /// The observations.
    pub seen: Observations,
}
