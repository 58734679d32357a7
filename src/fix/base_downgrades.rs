//! Older base images, and which of them are rejected because of the packages that are installed on them.

use crate::cuda::CudaVersion;
use crate::fact::{Component, Observations, ObservedPackage, PackageManager, PackageVersion};
use crate::fix::fix_context::FixContext;
use crate::fix::{ProposedChange, base_image_tags};
use crate::infer::{infer_image_facts, variant_cuda};
use crate::judge;
use crate::judge::AnalysisSubject;
use crate::knowledge::Knowledge;

/// Whether a change selects an older base although the image installs an unpinned framework or a package for newer
/// CUDA. Such a package may not work on that base.
pub(super) fn is_rejected_downgrade(
    case: &FixContext<'_>,
    wish: &ProposedChange,
    after: Option<&AnalysisSubject>,
) -> bool {
    if !base_image_tags::is_downgrade(wish) {
        return false;
    }
    let seen = after.and_then(|subject| judge::observations_for_platform(&subject.content, &case.platform));
    seen.is_some_and(|seen| {
        has_unpinned_framework(&seen, case.knowledge()) || has_package_for_newer_cuda(case, wish, &seen)
    })
}

/// Whether the version of a framework, or of a package that installs one, is not pinned.
fn has_unpinned_framework(seen: &Observations, knowledge: Knowledge) -> bool {
    let brings = |name: &str| knowledge.brought_packages().iter().any(|row| row.distribution == name);
    let of_gpu = |name: &str| knowledge.framework(name).is_some() || brings(name);
    pip_and_conda_packages(seen).any(|one| !matches!(one.version, PackageVersion::Exact(_)) && of_gpu(&one.name))
}

/// Whether something is built for a newer CUDA major release than that of the selected base.
fn has_package_for_newer_cuda(case: &FixContext<'_>, wish: &ProposedChange, seen: &Observations) -> bool {
    let knowledge = case.knowledge();
    let Some(base) = selected_base_image(wish).and_then(base_image_tags::cuda_version_from_tag) else { return false };
    let is_newer = |cuda: CudaVersion| cuda.major() > base.major();
    let of_component = |one: &Component| one.cuda.known().copied().is_some_and(is_newer);
    let component =
        |one: &Component| !one.anonymous && (of_component(one) || one.possible_releases.iter().any(of_component));
    pip_and_conda_packages(seen).any(|one| cuda_version_of_package(one, knowledge).is_some_and(is_newer))
        || infer_image_facts(seen, &case.platform, case.settings.as_of, knowledge)
            .iter()
            .any(|image| image.components.iter().any(component))
}

/// Returns the CUDA version that a package is built for, as its name, version or index states it.
fn cuda_version_of_package(package: &ObservedPackage, knowledge: Knowledge) -> Option<CudaVersion> {
    let (name, variant) = (package.name.as_str(), package.variant.as_deref());
    let version = if let PackageVersion::Exact(text) = &package.version { Some(text.as_str()) } else { None };
    let local = || version?.split_once('+').and_then(|(_, local)| variant_cuda(local));
    let of_version = || Some(knowledge.cuda_of_version(name, version?)?.0);
    let of_library = || Some(knowledge.library_wheel_cuda(name, version?)?.0);
    let of_name = || Some(knowledge.cuda_of_name(name)?.0);
    variant.and_then(variant_cuda).or_else(local).or_else(of_version).or_else(of_library).or_else(of_name)
}

/// Returns the packages that pip or conda installs.
fn pip_and_conda_packages(seen: &Observations) -> impl Iterator<Item = &ObservedPackage> {
    seen.packages.iter().filter(|one| matches!(one.manager, PackageManager::Pip | PackageManager::Conda))
}

/// Returns the base image that a change selects.
fn selected_base_image(wish: &ProposedChange) -> Option<&str> {
    match wish {
        ProposedChange::Base { to, .. } => Some(to),
        ProposedChange::All(list) => list.iter().find_map(selected_base_image),
        _ => None,
    }
}
