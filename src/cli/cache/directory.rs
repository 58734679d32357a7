//! Cache directory that processes share, and whose files may vanish at any time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};
use std::{env, fs, io, path, process};

use crate::cli::error::path_from_environment;

/// Age at which an incomplete file counts as abandoned.
const STALE_AGE: Duration = Duration::from_hours(1);
/// Prefix of the name of a file that is not complete.
const UNFINISHED_PREFIX: &str = ".new-";
/// Maximum depth of subdirectories that are searched.
const MAX_DEPTH: usize = 3;
/// Content of `CACHEDIR.TAG`, which marks the cache for backup and search programs.
const CACHEDIR_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";

/// Limits of a cache directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLimits {
    /// Bytes of all files.
    pub(super) bytes: u64,
    /// Files.
    pub(super) files: usize,
    /// After so many files written by this process, files above the limits are deleted.
    pub(super) every: u64,
}

/// Number and size of the files in a cache directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheUsage {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// Cache directory in which a file appears complete or not at all.
#[derive(Debug)]
pub(super) struct CacheDirectory {
    root: PathBuf,
    bounds: CacheLimits,
    written: AtomicU64,
    /// Why the first file could not be written that could not.
    complaint: Mutex<Option<String>>,
}

/// Cache directory that the command line specifies.
static REQUESTED_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Sets the directory of all caches for this process.
pub(crate) fn set_cache_directory(folder: PathBuf) {
    // The command line is read once.
    let _ = REQUESTED_DIRECTORY.set(folder);
}

/// Returns the directory of all caches, from the command line, `IMAGELINT_CACHE_DIR`, `XDG_CACHE_HOME` or `HOME`, in
/// this order; `None` if none is set.
pub(super) fn user_cache_directory() -> Option<PathBuf> {
    if let Some(requested) = REQUESTED_DIRECTORY.get().cloned().or_else(|| path_from_environment("IMAGELINT_CACHE_DIR"))
    {
        return path::absolute(requested).ok();
    }
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    Some(absolute("XDG_CACHE_HOME").or_else(home)?.join("imagelint"))
}

impl CacheDirectory {
    pub(super) fn new(root: PathBuf, bounds: CacheLimits) -> Self {
        Self { root, bounds, written: AtomicU64::new(0), complaint: Mutex::default() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a cached file, and marks it as the most recently used one.
    pub(super) fn open(&self, name: &Path) -> Option<File> {
        let path = self.root.join(name);
        // Neither a pipe nor a device is waited for.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let _ = file.set_modified(SystemTime::now());
        Some(file)
    }

    /// Removes a file that turned out to be corrupt.
    pub(super) fn remove(&self, name: &Path) {
        let _ = fs::remove_file(self.root.join(name));
    }

    /// Writes a file. The first failure is stored for `write_error`; the next run then reads the original again.
    pub(super) fn write(&self, name: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) {
        if let Err(error) = self.try_write(name, fill) {
            let mut complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
            complaint.get_or_insert_with(|| format!("cannot write to {}: {error}", self.root.display()));
        }
    }

    /// Returns the error of the first file that could not be written.
    pub(super) fn write_error(&self) -> Option<String> {
        self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes a file under a temporary name, then renames it; evicts old files from time to time.
    fn try_write(&self, name: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let path = self.root.join(name);
        create_private_directory(path.parent().unwrap_or(&self.root))?;
        self.write_cachedir_tag();
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.root.join(format!("{UNFINISHED_PREFIX}{}-{number}", process::id()));
        let done = File::create(&unfinished)
            .and_then(|mut file| fill(&mut file))
            .and_then(|()| fs::rename(&unfinished, &path));
        if done.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        if number.is_multiple_of(self.bounds.every) {
            self.evict_old_files();
        }
        done
    }

    /// Writes `CACHEDIR.TAG` to the directory of all caches, if it is missing.
    fn write_cachedir_tag(&self) {
        if let Some(tag) = self.root.parent().map(|parent| parent.join("CACHEDIR.TAG")).filter(|tag| !tag.exists()) {
            let _ = fs::write(tag, CACHEDIR_TAG);
        }
    }

    /// Removes stale incomplete files, and the least recently used files beyond the limits.
    pub(super) fn evict_old_files(&self) {
        let now = SystemTime::now();
        let mut kept = Vec::new();
        for found in self.list_files() {
            let old = || now.duration_since(found.used).is_ok_and(|age| age > STALE_AGE);
            match found.unfinished {
                true if old() => drop(fs::remove_file(found.path)),
                true => {}
                false => kept.push(found),
            }
        }
        kept.sort_by(|one, other| other.used.cmp(&one.used).then_with(|| one.path.cmp(&other.path)));
        let mut sum = CacheUsage::default();
        for found in kept {
            sum.bytes = sum.bytes.saturating_add(found.bytes);
            sum.files += 1;
            if sum.bytes > self.bounds.bytes || sum.files > self.bounds.files {
                let _ = fs::remove_file(found.path);
            }
        }
    }

    /// Removes the files that this process has not finished writing.
    pub(super) fn remove_unfinished_files(&self) {
        let own = format!("{UNFINISHED_PREFIX}{}-", process::id());
        for found in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if found.file_name().to_string_lossy().starts_with(&own) {
                let _ = fs::remove_file(found.path());
            }
        }
    }

    /// Returns the number and the size of the cached files.
    pub(super) fn usage(&self) -> CacheUsage {
        let of = |sum: CacheUsage, found: CachedFile| CacheUsage {
            files: sum.files + 1,
            bytes: sum.bytes.saturating_add(found.bytes),
        };
        self.list_files().into_iter().fold(CacheUsage::default(), of)
    }

    /// Removes every file and returns how much was removed; a file that cannot be removed is an error.
    pub(super) fn clear(&self) -> io::Result<CacheUsage> {
        let mut removed = CacheUsage::default();
        for found in self.list_files() {
            match fs::remove_file(&found.path) {
                Ok(()) => {
                    removed.files += 1;
                    removed.bytes = removed.bytes.saturating_add(found.bytes);
                }
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", found.path.display()))),
            }
        }
        Ok(removed)
    }

    /// Lists the files of the cache, including incomplete ones.
    fn list_files(&self) -> Vec<CachedFile> {
        let mut found = Vec::new();
        collect_files(&self.root, MAX_DEPTH, &mut found);
        found
    }
}

/// A file in a cache directory, complete or not.
struct CachedFile {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
    unfinished: bool,
}

/// Collects the files below a directory, without following links.
fn collect_files(folder: &Path, deep: usize, found: &mut Vec<CachedFile>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() && deep > 0 {
            collect_files(&entry.path(), deep - 1, found);
        } else if about.is_file() {
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED_PREFIX);
            found.push(CachedFile { path: entry.path(), used, bytes: about.len(), unfinished });
        }
    }
}

