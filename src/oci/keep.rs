//! A place that keeps what registries gave under a digest.

use std::fmt;
use std::sync::Arc;

use crate::oci::client::Client;
use crate::oci::client::check_size;
use crate::oci::digest::verify;
use crate::oci::error::Problem;
use crate::oci::types::Descriptor;

/// Keeps manifests and configurations by their digest. What it gives back is checked again.
pub trait Keep: fmt::Debug + Send + Sync {
    /// The bytes under a digest of the form `sha256:…`, where they are kept.
    fn get(&self, digest: &str) -> Option<Vec<u8>>;
    /// Keeps bytes that have this digest; may do nothing.
    fn put(&self, digest: &str, bytes: &[u8]);
}

/// A registry, with what is kept of it.
pub(crate) struct Kept {
    pub(crate) client: Arc<Client>,
    pub(crate) keep: Option<Arc<dyn Keep>>,
}

impl Kept {
    /// The manifest that an index names.
    pub(crate) async fn manifest(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        match self.get(descriptor) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.put(descriptor, self.client.manifest(descriptor).await?)),
        }
    }

    /// The config that a manifest names.
    pub(crate) async fn config(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Problem> {
        match self.get(descriptor) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.put(descriptor, self.client.config(descriptor).await?)),
        }
    }

    fn get(&self, descriptor: &Descriptor) -> Option<Vec<u8>> {
        check_size(descriptor, u64::MAX).ok()?;
        let bytes = self.keep.as_ref()?.get(&descriptor.digest)?;
        verify(&bytes, &descriptor.digest, Some(descriptor.size)).ok().map(|()| bytes)
    }

    fn put(&self, descriptor: &Descriptor, bytes: Vec<u8>) -> Vec<u8> {
        if let Some(keep) = &self.keep {
            keep.put(&descriptor.digest, &bytes);
        }
        bytes
    }
}
