//! Other tags of the base image, the nearest first: other releases, and those with the libraries that the image lacks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cuda::CudaVersion;
use crate::fix::base_downgrades::describe_downgrade;
use crate::fix::cuda_tag::{CudaTag, cuda_version_from_tag, os_release_number};
use crate::fix::fix_context::FixContext;
use crate::fix::floating_tags::{is_same_flavour, resolve_floating_tag};
use crate::fix::versions::{FAR_STEP, are_neighbours, minor_release};
use crate::fix::{FixCandidate, ProposedChange, assumed_base};
use crate::infer::tag_version;
use crate::knowledge::{Knowledge, compare_natural};
use crate::model::fact::{LibraryDependencies, LibraryProvider, ObservedBase, RequiredLibrary, ValueState};
use crate::model::outcome::Outcome;
use crate::model::package::ObservedPackage;
use crate::model::reference::ImageReference;
use crate::report::kinds::{ChangeKind, FixSafety};

/// The largest number of alternative tags that are proposed for one image.
const MAX_TAGS: usize = 64;
/// The largest number of tags with missing libraries that are proposed for one image.
const MAX_TAGS_WITH_LIBRARIES: usize = 16;
/// The outcome of an image that lacks libraries.
const LIBRARY_MISSING: Outcome = Outcome::LibraryMissing;

/// Returns candidates for other tags of the base image, the nearest first.
pub(super) fn base_tag_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let (ObservedBase::Image(image, _), Some(base)) = (&case.seen.base, case.image.base) else { return Vec::new() };
    let ValueState::Known(written) = &case.image.facts.get(base).state else { return Vec::new() };
    let repository = image.familiar_name();
    let (written, name) = (written.to_string(), repository.clone());
    let supposed = image.tag().is_none() && image.digest().is_some();
    let like = if supposed { usual_tag_for_digest(case, &repository) } else { None };
    let Some(tag) = image.tag().or(like.as_deref()) else { return Vec::new() };
    if case.knowledge().plain_image(&repository).is_some() {
        return Vec::new();
    }
    // A digest is one image, whatever its tag: what another tag is has to be looked up.
    let digest = written.split_once('@').map(|(_, digest)| format!("@{digest}")).unwrap_or_default();
    let tags = if case.knowledge().is_cuda_repository(&repository) {
        let with_libraries = tags_with_missing_libraries(case, &repository, tag);
        let mut tags = cuda_tag_alternatives(case, &repository, tag);
        tags.retain(|(tag, ..)| !with_libraries.iter().any(|(other, ..)| other == tag));
        [with_libraries, tags].concat()
    } else {
        framework_tag_alternatives(case, &repository, tag)
    };
    let of_tag = |(at, (to, far, safety)): (usize, (String, bool, FixSafety))| {
        let step = if far { FAR_STEP + at } else { at };
        let without = written.strip_suffix(&digest)?;
        let without = match without.strip_suffix(&format!(":{tag}")) {
            Some(without) => without,
            None => Some(without).filter(|_| !digest.is_empty())?,
        };
        let to_written = format!("{without}:{to}");
        ImageReference::parse(&to_written).ok()?;
        let (instead, safety) = if digest.is_empty() { ("", safety) } else { (", and its digest", FixSafety::Manual) };
        if supposed {
            let cuda = cuda_version_from_tag(&to_written).map_or_else(String::new, |cuda| format!(" for CUDA {cuda}"));
            let title = format!("use a tag of {name}{cuda} instead of the digest, such as {to}");
            let change = ProposedChange::Base { from: written.clone(), to: to_written };
            return Some(FixCandidate { kind: ChangeKind::BaseTag, step, title, safety: FixSafety::Manual, change });
        }
        // For most months the existing tags are not listed.
        let (title, safety) = match unlisted_month(case.knowledge(), &repository, &to) {
            Some(month) => {
                let like = tag.split_once('-').map_or(tag, |(_, rest)| rest);
                (format!("use release {month} of {name}, if it has a tag like {like}{instead}"), FixSafety::Manual)
            }
            None => match describe_downgrade(tag, &to) {
                Some(back) => (format!("use the tag {to} of {name}{instead}, {back}"), FixSafety::Manual),
                None => (format!("use the tag {to} of {name}{instead}"), safety),
            },
        };
        Some(FixCandidate {
            kind: ChangeKind::BaseTag,
            step,
            title,
            safety,
            change: ProposedChange::Base { from: written.clone(), to: to_written },
        })
    };
    tags.into_iter().take(MAX_TAGS).enumerate().filter_map(of_tag).collect()
}

