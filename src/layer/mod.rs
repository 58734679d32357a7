//! Reads one layer of an image from its compressed bytes, and merges the layers of an image.
//!
//! [`read_layer`] reads the bytes as a stream: it counts, digests and decompresses them, walks the archive and passes
//! the needed entries to [`crate::layer::elf`] and [`crate::layer::installed`]. It writes no files and never seeks, and
//! [`LayerLimits`] bounds its memory. Skipped entries are listed in [`LayerSummary::missed`]. A layer that cannot be
//! read to its end, or whose bytes do not match its digest, is an error, never a partial result.
//!
//! [`MergedLayers::merge`] merges the summaries of layers as a container runtime merges their files.

mod archive_path;
mod compressed;
mod decoder;
mod digest;
pub mod elf;
mod entry_collector;
mod error;
mod file_content;
pub mod installed;
mod layer_summary;
mod memory_budget;
mod merged_layers;
mod pax;
mod serialization;
mod sparse;
mod tar_header;
mod tar_stream;
mod walk;

pub use compressed::{LayerDescriptor, LayerDigestKind, LayerReadProgress};
pub use error::LayerError;
pub use layer_summary::{EntryKind, EntrySummary, LayerLimits, LayerSummary, SkipReason, SkippedEntries};
pub use memory_budget::ImageMemoryBudget;
pub use merged_layers::{ImageEntry, MergedLayers};
pub use walk::read_layer;

/// The version of the data that is extracted from a layer. Cached results of another version are invalid.
pub const EXTRACTOR_VERSION: u32 = 7;
