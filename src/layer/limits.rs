//! How much of a layer is read and kept, whatever it holds.

/// Text of a tar extension header that is kept; the kernel takes paths of 4 KiB, so what is longer names no file.
pub(super) const LONGEST_EXTENSION: usize = 64 * 1024;
/// Longest path that is placed, as the kernel has it.
pub(super) const LONGEST_PATH: usize = 4096;
/// Parts of paths that are looked up where links lead on: seconds. An honest layer needs a few for each directory.
pub(super) const STEPS: u64 = 20_000_000;
/// What is read of the unpacked layer at a time: fits the processor's second cache, and inflating into larger
/// pieces was no faster.
pub(super) const UNPACKED_BUFFER: usize = 128 * 1024;
/// What is asked of the packed stream at a time.
pub(super) const PACKED_BUFFER: usize = 64 * 1024;
/// What a layer may keep while others are read as well, and how long a text of it may be; the one that goes beyond is
/// the only one at that time.
pub(super) const SMALL: usize = 2 << 20;
/// Holes of sparse files that are filled in one layer: half a second. Programs have none but where a tool that copies
/// them leaves out their zeros.
pub(super) const HOLES: u64 = 1 << 30;
/// Paths that are told for one thing that was passed over.
pub(super) const TOLD: usize = 5;

/// Bounds of one pass over a layer.
///
/// Those of size end the walk and are told as [`crate::layer::Missed`]: the packed bytes are still read to their end,
/// so that the digest is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Unpacked bytes that any layer may have: more than images of 20 GB unpack to.
    pub unpacked: u64,
    /// Unpacked bytes for each packed byte, added to that. Files compress to a tenth at best, but for those that are
    /// mostly empty; gzip reaches 1032, zstd much more.
    pub ratio: u64,
    /// Headers in the archive.
    pub headers: u64,
    /// Bytes of names and observations that are kept, estimated.
    pub kept: usize,
    /// Entries whose name is remembered as a number of 8 bytes, so that they replace what lies below.
    pub names: usize,
    /// Bytes of one text that are kept at most; larger wishes are cut down to it.
    pub text: usize,
    /// Largest zstd window, as a power of two. The tools that make images write windows of at most 32 MiB; only
    /// `zstd --ultra` and `--long` write larger ones, for which the memory of the process is too small.
    pub window_log: u32,
}

impl Default for Limits {
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
