//! Tags of CUDA base images with the libraries that the image needs, at start-up or later, and lacks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cuda::CudaVersion;
use crate::fact::{LibraryDependencies, LibraryProvider, ObservedBase, RequiredLibrary};
use crate::fix::base_image_tags::CudaTag;
use crate::fix::fix_context::FixContext;
use crate::infer::tag_version;
use crate::knowledge::Knowledge;
use crate::outcome::Outcome;
use crate::report::kinds::FixSafety;

/// The outcome of an image that lacks libraries.
const LIBRARY_MISSING: Outcome = Outcome::LibraryMissing;
/// The largest number of tags that are proposed.
const MAX_TAGS: usize = 16;

/// The image flavours that a tag needs to contain the missing libraries, for one CUDA major release.
#[derive(Debug, PartialEq, Eq)]
struct RequiredFlavours {
    cuda_major: u32,
    flavours: BTreeSet<&'static str>,
}

/// Returns tags with the missing libraries and the current operating system, the nearest CUDA version first.
pub(super) fn tags_with_missing_libraries(
    case: &FixContext<'_>,
    repository: &str,
    tag: &str,
) -> Vec<(String, bool, FixSafety)> {
    if !case.has_outcome(LIBRARY_MISSING) {
        return Vec::new();
    }
    let knowledge = case.knowledge();
    let Some(asked) = CudaTag::parse(tag) else { return Vec::new() };
    let Ok(own) = tag_version(asked.version).parse::<CudaVersion>() else { return Vec::new() };
    let mut found: Vec<((u64, Reverse<CudaVersion>), String, FixSafety)> = Vec::new();
    for words in flavours_for_missing_libraries(case) {
        for row in knowledge.cuda_images() {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            let built = |os: &str| {
                case.archs
                    .iter()
                    .all(|arch| knowledge.cuda_recipes_for_version(row.version).any(|one| one.is_for(os, arch)))
            };
            let there = row.os.contains(&asked.os) && built(asked.os);
            if version.major() != words.cuda_major
                || !there
                || knowledge.withdrawn_tag(repository, row.version).is_some()
            {
                continue;
            }
            let Some(new) = tag_with_flavours(&asked, row.version, row.flavours, &words, knowledge) else { continue };
            let of_minor = |version: CudaVersion| u64::from(version.major()) * 100 + u64::from(version.minor());
            let far = of_minor(version).abs_diff(of_minor(own));
            let safety = if version.major() == own.major() { FixSafety::Unsafe } else { FixSafety::Manual };
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
    found.into_iter().map(|(_, tag, safety)| (tag, false, safety)).take(MAX_TAGS).collect()
}

/// Returns the flavours that contain all missing libraries, then those that contain the ones missing at start-up.
fn flavours_for_missing_libraries(case: &FixContext<'_>) -> Vec<RequiredFlavours> {
    let knowledge = case.knowledge();
    let missing = |later: bool| {
        let opened = |needs: &LibraryDependencies| {
            needs.at_run_time.known().filter(|_| later).into_iter().flatten().cloned().collect()
        };
        let opened: Vec<RequiredLibrary> =
            case.image.needs.iter().flat_map(|needs| -> Vec<RequiredLibrary> { opened(needs) }).collect();
        let absent =
            |library: &&RequiredLibrary| matches!(library.provider, LibraryProvider::Absent | LibraryProvider::Unfound);
        let at_start = case.image.needs.iter().filter_map(|needs| needs.at_start.known()).flatten();
        let names = at_start.chain(&opened).filter(absent);
        // A part comes in the package of the whole.
        names.map(|library| knowledge.main_library_of(&library.name).to_owned()).collect::<BTreeSet<String>>()
    };
    let mut found: Vec<RequiredFlavours> = Vec::new();
    for missing in [missing(true), missing(false)] {
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let news = flavours_with_libraries(&missing, knowledge)
            .into_iter()
            .filter(|one| !found.contains(one))
            .collect::<Vec<_>>();
        found.extend(news);
    }
    found
}

/// Returns CUDA base images that can replace a base without CUDA: the newest patch of every minor release, newest
/// first. Their operating system is the most common one with the same package manager.
pub(super) fn cuda_bases_with_libraries(case: &FixContext<'_>) -> Vec<String> {
    let knowledge = case.knowledge();
    let Some(repository) = knowledge.cuda_repositories().first().copied().filter(|_| case.has_outcome(LIBRARY_MISSING))
    else {
        return Vec::new();
    };
    let rows = || knowledge.cuda_images().iter();
    let often = |os: &str| rows().filter(|row| row.os.contains(&os)).count();
    let debian = |repository: &str, tag: &str| knowledge.operating_system(repository, tag).map(|row| row.debian);
    let own = match &case.seen.base {
        ObservedBase::Image(image, _) => debian(&image.familiar_name(), image.tag().unwrap_or_default()),
        _ => None,
    };
    let alike = |version: &str, os: &str| own.is_none() || debian(repository, &format!("{version}-{os}")) == own;
    let mut found: Vec<(Reverse<CudaVersion>, String)> = Vec::new();
    for words in flavours_for_missing_libraries(case) {
        for row in rows().filter(|row| knowledge.withdrawn_tag(repository, row.version).is_none()) {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            let built = |os: &&str| {
                case.archs
                    .iter()
                    .all(|arch| knowledge.cuda_recipes_for_version(row.version).any(|one| one.is_for(os, arch)))
            };
            let os = row.os.iter().copied().filter(built).max_by_key(|os| (alike(row.version, os), often(os)));
            let (Some(os), true) = (os, version.major() == words.cuda_major) else { continue };
            let Some(bare) = knowledge.smallest_cuda_flavour() else { continue };
            let asked = CudaTag { version: row.version, cudnn: None, flavour: bare, os };
            let Some(tag) = tag_with_flavours(&asked, row.version, row.flavours, &words, knowledge) else { continue };
            found.push((Reverse(version), format!("{repository}:{tag}")));
        }
    }
    found.sort();
    let mut minors: BTreeSet<(u32, u32)> = BTreeSet::new();
    found.retain(|(Reverse(version), _)| minors.insert(version.release()));
    found.into_iter().map(|(_, tag)| tag).take(MAX_TAGS).collect()
}

/// Returns the flavours that contain all of some libraries, by CUDA major release; none if no release has them all.
fn flavours_with_libraries(missing: &[&str], knowledge: Knowledge) -> Vec<RequiredFlavours> {
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
        (!missing.is_empty()).then_some(RequiredFlavours { cuda_major, flavours })
    };
    majors.into_iter().filter_map(of_major).collect()
}

/// Returns the tag of a release with the required flavours, as close as possible to an existing tag.
fn tag_with_flavours(
    asked: &CudaTag<'_>,
    version: &str,
    flavours: &[&'static str],
    words: &RequiredFlavours,
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
    let bare = knowledge.smallest_cuda_flavour()?;
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

    fn tags_for(asked: &str, missing: &[&str], version: &str) -> Vec<Option<String>> {
        let knowledge = Knowledge::built_in();
        let asked = CudaTag::parse(asked).expect("a tag");
        let row = knowledge.cuda_image(version).expect("a release");
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).expect("a number");
        let words = flavours_with_libraries(missing, knowledge)
            .into_iter()
            .filter(|words: &RequiredFlavours| words.cuda_major == major);
        words.map(|words| tag_with_flavours(&asked, version, row.flavours, &words, knowledge)).collect()
    }

    #[test]
    fn a_tag_has_the_flavour_of_each_missing_library() {
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
            assert_eq!(tags_for(asked, missing, version), [expected.map(str::to_owned)], "{asked} {missing:?}");
        }
        for (missing, version) in [
            (&["libcublas.so.11", "libcudnn.so.9"][..], "12.4.1"),
            (&["libcublas.so.12"], "11.8.0"),
            (&["libsomething.so.1"], "12.4.1"),
            (&["libcublas.so.12", "libsomething.so.1"], "12.4.1"),
            (&[], "12.4.1"),
        ] {
            assert_eq!(tags_for("12.4.1-base-ubuntu22.04", missing, version), [], "{missing:?} {version}");
        }
    }
}
