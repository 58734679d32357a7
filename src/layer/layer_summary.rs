//! The summary of one layer, independent of the layers above and below, and its limits.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::layer::elf::ElfSummary;
use crate::layer::installed::FileEvidence;

/// The data extracted from one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerSummary {
    /// Its digest, checked.
    pub digest: String,
    /// Packed bytes.
    pub size: u64,
    /// Unpacked bytes.
    pub unpacked: u64,
    /// Entries worth knowing, by path, with `/` before each part. Symbolic links are all here.
    pub entries: BTreeMap<String, EntrySummary>,
    /// Paths that this layer takes away from the layers below.
    pub whiteouts: Vec<String>,
    /// Directories whose contents in the layers below are hidden; empty for the root.
    pub opaque: Vec<String>,
    /// Hashes of all names in this layer, sorted; entries of lower layers with these names are replaced.
    pub(super) names: Vec<u64>,
    /// The skipped entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<SkippedEntries>,
}

impl LayerSummary {
    /// Whether every entry was read, so that a path without an entry is not in the layer.
    pub fn is_complete(&self) -> bool {
        !self.missed.iter().any(|missed| missed.mark.may_hide_entries())
    }

    /// Returns the approximate memory use in bytes.
    pub fn memory_size(&self) -> usize {
        let entries = self.entries.iter().map(|(path, entry)| path.len() + entry.memory_size()).sum::<usize>();
        let path_sizes = self.whiteouts.iter().chain(&self.opaque).map(|path| path.len() + size_of::<String>());
        size_of::<Self>() + entries + path_sizes.sum::<usize>() + self.names.len() * size_of::<u64>()
    }
}

/// The data extracted from one entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySummary {
    /// The path in the archive, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What it is.
    pub kind: EntryKind,
}

/// The type of an entry with the data extracted from its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A file of which only the name is known.
    Present,
    /// A symbolic link with its target as written.
    Link(String),
    /// Another name of the file at that path, of this layer or of one below.
    Hard(String),
    /// A file that was read.
    Read(Vec<FileEvidence>),
    /// An ELF file.
    Elf(Box<ElfSummary>),
}

/// The estimated overhead of an entry: unused space in tree nodes and in the allocation of its path.
const ENTRY_OVERHEAD: usize = 80;

impl EntrySummary {
    /// Returns the approximate memory use in bytes.
    pub(super) fn memory_size(&self) -> usize {
        let kind = match &self.kind {
            EntryKind::Present => 0,
            EntryKind::Link(target) | EntryKind::Hard(target) => target.len(),
            EntryKind::Read(evidence) => evidence.iter().map(evidence_size).sum(),
            EntryKind::Elf(elf) => elf_summary_size(elf),
        };
        size_of::<Self>() + size_of::<String>() + ENTRY_OVERHEAD + kind + self.written.as_ref().map_or(0, String::len)
    }
}

/// A writer that counts bytes. Debug output is longer than the data, so its length is an upper bound.
struct ByteCounter(usize);

impl fmt::Write for ByteCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Returns the length of the debug output of a value, as an estimate of its size.
fn debug_length(value: &impl fmt::Debug) -> usize {
    let mut count = ByteCounter(0);
    // Counting never fails.
    let _ = fmt::write(&mut count, format_args!("{value:?}"));
    count.0
}

/// Returns the approximate memory use of a piece of evidence.
fn evidence_size(evidence: &FileEvidence) -> usize {
    size_of::<FileEvidence>() + debug_length(evidence)
}

/// Returns the approximate memory use of an ELF summary.
fn elf_summary_size(elf: &ElfSummary) -> usize {
    size_of::<ElfSummary>() + debug_length(elf)
}

/// What was skipped in a layer for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedEntries {
    /// What it was.
    pub mark: SkipReason,
    /// How often.
    pub times: u64,
    /// Some of the paths, shortened.
    pub paths: Vec<String>,
}

/// The reason why something in a layer was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The walk ended at a limit on headers or unpacked bytes.
    Beyond,
    /// Observations or names that are too many to keep.
    Full,
    /// A name longer than any path may be.
    LongName,
    /// A name that leads out of the image, or of a form that no runtime takes.
    OddName,
    /// A sparse file, whose content was not read.
    Sparse,
    /// A text longer than is kept.
    LongText,
    /// A hard link to a file whose content was not read.
    HardLink,
    /// Data behind the end of the archive, which runtimes ignore as well.
    Behind,
}

