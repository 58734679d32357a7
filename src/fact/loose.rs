//! Files and folders that commands and copies put into an image without a package, and that nobody read.

use serde::Deserialize;
use serde::Serialize;

/// What may bring shared libraries without being a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LooseSeen {
    /// What is put there, as it is written: a path, a pattern of paths or an address.
    pub source: String,
    /// The absolute path that it is put at, where that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The image that it comes from as it is there, where it comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
