//! Cache of layer observations: on disk for later runs, in memory for the other images of this run.

use std::collections::{HashMap, VecDeque};
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::cli::cache::directory;
use crate::cli::cache::directory::{CacheDirectory, CacheLimits};
use crate::cli::parallel::Semaphore;
use crate::layer::{EXTRACTOR_VERSION, LayerSummary};

/// Limits of the layer cache on disk: about ten thousand layers.
const DISK_LIMITS: CacheLimits = CacheLimits { bytes: 1 << 30, files: 100_000, every: 16 };
/// Maximum memory in bytes for recent layers that no image uses at the moment.
const MAX_RECENT_BYTES: usize = 4 << 20;

/// Cache of layer observations by digest. Each layer is read by one thread, and others wait for it.
#[derive(Debug)]
pub(crate) struct LayerStore {
    disk: Option<CacheDirectory>,
    /// So many layers are read at a time, whatever the number of images.
    at_once: Semaphore,
    memory: Mutex<LayerMemory>,
}

/// Lock on one layer, which a thread may be reading.
type LayerSlot = Arc<Mutex<Weak<LayerSummary>>>;

/// Layers in memory: those in use, and the most recently used ones.
#[derive(Debug, Default)]
struct LayerMemory {
    slots: HashMap<String, LayerSlot>,
    /// Those used last, the last one at the end.
    recent: VecDeque<Arc<LayerSummary>>,
    weight: usize,
}

impl LayerStore {
    /// Returns the store in the cache directory of the user, which reads `at_once` layers at a time; in memory only
    /// without `disk`.
    pub(crate) fn for_user(disk: bool, at_once: usize) -> Self {
        Self::new(Self::directory().filter(|_| disk), at_once)
    }

    fn new(disk: Option<CacheDirectory>, at_once: usize) -> Self {
        Self { disk, at_once: Semaphore::new(at_once), memory: Mutex::default() }
    }

    /// Returns the directory of this cache; `None` without a cache directory of the user.
    pub(super) fn directory() -> Option<CacheDirectory> {
        Some(CacheDirectory::new(directory::user_cache_directory()?.join("layers"), DISK_LIMITS))
    }

    /// Returns the observations of a layer: the cached ones, else the result of `read`.
    pub(crate) fn get<E>(
        &self,
        digest: &str,
        read: impl FnOnce() -> Result<LayerSummary, E>,
    ) -> Result<Arc<LayerSummary>, E> {
        let slot = self.lock_memory().slots.entry(digest.to_owned()).or_default().clone();
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = if let Some(seen) = slot.upgrade() {
            seen
        } else {
            // Waiting here delays only those that need the same layer.
            let _permit = self.at_once.acquire();
            self.load_or_read(digest, read)?
        };
        *slot = Arc::downgrade(&seen);
        self.lock_memory().mark_used(&seen);
        Ok(seen)
    }

    /// Returns the observations from disk, else the result of `read`, which is then written to disk.
    fn load_or_read<E>(
        &self,
        digest: &str,
        read: impl FnOnce() -> Result<LayerSummary, E>,
    ) -> Result<Arc<LayerSummary>, E> {
        if let Some(seen) = self.read_from_disk(digest) {
            return Ok(Arc::new(seen));
        }
        let seen = read()?;
        self.write_to_disk(digest, &seen);
        Ok(Arc::new(seen))
    }

    /// Returns the error of the first layer that could not be written to disk.
    pub(crate) fn write_error(&self) -> Option<String> {
        self.disk.as_ref().and_then(CacheDirectory::write_error)
    }

    /// Locks the layers in memory.
    fn lock_memory(&self) -> MutexGuard<'_, LayerMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the observations of a layer from disk; removes the file if it is corrupt.
    fn read_from_disk(&self, digest: &str) -> Option<LayerSummary> {
        let (folder, name) = (self.disk.as_ref()?, file_name(digest)?);
        let seen = LayerSummary::read_compressed(BufReader::new(folder.open(&name)?), digest);
        if seen.is_none() {
            folder.remove(&name);
        }
        seen
    }

    /// Writes the observations of a layer to disk.
    fn write_to_disk(&self, digest: &str, seen: &LayerSummary) {
        if let Some((folder, name)) = self.disk.as_ref().zip(file_name(digest)) {
            folder.write(&name, |file| seen.write_compressed(file));
        }
    }
}

impl LayerMemory {
    /// Marks a layer as the most recently used one, and drops the oldest ones beyond the limit.
    fn mark_used(&mut self, seen: &Arc<LayerSummary>) {
        let before = self.recent.len();
        self.recent.retain(|other| !Arc::ptr_eq(other, seen));
        if self.recent.len() == before {
            self.weight = self.weight.saturating_add(seen.memory_size());
        }
        self.recent.push_back(seen.clone());
        while self.weight > MAX_RECENT_BYTES
            && let Some(oldest) = self.recent.pop_front()
        {
            self.weight = self.weight.saturating_sub(oldest.memory_size());
        }
    }
}

