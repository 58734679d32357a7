//! Stores the summary of a layer for a later run.
//!
//! JSON in a zstd frame with a checksum: both crates are there anyway, a person can read it with `zstdcat`, and fields
//! may come and go. Anything that does not come back as it went is not there.

use std::io;
use std::io::{BufReader, BufWriter, Read, Write};

use crate::layer::EXTRACTOR_VERSION;
use crate::layer::layer_summary::LayerSummary;

/// The largest decompressed size of a stored summary: twice the memory limit of a layer, plus all path hashes as
/// digits.
const MAX_DECOMPRESSED_SIZE: u64 = 48 << 20;
/// The largest zstd window of a stored summary, as a power of two.
const MAX_WINDOW_LOG: u32 = 23;
/// The zstd compression level: the fastest, because hashes do not compress and paths compress at any level.
const COMPRESSION_LEVEL: i32 = 1;

impl LayerSummary {
    /// Writes the summary as zstd-compressed JSON with the extractor version.
    pub fn write_compressed(&self, out: impl Write) -> io::Result<()> {
        let mut packed = zstd::stream::write::Encoder::new(out, COMPRESSION_LEVEL)?;
        packed.include_checksum(true)?;
        let mut buffer = BufWriter::new(packed);
        serde_json::to_writer(&mut buffer, &(EXTRACTOR_VERSION, self))?;
        buffer.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.flush()
    }

    /// Reads a stored summary of the layer with this digest; `None` if it is damaged, of another layer, or of another
    /// extractor version.
    pub fn read_compressed(input: impl Read, digest: &str) -> Option<Self> {
        let mut packed = zstd::stream::read::Decoder::new(input).ok()?.single_frame();
        packed.window_log_max(MAX_WINDOW_LOG).ok()?;
        // The checksum stands at the end: reading JSON to its end takes it along.
        let (version, seen): (u32, Self) =
            serde_json::from_reader(BufReader::new(packed.take(MAX_DECOMPRESSED_SIZE))).ok()?;
        (version == EXTRACTOR_VERSION && seen.digest == digest).then_some(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::installed::FileEvidence;
    use crate::layer::{EntryKind, EntrySummary, SkipReason, SkippedEntries};

    fn layer() -> LayerSummary {
        let entry = |kind| EntrySummary { written: None, kind };
        let entries = [
            ("/a".to_owned(), entry(EntryKind::Present)),
            ("/b".to_owned(), entry(EntryKind::Link("../\u{1b}[31m \"x\"".to_owned()))),
            ("/c".to_owned(), entry(EntryKind::Hard("/a".to_owned()))),
            ("/d".to_owned(), entry(EntryKind::Read(vec![FileEvidence::Text("x\n\0".to_owned())]))),
            ("/e".to_owned(), entry(EntryKind::Elf(Box::default()))),
        ];
        LayerSummary {
            digest: "sha256:00".to_owned(),
            size: 7,
            unpacked: u64::MAX,
            entries: entries.into(),
            whiteouts: vec!["/gone".to_owned()],
            opaque: vec![String::new()],
            names: (0..5_000).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).chain([u64::MAX]).collect(),
            missed: vec![SkippedEntries { mark: SkipReason::Sparse, times: 3, paths: vec!["/s".to_owned()] }],
        }
    }

    fn packed(layer: &LayerSummary) -> Vec<u8> {
        let mut bytes = Vec::new();
        layer.write_compressed(&mut bytes).expect("memory");
        bytes
    }

    #[test]
    fn a_layer_is_read_back_only_under_its_own_digest() {
        let bytes = packed(&layer());
        assert_eq!(LayerSummary::read_compressed(&bytes[..], "sha256:00"), Some(layer()));
        assert_eq!(LayerSummary::read_compressed(&bytes[..], "sha256:01"), None);
        let empty = LayerSummary::default();
        assert_eq!(LayerSummary::read_compressed(&packed(&empty)[..], ""), Some(empty));
    }

    #[test]
    fn damaged_layer_summary_is_not_read() {
        let bytes = packed(&layer());
        for end in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
            assert_eq!(LayerSummary::read_compressed(&bytes[..end], "sha256:00"), None, "cut at {end}");
        }
        for at in (0..bytes.len()).step_by(101) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            let read = LayerSummary::read_compressed(&broken[..], "sha256:00");
            assert!(read.is_none_or(|read| read == layer()), "byte {at}");
        }
        for text in ["", "{}", "[1,{}]", "[0,null]"] {
            let plain = zstd::encode_all(text.as_bytes(), 1).expect("memory");
            assert_eq!(LayerSummary::read_compressed(&plain[..], ""), None, "{text}");
        }
        let older = serde_json::to_vec(&(EXTRACTOR_VERSION + 1, layer())).expect("json");
        assert_eq!(
            LayerSummary::read_compressed(&zstd::encode_all(&older[..], 1).expect("memory")[..], "sha256:00"),
            None
        );
    }

    #[test]
    fn a_bomb_ends_at_the_bound() {
        let text = format!("[{EXTRACTOR_VERSION},{}", " ".repeat(200 << 20));
        let bomb = zstd::encode_all(text.as_bytes(), 1).expect("memory");
        assert!(bomb.len() < 100_000);
        assert_eq!(LayerSummary::read_compressed(&bomb[..], ""), None);
    }
}
