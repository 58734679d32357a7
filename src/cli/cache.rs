//! What registries gave under a digest, kept on the disk for the next run.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::SystemTime;

use crate::oci::Keep;

/// A manifest or configuration that is longer is not kept.
const LONGEST: u64 = 8 << 20;
/// What all of them may take.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 4096;
/// A file that is half written for so long will never be whole.
const STALE: Duration = Duration::from_hours(1);
/// What the name of a file begins with until it is whole.
const UNFINISHED: &str = ".new-";

/// A folder with one file for each digest. Processes share it: a file appears whole or not at all.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// How many files this process wrote.
    written: Mutex<u64>,
}

impl Cache {
    /// The user's own: in `XDG_CACHE_HOME`, else in `.cache` in the home; none where neither is known.
    pub(crate) fn of_user() -> Option<Arc<dyn Keep>> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || absolute("HOME").map(|home| home.join(".cache"));
        let folder = absolute("XDG_CACHE_HOME").or_else(home)?.join("imagelint").join("by-digest");
        Some(Arc::new(Self::new(folder)))
    }

    fn new(folder: PathBuf) -> Self {
        Self { folder, written: Mutex::default() }
    }

    /// Where a digest lies; its form is checked, since it becomes the name of a file.
    fn path(&self, digest: &str) -> Option<PathBuf> {
        let (algorithm, hex) = digest.split_once(':')?;
        let good = matches!(algorithm, "sha256" | "sha512") && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        good.then(|| self.folder.join(format!("{algorithm}-{hex}")))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Option<()> {
        make(&self.folder)?;
        let number = {
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            *written += 1;
            *written
        };
        let unfinished = self.folder.join(format!("{UNFINISHED}{}-{number}", process::id()));
        let done = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, path));
        if done.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        if number % 64 == 1 {
            self.tidy();
        }
        done.ok()
    }

    /// Takes away what was not used for longest until the rest fits.
    fn tidy(&self) {
        let now = SystemTime::now();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if unfinished && now.duration_since(used).is_ok_and(|age| age > STALE) {
                let _ = fs::remove_file(entry.path());
            } else if about.is_file() && !unfinished {
                files.push((used, about.len(), entry.path()));
            }
        }
        files.sort_by(|one, other| other.cmp(one));
        let (mut bytes, mut count) = (0_u64, 0_usize);
        for (_, length, path) in files {
            bytes = bytes.saturating_add(length);
            count += 1;
            if bytes > MOST_BYTES || count > MOST_FILES {
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl Keep for Cache {
    fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let file = File::options().read(true).open(self.path(digest)?).ok()?;
        file.metadata().ok().filter(fs::Metadata::is_file)?;
        // What is used stays.
        let _ = file.set_modified(SystemTime::now());
        let mut bytes = Vec::new();
        (&file).take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn put(&self, digest: &str, bytes: &[u8]) {
        let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= LONGEST);
        if let Some(path) = self.path(digest).filter(|_| fits) {
            // Without a cache the next run asks again.
            let _ = self.write(&path, bytes);
        }
    }
}

/// Makes the folder for its owner alone, since configurations of private images may hold secrets.
fn make(folder: &Path) -> Option<()> {
    if folder.is_dir() {
        return Some(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).ok()?;
    // For programs that copy or search caches.
    if folder.file_name() == Some(OsStr::new("by-digest")) {
        let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
        let _ = folder.parent().map(|parent| fs::write(parent.join("CACHEDIR.TAG"), tag));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> String {
        format!("sha256:{number:064x}")
    }

    #[test]
    fn what_is_kept_comes_back_and_strange_names_do_not() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::new(folder.path().join("by-digest"));
        assert_eq!(cache.get(&digest(1)), None);
        cache.put(&digest(1), b"one");
        assert_eq!(cache.get(&digest(1)).as_deref(), Some(&b"one"[..]));
        for bad in ["sha256:../../x", "sha256", "md5:00", "sha256:/etc/passwd", "", "sha256:a/b"] {
            cache.put(bad, b"x");
            assert_eq!(cache.get(bad), None, "{bad}");
        }
        cache.put(&digest(2), &vec![0; (8 << 20) + 1]);
        assert_eq!(cache.get(&digest(2)), None, "too long");
        assert_eq!(fs::read_dir(folder.path().join("by-digest")).expect("folder").count(), 1);
    }

    #[test]
    fn the_oldest_goes_when_there_is_too_much() {
        let folder = tempfile::tempdir().expect("folder");
        let cache = Cache::new(folder.path().to_path_buf());
        for number in 0..20 {
            cache.put(&digest(number), &vec![0; 4 << 20]);
            let file = File::options().append(true).open(cache.path(&digest(number)).expect("path")).expect("file");
            let age = Duration::from_secs(1_000 - u64::try_from(number).expect("small"));
            file.set_modified(SystemTime::now() - age).expect("time");
        }
        assert!(cache.get(&digest(0)).is_some(), "used just now");
        fs::write(folder.path().join(".new-1-1"), b"x").expect("file");
        cache.tidy();
        let kept: Vec<usize> =
            (0..20).filter(|number| cache.path(&digest(*number)).is_some_and(|path| path.exists())).collect();
        assert_eq!(kept, [&[0][..], &(5..20).collect::<Vec<_>>()].concat());
        assert!(folder.path().join(".new-1-1").exists(), "another process writes it");
    }

    #[test]
    fn many_writers_and_readers_never_see_half_a_file() {
        let folder = tempfile::tempdir().expect("folder");
        let bytes = vec![7; 300_000];
        let numbers: Vec<usize> = (0..200).collect();
        let whole = crate::cli::parallel::map(8, &numbers, |number| {
            let cache = Cache::new(folder.path().join("x"));
            cache.put(&digest(number % 3), &bytes);
            cache.get(&digest(number % 3)).is_none_or(|read| read == bytes)
        });
        assert!(whole.iter().all(|whole| *whole));
        assert!(Cache::new(folder.path().join("x")).get(&digest(2)).is_some());
    }
}
