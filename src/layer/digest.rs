//! The digest of bytes that pass by.

use sha2::Digest as _;
use sha2::Sha256;
use sha2::Sha512;

use crate::layer::error::LayerError;

/// A digest being computed, of the algorithm that the expected one names.
pub(super) enum Digest {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Digest {
    /// For an expected digest such as `sha256:…`.
    pub(super) fn of(expected: &str) -> Result<Self, LayerError> {
        let sound = |hex: &str, len| hex.len() == len && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match expected.split_once(':') {
            Some(("sha256", hex)) if sound(hex, 64) => Ok(Self::Sha256(Sha256::new())),
            Some(("sha512", hex)) if sound(hex, 128) => Ok(Self::Sha512(Sha512::new())),
            _ => Err(LayerError::UnknownDigest { digest: expected.chars().take(150).collect() }),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Sha512(state) => state.update(bytes),
        }
    }

    /// The digest as manifests write it.
    pub(super) fn finish(&self) -> String {
        match self {
            Self::Sha256(state) => format!("sha256:{}", hex(&state.clone().finalize())),
            Self::Sha512(state) => format!("sha512:{}", hex(&state.clone().finalize())),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_other_tools_and_strange_ones_are_refused() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(empty).expect("sha256").finish(), empty);
        let long = format!("sha512:{}", "0".repeat(128));
        let mut digest = Digest::of(&long).expect("sha512");
        digest.update(b"abc");
        assert!(digest.finish().starts_with("sha512:ddaf35a193617abacc417349ae204131"));
        for odd in ["", "sha256", "sha256:00", "md5:d41d8cd98f00b204e9800998ecf8427e", &empty.to_uppercase()] {
            assert!(matches!(Digest::of(odd), Err(LayerError::UnknownDigest { .. })), "{odd}");
        }
    }
}
