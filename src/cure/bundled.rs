//! Packages with a library for each of several versions of CUDA, which go to a release that has one for another build of
//! what they run on.

use crate::cure::Companion;
use crate::cure::case::Case;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::infer::variant_cuda;
use crate::install::public;
use crate::knowledge::by_number;

/// What has to go with a build: of each such package that has a library now and none for that build, the next release that
/// has one. What has none in any release stays.
pub(super) fn companions(case: &Case<'_>, build: Option<&str>) -> Vec<Companion> {
    let knowledge = case.knowledge();
    let Some(cuda) = build.and_then(variant_cuda) else { return Vec::new() };
    let has = |name: &str, version: &str| knowledge.has_library_for(name, version, cuda) == Some(true);
    let companion = |package: &PackageSeen| {
        let PackageVersion::Exact(text) = &package.version else { return None };
        let from = public(text);
        if knowledge.has_library_for(&package.name, from, cuda)? {
            return None;
        }
        let rows = knowledge.bundled_variants().iter().filter(|row| row.distribution == package.name);
        let next = rows.filter(|row| by_number(from, row.from).is_lt() && has(&package.name, row.from));
        let to = next.map(|row| row.from).min_by(|one, other| by_number(one, other))?;
        Some(Companion { package: package.name.clone(), from: Some(from.to_owned()), to: to.to_owned() })
    };
    let mut found: Vec<Companion> =
        case.seen.packages.iter().filter(|one| one.manager == Manager::Pip).filter_map(companion).collect();
    found.dedup();
    found
}
