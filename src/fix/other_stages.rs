//! Effects of an edit on other build stages, which may use the same build argument.

use crate::dockerfile::{BaseKind, Dockerfile, EvaluateOptions};
use crate::fix::cuda_tag::CudaTag;
use crate::fix::fix_context::FixContext;
use crate::judge::{AnalysisSubject, SubjectContent};
use crate::knowledge::Knowledge;
use crate::model::reference::ImageReference;

/// The largest number of build stages that are examined.
const MAX_STAGES: usize = 64;

/// The base image of each build stage of a Dockerfile.
struct StageBases {
    bases: Vec<Option<ImageReference>>,
    /// The first stage of what ships.
    root: Option<usize>,
}

impl StageBases {
    /// Evaluates the base image of each stage.
    fn evaluate(dockerfile: &Dockerfile, options: &EvaluateOptions) -> Self {
        let of_stage = |at: usize| {
            let options = EvaluateOptions { target: Some(at.to_string()), ..options.clone() };
            let evaluated = dockerfile.evaluate(&options).ok()?;
            // A stage that continues another has no base of its own.
            match (evaluated.chain.first() == Some(&at), evaluated.base.kind) {
                (true, BaseKind::Image(image)) => Some(image),
                _ => None,
            }
        };
        let root = dockerfile.evaluate(options).ok().and_then(|evaluated| evaluated.chain.first().copied());
        Self { bases: (0..dockerfile.stages.len().min(MAX_STAGES)).map(of_stage).collect(), root }
    }

    /// Returns the base images of all stages except the first stage of the final image.
    fn other_bases(&self) -> impl Iterator<Item = (usize, Option<&ImageReference>)> {
        let bases = self.bases.iter().enumerate().filter(|(at, _)| Some(*at) != self.root);
        bases.map(|(at, base)| (at, base.as_ref()))
    }
}

/// Returns the stage bases before and after a change; `None` without a Dockerfile or with a single stage.
fn stage_bases_before_and_after(case: &FixContext<'_>, subject: &AnalysisSubject) -> Option<(StageBases, StageBases)> {
    let of = |subject: &AnalysisSubject| match &subject.content {
        SubjectContent::Dockerfile { dockerfile, options, .. } if dockerfile.stages.len() > 1 => {
            Some(StageBases::evaluate(dockerfile, &options.for_platform(&case.platform)))
        }
        _ => None,
    };
    Some((of(case.subject)?, of(subject)?))
}

/// Whether every other stage keeps its base image or uses one that the tables list.
pub(super) fn are_other_bases_known(case: &FixContext<'_>, subject: &AnalysisSubject) -> bool {
    let Some((before, after)) = stage_bases_before_and_after(case, subject) else { return true };
    let known = |(at, now): (usize, Option<&ImageReference>)| {
        let then = before.bases.get(at).and_then(Option::as_ref);
        now == then || now.is_some_and(|now| is_known_image(now, case.knowledge()))
    };
    after.other_bases().all(known)
}

/// Whether the tables list an image with its tag.
fn is_known_image(image: &ImageReference, knowledge: Knowledge) -> bool {
    let (Some(tag), None) = (image.tag(), image.digest()) else { return false };
    let repository = image.familiar_name();
    if knowledge.framework_image(&repository, tag).is_some() {
        return true;
    }
    if !knowledge.is_cuda_repository(&repository) {
        return false;
    }
    let Some(cuda_tag) = CudaTag::parse(tag) else { return false };
    let words =
        knowledge.cudnn_tags().iter().find(|row| row.version == cuda_tag.version).map_or(&[][..], |row| row.words);
    knowledge.withdrawn_tag(&repository, cuda_tag.version).is_none()
        && cuda_tag.cudnn.is_none_or(|word| words.contains(&word))
        && knowledge
            .cuda_image(cuda_tag.version)
            .is_some_and(|row| row.flavours.contains(&cuda_tag.flavour) && row.os.contains(&cuda_tag.os))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_if_the_tables_have_all_parts_of_its_tag() {
        let knowledge = Knowledge::built_in();
        for (image, expected) in [
            ("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04", true),
            ("nvidia/cuda:11.8.0-cudnn8-devel-ubuntu20.04", true),
            ("nvidia/cuda:11.4.3-cudnn-devel-ubuntu24.04", false),
            ("nvidia/cuda:11.4.3-cudnn8-devel-ubuntu24.04", false),
            ("nvidia/cuda:11.4.3-cudnn9-devel-ubuntu20.04", false),
            ("nvidia/cuda:12.4.1-static-ubuntu22.04", false),
            ("nvidia/cuda:99.1.0-devel-ubuntu22.04", false),
            ("nvidia/cuda", false),
            ("nvidia/other:12.4.1-cudnn-devel-ubuntu22.04", false),
        ] {
            let image = ImageReference::parse(image).expect(image);
            assert_eq!(is_known_image(&image, knowledge), expected, "{image:?}");
        }
    }
}
