//! What layers say: on the disk for the next run, in memory for the other images of this one.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::Weak;

use crate::cli::cache::folder;
use crate::cli::cache::folder::Bounds;
use crate::cli::cache::folder::Folder;
use crate::cli::parallel::Permits;
use crate::layer::EXTRACTOR;
use crate::layer::LayerSeen;

/// What all layers may take on the disk: some ten thousand layers.
const BOUNDS: Bounds = Bounds { bytes: 1 << 30, files: 100_000, every: 16 };
/// What the layers that no image needs at the moment may take in memory, where the disk may not be there.
const MOST_IN_MEMORY: usize = 4 << 20;

/// Where observations are kept by digest. Each layer is read by one thread at a time, and the others wait for it.
#[derive(Debug)]
pub(crate) struct LayerStore {
    disk: Option<Folder>,
    /// So many layers are read at a time, whatever the number of images.
    at_once: Permits,
    memory: Mutex<Memory>,
}

/// One layer that some thread may be reading.
type Slot = Arc<Mutex<Weak<LayerSeen>>>;

#[derive(Debug, Default)]
struct Memory {
    slots: HashMap<String, Slot>,
    /// Those used last, the last one at the end.
    recent: VecDeque<Arc<LayerSeen>>,
    weight: usize,
}

impl LayerStore {
    /// The user's own, for so many layers at a time; in memory alone where `disk` is false or no folder is known.
    pub(crate) fn of_user(disk: bool, at_once: usize) -> Self {
        Self::new(Self::folder().filter(|_| disk), at_once)
    }

    fn new(disk: Option<Folder>, at_once: usize) -> Self {
        Self { disk, at_once: Permits::new(at_once), memory: Mutex::default() }
    }

    pub(super) fn folder() -> Option<Folder> {
        Some(Folder::new(folder::of_user()?.join("layers"), BOUNDS))
    }

    /// What a layer says: as it is kept, else as `read` gives it.
    pub(crate) fn get<E>(
        &self,
        digest: &str,
        read: impl FnOnce() -> Result<LayerSeen, E>,
    ) -> Result<Arc<LayerSeen>, E> {
        let slot = self.memory().slots.entry(digest.to_owned()).or_default().clone();
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = if let Some(seen) = slot.upgrade() {
            seen
        } else {
            // Whoever waits here holds up those alone who want the same layer.
            let _permit = self.at_once.take();
            self.fetch(digest, read)?
        };
        *slot = Arc::downgrade(&seen);
        self.memory().used(&seen);
        Ok(seen)
    }

    fn fetch<E>(&self, digest: &str, read: impl FnOnce() -> Result<LayerSeen, E>) -> Result<Arc<LayerSeen>, E> {
        if let Some(seen) = self.on_disk(digest) {
            return Ok(Arc::new(seen));
        }
        let seen = read()?;
        self.to_disk(digest, &seen);
        Ok(Arc::new(seen))
    }

    /// Why nothing could be kept for the next run.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.disk.as_ref().and_then(Folder::complaint)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_disk(&self, digest: &str) -> Option<LayerSeen> {
        let (folder, name) = (self.disk.as_ref()?, name(digest)?);
        let seen = LayerSeen::unpack(BufReader::new(folder.open(&name)?), digest);
        if seen.is_none() {
            folder.remove(&name);
        }
        seen
    }

    fn to_disk(&self, digest: &str, seen: &LayerSeen) {
        if let Some((folder, name)) = self.disk.as_ref().zip(name(digest)) {
            folder.write(&name, |file| seen.pack(file));
        }
    }
}

impl Memory {
    /// Keeps a layer for a while.
    fn used(&mut self, seen: &Arc<LayerSeen>) {
        let before = self.recent.len();
        self.recent.retain(|other| !Arc::ptr_eq(other, seen));
        if self.recent.len() == before {
            self.weight = self.weight.saturating_add(seen.weight());
        }
        self.recent.push_back(seen.clone());
        while self.weight > MOST_IN_MEMORY
            && let Some(oldest) = self.recent.pop_front()
        {
            self.weight = self.weight.saturating_sub(oldest.weight());
        }
    }
}

