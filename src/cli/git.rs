//! Extracts the files of a git revision into a temporary directory.
//!
//! The program `git` of the user's own search path is called, with fixed arguments, without a shell, and for four
//! things: to find the tree of a revision, the base of two, the files of a tree, and what is in them. None of the four
//! runs filters, hooks, pagers, signatures or text converters, whatever the repository's own configuration says; what
//! is missing in a repository that was fetched in part is not fetched, and no transport may be used.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::cli::text_file::MAX_TEXT_BYTES;

/// Maximum number of files that are extracted from one revision.
const MAX_FILES: usize = 50_000;
/// Maximum total size in bytes of the files that are extracted from one revision.
const MAX_TOTAL_BYTES: u64 = 512 << 20;
/// Maximum size in bytes of the output of git, except for the content of files.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// A git repository with a working tree.
#[derive(Debug)]
pub(crate) struct GitRepository {
    /// The top of the working tree, links followed.
    pub(crate) top: PathBuf,
}

/// A git revision, and the tree of its files.
#[derive(Clone, Debug)]
pub(crate) struct GitRevision {
    /// As given.
    pub(crate) name: String,
    tree: String,
}

/// Kind of the entry at a path of a git tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitTreeEntryKind {
    Folder,
    File,
}

/// A file in a git tree.
struct GitTreeEntry {
    mode: String,
    id: String,
    size: u64,
    path: String,
}

impl GitRepository {
    /// Returns the repository that contains a directory.
    pub(crate) fn find_containing(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let top = folder.ancestors().find(|above| above.join(".git").exists())?;
        Some(Self { top: top.to_path_buf() })
    }

