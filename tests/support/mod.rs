//! Shared by the tests: temporary repositories, images, registries and reports.

pub(crate) mod case;
pub(crate) mod elf;
pub(crate) mod image;
pub(crate) mod inputs;
pub(crate) mod json_schema;
pub(crate) mod layer_build;
pub(crate) mod oci_layout;
pub(crate) mod pool_verdicts;
pub(crate) mod program;
pub(crate) mod random_images;
pub(crate) mod registry;
pub(crate) mod sample_report;
pub(crate) mod scripted_server;
pub(crate) mod test_repository;
