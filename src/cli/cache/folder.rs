//! A folder of files that may be gone at any time, shared by processes.

use std::env;
use std::fs;
use std::fs::File;
use std::io;
use std::path;
use std::path::Path;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::SystemTime;

use crate::cli::path_from;

/// A file that is half written for so long will never be whole.
const STALE: Duration = Duration::from_hours(1);
/// What the name of a file begins with until it is whole.
const UNFINISHED: &str = ".new-";
/// Folders below the folder that are looked into.
const DEEP: usize = 3;
/// Marks the folder of all caches for programs that copy or search.
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";

/// What a folder may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes of all files.
    pub(super) bytes: u64,
    /// Files.
    pub(super) files: usize,
    /// After so many files that this process wrote, what is too much goes.
    pub(super) every: u64,
}

/// How much a folder holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// A folder. A file in it appears whole or not at all.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    bounds: Bounds,
    written: AtomicU64,
    /// Why the first file could not be written that could not.
    complaint: Mutex<Option<String>>,
}

/// What the command line says.
static ASKED: OnceLock<PathBuf> = OnceLock::new();

/// Keeps everything in this folder from now on.
pub(crate) fn ask(folder: PathBuf) {
    // The command line is read once.
    let _ = ASKED.set(folder);
}

/// The folder of all caches: that of the command line, else `IMAGELINT_CACHE_DIR`, else in `XDG_CACHE_HOME`, else in
/// `.cache` in the home; none where nothing is known.
pub(super) fn of_user() -> Option<PathBuf> {
    if let Some(asked) = ASKED.get().cloned().or_else(|| path_from("IMAGELINT_CACHE_DIR")) {
        return path::absolute(asked).ok();
    }
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    Some(absolute("XDG_CACHE_HOME").or_else(home)?.join("imagelint"))
}

