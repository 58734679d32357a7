//! Patterns of files and of pools.

use std::path::Path;
use std::path::PathBuf;

use globset::GlobBuilder;
use globset::GlobMatcher;

use crate::settings::Place;

/// A pattern of files, in which `*` stops at a slash; a folder stands for all below it.
#[derive(Clone, Debug)]
pub struct PathPattern {
    /// As written.
    pub text: String,
    /// Where.
    pub place: Place,
    folder: PathBuf,
    matcher: GlobMatcher,
}

impl PathPattern {
    /// The pattern as seen from a folder, or why it is none.
    pub(super) fn new(text: &str, place: Place, folder: &Path) -> Result<Self, String> {
        let written = text.strip_prefix("./").unwrap_or(text);
        let written = written.strip_suffix('/').unwrap_or(written);
        if written.is_empty() || written.starts_with('/') || written.split('/').any(|part| part == "..") {
            return Err(format!("`{text}` is not a path below the directory of this file"));
        }
        let glob = GlobBuilder::new(written).literal_separator(true).build();
        let matcher = glob.map_err(|error| error.kind().to_string())?.compile_matcher();
        Ok(Self { text: text.to_owned(), place, folder: folder.to_path_buf(), matcher })
    }

    /// Whether it is for a file, given by its full path.
    pub fn fits(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.folder) else { return false };
        let mut above = inside.ancestors().filter(|above| !above.as_os_str().is_empty());
        above.any(|above| self.matcher.is_match(above))
    }
}

/// A pattern of pool names.
#[derive(Clone, Debug)]
pub struct PoolPattern {
    /// As written.
    pub text: String,
    /// Where.
    pub place: Place,
    matcher: GlobMatcher,
}

impl PoolPattern {
    /// The pattern, or why it is none.
    pub(super) fn new(text: &str, place: Place) -> Result<Self, String> {
        let glob = GlobBuilder::new(text).build().map_err(|error| error.kind().to_string())?;
        Ok(Self { text: text.to_owned(), place, matcher: glob.compile_matcher() })
    }

    /// Whether it is for a pool.
    pub fn fits(&self, pool: &str) -> bool {
        self.matcher.is_match(pool)
    }
}
