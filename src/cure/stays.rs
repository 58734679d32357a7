//! What stays as it is beside a change, and would not build with it or be of another build: a compiler's list of GPUs, pages
//! of wheels, pins of what comes along.

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::cure::buildable::Wanted;
use crate::cure::case::Case;
use crate::cure::lists::WITH_PTX;
use crate::cure::wish::package_of;
use crate::cure::write::addresses;
use crate::cure::write::is_known;
use crate::edit::TextEdit;
use crate::fact::ArchListSeen;
use crate::fact::BaseSeen;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::infer::variant_cuda;
use crate::install::admits;
use crate::install::public;
use crate::judge::Content;
use crate::reference::ImageReference;
use crate::source::Span;

const OUTGROWN: &str = "by hand: its compiler does not know all of the GPUs that it is asked for";
const UNNAMED: &str = "by hand: no wheel for arm64 names its build in the version: ask for the release alone, from that index and no other";
const PAGED: &str = "by hand: a page of wheels for another build of it is named beside it";
const PINNED: &str =
    "by hand: what it asks for itself is pinned beside it, to a release that goes with another one of it";
const LIBRARIES: &str = "by hand: wheels of libraries for another CUDA major are pinned beside it";

/// What of all that keeps edits from being written.
pub(super) fn stays(
    case: &Case<'_>,
    wanted: &[Wanted<'_>],
    edits: &[TextEdit],
    after: &Observations,
) -> Option<&'static str> {
    if is_outgrown(case, after) {
        return Some(OUTGROWN);
    }
    let any = |stays: &dyn Fn(&Wanted<'_>) -> bool| wanted.iter().any(stays);
    if any(&|one| is_unnamed(case, one, after)) {
        return Some(UNNAMED);
    }
    if any(&|one| is_paged(case, one, edits)) {
        return Some(PAGED);
    }
    if any(&|one| is_pinned(case, one, wanted, after)) {
        return Some(PINNED);
    }
    any(&|one| has_libraries(case, one, after)).then_some(LIBRARIES)
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

/// Whether a text that is read names an address of wheels for another build or release of it, that no edit changes and of
/// which the tables do not know what else lies there.
fn is_paged(case: &Case<'_>, one: &Wanted<'_>, edits: &[TextEdit]) -> bool {
    let Content::Dockerfile { source, files, .. } = &case.subject.content else { return false };
    if one.build.is_none() || !case.knowledge().is_built_framework(one.name) {
        return false;
    }
    let read = files.asked().filter_map(|(_, file)| Some(file.as_ref().ok()?.source));
    read.chain([*source]).any(|source| {
        let text = case.settings.sources.get(source).text();
        let stays = |span: &Span| {
            let meets = |edit: &TextEdit| {
                edit.source == source
                    && edit.span.start < span.end
                    && span.start < edit.span.end.max(edit.span.start + 1)
            };
            !edits.iter().any(meets)
        };
        addresses(text).into_iter().filter(stays).any(|span| {
            let address = text.get(span.start..span.end).unwrap_or_default();
            !is_known(case, address) && is_of_another(address, one)
        })
    })
}

/// Whether an address names another build of a framework, or another release: `torch-2.6.0+cu124`, `cu121/torch2.4`.
fn is_of_another(address: &str, one: &Wanted<'_>) -> bool {
    let pieces = || address.split(['/', '+', '-', '_', '?', '=']).map(|piece| piece.trim_end_matches(".html"));
    let build = |piece: &str| variant_cuda(piece).is_some() && Some(piece) != one.build;
    let release = |rest: &str| {
        let rest = rest.trim_start_matches('-');
        let version: &str = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let version = version.trim_end_matches('.');
        let same =
            one.version == version || one.version.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        !version.is_empty() && !same
    };
    pieces().any(build) || address.split(one.name).skip(1).any(release)
}

/// Whether something that another release asks for is pinned beside it to what that one does not take, as far as is known
/// of the newest.
fn is_pinned(case: &Case<'_>, one: &Wanted<'_>, wanted: &[Wanted<'_>], after: &Observations) -> bool {
    let now = package_of(&case.seen, one.name).map(|package| &package.version);
    let stays = matches!(now, Some(PackageVersion::Exact(text)) if public(text) == one.version);
    if stays || !case.knowledge().is_built_framework(one.name) {
        return false;
    }
    let plain = |name: &'_ str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let asks = |package: &PackageSeen, version: &str| {
        let rows = case.knowledge().package_asks().iter().filter(|row| row.distribution == one.name);
        let mut own = rows.filter(|row| plain(row.package) == plain(&package.name));
        own.any(|row| admits(row.range, public(version)) == Some(false))
    };
    let others = || pinned(after).filter(|(package, _)| !wanted.iter().any(|one| one.name == package.name));
    others().any(|(package, version)| asks(package, version))
}

/// Whether wheels with libraries of CUDA are pinned beside a build for another major, and stay.
fn has_libraries(case: &Case<'_>, one: &Wanted<'_>, after: &Observations) -> bool {
    let knowledge = case.knowledge();
    let Some(major) = one.build.and_then(variant_cuda).map(CudaVersion::major) else { return false };
    let another = |name: &str, version: &str| {
        knowledge.library_wheel_cuda(name, public(version)).is_some_and(|(cuda, _)| cuda.major() != major)
    };
    knowledge.is_built_framework(one.name) && pinned(after).any(|(package, version)| another(&package.name, version))
}

/// What commands of pip pin.
fn pinned(seen: &Observations) -> impl Iterator<Item = (&PackageSeen, &str)> {
    seen.packages.iter().filter(|one| one.manager == Manager::Pip).filter_map(|one| match &one.version {
        PackageVersion::Exact(version) => Some((one, version.as_str())),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    })
}