/// Returns the path of a digest's file in the cache directory; `None` if the digest is malformed.
fn file_name(digest: &str) -> Option<PathBuf> {
    let (algorithm, hex) = digest.split_once(':')?;
    let length = match algorithm {
        "sha256" => 64,
        "sha512" => 128,
        _ => return None,
    };
    let good = hex.len() == length && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    good.then(|| PathBuf::from(format!("v{EXTRACTOR_VERSION}/{algorithm}/{hex}")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cli::parallel;

    fn digest(number: usize) -> String {
        format!("sha256:{number:064x}")
    }

    fn layer(digest: &str, whiteouts: usize) -> LayerSummary {
        let whiteouts = (0..whiteouts).map(|number| format!("/some/path/to/a/file/{number}")).collect();
        let mut seen = LayerSummary::default();
        (seen.digest, seen.size, seen.whiteouts) = (digest.to_owned(), 1, whiteouts);
        seen
    }

    fn store_in(folder: &Path) -> LayerStore {
        LayerStore::new(Some(CacheDirectory::new(folder.join("layers"), DISK_LIMITS)), 2)
    }

    /// Whether the layer itself was read, instead of the cache.
    fn reads_layer(store: &LayerStore, digest: &str) -> bool {
        let mut read = false;
        let seen = store.get(digest, || {
            read = true;
            Ok::<_, ()>(layer(digest, 3))
        });
        assert_eq!(seen.expect("a layer").digest, digest);
        read
    }

    #[test]
    fn the_next_run_reads_no_layer_again_unless_its_file_is_broken() {
        let place = tempfile::tempdir().expect("folder");
        assert!(reads_layer(&store_in(place.path()), &digest(1)));
        let again = store_in(place.path()).get(&digest(1), || Err("read again"));
        assert_eq!(again, Ok(Arc::new(layer(&digest(1), 3))));
        let file = place.path().join("layers").join(file_name(&digest(1)).expect("a name"));
        let whole = fs::read(&file).expect("a file");
        for (broken, what) in [
            (whole[..whole.len() / 2].to_vec(), "cut"),
            (Vec::new(), "empty"),
            (whole.iter().map(|byte| !byte).collect(), "garbage"),
        ] {
            fs::write(&file, broken).expect("written");
            assert!(reads_layer(&store_in(place.path()), &digest(1)), "{what}");
            assert_eq!(fs::read(&file).expect("a file"), whole, "{what}: written again");
        }
        let other = place.path().join("layers").join(file_name(&digest(2)).expect("a name"));
        fs::copy(&file, &other).expect("copied");
        assert!(reads_layer(&store_in(place.path()), &digest(2)), "a file of another layer");
    }

    #[test]
    fn failed_reads_are_not_cached_and_invalid_digests_have_no_file() {
        let place = tempfile::tempdir().expect("folder");
        let store = store_in(place.path());
        assert_eq!(store.get(&digest(1), || Err("broken")), Err("broken"));
        assert!(reads_layer(&store, &digest(1)));
        for bad in ["", "sha256", "sha256:", "sha256:../../x", "md5:00", "sha256:00", &format!("sha256:/{:063x}", 1)] {
            assert_eq!(file_name(bad), None, "{bad}");
            assert!(reads_layer(&store, bad), "{bad}");
        }
        assert_eq!(CacheDirectory::new(place.path().join("layers"), DISK_LIMITS).usage().files, 1);
    }

    #[test]
    fn images_of_one_run_pay_for_a_layer_once() {
        let place = tempfile::tempdir().expect("folder");
        for store in [LayerStore::new(None, 2), store_in(place.path())] {
            let reads = AtomicUsize::new(0);
            let numbers: Vec<usize> = (0..200).collect();
            let found = parallel::map(8, &numbers, |number| {
                let digest = digest(number % 4);
                let read = || {
                    reads.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, ()>(layer(&digest, 1_000))
                };
                store.get(&digest, read).expect("a layer").digest == digest
            });
            assert!(found.into_iter().all(|same| same));
            assert_eq!(reads.into_inner(), 4);
        }
    }

    #[test]
    fn memory_use_is_limited_without_a_disk_cache() {
        let store = LayerStore::new(None, 2);
        let each = layer(&digest(0), 20_000).memory_size();
        for number in 0..60 {
            let digest = digest(number);
            store.get(&digest, || Ok::<_, ()>(layer(&digest, 20_000))).expect("a layer");
        }
        let memory = store.lock_memory();
        assert_eq!(memory.weight, memory.recent.iter().map(|seen| seen.memory_size()).sum::<usize>());
        assert!(memory.weight <= MAX_RECENT_BYTES && memory.weight + each > MAX_RECENT_BYTES, "{}", memory.weight);
        drop(memory);
        assert!(!reads_layer(&store, &digest(59)));
        assert!(reads_layer(&store, &digest(0)));
    }

    #[test]
    fn a_disk_that_cannot_be_written_is_a_complaint_and_no_error() {
        let place = tempfile::tempdir().expect("folder");
        fs::write(place.path().join("layers"), "a file").expect("file");
        let store = store_in(place.path());
        assert!(reads_layer(&store, &digest(1)));
        assert!(store.write_error().is_some_and(|error| error.contains("cannot write to")));
        assert!(!reads_layer(&store, &digest(1)), "in memory");
    }
}
