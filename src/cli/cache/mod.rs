//! Caches on disk for later runs.

mod command;
mod digest_cache;
mod directory;
mod layer_store;

pub(crate) use command::run;
pub(crate) use digest_cache::DigestCache;
pub(crate) use directory::set_cache_directory as keep_in;
pub(crate) use layer_store::LayerStore;

/// Removes the cache files that this process has not finished writing, before it ends.
pub(crate) fn remove_unfinished_files() {
    for folder in [LayerStore::directory(), DigestCache::directory()].into_iter().flatten() {
        folder.remove_unfinished_files();
    }
}
