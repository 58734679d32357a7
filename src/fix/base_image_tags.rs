//! Alternative tags of the base image, the nearest first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::cuda::CudaVersion;
use crate::fact::{ObservedBase, ObservedPackage, PackageVersion, ValueState};
use crate::fix::fix_context::FixContext;
use crate::fix::floating_tags::{is_same_flavour, resolve_floating_tag};
use crate::fix::versions::{FAR_STEP, are_neighbours, minor_release};
use crate::fix::{ChangeKind, FixCandidate, ProposedChange, assumed_base, library_tags};
use crate::infer::tag_version;
use crate::knowledge::{Knowledge, compare_natural};
use crate::reference::ImageReference;
use crate::report::kinds::FixSafety;

/// The largest number of alternative tags that are proposed for one image.
const MAX_TAGS: usize = 64;

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
        let with_libraries = library_tags::tags_with_missing_libraries(case, &repository, tag);
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
            let wish = ProposedChange::Base { from: written.clone(), to: to_written };
            return Some(FixCandidate { kind: ChangeKind::BaseTag, step, title, safety: FixSafety::Manual, wish });
        }
        // Of most months nobody says which tags they have.
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
            wish: ProposedChange::Base { from: written.clone(), to: to_written },
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
        wish: ProposedChange::Base { from: written.to_string(), to },
    };
    library_tags::cuda_bases_with_libraries(case).into_iter().enumerate().map(of_image).collect()
}

/// Describes the move to a tag with an older CUDA major release or an older operating system; `None` if it is
/// neither.
fn describe_downgrade(from: &str, to: &str) -> Option<String> {
    let (own, new) = (CudaTag::parse(from)?, CudaTag::parse(to)?);
    let cuda = |tag: &CudaTag<'_>| tag_version(tag.version).parse::<CudaVersion>().ok();
    let (was, is) = (cuda(&own)?, cuda(&new)?);
    let older_cuda = is.major() < was.major();
    let older_system = os_release_number(new.os) < os_release_number(own.os);
    let words = [
        older_cuda.then(|| format!("from CUDA {} to CUDA {}", was.major(), is.major())),
        older_system.then(|| format!("from {} to {}", own.os, new.os)),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| format!("which goes back {}", words.join(" and ")))
}

/// Whether a change selects a CUDA image with an older CUDA major release or an older operating system.
pub(super) fn is_downgrade(wish: &ProposedChange) -> bool {
    let tag = |image: &'_ str| image.split('@').next().and_then(|image| Some(image.rsplit_once(':')?.1.to_owned()));
    match wish {
        ProposedChange::Base { from, to } => {
            tag(from).zip(tag(to)).is_some_and(|(from, to)| describe_downgrade(&from, &to).is_some())
        }
        ProposedChange::All(list) => list.iter().any(is_downgrade),
        _ => false,
    }
}

/// Returns the CUDA version of the base image that a change selects, if its tag states one.
pub(super) fn cuda_version_of_new_base(wish: &ProposedChange) -> Option<CudaVersion> {
    match wish {
        ProposedChange::Base { to, .. } => cuda_version_from_tag(to),
        _ => None,
    }
}

/// Returns the CUDA version in the tag of a CUDA base image.
pub(super) fn cuda_version_from_tag(image: &str) -> Option<CudaVersion> {
    let (_, tag) = image.rsplit_once(':')?;
    CudaTag::parse(tag)?.version.parse().ok()
}

/// The sort key of a tag: distance of the operating system, whether cuDNN differs, distance of the CUDA release,
/// newest patch first, name.
type TagDistance = (u32, bool, usize, Reverse<CudaVersion>, String);

/// The parts of a CUDA image tag such as `12.4.1-cudnn-devel-ubuntu22.04`.
pub(super) struct CudaTag<'a> {
    pub(super) version: &'a str,
    pub(super) cudnn: Option<&'a str>,
    pub(super) flavour: &'a str,
    pub(super) os: &'a str,
}

impl<'a> CudaTag<'a> {
    /// Splits a tag into its parts; `None` if it has another form.
    pub(super) fn parse(tag: &'a str) -> Option<Self> {
        let words: Vec<&str> = tag.split('-').collect();
        let (version, cudnn, flavour, os) = match words.as_slice() {
            [version, flavour, os] => (*version, None, *flavour, *os),
            [version, cudnn, flavour, os] if cudnn.starts_with("cudnn") => (*version, Some(*cudnn), *flavour, *os),
            _ => return None,
        };
        Some(Self { version, cudnn, flavour, os })
    }
}

