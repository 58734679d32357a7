//! Content digests: parsing, computing and comparing them.

use std::io;
use std::io::Read;

use sha2::{Digest as _, Sha256, Sha512};

use crate::registry::pull_error::PullProblem;

/// A digest of a supported algorithm, as algorithm and lower-case hexadecimal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentDigest<'a> {
    pub(crate) algorithm: &'a str,
    pub(crate) hex: &'a str,
}

impl<'a> ContentDigest<'a> {
    /// Parses `sha256:…` or `sha512:…`.
    pub(crate) fn parse(text: &'a str) -> Result<Self, PullProblem> {
        let bad = |reason| PullProblem::UnsupportedDigest {
            digest: crate::registry::pull_error::one_line(text, 200),
            reason,
        };
        let (algorithm, hex) = text.split_once(':').ok_or_else(|| bad("it has no colon"))?;
        let length = match algorithm {
            "sha256" => 64,
            "sha512" => 128,
            _ => return Err(bad("only sha256 and sha512 are supported")),
        };
        if hex.len() != length || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(bad("its length or its characters are invalid"));
        }
        Ok(Self { algorithm, hex })
    }
}

/// Returns the sha256 digest of bytes, with its prefix `sha256:`.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", to_hex(&Sha256::digest(bytes)))
}

/// Returns the sha256 digest of everything that a reader returns.
pub(crate) fn sha256_of_reader(from: impl Read) -> io::Result<String> {
    let mut from = Sha256Reader::new(from);
    io::copy(&mut from, &mut io::sink())?;
    Ok(from.into_digest())
}

/// A reader that computes the sha256 digest of the bytes read through it.
pub(crate) struct Sha256Reader<R> {
    from: R,
    sum: Sha256,
}

impl<R: Read> Sha256Reader<R> {
    /// Wraps a reader from which nothing has been read yet.
    pub(crate) fn new(from: R) -> Self {
        Self { from, sum: Sha256::new() }
    }

    /// Returns the sha256 digest of the bytes read so far.
    pub(crate) fn into_digest(self) -> String {
        format!("sha256:{}", to_hex(&self.sum.finalize()))
    }
}

impl<R: Read> Read for Sha256Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(out)?;
        self.sum.update(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Verifies bytes against a digest, and against a size if one is known.
pub(crate) fn verify_digest(bytes: &[u8], expected: &str, size: Option<u64>) -> Result<(), PullProblem> {
    let digest = ContentDigest::parse(expected)?;
    let actual = bytes.len() as u64;
    if let Some(expected) = size.filter(|size| *size != actual) {
        return Err(PullProblem::WrongSize { expected, actual });
    }
    let actual = match digest.algorithm {
        "sha512" => format!("sha512:{}", to_hex(&Sha512::digest(bytes))),
        _ => sha256(bytes),
    };
    if actual == expected { Ok(()) } else { Err(PullProblem::WrongDigest { expected: expected.into(), actual }) }
}

/// Formats bytes as lower-case hexadecimal text.
fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|n| char::from(DIGITS[usize::from(n)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_algorithms_are_checked_and_others_refused() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert!(verify_digest(b"", empty, Some(0)).is_ok());
        assert!(matches!(verify_digest(b"", empty, Some(1)), Err(PullProblem::WrongSize { .. })));
        assert!(matches!(verify_digest(b"x", empty, None), Err(PullProblem::WrongDigest { .. })));
        let long = format!("sha512:{}", to_hex(&Sha512::digest(b"x")));
        assert!(verify_digest(b"x", &long, None).is_ok());
        for bad in ["sha256", "sha256:12", "md5:00", "sha256:../../etc/passwd"] {
            assert!(matches!(verify_digest(b"", bad, None), Err(PullProblem::UnsupportedDigest { .. })), "{bad}");
        }
    }
}
