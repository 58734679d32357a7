//! Content digests: reading, computing and comparing them.

use std::io;
use std::io::Read;

use sha2::Digest as _;
use sha2::Sha256;
use sha2::Sha512;

use crate::oci::error::Problem;

/// A digest that can be checked, as algorithm and lower-case hexadecimal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest<'a> {
    pub(crate) algorithm: &'a str,
    pub(crate) hex: &'a str,
}

impl<'a> Digest<'a> {
    /// Reads `sha256:…` or `sha512:…`.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Problem> {
        let bad = |reason| Problem::UnsupportedDigest { digest: crate::oci::error::one_line(text, 200), reason };
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

/// The sha256 digest of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The sha256 digest of everything that a reader has.
pub(crate) fn sha256_of(from: impl Read) -> io::Result<String> {
    let mut from = Summing::new(from);
    io::copy(&mut from, &mut io::sink())?;
    Ok(from.sum())
}

/// A reader that sums up what passes.
pub(crate) struct Summing<R> {
    from: R,
    sum: Sha256,
}

impl<R: Read> Summing<R> {
    /// Nothing has passed yet.
    pub(crate) fn new(from: R) -> Self {
        Self { from, sum: Sha256::new() }
    }

    /// The sha256 digest of what passed.
    pub(crate) fn sum(self) -> String {
        format!("sha256:{}", hex(&self.sum.finalize()))
    }
}

impl<R: Read> Read for Summing<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(out)?;
        self.sum.update(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// Checks bytes against a digest, and against a size where one is known.
pub(crate) fn verify(bytes: &[u8], expected: &str, size: Option<u64>) -> Result<(), Problem> {
    let digest = Digest::parse(expected)?;
    let actual = bytes.len() as u64;
    if let Some(expected) = size.filter(|size| *size != actual) {
        return Err(Problem::WrongSize { expected, actual });
    }
    let actual = match digest.algorithm {
        "sha512" => format!("sha512:{}", hex(&Sha512::digest(bytes))),
        _ => sha256(bytes),
    };
    if actual == expected { Ok(()) } else { Err(Problem::WrongDigest { expected: expected.into(), actual }) }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|n| char::from(DIGITS[usize::from(n)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_algorithms_are_checked_and_others_refused() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert!(verify(b"", empty, Some(0)).is_ok());
        assert!(matches!(verify(b"", empty, Some(1)), Err(Problem::WrongSize { .. })));
        assert!(matches!(verify(b"x", empty, None), Err(Problem::WrongDigest { .. })));
        let long = format!("sha512:{}", hex(&Sha512::digest(b"x")));
        assert!(verify(b"x", &long, None).is_ok());
        for bad in ["sha256", "sha256:12", "md5:00", "sha256:../../etc/passwd"] {
            assert!(matches!(verify(b"", bad, None), Err(Problem::UnsupportedDigest { .. })), "{bad}");
        }
    }
}
