//! Files of an image by name, in a directory or in an archive.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::nearest::unreadable_path_message;
use crate::oci::image_archive::ImageArchive;
use crate::oci::pull_error::PullProblem;

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

/// Opens a regular file; returns its size and the file.
pub(crate) fn open_regular_file(path: &Path) -> Result<(u64, fs::File), PullProblem> {
    let fail = |cause: String| PullProblem::File { path: path.display().to_string(), cause };
    // Opening a pipe would wait for its other end.
    let about = fs::metadata(path)
        .map_err(|error| fail(unreadable_path_message(path, &error, "an archive or a layout directory")))?;
    if !about.is_file() {
        return Err(fail("not a regular file".into()));
    }
    let file = fs::File::open(path).map_err(|error| fail(error.to_string()))?;
    Ok((about.len(), file))
}

/// Reads a reader to its end; more than `cap` bytes are an error.
pub(crate) fn read_within_limit((size, from): (u64, impl Read), cap: u64, name: &str) -> Result<Vec<u8>, PullProblem> {
    if size > cap {
        return Err(PullProblem::TooLarge { limit: cap });
    }
    let mut bytes = Vec::new();
    let fail = |cause: String| PullProblem::File { path: name.into(), cause };
    from.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > cap { Err(PullProblem::TooLarge { limit: cap }) } else { Ok(bytes) }
}