impl Folder {
    pub(super) fn new(root: PathBuf, bounds: Bounds) -> Self {
        Self { root, bounds, written: AtomicU64::new(0), complaint: Mutex::default() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The file of that name, to read; from now on it is the last that goes.
    pub(super) fn open(&self, name: &Path) -> Option<File> {
        let path = self.root.join(name);
        // Neither a pipe nor a device is waited for.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let _ = file.set_modified(SystemTime::now());
        Some(file)
    }

    /// Takes a file away that turned out to be broken.
    pub(super) fn remove(&self, name: &Path) {
        let _ = fs::remove_file(self.root.join(name));
    }

    /// Writes a file. Where that cannot be, the next run asks again; why is kept for [`Folder::complaint`].
    pub(super) fn write(&self, name: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) {
        if let Err(error) = self.try_write(name, fill) {
            let mut complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
            complaint.get_or_insert_with(|| format!("cannot write to {}: {error}", self.root.display()));
        }
    }

    /// Why something could not be written.
    pub(super) fn complaint(&self) -> Option<String> {
        self.complaint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn try_write(&self, name: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let path = self.root.join(name);
        make(path.parent().unwrap_or(&self.root))?;
        self.tag();
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.root.join(format!("{UNFINISHED}{}-{number}", process::id()));
        let done = File::create(&unfinished)
            .and_then(|mut file| fill(&mut file))
            .and_then(|()| fs::rename(&unfinished, &path));
        if done.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        if number.is_multiple_of(self.bounds.every) {
            self.tidy();
        }
        done
    }

    fn tag(&self) {
        if let Some(tag) = self.root.parent().map(|parent| parent.join("CACHEDIR.TAG")).filter(|tag| !tag.exists()) {
            let _ = fs::write(tag, TAG);
        }
    }

    /// Takes away what was not used for longest until the rest fits.
    pub(super) fn tidy(&self) {
        let now = SystemTime::now();
        let mut kept = Vec::new();
        for found in self.files() {
            let old = || now.duration_since(found.used).is_ok_and(|age| age > STALE);
            match found.unfinished {
                true if old() => drop(fs::remove_file(found.path)),
                true => {}
                false => kept.push(found),
            }
        }
        kept.sort_by(|one, other| other.used.cmp(&one.used).then_with(|| one.path.cmp(&other.path)));
        let mut sum = Usage::default();
        for found in kept {
            sum.bytes = sum.bytes.saturating_add(found.bytes);
            sum.files += 1;
            if sum.bytes > self.bounds.bytes || sum.files > self.bounds.files {
                let _ = fs::remove_file(found.path);
            }
        }
    }

    /// Takes away what this process has begun to write.
    pub(super) fn abandon(&self) {
        let own = format!("{UNFINISHED}{}-", process::id());
        for found in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if found.file_name().to_string_lossy().starts_with(&own) {
                let _ = fs::remove_file(found.path());
            }
        }
    }

    /// How much there is.
    pub(super) fn usage(&self) -> Usage {
        let of =
            |sum: Usage, found: Found| Usage { files: sum.files + 1, bytes: sum.bytes.saturating_add(found.bytes) };
        self.files().into_iter().fold(Usage::default(), of)
    }

    /// Takes everything away, and says how much that was; a file that cannot be taken away is an error.
    pub(super) fn clear(&self) -> io::Result<Usage> {
        let mut gone = Usage::default();
        for found in self.files() {
            match fs::remove_file(&found.path) {
                Ok(()) => {
                    gone.files += 1;
                    gone.bytes = gone.bytes.saturating_add(found.bytes);
                }
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", found.path.display()))),
            }
        }
        Ok(gone)
    }

    fn files(&self) -> Vec<Found> {
        let mut found = Vec::new();
        list(&self.root, DEEP, &mut found);
        found
    }
}

/// A file in the folder.
struct Found {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
    unfinished: bool,
}

/// Lists files, following no link.
fn list(folder: &Path, deep: usize, found: &mut Vec<Found>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() && deep > 0 {
            list(&entry.path(), deep - 1, found);
        } else if about.is_file() {
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            found.push(Found { path: entry.path(), used, bytes: about.len(), unfinished });
        }
    }
}

/// Makes a folder for its owner alone, since configurations of private images may hold secrets.
fn make(folder: &Path) -> io::Result<()> {
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

    const SMALL: Bounds = Bounds { bytes: 1_000, files: 50, every: 1_000_000 };

    fn put(folder: &Folder, name: &str, bytes: usize, age: u64) {
        folder.write(Path::new(name), |file| file.write_all(&vec![7; bytes]));
        let file = File::options().append(true).open(folder.root().join(name)).expect("the file");
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("time");
    }

    #[test]
    fn the_oldest_of_all_subfolders_goes_when_there_is_too_much() {
        let place = tempfile::tempdir().expect("folder");
        let folder = Folder::new(place.path().join("x"), SMALL);
        put(&folder, "v1/sha256/a", 400, 300);
        put(&folder, "v2/sha256/b", 400, 200);
        put(&folder, "c", 400, 100);
        assert_eq!(folder.usage(), Usage { files: 3, bytes: 1_200 });
        assert!(folder.open(Path::new("v1/sha256/a")).is_some(), "used just now");
        for (name, age) in [(".new-1-1", 10), (".new-1-2", 4_000)] {
            put(&folder, name, 1, age);
        }
        folder.tidy();
        let there = |name: &str| folder.root().join(name).exists();
        assert_eq!(
            ["v1/sha256/a", "v2/sha256/b", "c", ".new-1-1", ".new-1-2"].map(there),
            [true, false, true, true, false]
        );
        assert_eq!(folder.clear().expect("cleared"), Usage { files: 3, bytes: 801 });
        assert_eq!(folder.usage(), Usage::default());
        assert!(place.path().join("CACHEDIR.TAG").exists(), "it is not of the folder");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_is_touched_and_no_pipe_is_waited_for() {
        let place = tempfile::tempdir().expect("folder");
        let folder = Folder::new(place.path().join("x"), SMALL);
        put(&folder, "a", 10, 0);
        let outside = place.path().join("outside");
        fs::create_dir(&outside).expect("folder");
        fs::write(outside.join("file"), vec![0; 5_000]).expect("file");
        std::os::unix::fs::symlink(&outside, folder.root().join("link")).expect("link");
        folder.tidy();
        assert_eq!(folder.clear().expect("cleared"), Usage { files: 1, bytes: 10 });
        assert!(outside.join("file").exists());
        assert!(folder.open(Path::new("link")).is_none(), "a folder is no file");
    }

    #[test]
    fn a_folder_that_cannot_be_is_told_once() {
        let place = tempfile::tempdir().expect("folder");
        fs::write(place.path().join("x"), "a file").expect("file");
        let folder = Folder::new(place.path().join("x"), SMALL);
        assert_eq!(folder.complaint(), None);
        folder.write(Path::new("a"), |_| Ok(()));
        let told = folder.complaint().expect("a complaint");
        assert!(told.starts_with("cannot write to ") && told.contains("/x: "), "{told}");
        assert_eq!((folder.usage(), folder.clear().expect("nothing")), (Usage::default(), Usage::default()));
        let whole = Folder::new(place.path().join("y"), SMALL);
        whole.write(Path::new("a"), |_| Err(io::Error::other("the disk is full")));
        assert!(whole.complaint().is_some_and(|told| told.ends_with("the disk is full")));
        assert_eq!(whole.usage(), Usage::default(), "nothing half written stays");
    }
}
