//! What stays as it is beside a change, and would not build with it: a compiler's list of GPUs, pins of what comes along.

use crate::cuda::CodeTarget;
use crate::cure::buildable::Wanted;
use crate::cure::case::Case;
use crate::cure::lists::WITH_PTX;
use crate::cure::wish::package_of;
use crate::fact::ArchListSeen;
use crate::fact::BaseSeen;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::install::admits;
use crate::install::public;
use crate::reference::ImageReference;

const OUTGROWN: &str = "manual: its compiler does not support all requested GPUs";
const UNNAMED: &str = "manual: a wheel for these platforms has no build in its version: omit the build, and install \
    only from that index";
const PINNED: &str = "manual: one of its dependencies is pinned to a release for another version of it";

/// What of all that keeps edits from being written.
pub(super) fn stays(case: &Case<'_>, wanted: &[Wanted<'_>], after: &Observations) -> Option<&'static str> {
    if is_outgrown(case, after) {
        return Some(OUTGROWN);
    }
    let any = |stays: &dyn Fn(&Wanted<'_>) -> bool| wanted.iter().any(stays);
    if any(&|one| is_unnamed(case, one, after)) {
        return Some(UNNAMED);
    }
    any(&|one| is_pinned(case, one, wanted, after)).then_some(PINNED)
}

/// Whether a compiler is asked for GPUs that it does not know, where the one that is there now knows them.
fn is_outgrown(case: &Case<'_>, after: &Observations) -> bool {
    let knowledge = case.knowledge();
    let compiler = |image: &ImageReference| {
        let (repository, tag) = (image.familiar(), image.tag()?);
        let of_framework = || knowledge.framework_image(&repository, tag).filter(|_| knowledge.brings_compiler(tag));
        knowledge.compiler_of(&repository, tag).or_else(|| of_framework().map(|row| row.cuda))
    };
    let refused = |seen: &Observations| -> Vec<CodeTarget> {
        let base = if let BaseSeen::Image(image, _) = &seen.base { Some(image) } else { None };
        let of_list = |list: &ArchListSeen| {
            let row = knowledge.target_set(compiler(list.compiler.as_ref().or(base)?)?)?;
            let targets = list.entries.iter().map(|(_, target)| *target);
            Some(targets.filter(|target| !row.targets.contains(target)).collect::<Vec<_>>())
        };
        let of_command = seen.of_base.arch_lists.iter().filter_map(of_list).flatten();
        let variables = knowledge.cuda_extensions().iter().filter(|row| !row.plain && !row.cmake);
        let of_variable = variables.filter_map(|row| {
            let (Ok(value), _) = seen.env.get(row.variable)? else { return None };
            let row = knowledge.target_set(compiler(base?)?)?;
            let words = value.split([' ', ',', ';']).filter_map(|word| word.trim_end_matches(WITH_PTX).parse().ok());
            Some(words.filter(|target| !row.targets.contains(target)).collect::<Vec<CodeTarget>>())
        });
        of_command.chain(of_variable.flatten()).collect()
    };
    let before = refused(&case.seen);
    refused(after).iter().any(|target| !before.contains(target))
}

/// Whether a version names its build where no wheel of it does on a platform of the pools, or such a wheel is asked for
/// beside one without CUDA: installers take that one then.
fn is_unnamed(case: &Case<'_>, one: &Wanted<'_>, after: &Observations) -> bool {
    let Some(build) = one.build.filter(|_| case.knowledge().is_built_framework(one.name)) else { return false };
    let named = package_of(after, one.name)
        .is_some_and(|package| matches!(&package.version, PackageVersion::Exact(text) if text.contains('+')));
    let archs = case.platforms.iter().filter_map(|platform| platform.split('/').nth(1));
    let row = |arch: &str| case.knowledge().torch_build(one.version, build, arch);
    let alone = package_of(after, one.name).is_some_and(|package| package.offered == Offered::Only(build.to_owned()));
    (named || !alone) && archs.into_iter().any(|arch| row(arch).is_some_and(|row| row.unnamed))
}

/// Whether something that another release asks for is pinned beside it to what that one does not take, as far as the tables
/// tell.
fn is_pinned(case: &Case<'_>, one: &Wanted<'_>, wanted: &[Wanted<'_>], after: &Observations) -> bool {
    let of_platform = |arch: &str| case.platforms.iter().any(|platform| platform.split('/').nth(1) == Some(arch));
    let rows = case.knowledge().release_asks().iter();
    let rows = rows.filter(|row| row.distribution == one.name && row.version == one.version);
    let mut asked = rows.filter(|row| row.arch.is_none_or(of_platform));
    asked.any(|row| {
        let goes = wanted.iter().any(|one| one.name == row.package);
        let mut own = pinned(after).filter(|(package, _)| !goes && package.name == row.package);
        own.any(|(_, version)| admits(row.range, public(version)) == Some(false))
    })
}

/// What commands of pip pin.
fn pinned(seen: &Observations) -> impl Iterator<Item = (&PackageSeen, &str)> {
    seen.packages.iter().filter(|one| one.manager == Manager::Pip).filter_map(|one| match &one.version {
        PackageVersion::Exact(version) => Some((one, version.as_str())),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    })
}
