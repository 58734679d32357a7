//! Packages that run on the CUDA runtime of another one, and have no library for the CUDA of that: their page of wheels is
//! for another CUDA major.

use crate::cuda::CudaVersion;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::framework::variant_cuda;
use crate::infer::unknown;
use crate::knowledge::Knowledge;

/// Takes back what such a package has of the other's CUDA: with which it runs, if any, cannot be told.
pub(super) fn part(facts: &mut Facts, list: &mut [Component], seen: &Observations, knowledge: Knowledge) {
    if seen.depth != Depth::Text {
        return;
    }
    for row in knowledge.frameworks() {
        let of_pip = |one: &&PackageSeen| one.manager == Manager::Pip && one.name == row.distribution;
        let Some(on) = row.rides.and_then(|on| list.iter().find(|one| one.name == on)) else { continue };
        let Some(package) = seen.packages.iter().rfind(of_pip) else { continue };
        let Some(cuda) = on.cuda.known().copied().filter(|_| on.may_be.is_empty()) else { continue };
        let Some(reason) = of_page(package, (&on.name, cuda), knowledge) else { continue };
        let supply = format!("install {} for CUDA {cuda}, or describe the built image", row.distribution);
        let from = vec![package.fact, on.cuda.id];
        let Some(own) = list.iter_mut().find(|one| one.name == row.component) else { continue };
        if matches!(own.cuda.state, State::Known(_)) {
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            own.cuda = unknown(facts, FactKey::ComponentCuda, Some(row.component), Why { reason, supply }, evidence);
            own.may_be.clear();
        }
    }
}

/// Why a package from a page or an index for other builds, or one whose version names another build, is not for that CUDA.
fn of_page(package: &PackageSeen, (on, cuda): (&str, CudaVersion), knowledge: Knowledge) -> Option<String> {
    // What the default index has of it as well may be taken from there.
    let pages = match &package.offered {
        Offered::Only(tag) => std::slice::from_ref(tag),
        Offered::Beside(tags) => tags.as_slice(),
        Offered::Default | Offered::Unknown(_) => &[],
    };
    let of_index = knowledge.has_build_index(&package.name) && !knowledge.is_built_with_torch(&package.name);
    let pages: Vec<&str> = pages.iter().filter(|_| of_index).map(String::as_str).collect();
    let own = if let PackageVersion::Exact(version) = &package.version { of_version(version) } else { None };
    let tags = own.as_deref().map_or(pages, |own| vec![own]);
    let first = *tags.first()?;
    let other = |tag: &&str| variant_cuda(tag).is_some_and(|own| own.major() != cuda.major());
    tags.iter().all(other).then(|| {
        let own = variant_cuda(first).map(|own| own.to_string()).unwrap_or_default();
        format!("{} is installed for CUDA {own}, and {on} is installed for CUDA {cuda}", package.name)
    })
}

/// `cu121` of `2.1.2+pt24cu121`.
fn of_version(version: &str) -> Option<String> {
    let (_, local) = version.split_once('+')?;
    let tag = local.get(local.rfind("cu")?..)?;
    let digits = tag.len() - 2;
    ((3..=4).contains(&digits) && variant_cuda(tag).is_some()).then(|| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::of_version;

    #[test]
    fn a_build_stands_at_the_end_of_a_local_version() {
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
            assert_eq!(of_version(version).as_deref(), expected, "{version}");
        }
    }
}
