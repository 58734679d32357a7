//! The program's own output: that nobody reads on ends the telling and nothing else.
//!
//! `imagelint check . | head -1` judges everything and ends with the exit code of the whole report, however soon the
//! reader goes away: the code says what was found, never how quick a pipe was.

use std::io;
use std::io::Write;

/// Standard output.
pub(crate) fn out() -> Stream<io::Stdout> {
    Stream(io::stdout())
}

/// Standard error.
pub(crate) fn err() -> Stream<io::Stderr> {
    Stream(io::stderr())
}

/// A stream of the process that a reader may close; what comes after is dropped.
#[derive(Debug)]
pub(crate) struct Stream<W>(W);

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

fn unless_closed<T>(done: io::Result<T>, dropped: T) -> io::Result<T> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(dropped),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that answers everything with one kind of error.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_all_others_are() {
        let mut closed = Stream(Failing(io::ErrorKind::BrokenPipe));
        assert!(closed.write_all(b"told").is_ok() && closed.flush().is_ok());
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
            let mut stream = Stream(Failing(kind));
            assert!(stream.write_all(b"told").is_err() && stream.flush().is_err(), "{kind}");
        }
    }
}
