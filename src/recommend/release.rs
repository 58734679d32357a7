//! Releases and builds of a distribution that a requirement allows, of those in the knowledge tables.

use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::infer::{is_compiled_for_torch, variant_cuda};
use crate::install::{compare_pep440_versions, is_version_between};
use crate::knowledge::{
    BroughtRow, FrameworkBuildRow, FrameworkImageRow, Knowledge, TorchPinRow, TorchRow, compare_natural,
};
use crate::nearest::nearest_word;
use crate::recommend::release_cache::ReleaseCache;
use crate::recommend::request::PackageRequest;
use crate::recommend::{nvidia_dependencies, python};

/// A release of a distribution, in one build.
#[derive(Clone, Debug)]
pub(super) struct CandidateRelease {
    /// Normalised name.
    pub(super) name: String,
    /// The distribution with its GPU code, which decides for which Python versions it has wheels: itself or a
    /// dependency.
    pub(super) code: &'static str,
    /// Version without local part.
    pub(super) version: &'static str,
    /// The build, such as `cu118`, if there are several.
    pub(super) build: Option<&'static str>,
    /// Requirement specifier for `pip install`; empty if the base image includes it.
    pub(super) spec: String,
    /// URL of the index with its build, if that is not the default one.
    pub(super) page: Option<String>,
    /// The CUDA release that it was built with; only the major version if no more is known.
    pub(super) cuda: Option<CudaVersion>,
    /// The image that includes it.
    pub(super) within: Option<&'static FrameworkImageRow>,
}

impl CandidateRelease {
    /// Returns its name in tables and sentences: `torch==2.6.0+cu118`.
    pub(super) fn display_name(&self) -> String {
        if self.spec.is_empty() { format!("{}=={}", self.name, self.version) } else { self.spec.clone() }
    }
}

/// How much is known of the libraries that a release requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LibraryKnowledge {
    /// The libraries, or that another framework provides them.
    Known,
    /// An extra provides libraries, perhaps not all of them.
    FromExtra,
    /// Nothing.
    Unknown,
}

impl CandidateRelease {
    /// Returns how much is known of the libraries that it requires.
    pub(super) fn library_knowledge(&self, knowledge: Knowledge) -> LibraryKnowledge {
        let pinned = || knowledge.torch_pins_of(&self.name).next().is_some();
        let needs = || self.version.parse().ok().and_then(|version| knowledge.library_needs_of(self.code, version));
        if self.within.is_some() || knowledge.has_variants(self.code) || pinned() || needs().is_some() {
            LibraryKnowledge::Known
        } else if self.spec.contains('[') {
            LibraryKnowledge::FromExtra
        } else {
            LibraryKnowledge::Unknown
        }
    }
}

/// Compares two versions.
pub(super) fn compare_versions(one: &str, other: &str) -> Ordering {
    compare_pep440_versions(one, other).unwrap_or_else(|| compare_natural(one, other))
}

/// Returns every release that satisfies a requirement for some architectures, the newest first; an error if there is
/// none.
pub(super) fn find_releases(
    wish: &PackageRequest,
    archs: &[String],
    knowledge: Knowledge,
) -> Result<Vec<CandidateRelease>, String> {
    let mut found = all_releases(wish, archs, knowledge);
    let nowhere = || {
        let archs = archs.iter().map(|arch| format!("linux/{arch}")).collect::<Vec<_>>().join(" and ");
        format!(
            "the compatibility database of {} has no wheel of `{}` for {archs}",
            knowledge.newest_source_date(),
            wish.text
        )
    };
    if found.is_empty() {
        let elsewhere = !all_releases(wish, &[], knowledge).is_empty();
        return Err(if elsewhere { nowhere() } else { unknown_package_message(&wish.name, knowledge) });
    }
    let versions: Vec<&'static str> = found.iter().map(|one| one.version).collect();
    found.retain(|one| wish.admits(one.version));
    let date = knowledge.newest_source_date();
    if found.is_empty() {
        let newest = versions.iter().copied().max_by(|one, other| compare_versions(one, other)).unwrap_or_default();
        let oldest = versions.iter().copied().min_by(|one, other| compare_versions(one, other)).unwrap_or_default();
        let name = &wish.name;
        return Err(format!(
            "the compatibility database of {date} has no `{}`; it has {name} {oldest} to {newest}",
            wish.text
        ));
    }
    if let Some(build) = &wish.build {
        let mut builds: Vec<&str> = found.iter().filter_map(|one| one.build).collect();
        builds.sort_by(|one, other| compare_natural(one, other));
        builds.dedup();
        let there = if builds.is_empty() { "unknown".to_owned() } else { builds.join(", ") };
        found.retain(|one| one.build == Some(build.as_str()));
        if found.is_empty() {
            return Err(format!(
                "the compatibility database of {date} has no `{}`; its builds of that release are {there}",
                wish.text
            ));
        }
    }
    let known = ReleaseCache::new(archs.to_vec(), knowledge);
    found.retain(|one| python::has_any_wheel(one, &known));
    if found.is_empty() {
        return Err(nowhere());
    }
    found.sort_by(|one, other| compare_versions(other.version, one.version));
    Ok(found)
}

