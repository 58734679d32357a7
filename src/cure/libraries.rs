//! Tags of CUDA base images that bring the libraries which the image asks for and nothing in it has.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cuda::CudaVersion;
use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Safety;
use crate::cure::Wish;
use crate::cure::base::CudaTag;
use crate::cure::case::Case;
use crate::fact::BaseSeen;
use crate::fact::Presence;
use crate::fact::State;
use crate::infer::tag_version;
use crate::knowledge::Knowledge;
use crate::knowledge::by_number;

/// What becomes of an image without them.
const MISSING: &str = "library-missing";
/// So many tags are tried.
const MOST: usize = 16;

/// What a tag has to say beside its release, for a CUDA major.
#[derive(Debug, PartialEq, Eq)]
struct Words {
    cuda_major: u32,
    flavours: BTreeSet<&'static str>,
}

/// The tags with the operating system of the one that is there, the nearest CUDA first.
pub(super) fn tags(case: &Case<'_>, repository: &str, tag: &str) -> Vec<(String, bool, Safety)> {
    if !case.ends(MISSING) {
        return Vec::new();
    }
    let knowledge = case.knowledge();
    let Some(asked) = CudaTag::of(tag) else { return Vec::new() };
    let Ok(own) = tag_version(asked.version).parse::<CudaVersion>() else { return Vec::new() };
    let missing = missing(case);
    let mut found: Vec<((u64, Reverse<CudaVersion>), String, Safety)> = Vec::new();
    for words in words(&missing, knowledge) {
        for row in knowledge.cuda_images() {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            let built = |os: &str| {
                case.archs.iter().all(|arch| knowledge.cuda_recipes_of(row.version).any(|one| one.is_for(os, arch)))
            };
            let there = row.os.contains(&asked.os) && built(asked.os);
            if version.major() != words.cuda_major || !there || knowledge.withdrawn(repository, row.version).is_some() {
                continue;
            }
            let Some(new) = named(&asked, row.version, row.flavours, &words, knowledge) else { continue };
            let of_minor = |version: CudaVersion| u64::from(version.major()) * 100 + u64::from(version.minor());
            let far = of_minor(version).abs_diff(of_minor(own));
            let safety = if version.major() == own.major() { Safety::Unsafe } else { Safety::Manual };
            if new != tag {
                found.push(((far, Reverse(version)), new, safety));
            }
        }
    }
    // The release that is there comes before another patch of it.
    found.sort_by_key(|((far, version), new, _)| {
        let same = new.split('-').next() == Some(asked.version);
        (*far, !same, *version, new.clone())
    });
    found.into_iter().map(|(_, tag, safety)| (tag, false, safety)).take(MOST).collect()
}

/// What is asked for at the start and is not there.
fn missing<'a>(case: &'a Case<'_>) -> Vec<&'a str> {
    let needed = case.image.needs.iter().filter_map(|needs| needs.at_start.known()).flatten();
    let gone = needed.filter(|library| matches!(library.presence, Presence::Absent | Presence::Unfound));
    gone.map(|library| library.name.as_str()).collect()
}

/// CUDA images in the place of one that is an operating system, or that and a language, and no CUDA: of each release with
/// all that is missing the one of its own operating system, else of the newest; the newest release first. What else the
/// image took from its base goes with it.
pub(super) fn images(case: &Case<'_>) -> Vec<Candidate> {
    let knowledge = case.knowledge();
    let (true, BaseSeen::Image(image, _), Some(base)) = (case.ends(MISSING), &case.seen.base, case.image.base) else {
        return Vec::new();
    };
    let State::Known(written) = &case.image.facts.get(base).state else { return Vec::new() };
    let debian = knowledge
        .operating_system(&image.familiar(), image.tag().unwrap_or_default())
        .is_some_and(|system| system.debian && knowledge.plain_image(&image.familiar()).is_some());
    let (Some(repository), Some(least)) =
        (knowledge.cuda_repositories().first().copied(), knowledge.least_cuda_flavour())
    else {
        return Vec::new();
    };
    let mut tags: Vec<(Reverse<CudaVersion>, String)> = Vec::new();
    for words in words(&missing(case), knowledge).iter().filter(|_| debian) {
        for row in knowledge.cuda_images() {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            let built = |os: &str| {
                case.archs.iter().all(|arch| knowledge.cuda_recipes_of(row.version).any(|one| one.is_for(os, arch)))
            };
            let like = |os: &str| knowledge.operating_system("", os).is_some_and(|system| system.debian) && built(os);
            let own = |os: &str| image.tag().is_some_and(|tag| os.strip_prefix(&image.familiar()) == Some(tag));
            let systems = row.os.iter().copied().filter(|os| like(os));
            let os = systems.max_by(|one, other| own(one).cmp(&own(other)).then_with(|| by_number(one, other)));
            let Some(os) = os.filter(|_| version.major() == words.cuda_major) else { continue };
            let asked = CudaTag { version: row.version, cudnn: None, flavour: least, os };
            let gone = knowledge.withdrawn(repository, row.version).is_some();
            tags.extend(
                named(&asked, row.version, row.flavours, words, knowledge)
                    .filter(|_| !gone)
                    .map(|tag| (Reverse(version), tag)),
            );
        }
    }
    tags.sort();
    // One patch stands for its minor.
    tags.dedup_by_key(|(Reverse(version), _)| version.release());
    let candidate = |(step, (_, tag)): (usize, (Reverse<CudaVersion>, String))| Candidate {
        kind: Kind::BaseImage,
        step,
        title: format!(
            "begin with {repository}:{tag}, which has the libraries, and put in what {image} brought",
            image = image.familiar()
        ),
        safety: Safety::Manual,
        wish: Wish::Base { from: written.to_string(), to: format!("{repository}:{tag}") },
    };
    tags.into_iter().take(MOST).enumerate().map(candidate).collect()
}

