//! What an image that was not read would be if it was made as such images usually are: on a CUDA base image of the CUDA
//! that it is known to have, or as the newest tag that the tables have of its repository.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cure::floating::stands_for;
use crate::fact::BaseSeen;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::Role;
use crate::fact::State;
use crate::fact::Value;
use crate::infer::infer;
use crate::judge::Settings;
use crate::knowledge::Knowledge;
use crate::knowledge::by_number;
use crate::reference::ImageReference;

/// What is asked first of an environment.
const REQUIREMENT: &str = "NVIDIA_REQUIRE_CUDA";
const WHENCE: Origin = Origin::Option("an assumption about the unread part of the image");
/// The operating system that has every CUDA base image.
const SYSTEM: &str = "ubuntu";

/// An image in the place of one of which the tables know nothing.
pub(super) struct Usual {
    base: ImageReference,
    /// What has to be true for it to stand there.
    pub(super) what: String,
}

impl Usual {
    /// None where the environment is known, where the image itself was read, and where nothing tells its CUDA.
    pub(super) fn of(seen: &Observations, platform: &str, settings: Settings<'_>) -> Option<Self> {
        let knowledge = settings.knowledge;
        if !matches!(seen.depth, Depth::Text | Depth::Description) {
            return None;
        }
        let image = infer(seen, platform, settings.as_of, knowledge).into_iter().find(|image| image.gpu_content)?;
        if !image.env.get(REQUIREMENT).is_unknown() {
            return None;
        }
        let day = seen.as_of.or(settings.as_of);
        if let BaseSeen::Image(base, _) = &seen.base
            && let (Some(tag), None) = (base.tag(), base.digest())
            && let Some(row) = stands_for(knowledge, &base.familiar(), tag, day)
        {
            let of_day = day.map_or_else(String::new, |day| format!(" of {day}"));
            let what = format!(
                "`{}:{tag}` has the contents of its tag {}, the newest{of_day} in the compatibility database",
                base.familiar(),
                row.tag
            );
            return Self::new(&format!("{}:{}", base.familiar(), row.tag), what);
        }
        let mut core = image.components.iter().filter(|one| one.role == Role::Core);
        let cuda = core.find_map(|one| one.cuda.known().copied())?;
        let tag = tag(knowledge, cuda, platform.split('/').nth(1)?, day)?;
        let reference = format!("{}:{tag}", knowledge.cuda_repositories().first()?);
        let what = format!("the unread part of the image is as in {reference}");
        Self::new(&reference, what)
    }

    fn new(reference: &str, what: String) -> Option<Self> {
        Some(Self { base: ImageReference::parse(reference).ok()?, what })
    }

    /// What would be seen of an image on this base.
    pub(super) fn put(&self, mut seen: Observations) -> Observations {
        let name = format!("{}:{}", self.base.familiar(), self.base.tag().unwrap_or_default());
        let there = State::Known(Value::Text(name));
        let fact = seen.facts.add(FactKey::Base, None, there, Evidence::Leaf(vec![WHENCE]));
        seen.base = BaseSeen::Image(self.base.clone(), fact);
        seen.base_env = true;
        seen
    }
}

/// The newest patch of a CUDA that there was on a day, on the oldest operating system that it is there for.
pub(super) fn tag(knowledge: Knowledge, cuda: CudaVersion, arch: &str, day: Option<Date>) -> Option<String> {
    let there = |version: &str, os: &str| {
        let mut recipes = knowledge.cuda_recipes_of(version).filter(|recipe| recipe.is_for(os, arch));
        recipes.any(|recipe| recipe.first.is_none_or(|first| day.is_none_or(|day| first <= day)))
    };
    let least = knowledge.least_cuda_flavour()?;
    let of_release = knowledge.cuda_images().iter().filter(|row| {
        row.flavours.contains(&least)
            && row.version.parse().is_ok_and(|version: CudaVersion| version.release() == cuda.release())
    });
    let built = of_release.filter_map(|row| {
        let mut systems: Vec<&str> = row.os.iter().copied().filter(|os| os.starts_with(SYSTEM)).collect();
        systems.sort_by(|one, other| by_number(one, other));
        Some((row.version, systems.into_iter().find(|os| there(row.version, os))?))
    });
    let (version, os) = built.max_by(|one, other| by_number(one.0, other.0))?;
    Some(format!("{version}-{least}-{os}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_base_is_one_that_there_was() {
        let knowledge = Knowledge::built_in();
        let of = |cuda: &str, arch: &str, day: Option<&str>| {
            tag(knowledge, cuda.parse().expect(cuda), arch, day.map(|day| day.parse().expect(day)))
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
