//! The files at a path: one that is named, those of a folder by their names.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use ignore::DirEntry;
use ignore::WalkBuilder;

use crate::cli::readers::Reader;
use crate::settings::PathPattern;

/// Something at a path.
#[derive(Debug)]
pub(super) enum Found {
    File(PathBuf),
    Reader(Reader),
    Standard,
    Error(String, String),
}

/// What the settings say of the files in folders.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// These count as Dockerfiles as well.
    pub(super) include: Vec<PathPattern>,
    /// These are passed over.
    pub(super) exclude: Vec<PathPattern>,
}

impl Choice {
    /// Whether a file in a folder is taken, by its full path.
    fn takes(&self, name: &str, path: &Path) -> bool {
        let fits = |list: &[PathPattern]| list.iter().any(|pattern| pattern.fits(path));
        (is_dockerfile(name) || is_description(name) || fits(&self.include)) && !fits(&self.exclude)
    }
}

/// Longer lists of what is passed over are nobody's.
const LONGEST_LIST: u64 = 1 << 20;

/// A list of what git passes over that is no file, such as a link to a device, or far too long: reading it may not end.
fn endless_list(folder: &Path) -> Option<String> {
    let lists = [".gitignore", ".ignore", ".git/info/exclude"].map(|name| folder.join(name));
    let endless = |list: &PathBuf| list.metadata().is_ok_and(|list| !list.is_file() || list.len() > LONGEST_LIST);
    let list = lists.iter().find(|list| endless(list))?;
    Some(format!("{} is not a regular file or is too large, so the directory is not searched", list.display()))
}

/// The files at a path, a folder's sorted.
pub(super) fn found(path: &Path, choice: &Choice) -> Vec<Found> {
    if path == Path::new("-") {
        return vec![Found::Standard];
    }
    if !path.is_dir() {
        return vec![Found::File(path.to_path_buf())];
    }
    let root = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if let Some(why) = root.ancestors().find_map(endless_list) {
        return vec![Found::Error(path.display().to_string(), why)];
    }
    let endless: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let told = Arc::clone(&endless);
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .filter_entry(move |entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let why = if folder { endless_list(entry.path()) } else { None };
            if let (Some(why), Ok(mut told)) = (&why, told.lock()) {
                told.push((entry.path().display().to_string(), why.clone()));
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
            (file && choice.takes(&name, &real)).then(|| Found::File(shown.to_path_buf()))
        }
        Err(error) => Some(Found::Error(path.display().to_string(), error.to_string())),
    };
    let mut all: Vec<Found> = walk.filter_map(file).collect();
    let endless = endless.lock().map(|mut told| std::mem::take(&mut *told)).unwrap_or_default();
    all.extend(endless.into_iter().map(|(folder, why)| Found::Error(folder, why)));
    all
}

/// How files end that have the name of a Dockerfile and are none: lists, documents, programs, and what editors leave.
const OTHER: &[&str] = &[".dockerignore", ".md", ".rst", ".py", ".swp", ".swo", ".bak", ".orig", "~"];

/// `Dockerfile`, `Containerfile`, `Dockerfile.gpu`, `gpu.dockerfile`, in any case.
pub(super) fn is_dockerfile(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if OTHER.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let separated = |rest: &str| rest.is_empty() || rest.starts_with(['.', '_', '-']);
    ["dockerfile", "containerfile"].into_iter().any(|word| {
        name.strip_prefix(word).is_some_and(separated)
            || name.strip_suffix(word).is_some_and(|rest| rest.ends_with(['.', '_', '-']))
    })
}

pub(super) fn is_description(name: &str) -> bool {
    name.ends_with(".image.toml")
}

#[cfg(test)]
mod tests {
    use super::is_dockerfile;

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
            assert_eq!(is_dockerfile(name), expected, "{name}");
        }
    }
}
