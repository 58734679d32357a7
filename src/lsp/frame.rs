//! Messages on a pipe: a header with the length, then the body.

use std::io;
use std::io::BufRead;
use std::io::Read as _;
use std::io::Write;

/// No header line is longer.
const LONGEST_LINE: u64 = 8 << 10;
/// No message has more header lines.
const MOST_LINES: usize = 64;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The body of a message.
    Body(Vec<u8>),
    /// A message of so many bytes was passed over: it is too long.
    Long(u64),
    /// The other side speaks no headers, so that it is not known where the next message begins.
    Broken(String),
    /// Nothing comes any more.
    End,
}

/// The next message; one longer than `longest` is passed over.
///
/// # Errors
/// Where the pipe cannot be read.
pub fn read(from: &mut impl BufRead, longest: u64) -> io::Result<Frame> {
    let mut length: Option<u64> = None;
    for at in 0..MOST_LINES {
        let mut line = Vec::new();
        from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() && at == 0 {
            return Ok(Frame::End);
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            return Ok(Frame::Broken("a header is not terminated".to_owned()));
        };
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        if line.is_empty() {
            return match length {
                Some(length) => body(from, length, longest),
                None => Ok(Frame::Broken("a message without Content-Length".to_owned())),
            };
        }
        let Some((name, value)) = line.split_once(':') else {
            return Ok(Frame::Broken("a header without a colon".to_owned()));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            match value.trim().parse() {
                Ok(said) => length = Some(said),
                Err(_) => return Ok(Frame::Broken("a Content-Length that is not a number".to_owned())),
            }
        }
    }
    Ok(Frame::Broken("too many headers".to_owned()))
}

fn body(from: &mut impl BufRead, length: u64, longest: u64) -> io::Result<Frame> {
    let mut part = from.by_ref().take(length);
    if length > longest {
        let passed = io::copy(&mut part, &mut io::sink())?;
        return Ok(if passed == length { Frame::Long(length) } else { Frame::End });
    }
    // Room is made for what comes, not for what is said to come.
    let mut body = Vec::new();
    part.read_to_end(&mut body)?;
    let whole = u64::try_from(body.len()).is_ok_and(|read| read == length);
    Ok(if whole { Frame::Body(body) } else { Frame::End })
}

/// Writes a message.
///
/// # Errors
/// Where the pipe cannot be written.
pub fn write(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n", body.len())?;
    to.write_all(body)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Frame> {
        let mut from = text.as_bytes();
        let mut found = Vec::new();
        loop {
            found.push(read(&mut from, 10).expect("a slice is read"));
            if matches!(found.last(), Some(Frame::End | Frame::Broken(_))) {
                return found;
            }
        }
    }

    #[test]
    fn bodies_are_found_one_after_the_other() {
        let text = "Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:3\r\n\r\n[1]";
        let body = |text: &str| Frame::Body(text.as_bytes().to_vec());
        assert_eq!(all(text), [body("{}"), body("[1]"), Frame::End]);
    }

    #[test]
    fn a_long_message_is_passed_over_and_the_next_one_read() {
        let text = format!("Content-Length: 11\r\n\r\n{}Content-Length: 2\r\n\r\n{{}}", "x".repeat(11));
        assert_eq!(all(&text), [Frame::Long(11), Frame::Body(b"{}".to_vec()), Frame::End]);
    }

    #[test]
    fn what_is_no_message_is_told() {
        for text in [
            "hello\r\n\r\n",
            "\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            "Content-Length: 2",
            "X: y\r\n\r\n{}",
        ] {
            assert!(matches!(all(text).as_slice(), [Frame::Broken(_)]), "{text:?}");
        }
        assert!(matches!(all(&"a: b\r\n".repeat(100)).as_slice(), [Frame::Broken(_)]));
        assert!(matches!(all(&"a".repeat(10_000)).as_slice(), [Frame::Broken(_)]));
    }

    #[test]
    fn a_message_that_is_cut_off_is_the_end() {
        for text in ["", "Content-Length: 5\r\n\r\n{}", "Content-Length: 18446744073709551615\r\n\r\nx"] {
            assert_eq!(all(text), [Frame::End], "{text:?}");
        }
    }
}
