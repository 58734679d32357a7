//! One layer of an image, read once from its packed bytes, and the overlay of several.
//!
//! [`read_layer`] takes the bytes as they come: it counts and digests them, unpacks them, walks the archive and gives
//! what is wanted of each entry to [`crate::elf`] and [`crate::installed`]. Nothing is written anywhere, nothing is
//! sought, and memory is bounded by [`Limits`] whatever the layer holds. What was passed over is told in
//! [`LayerSeen::missed`]. A layer that cannot be read to its end, or whose bytes are not those that its digest names,
//! is an error and never half a result.
//!
//! [`Tree::stack`] lays what layers say over each other as a container runtime does with their files.

mod collect;
mod content;
mod digest;
mod error;
mod header;
mod kept;
mod limits;
mod name;
mod packed;
mod pax;
mod room;
mod seen;
mod sparse;
mod stack;
mod stream;
mod unpack;
mod walk;

pub use error::LayerError;
pub use limits::Limits;
pub use packed::Descriptor;
pub use packed::Digested;
pub use packed::Progress;
pub use room::Room;
pub use seen::EntryKind;
pub use seen::EntrySeen;
pub use seen::LayerSeen;
pub use seen::Mark;
pub use seen::Missed;
pub use stack::Placed;
pub use stack::Tree;
pub use walk::read_layer;

/// The version of what is extracted from a layer: results of another version are not to be taken from a cache.
pub const EXTRACTOR: u32 = 6;