/// Creates a directory for its owner only, because configurations of private images may contain secrets.
fn create_private_directory(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const SMALL_LIMITS: CacheLimits = CacheLimits { bytes: 1_000, files: 50, every: 1_000_000 };

    fn write_aged_file(folder: &CacheDirectory, name: &str, bytes: usize, age: u64) {
        folder.write(Path::new(name), |file| file.write_all(&vec![7; bytes]));
        let file = File::options().append(true).open(folder.root().join(name)).expect("the file");
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("time");
    }

    #[test]
    fn oldest_cache_entries_are_removed_above_the_size_limit() {
        let place = tempfile::tempdir().expect("folder");
        let folder = CacheDirectory::new(place.path().join("x"), SMALL_LIMITS);
        write_aged_file(&folder, "v1/sha256/a", 400, 300);
        write_aged_file(&folder, "v2/sha256/b", 400, 200);
        write_aged_file(&folder, "c", 400, 100);
        assert_eq!(folder.usage(), CacheUsage { files: 3, bytes: 1_200 });
        assert!(folder.open(Path::new("v1/sha256/a")).is_some(), "used just now");
        for (name, age) in [(".new-1-1", 10), (".new-1-2", 4_000)] {
            write_aged_file(&folder, name, 1, age);
        }
        folder.evict_old_files();
        let there = |name: &str| folder.root().join(name).exists();
        assert_eq!(
            ["v1/sha256/a", "v2/sha256/b", "c", ".new-1-1", ".new-1-2"].map(there),
            [true, false, true, true, false]
        );
        assert_eq!(folder.clear().expect("cleared"), CacheUsage { files: 3, bytes: 801 });
        assert_eq!(folder.usage(), CacheUsage::default());
        assert!(place.path().join("CACHEDIR.TAG").exists(), "it is not of the folder");
    }

    #[cfg(unix)]
    #[test]
    fn cache_cleanup_ignores_outside_files_and_pipes() {
        let place = tempfile::tempdir().expect("folder");
        let folder = CacheDirectory::new(place.path().join("x"), SMALL_LIMITS);
        write_aged_file(&folder, "a", 10, 0);
        let outside = place.path().join("outside");
        fs::create_dir(&outside).expect("folder");
        fs::write(outside.join("file"), vec![0; 5_000]).expect("file");
        std::os::unix::fs::symlink(&outside, folder.root().join("link")).expect("link");
        folder.evict_old_files();
        assert_eq!(folder.clear().expect("cleared"), CacheUsage { files: 1, bytes: 10 });
        assert!(outside.join("file").exists());
        assert!(folder.open(Path::new("link")).is_none(), "a folder is no file");
    }

    #[test]
    fn an_unusable_directory_is_reported_once() {
        let place = tempfile::tempdir().expect("folder");
        fs::write(place.path().join("x"), "a file").expect("file");
        let folder = CacheDirectory::new(place.path().join("x"), SMALL_LIMITS);
        assert_eq!(folder.write_error(), None);
        folder.write(Path::new("a"), |_| Ok(()));
        let error = folder.write_error().expect("a complaint");
        assert!(error.starts_with("cannot write to ") && error.contains("/x: "), "{error}");
        assert_eq!((folder.usage(), folder.clear().expect("nothing")), (CacheUsage::default(), CacheUsage::default()));
        let whole = CacheDirectory::new(place.path().join("y"), SMALL_LIMITS);
        whole.write(Path::new("a"), |_| Err(io::Error::other("the disk is full")));
        assert!(whole.write_error().is_some_and(|error| error.ends_with("the disk is full")));
        assert_eq!(whole.usage(), CacheUsage::default(), "nothing half written stays");
    }
}