/// Returns every release of the distribution of a requirement.
fn all_releases(wish: &PackageRequest, archs: &[String], knowledge: Knowledge) -> Vec<CandidateRelease> {
    let mut found = if knowledge.has_variants(&wish.name) {
        let built = knowledge.framework_with_variants().filter(|row| row.distribution == wish.name);
        built.map_or_else(Vec::new, |row| torch_releases(row.distribution, archs, knowledge))
    } else {
        distribution_releases(wish, knowledge)
    };
    if found.is_empty() {
        found = companion_releases(&wish.name, knowledge);
    }
    if found.is_empty() {
        // A component of which no distribution has the name: those that are it.
        let rows = knowledge.frameworks().iter().filter(|row| row.component == wish.name);
        for row in rows.filter(|row| row.distribution != wish.name && !row.variants) {
            found.extend(distribution_releases(
                &PackageRequest { name: row.distribution.to_owned(), ..wish.clone() },
                knowledge,
            ));
        }
    }
    if !found.is_empty() && wish.extras.is_empty() && wish.build.is_none() {
        found.extend(image_releases(&wish.name, knowledge));
    }
    found
}

/// Returns the releases of `PyTorch`, in each of their builds.
fn torch_releases(name: &'static str, archs: &[String], knowledge: Knowledge) -> Vec<CandidateRelease> {
    let page = knowledge.build_pages().iter().find(|row| row.distribution == name);
    let there = |row: &TorchRow, tag: &str| {
        archs.iter().all(|arch| arch == "amd64" || knowledge.torch_build(row.version, tag, arch).is_some())
    };
    let default = |row: &TorchRow, tag: &str| {
        let of = |arch: &String| row.default_variant.iter().any(|own| own.arch == arch && own.value == tag);
        !archs.is_empty() && archs.iter().all(of)
    };
    let mut found = Vec::new();
    for row in knowledge.served_torch_releases() {
        for tag in row.variants.iter().filter(|tag| there(row, tag)) {
            let Some(cuda) = variant_cuda(tag) else { continue };
            let plain = default(row, tag);
            let page = page.map(|page| page.page.replace("{build}", tag)).filter(|_| !plain);
            if !plain && page.is_none() {
                continue;
            }
            // What lies in an index of its own is found there without its build as well.
            let unnamed = archs
                .iter()
                .any(|arch| knowledge.torch_build(row.version, tag, arch).is_some_and(|build| build.unnamed));
            let spec = if plain || unnamed {
                format!("{name}=={}", row.version)
            } else {
                format!("{name}=={}+{tag}", row.version)
            };
            found.push(CandidateRelease {
                name: name.to_owned(),
                code: name,
                version: row.version,
                build: Some(tag),
                spec,
                page,
                cuda: Some(cuda),
                within: None,
            });
        }
    }
    found
}

