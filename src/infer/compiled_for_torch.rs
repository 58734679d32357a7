//! Packages that are compiled for one torch release, in an image with another one.

use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::infer::single_build_framework::{InferenceContext, variant_cuda};
use crate::infer::torch_release::{ImageTorch, TorchInstall};
use crate::infer::unknown_fact::add_unknown_fact;
use crate::infer::unread_installs::explain_possibly_installed;
use crate::knowledge::{Knowledge, RequiresDistRow, RowRange};
use crate::model::cause::Cause;
use crate::model::fact::{Component, Derivation, Evidence, FactKey, Facts, InspectionDepth};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion, VersionRange,
};

/// Marks the CUDA of packages unknown whose torch is not the one they were compiled for: whether they load is
/// unknown.
pub(super) fn mark_incompatible_with_torch(
    facts: &mut Facts,
    found: &mut BTreeMap<&'static str, Component>,
    torch: &ImageTorch<'_>,
    image: InferenceContext<'_>,
) {
    let ImageTorch::Installed(install) = torch else { return };
    // Code that was read in an image is known, whichever torch is installed with it.
    if image.seen.depth != InspectionDepth::Text {
        return;
    }
    for row in image.knowledge.frameworks().iter().filter(|row| row.cuda_from.is_some()) {
        let Some(package) = image.seen.packages.iter().rfind(|package| package.requirement.name == row.distribution)
        else {
            continue;
        };
        let Some(component) = found.get_mut(row.component).filter(|one| !one.cuda.is_unknown()) else { continue };
        if let Some(why) = explain_possibly_installed_build(package, install, image)
            .or_else(|| explain_torch_mismatch(package, install, image))
        {
            let from = vec![package.fact, install.package.fact];
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            let name = component.name.clone();
            component.cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(&name), why, evidence);
            component.possible_releases.clear();
        }
    }
}

/// Explains why the CUDA build of a pinned package is unknown: something unread may have installed it for another
/// CUDA.
fn explain_possibly_installed_build(
    package: &ObservedPackage,
    torch: &TorchInstall<'_>,
    image: InferenceContext<'_>,
) -> Option<Cause> {
    let plain = matches!(&package.requirement.version, PackageVersion::Exact(version) if version.local().is_none());
    explain_possibly_installed(image.seen, package)
        .filter(|_| plain && package.requirement.manager == PackageManager::Pip && torch.variant.is_err())
}

/// Explains why a package may not load with the installed torch; `None` if nothing indicates a mismatch.
fn explain_torch_mismatch(
    package: &ObservedPackage,
    torch: &TorchInstall<'_>,
    image: InferenceContext<'_>,
) -> Option<Cause> {
    // The command that fails installs neither.
    if let Err(why) = &torch.version
        && why.is_failing_install()
        && torch.package.command == package.command
    {
        return Some(why.clone());
    }
    let PackageVersion::Exact(own) = &package.requirement.version else { return None };
    // An earlier command may have installed a build for another CUDA.
    let unknown = torch.version.as_ref().err().or(torch.variant.as_ref().err());
    if let Some(why) = unknown.filter(|why| !why.is_about_unread_base())
        && is_default_build_for_torch(package, own, image)
    {
        return Some(why.clone());
    }
    let Ok(version) = &torch.version else { return None };
    if torch.package.fact == package.fact {
        return None;
    }
    let name = &package.requirement.name;
    let compiled_range = compiled_torch_range(name, own, image.knowledge);
    match compiled_range {
        Some(range) if loads_with_torch(range, version) => explain_cuda_mismatch(package, own, torch, image),
        Some(range) => Some(Cause::CompiledForOtherTorch {
            name: name.as_str().into(),
            release: own.as_str().into(),
            compiled_for: range.as_str().trim_start_matches('=').to_string().into(),
            torch: version.as_str().into(),
            range: range.to_string().into(),
        }),
        // The build of an image, for the torch of that image.
        None if image.build.fact == Some(package.fact) && is_compiled_for_torch(name, image.knowledge) => {
            Some(Cause::BaseTorchReplaced {
                name: name.to_string(),
                release: own.to_string(),
                torch: version.to_string(),
            })
        }
        None => None,
    }
}

