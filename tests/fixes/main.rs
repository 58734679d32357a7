//! Changes that the program finds, applies and recommends.

mod buildable;
mod fix;
mod recommend;
mod recommended_wheels;
mod search;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
