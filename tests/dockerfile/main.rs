//! The readers of Dockerfiles, build contexts, and Bake and compose files.

mod bake_and_compose;
mod base_images;
mod components;
mod copied_packages;
mod directives;
mod discovery;
mod limits;
mod parser;
mod stages;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
mod unread_files;
mod version_ranges;