/// Returns the usual tag for the CUDA version of a base that is known only by its digest, or of a core component.
fn usual_tag_for_digest(case: &FixContext<'_>, repository: &str) -> Option<String> {
    let knowledge = case.knowledge();
    let own = case.image.base_cuda.known().copied();
    let cuda = own.or_else(|| case.core_components().find_map(|one| one.cuda.known().copied()))?;
    let arch = case.archs.first().filter(|_| knowledge.is_cuda_repository(repository))?;
    assumed_base::cuda_base_tag(knowledge, cuda, arch, case.seen.as_of.or(case.settings.as_of))
}

/// Returns CUDA base images with the missing libraries as replacements for a base without CUDA. Other contents of the
/// old base are lost.
pub(super) fn cuda_image_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let (ObservedBase::Image(image, _), Some(base)) = (&case.seen.base, case.image.base) else { return Vec::new() };
    let ValueState::Known(written) = &case.image.facts.get(base).state else { return Vec::new() };
    if case.knowledge().plain_image(&image.familiar_name()).is_none() {
        return Vec::new();
    }
    let of_image = |(step, to): (usize, String)| FixCandidate {
        kind: ChangeKind::BaseImage,
        step,
        title: format!("use {to} as the base image, and install on it what {written} contains"),
        safety: FixSafety::Manual,
        change: ProposedChange::Base { from: written.to_string(), to },
    };
    cuda_bases_with_libraries(case).into_iter().enumerate().map(of_image).collect()
}

/// Returns the CUDA version of the base image that a change selects, if its tag states one.
pub(super) fn cuda_version_of_new_base(change: &ProposedChange) -> Option<CudaVersion> {
    match change {
        ProposedChange::Base { to, .. } => cuda_version_from_tag(to),
        _ => None,
    }
}

/// The sort key of a tag: distance of the operating system, whether cuDNN differs, distance of the CUDA release,
/// newest patch first, name.
type TagDistance = (u32, bool, usize, Reverse<CudaVersion>, String);

