//! Tags of CUDA base images that bring the libraries which the image asks for, at its start or later, and nothing in it
//! has.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cuda::CudaVersion;
use crate::cure::base::CudaTag;
use crate::cure::case::Case;
use crate::fact::BaseSeen;
use crate::fact::Needs;
use crate::fact::Presence;
use crate::fact::Soname;
use crate::infer::tag_version;
use crate::knowledge::Knowledge;
use crate::report::kinds::FixSafety;

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
pub(super) fn tags(case: &Case<'_>, repository: &str, tag: &str) -> Vec<(String, bool, FixSafety)> {
    if !case.ends(MISSING) {
        return Vec::new();
    }
    let knowledge = case.knowledge();
    let Some(asked) = CudaTag::of(tag) else { return Vec::new() };
    let Ok(own) = tag_version(asked.version).parse::<CudaVersion>() else { return Vec::new() };
    let mut found: Vec<((u64, Reverse<CudaVersion>), String, FixSafety)> = Vec::new();
    for words in all_words(case) {
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
    found.into_iter().map(|(_, tag, safety)| (tag, false, safety)).take(MOST).collect()
}

/// The words of tags that bring all libraries that are missing, and of those that bring what is missing at the start.
fn all_words(case: &Case<'_>) -> Vec<Words> {
    let knowledge = case.knowledge();
    let missing = |later: bool| {
        let opened = |needs: &Needs| needs.later.known().filter(|_| later).into_iter().flatten().cloned().collect();
        let opened: Vec<Soname> = case.image.needs.iter().flat_map(|needs| -> Vec<Soname> { opened(needs) }).collect();
        let absent = |library: &&Soname| matches!(library.presence, Presence::Absent | Presence::Unfound);
        let at_start = case.image.needs.iter().filter_map(|needs| needs.at_start.known()).flatten();
        let names = at_start.chain(&opened).filter(absent);
        // A part comes in the package of the whole.
        names.map(|library| knowledge.whole_of(&library.name).to_owned()).collect::<BTreeSet<String>>()
    };
    let mut found: Vec<Words> = Vec::new();
    for missing in [missing(true), missing(false)] {
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        let news = words(&missing, knowledge).into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>();
        found.extend(news);
    }
    found
}

/// Tags of CUDA base images to take in the place of a base without CUDA: of every minor the newest patch, the newest
/// first, with the operating system that most of them have, of those whose packages are installed as in the base.
pub(super) fn bases(case: &Case<'_>) -> Vec<String> {
    let knowledge = case.knowledge();
    let Some(repository) = knowledge.cuda_repositories().first().copied().filter(|_| case.ends(MISSING)) else {
        return Vec::new();
    };
    let rows = || knowledge.cuda_images().iter();
    let often = |os: &str| rows().filter(|row| row.os.contains(&os)).count();
    let debian = |repository: &str, tag: &str| knowledge.operating_system(repository, tag).map(|row| row.debian);
    let own = match &case.seen.base {
        BaseSeen::Image(image, _) => debian(&image.familiar(), image.tag().unwrap_or_default()),
        _ => None,
    };
    let alike = |version: &str, os: &str| own.is_none() || debian(repository, &format!("{version}-{os}")) == own;
    let mut found: Vec<(Reverse<CudaVersion>, String)> = Vec::new();
    for words in all_words(case) {
        for row in rows().filter(|row| knowledge.withdrawn(repository, row.version).is_none()) {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            let built = |os: &&str| {
                case.archs.iter().all(|arch| knowledge.cuda_recipes_of(row.version).any(|one| one.is_for(os, arch)))
            };
            let os = row.os.iter().copied().filter(built).max_by_key(|os| (alike(row.version, os), often(os)));
            let (Some(os), true) = (os, version.major() == words.cuda_major) else { continue };
            let Some(bare) = knowledge.least_cuda_flavour() else { continue };
            let asked = CudaTag { version: row.version, cudnn: None, flavour: bare, os };
            let Some(tag) = named(&asked, row.version, row.flavours, &words, knowledge) else { continue };
            found.push((Reverse(version), format!("{repository}:{tag}")));
        }
    }
    found.sort();
    let mut minors: BTreeSet<(u32, u32)> = BTreeSet::new();
    found.retain(|(Reverse(version), _)| minors.insert(version.release()));
    found.into_iter().map(|(_, tag)| tag).take(MOST).collect()
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
