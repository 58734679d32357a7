//! Directories that may contain packages, and which copied directories include them.

use crate::model::package::{PackageManager, PackageName};

/// A directory, or a kind of directory, that may contain packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PackageLocation {
    /// Under the root of a Python environment: `/usr/local`, `/opt/venv`.
    Prefix(String),
    /// In a directory of their own.
    Flat(String),
    /// Under a root set by an option of pip, whether or not a Python searches there.
    CustomRoot(String),
    /// Under a directory of this name, wherever that is.
    Named(&'static str),
    /// In one of the environments of this directory, under a name that a tool generates.
    Within(String),
    /// In conda's environment of this name, wherever conda is; in one of any name where it is empty.
    Env(String),
}

impl PackageLocation {
    /// Returns the path of the directory, if it is known.
    pub(super) fn root(&self) -> Option<&str> {
        match self {
            Self::Prefix(root) | Self::Flat(root) | Self::CustomRoot(root) | Self::Within(root) => Some(root),
            Self::Named(_) | Self::Env(_) => None,
        }
    }

    /// Returns the same kind of location at another path.
    pub(super) fn with_root(&self, root: String) -> Self {
        match self {
            Self::Flat(_) => Self::Flat(root),
            Self::CustomRoot(_) => Self::CustomRoot(root),
            Self::Within(_) => Self::Within(root),
            Self::Prefix(_) | Self::Named(_) | Self::Env(_) => Self::Prefix(root),
        }
    }
}

/// Roots of the default Python environment; which one applies depends on the base image.
const DEFAULT_ROOTS: &[&str] = &["/usr/local", "/opt/conda"];

/// Returns the possible locations of the packages of a base image.
pub(super) fn default_locations() -> Vec<PackageLocation> {
    DEFAULT_ROOTS.iter().map(|root| PackageLocation::Prefix((*root).to_owned())).collect()
}

/// Whether copying `source` from a stage includes a package that may be in one of `places`.
pub(super) fn is_package_copied(source: &str, manager: PackageManager, name: &str, places: &[PackageLocation]) -> bool {
    let source = absolute_source(source);
    match manager {
        PackageManager::System => matches!(source.as_str(), "/" | "/usr"),
        PackageManager::Pip | PackageManager::Conda => places.iter().any(|place| match place {
            PackageLocation::Flat(folder) => {
                contains_folder(&source, folder) || is_package_folder(path_below(folder, &source), name)
            }
            PackageLocation::Prefix(root) | PackageLocation::CustomRoot(root) => {
                contains_folder(&source, root) || has_library_package(path_below(root, &source), name)
            }
            PackageLocation::Named(folder) => {
                source == "/" || source.split('/').next_back().is_some_and(|last| last.starts_with(folder))
            }
            PackageLocation::Within(folder) => {
                contains_folder(&source, folder) || has_environment_package(path_below(folder, &source), name)
            }
            PackageLocation::Env(own) => {
                let whole = format!("{source}/");
                let inside = whole.split_once("/envs/").map(|(_, rest)| rest.trim_end_matches('/'));
                inside.is_some_and(|inside| {
                    let called = inside.split('/').next().unwrap_or_default();
                    (called.is_empty() || own.is_empty() || called == own)
                        && has_environment_package(Some(inside), name)
                })
            }
        }),
    }
}

/// Whether a source of COPY is the whole file tree.
pub(super) fn is_whole_tree(source: &str) -> bool {
    absolute_source(source) == "/"
}

/// Returns a source of COPY as an absolute path of its stage, without `.`, `*` and `/` at its end.
fn absolute_source(source: &str) -> String {
    let parts: Vec<&str> = source.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let parts = if parts.last() == Some(&"*") { parts.get(..parts.len() - 1).unwrap_or_default() } else { &parts };
    format!("/{}", parts.join("/"))
}

/// Whether a copied source contains a folder.
fn contains_folder(source: &str, folder: &str) -> bool {
    source == "/" || path_below(source, folder).is_some()
}