    /// Returns a git command that runs in this repository without hooks, pagers and network access.
    fn git_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.top).arg("--no-pager").arg("--literal-pathspecs");
        for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never"] {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_REPLACE_OBJECTS", "1").env("LC_ALL", "C");
        command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// Runs git and returns its output.
    fn run_git(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut child =
            self.git_command(arguments).stderr(Stdio::null()).spawn().map_err(|error| git_failure(&error))?;
        let mut answer = Vec::new();
        if let Some(out) = child.stdout.take() {
            out.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).map_err(|error| git_failure(&error))?;
        }
        let done = child.wait().map_err(|error| git_failure(&error))?;
        if done.success() { Ok(answer) } else { Err(format!("git {} failed", arguments.first().unwrap_or(&""))) }
    }

    /// Runs git and returns its output as trimmed text; `None` if it fails or prints nothing.
    fn run_git_line(&self, arguments: &[&str]) -> Option<String> {
        let answer = self.run_git(arguments).ok()?;
        let text = String::from_utf8(answer).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Returns the revision of a name; an error message if there is none.
    pub(crate) fn resolve_revision(&self, name: &str) -> Result<GitRevision, String> {
        let wrong = || format!("`{name}` is not a revision of the repository {}", self.top.display());
        if name.is_empty() || name.starts_with('-') {
            return Err(wrong());
        }
        let tree =
            self.run_git_line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{tree}}")]);
        Ok(GitRevision { name: name.to_owned(), tree: tree.ok_or_else(wrong)? })
    }

    /// Returns the merge base of two revisions.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Result<GitRevision, String> {
        for name in [one, other] {
            self.resolve_revision(name)?;
        }
        let base = self.run_git_line(&["merge-base", one, other]);
        let base = base.ok_or_else(|| format!("`{one}` and `{other}` have no common ancestor"))?;
        Ok(GitRevision { name: format!("{one}...{other}"), ..self.resolve_revision(&base)? })
    }

    /// Returns a path relative to the top of the working tree; `None` if it is outside. Links are not followed.
    pub(crate) fn relative_path(&self, path: &Path) -> Option<String> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok()?;
        let mut parts: Vec<&OsStr> = Vec::new();
        let whole = here.join(path);
        for part in whole.components() {
            match part {
                Component::Normal(name) => parts.push(name),
                Component::ParentDir => {
                    parts.pop()?;
                }
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        let whole: PathBuf = std::iter::once(OsStr::new("/")).chain(parts).collect();
        let below = whole.strip_prefix(&self.top).ok()?;
        Some(below.to_str()?.to_owned())
    }

    /// Whether a path exists in a revision.
    pub(crate) fn contains(&self, revision: &GitRevision, path: &str) -> bool {
        self.entry_kind(revision, path).is_some()
    }

    /// Returns the kind of the entry at a path of a revision; `None` if nothing is there.
    fn entry_kind(&self, revision: &GitRevision, path: &str) -> Option<GitTreeEntryKind> {
        match self.run_git_line(&["cat-file", "-t", &format!("{}:{path}", revision.tree)])?.as_str() {
            "tree" => Some(GitTreeEntryKind::Folder),
            "blob" => Some(GitTreeEntryKind::File),
            _ => None,
        }
    }

    /// Extracts the given directories, and those of the given files, with all their contents. Of their parent
    /// directories, and of the directories of `others`, only the files directly in them are extracted.
    pub(crate) fn extract_files(
        &self,
        revision: &GitRevision,
        paths: &[String],
        others: &[String],
    ) -> Result<RevisionSnapshot, String> {
        let mut directories: Vec<(String, bool)> = Vec::new();
        for path in paths {
            let folder = match self.entry_kind(revision, path) {
                None => {
                    let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
                    directories.extend(above.map(|above| (above.to_owned(), false)));
                    continue;
                }
                Some(GitTreeEntryKind::Folder) => path.as_str(),
                Some(GitTreeEntryKind::File) => path.rsplit_once('/').map_or("", |(folder, _)| folder),
            };
            directories.push((folder.to_owned(), true));
            let above = Path::new(folder).ancestors().skip(1).filter_map(Path::to_str);
            directories.extend(above.map(|above| (above.to_owned(), false)));
        }
        let folders = others.iter().map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder));
        directories.extend(folders.map(|folder| (folder.to_owned(), false)));
        directories.sort();
        directories.dedup();
        let mut entries: Vec<GitTreeEntry> = Vec::new();
        for (folder, whole) in &directories {
            entries.extend(self.list_entries(revision, folder, *whole)?);
        }
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        entries.dedup_by(|one, other| one.path == other.path);
        let bytes: u64 = entries.iter().map(|entry| entry.size).filter(|size| *size <= MAX_TEXT_BYTES).sum();
        if entries.len() > MAX_FILES || bytes > MAX_TOTAL_BYTES {
            return Err(format!(
                "{}: the directory is too large ({} files); pass a Dockerfile in its own directory",
                revision.name,
                entries.len()
            ));
        }
        let snapshot = RevisionSnapshot::new()
            .map_err(|error| format!("cannot create a directory for {}: {error}", revision.name))?;
        let filled = self.write_entries(&snapshot, &entries);
        filled.map_err(|error| format!("cannot extract the files of {}: {error}", revision.name))?;
        Ok(snapshot)
    }

    /// Lists the files in a directory of a revision, with subdirectories if `whole` is set.
    fn list_entries(&self, revision: &GitRevision, folder: &str, whole: bool) -> Result<Vec<GitTreeEntry>, String> {
        let mut arguments = vec!["ls-tree", "-z", "-l", "--full-tree"];
        if whole {
            arguments.push("-r");
        }
        let below = format!("{folder}/");
        arguments.push(&revision.tree);
        if !folder.is_empty() {
            arguments.extend(["--", &below]);
        }
        let answer = self.run_git(&arguments)?;
        let entry = |record: &[u8]| {
            let (head, path) = std::str::from_utf8(record).ok()?.split_once('\t')?;
            let mut words = head.split_whitespace();
            let (mode, kind, id, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
            (kind == "blob" && is_safe_path(path)).then(|| GitTreeEntry {
                mode: mode.to_owned(),
                id: id.to_owned(),
                size: size.parse().unwrap_or(0),
                path: path.to_owned(),
            })
        };
        Ok(answer.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Writes the content of tree entries to a snapshot; links come last.
    fn write_entries(&self, snapshot: &RevisionSnapshot, entries: &[GitTreeEntry]) -> io::Result<()> {
        let mut child =
            self.git_command(&["cat-file", "--batch"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(mut ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
        let mut answers = BufReader::new(answers);
        let mut links: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for entry in entries {
            let path = snapshot.folder.join(&entry.path);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above)?;
            }
            // A file that is too long keeps its length, so it is refused as it would be in the work tree.
            if entry.size > MAX_TEXT_BYTES {
                File::create_new(&path)?.set_len(entry.size)?;
                continue;
            }
            writeln!(ask, "{}", entry.id)?;
            ask.flush()?;
            let bytes = read_batch_answer(&mut answers)?;
            if entry.mode == "120000" {
                links.push((path, bytes));
            } else {
                File::create_new(&path)?.write_all(&bytes)?;
            }
        }
        // Links come last: nothing is written through one.
        for (path, target) in links {
            link(&target, &path);
        }
        drop(ask);
        child.wait().map(|_| ())
    }
}

/// Returns the error message for a git that cannot be run.
fn git_failure(error: &io::Error) -> String {
    format!("cannot run git: {error}")
}

/// Reads one answer of `git cat-file --batch`: a line with the length, the bytes, a line break.
fn read_batch_answer(from: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "git did not return a file of the revision");
    let mut head = String::new();
    from.by_ref().take(256).read_line(&mut head)?;
    let mut words = head.split_whitespace().skip(1);
    let (Some("blob"), Some(size)) = (words.next(), words.next().and_then(|size| size.parse::<u64>().ok())) else {
        return Err(wrong());
    };
    if size > MAX_TEXT_BYTES {
        return Err(wrong());
    }
    let mut bytes = Vec::new();
    from.by_ref().take(size).read_to_end(&mut bytes)?;
    let mut end = [0];
    from.read_exact(&mut end)?;
    Ok(bytes)
}

/// Creates a symbolic link; one that cannot be created is missing.
#[cfg(unix)]
fn link(target: &[u8], path: &Path) {
    use std::os::unix::ffi::OsStrExt as _;
    // A link that cannot be created is missing, as if it could not be followed.
    let _ = std::os::unix::fs::symlink(OsStr::from_bytes(target), path);
}

/// Does nothing, because this platform has no symbolic links like those of git.
#[cfg(not(unix))]
fn link(_: &[u8], _: &Path) {}

/// Whether a path in a tree stays below the tree and outside `.git`.
fn is_safe_path(path: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
    !path.contains('\\') && path.split('/').all(part)
}

/// Files of a revision in a temporary directory, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct RevisionSnapshot {
    /// The folder, as if it were the top of the working tree.
    pub(crate) folder: PathBuf,
}

impl RevisionSnapshot {
    /// Creates an empty temporary directory.
    fn new() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let temporary = std::env::temp_dir().canonicalize()?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = temporary.join(format!("imagelint-{}-{number}", std::process::id()));
            match make(&folder) {
                Ok(()) => {
                    let snapshot = Self { folder };
                    // The search for settings in parent directories stops here.
                    fs::create_dir(snapshot.folder.join(".git"))?;
                    return Ok(snapshot);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Creates a directory for its owner only.
#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Creates a directory.
#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

impl Drop for RevisionSnapshot {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_tree_paths_are_rejected() {
        for (path, plain) in [
            ("a", true),
            ("a/b.c/..d", true),
            (".gitignore", true),
            ("../a", false),
            ("a/../../b", false),
            ("/a", false),
            ("a//b", false),
            (".git/config", false),
            ("a/.GIT/hooks/x", false),
            ("a\\..\\b", false),
            ("", false),
        ] {
            assert_eq!(is_safe_path(path), plain, "{path}");
        }
    }

    #[test]
    fn git_blob_has_its_announced_length() {
        assert_eq!(read_batch_answer(&mut &b"0123 blob 3\nabc\n"[..]).ok(), Some(b"abc".to_vec()));
        for wrong in
            [&b"0123 missing\n"[..], b"0123 tree 3\nabc\n", b"0123 blob 99999999999\n", b"0123 blob 3\nab", b""]
        {
            assert!(read_batch_answer(&mut &wrong[..]).is_err(), "{wrong:?}");
        }
    }
}
