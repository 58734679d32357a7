//! Search for input files: a single file, or the files of a folder with certain names.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::{DirEntry, WalkBuilder};

use crate::fleet::settings::PathPattern;

/// An input discovered at a path.
#[derive(Debug)]
pub(super) enum DiscoveredInput {
    /// A file to read.
    File(PathBuf),
    /// A Dockerfile that is checked in place of a file that it reads.
    Reader(ReferencingDockerfile),
    /// Standard input.
    Standard,
    /// A path that cannot be searched, and the reason.
    Error(String, String),
}

/// Patterns of the settings that select files in folders.
#[derive(Clone, Debug, Default)]
pub(super) struct FileFilter {
    /// Files that count as Dockerfiles in addition to the usual names.
    pub(super) include: Vec<PathPattern>,
    /// Files that are skipped.
    pub(super) exclude: Vec<PathPattern>,
}

impl FileFilter {
    /// Whether a file in a folder is an input, by its name and full path.
    fn accepts(&self, name: &str, path: &Path) -> bool {
        let fits = |list: &[PathPattern]| list.iter().any(|pattern| pattern.matches(path));
        (is_dockerfile_name(name) || is_description_name(name) || fits(&self.include)) && !fits(&self.exclude)
    }
}

/// Largest size of an ignore file in bytes.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Returns the error for an ignore file in a folder that is not a regular file or is too large to read.
fn ignore_file_error(folder: &Path) -> Option<String> {
    let lists = [".gitignore", ".ignore", ".git/info/exclude"].map(|name| folder.join(name));
    let endless =
        |list: &PathBuf| list.metadata().is_ok_and(|list| !list.is_file() || list.len() > MAX_IGNORE_FILE_BYTES);
    let list = lists.iter().find(|list| endless(list))?;
    Some(format!("{} is not a regular file or is too large, so the directory is not searched", list.display()))
}

/// Returns the input files at a path, those of a folder sorted by name.
pub(super) fn find_inputs(path: &Path, choice: &FileFilter) -> Vec<DiscoveredInput> {
    if path == Path::new("-") {
        return vec![DiscoveredInput::Standard];
    }
    if !path.is_dir() {
        return vec![DiscoveredInput::File(path.to_path_buf())];
    }
    let root = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if let Some(why) = root.ancestors().find_map(ignore_file_error) {
        return vec![DiscoveredInput::Error(path.display().to_string(), why)];
    }
    let endless: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let folder_errors = Arc::clone(&endless);
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .filter_entry(move |entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let why = if folder { ignore_file_error(entry.path()) } else { None };
            if let (Some(why), Ok(mut folder_errors)) = (&why, folder_errors.lock()) {
                folder_errors.push((entry.path().display().to_string(), why.clone()));
            }
            why.is_none() && entry.file_name() != ".git"
        })
        .sort_by_file_name(Ord::cmp)
        .build();
    let file = |entry: Result<DirEntry, ignore::Error>| match entry {
        Ok(entry) => {
            let name = entry.file_name().to_string_lossy();
            let file = entry.file_type().is_some_and(|kind| kind.is_file());
            let below = entry.path();
            let real = below.strip_prefix(path).map_or_else(|_| below.to_path_buf(), |below| root.join(below));
            let shown = below.strip_prefix("./").unwrap_or(below);
            (file && choice.accepts(&name, &real)).then(|| DiscoveredInput::File(shown.to_path_buf()))
        }
        Err(error) => Some(DiscoveredInput::Error(path.display().to_string(), error.to_string())),
    };
    let mut all: Vec<DiscoveredInput> = walk.filter_map(file).collect();
    let endless = endless.lock().map(|mut folder_errors| std::mem::take(&mut *folder_errors)).unwrap_or_default();
    all.extend(endless.into_iter().map(|(folder, why)| DiscoveredInput::Error(folder, why)));
    all
}

/// Suffixes of files that have the name of a Dockerfile and are none: documents, programs and editor backups.
const NON_DOCKERFILE_SUFFIXES: &[&str] = &[".dockerignore", ".md", ".rst", ".py", ".swp", ".swo", ".bak", ".orig", "~"];

/// Whether a file name is that of a Dockerfile: `Dockerfile`, `Containerfile`, `Dockerfile.gpu`, `gpu.dockerfile`, in
/// any case.
pub(super) fn is_dockerfile_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if NON_DOCKERFILE_SUFFIXES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let separated = |rest: &str| rest.is_empty() || rest.starts_with(['.', '_', '-']);
    ["dockerfile", "containerfile"].into_iter().any(|word| {
        name.strip_prefix(word).is_some_and(separated)
            || name.strip_suffix(word).is_some_and(|rest| rest.ends_with(['.', '_', '-']))
    })
}

/// Whether a file name is that of an image description.
pub(super) fn is_description_name(name: &str) -> bool {
    name.ends_with(".image.toml")
}

/// A Dockerfile that reads requirements files or scripts among the inputs.
#[derive(Clone, Debug)]
pub(super) struct ReferencingDockerfile {
    /// The path of the Dockerfile.
    pub(super) path: PathBuf,
    /// The build context in which it reads the files, if that is not its folder.
    pub(super) context: Option<PathBuf>,
    /// The input files that it is checked in place of, as written on the command line.
    pub(super) replaced_inputs: Vec<String>,
}

impl ReferencingDockerfile {
    /// Returns the notes in the report: which input file the Dockerfile is checked in place of.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let context = self.context.as_ref().map_or_else(String::new, |context| {
            let shown = if context.as_os_str().is_empty() { Path::new(".") } else { context };
            format!(" in the build context {}", shown.display())
        });
        self.replaced_inputs.iter().map(move |file| format!("checked in place of {file}, which it reads{context}"))
    }
}

#[cfg(test)]
mod tests {
    use super::is_dockerfile_name;

    #[test]
    fn the_usual_names_are_found_and_no_others() {
        for (name, expected) in [
            ("Dockerfile", true),
            ("dockerfile", true),
            ("Dockerfile.gpu", true),
            ("Dockerfile-gpu", true),
            ("Dockerfile_gpu", true),
            ("gpu.Dockerfile", true),
            ("x.containerfile", true),
            ("Containerfile", true),
            ("dockerfile_guide.rst", false),
            ("Dockerfile.py", false),
            (".Dockerfile.swp", false),
            ("Dockerfile.bak", false),
            ("Dockerfile~", false),
            ("Dockerfile.python", true),
            ("Dockerfiles", false),
            ("mydockerfile", false),
            ("Dockerfile.md", false),
            (".dockerignore", false),
            ("Dockerfile.dockerignore", false),
        ] {
            assert_eq!(is_dockerfile_name(name), expected, "{name}");
        }
    }
}