/// Returns what follows `folder` in `path`, if the path is in it.
fn path_below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Whether a path below a directory of environments is an environment, or contains the package.
fn has_environment_package(rest: Option<&str>, name: &str) -> bool {
    rest.is_some_and(|rest| rest.split_once('/').is_none_or(|(_, inside)| has_library_package(Some(inside), name)))
}

/// Whether a path below the root of an environment contains the package: `lib`, `lib/python3.11`, its
/// `site-packages`.
fn has_library_package(rest: Option<&str>, name: &str) -> bool {
    let Some(rest) = rest else { return false };
    let mut parts = rest.split('/');
    if !parts.next().is_some_and(|part| matches!(part, "lib" | "lib64" | "lib*")) {
        return false;
    }
    match (parts.next(), parts.next()) {
        (None, _) => true,
        (Some(python), None) => python.starts_with("python") || python == "*",
        (Some(_), Some("site-packages" | "dist-packages" | "*-packages")) => {
            parts.next().is_none_or(|own| is_package_folder(Some(own), name))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Whether a directory name is that of a package, with or without its version.
fn is_package_folder(own: Option<&str>, name: &str) -> bool {
    own.is_some_and(|own| {
        let own = own.split('/').next().unwrap_or(own);
        let (stem, star) = own.strip_suffix('*').map_or((own, false), |stem| (stem, true));
        own.is_empty()
            || PackageName::python(stem) == name
            || (star && name.starts_with(PackageName::python(stem).as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_copied_with_its_directory() {
        let usual: Vec<PackageLocation> =
            DEFAULT_ROOTS.iter().map(|root| PackageLocation::Prefix((*root).to_owned())).collect();
        let venv = [PackageLocation::Prefix("/opt/venv".to_owned())];
        let flat = [PackageLocation::Flat("/deps".to_owned())];
        let made = [PackageLocation::Within("/app/.pixi/envs".to_owned())];
        let gpu = [PackageLocation::Env("gpu".to_owned())];
        for (source, places, expected) in [
            ("/", &usual[..], true),
            (".", &usual, true),
            ("/*", &usual, true),
            ("/usr/local", &usual, true),
            ("/usr/local/lib", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/", &usual, true),
            ("usr/local/lib/python3.10/dist-packages", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/torch", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/tor*", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/numpy", &usual, false),
            ("/opt/conda", &usual, true),
            ("/usr/local/bin", &usual, false),
            ("/usr/local/cuda", &usual, false),
            ("/usr/locale", &usual, false),
            ("/app", &usual, false),
            ("/opt", &venv, true),
            ("/opt/venv", &venv, true),
            ("/opt/venv/lib", &venv, true),
            ("/opt/venv/bin", &venv, false),
            ("/opt/ven", &venv, false),
            ("/usr/local", &venv, false),
            ("/deps", &flat, true),
            ("/deps/torch", &flat, true),
            ("/deps/numpy", &flat, false),
            ("/app/.venv", &[PackageLocation::Named(".venv")], true),
            ("/app", &[PackageLocation::Named(".venv")], false),
            ("/app", &made, true),
            ("/app/.pixi/envs/default", &made, true),
            ("/app/.pixi/envs/default/lib/python3.11/site-packages", &made, true),
            ("/app/.pixi/envs/default/bin", &made, false),
            ("/app/.pixi/cache", &made, false),
            ("/opt/conda/envs/gpu", &gpu, true),
            ("/opt/conda/envs/gpu/lib", &gpu, true),
            ("/opt/conda/envs", &gpu, true),
            ("/opt/conda/envs/web", &gpu, false),
            ("/opt/conda/envs/gpu/bin", &gpu, false),
            ("/opt/conda/bin", &gpu, false),
            ("/srv/environment", &gpu, false),
        ] {
            assert_eq!(
                is_package_copied(source, PackageManager::Pip, "torch", places),
                expected,
                "{source} {places:?}"
            );
        }
        assert!(
            is_package_copied("/usr", PackageManager::System, "x", &[])
                && !is_package_copied("/usr/local", PackageManager::System, "x", &[])
        );
        assert!(is_whole_tree("/") && is_whole_tree("./") && is_whole_tree("/*") && !is_whole_tree("/opt"));
    }
}
