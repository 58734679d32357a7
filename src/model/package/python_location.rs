//! Where a Python package is installed.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a package is installed, if not where the Python of the image searches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PythonLocation {
    /// A virtual environment, or the environment of a tool.
    Environment {
        /// Its folder.
        folder: String,
        /// Whether Python also searches the packages of the Python that created it, after its own.
        includes_system_packages: bool,
    },
    /// A folder that packages are put into as they are.
    Folder(String),
    /// A location that cannot be determined.
    Unknown,
}

impl PythonLocation {
    /// Returns the location after a copy that maps paths by `to`; `None` if it is not copied.
    pub fn after_copy(&self, to: impl Fn(&str) -> Option<String>) -> Option<Self> {
        Some(match self {
            Self::Environment { folder, includes_system_packages } => {
                Self::Environment { folder: to(folder)?, includes_system_packages: *includes_system_packages }
            }
            Self::Folder(folder) => Self::Folder(to(folder)?),
            Self::Unknown => Self::Unknown,
        })
    }

    /// Whether it is the folder of packages of the Python of the system.
    pub fn is_system_packages(&self) -> bool {
        let Self::Folder(folder) = self else { return false };
        let last = folder.trim_end_matches('/').rsplit('/').next();
        folder.starts_with("/usr/") && matches!(last, Some("site-packages" | "dist-packages"))
    }

    /// Returns the folder of an environment that does not see the packages of the base image.
    pub fn separate_environment(&self) -> Option<&str> {
        match self {
            Self::Environment { folder, includes_system_packages: false } => Some(folder),
            Self::Environment { .. } | Self::Folder(_) | Self::Unknown => None,
        }
    }

    /// Creates the location in an environment that does not see the packages of the base image.
    pub fn in_separate_environment(folder: impl Into<String>) -> Self {
        Self::Environment { folder: folder.into(), includes_system_packages: false }
    }
}

/// A separate environment as files contain it: its folder, or in older ones only that there is one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SavedEnvironment {
    Folder(String),
    Exists(bool),
}

/// Writes the folder of a separate environment; files do not contain other locations.
#[expect(clippy::ref_option, reason = "the signature of serde")]
pub(super) fn serialize<S: Serializer>(location: &Option<PythonLocation>, serializer: S) -> Result<S::Ok, S::Error> {
    location.as_ref().and_then(PythonLocation::separate_environment).serialize(serializer)
}

/// Reads the folder of a separate environment.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PythonLocation>, D::Error> {
    Ok(match Option::<SavedEnvironment>::deserialize(deserializer)? {
        None | Some(SavedEnvironment::Exists(false)) => None,
        Some(SavedEnvironment::Exists(true)) => Some(PythonLocation::in_separate_environment("")),
        Some(SavedEnvironment::Folder(folder)) => Some(PythonLocation::in_separate_environment(folder)),
    })
}

/// Whether a location is none that files contain.
#[expect(clippy::ref_option, reason = "the signature of serde")]
pub(super) fn is_not_saved(location: &Option<PythonLocation>) -> bool {
    location.as_ref().and_then(PythonLocation::separate_environment).is_none()
}