/// Returns tags of CUDA base images: the same operating system first, then the nearest CUDA version, with the newest
/// patch of each minor release. Within a CUDA minor release nothing changes for the program; another operating system
/// has other packages, and what is installed on top is for one CUDA major release.
fn cuda_tag_alternatives(case: &FixContext<'_>, repository: &str, tag: &str) -> Vec<(String, bool, FixSafety)> {
    let knowledge = case.knowledge();
    let Some(cuda_tag) = CudaTag::parse(tag) else { return Vec::new() };
    let Ok(own) = tag_version(cuda_tag.version).parse::<CudaVersion>() else { return Vec::new() };
    let built = |version: &str, os: &str| {
        case.archs.iter().all(|arch| knowledge.cuda_recipes_for_version(version).any(|recipe| recipe.is_for(os, arch)))
    };
    let mut rows: Vec<(CudaVersion, &'static str, &'static [&'static str])> = knowledge
        .cuda_images()
        .iter()
        .filter(|row| row.flavours.contains(&cuda_tag.flavour))
        .filter(|row| knowledge.withdrawn_tag(repository, row.version).is_none())
        .filter(|row| row.os.iter().any(|os| built(row.version, os)))
        .filter_map(|row| Some((row.version.parse().ok()?, row.version, row.os)))
        .collect();
    rows.sort_by_key(|(version, ..)| Reverse(*version));
    let mut kept: Vec<(CudaVersion, &'static str, &'static [&'static str])> = Vec::new();
    for row in rows {
        let newest = !kept.iter().any(|other| other.0.release() == row.0.release());
        if (newest || row.0.release() == own.release()) && row.1 != cuda_tag.version {
            kept.push(row);
        }
    }
    let releases: Vec<(u32, u32)> = {
        let mut all: Vec<_> = kept.iter().map(|row| row.0.release()).chain([own.release()]).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let place = |version: CudaVersion| releases.iter().position(|one| *one == version.release()).unwrap_or(0);
    let mut found: Vec<(TagDistance, String, FixSafety)> = Vec::new();
    for (version, text, systems) in kept {
        let words = knowledge.cudnn_tags().iter().find(|row| row.version == text).map_or(&[][..], |row| row.words);
        let cudnn = match cuda_tag.cudnn {
            None => None,
            Some(word) => match words.iter().find(|own| **own == word).or(words.last()) {
                Some(word) => Some(*word),
                None => continue,
            },
        };
        let far = place(version).abs_diff(place(own));
        for os in systems.iter().filter(|os| is_same_os(os, cuda_tag.os) && built(text, os)) {
            let parts: Vec<&str> =
                [Some(text), cudnn, Some(cuda_tag.flavour), Some(*os)].into_iter().flatten().collect();
            let new = parts.join("-");
            let key = (
                os_release_number(os).abs_diff(os_release_number(cuda_tag.os)),
                cudnn != cuda_tag.cudnn,
                far,
                Reverse(version),
                new.clone(),
            );
            let safety =
                match (*os == cuda_tag.os && version.major() == own.major(), version.release() == own.release()) {
                    (false, _) => FixSafety::Manual,
                    (true, true) if cudnn == cuda_tag.cudnn => FixSafety::Safe,
                    (true, _) => FixSafety::Unsafe,
                };
            found.push((key, new, safety));
        }
    }
    found.sort();
    let far = |version: CudaVersion| !are_neighbours(&own.to_string(), &version.to_string());
    found.into_iter().map(|((_, _, _, Reverse(version), _), tag, safety)| (tag, far(version), safety)).collect()
}

/// Whether two names, such as `ubuntu20.04` and `ubuntu22.04`, are releases of one operating system.
fn is_same_os(one: &str, other: &str) -> bool {
    let name = |system: &str| system.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
    name(one) == name(other)
}

/// Returns tags of framework images with known contents: those of the same flavour first, then the nearest release.
fn framework_tag_alternatives(case: &FixContext<'_>, repository: &str, tag: &str) -> Vec<(String, bool, FixSafety)> {
    let knowledge = case.knowledge();
    let rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
    let mut tags: Vec<String> = rows.map(|row| row.tag.to_owned()).collect();
    if let Some(family) = knowledge.base_family(repository).filter(|family| family.monthly)
        && let Some((_, rest)) = tag.split_once('-')
        && knowledge.ngc_release(family, tag).is_some()
    {
        let known = knowledge.tags_of_other_months(family, tag);
        // Of a tag that no month is known to have, each month may have its like.
        let months = knowledge.ngc_releases().iter().filter(|_| known.is_empty());
        let supposed = months.map(|row| format!("{}-{rest}", row.month));
        let supposed: Vec<String> = supposed.filter(|tag| knowledge.ngc_release(family, tag).is_some()).collect();
        tags.extend(known.into_iter().chain(supposed));
    }
    // If the image has a compiler, the new tag must have one too.
    tags.retain(|one| knowledge.flavour_has_compiler(one) || !knowledge.flavour_has_compiler(tag));
    tags.sort_by(|one, other| compare_natural(one, other));
    tags.dedup();
    let day = case.seen.as_of.or(case.settings.as_of);
    let resolved_tag = resolve_floating_tag(knowledge, repository, tag, day).map_or(tag, |row| row.tag);
    let mine = tags.iter().position(|one| compare_natural(one, resolved_tag).is_ge()).unwrap_or(tags.len());
    let first = |tag: &str| tag.split('-').next().unwrap_or(tag).to_owned();
    let mut ranked: Vec<(bool, bool, usize, String)> = tags
        .into_iter()
        .enumerate()
        .filter(|(_, one)| one != tag)
        .map(|(at, one)| (!is_same_flavour(tag, &one), first(&one) != first(resolved_tag), at.abs_diff(mine), one))
        .collect();
    ranked.sort();
    // One release of a minor and CUDA stands for the others of them.
    let kind = |tag: &str| {
        let cuda = knowledge.framework_image(repository, tag).map(|row| row.cuda.release());
        let (release, rest) = tag.split_once(['-', '_']).unwrap_or((tag, ""));
        (minor_release(release), rest.to_owned(), cuda)
    };
    let mut stand: BTreeSet<_> = BTreeSet::new();
    let own = minor_release(&first(resolved_tag));
    ranked.retain(|(.., one)| minor_release(&first(one)) == own || stand.insert(kind(one)));
    let release = |tag: &str| framework_release(knowledge, repository, tag);
    let bound = case.seen.packages.iter().any(is_bound_to_cuda_or_torch);
    let of_tag = |to: String| match (release(resolved_tag), release(&to)) {
        (Some(from), Some(now)) if are_neighbours(&from, &now) => {
            (to, false, if bound || resolved_tag != tag { FixSafety::Manual } else { FixSafety::Unsafe })
        }
        (from, now) => (to, from.is_some() && now.is_some(), FixSafety::Manual),
    };
    ranked.into_iter().map(|(.., tag)| of_tag(tag)).collect()
}

/// Returns the release month of a tag in a monthly series, unless the tables list that tag.
fn unlisted_month(knowledge: Knowledge, repository: &str, tag: &str) -> Option<&'static str> {
    let family = knowledge.base_family(repository).filter(|family| family.monthly)?;
    let row = knowledge.ngc_release(family, tag)?;
    let known = knowledge.tags_of_other_months(family, tag).iter().any(|own| own == tag);
    (!known && knowledge.framework_image(repository, tag).is_none()).then_some(row.month)
}

/// Returns the framework release in an image: that of the tag's month, else the number at the start of the tag.
fn framework_release(knowledge: Knowledge, repository: &str, tag: &str) -> Option<String> {
    let of_month = knowledge.base_family(repository).and_then(|family| knowledge.ngc_release(family, tag));
    match of_month {
        Some(row) => row.torch.map(ToString::to_string),
        None => tag.split(['-', '_']).next().map(|word| word.trim_start_matches('v').to_owned()),
    }
}

/// Whether a package is a build for one CUDA version or torch release, such as `k2==1.24.4+cuda10.2.torch1.9.0`.
fn is_bound_to_cuda_or_torch(package: &ObservedPackage) -> bool {
    package.requirement.version.local().is_some_and(|local| local.starts_with("cu") || local.contains("torch"))
}

/// The image flavours that a tag needs to contain the missing libraries, for one CUDA major release.
#[derive(Debug, PartialEq, Eq)]
struct RequiredFlavours {
    cuda_major: u32,
    flavours: BTreeSet<&'static str>,
}

/// Returns tags with the missing libraries and the current operating system, the nearest CUDA version first.
fn tags_with_missing_libraries(case: &FixContext<'_>, repository: &str, tag: &str) -> Vec<(String, bool, FixSafety)> {
    if !case.has_outcome(LIBRARY_MISSING) {
        return Vec::new();
    }
    let knowledge = case.knowledge();
    let Some(cuda_tag) = CudaTag::parse(tag) else { return Vec::new() };
    let Ok(own) = tag_version(cuda_tag.version).parse::<CudaVersion>() else { return Vec::new() };
    let mut found: Vec<((u64, Reverse<CudaVersion>), String, FixSafety)> = Vec::new();
    for words in flavours_for_missing_libraries(case) {
        for row in knowledge.cuda_images() {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            let built = |os: &str| {
                case.archs
                    .iter()
                    .all(|arch| knowledge.cuda_recipes_for_version(row.version).any(|one| one.is_for(os, arch)))
            };
            let there = row.os.contains(&cuda_tag.os) && built(cuda_tag.os);
            if version.major() != words.cuda_major
                || !there
                || knowledge.withdrawn_tag(repository, row.version).is_some()
            {
                continue;
            }
            let Some(new) = tag_with_flavours(&cuda_tag, row.version, row.flavours, &words, knowledge) else {
                continue;
            };
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
        let same = new.split('-').next() == Some(cuda_tag.version);
        (*far, !same, *version, new.clone())
    });
    found.into_iter().map(|(_, tag, safety)| (tag, false, safety)).take(MAX_TAGS_WITH_LIBRARIES).collect()
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
fn cuda_bases_with_libraries(case: &FixContext<'_>) -> Vec<String> {
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
            let cuda_tag = CudaTag { version: row.version, cudnn: None, flavour: bare, os };
            let Some(tag) = tag_with_flavours(&cuda_tag, row.version, row.flavours, &words, knowledge) else {
                continue;
            };
            found.push((Reverse(version), format!("{repository}:{tag}")));
        }
    }
    found.sort();
    let mut minors: BTreeSet<(u32, u32)> = BTreeSet::new();
    found.retain(|(Reverse(version), _)| minors.insert(version.release()));
    found.into_iter().map(|(_, tag)| tag).take(MAX_TAGS_WITH_LIBRARIES).collect()
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
    cuda_tag: &CudaTag<'_>,
    version: &str,
    flavours: &[&'static str],
    words: &RequiredFlavours,
    knowledge: Knowledge,
) -> Option<String> {
    let of_tag = knowledge.cudnn_tags().iter().find(|row| row.version == version).map_or(&[][..], |row| row.words);
    let is_extra = |word: &str| !flavours.contains(&word);
    let extra = words.flavours.iter().copied().any(is_extra);
    let cudnn = match cuda_tag.cudnn.filter(|word| of_tag.contains(word) && (!extra || words.flavours.contains(*word)))
    {
        Some(word) => Some(word),
        None if extra => Some(*of_tag.iter().rfind(|word| words.flavours.contains(**word))?),
        None => None,
    };
    // The flavour of the smallest images, `base`, is never combined with cuDNN.
    let bare = knowledge.smallest_cuda_flavour()?;
    let richer = words.flavours.iter().copied().find(|word| !is_extra(word) && *word != bare);
    let flavour = match richer.filter(|_| cuda_tag.flavour == bare) {
        Some(flavour) => flavour,
        None if cuda_tag.flavour == bare && cudnn.is_some() => return None,
        None => cuda_tag.flavour,
    };
    if !flavours.contains(&flavour) {
        return None;
    }
    Some([Some(version), cudnn, Some(flavour), Some(cuda_tag.os)].into_iter().flatten().collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags_for(tag: &str, missing: &[&str], version: &str) -> Vec<Option<String>> {
        let knowledge = Knowledge::built_in();
        let cuda_tag = CudaTag::parse(tag).expect("a tag");
        let row = knowledge.cuda_image(version).expect("a release");
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).expect("a number");
        let words = flavours_with_libraries(missing, knowledge)
            .into_iter()
            .filter(|words: &RequiredFlavours| words.cuda_major == major);
        words.map(|words| tag_with_flavours(&cuda_tag, version, row.flavours, &words, knowledge)).collect()
    }

    #[test]
    fn a_tag_has_the_flavour_of_each_missing_library() {
        let both = &["libcublas.so.12", "libcudnn.so.9"][..];
        for (tag, missing, version, expected) in [
            ("12.4.1-base-ubuntu22.04", both, "12.4.1", Some("12.4.1-cudnn-runtime-ubuntu22.04")),
            ("12.4.1-runtime-ubuntu22.04", &["libcudnn.so.9"], "12.4.1", Some("12.4.1-cudnn-runtime-ubuntu22.04")),
            ("12.4.1-devel-ubuntu22.04", &["libcudnn.so.9"], "12.4.1", Some("12.4.1-cudnn-devel-ubuntu22.04")),
            ("12.4.1-base-ubuntu22.04", &["libcublas.so.12"], "12.4.1", Some("12.4.1-runtime-ubuntu22.04")),
            ("11.8.0-cudnn8-runtime-ubuntu22.04", both, "12.4.1", Some("12.4.1-cudnn-runtime-ubuntu22.04")),
            ("12.4.1-base-ubuntu22.04", &["libcudnn.so.9"], "12.4.1", None),
            ("12.2.2-cudnn8-runtime-ubuntu22.04", &["libcudnn.so.9"], "12.2.2", None),
        ] {
            assert_eq!(tags_for(tag, missing, version), [expected.map(str::to_owned)], "{tag} {missing:?}");
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
