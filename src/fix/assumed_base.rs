//! The base image to assume for an unread image: a CUDA image of its CUDA release, or the newest known tag.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::fix::floating_tags::resolve_floating_tag;
use crate::infer::infer_image_facts;
use crate::judge::AnalysisSettings;
use crate::knowledge::{Knowledge, compare_natural};
use crate::model::fact::{
    ComponentRole, Evidence, FactKey, InspectionDepth, Observations, ObservedBase, Origin, PrintedValue, ValueState,
};
use crate::model::reference::ImageReference;

/// Variable that shows whether the environment of the image is known.
const REQUIRE_VARIABLE: &str = "NVIDIA_REQUIRE_CUDA";
/// Origin of facts that are assumed rather than read.
const ASSUMPTION_ORIGIN: Origin = Origin::Option("an assumption about the unread part of the image");
/// Operating system for which every CUDA base image exists.
const BASE_OS: &str = "ubuntu";

/// A base image that is assumed in place of an unread one.
pub(super) struct AssumedBase {
    base: ImageReference,
    /// The assumption in words.
    pub(super) what: String,
}

impl AssumedBase {
    /// Returns the base to assume; `None` where the image or its environment was read, or its CUDA is unknown.
    pub(super) fn for_image(seen: &Observations, platform: &str, settings: AnalysisSettings<'_>) -> Option<Self> {
        let knowledge = settings.knowledge;
        if !matches!(seen.depth, InspectionDepth::Text | InspectionDepth::Description) {
            return None;
        }
        let image =
            infer_image_facts(seen, platform, settings.as_of, knowledge).into_iter().find(|image| image.gpu_content)?;
        if !image.env.get(REQUIRE_VARIABLE).is_unknown() {
            return None;
        }
        let day = seen.as_of.or(settings.as_of);
        if let ObservedBase::Image(base, _) = &seen.base
            && let (Some(tag), None) = (base.tag(), base.digest())
            && let Some(row) = resolve_floating_tag(knowledge, &base.familiar_name(), tag, day)
        {
            let of_day = day.map_or_else(String::new, |day| format!(" of {day}"));
            let what = format!(
                "`{}:{tag}` has the contents of its tag {}, the newest{of_day} in the compatibility database",
                base.familiar_name(),
                row.tag
            );
            return Self::new(&format!("{}:{}", base.familiar_name(), row.tag), what);
        }
        let mut core = image.components.iter().filter(|one| one.role == ComponentRole::Core);
        let cuda = core.find_map(|one| one.cuda.known().copied())?;
        let tag = cuda_base_tag(knowledge, cuda, platform.split('/').nth(1)?, day)?;
        let reference = format!("{}:{tag}", knowledge.cuda_repositories().first()?);
        let what = format!("the unread part of the image is as in {reference}");
        Self::new(&reference, what)
    }

    /// Creates the assumption from an image reference; `None` where the reference is invalid.
    fn new(reference: &str, what: String) -> Option<Self> {
        Some(Self { base: ImageReference::parse(reference).ok()?, what })
    }

    /// Returns the observations with this base image.
    pub(super) fn apply_to(&self, mut seen: Observations) -> Observations {
        let name = format!("{}:{}", self.base.familiar_name(), self.base.tag().unwrap_or_default());
        let there = ValueState::Known(PrintedValue::Text(name));
        let fact = seen.facts.add(FactKey::Base, None, there, Evidence::Leaf(vec![ASSUMPTION_ORIGIN]));
        seen.base = ObservedBase::Image(self.base.clone(), fact);
        seen.base_env = true;
        seen
    }
}

/// Returns the CUDA base tag of the newest patch available on a day, on the oldest Ubuntu release that has it.
pub(super) fn cuda_base_tag(knowledge: Knowledge, cuda: CudaVersion, arch: &str, day: Option<Date>) -> Option<String> {
    let there = |version: &str, os: &str| {
        let mut recipes = knowledge.cuda_recipes_for_version(version).filter(|recipe| recipe.is_for(os, arch));
        recipes.any(|recipe| recipe.first.is_none_or(|first| day.is_none_or(|day| first <= day)))
    };
    let least = knowledge.smallest_cuda_flavour()?;
    let of_release = knowledge.cuda_images().iter().filter(|row| {
        row.flavours.contains(&least)
            && row.version.parse().is_ok_and(|version: CudaVersion| version.release() == cuda.release())
    });
    let built = of_release.filter_map(|row| {
        let mut systems: Vec<&str> = row.os.iter().copied().filter(|os| os.starts_with(BASE_OS)).collect();
        systems.sort_by(|one, other| compare_natural(one, other));
        Some((row.version, systems.into_iter().find(|os| there(row.version, os))?))
    });
    let (version, os) = built.max_by(|one, other| compare_natural(one.0, other.0))?;
    Some(format!("{version}-{least}-{os}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_base_is_one_that_there_was() {
        let knowledge = Knowledge::built_in();
        let of = |cuda: &str, arch: &str, day: Option<&str>| {
            cuda_base_tag(knowledge, cuda.parse().expect(cuda), arch, day.map(|day| day.parse().expect(day)))
        };
        let now = of("12.1", "amd64", None).expect("one");
        assert!(now.starts_with("12.1.") && now.ends_with("-base-ubuntu20.04"), "{now}");
        for (cuda, arch, day) in
            [("12.1", "riscv64", None), ("99.1", "amd64", None), ("13.0", "amd64", Some("2020-01-01"))]
        {
            assert_eq!(of(cuda, arch, day), None, "{cuda} {arch} {day:?}");
        }
    }
}
