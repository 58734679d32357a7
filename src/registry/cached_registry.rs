//! A registry client with an optional cache of manifests and configs.

use std::sync::Arc;

use crate::registry::content_digest::verify_digest;
use crate::registry::manifest_cache::ManifestCache;
use crate::registry::manifest_types::{Descriptor, check_descriptor};
use crate::registry::pull_error::PullProblem;
use crate::registry::registry_client::RegistryClient;

/// A registry client with an optional cache of manifests and configs.
pub(crate) struct CachedRegistry {
    pub(crate) client: Arc<RegistryClient>,
    /// The cache, if there is one.
    pub(crate) cache: Option<Arc<dyn ManifestCache>>,
}

impl CachedRegistry {
    /// Returns the manifest of a descriptor, from the cache or the registry.
    pub(crate) async fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        match self.cached(descriptor) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.store(descriptor, self.client.manifest(descriptor).await?)),
        }
    }

    /// Returns the config of a descriptor, from the cache or the registry.
    pub(crate) async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, PullProblem> {
        match self.cached(descriptor) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.store(descriptor, self.client.config(descriptor).await?)),
        }
    }

    /// Returns the cached bytes of a descriptor if they match its digest and size.
    fn cached(&self, descriptor: &Descriptor) -> Option<Vec<u8>> {
        check_descriptor(descriptor, u64::MAX).ok()?;
        let bytes = self.cache.as_ref()?.get(&descriptor.digest)?;
        verify_digest(&bytes, &descriptor.digest, Some(descriptor.size)).ok().map(|()| bytes)
    }

    /// Stores bytes in the cache and returns them.
    fn store(&self, descriptor: &Descriptor, bytes: Vec<u8>) -> Vec<u8> {
        if let Some(keep) = &self.cache {
            keep.put(&descriptor.digest, &bytes);
        }
        bytes
    }
}
