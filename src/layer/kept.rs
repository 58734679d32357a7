//! What a layer says, written down for a later run.
//!
//! JSON in a zstd frame with a checksum: both crates are there anyway, a person can read it with `zstdcat`, and fields
//! may come and go. Anything that does not come back as it went is not there.

use std::io;
use std::io::BufReader;
use std::io::BufWriter;
use std::io::Read;
use std::io::Write;

use crate::layer::EXTRACTOR;
use crate::layer::seen::LayerSeen;

/// Unpacked bytes of one layer's record: twice what [`crate::layer::Limits`] lets be kept, and all names as digits.
const LONGEST: u64 = 48 << 20;
/// Windows of what is written have at most so many bytes, as a power of two; a larger one was not written here.
const WINDOW_LOG: u32 = 23;
/// The fastest level: the lists of numbers do not compress, and the paths do so at any level.
const LEVEL: i32 = 1;

impl LayerSeen {
    /// Writes it down.
    pub fn pack(&self, out: impl Write) -> io::Result<()> {
        let mut packed = zstd::stream::write::Encoder::new(out, LEVEL)?;
        packed.include_checksum(true)?;
        let mut buffer = BufWriter::new(packed);
        serde_json::to_writer(&mut buffer, &(EXTRACTOR, self))?;
        buffer.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.flush()
    }

    /// Reads what [`LayerSeen::pack`] wrote of the layer with this digest; none where it is broken, of another layer
    /// or of another version of the program.
    pub fn unpack(input: impl Read, digest: &str) -> Option<Self> {
        let mut packed = zstd::stream::read::Decoder::new(input).ok()?.single_frame();
        packed.window_log_max(WINDOW_LOG).ok()?;
        // The checksum stands at the end: reading JSON to its end takes it along.
        let (version, seen): (u32, Self) = serde_json::from_reader(BufReader::new(packed.take(LONGEST))).ok()?;
        (version == EXTRACTOR && seen.digest == digest).then_some(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installed::Evidence;
    use crate::layer::EntryKind;
    use crate::layer::EntrySeen;
    use crate::layer::Mark;
    use crate::layer::Missed;

    fn layer() -> LayerSeen {
        let entry = |kind| EntrySeen { written: None, kind };
        let entries = [
            ("/a".to_owned(), entry(EntryKind::Present)),
            ("/b".to_owned(), entry(EntryKind::Link("../\u{1b}[31m \"x\"".to_owned()))),
            ("/c".to_owned(), entry(EntryKind::Hard("/a".to_owned()))),
            ("/d".to_owned(), entry(EntryKind::Read(vec![Evidence::Text("x\n\0".to_owned())]))),
            ("/e".to_owned(), entry(EntryKind::Elf(Box::default()))),
        ];
        LayerSeen {
            digest: "sha256:00".to_owned(),
            size: 7,
            unpacked: u64::MAX,
            entries: entries.into(),
            whiteouts: vec!["/gone".to_owned()],
            opaque: vec![String::new()],
            names: (0..5_000).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).chain([u64::MAX]).collect(),
            missed: vec![Missed { mark: Mark::Sparse, times: 3, paths: vec!["/s".to_owned()] }],
        }
    }

    fn packed(layer: &LayerSeen) -> Vec<u8> {
        let mut bytes = Vec::new();
        layer.pack(&mut bytes).expect("memory");
        bytes
    }

    #[test]
    fn a_layer_comes_back_as_it_was_and_under_its_own_digest_alone() {
        let bytes = packed(&layer());
        assert_eq!(LayerSeen::unpack(&bytes[..], "sha256:00"), Some(layer()));
        assert_eq!(LayerSeen::unpack(&bytes[..], "sha256:01"), None);
        let empty = LayerSeen::default();
        assert_eq!(LayerSeen::unpack(&packed(&empty)[..], ""), Some(empty));
    }

    #[test]
    fn what_is_broken_is_not_there() {
        let bytes = packed(&layer());
        for end in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
            assert_eq!(LayerSeen::unpack(&bytes[..end], "sha256:00"), None, "cut at {end}");
        }
        for at in (0..bytes.len()).step_by(101) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            let read = LayerSeen::unpack(&broken[..], "sha256:00");
            assert!(read.is_none_or(|read| read == layer()), "byte {at}");
        }
        for text in ["", "{}", "[1,{}]", "[0,null]"] {
            let plain = zstd::encode_all(text.as_bytes(), 1).expect("memory");
            assert_eq!(LayerSeen::unpack(&plain[..], ""), None, "{text}");
        }
        let older = serde_json::to_vec(&(EXTRACTOR + 1, layer())).expect("json");
        assert_eq!(LayerSeen::unpack(&zstd::encode_all(&older[..], 1).expect("memory")[..], "sha256:00"), None);
    }

    #[test]
    fn a_bomb_ends_at_the_bound() {
        let text = format!("[{EXTRACTOR},{}", " ".repeat(200 << 20));
        let bomb = zstd::encode_all(text.as_bytes(), 1).expect("memory");
        assert!(bomb.len() < 100_000);
        assert_eq!(LayerSeen::unpack(&bomb[..], ""), None);
    }
}