/// The name of a digest's file below the folder; its form is checked first.
fn name(digest: &str) -> Option<PathBuf> {
    let (algorithm, hex) = digest.split_once(':')?;
    let length = match algorithm {
        "sha256" => 64,
        "sha512" => 128,
        _ => return None,
    };
    let good = hex.len() == length && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    good.then(|| PathBuf::from(format!("v{EXTRACTOR}/{algorithm}/{hex}")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::cli::parallel;

    fn digest(number: usize) -> String {
        format!("sha256:{number:064x}")
    }

    fn layer(digest: &str, whiteouts: usize) -> LayerSeen {
        let whiteouts = (0..whiteouts).map(|number| format!("/some/path/to/a/file/{number}")).collect();
        let mut seen = LayerSeen::default();
        (seen.digest, seen.size, seen.whiteouts) = (digest.to_owned(), 1, whiteouts);
        seen
    }

    fn on(folder: &Path) -> LayerStore {
        LayerStore::new(Some(Folder::new(folder.join("layers"), BOUNDS)), 2)
    }

    /// Whether the layer itself was read.
    fn reads(store: &LayerStore, digest: &str) -> bool {
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
        assert!(reads(&on(place.path()), &digest(1)));
        let again = on(place.path()).get(&digest(1), || Err("read again"));
        assert_eq!(again, Ok(Arc::new(layer(&digest(1), 3))));
        let file = place.path().join("layers").join(name(&digest(1)).expect("a name"));
        let whole = fs::read(&file).expect("a file");
        for (broken, what) in [
            (whole[..whole.len() / 2].to_vec(), "cut"),
            (Vec::new(), "empty"),
            (whole.iter().map(|byte| !byte).collect(), "garbage"),
        ] {
            fs::write(&file, broken).expect("written");
            assert!(reads(&on(place.path()), &digest(1)), "{what}");
            assert_eq!(fs::read(&file).expect("a file"), whole, "{what}: written again");
        }
        let other = place.path().join("layers").join(name(&digest(2)).expect("a name"));
        fs::copy(&file, &other).expect("copied");
        assert!(reads(&on(place.path()), &digest(2)), "a file of another layer");
    }

    #[test]
    fn what_fails_is_not_kept_and_strange_digests_name_no_file() {
        let place = tempfile::tempdir().expect("folder");
        let store = on(place.path());
        assert_eq!(store.get(&digest(1), || Err("broken")), Err("broken"));
        assert!(reads(&store, &digest(1)));
        for bad in ["", "sha256", "sha256:", "sha256:../../x", "md5:00", "sha256:00", &format!("sha256:/{:063x}", 1)] {
            assert_eq!(name(bad), None, "{bad}");
            assert!(reads(&store, bad), "{bad}");
        }
        assert_eq!(Folder::new(place.path().join("layers"), BOUNDS).usage().files, 1);
    }

    #[test]
    fn images_of_one_run_pay_for_a_layer_once() {
        let place = tempfile::tempdir().expect("folder");
        for store in [LayerStore::new(None, 2), on(place.path())] {
            let reads = AtomicUsize::new(0);
            let wanted: Vec<usize> = (0..200).collect();
            let found = parallel::map(8, &wanted, |number| {
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
    fn memory_is_bounded_where_there_is_no_disk() {
        let store = LayerStore::new(None, 2);
        let each = layer(&digest(0), 20_000).weight();
        for number in 0..60 {
            let digest = digest(number);
            store.get(&digest, || Ok::<_, ()>(layer(&digest, 20_000))).expect("a layer");
        }
        let memory = store.memory();
        assert_eq!(memory.weight, memory.recent.iter().map(|seen| seen.weight()).sum::<usize>());
        assert!(memory.weight <= MOST_IN_MEMORY && memory.weight + each > MOST_IN_MEMORY, "{}", memory.weight);
        drop(memory);
        assert!(!reads(&store, &digest(59)));
        assert!(reads(&store, &digest(0)));
    }

    #[test]
    fn a_disk_that_cannot_be_written_is_a_complaint_and_no_error() {
        let place = tempfile::tempdir().expect("folder");
        fs::write(place.path().join("layers"), "a file").expect("file");
        let store = on(place.path());
        assert!(reads(&store, &digest(1)));
        assert!(store.complaint().is_some_and(|told| told.contains("cannot write to")));
        assert!(!reads(&store, &digest(1)), "in memory");
    }
}
