//! Packages that bundle one library for each of several CUDA versions, and the releases of them that fit another
//! build.

use crate::fix::PackageEdit;
use crate::fix::fix_context::FixContext;
use crate::infer::variant_cuda;
use crate::model::package::{ExactVersion, ObservedPackage, PackageManager, PackageVersion};

/// Returns the packages whose bundled libraries do not fit a build, each with its next release that does. Packages
/// without such a release are not changed.
pub(super) fn bundled_companions(case: &FixContext<'_>, build: Option<&str>) -> Vec<PackageEdit> {
    let knowledge = case.knowledge();
    let Some(cuda) = build.and_then(variant_cuda) else { return Vec::new() };
    let has =
        |name: &str, version: &ExactVersion| knowledge.bundles_library_for_cuda(name, version, cuda) == Some(true);
    let companion = |package: &ObservedPackage| {
        let PackageVersion::Exact(text) = &package.requirement.version else { return None };
        let from = text.without_local();
        if knowledge.bundles_library_for_cuda(&package.requirement.name, &from, cuda)? {
            return None;
        }
        let rows = knowledge.bundled_variants().iter().filter(|row| row.distribution == package.requirement.name);
        let next = rows.filter(|row| from.compare(row.from).is_lt() && has(&package.requirement.name, row.from));
        let to = next.map(|row| row.from).min_by(|one, other| one.compare(other))?;
        Some(PackageEdit {
            name: package.requirement.name.clone(),
            from: Some(from.clone()),
            to: to.cloned(),
            build: None,
        })
    };
    let mut found: Vec<PackageEdit> = case
        .seen
        .packages
        .iter()
        .filter(|one| one.requirement.manager == PackageManager::Pip)
        .filter_map(companion)
        .collect();
    found.dedup();
    found
}
