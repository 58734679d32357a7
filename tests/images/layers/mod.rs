//! Layers read from their packed bytes: what is seen, how layers lie over each other, and every fault tried.

use crate::support::layer_build as build;
mod faults;
mod formats;
mod large;
mod model;
mod overlay;
