//! What tests share: folders to run the program in, images, registries and reports.

pub(crate) mod case;
pub(crate) mod elf;
pub(crate) mod ends;
pub(crate) mod fake;
pub(crate) mod image;
pub(crate) mod inputs;
pub(crate) mod layer_build;
pub(crate) mod layout;
pub(crate) mod place;
pub(crate) mod population;
pub(crate) mod program;
pub(crate) mod registry;
pub(crate) mod sample;
pub(crate) mod schema;
