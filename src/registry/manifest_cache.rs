//! The interface of a cache of manifests and configs from registries, by digest.

use std::fmt;

/// A cache of manifests and configs by digest. Cached bytes are verified again when they are read.
pub trait ManifestCache: fmt::Debug + Send + Sync {
    /// Returns the bytes of a digest of the form `sha256:…`, if they are cached.
    fn get(&self, digest: &str) -> Option<Vec<u8>>;
    /// Caches the bytes of a digest; may do nothing.
    fn put(&self, digest: &str, bytes: &[u8]);
}
