//! Packages that are compiled for one release of torch, where another one is put beside them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::framework::Image;
use crate::infer::framework::variant_cuda;
use crate::infer::torch::Brought;
use crate::infer::torch::Torch;
use crate::infer::unknown;
use crate::infer::unread::may_be_kept;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::Knowledge;

/// Takes back what is known of packages that run on a torch for which they were not compiled: whether they load is not.
pub(super) fn part(
    facts: &mut Facts,
    found: &mut BTreeMap<&'static str, Component>,
    torch: &Torch<'_>,
    image: Image<'_>,
) {
    let Torch::Brought(brought) = torch else { return };
    // What was read is what was built, for whichever torch lies beside it.
    if image.seen.depth != Depth::Text {
        return;
    }
    for row in image.knowledge.frameworks().iter().filter(|row| row.rides.is_some()) {
        let Some(package) = image.seen.packages.iter().rfind(|package| package.name == row.distribution) else {
            continue;
        };
        let Some(component) = found.get_mut(row.component).filter(|one| !one.cuda.is_unknown()) else { continue };
        if let Some(why) = kept(package, brought, image).or_else(|| stranger(package, brought, image)) {
            let from = vec![package.fact, brought.package.fact];
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            let name = component.name.clone();
            component.cuda = unknown(facts, FactKey::ComponentCuda, Some(&name), why, evidence);
            component.may_be.clear();
        }
    }
}

/// Why it is unknown for which CUDA a package of one version is built: what was not read may have brought that version for
/// another CUDA, as well as the torch.
fn kept(package: &PackageSeen, torch: &Brought<'_>, image: Image<'_>) -> Option<Why> {
    let plain = matches!(&package.version, PackageVersion::Exact(version) if !version.contains('+'));
    may_be_kept(image.seen, package).filter(|_| plain && package.manager == Manager::Pip && torch.variant.is_err())
}

/// Why a package may not load beside a torch; none where it was compiled for that one, or nothing says that it was not.
fn stranger(package: &PackageSeen, torch: &Brought<'_>, image: Image<'_>) -> Option<Why> {
    let (PackageVersion::Exact(own), Ok(version)) = (&package.version, &torch.version) else { return None };
    if torch.package.fact == package.fact {
        return None;
    }
    let name = &package.name;
    let wanted = compiled_for(name, own, image.knowledge);
    match wanted {
        Some(range) if goes(range, version) => of_other_cuda(package, own, torch, image),
        Some(range) => Some(Why {
            reason: format!(
                "{name} {own} is compiled for torch {}, and torch {version} is installed: it is unknown whether \
                    {name} loads",
                range.trim_start_matches('=')
            ),
            supply: format!("install torch{range}, or a release of {name} for torch {version}"),
        }),
        // The build of an image, for the torch of that image.
        None if image.build.fact == Some(package.fact) && is_compiled(name, image.knowledge) => Some(Why {
            reason: format!(
                "{name} {own} of the base image is compiled for the torch of that image, but torch {version} \
                    replaces it: it is unknown whether {name} loads"
            ),
            supply: "keep the torch of the base image, or run `imagelint scan` on the built image".to_owned(),
        }),
        None => None,
    }
}

/// Why a release may not load beside the torch that it asks for: the default index has both for one CUDA, and this torch is
/// the build for another. What has a build in the tables is compared with that.
fn of_other_cuda(package: &PackageSeen, own: &str, torch: &Brought<'_>, image: Image<'_>) -> Option<Why> {
    let (Ok(version), Ok(Some(tag)), knowledge) = (&torch.version, &torch.variant, image.knowledge) else {
        return None;
    };
    let name = &package.name;
    let told = || knowledge.framework_build(name, own).is_some_and(|row| row.cuda.is_some());
    let default = package.manager == Manager::Pip && package.offered == Offered::Default && package.variant.is_none();
    if !default || image.build.fact == Some(package.fact) || !is_compiled(name, knowledge) || told() {
        return None;
    }
    let mut defaults = knowledge.torch(version)?.default_variant.iter();
    let meant = variant_cuda(defaults.find(|one| one.arch == image.arch)?.value)?;
    let here = variant_cuda(tag)?;
    (meant.major() != here.major()).then(|| Why {
        reason: format!(
            "{name} {own} is compatible with torch {version} for CUDA {meant}, and torch is installed for CUDA \
                {here}: it is unknown whether {name} loads"
        ),
        supply: format!("install torch {version} for CUDA {meant}, or run `imagelint scan` on the built image"),
    })
}

/// The range of torch that a release is compiled for, where the tables tell it; of a build that says whose it is, they do
/// not.
fn compiled_for(name: &str, version: &str, knowledge: Knowledge) -> Option<&'static str> {
    let same = |other: &str| other == version || order(other, version).is_some_and(Ordering::is_eq);
    let pinned = knowledge.torch_pins_of(name).find(|row| row.version != "*" && same(row.version));
    let pinned = pinned.map(|row| row.torch).filter(|range| !range.is_empty());
    pinned.or_else(|| knowledge.framework_build(name, version).and_then(|row| row.torch))
}

/// Whether releases of a distribution are compiled for one torch each.
pub(crate) fn is_compiled(name: &str, knowledge: Knowledge) -> bool {
    let rides = knowledge.framework(name).is_some_and(|row| row.rides.is_some());
    let pinned = || knowledge.torch_pins_of(name).any(|row| row.version != "*");
    let built = || knowledge.framework_builds().iter().any(|row| row.distribution == name && row.torch.is_some());
    rides && (pinned() || built())
}

/// Whether code for a range of torch loads beside a release: patches of one minor have one interface.
fn goes(range: &str, version: &str) -> bool {
    let minor = |text: &str| text.parse::<CudaVersion>().map(CudaVersion::release).ok();
    let exact = range.strip_prefix("==").filter(|text| !text.contains(['*', ',']));
    let same_minor = exact.is_some_and(|own| minor(own).is_some() && minor(own) == minor(public(version)));
    same_minor || admits(range, version) != Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_one_minor_go_together_and_nothing_else() {
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
            assert_eq!(goes(range, version), expected, "{range} {version}");
        }
    }

    #[test]
    fn what_a_release_is_compiled_for_is_told_by_the_tables_alone() {
        let knowledge = Knowledge::built_in();
        for (name, version, expected) in [
            ("vllm", "0.8.5.post1", Some("==2.6.0")),
            ("sgl-kernel", "0.3.21", Some("==2.9.1")),
            ("vllm", "0.24.0+092c4842.nv26.7.57386851", None),
            ("vllm", "99.0.0", None),
            ("sgl-kernel", "0.3.20", None),
            ("numpy", "2.0.0", None),
        ] {
            assert_eq!(compiled_for(name, version, knowledge), expected, "{name} {version}");
        }
        for (name, expected) in [("vllm", true), ("sgl-kernel", true), ("bitsandbytes", false), ("torchvision", false)]
        {
            assert_eq!(is_compiled(name, knowledge), expected, "{name}");
        }
    }
}
