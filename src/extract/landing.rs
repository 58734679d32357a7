//! Where packages may lie, and which copied directories bring them along.

use crate::fact::Manager;
use crate::install::normalised;

/// Where packages may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Under the root of a Python environment: `/usr/local`, `/opt/venv`.
    Prefix(String),
    /// In a directory of their own.
    Flat(String),
    /// Under a root that pip was told, whether or not a Python looks there.
    Aside(String),
    /// Under a directory of this name, wherever that is.
    Named(&'static str),
    /// In one of the environments of this directory, under a name that a tool makes up.
    Within(String),
    /// In conda's environment of this name, wherever conda is; in one of any name where it is empty.
    Env(String),
}

/// Environments that a Python without further words may have; which one, the base image knows.
const USUAL: &[&str] = &["/usr/local", "/opt/conda"];

/// Where the packages that an image comes with may lie.
pub(super) fn usual() -> Vec<Place> {
    USUAL.iter().map(|root| Place::Prefix((*root).to_owned())).collect()
}

/// Whether copying `source` out of a stage brings a package that may lie in one of `places`.
pub(super) fn brings(source: &str, manager: Manager, name: &str, places: &[Place]) -> bool {
    let source = rooted(source);
    match manager {
        Manager::Apt => matches!(source.as_str(), "/" | "/usr"),
        Manager::Pip | Manager::Conda => places.iter().any(|place| match place {
            Place::Flat(folder) => covers(&source, folder) || names(below(folder, &source), name),
            Place::Prefix(root) | Place::Aside(root) => covers(&source, root) || library(below(root, &source), name),
            Place::Named(folder) => {
                source == "/" || source.split('/').next_back().is_some_and(|last| last.starts_with(folder))
            }
            Place::Within(folder) => covers(&source, folder) || environment(below(folder, &source), name),
            Place::Env(own) => {
                let whole = format!("{source}/");
                let inside = whole.split_once("/envs/").map(|(_, rest)| rest.trim_end_matches('/'));
                inside.is_some_and(|inside| {
                    let called = inside.split('/').next().unwrap_or_default();
                    (called.is_empty() || own.is_empty() || called == own) && environment(Some(inside), name)
                })
            }
        }),
    }
}

/// Whether the whole tree is copied.
pub(super) fn whole(source: &str) -> bool {
    rooted(source) == "/"
}

/// A source of COPY as a path from the root of its stage, without `.`, `*` and `/` at its end.
fn rooted(source: &str) -> String {
    let parts: Vec<&str> = source.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let parts = if parts.last() == Some(&"*") { parts.get(..parts.len() - 1).unwrap_or_default() } else { &parts };
    format!("/{}", parts.join("/"))
}

fn covers(source: &str, folder: &str) -> bool {
    source == "/" || below(source, folder).is_some()
}

/// What follows `folder` in `path`, where it lies there.
fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Whether a path below a directory of environments is that of one, or holds the package.
fn environment(rest: Option<&str>, name: &str) -> bool {
    rest.is_some_and(|rest| rest.split_once('/').is_none_or(|(_, inside)| library(Some(inside), name)))
}

/// Whether a path below the root of an environment holds the package: `lib`, `lib/python3.11`, its `site-packages`.
fn library(rest: Option<&str>, name: &str) -> bool {
    let Some(rest) = rest else { return false };
    let mut parts = rest.split('/');
    if !parts.next().is_some_and(|part| matches!(part, "lib" | "lib64" | "lib*")) {
        return false;
    }
    match (parts.next(), parts.next()) {
        (None, _) => true,
        (Some(python), None) => python.starts_with("python") || python == "*",
        (Some(_), Some("site-packages" | "dist-packages" | "*-packages")) => {
            parts.next().is_none_or(|own| names(Some(own), name))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Whether a directory name is that of a package, with or without its version.
fn names(own: Option<&str>, name: &str) -> bool {
    own.is_some_and(|own| {
        let own = own.split('/').next().unwrap_or(own);
        let (stem, star) = own.strip_suffix('*').map_or((own, false), |stem| (stem, true));
        own.is_empty() || normalised(stem) == name || (star && name.starts_with(&normalised(stem)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_comes_along_where_its_directory_does() {
        let usual: Vec<Place> = USUAL.iter().map(|root| Place::Prefix((*root).to_owned())).collect();
        let venv = [Place::Prefix("/opt/venv".to_owned())];
        let flat = [Place::Flat("/deps".to_owned())];
        let made = [Place::Within("/app/.pixi/envs".to_owned())];
        let gpu = [Place::Env("gpu".to_owned())];
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
            ("/app/.venv", &[Place::Named(".venv")], true),
            ("/app", &[Place::Named(".venv")], false),
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
            assert_eq!(brings(source, Manager::Pip, "torch", places), expected, "{source} {places:?}");
        }
        assert!(brings("/usr", Manager::Apt, "x", &[]) && !brings("/usr/local", Manager::Apt, "x", &[]));
        assert!(whole("/") && whole("./") && whole("/*") && !whole("/opt"));
    }
}
