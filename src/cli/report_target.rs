//! Destination of a report: standard output, or a file that appears only when it is complete.

use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::{fs, io, process};

use crate::cli::error::CommandError;
use crate::cli::streams;
use crate::cli::streams::PipeTolerantStream;

/// Destination of one report.
pub(crate) enum ReportTarget {
    /// Standard output.
    Stdout(BufWriter<PipeTolerantStream<io::Stdout>>),
    /// A file that is replaced when the report is complete.
    File(PendingFile),
}

/// A file that is being written.
pub(crate) struct PendingFile {
    out: BufWriter<File>,
    /// The final path.
    path: PathBuf,
    /// The temporary path; `None` if the file is written in place, as a device or a pipe is.
    temporary: Option<PathBuf>,
}

impl ReportTarget {
    /// Opens a file, or standard output.
    pub(crate) fn open(file: Option<PathBuf>) -> Result<Self, CommandError> {
        let Some(path) = file else { return Ok(Self::Stdout(BufWriter::new(streams::stdout()))) };
        // A link stays a link: what it points to is replaced.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let in_place = fs::metadata(&path).is_ok_and(|found| !found.is_file());
        let temporary = (!in_place).then(|| temporary_path(&path));
        let opened = match &temporary {
            None => File::options().write(true).open(&path),
            Some(temporary) => File::create(temporary),
        };
        let file = opened.map_err(|error| write_failure(&path, &error))?;
        Ok(Self::File(PendingFile { out: BufWriter::new(file), path, temporary }))
    }

    /// Whether the report is written to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Stdout(_)) && io::stdout().is_terminal()
    }

    /// Writes a part of the report; standard output is flushed at once.
    pub(crate) fn write_part(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Stdout(out) => write(out).and_then(|()| out.flush()).map_err(CommandError::from),
            Self::File(file) => write(&mut file.out).map_err(|error| write_failure(&file.path, &error)),
        }
    }

    /// Completes the report: flushes the output and moves the file to its final path.
    pub(crate) fn finish(self) -> Result<(), CommandError> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(mut file) => {
                let renamed = |file: &mut PendingFile| match &file.temporary {
                    Some(temporary) => fs::rename(temporary, &file.path),
                    None => Ok(()),
                };
                file.out
                    .flush()
                    .and_then(|()| renamed(&mut file))
                    .map_err(|error| write_failure(&file.path, &error))?;
                file.temporary = None;
                Ok(())
            }
        }
    }
}

impl Write for ReportTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file) => file.out.write(bytes).map_err(|error| write_error(&file.path, &error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(file) => file.out.flush().map_err(|error| write_error(&file.path, &error)),
        }
    }
}

impl Drop for PendingFile {
    /// Half a report is none.
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Returns the temporary path of a file that is being written.
fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.unfinished", process::id()))
}

/// Returns the command error for a file that cannot be written.
fn write_failure(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Message(format!("error: {}", write_error(path, error)))
}

/// Adds the path to an error of writing a file.
fn write_error(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}
