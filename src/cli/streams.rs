//! Standard output and standard error that ignore a closed pipe.
//!
//! `imagelint check . | head -1` judges everything and ends with the exit code of the whole report, however soon the
//! reader goes away: the code reports what was found, never how quick a pipe was.

use std::io;
use std::io::Write;

/// Returns standard output that ignores a closed pipe.
pub(crate) fn stdout() -> PipeTolerantStream<io::Stdout> {
    PipeTolerantStream(io::stdout())
}

/// Returns standard error that ignores a closed pipe.
pub(crate) fn stderr() -> PipeTolerantStream<io::Stderr> {
    PipeTolerantStream(io::stderr())
}

/// An output stream that drops all further output once the reader has closed its pipe.
#[derive(Debug)]
pub(crate) struct PipeTolerantStream<W>(W);

impl<W: Write> Write for PipeTolerantStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ignore_closed_pipe(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        ignore_closed_pipe(self.0.flush(), ())
    }
}

/// Turns the error of a closed pipe into success.
fn ignore_closed_pipe<T>(done: io::Result<T>, dropped: T) -> io::Result<T> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(dropped),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that fails with one kind of error.
    struct FailingWriter(io::ErrorKind);

    impl Write for FailingWriter {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn only_a_closed_pipe_is_no_write_error() {
        let mut closed = PipeTolerantStream(FailingWriter(io::ErrorKind::BrokenPipe));
        assert!(closed.write_all(b"told").is_ok() && closed.flush().is_ok());
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
            let mut stream = PipeTolerantStream(FailingWriter(kind));
            assert!(stream.write_all(b"told").is_err() && stream.flush().is_err(), "{kind}");
        }
    }
}