/// Returns releases with one build each: of the distribution, of its extras, or of dependencies with the same
/// version.
fn distribution_releases(wish: &PackageRequest, knowledge: Knowledge) -> Vec<CandidateRelease> {
    let name = wish.name.as_str();
    let whole = |version: &str| version.matches('.').count() >= 2;
    let rows = |distribution: &str| {
        let distribution = distribution.to_owned();
        let rows = knowledge.framework_builds().iter().filter(move |row| row.distribution == distribution);
        rows.filter(move |row| whole(row.version) && row.cuda.is_some())
    };
    let choice = |row: &'static FrameworkBuildRow, extras: &[&str]| {
        let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        let spec = format!("{name}{extras}=={}", row.version);
        let (name, build, page) = (name.to_owned(), None, None);
        let (code, version, cuda) = (row.distribution, row.version, row.cuda);
        CandidateRelease { name, code, version, build, spec, page, cuda, within: None }
    };
    let asked: Vec<&str> = wish.extras.iter().map(String::as_str).collect();
    let brought = || knowledge.brought_packages().iter().filter(|row| row.distribution == name);
    let mut found = Vec::new();
    for row in rows(name) {
        found.push(choice(row, &asked));
        if asked.is_empty() {
            let brings = |one: &BroughtRow| is_version_between(row.version, one.from, one.before);
            let own = brought().filter(|one| !one.extra.is_empty() && !one.same && brings(one));
            let mut extras: Vec<&str> = own.map(|one| one.extra).collect();
            extras.dedup();
            found.extend(extras.iter().map(|extra| choice(row, &[extra])));
        }
    }
    // Of extras that bring the same, the one that says most; what is added behind a `-` wants more of the image.
    let plain = |row: &BroughtRow| {
        let mut others = brought().filter(|other| other.same && other.brings == row.brings && other.extra != row.extra);
        !others.any(|other| {
            row.extra.strip_prefix(other.extra).is_some_and(|rest| rest.starts_with('-'))
                || (other.extra.len() > row.extra.len() && !other.extra.contains('-'))
        })
    };
    for along in
        brought().filter(|row| row.same && if asked.is_empty() { plain(row) } else { asked.contains(&row.extra) })
    {
        let extras = if asked.is_empty() { vec![along.extra] } else { asked.clone() };
        let own = rows(along.brings).filter(|row| is_version_between(row.version, along.from, along.before));
        found.extend(own.map(|row| choice(row, &extras)));
    }
    found
}

/// Returns the releases of a package that pins `PyTorch` and has no rows of its own.
fn companion_releases(name: &str, knowledge: Knowledge) -> Vec<CandidateRelease> {
    let rows = knowledge.torch_pins_of(name).filter(|row| row.version != "*");
    let choice = |row: &'static TorchPinRow| CandidateRelease {
        name: name.to_owned(),
        code: row.distribution,
        version: row.version,
        build: None,
        spec: format!("{name}=={}", row.version),
        page: None,
        cuda: None,
        within: None,
    };
    rows.map(choice).collect()
}

/// Returns the releases that images include; only the smallest of images that differ in flavour.
fn image_releases(name: &str, knowledge: Knowledge) -> Vec<CandidateRelease> {
    let built = knowledge.framework_with_variants().filter(|row| row.distribution == name);
    // An image that has it for a program of its own is none to build on.
    let all_have = |repository: &str| {
        let mut rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
        rows.all(|row| row.torch.is_some())
    };
    let mut found: Vec<CandidateRelease> = Vec::new();
    for row in knowledge.framework_images() {
        let brought = row.brings.iter().find(|(own, _)| *own == name).map(|(own, version)| (*own, *version));
        let of_torch =
            built.and_then(|built| Some((built.distribution, row.torch?))).filter(|_| all_have(row.repository));
        let Some((code, version)) = brought.or(of_torch) else { continue };
        let first = row.tag.split('-').next().unwrap_or(row.tag);
        if knowledge.withdrawn_tag(row.repository, first).is_some() || version.matches('.').count() < 2 {
            continue;
        }
        let choice = CandidateRelease {
            name: name.to_owned(),
            code,
            version,
            build: None,
            spec: String::new(),
            page: None,
            cuda: Some(row.cuda),
            within: Some(row),
        };
        let alike = |one: &CandidateRelease| {
            one.version == version
                && one.within.is_some_and(|other| other.repository == row.repository && other.cuda == row.cuda)
        };
        match found.iter_mut().find(|one| alike(one)) {
            Some(one) if one.within.is_some_and(|other| tag_size_rank(row.tag) < tag_size_rank(other.tag)) => {
                *one = choice;
            }
            Some(_) => {}
            None => found.push(choice),
        }
    }
    found
}

