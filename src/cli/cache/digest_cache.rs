//! Cache of manifests and image configurations by digest.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::cache::directory;
use crate::cli::cache::directory::{CacheDirectory, CacheLimits};
use crate::registry::ManifestCache;

/// Maximum size in bytes of a cached manifest or configuration.
const MAX_ENTRY_BYTES: u64 = 8 << 20;
/// Limits of the whole cache.
const CACHE_LIMITS: CacheLimits = CacheLimits { bytes: 64 << 20, files: 4096, every: 64 };

/// On-disk cache of manifests and image configurations, with one file for each digest.
#[derive(Debug)]
pub(crate) struct DigestCache(CacheDirectory);

impl DigestCache {
    /// Returns the cache in the cache directory of the user; `None` if there is none.
    pub(crate) fn for_user() -> Option<Arc<dyn ManifestCache>> {
        Self::directory().map(|folder| Arc::new(Self(folder)) as Arc<dyn ManifestCache>)
    }

    /// Returns the directory of this cache; `None` without a cache directory of the user.
    pub(super) fn directory() -> Option<CacheDirectory> {
        Some(CacheDirectory::new(directory::user_cache_directory()?.join("by-digest"), CACHE_LIMITS))
    }

    /// Returns the file name for a digest; `None` if the digest is malformed.
    fn file_name(digest: &str) -> Option<PathBuf> {
        let (algorithm, hex) = digest.split_once(':')?;
        let good = matches!(algorithm, "sha256" | "sha512") && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        good.then(|| PathBuf::from(format!("{algorithm}-{hex}")))
    }
}

impl ManifestCache for DigestCache {
    fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let file = self.0.open(&Self::file_name(digest)?)?;
        let mut bytes = Vec::new();
        file.take(MAX_ENTRY_BYTES + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn put(&self, digest: &str, bytes: &[u8]) {
        let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_ENTRY_BYTES);
        if let Some(name) = Self::file_name(digest).filter(|_| fits) {
            self.0.write(&name, |file| file.write_all(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn digest(number: usize) -> String {
        format!("sha256:{number:064x}")
    }

    #[test]
    fn cached_digest_is_read_back_only_under_a_valid_name() {
        let place = tempfile::tempdir().expect("folder");
        let cache = DigestCache(CacheDirectory::new(place.path().join("by-digest"), CACHE_LIMITS));
        assert_eq!(cache.get(&digest(1)), None);
        cache.put(&digest(1), b"one");
        assert_eq!(cache.get(&digest(1)).as_deref(), Some(&b"one"[..]));
        for bad in ["sha256:../../x", "sha256", "md5:00", "sha256:/etc/passwd", "", "sha256:a/b"] {
            cache.put(bad, b"x");
            assert_eq!(cache.get(bad), None, "{bad}");
        }
        cache.put(&digest(2), &vec![0; (8 << 20) + 1]);
        assert_eq!(cache.get(&digest(2)), None, "too long");
        assert_eq!(fs::read_dir(place.path().join("by-digest")).expect("folder").count(), 1);
    }

    #[test]
    fn many_writers_and_readers_never_see_half_a_file() {
        let place = tempfile::tempdir().expect("folder");
        let bytes = vec![7; 300_000];
        let numbers: Vec<usize> = (0..200).collect();
        let cache = || DigestCache(CacheDirectory::new(place.path().join("x"), CACHE_LIMITS));
        let shared = cache();
        let whole = crate::cli::parallel::map(8, &numbers, |number| {
            shared.put(&digest(number % 3), &bytes);
            cache().get(&digest(number % 3)).is_none_or(|read| read == bytes)
        });
        assert!(whole.iter().all(|whole| *whole));
        assert!(cache().get(&digest(2)).is_some());
    }
}
