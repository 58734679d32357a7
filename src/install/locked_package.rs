//! Packages that the lock files of uv, poetry and pdm list.

use std::collections::BTreeMap;

use crate::install::build_variant::tag_of_url;
use crate::install::context::OpenedFile;
use crate::install::effects::{BuildVariant, PackageInstall, VariantSource};
use crate::install::lenient_toml::{TomlTable, text_at, value_at, value_span};
use crate::install::requirement::{normalise_name, package_with_version, set_source};
use crate::model::cause::Cause;
use crate::model::fact::{IndexSelection, PackageVersion};

/// Returns the package in an entry of a lock file.
pub(super) fn locked_package(package: &TomlTable, opened: &OpenedFile) -> Option<PackageInstall> {
    let name = text_at(package, &["name"])?;
    let version = value_at(package, &["version"])?;
    let mut install = package_with_version(
        name,
        PackageVersion::Exact(version.get_ref().as_str()?.to_owned()),
        value_span(version, opened),
    );
    let url =
        [&["source", "registry"][..], &["source", "url"], &["url"]].iter().find_map(|path| value_at(package, path));
    if install.variant.is_none()
        && let Some(url) = url
        && let Some(tag) = url.get_ref().as_str().and_then(tag_of_url)
    {
        let (span, source) = (value_span(url, opened), opened.source);
        install.indexes = IndexSelection::Only(tag.clone());
        install.variant = Some(BuildVariant { tag, from: VariantSource::IndexUrl, span, source });
    }
    install.upgrade = true;
    set_source(&mut install, opened);
    Some(install)
}

/// Merges entries of the same package; several versions make its version unknown.
pub(super) fn merge_duplicates(mut found: Vec<PackageInstall>) -> Vec<PackageInstall> {
    let mut seen: Vec<PackageInstall> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for install in found.drain(..) {
        let name = normalise_name(&install.name);
        match places.get(&name).and_then(|at| seen.get_mut(*at)) {
            Some(own) if own.version != install.version || own.variant != install.variant => {
                own.version = PackageVersion::Unresolved(Cause::SeveralLocked { name: name.clone() });
                let tag = |one: &PackageInstall| one.variant.as_ref().map(|variant| variant.tag.clone());
                if own.variant.is_none() || tag(own) != tag(&install) {
                    own.variant = None;
                    own.indexes = IndexSelection::Unknown(Cause::SeveralLockedBuilds);
                }
            }
            Some(_) => {}
            None => {
                // A name that is not as it is compared is none that another has.
                if install.name == name {
                    places.insert(name, seen.len());
                }
                seen.push(install);
            }
        }
    }
    seen
}
