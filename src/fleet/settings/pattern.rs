//! Patterns of file paths and of pool names.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::fleet::settings::SettingLocation;

/// A glob of paths in which `*` does not match a slash; a folder matches everything below it.
#[derive(Clone, Debug)]
pub struct PathPattern {
    /// The pattern as written.
    pub text: String,
    /// The location of the pattern.
    pub location: SettingLocation,
    folder: PathBuf,
    matcher: GlobMatcher,
}

impl PathPattern {
    /// Parses a pattern that is relative to a folder; an error message if it is invalid.
    pub(super) fn new(text: &str, place: SettingLocation, folder: &Path) -> Result<Self, String> {
        let written = text.strip_prefix("./").unwrap_or(text);
        let written = written.strip_suffix('/').unwrap_or(written);
        if written.is_empty() || written.starts_with('/') || written.split('/').any(|part| part == "..") {
            return Err(format!("`{text}` is not a path below the directory of this file"));
        }
        let glob = GlobBuilder::new(written).literal_separator(true).build();
        let matcher = glob.map_err(|error| error.kind().to_string())?.compile_matcher();
        Ok(Self { text: text.to_owned(), location: place, folder: folder.to_path_buf(), matcher })
    }

    /// Whether it matches an absolute path.
    pub fn matches(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.folder) else { return false };
        let mut above = inside.ancestors().filter(|above| !above.as_os_str().is_empty());
        above.any(|above| self.matcher.is_match(above))
    }
}

/// A glob of pool names.
#[derive(Clone, Debug)]
pub struct PoolPattern {
    /// The pattern as written.
    pub text: String,
    /// The location of the pattern.
    pub location: SettingLocation,
    matcher: GlobMatcher,
}

impl PoolPattern {
    /// Parses a pattern; an error message if it is invalid.
    pub(super) fn new(text: &str, place: SettingLocation) -> Result<Self, String> {
        let glob = GlobBuilder::new(text).build().map_err(|error| error.kind().to_string())?;
        Ok(Self { text: text.to_owned(), location: place, matcher: glob.compile_matcher() })
    }

    /// Whether it matches the name of a pool.
    pub fn matches(&self, pool: &str) -> bool {
        self.matcher.is_match(pool)
    }
}
