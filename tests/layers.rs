//! Layers read from their packed bytes: what is seen, how layers lie over each other, and every fault tried.

#[path = "layers/build.rs"]
mod build;
#[path = "layers/faults.rs"]
mod faults;
#[path = "layers/formats.rs"]
mod formats;
#[path = "layers/large.rs"]
mod large;
#[path = "layers/model.rs"]
mod model;
#[path = "layers/overlay.rs"]
mod overlay;
