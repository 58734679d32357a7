//! The message framing of LSP: a header with `Content-Length`, then the body.

use std::io;
use std::io::{BufRead, Read as _, Write};

/// Maximum size in bytes of a header line.
const MAX_HEADER_LINE_BYTES: u64 = 8 << 10;
/// Maximum number of header lines of a message.
const MAX_HEADER_LINES: usize = 64;

/// What was read from the input: a message, an error, or the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncomingFrame {
    /// The body of a message.
    Body(Vec<u8>),
    /// A message of this many bytes was skipped because it is too long.
    Long(u64),
    /// The header is invalid, so that the start of the next message is unknown.
    Broken(String),
    /// The end of the input.
    End,
}

/// Reads the next message; one longer than `longest` bytes is skipped.
///
/// # Errors
/// Where the pipe cannot be read.
pub fn read_frame(from: &mut impl BufRead, longest: u64) -> io::Result<IncomingFrame> {
    let mut length: Option<u64> = None;
    for at in 0..MAX_HEADER_LINES {
        let mut line = Vec::new();
        from.by_ref().take(MAX_HEADER_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() && at == 0 {
            return Ok(IncomingFrame::End);
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            return Ok(IncomingFrame::Broken("a header is not terminated".to_owned()));
        };
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        if line.is_empty() {
            return match length {
                Some(length) => read_body(from, length, longest),
                None => Ok(IncomingFrame::Broken("a message without Content-Length".to_owned())),
            };
        }
        let Some((name, value)) = line.split_once(':') else {
            return Ok(IncomingFrame::Broken("a header without a colon".to_owned()));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            match value.trim().parse() {
                Ok(parsed) => length = Some(parsed),
                Err(_) => return Ok(IncomingFrame::Broken("a Content-Length that is not a number".to_owned())),
            }
        }
    }
    Ok(IncomingFrame::Broken("too many headers".to_owned()))
}

/// Reads a body of `length` bytes, or skips it if it is longer than `longest`.
fn read_body(from: &mut impl BufRead, length: u64, longest: u64) -> io::Result<IncomingFrame> {
    let mut part = from.by_ref().take(length);
    if length > longest {
        let passed = io::copy(&mut part, &mut io::sink())?;
        return Ok(if passed == length { IncomingFrame::Long(length) } else { IncomingFrame::End });
    }
    // Room is made for what comes, not for what is said to come.
    let mut body = Vec::new();
    part.read_to_end(&mut body)?;
    let whole = u64::try_from(body.len()).is_ok_and(|read| read == length);
    Ok(if whole { IncomingFrame::Body(body) } else { IncomingFrame::End })
}

/// Writes a message with its header.
///
/// # Errors
/// Where the pipe cannot be written.
pub fn write_frame(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n", body.len())?;
    to.write_all(body)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all messages of a text.
    fn read_all_frames(text: &str) -> Vec<IncomingFrame> {
        let mut from = text.as_bytes();
        let mut found = Vec::new();
        loop {
            found.push(read_frame(&mut from, 10).expect("a slice is read"));
            if matches!(found.last(), Some(IncomingFrame::End | IncomingFrame::Broken(_))) {
                return found;
            }
        }
    }

    #[test]
    fn bodies_are_found_one_after_the_other() {
        let text = "Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:3\r\n\r\n[1]";
        let body = |text: &str| IncomingFrame::Body(text.as_bytes().to_vec());
        assert_eq!(read_all_frames(text), [body("{}"), body("[1]"), IncomingFrame::End]);
    }

    #[test]
    fn reader_skips_a_message_above_the_limit() {
        let text = format!("Content-Length: 11\r\n\r\n{}Content-Length: 2\r\n\r\n{{}}", "x".repeat(11));
        assert_eq!(
            read_all_frames(&text),
            [IncomingFrame::Long(11), IncomingFrame::Body(b"{}".to_vec()), IncomingFrame::End]
        );
    }

    #[test]
    fn malformed_frames_are_reported() {
        for text in [
            "hello\r\n\r\n",
            "\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            "Content-Length: 2",
            "X: y\r\n\r\n{}",
        ] {
            assert!(matches!(read_all_frames(text).as_slice(), [IncomingFrame::Broken(_)]), "{text:?}");
        }
        assert!(matches!(read_all_frames(&"a: b\r\n".repeat(100)).as_slice(), [IncomingFrame::Broken(_)]));
        assert!(matches!(read_all_frames(&"a".repeat(10_000)).as_slice(), [IncomingFrame::Broken(_)]));
    }

    #[test]
    fn a_message_that_is_cut_off_is_the_end() {
        for text in ["", "Content-Length: 5\r\n\r\n{}", "Content-Length: 18446744073709551615\r\n\r\nx"] {
            assert_eq!(read_all_frames(text), [IncomingFrame::End], "{text:?}");
        }
    }
}
