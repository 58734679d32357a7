//! Files that commands and copies add to an image without a package, and that were not read.

use serde::{Deserialize, Serialize};

/// Files that may contain shared libraries, although they belong to no package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UnpackagedFiles {
    /// The source as written: a path, a glob or a URL.
    pub source: String,
    /// The absolute target path, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The image from which the files are copied unchanged, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
