//! Named files, in a folder or in an archive.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::nearest::unread;
use crate::oci::archive::Archive;
use crate::oci::error::Problem;

/// Where files are.
pub(crate) enum Files {
    Folder(PathBuf),
    Archive(Arc<Archive>),
}

impl Files {
    /// The place as a person would name it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Archive(archive) => archive.shown(),
        }
    }

    /// A whole file within its cap.
    pub(crate) fn read(&self, name: &str, cap: u64) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Folder(folder) => whole(open(&folder.join(name))?, cap, name),
            Self::Archive(archive) => archive.read(name, cap),
        }
    }

    /// A file's size and its bytes.
    pub(crate) fn open(&self, name: &str) -> Result<(u64, Box<dyn Read + Send>), Problem> {
        match self {
            Self::Folder(folder) => {
                let (size, file) = open(&folder.join(name))?;
                Ok((size, Box::new(file.take(size))))
            }
            Self::Archive(archive) => archive.member(name),
        }
    }
}

/// A plain file and its size.
pub(crate) fn open(path: &Path) -> Result<(u64, fs::File), Problem> {
    let fail = |cause: String| Problem::File { path: path.display().to_string(), cause };
    // Opening a pipe would wait for its other end.
    let about = fs::metadata(path).map_err(|error| fail(unread(path, &error, "an archive or a layout directory")))?;
    if !about.is_file() {
        return Err(fail("not a regular file".into()));
    }
    let file = fs::File::open(path).map_err(|error| fail(error.to_string()))?;
    Ok((about.len(), file))
}

/// All bytes of a reader within a cap.
pub(crate) fn whole((size, from): (u64, impl Read), cap: u64, name: &str) -> Result<Vec<u8>, Problem> {
    if size > cap {
        return Err(Problem::TooLarge { limit: cap });
    }
    let mut bytes = Vec::new();
    let fail = |cause: String| Problem::File { path: name.into(), cause };
    from.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > cap { Err(Problem::TooLarge { limit: cap }) } else { Ok(bytes) }
}
