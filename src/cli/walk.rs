//! The files at a path: one that is named, those of a folder by their names.

use std::path::Path;
use std::path::PathBuf;

use ignore::DirEntry;
use ignore::WalkBuilder;

use crate::cli::readers::Reader;

/// Something at a path.
#[derive(Debug)]
pub(super) enum Found {
    File(PathBuf),
    Reader(Reader),
    Standard,
    Error(String, String),
}

/// The files at a path, a folder's sorted.
pub(super) fn found(path: &Path) -> Vec<Found> {
    if path == Path::new("-") {
        return vec![Found::Standard];
    }
    if !path.is_dir() {
        return vec![Found::File(path.to_path_buf())];
    }
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build();
    let file = |entry: Result<DirEntry, ignore::Error>| match entry {
        Ok(entry) => {
            let name = entry.file_name().to_string_lossy();
            let file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path();
            let path = path.strip_prefix("./").unwrap_or(path);
            (file && (is_dockerfile(&name) || is_description(&name))).then(|| Found::File(path.to_path_buf()))
        }
        Err(error) => Some(Found::Error(path.display().to_string(), error.to_string())),
    };
    walk.filter_map(file).collect()
}

/// `Dockerfile`, `Containerfile`, `Dockerfile.gpu`, `gpu.dockerfile`, in any case.
pub(super) fn is_dockerfile(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if [".dockerignore", ".md"].into_iter().any(|ending| name.ends_with(ending)) {
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
