//! Reports in every format.

mod baseline;
mod formats;
mod human;
mod limits;
mod outputs;
mod saved;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
