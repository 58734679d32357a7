//! Observations from the layers of an image: each fact with the layer that added it and the history step that created
//! that layer.
//!
//! What was not read says nothing. A layer that is missing may replace whatever lies below it: files and GPU code of
//! those layers are left out, packages stand under that reserve, and nothing counts as seen whole.

mod cache_links;
mod cuda_runtime;
mod entrypoint_python;
mod file_owner;
mod gpu_code;
mod layer_scan;
mod packages;

pub use self::layer_scan::{MissingLayer, observe_layers};
pub(super) use self::packages::is_gpu_relevant;