/// Explains why a release may not load with the torch version it requires: the two are builds for different CUDA
/// majors.
fn explain_cuda_mismatch(
    package: &ObservedPackage,
    own: &ExactVersion,
    torch: &TorchInstall<'_>,
    image: InferenceContext<'_>,
) -> Option<Cause> {
    let (Ok(version), Ok(Some(tag)), knowledge) = (&torch.version, &torch.variant, image.knowledge) else {
        return None;
    };
    if !is_default_build_for_torch(package, own, image) {
        return None;
    }
    let mut defaults = knowledge.torch_release(version)?.default_variant.iter();
    let expected_cuda = variant_cuda(defaults.find(|one| one.arch == image.arch)?.value)?;
    let here = variant_cuda(tag)?;
    (expected_cuda.major() != here.major()).then(|| Cause::OtherCudaThanTorch {
        name: package.requirement.name.as_str().into(),
        release: own.to_string().into(),
        torch: version.as_str().into(),
        expected: expected_cuda.to_string().into(),
        installed: here.to_string().into(),
    })
}

/// Whether a package is the default build of a release that runs on the CUDA of torch, and the tables list no CUDA of it.
fn is_default_build_for_torch(package: &ObservedPackage, release: &ExactVersion, image: InferenceContext<'_>) -> bool {
    let (name, knowledge) = (&package.requirement.name, image.knowledge);
    package.requirement.manager == PackageManager::Pip
        && package.requirement.indexes == IndexSelection::Default
        && package.variant.is_none()
        && image.build.fact != Some(package.fact)
        && is_compiled_for_torch(name, knowledge)
        && knowledge.framework_build(name, release).is_none_or(|row| row.cuda.is_none())
}

/// Returns the torch range that a release is compiled for, if the tables list it.
fn compiled_torch_range(name: &str, version: &ExactVersion, knowledge: Knowledge) -> Option<RowRange> {
    let is_row = |row: &&RequiresDistRow| row.version.is_some_and(|own| own.is_same(version));
    let pinned = knowledge.torch_requirements_of(name).find(is_row).map(|row| row.range);
    let built = || knowledge.framework_build(name, version).and_then(|row| row.torch);
    pinned.filter(|range| !range.is_any()).or_else(built)
}

/// Whether each release of a distribution is compiled for one torch release.
pub(crate) fn is_compiled_for_torch(name: &str, knowledge: Knowledge) -> bool {
    let has_cuda_of_torch = knowledge.framework(name).is_some_and(|row| row.cuda_from.is_some());
    let pinned = || knowledge.torch_requirements_of(name).any(|row| row.version.is_some());
    let built = || knowledge.framework_releases_of(name).any(|row| row.torch.is_some());
    has_cuda_of_torch && (pinned() || built())
}

/// Whether code for a torch range loads with a release: patch releases of one minor version are compatible.
fn loads_with_torch(range: &VersionRange, version: &ExactVersion) -> bool {
    let minor = |version: &ExactVersion| version.public().parse::<CudaVersion>().map(CudaVersion::release).ok();
    let own = range.pinned_version().and_then(|own| minor(&own));
    let same_minor = own.is_some() && own == minor(version);
    same_minor || range.contains(version) != Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::ParsedText;

    #[test]
    fn only_patches_of_one_minor_are_compatible() {
        for (range, version, expected) in [
            ("==2.6.0", "2.6.0", true),
            ("==2.6.0", "2.6.1", true),
            ("==2.6.0", "2.6.0+cu118", true),
            ("==2.6.0", "2.7.0", false),
            ("==2.6.0", "2.5.1", false),
            ("==2.6.0", "3.6.0", false),
            (">=2.10", "2.14.1", true),
            (">=2.10", "2.6.0", false),
        ] {
            let loads = loads_with_torch(&VersionRange::from(range), &ExactVersion::from(version));
            assert_eq!(loads, expected, "{range} {version}");
        }
    }

    #[test]
    fn compiled_torch_range_is_read_from_the_tables() {
        let knowledge = Knowledge::built_in();
        for (name, version, expected) in [
            ("vllm", "0.8.5.post1", Some("==2.6.0")),
            ("sgl-kernel", "0.3.21", Some("==2.9.1")),
            ("vllm", "0.24.0+092c4842.nv26.7.57386851", None),
            ("vllm", "99.0.0", None),
            ("sgl-kernel", "0.3.20", None),
            ("numpy", "2.0.0", None),
        ] {
            let range = compiled_torch_range(name, &ExactVersion::from(version), knowledge);
            assert_eq!(range.map(ParsedText::as_str), expected, "{name} {version}");
        }
        for (name, expected) in [("vllm", true), ("sgl-kernel", true), ("bitsandbytes", false), ("torchvision", false)]
        {
            assert_eq!(is_compiled_for_torch(name, knowledge), expected, "{name}");
        }
    }
}
