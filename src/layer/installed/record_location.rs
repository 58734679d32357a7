//! Decides whether the record at a path is an installed package, and for which interpreter.

use crate::layer::installed::file_kind::{InstalledFileKind, classify_file, relative_path, split_directory};

/// A directory that an interpreter imports from by default, or that contains conda records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageDirectory {
    /// The folder: `opt/venv/lib/python3.11/site-packages`.
    pub folder: String,
    /// The environment: `opt/venv`.
    pub prefix: String,
    /// Python, if the directory contains it: `3.11`.
    pub python: Option<String>,
}

/// The location of the record of a distribution or package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordLocation {
    /// The single database of a system package manager.
    System,
    /// A package directory of an interpreter or of conda.
    Site(PackageDirectory),
    /// A directory that nothing imports from by default: `pip install --target`, or sources.
    OffImportPath(String),
    /// Not installed: in a cache, inside another package, a remainder of a build, or test data.
    NotInstalled,
}

/// Returns the location of the record or build metadata at a path; `None` for any other path.
pub fn locate_record(path: &str) -> Option<RecordLocation> {
    let path = relative_path(path);
    let (folder, name) = split_directory(path);
    let site = match classify_file(path)? {
        InstalledFileKind::Metadata | InstalledFileKind::Installer | InstalledFileKind::Direct => {
            split_directory(folder).0
        }
        // `x.egg-info/PKG-INFO`, `x.egg/EGG-INFO/PKG-INFO`, or the file `x.egg-info`.
        InstalledFileKind::Egg if name == "PKG-INFO" && folder.ends_with("/EGG-INFO") => {
            split_directory(split_directory(folder).0).0
        }
        InstalledFileKind::Egg if name == "PKG-INFO" => split_directory(folder).0,
        InstalledFileKind::Built(row) => path.strip_suffix(row.file)?.trim_end_matches('/'),
        InstalledFileKind::Named if name == "RECORD" => split_directory(folder).0,
        InstalledFileKind::Named if folder.ends_with("conda-meta") => return Some(conda_location(folder)),
        InstalledFileKind::Egg | InstalledFileKind::EggLink | InstalledFileKind::Folders | InstalledFileKind::Named => {
            folder
        }
        InstalledFileKind::Environment => return Some(environment_location(folder)),
        _ => return Some(RecordLocation::System),
    };
    Some(location_of_directory(site))
}

/// Whether a path component is `site-packages` or `dist-packages`.
fn is_site_packages(part: &str) -> bool {
    matches!(part, "site-packages" | "dist-packages")
}

/// Returns the location for a directory that contains records.
fn location_of_directory(folder: &str) -> RecordLocation {
    let kept = is_cache_or_build_path(folder);
    let above = split_directory(folder).0;
    // Deeper records belong to another package.
    if kept || above.split('/').any(is_site_packages) {
        return RecordLocation::NotInstalled;
    }
    let python = folder.rsplit('/').find_map(python_version_of_directory);
    if is_site_packages(split_directory(folder).1) {
        let prefix = environment_prefix(above).to_owned();
        return RecordLocation::Site(PackageDirectory { folder: folder.to_owned(), prefix, python });
    }
    // The standard library, and `__pypackages__/3.11/lib`.
    if python_version_of_directory(split_directory(folder).1).is_some()
        && matches!(split_directory(above).1, "lib" | "lib64")
    {
        return RecordLocation::Site(PackageDirectory {
            folder: folder.to_owned(),
            prefix: environment_prefix(folder).to_owned(),
            python,
        });
    }
    if let Some((prefix, version)) = above.rsplit_once("__pypackages__/")
        && split_directory(folder).1 == "lib"
        && !version.contains('/')
    {
        let prefix = prefix.trim_end_matches('/').to_owned();
        return RecordLocation::Site(PackageDirectory {
            folder: folder.to_owned(),
            prefix,
            python: parse_minor_version(version),
        });
    }
    let of_tests =
        |part: &str| matches!(part, "test" | "tests" | "testing" | "testdata" | "test_data" | "fixtures" | "_vendor");
    if folder.split('/').any(of_tests) {
        RecordLocation::NotInstalled
    } else {
        RecordLocation::OffImportPath(folder.to_owned())
    }
}

/// Returns the location for a `conda-meta` directory.
fn conda_location(folder: &str) -> RecordLocation {
    if is_cache_or_build_path(folder) {
        return RecordLocation::NotInstalled;
    }
    let prefix = split_directory(folder).0.to_owned();
    RecordLocation::Site(PackageDirectory { folder: folder.to_owned(), prefix, python: None })
}

/// Returns the location for a virtual environment.
fn environment_location(folder: &str) -> RecordLocation {
    if is_cache_or_build_path(folder) || folder.split('/').any(is_site_packages) {
        return RecordLocation::NotInstalled;
    }
    RecordLocation::Site(PackageDirectory { folder: folder.to_owned(), prefix: folder.to_owned(), python: None })
}

/// Returns `opt/venv` for `opt/venv/lib/python3.11`.
fn environment_prefix(folder: &str) -> &str {
    let (above, last) = split_directory(folder);
    let above = if python_version_of_directory(last).is_some() || matches!(last, "python2" | "python3") {
        above
    } else {
        folder
    };
    match split_directory(above) {
        (prefix, "lib" | "lib64") => prefix,
        _ => above,
    }
}

/// Returns `3.11` for `python3.11` and `pypy3.11`; `None` for `python3`.
fn python_version_of_directory(part: &str) -> Option<String> {
    parse_minor_version(part.strip_prefix("python").or_else(|| part.strip_prefix("pypy"))?)
}

/// Parses a version of two numbers, with an optional `t` for free-threaded builds.
fn parse_minor_version(text: &str) -> Option<String> {
    let (major, minor) = text.split_once('.')?;
    // Builds without the global lock are called `3.13t`.
    let minor = minor.strip_suffix('t').unwrap_or(minor);
    let number = |text: &str| !text.is_empty() && text.len() < 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(major) && number(minor)).then(|| format!("{major}.{minor}"))
}

/// Whether a path is in a cache or a remainder of a build.
pub fn is_cache_or_build_path(path: &str) -> bool {
    let folder = relative_path(path);
    if folder.starts_with("tmp/") || folder.starts_with("var/tmp/") {
        return true;
    }
    let mut parts = folder.split('/').peekable();
    while let Some(part) = parts.next() {
        let kept = match part {
            // Poetry has its environments among its caches.
            ".cache" => !parts.clone().any(|part| part == "virtualenvs"),
            "pkgs" => parts.peek().is_some_and(|next| is_conda_package_directory(next)),
            _ => is_uv_cache_bucket(part),
        };
        if kept {
            return true;
        }
    }
    false
}

/// Whether a path component is a bucket of the uv cache, which may be anywhere: `archive-v0`.
fn is_uv_cache_bucket(part: &str) -> bool {
    part.rsplit_once("-v").is_some_and(|(what, version)| {
        matches!(what, "archive" | "builds" | "environments" | "sdists" | "wheels")
            && !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a path component is an extracted conda package: `numpy-1.26.4-py311h64a7726_0`.
fn is_conda_package_directory(part: &str) -> bool {
    let mut pieces = part.rsplit('-');
    let build = pieces.next().is_some_and(|build| !build.is_empty());
    let version = pieces.next().is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    build && version && pieces.next().is_some()
}
