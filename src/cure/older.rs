//! Older bases: which of them no image goes back to, because of what is installed on it.

use crate::cuda::CudaVersion;
use crate::cure::Wish;
use crate::cure::base;
use crate::cure::case::Case;
use crate::fact::Component;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::infer::infer;
use crate::infer::variant_cuda;
use crate::judge;
use crate::judge::Subject;
use crate::knowledge::Knowledge;

/// Whether a change goes back to an older base although the image then installs a framework of no fixed version, or
/// something for a newer CUDA major release. Nobody knows whether such a package works on that base.
pub(super) fn is_refused(case: &Case<'_>, wish: &Wish, after: Option<&Subject>) -> bool {
    if !base::goes_back(wish) {
        return false;
    }
    let seen = after.and_then(|subject| judge::observations(&subject.content, &case.platform));
    seen.is_some_and(|seen| has_unpinned(&seen, case.knowledge()) || has_newer(case, wish, &seen))
}

/// Whether the version of a framework, or of something that installs one, is open.
fn has_unpinned(seen: &Observations, knowledge: Knowledge) -> bool {
    let brings = |name: &str| knowledge.brought_packages().iter().any(|row| row.distribution == name);
    let of_gpu = |name: &str| knowledge.framework(name).is_some() || brings(name);
    installed(seen).any(|one| !matches!(one.version, PackageVersion::Exact(_)) && of_gpu(&one.name))
}

/// Whether something is built for a newer CUDA major release than that of the base that is taken.
fn has_newer(case: &Case<'_>, wish: &Wish, seen: &Observations) -> bool {
    let knowledge = case.knowledge();
    let Some(base) = base_of(wish).and_then(base::cuda_of_tag) else { return false };
    let is_newer = |cuda: CudaVersion| cuda.major() > base.major();
    let of_component = |one: &Component| one.cuda.known().copied().is_some_and(is_newer);
    let component = |one: &Component| !one.anonymous && (of_component(one) || one.may_be.iter().any(of_component));
    installed(seen).any(|one| cuda_of(one, knowledge).is_some_and(is_newer))
        || infer(seen, &case.platform, case.settings.as_of, knowledge)
            .iter()
            .any(|image| image.components.iter().any(component))
}

/// The CUDA that a package is built for, as its name, its version or its index states it.
fn cuda_of(package: &PackageSeen, knowledge: Knowledge) -> Option<CudaVersion> {
    let (name, variant) = (package.name.as_str(), package.variant.as_deref());
    let version = if let PackageVersion::Exact(text) = &package.version { Some(text.as_str()) } else { None };
    let local = || version?.split_once('+').and_then(|(_, local)| variant_cuda(local));
    let of_version = || Some(knowledge.cuda_of_version(name, version?)?.0);
    let of_library = || Some(knowledge.library_wheel_cuda(name, version?)?.0);
    let of_name = || Some(knowledge.named_cuda(name)?.0);
    variant.and_then(variant_cuda).or_else(local).or_else(of_version).or_else(of_library).or_else(of_name)
}

fn installed(seen: &Observations) -> impl Iterator<Item = &PackageSeen> {
    seen.packages.iter().filter(|one| matches!(one.manager, Manager::Pip | Manager::Conda))
}

/// The base that a change takes.
fn base_of(wish: &Wish) -> Option<&str> {
    match wish {
        Wish::Base { to, .. } => Some(to),
        Wish::All(list) => list.iter().find_map(base_of),
        _ => None,
    }
}
