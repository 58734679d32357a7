//! Changes to an older base image, and which of them are rejected because of the packages that are installed on it.

use crate::cuda::CudaVersion;
use crate::fix::ProposedChange;
use crate::fix::cuda_tag::{CudaTag, cuda_version_from_tag, os_release_number};
use crate::fix::fix_context::FixContext;
use crate::infer::{infer_image_facts, tag_version, variant_cuda};
use crate::judge;
use crate::judge::AnalysisSubject;
use crate::knowledge::Knowledge;
use crate::model::fact::{Component, Observations};
use crate::model::package::{ObservedPackage, PackageManager, PackageVersion};

/// Whether a change selects an older base although the image installs an unpinned framework or a package for newer
/// CUDA. Such a package may not work on that base.
pub(super) fn is_rejected_downgrade(
    case: &FixContext<'_>,
    change: &ProposedChange,
    after: Option<&AnalysisSubject>,
) -> bool {
    if !is_downgrade(change) {
        return false;
    }
    let seen = after.and_then(|subject| judge::observations_for_platform(&subject.content, &case.platform));
    seen.is_some_and(|seen| {
        has_unpinned_framework(&seen, case.knowledge()) || has_package_for_newer_cuda(case, change, &seen)
    })
}

/// Whether the version of a framework, or of a package that installs one, is not pinned.
fn has_unpinned_framework(seen: &Observations, knowledge: Knowledge) -> bool {
    let brings = |name: &str| knowledge.gpu_dependencies_of(name).next().is_some();
    let of_gpu = |name: &str| knowledge.framework(name).is_some() || brings(name);
    pip_and_conda_packages(seen).any(|one| !one.requirement.version.is_exact() && of_gpu(&one.requirement.name))
}

/// Whether something is built for a newer CUDA major release than that of the selected base.
fn has_package_for_newer_cuda(case: &FixContext<'_>, change: &ProposedChange, seen: &Observations) -> bool {
    let knowledge = case.knowledge();
    let Some(base) = selected_base_image(change).and_then(cuda_version_from_tag) else { return false };
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
    let (name, variant) = (package.requirement.name.as_str(), package.variant.as_deref());
    let version =
        if let PackageVersion::Exact(text) = &package.requirement.version { Some(text.as_str()) } else { None };
    let local = || version?.split_once('+').and_then(|(_, local)| variant_cuda(local));
    let of_version = || Some(knowledge.cuda_of_version(name, version?)?.0);
    let of_library = || Some(knowledge.library_wheel_cuda(name, version?)?.0);
    let of_name = || Some(knowledge.cuda_of_name(name)?.0);
    variant.and_then(variant_cuda).or_else(local).or_else(of_version).or_else(of_library).or_else(of_name)
}

/// Returns the packages that pip or conda installs.
fn pip_and_conda_packages(seen: &Observations) -> impl Iterator<Item = &ObservedPackage> {
    seen.packages.iter().filter(|one| matches!(one.requirement.manager, PackageManager::Pip | PackageManager::Conda))
}

/// Returns the base image that a change selects.
fn selected_base_image(change: &ProposedChange) -> Option<&str> {
    match change {
        ProposedChange::Base { to, .. } => Some(to),
        ProposedChange::All(list) => list.iter().find_map(selected_base_image),
        _ => None,
    }
}

/// Describes the move to a tag with an older CUDA major release or an older operating system; `None` if it is
/// neither.
pub(super) fn describe_downgrade(from: &str, to: &str) -> Option<String> {
    let (own, new) = (CudaTag::parse(from)?, CudaTag::parse(to)?);
    let cuda = |tag: &CudaTag<'_>| tag_version(tag.version).parse::<CudaVersion>().ok();
    let (was, is) = (cuda(&own)?, cuda(&new)?);
    let older_cuda = is.major() < was.major();
    let older_system = os_release_number(new.os) < os_release_number(own.os);
    let words = [
        older_cuda.then(|| format!("from CUDA {} to CUDA {}", was.major(), is.major())),
        older_system.then(|| format!("from {} to {}", own.os, new.os)),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| format!("which goes back {}", words.join(" and ")))
}

/// Whether a change selects a CUDA image with an older CUDA major release or an older operating system.
pub(super) fn is_downgrade(change: &ProposedChange) -> bool {
    let tag = |image: &'_ str| image.split('@').next().and_then(|image| Some(image.rsplit_once(':')?.1.to_owned()));
    match change {
        ProposedChange::Base { from, to } => {
            tag(from).zip(tag(to)).is_some_and(|(from, to)| describe_downgrade(&from, &to).is_some())
        }
        ProposedChange::All(list) => list.iter().any(is_downgrade),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_downgrade_is_described_with_both_releases() {
        for (from, to, expected) in [
            (
                "12.4.1-runtime-ubuntu22.04",
                "9.2-runtime-ubuntu16.04",
                Some("which goes back from CUDA 12 to CUDA 9 and from ubuntu22.04 to ubuntu16.04"),
            ),
            (
                "12.4.1-cudnn-devel-ubuntu22.04",
                "12.4.0-devel-ubuntu20.04",
                Some("which goes back from ubuntu22.04 to ubuntu20.04"),
            ),
            ("12.4.1-base-ubuntu22.04", "11.8.0-base-ubuntu22.04", Some("which goes back from CUDA 12 to CUDA 11")),
            ("12.4.1-base-ubuntu22.04", "12.2.2-base-ubuntu22.04", None),
            ("12.4.1-base-ubuntu22.04", "13.0.1-base-ubuntu24.04", None),
            ("12.4.1-base-ubi9", "12.4.1-base-ubi9", None),
            ("latest", "11.8.0-base-ubuntu22.04", None),
        ] {
            assert_eq!(describe_downgrade(from, to).as_deref(), expected, "{from} {to}");
        }
    }
}
