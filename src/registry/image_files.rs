//! Files of an image by name, in a directory or in an archive.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use crate::registry::image_archive::ImageArchive;
use crate::registry::pull_error::PullProblem;
use crate::registry::regular_file::{open_regular_file, read_within_limit};

/// The directory or archive with the files of an image.
pub(crate) enum ImageFiles {
    Folder(PathBuf),
    Archive(Arc<ImageArchive>),
}

impl ImageFiles {
    /// Returns the path of the directory or archive.
    pub(crate) fn display_location(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Archive(archive) => archive.display_location(),
        }
    }

    /// Reads a whole file of at most `cap` bytes.
    pub(crate) fn read(&self, name: &str, cap: u64) -> Result<Vec<u8>, PullProblem> {
        match self {
            Self::Folder(folder) => read_within_limit(open_regular_file(&folder.join(name))?, cap, name),
            Self::Archive(archive) => archive.read_member(name, cap),
        }
    }

    /// Opens a file; returns its size and its bytes.
    pub(crate) fn open(&self, name: &str) -> Result<(u64, Box<dyn Read + Send>), PullProblem> {
        match self {
            Self::Folder(folder) => {
                let (size, file) = open_regular_file(&folder.join(name))?;
                Ok((size, Box::new(file.take(size))))
            }
            Self::Archive(archive) => archive.open_member(name),
        }
    }
}
