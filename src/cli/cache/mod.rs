//! What is kept on the disk for the next run.

mod by_digest;
mod command;
mod folder;
mod layers;

pub(crate) use by_digest::Cache;
pub(crate) use command::run;
pub(crate) use layers::LayerStore;
