//! Where a report goes: standard output, or a file that is there only when it is whole.

use std::fs;
use std::fs::File;
use std::io;
use std::io::BufWriter;
use std::io::IsTerminal as _;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process;

use crate::cli::Failure;
use crate::cli::streams;
use crate::cli::streams::Stream;

/// One report's place.
pub(crate) enum Target {
    /// Standard output.
    Stdout(BufWriter<Stream<io::Stdout>>),
    /// A file.
    File(Pending),
}

/// A file that is being written.
pub(crate) struct Pending {
    out: BufWriter<File>,
    /// What it will be called.
    path: PathBuf,
    /// What it is called until then; none where it is written in place, as a device or a pipe is.
    beside: Option<PathBuf>,
}

impl Target {
    /// Opens a file, or standard output.
    pub(crate) fn open(file: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(path) = file else { return Ok(Self::Stdout(BufWriter::new(streams::out()))) };
        // A link stays a link: what it points to is replaced.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let in_place = fs::metadata(&path).is_ok_and(|found| !found.is_file());
        let beside = (!in_place).then(|| unfinished(&path));
        let opened = match &beside {
            None => File::options().write(true).open(&path),
            Some(beside) => File::create(beside),
        };
        let file = opened.map_err(|error| cannot(&path, &error))?;
        Ok(Self::File(Pending { out: BufWriter::new(file), path, beside }))
    }

    /// Whether a person reads it as it is written.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Stdout(_)) && io::stdout().is_terminal()
    }

    /// Writes a part of the report; to standard output at once.
    pub(crate) fn tell(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        match self {
            Self::Stdout(out) => write(out).and_then(|()| out.flush()).map_err(Failure::from),
            Self::File(file) => write(&mut file.out).map_err(|error| cannot(&file.path, &error)),
        }
    }

    /// The report is whole.
    pub(crate) fn done(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(mut file) => {
                let renamed = |file: &mut Pending| match &file.beside {
                    Some(beside) => fs::rename(beside, &file.path),
                    None => Ok(()),
                };
                file.out.flush().and_then(|()| renamed(&mut file)).map_err(|error| cannot(&file.path, &error))?;
                file.beside = None;
                Ok(())
            }
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file) => file.out.write(bytes).map_err(|error| named(&file.path, &error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(file) => file.out.flush().map_err(|error| named(&file.path, &error)),
        }
    }
}

impl Drop for Pending {
    /// Half a report is none.
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.unfinished", process::id()))
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::Said(format!("error: {}", named(path, error)))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}
