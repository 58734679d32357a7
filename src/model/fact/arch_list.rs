//! Lists of GPU targets that the commands of a build compile for.

use serde::{Deserialize, Serialize};

use crate::cuda::CodeTarget;
use crate::model::fact::FactId;
use crate::model::reference::ImageReference;

/// A list of GPU targets that a build command compiles for, in a stage that is part of the image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedArchList {
    /// The variable or option that contains the list.
    pub name: String,
    /// The entries as written, each with its target.
    pub entries: Vec<(String, CodeTarget)>,
    /// Whether the list requests PTX; `None` where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<bool>,
    /// The base image whose compiler uses the list; `None` where it may be another compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<ImageReference>,
    /// Evidence.
    pub fact: FactId,
}
