//! Whether a requested build of torch exists as a wheel.

use crate::cause::Cause;
use crate::fact::{InspectionDepth, Observations, PackageManager, PackageVersion};
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::system_paths::base_operating_system;
use crate::infer::torch::{TorchBuilder, TorchInstall, required_distribution};
use crate::infer::torch_release::TorchContext;

/// Returns a torch whose build exists or may exist; otherwise its build becomes unknown.
pub(super) fn verify_build<'a>(
    brought: TorchInstall<'a>,
    seen: &Observations,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    if let Some(why) = explain_musl_base(&brought, seen, day) {
        return TorchInstall { version: Err(why.clone()), variant: Err(why), candidates: Vec::new(), ..brought };
    }
    let depth = seen.depth;
    let Ok(Some(tag)) = &brought.variant else { return brought };
    let why =
        explain_unnamed_build(tag, &brought, depth, day).or_else(|| explain_unknown_build(tag, &brought, depth, day));
    let Some(why) = why else { return brought };
    TorchInstall { variant: Err(why), candidates: Vec::new(), ..brought }
}

/// Explains why no wheel matches the C library of the base image's system.
fn explain_musl_base(brought: &TorchInstall<'_>, seen: &Observations, day: TorchContext<'_>) -> Option<Cause> {
    let of_pip = seen.depth == InspectionDepth::Text && brought.maker == TorchBuilder::Wheel;
    let system = base_operating_system(seen, day.knowledge).filter(|row| of_pip && row.musl)?;
    let name = required_distribution(brought.package, day.knowledge);
    Some(Cause::NoMuslWheel { name: name.to_string(), system: system.name.to_string() })
}

/// Explains why a version with a local build part matches no wheel for the platform.
fn explain_unnamed_build(
    tag: &str,
    brought: &TorchInstall<'_>,
    depth: InspectionDepth,
    day: TorchContext<'_>,
) -> Option<Cause> {
    let version = brought.version.as_ref().ok()?;
    let said = matches!(&brought.package.version, PackageVersion::Exact(text) if text.contains('+'));
    let of_pip = depth == InspectionDepth::Text && brought.maker == TorchBuilder::Wheel && said;
    let name = required_distribution(brought.package, day.knowledge);
    (of_pip && day.knowledge.is_unnamed_torch_build(version, tag, day.arch)).then(|| Cause::NoWheelOfBuild {
        name: name.to_string(),
        version: version.clone(),
        arch: day.arch.to_string(),
        tag: tag.to_string(),
    })
}

/// Explains why no wheel of a build is known.
fn explain_unknown_build(
    tag: &str,
    brought: &TorchInstall<'_>,
    depth: InspectionDepth,
    day: TorchContext<'_>,
) -> Option<Cause> {
    let cuda = variant_cuda(tag)?;
    let name = required_distribution(brought.package, day.knowledge);
    let release = brought.version.as_ref().ok().and_then(|version| day.knowledge.torch_release(version));
    if release.is_some_and(|row| row.variants.contains(&tag)) {
        return None;
    }
    if !day.knowledge.is_plausible_cuda(cuda) {
        return Some(Cause::BuildImpliesCuda { tag: tag.to_owned(), package: name.to_owned(), cuda });
    }
    // Of what lies in an image, or of another platform, the list of the indexes is no measure.
    let of_list =
        depth == InspectionDepth::Text && brought.package.manager == PackageManager::Pip && day.arch == "amd64";
    let row = release.filter(|_| of_list)?;
    let known = row.variants.join(", ");
    let (package, version, tag) = (name.to_owned(), row.version.to_owned(), tag.to_owned());
    Some(Cause::NoWheelOfVersion { package, version, tag, known })
}
