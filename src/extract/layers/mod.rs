//! Observations from the layers of an image: each fact with the layer that added it and the history step that created
//! that layer.
//!
//! Unread layers prove nothing. A missing layer may replace anything in the layers below it: files and GPU code of
//! those layers are left out, packages are subject to that doubt, and nothing counts as completely inspected.

mod cache_links;
mod cuda_runtime;
mod entrypoint_python;
mod file_owner;
mod gpu_code;
mod layer_scan;
mod packages;

pub use self::layer_scan::{MissingLayer, observe_layers};
pub(super) use self::packages::is_gpu_relevant;