/// Returns tags of CUDA base images: the same operating system first, then the nearest CUDA version, with the newest
/// patch of each minor release. Within a CUDA minor release nothing changes for the program; another operating system
/// has other packages, and what is installed on top is for one CUDA major release.
fn cuda_tag_alternatives(case: &FixContext<'_>, repository: &str, tag: &str) -> Vec<(String, bool, FixSafety)> {
    let knowledge = case.knowledge();
    let Some(asked) = CudaTag::parse(tag) else { return Vec::new() };
    let Ok(own) = tag_version(asked.version).parse::<CudaVersion>() else { return Vec::new() };
    let built = |version: &str, os: &str| {
        case.archs.iter().all(|arch| knowledge.cuda_recipes_for_version(version).any(|recipe| recipe.is_for(os, arch)))
    };
    let mut rows: Vec<(CudaVersion, &'static str, &'static [&'static str])> = knowledge
        .cuda_images()
        .iter()
        .filter(|row| row.flavours.contains(&asked.flavour))
        .filter(|row| knowledge.withdrawn_tag(repository, row.version).is_none())
        .filter(|row| row.os.iter().any(|os| built(row.version, os)))
        .filter_map(|row| Some((row.version.parse().ok()?, row.version, row.os)))
        .collect();
    rows.sort_by_key(|(version, ..)| Reverse(*version));
    let mut kept: Vec<(CudaVersion, &'static str, &'static [&'static str])> = Vec::new();
    for row in rows {
        let newest = !kept.iter().any(|other| other.0.release() == row.0.release());
        if (newest || row.0.release() == own.release()) && row.1 != asked.version {
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
        let cudnn = match asked.cudnn {
            None => None,
            Some(word) => match words.iter().find(|own| **own == word).or(words.last()) {
                Some(word) => Some(*word),
                None => continue,
            },
        };
        let far = place(version).abs_diff(place(own));
        for os in systems.iter().filter(|os| is_same_os(os, asked.os) && built(text, os)) {
            let parts: Vec<&str> = [Some(text), cudnn, Some(asked.flavour), Some(*os)].into_iter().flatten().collect();
            let new = parts.join("-");
            let key = (
                os_release_number(os).abs_diff(os_release_number(asked.os)),
                cudnn != asked.cudnn,
                far,
                Reverse(version),
                new.clone(),
            );
            let safety = match (*os == asked.os && version.major() == own.major(), version.release() == own.release()) {
                (false, _) => FixSafety::Manual,
                (true, true) if cudnn == asked.cudnn => FixSafety::Safe,
                (true, _) => FixSafety::Unsafe,
            };
            found.push((key, new, safety));
        }
    }
    found.sort();
    let far = |version: CudaVersion| !are_neighbours(&own.to_string(), &version.to_string());
    found.into_iter().map(|((_, _, _, Reverse(version), _), tag, safety)| (tag, far(version), safety)).collect()
}

/// Returns the release of an operating system as a number, `2204` for `ubuntu22.04`, so that differences measure
/// distance.
fn os_release_number(system: &str) -> u32 {
    let digits: String = system.chars().filter(char::is_ascii_digit).take(6).collect();
    digits.parse().unwrap_or(0)
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
    // What is compiled on it wants a compiler.
    tags.retain(|one| knowledge.flavour_has_compiler(one) || !knowledge.flavour_has_compiler(tag));
    tags.sort_by(|one, other| compare_natural(one, other));
    tags.dedup();
    let day = case.seen.as_of.or(case.settings.as_of);
    let meant = resolve_floating_tag(knowledge, repository, tag, day).map_or(tag, |row| row.tag);
    let mine = tags.iter().position(|one| compare_natural(one, meant).is_ge()).unwrap_or(tags.len());
    let first = |tag: &str| tag.split('-').next().unwrap_or(tag).to_owned();
    let mut ranked: Vec<(bool, bool, usize, String)> = tags
        .into_iter()
        .enumerate()
        .filter(|(_, one)| one != tag)
        .map(|(at, one)| (!is_same_flavour(tag, &one), first(&one) != first(meant), at.abs_diff(mine), one))
        .collect();
    ranked.sort();
    // One release of a minor and CUDA stands for the others of them.
    let kind = |tag: &str| {
        let cuda = knowledge.framework_image(repository, tag).map(|row| row.cuda.release());
        let (release, rest) = tag.split_once(['-', '_']).unwrap_or((tag, ""));
        (minor_release(release), rest.to_owned(), cuda)
    };
    let mut stand: BTreeSet<_> = BTreeSet::new();
    let own = minor_release(&first(meant));
    ranked.retain(|(.., one)| minor_release(&first(one)) == own || stand.insert(kind(one)));
    let release = |tag: &str| framework_release(knowledge, repository, tag);
    let bound = case.seen.packages.iter().any(is_bound_to_cuda_or_torch);
    let of_tag = |to: String| match (release(meant), release(&to)) {
        (Some(from), Some(now)) if are_neighbours(&from, &now) => {
            (to, false, if bound || meant != tag { FixSafety::Manual } else { FixSafety::Unsafe })
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
        Some(row) => row.torch.map(str::to_owned),
        None => tag.split(['-', '_']).next().map(|word| word.trim_start_matches('v').to_owned()),
    }
}

/// Whether a package is a build for one CUDA version or torch release, such as `k2==1.24.4+cuda10.2.torch1.9.0`.
fn is_bound_to_cuda_or_torch(package: &ObservedPackage) -> bool {
    let PackageVersion::Exact(text) = &package.version else { return false };
    text.split_once('+').is_some_and(|(_, local)| local.starts_with("cu") || local.contains("torch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_downgrade_is_described_with_both_releases() {
        for (from, to, expected) in [
            (
                "12.4.1-runtime-ubuntu22.04",
                "9.2-runtime-ubuntu16.04",
                Some("which goes back from CUDA 12 to CUDA 9 and from ubuntu22.04 to ubuntu16.04"),
            ),
            (
                "12.4.1-cudnn-devel-ubuntu22.04",
                "12.4.0-devel-ubuntu20.04",
                Some("which goes back from ubuntu22.04 to ubuntu20.04"),
            ),
            ("12.4.1-base-ubuntu22.04", "11.8.0-base-ubuntu22.04", Some("which goes back from CUDA 12 to CUDA 11")),
            ("12.4.1-base-ubuntu22.04", "12.2.2-base-ubuntu22.04", None),
            ("12.4.1-base-ubuntu22.04", "13.0.1-base-ubuntu24.04", None),
            ("12.4.1-base-ubi9", "12.4.1-base-ubi9", None),
            ("latest", "11.8.0-base-ubuntu22.04", None),
        ] {
            assert_eq!(describe_downgrade(from, to).as_deref(), expected, "{from} {to}");
        }
    }
}
