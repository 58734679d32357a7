//! What the name of a file says of a package.

use crate::install::normalised;
use crate::installed::Manager;
use crate::installed::Package;
use crate::installed::kind::Kind;
use crate::installed::kind::kind;
use crate::installed::kind::relative;
use crate::installed::kind::split;
use crate::installed::word;

/// The package whose record a path is, as far as the path says it; whether it counts, [`super::place`] tells.
pub fn named(path: &str) -> Option<Package> {
    let path = relative(path);
    let (folder, name) = split(path);
    match kind(path)? {
        Kind::Named if folder.ends_with("conda-meta") => conda(name),
        Kind::Metadata | Kind::Installer | Kind::Direct => wheel(split(folder).1),
        Kind::Named if name == "RECORD" => wheel(split(folder).1),
        Kind::Egg if name == "PKG-INFO" && folder.ends_with("/EGG-INFO") => egg(split(split(folder).0).1),
        Kind::Egg if name == "PKG-INFO" => egg(split(folder).1),
        Kind::Egg | Kind::EggLink | Kind::Named => egg(name),
        _ => None,
    }
}

/// `torch-2.1.0+cu121.dist-info`.
fn wheel(folder: &str) -> Option<Package> {
    let (name, version) = folder.strip_suffix(".dist-info")?.split_once('-')?;
    python(name, version)
}

/// `six-1.16.0.egg-info`, `PyYAML-6.0-py3.11-linux-x86_64.egg`, `project.egg-info`.
fn egg(name: &str) -> Option<Package> {
    let stem = name.strip_suffix(".egg-info").or_else(|| name.strip_suffix(".egg-link"));
    let stem = stem.or_else(|| name.strip_suffix(".egg"))?;
    let mut parts = stem.split('-');
    python(parts.next()?, parts.next().unwrap_or_default())
}

fn python(name: &str, version: &str) -> Option<Package> {
    let name = normalised(&word(name)?);
    let version = word(version).unwrap_or_default();
    Some(Package { manager: Manager::Python, name, version, build: None })
}

/// `pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0.json`; the last two dashes count.
fn conda(name: &str) -> Option<Package> {
    let mut parts = name.strip_suffix(".json")?.rsplitn(3, '-');
    let build = word(parts.next()?)?;
    let version = word(parts.next()?)?;
    let name = word(parts.next()?)?;
    Some(Package { manager: Manager::Conda, name, version, build: Some(build) })
}
