//! Conflicts between a change and unchanged parts of the build: unsupported GPU targets of a compiler, unlabelled
//! wheels, pinned dependencies.

use crate::cuda::CodeTarget;
use crate::fact::{
    IndexSelection, Observations, ObservedArchList, ObservedBase, ObservedPackage, PackageManager, PackageVersion,
};
use crate::fix::arch_lists::PTX_SUFFIX;
use crate::fix::buildability::RequestedPackage;
use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::last_pip_package;
use crate::install::{public_version, range_contains};
use crate::reference::ImageReference;

/// Note for a change whose compiler does not support the requested GPU targets.
const COMPILER_TOO_OLD: &str = "manual: its compiler does not support all requested GPUs";
/// Note for a change that needs a wheel without a local version label.
const UNLABELLED_WHEEL: &str = "manual: a wheel for these platforms has no build in its version: omit the build, and install \
    only from that index";
/// Note for a change with a dependency that is pinned to an incompatible release.
const CONFLICTING_PIN: &str = "manual: one of its dependencies is pinned to a release for another version of it";

/// Returns the note on the conflict that prevents a change from being written, if there is one.
pub(super) fn build_conflict(
    case: &FixContext<'_>,
    wanted: &[RequestedPackage<'_>],
    after: &Observations,
) -> Option<&'static str> {
    if requests_unsupported_targets(case, after) {
        return Some(COMPILER_TOO_OLD);
    }
    let any = |stays: &dyn Fn(&RequestedPackage<'_>) -> bool| wanted.iter().any(stays);
    if any(&|one| conflicts_with_unlabelled_wheel(case, one, after)) {
        return Some(UNLABELLED_WHEEL);
    }
    any(&|one| has_conflicting_pin(case, one, wanted, after)).then_some(CONFLICTING_PIN)
}

/// Whether a compiler is newly requested to build for GPUs that it does not support.
fn requests_unsupported_targets(case: &FixContext<'_>, after: &Observations) -> bool {
    let knowledge = case.knowledge();
    let compiler = |image: &ImageReference| {
        let (repository, tag) = (image.familiar_name(), image.tag()?);
        let of_framework =
            || knowledge.framework_image(&repository, tag).filter(|_| knowledge.flavour_has_compiler(tag));
        knowledge.compiler_cuda(&repository, tag).or_else(|| of_framework().map(|row| row.cuda))
    };
    let refused = |seen: &Observations| -> Vec<CodeTarget> {
        let base = if let ObservedBase::Image(image, _) = &seen.base { Some(image) } else { None };
        let of_list = |list: &ObservedArchList| {
            let row = knowledge.target_set(compiler(list.compiler.as_ref().or(base)?)?)?;
            let targets = list.entries.iter().map(|(_, target)| *target);
            Some(targets.filter(|target| !row.targets.contains(target)).collect::<Vec<_>>())
        };
        let of_command = seen.of_base.arch_lists.iter().filter_map(of_list).flatten();
        let variables = knowledge.cuda_extensions().iter().filter(|row| !row.plain && !row.cmake);
        let of_variable = variables.filter_map(|row| {
            let (Ok(value), _) = seen.env.get(row.variable)? else { return None };
            let row = knowledge.target_set(compiler(base?)?)?;
            let words = value.split([' ', ',', ';']).filter_map(|word| word.trim_end_matches(PTX_SUFFIX).parse().ok());
            Some(words.filter(|target| !row.targets.contains(target)).collect::<Vec<CodeTarget>>())
        });
        of_command.chain(of_variable.flatten()).collect()
    };
    let before = refused(&case.seen);
    refused(after).iter().any(|target| !before.contains(target))
}

/// Whether the only wheel for a platform has no local version label and the requirement cannot select it.
fn conflicts_with_unlabelled_wheel(case: &FixContext<'_>, one: &RequestedPackage<'_>, after: &Observations) -> bool {
    let Some(build) = one.build.filter(|_| case.knowledge().has_variants(one.name)) else { return false };
    let named = last_pip_package(after, one.name)
        .is_some_and(|package| matches!(&package.version, PackageVersion::Exact(text) if text.contains('+')));
    let archs = case.platforms.iter().filter_map(|platform| platform.split('/').nth(1));
    let row = |arch: &str| case.knowledge().torch_build(one.version, build, arch);
    let alone = last_pip_package(after, one.name)
        .is_some_and(|package| package.offered == IndexSelection::Only(build.to_owned()));
    (named || !alone) && archs.into_iter().any(|arch| row(arch).is_some_and(|row| row.unnamed))
}

/// Whether a dependency of the new release is pinned to a version that the release does not accept.
fn has_conflicting_pin(
    case: &FixContext<'_>,
    one: &RequestedPackage<'_>,
    wanted: &[RequestedPackage<'_>],
    after: &Observations,
) -> bool {
    let of_platform = |arch: &str| case.platforms.iter().any(|platform| platform.split('/').nth(1) == Some(arch));
    let rows = case.knowledge().release_asks().iter();
    let rows = rows.filter(|row| row.distribution == one.name && row.version == one.version);
    let mut asked = rows.filter(|row| row.arch.is_none_or(of_platform));
    asked.any(|row| {
        let goes = wanted.iter().any(|one| one.name == row.package);
        let mut own = pinned_packages(after).filter(|(package, _)| !goes && package.name == row.package);
        own.any(|(_, version)| range_contains(row.range, public_version(version)) == Some(false))
    })
}

/// Returns the packages that pip commands pin, with their versions.
fn pinned_packages(seen: &Observations) -> impl Iterator<Item = (&ObservedPackage, &str)> {
    seen.packages.iter().filter(|one| one.manager == PackageManager::Pip).filter_map(|one| match &one.version {
        PackageVersion::Exact(version) => Some((one, version.as_str())),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    })
}
