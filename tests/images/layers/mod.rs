//! Layers read from their packed bytes: the entries found, the overlay of layers, and every fault.

use crate::support::layer_build as build;
mod faults;
mod formats;
mod large;
mod model;
mod overlay;
