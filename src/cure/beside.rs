//! What a change of one text does beside what it is meant for: other stages may follow the same argument.

use crate::cure::base::CudaTag;
use crate::cure::case::Case;
use crate::dockerfile::BaseKind;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;

/// Of files with more stages nothing is said.
const MOST: usize = 64;

/// What the stages of a file begin with, each with the stages that it is made of.
struct Stages {
    bases: Vec<Option<ImageReference>>,
    /// The first stage of what ships.
    root: Option<usize>,
}

impl Stages {
    fn of(dockerfile: &Dockerfile, options: &EvaluateOptions) -> Self {
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
        Self { bases: (0..dockerfile.stages.len().min(MOST)).map(of_stage).collect(), root }
    }

    /// The bases of stages that do not ship.
    fn others(&self) -> impl Iterator<Item = (usize, Option<&ImageReference>)> {
        let bases = self.bases.iter().enumerate().filter(|(at, _)| Some(*at) != self.root);
        bases.map(|(at, base)| (at, base.as_ref()))
    }
}

/// Both files by their stages; none where there is no file, or one stage alone.
fn both(case: &Case<'_>, subject: &Subject) -> Option<(Stages, Stages)> {
    let of = |subject: &Subject| match &subject.content {
        Content::Dockerfile { dockerfile, options, .. } if dockerfile.stages.len() > 1 => {
            Some(Stages::of(dockerfile, &options.on(&case.platform)))
        }
        _ => None,
    };
    Some((of(case.subject)?, of(subject)?))
}

/// Whether every other stage begins as it did, or with an image that the tables know.
pub(super) fn others_exist(case: &Case<'_>, subject: &Subject) -> bool {
    let Some((before, after)) = both(case, subject) else { return true };
    let known = |(at, now): (usize, Option<&ImageReference>)| {
        let then = before.bases.get(at).and_then(Option::as_ref);
        now == then || now.is_some_and(|now| exists(now, case.knowledge()))
    };
    after.others().all(known)
}

/// Whether the tables know an image by its tag.
fn exists(image: &ImageReference, knowledge: Knowledge) -> bool {
    let (Some(tag), None) = (image.tag(), image.digest()) else { return false };
    let repository = image.familiar();
    if knowledge.framework_image(&repository, tag).is_some() {
        return true;
    }
    if !knowledge.is_cuda_repository(&repository) {
        return false;
    }
    let Some(asked) = CudaTag::of(tag) else { return false };
    let words = knowledge.cudnn_tags().iter().find(|row| row.version == asked.version).map_or(&[][..], |row| row.words);
    knowledge.withdrawn(&repository, asked.version).is_none()
        && asked.cudnn.is_none_or(|word| words.contains(&word))
        && knowledge
            .cuda_image(asked.version)
            .is_some_and(|row| row.flavours.contains(&asked.flavour) && row.os.contains(&asked.os))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_exists_where_the_tables_have_all_words_of_its_tag() {
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
            assert_eq!(exists(&image, knowledge), expected, "{image:?}");
        }
    }
}
