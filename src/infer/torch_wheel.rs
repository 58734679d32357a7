//! Whether a build of torch that is asked for is one that there is: a name alone says nothing about a wheel.

use crate::fact::Depth;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::framework::variant_cuda;
use crate::infer::places::operating_system;
use crate::infer::torch::Brought;
use crate::infer::torch::Maker;
use crate::infer::torch::wanted;
use crate::infer::torch_release::Day;

/// A torch whose build is one of its release, or may be; of any other nothing is told.
pub(super) fn believed<'a>(brought: Brought<'a>, seen: &Observations, day: Day<'_>) -> Brought<'a> {
    if let Some(why) = foreign(&brought, seen, day) {
        return Brought { version: Err(why.clone()), variant: Err(why), candidates: Vec::new(), ..brought };
    }
    let depth = seen.depth;
    let Ok(Some(tag)) = &brought.variant else { return brought };
    let why = unnamed(tag, &brought, depth, day).or_else(|| unheard(tag, &brought, depth, day));
    let Some(why) = why else { return brought };
    Brought { variant: Err(why), candidates: Vec::new(), ..brought }
}

/// Why there is no wheel for the C library of the base's system, of which pip takes those alone.
fn foreign(brought: &Brought<'_>, seen: &Observations, day: Day<'_>) -> Option<Why> {
    let of_pip = seen.depth == Depth::Text && brought.maker == Maker::Wheel;
    let system = operating_system(seen, day.knowledge).filter(|row| of_pip && row.musl)?;
    let name = wanted(brought.package, day.knowledge);
    Some(Why {
        reason: format!("{name} has no wheel for musl, the C library of {}: pip fails to install it", system.name),
        supply: "use a base image with glibc, or describe the built image".to_owned(),
    })
}

/// Why a version that names its build is that of no wheel for the platform.
fn unnamed(tag: &str, brought: &Brought<'_>, depth: Depth, day: Day<'_>) -> Option<Why> {
    let version = brought.version.as_ref().ok()?;
    let said = matches!(&brought.package.version, PackageVersion::Exact(text) if text.contains('+'));
    let of_pip = depth == Depth::Text && brought.maker == Maker::Wheel && said;
    let name = wanted(brought.package, day.knowledge);
    (of_pip && day.knowledge.is_unnamed(version, tag, day.arch)).then(|| Why {
        reason: format!(
            "no wheel of {name} {version} for {} has {tag} in its version: the index of {tag} contains that build \
                as {version}",
            day.arch
        ),
        supply: format!("install {name}=={version} only from the index of {tag}, or describe the built image"),
    })
}

/// Why no wheel of that build is known.
fn unheard(tag: &str, brought: &Brought<'_>, depth: Depth, day: Day<'_>) -> Option<Why> {
    let cuda = variant_cuda(tag)?;
    let name = wanted(brought.package, day.knowledge);
    let release = brought.version.as_ref().ok().and_then(|version| day.knowledge.torch(version));
    if release.is_some_and(|row| row.variants.contains(&tag)) {
        return None;
    }
    let supply = "correct the build in its version or its index, or describe the built image".to_owned();
    if !day.knowledge.may_be_cuda(cuda) {
        return Some(Why {
            reason: format!("the build {tag} of {name} implies CUDA {cuda}, which does not exist"),
            supply,
        });
    }
    // Of what lies in an image, or of another platform, the list of the indexes is no measure.
    let of_list = depth == Depth::Text && brought.package.manager == Manager::Pip && day.arch == "amd64";
    let row = release.filter(|_| of_list)?;
    let known = row.variants.join(", ");
    let reason = format!("no wheel of {name} {} for {tag} is known, only for {known}", row.version);
    Some(Why { reason, supply })
}
