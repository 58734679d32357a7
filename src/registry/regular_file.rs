//! Regular files: opened without waiting for pipes, and read within a size limit.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::registry::pull_error::PullProblem;
use crate::text::nearest::unreadable_path_message;

/// Opens a regular file; returns its size and the file.
pub(crate) fn open_regular_file(path: &Path) -> Result<(u64, fs::File), PullProblem> {
    let fail = |error: String| PullProblem::File { path: path.display().to_string(), error };
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
    let fail = |error: String| PullProblem::File { path: name.into(), error };
    from.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| fail(error.to_string()))?;
    if bytes.len() as u64 > cap { Err(PullProblem::TooLarge { limit: cap }) } else { Ok(bytes) }
}
