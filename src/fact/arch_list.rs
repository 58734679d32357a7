//! Lists of GPUs that the commands of a build compile for.

use serde::Deserialize;
use serde::Serialize;

use crate::cuda::CodeTarget;
use crate::fact::FactId;
use crate::reference::ImageReference;

/// A list of GPUs that a command of the build compiles for, in a stage that the image is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ArchListSeen {
    /// The variable or the option that it stands in.
    pub name: String,
    /// Its entries as written, with what they stand for.
    pub entries: Vec<(String, CodeTarget)>,
    /// Whether PTX is asked for; none where the list cannot say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<bool>,
    /// The base image whose compiler reads it; none where another may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<ImageReference>,
    /// Evidence.
    pub fact: FactId,
}