impl SkipReason {
    /// Whether entries may be missing from the summary for this reason.
    pub fn may_hide_entries(self) -> bool {
        matches!(self, Self::Beyond | Self::Full | Self::LongName)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beyond => "the layer exceeds the size limit",
            Self::Full => "the layer has too many files",
            Self::LongName => "a path is longer than the limit",
            Self::OddName => "a path does not point into the image",
            Self::Sparse => "a sparse file was not read",
            Self::LongText => "a file exceeds the size limit",
            Self::HardLink => "a hard link points to a file that was not read",
            Self::Behind => "there is data after the end of the archive",
        })
    }
}

/// Collects what is skipped, by reason.
#[derive(Debug, Default)]
pub(super) struct SkipLog(BTreeMap<SkipReason, SkippedEntries>);

impl SkipLog {
    /// Counts one skip, with its path while few are recorded.
    pub(super) fn record(&mut self, mark: SkipReason, path: &str) {
        let missed = self.0.entry(mark).or_insert_with(|| SkippedEntries { mark, times: 0, paths: Vec::new() });
        missed.times += 1;
        if missed.paths.len() < MAX_REPORTED_PATHS && !path.is_empty() {
            missed.paths.push(path.chars().take(200).collect());
        }
    }

    /// Returns the skipped entries of every reason.
    pub(super) fn into_entries(self) -> Vec<SkippedEntries> {
        self.0.into_values().collect()
    }
}

/// The longest name in a tar extension header that is used; the kernel limits paths to 4 KiB.
pub(super) const MAX_EXTENSION_LENGTH: usize = 64 * 1024;
/// The longest path of an entry, as in the kernel.
pub(super) const MAX_PATH_LENGTH: usize = 4096;
/// The number of path components that are resolved through links in one layer, which bounds the time to seconds.
pub(super) const MAX_PATH_STEPS: u64 = 20_000_000;
/// The size of the buffer for decompressed bytes. It fits the second-level cache, and larger buffers were not faster.
pub(super) const DECOMPRESSED_BUFFER_SIZE: usize = 128 * 1024;
/// The size of the buffer for compressed bytes.
pub(super) const COMPRESSED_BUFFER_SIZE: usize = 64 * 1024;
/// The memory that a layer may use while others are read too. Only one layer at a time may use more.
pub(super) const SMALL_LAYER_MEMORY: usize = 2 << 20;
/// The number of zero bytes that are filled into the holes of sparse files in one layer, about half a second of work.
pub(super) const MAX_HOLE_BYTES: u64 = 1 << 30;
/// The largest number of paths that are reported for one skip reason.
const MAX_REPORTED_PATHS: usize = 5;

/// Limits on reading one layer.
///
/// Those of size end the walk and are reported as [`crate::layer::SkippedEntries`]: the compressed bytes are still
/// read to their end, so that the digest is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerLimits {
    /// Unpacked bytes that any layer may have: more than images of 20 GB unpack to.
    pub unpacked: u64,
    /// Unpacked bytes for each packed byte, added to that. Files compress to a tenth at best, but for those that are
    /// mostly empty; gzip reaches 1032, zstd much more.
    pub ratio: u64,
    /// Headers in the archive.
    pub headers: u64,
    /// Bytes of names and observations that are kept, estimated.
    pub kept: usize,
    /// Entries whose name is remembered as a number of 8 bytes, so that they replace those of lower layers.
    pub names: usize,
    /// Bytes of one text that are kept at most; larger wishes are cut down to it.
    pub text: usize,
    /// Largest zstd window, as a power of two. The tools that make images write windows of at most 32 MiB; only
    /// `zstd --ultra` and `--long` write larger ones, for which the memory of the process is too small.
    pub window_log: u32,
}

impl Default for LayerLimits {
    fn default() -> Self {
        Self {
            unpacked: 32 << 30,
            ratio: 100,
            headers: 10_000_000,
            kept: 8 << 20,
            names: 500_000,
            text: 16 << 20,
            window_log: 25,
        }
    }
}
