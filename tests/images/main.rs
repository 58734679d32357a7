//! Images, layers and registries.

mod built;
mod elf;
mod fatbin;
mod installed_packages;
mod large_images;
mod layer_scan;
mod layer_streams;
mod layers;
mod lock;
mod many_images;
mod other_builders;
mod registry_access;
mod registry_client;
mod sbom;
mod scan;
mod sources;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest")]
mod support;
