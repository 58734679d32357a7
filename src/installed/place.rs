//! Whether what a path speaks of is installed there, and for which interpreter.

use crate::installed::kind::Kind;
use crate::installed::kind::kind;
use crate::installed::kind::relative;
use crate::installed::kind::split;

/// A folder that an interpreter imports from by itself, or the records of conda.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The folder: `opt/venv/lib/python3.11/site-packages`.
    pub folder: String,
    /// The environment: `opt/venv`.
    pub prefix: String,
    /// Python, where the folder says it: `3.11`.
    pub python: Option<String>,
}

/// Where the record of a distribution or package is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The one place where a system has it.
    System,
    /// Among the packages of an interpreter or of conda.
    Site(Site),
    /// In a folder that nothing imports from by itself: `pip install --target`, or sources.
    Loose(String),
    /// Not installed: in the cache of a tool, inside another package, left over from a build, or somebody's test data.
    Kept,
}

/// Where the record or build file at a path is; none where the path is not that of one.
pub fn place(path: &str) -> Option<Place> {
    let path = relative(path);
    let (folder, name) = split(path);
    let site = match kind(path)? {
        Kind::Metadata | Kind::Installer | Kind::Direct => split(folder).0,
        // `x.egg-info/PKG-INFO`, `x.egg/EGG-INFO/PKG-INFO`, or the file `x.egg-info`.
        Kind::Egg if name == "PKG-INFO" && folder.ends_with("/EGG-INFO") => split(split(folder).0).0,
        Kind::Egg if name == "PKG-INFO" => split(folder).0,
        Kind::Built(row) => path.strip_suffix(row.file)?.trim_end_matches('/'),
        Kind::Named if name == "RECORD" => split(folder).0,
        Kind::Named if folder.ends_with("conda-meta") => return Some(conda(folder)),
        Kind::Egg | Kind::EggLink | Kind::Folders | Kind::Named => folder,
        Kind::Environment => return Some(environment(folder)),
        _ => return Some(Place::System),
    };
    Some(of_folder(site))
}

fn is_packages(part: &str) -> bool {
    matches!(part, "site-packages" | "dist-packages")
}

fn of_folder(folder: &str) -> Place {
    let kept = is_kept(folder);
    let above = split(folder).0;
    // What lies deeper belongs to another package.
    if kept || above.split('/').any(is_packages) {
        return Place::Kept;
    }
    let python = folder.rsplit('/').find_map(python_of);
    if is_packages(split(folder).1) {
        let prefix = prefix(above).to_owned();
        return Place::Site(Site { folder: folder.to_owned(), prefix, python });
    }
    // The standard library, and `__pypackages__/3.11/lib`.
    if python_of(split(folder).1).is_some() && matches!(split(above).1, "lib" | "lib64") {
        return Place::Site(Site { folder: folder.to_owned(), prefix: prefix(folder).to_owned(), python });
    }
    if let Some((prefix, version)) = above.rsplit_once("__pypackages__/")
        && split(folder).1 == "lib"
        && !version.contains('/')
    {
        let prefix = prefix.trim_end_matches('/').to_owned();
        return Place::Site(Site { folder: folder.to_owned(), prefix, python: minor(version) });
    }
    let of_tests =
        |part: &str| matches!(part, "test" | "tests" | "testing" | "testdata" | "test_data" | "fixtures" | "_vendor");
    if folder.split('/').any(of_tests) { Place::Kept } else { Place::Loose(folder.to_owned()) }
}

fn conda(folder: &str) -> Place {
    if is_kept(folder) {
        return Place::Kept;
    }
    let prefix = split(folder).0.to_owned();
    Place::Site(Site { folder: folder.to_owned(), prefix, python: None })
}

fn environment(folder: &str) -> Place {
    if is_kept(folder) || folder.split('/').any(is_packages) {
        return Place::Kept;
    }
    Place::Site(Site { folder: folder.to_owned(), prefix: folder.to_owned(), python: None })
}

/// `opt/venv` of `opt/venv/lib/python3.11`.
fn prefix(folder: &str) -> &str {
    let (above, last) = split(folder);
    let above = if python_of(last).is_some() || matches!(last, "python2" | "python3") { above } else { folder };
    match split(above) {
        (prefix, "lib" | "lib64") => prefix,
        _ => above,
    }
}

/// `3.11` of `python3.11` and `pypy3.11`; none of `python3`.
fn python_of(part: &str) -> Option<String> {
    minor(part.strip_prefix("python").or_else(|| part.strip_prefix("pypy"))?)
}

fn minor(text: &str) -> Option<String> {
    let (major, minor) = text.split_once('.')?;
    // Builds without the global lock are called `3.13t`.
    let minor = minor.strip_suffix('t').unwrap_or(minor);
    let number = |text: &str| !text.is_empty() && text.len() < 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(major) && number(minor)).then(|| format!("{major}.{minor}"))
}

/// Whether a path is in the cache of a tool or left over from a build.
pub fn is_kept(path: &str) -> bool {
    let folder = relative(path);
    if folder.starts_with("tmp/") || folder.starts_with("var/tmp/") {
        return true;
    }
    let mut parts = folder.split('/').peekable();
    while let Some(part) = parts.next() {
        let kept = match part {
            // Poetry has its environments among its caches.
            ".cache" => !parts.clone().any(|part| part == "virtualenvs"),
            "pkgs" => parts.peek().is_some_and(|next| is_conda_package(next)),
            _ => is_bucket(part),
        };
        if kept {
            return true;
        }
    }
    false
}

/// A part of the cache of uv, which may lie anywhere: `archive-v0`.
fn is_bucket(part: &str) -> bool {
    part.rsplit_once("-v").is_some_and(|(what, version)| {
        matches!(what, "archive" | "builds" | "environments" | "sdists" | "wheels")
            && !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// `numpy-1.26.4-py311h64a7726_0`.
fn is_conda_package(part: &str) -> bool {
    let mut pieces = part.rsplit('-');
    let build = pieces.next().is_some_and(|build| !build.is_empty());
    let version = pieces.next().is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    build && version && pieces.next().is_some()
}
