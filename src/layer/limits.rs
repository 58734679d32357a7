//! Limits on what is read and recorded of one layer.

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
pub(super) const MAX_REPORTED_PATHS: usize = 5;

/// Limits on reading one layer.
///
/// Those of size end the walk and are told as [`crate::layer::SkippedEntries`]: the packed bytes are still read to their end,
/// so that the digest is checked.
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
    /// Entries whose name is remembered as a number of 8 bytes, so that they replace what lies below.
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
