//! Packages that run on another package's CUDA runtime but come from an index for another CUDA major version.

use crate::cuda::CudaVersion;
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Component, Derivation, Evidence, FactKey, Facts, InspectionDepth, Observations, ValueState};
use crate::model::package::{IndexSelection, ObservedPackage, PackageManager, PackageVersion};

/// Makes the CUDA of such packages unknown: with which CUDA they run, if any, is unknown.
pub(super) fn mark_mismatched_cuda(
    facts: &mut Facts,
    list: &mut [Component],
    seen: &Observations,
    knowledge: Knowledge,
) {
    if seen.depth != InspectionDepth::Text {
        return;
    }
    for row in knowledge.frameworks() {
        let of_pip = |one: &&ObservedPackage| {
            one.requirement.manager == PackageManager::Pip && one.requirement.name == row.distribution
        };
        let Some(on) = row.cuda_from.and_then(|on| list.iter().find(|one| one.name == on)) else { continue };
        let Some(package) = seen.packages.iter().rfind(of_pip) else { continue };
        let Some(cuda) = on.cuda.known().copied().filter(|_| on.possible_releases.is_empty()) else { continue };
        let Some(why) = explain_other_cuda_index(package, (&on.name, cuda), knowledge) else { continue };
        let from = vec![package.fact, on.cuda.id];
        let Some(own) = list.iter_mut().find(|one| one.name == row.component) else { continue };
        if matches!(own.cuda.state, ValueState::Known(_)) {
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            own.cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(row.component), why, evidence);
            own.possible_releases.clear();
        }
    }
}

/// Explains why a package from an index for other builds, or with another build in its version, does not match a CUDA
/// version.
fn explain_other_cuda_index(
    package: &ObservedPackage,
    (on, cuda): (&str, CudaVersion),
    knowledge: Knowledge,
) -> Option<Cause> {
    // What the default index has of it as well may be taken from there.
    let pages = match &package.requirement.indexes {
        IndexSelection::Only(tag) => std::slice::from_ref(tag),
        IndexSelection::DefaultAndExtra(tags) => tags.as_slice(),
        IndexSelection::Default | IndexSelection::Unknown(_) => &[],
    };
    let of_index = knowledge.has_build_index(&package.requirement.name)
        && !knowledge.is_built_with_torch(&package.requirement.name);
    let pages: Vec<&str> = pages.iter().filter(|_| of_index).map(String::as_str).collect();
    let own = match &package.requirement.version {
        PackageVersion::Exact(version) => build_tag_of_version(version.as_str()),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
    };
    let tags = own.as_deref().map_or(pages, |own| vec![own]);
    let first = *tags.first()?;
    let other = |tag: &&str| variant_cuda(tag).is_some_and(|own| own.major() != cuda.major());
    tags.iter().all(other).then(|| {
        let built_for = variant_cuda(first).map(|own| own.to_string()).unwrap_or_default();
        Cause::BuildForOtherCuda {
            package: package.requirement.name.to_string(),
            built_for,
            other: on.to_owned(),
            cuda,
        }
    })
}

/// Returns the build tag of a version: `cu121` of `2.1.2+pt24cu121`.
fn build_tag_of_version(version: &str) -> Option<String> {
    let (_, local) = version.split_once('+')?;
    let tag = local.get(local.rfind("cu")?..)?;
    let digits = tag.len() - 2;
    ((3..=4).contains(&digits) && variant_cuda(tag).is_some()).then(|| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::build_tag_of_version;

    #[test]
    fn a_build_tag_ends_a_local_version() {
        for (version, expected) in [
            ("2.1.2+pt24cu121", Some("cu121")),
            ("0.6.18+pt24cu118", Some("cu118")),
            ("1.0+cu130", Some("cu130")),
            ("2.1.2+pt24cpu", None),
            ("2.1.2+cu12torch2.4", None),
            ("2.1.2+cu12", None),
            ("2.1.2", None),
            ("2.1.2+documents", None),
        ] {
            assert_eq!(build_tag_of_version(version).as_deref(), expected, "{version}");
        }
    }
}
