//! What is kept on the disk for the next run.

mod by_digest;
mod command;
mod folder;
mod layers;

pub(crate) use by_digest::Cache;
pub(crate) use command::run;
pub(crate) use folder::ask as keep_in;
pub(crate) use layers::LayerStore;

/// Takes away what this process has begun to write, in the moment before it ends.
pub(crate) fn abandon() {
    for folder in [LayerStore::folder(), Cache::folder()].into_iter().flatten() {
        folder.abandon();
    }
}