/// The words of tags that bring all of some libraries, by CUDA major; none where no release has them all.
fn words(missing: &[&str], knowledge: Knowledge) -> Vec<Words> {
    let rows = || knowledge.toolkit_libraries().iter();
    let majors: BTreeSet<u32> = rows().map(|row| row.cuda_major).collect();
    let of_major = |cuda_major: u32| {
        let mut flavours = BTreeSet::new();
        for soname in missing {
            let mut brings =
                rows().filter(|row| row.cuda_major == cuda_major && row.sonames.contains(soname)).peekable();
            brings.peek()?;
            flavours.extend(brings.map(|row| row.flavour));
        }
        (!missing.is_empty()).then_some(Words { cuda_major, flavours })
    };
    majors.into_iter().filter_map(of_major).collect()
}

/// The tag of a release with these words, in the place of one.
fn named(
    asked: &CudaTag<'_>,
    version: &str,
    flavours: &[&'static str],
    words: &Words,
    knowledge: Knowledge,
) -> Option<String> {
    let of_tag = knowledge.cudnn_tags().iter().find(|row| row.version == version).map_or(&[][..], |row| row.words);
    let is_extra = |word: &str| !flavours.contains(&word);
    let extra = words.flavours.iter().copied().any(is_extra);
    let cudnn = match asked.cudnn.filter(|word| of_tag.contains(word) && (!extra || words.flavours.contains(*word))) {
        Some(word) => Some(word),
        None if extra => Some(*of_tag.iter().rfind(|word| words.flavours.contains(**word))?),
        None => None,
    };
    // The word of tags with the least in them never stands beside one for cuDNN.
    let bare = knowledge.least_cuda_flavour()?;
    let richer = words.flavours.iter().copied().find(|word| !is_extra(word) && *word != bare);
    let flavour = match richer.filter(|_| asked.flavour == bare) {
        Some(flavour) => flavour,
        None if asked.flavour == bare && cudnn.is_some() => return None,
        None => asked.flavour,
    };
    if !flavours.contains(&flavour) {
        return None;
    }
    Some([Some(version), cudnn, Some(flavour), Some(asked.os)].into_iter().flatten().collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(asked: &str, missing: &[&str], version: &str) -> Vec<Option<String>> {
        let knowledge = Knowledge::built_in();
        let asked = CudaTag::of(asked).expect("a tag");
        let row = knowledge.cuda_image(version).expect("a release");
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).expect("a number");
        let words = words(missing, knowledge).into_iter().filter(|words: &Words| words.cuda_major == major);
        words.map(|words| named(&asked, version, row.flavours, &words, knowledge)).collect()
    }

    #[test]
    fn a_tag_has_a_word_for_each_library_that_is_missing() {
        let both = &["libcublas.so.12", "libcudnn.so.9"][..];
        for (asked, missing, version, expected) in [
            ("12.4.1-base-ubuntu22.04", both, "12.4.1", Some("12.4.1-cudnn-runtime-ubuntu22.04")),
            ("12.4.1-runtime-ubuntu22.04", &["libcudnn.so.9"], "12.4.1", Some("12.4.1-cudnn-runtime-ubuntu22.04")),
            ("12.4.1-devel-ubuntu22.04", &["libcudnn.so.9"], "12.4.1", Some("12.4.1-cudnn-devel-ubuntu22.04")),
            ("12.4.1-base-ubuntu22.04", &["libcublas.so.12"], "12.4.1", Some("12.4.1-runtime-ubuntu22.04")),
            ("11.8.0-cudnn8-runtime-ubuntu22.04", both, "12.4.1", Some("12.4.1-cudnn-runtime-ubuntu22.04")),
            ("12.4.1-base-ubuntu22.04", &["libcudnn.so.9"], "12.4.1", None),
            ("12.2.2-cudnn8-runtime-ubuntu22.04", &["libcudnn.so.9"], "12.2.2", None),
        ] {
            assert_eq!(tag(asked, missing, version), [expected.map(str::to_owned)], "{asked} {missing:?}");
        }
        for (missing, version) in [
            (&["libcublas.so.11", "libcudnn.so.9"][..], "12.4.1"),
            (&["libcublas.so.12"], "11.8.0"),
            (&["libsomething.so.1"], "12.4.1"),
            (&["libcublas.so.12", "libsomething.so.1"], "12.4.1"),
            (&[], "12.4.1"),
        ] {
            assert_eq!(tag("12.4.1-base-ubuntu22.04", missing, version), [], "{missing:?} {version}");
        }
    }
}