/// Returns the rank of a tag by image size: `devel` is larger, and so is a longer tag.
pub(super) fn tag_size_rank(tag: &str) -> (bool, usize) {
    (tag.split('-').any(|word| word == "devel"), tag.len())
}

/// Whether two releases can be installed together, by the `PyTorch` release that each requires.
pub(super) fn are_compatible(one: &CandidateRelease, other: &CandidateRelease, known: &ReleaseCache) -> bool {
    let knowledge = known.knowledge;
    let asked = |one: &CandidateRelease| known.torch_pin(one).filter(|pin| !pin.is_empty());
    let component = |one: &CandidateRelease| knowledge.framework(one.code).map(|row| row.component);
    let twice = one.code != other.code && component(one).is_some() && component(one) == component(other);
    // Two distributions with the same code in them, for two CUDA releases.
    if twice && one.cuda.is_some() && other.cuda.is_some()
        || nvidia_dependencies::have_conflicting_nvidia_wheels(one, other, knowledge)
    {
        return false;
    }
    // What an image brings is compiled on the torch of that image.
    let stays = |one: &CandidateRelease, other: &CandidateRelease| {
        one.within.is_some() && other.within.is_none() && is_compiled_for_torch(&one.name, knowledge)
    };
    let wants = |one: &CandidateRelease, other: &CandidateRelease| {
        !stays(one, other) && asked(one).is_none_or(|pin| known.admits(pin, other.version))
    };
    match [one, other].map(|choice| knowledge.has_variants(&choice.name)) {
        [false, true] => wants(one, other),
        [true, false] => wants(other, one),
        // Both bring the framework along: one release of it for both.
        _ => match (asked(one), asked(other)) {
            (Some(own), Some(others)) => have_common_torch(own, others, known),
            (None, Some(_)) => !stays(one, other),
            (Some(_), None) => !stays(other, one),
            (None, None) => true,
        },
    }
}

/// Whether some release of `PyTorch` satisfies two specifiers.
fn have_common_torch(own: &'static str, others: &'static str, known: &ReleaseCache) -> bool {
    let exact = |pin: &'static str| pin.strip_prefix("==").filter(|pin| !pin.contains(['*', ',']));
    let within = |range: &'static str, version: &'static str| known.admits(range, version);
    match (exact(own), exact(others)) {
        (Some(own), _) => within(others, own),
        (None, Some(others)) => within(own, others),
        (None, None) => {
            known.knowledge.served_torch_releases().any(|row| within(own, row.version) && within(others, row.version))
        }
    }
}

/// Returns the `PyTorch` specifier that a distribution requires, if the tables list it.
pub(super) fn torch_pin(name: &str, version: &str, knowledge: Knowledge) -> Option<&'static str> {
    let rows = || knowledge.torch_pins_of(name);
    // As it is written, which most are, before it is read: no table has one release in two ways.
    let written = || rows().find(|row| row.version == version);
    let own = || rows().find(|row| compare_versions(row.version, version).is_eq());
    let any = || rows().find(|row| row.version == "*");
    let built = || knowledge.framework_build(name, version).and_then(|row| row.torch);
    written().or_else(own).or_else(any).map(|row| row.torch).or_else(built)
}

/// Returns the error for a package without releases in the knowledge tables.
fn unknown_package_message(name: &str, knowledge: Knowledge) -> String {
    let builds = knowledge.framework_builds().iter().map(|row| row.distribution);
    let brought = knowledge.brought_packages().iter().filter(|row| row.same).map(|row| row.distribution);
    let built = knowledge.framework_with_variants().map(|row| row.distribution);
    let pins = knowledge.torch_pins().iter().filter(|row| row.version != "*").map(|row| row.distribution);
    let mut names: Vec<&str> = builds.chain(brought).chain(built).chain(pins).collect();
    names.sort_unstable();
    names.dedup();
    let hint = nearest_word(name, names).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    format!("the compatibility database of {} has no releases of `{name}`{hint}", knowledge.newest_source_date())
}
