//! Releases and builds of a distribution that a requirement allows, with the Python versions and NVIDIA library wheels
//! that they need, as far as the tables list them.
//!
//! Library wheels of one name share a directory, and each release pins its own: two unrelated releases with such wheels
//! are not known to work together.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::fix::recommend::request::PackageRequest;
use crate::infer::{is_compiled_for_torch, variant_cuda};
use crate::knowledge::{
    FrameworkBuildRow, FrameworkImageRow, Knowledge, ParsedText, RequiresDistRow, RowRange, RowVersion, TorchRow,
    compare_natural,
};
use crate::model::package::{ExactVersion, PackageName, Requirement, VersionRange};
use crate::text::nearest::nearest_word;

/// A release of a distribution, in one build.
#[derive(Clone, Debug)]
pub(super) struct CandidateRelease {
    /// The name.
    pub(super) name: PackageName,
    /// The extras, requested or with GPU code.
    pub(super) extras: Vec<PackageName>,
    /// The distribution with its GPU code, which decides for which Python versions it has wheels: itself or a
    /// dependency.
    pub(super) code: &'static str,
    /// Version without local part.
    pub(super) version: RowVersion,
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
    /// Returns how much is known of the libraries that the release requires.
    pub(super) fn library_knowledge(&self, knowledge: Knowledge) -> LibraryKnowledge {
        let pinned = || knowledge.torch_requirements_on_build_indexes(&self.name).next().is_some();
        let needs =
            || self.version.as_str().parse().ok().and_then(|version| knowledge.library_needs_of(self.code, version));
        if self.within.is_some() || knowledge.has_variants(self.code) || pinned() || needs().is_some() {
            LibraryKnowledge::Known
        } else if self.extras.is_empty() {
            LibraryKnowledge::Unknown
        } else {
            LibraryKnowledge::FromExtra
        }
    }
}

/// Compares two versions.
pub(super) fn compare_versions(one: &str, other: &str) -> Ordering {
    let order = ExactVersion::from(one).compare_valid(&ExactVersion::from(other));
    order.unwrap_or_else(|| compare_natural(one, other))
}

/// Returns every release that satisfies a requirement for some architectures, the newest first; an error if there is
/// none.
pub(super) fn find_releases(
    request: &PackageRequest,
    archs: &[String],
    knowledge: Knowledge,
) -> Result<Vec<CandidateRelease>, String> {
    let mut found = all_releases(request, archs, knowledge);
    let nowhere = || {
        let archs = archs.iter().map(|arch| format!("linux/{arch}")).collect::<Vec<_>>().join(" and ");
        format!(
            "the compatibility database of {} has no wheel of `{}` for {archs}",
            knowledge.newest_source_date(),
            request.text
        )
    };
    if found.is_empty() {
        let elsewhere = !all_releases(request, &[], knowledge).is_empty();
        return Err(if elsewhere { nowhere() } else { unknown_package_message(&request.requirement.name, knowledge) });
    }
    let versions: Vec<RowVersion> = found.iter().map(|one| one.version).collect();
    found.retain(|one| request.admits(one.version));
    let date = knowledge.newest_source_date();
    if found.is_empty() {
        let newest = versions.iter().copied().max_by(|one, other| one.compare(other)).map_or("", ParsedText::as_str);
        let oldest = versions.iter().copied().min_by(|one, other| one.compare(other)).map_or("", ParsedText::as_str);
        let name = &request.requirement.name;
        return Err(format!(
            "the compatibility database of {date} has no `{}`; it has {name} {oldest} to {newest}",
            request.text
        ));
    }
    if let Some(build) = &request.build {
        let mut builds: Vec<&str> = found.iter().filter_map(|one| one.build).collect();
        builds.sort_by(|one, other| compare_natural(one, other));
        builds.dedup();
        let there = if builds.is_empty() { "unknown".to_owned() } else { builds.join(", ") };
        found.retain(|one| one.build == Some(build.as_str()));
        if found.is_empty() {
            return Err(format!(
                "the compatibility database of {date} has no `{}`; its builds of that release are {there}",
                request.text
            ));
        }
    }
    let release_cache = ReleaseCache::new(archs.to_vec(), knowledge);
    found.retain(|one| has_any_wheel(one, &release_cache));
    if found.is_empty() {
        return Err(nowhere());
    }
    found.sort_by(|one, other| other.version.compare(one.version));
    Ok(found)
}

/// Returns every release of the distribution of a requirement.
fn all_releases(request: &PackageRequest, archs: &[String], knowledge: Knowledge) -> Vec<CandidateRelease> {
    let Requirement { name, extras, .. } = &request.requirement;
    let mut found = if knowledge.has_variants(name) {
        let built = knowledge.framework_with_variants().filter(|row| row.distribution == *name);
        built.map_or_else(Vec::new, |row| torch_releases(row.distribution, archs, knowledge))
    } else {
        distribution_releases(name, extras, knowledge)
    };
    if found.is_empty() {
        found = companion_releases(name, knowledge);
    }
    if found.is_empty() {
        // A component of which no distribution has the name: those that are it.
        let rows = knowledge.frameworks().iter().filter(|row| row.component == *name);
        for row in rows.filter(|row| row.distribution != *name && !row.variants) {
            found.extend(distribution_releases(&PackageName::python(row.distribution), extras, knowledge));
        }
    }
    if !found.is_empty() && extras.is_empty() && request.build.is_none() {
        found.extend(image_releases(name, knowledge));
    }
    found
}

/// Returns the releases of `PyTorch`, in each of their builds.
fn torch_releases(name: &'static str, archs: &[String], knowledge: Knowledge) -> Vec<CandidateRelease> {
    let page = knowledge.build_index_url_template(name);
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
            let page = page.map(|page| page.replace("{build}", tag)).filter(|_| !plain);
            if !plain && page.is_none() {
                continue;
            }
            // On an index for one build, a release is also found without the build in its version.
            let unnamed = archs
                .iter()
                .any(|arch| knowledge.torch_build(row.version, tag, arch).is_some_and(|build| build.unnamed));
            let spec = if plain || unnamed {
                format!("{name}=={}", row.version)
            } else {
                format!("{name}=={}+{tag}", row.version)
            };
            found.push(CandidateRelease {
                name: PackageName::python(name),
                extras: Vec::new(),
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
fn distribution_releases(
    name: &PackageName,
    requested_extras: &[PackageName],
    knowledge: Knowledge,
) -> Vec<CandidateRelease> {
    let rows = |distribution: &str| -> Vec<(RowVersion, &'static FrameworkBuildRow)> {
        let rows = knowledge.framework_releases_of(distribution).filter(|row| row.is_full_release());
        rows.filter(|row| row.cuda.is_some()).filter_map(|row| Some((row.version?, row))).collect()
    };
    let choice = |(version, row): (RowVersion, &'static FrameworkBuildRow), extras: &[PackageName]| {
        let list = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        let spec = format!("{name}{list}=={version}");
        let (name, extras, build, page) = (name.clone(), extras.to_vec(), None, None);
        let (code, cuda) = (row.distribution, row.cuda);
        CandidateRelease { name, extras, code, version, build, spec, page, cuda, within: None }
    };
    let of_extras = || knowledge.gpu_dependencies_of(name).filter_map(|row| Some((row, row.extra?)));
    let mut found = Vec::new();
    for (version, row) in rows(name) {
        found.push(choice((version, row), requested_extras));
        if requested_extras.is_empty() {
            let own = of_extras().filter(|(one, _)| !one.same && one.applies_to(version));
            let mut extras: Vec<PackageName> = own.map(|(_, extra)| PackageName::python(extra)).collect();
            extras.dedup();
            found.extend(extras.into_iter().map(|extra| choice((version, row), &[extra])));
        }
    }
    // Of extras with the same dependencies, the most specific one; a suffix behind a `-` requires more of the image.
    let plain = |row: &RequiresDistRow, extra: &str| {
        let mut others = of_extras().filter(|(other, own)| other.same && other.package == row.package && *own != extra);
        !others.any(|(_, other)| {
            extra.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'))
                || (other.len() > extra.len() && !other.contains('-'))
        })
    };
    for (dependency, extra) in of_extras().filter(|(row, extra)| {
        row.same
            && if requested_extras.is_empty() {
                plain(row, extra)
            } else {
                requested_extras.iter().any(|own| own == extra)
            }
    }) {
        let extras =
            if requested_extras.is_empty() { vec![PackageName::python(extra)] } else { requested_extras.to_vec() };
        let own = rows(dependency.package).into_iter().filter(|(version, _)| dependency.applies_to(version));
        found.extend(own.map(|release| choice(release, &extras)));
    }
    found
}

/// Returns the releases of a package that pins `PyTorch` and has no rows of its own.
fn companion_releases(name: &PackageName, knowledge: Knowledge) -> Vec<CandidateRelease> {
    let candidate = |row: &'static RequiresDistRow| {
        let version = row.version?;
        Some(CandidateRelease {
            name: name.clone(),
            extras: Vec::new(),
            code: row.distribution,
            version,
            build: None,
            spec: format!("{name}=={version}"),
            page: None,
            cuda: None,
            within: None,
        })
    };
    knowledge.torch_requirements_on_build_indexes(name).filter_map(candidate).collect()
}

/// Returns the releases that images include; only the smallest of images that differ in flavour.
fn image_releases(name: &PackageName, knowledge: Knowledge) -> Vec<CandidateRelease> {
    let built = knowledge.framework_with_variants().filter(|row| row.distribution == *name);
    // An image that has it only for its own program is no base image.
    let all_have = |repository: &str| {
        let mut rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
        rows.all(|row| row.torch.is_some())
    };
    let mut found: Vec<CandidateRelease> = Vec::new();
    for row in knowledge.framework_images() {
        let included = row.packages.iter().find(|(own, _)| *own == *name).map(|(own, version)| (*own, *version));
        let of_torch =
            built.and_then(|built| Some((built.distribution, row.torch?))).filter(|_| all_have(row.repository));
        let Some((code, version)) = included.or(of_torch) else { continue };
        let first = row.tag.split('-').next().unwrap_or(row.tag);
        if knowledge.withdrawn_tag(row.repository, first).is_some() || version.as_str().matches('.').count() < 2 {
            continue;
        }
        let choice = CandidateRelease {
            name: name.clone(),
            extras: Vec::new(),
            code,
            version,
            build: None,
            spec: String::new(),
            page: None,
            cuda: Some(row.cuda),
            within: Some(row),
        };
        let alike = |one: &CandidateRelease| {
            one.version.as_str() == version.as_str()
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
pub(super) fn are_compatible(one: &CandidateRelease, other: &CandidateRelease, release_cache: &ReleaseCache) -> bool {
    let knowledge = release_cache.knowledge;
    let required_torch = |one: &CandidateRelease| release_cache.torch_pin(one).filter(|pin| !pin.is_any());
    let component = |one: &CandidateRelease| knowledge.framework(one.code).map(|row| row.component);
    let twice = one.code != other.code && component(one).is_some() && component(one) == component(other);
    // Two distributions with the same code in them, for two CUDA releases.
    if twice && one.cuda.is_some() && other.cuda.is_some() || have_conflicting_nvidia_wheels(one, other, knowledge) {
        return false;
    }
    // Packages of an image are compiled for the torch of that image.
    let is_tied_to_image = |one: &CandidateRelease, other: &CandidateRelease| {
        one.within.is_some() && other.within.is_none() && is_compiled_for_torch(&one.name, knowledge)
    };
    let wants = |one: &CandidateRelease, other: &CandidateRelease| {
        !is_tied_to_image(one, other) && required_torch(one).is_none_or(|pin| pin.contains(other.version) == Some(true))
    };
    match [one, other].map(|choice| knowledge.has_variants(&choice.name)) {
        [false, true] => wants(one, other),
        [true, false] => wants(other, one),
        // Both depend on the framework: one release of it for both.
        _ => match (required_torch(one), required_torch(other)) {
            (Some(own), Some(others)) => have_common_torch(own, others, knowledge),
            (None, Some(_)) => !is_tied_to_image(one, other),
            (Some(_), None) => !is_tied_to_image(other, one),
            (None, None) => true,
        },
    }
}

/// Whether some release of `PyTorch` satisfies two specifiers.
fn have_common_torch(own: &VersionRange, other: &VersionRange, knowledge: Knowledge) -> bool {
    let contains = |range: &VersionRange, version: &ExactVersion| range.contains(version) == Some(true);
    match [own, other].map(VersionRange::pinned_version) {
        [Some(pinned), _] => contains(other, &pinned),
        [None, Some(pinned)] => contains(own, &pinned),
        [None, None] => {
            knowledge.served_torch_releases().any(|row| contains(own, row.version) && contains(other, row.version))
        }
    }
}

/// Returns the `PyTorch` specifier that a distribution requires, if the tables list it.
fn torch_pin(name: &str, version: &ExactVersion, knowledge: Knowledge) -> Option<RowRange> {
    let rows = || knowledge.torch_requirements_on_build_indexes(name);
    let own = rows().find(|row| row.version.is_some_and(|own| own.is_same(version)));
    let any = || rows().find(|row| row.version.is_none());
    let built = || knowledge.framework_build(name, version).and_then(|row| row.torch);
    own.or_else(any).map(|row| row.range).or_else(built)
}

/// Returns the error for a package without releases in the knowledge tables.
fn unknown_package_message(name: &str, knowledge: Knowledge) -> String {
    let builds = knowledge.framework_releases().map(|row| row.distribution);
    let dependents = knowledge.gpu_dependencies().filter(|row| row.same).map(|row| row.distribution);
    let built = knowledge.framework_with_variants().map(|row| row.distribution);
    let pins = knowledge.torch_requirements().filter(|row| row.version.is_some()).map(|row| row.distribution);
    let mut names: Vec<&str> = builds.chain(dependents).chain(built).chain(pins).collect();
    names.sort_unstable();
    names.dedup();
    let hint =
        nearest_word(name, names).map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default();
    format!("the compatibility database of {} has no releases of `{name}`{hint}", knowledge.newest_source_date())
}

/// Whether a release has a wheel for a Python version on all architectures; `None` if the tables do not list that.
fn has_wheel(choice: &CandidateRelease, python: &str, release_cache: &ReleaseCache) -> Option<bool> {
    let knowledge = release_cache.knowledge;
    let of_built =
        |version: &ExactVersion| knowledge.torch_pythons().any(|row| row.python == python && row.contains(version));
    if knowledge.has_variants(choice.code) {
        return Some(of_built(choice.version));
    }
    // What pins a release of that framework has no more Pythons than it.
    let pinned = release_cache.torch_pin(choice).and_then(|pin| pin.pinned_version());
    if has_unmet_extra(choice, python, knowledge) {
        return Some(false);
    }
    if pinned.is_some_and(|version| !of_built(&version)) {
        return Some(false);
    }
    let listed = || knowledge.wheel_pythons_of(choice.code);
    listed().next()?;
    let has = |arch: &str| {
        let mut own = listed().filter(|row| row.python == python && row.arch.is_none_or(|own| own == arch));
        own.any(|row| row.contains(choice.version))
    };
    Some(release_cache.archs.iter().all(|arch| has(arch)))
}

/// Whether a requested extra installs nothing for a Python version.
fn has_unmet_extra(choice: &CandidateRelease, python: &str, knowledge: Knowledge) -> bool {
    let is_unusable =
        |extra: &PackageName| knowledge.is_unusable_extra(&choice.name, extra, choice.version, Some(python));
    choice.extras.iter().any(is_unusable)
}

/// Whether the tables list a wheel for a Python version of every chosen release; releases that a base image includes
/// need none.
pub(super) fn has_all_wheels(
    candidate_releases: &[&CandidateRelease],
    python: &str,
    release_cache: &ReleaseCache,
) -> bool {
    let has = |choice: &&CandidateRelease| release_cache.has_wheel(choice, python) == Some(true);
    candidate_releases.iter().all(|choice| choice.within.is_some() || has(choice))
}

/// Whether all wheels exist for a Python version, and no release in an image is known to lack one.
pub(super) fn supports_all_releases(
    candidate_releases: &[&CandidateRelease],
    python: &str,
    release_cache: &ReleaseCache,
) -> bool {
    let is_in_image = |choice: &&CandidateRelease| choice.within.is_some();
    let against = |choice: &&CandidateRelease| release_cache.has_wheel(choice, python) == Some(false);
    has_all_wheels(candidate_releases, python, release_cache)
        && !candidate_releases.iter().any(|choice| is_in_image(choice) && against(choice))
}

/// Returns the Python versions of images in the tables.
pub(super) fn image_pythons(knowledge: Knowledge) -> impl Iterator<Item = &'static str> {
    knowledge.image_pythons().iter().map(|row| row.python)
}

/// Whether a release has a wheel for the Python version of some image, on all architectures.
fn has_any_wheel(choice: &CandidateRelease, release_cache: &ReleaseCache) -> bool {
    choice.within.is_some()
        || image_pythons(release_cache.knowledge).any(|python| has_all_wheels(&[choice], python, release_cache))
}

/// Returns the middle one of several versions, which is least likely to be too new or too old.
pub(super) fn middle_version(mut fitting: Vec<&str>) -> Option<&str> {
    fitting.sort_by(|one, other| compare_versions(one, other));
    fitting.dedup();
    fitting.get(fitting.len().saturating_sub(1) / 2).copied()
}

/// Whether two releases depend on NVIDIA's library wheels, each on its own versions.
pub(super) fn have_conflicting_nvidia_wheels(
    one: &CandidateRelease,
    other: &CandidateRelease,
    knowledge: Knowledge,
) -> bool {
    let (with_torch, other_with_torch) = (is_torch_based(one, knowledge), is_torch_based(other, knowledge));
    (with_torch != other_with_torch || !with_torch && one.name != other.name)
        && depends_on_nvidia_wheels(one, knowledge)
        && depends_on_nvidia_wheels(other, knowledge)
}

/// Whether a release is `PyTorch` itself or depends on a release of it.
fn is_torch_based(choice: &CandidateRelease, knowledge: Knowledge) -> bool {
    knowledge.has_variants(&choice.name)
        || choice.within.is_some() && is_compiled_for_torch(&choice.name, knowledge)
        || torch_pin(&choice.name, choice.version, knowledge).is_some_and(|pin| !pin.is_any())
}

/// Whether a release depends on NVIDIA's library wheels.
fn depends_on_nvidia_wheels(choice: &CandidateRelease, knowledge: Knowledge) -> bool {
    if let Some(image) = choice.within {
        // conda installs its libraries elsewhere.
        return is_torch_based(choice, knowledge) && image.torch_channel.is_none();
    }
    if !is_torch_based(choice, knowledge) {
        let is_requested = |extra: &str| choice.extras.iter().any(|own| *own == extra);
        let mut dependencies =
            knowledge.gpu_dependencies_of(&choice.name).filter(|row| row.extra.is_some_and(is_requested));
        return dependencies.any(|row| row.with.is_some() || knowledge.library_wheels_of(row.package).next().is_some());
    }
    let mut rows = knowledge.required_libraries().iter().filter(|row| row.distribution == choice.code).peekable();
    let Ok(version) = choice.version.as_str().parse() else { return true };
    if rows.peek().is_none() {
        return true;
    }
    match knowledge.library_needs_of(choice.code, version) {
        Some(row) => {
            row.along && !choice.build.is_some_and(|build| choice.page.is_some() && row.whole.contains(&build))
        }
        // Releases before the first one with dependencies contain the libraries; newer ones are like the last one.
        None => rows.any(|row| row.along && row.from < version),
    }
}

/// A version, the distribution with its GPU code, and a Python version.
type WheelKey = (&'static str, &'static str, String);

/// Cached table lookups on releases.
pub(super) struct ReleaseCache {
    pub(super) knowledge: Knowledge,
    /// The architectures of wheels, such as `amd64`.
    pub(super) archs: Vec<String>,
    /// By name and version.
    pins: RefCell<BTreeMap<PackageName, BTreeMap<&'static str, Option<RowRange>>>>,
    /// By name.
    wheels: RefCell<BTreeMap<PackageName, BTreeMap<WheelKey, Option<bool>>>>,
}

impl ReleaseCache {
    /// Creates an empty cache.
    pub(super) fn new(archs: Vec<String>, knowledge: Knowledge) -> Self {
        Self { knowledge, archs, pins: RefCell::default(), wheels: RefCell::default() }
    }

    /// Returns the `PyTorch` specifier that a release requires, if the tables list it.
    pub(super) fn torch_pin(&self, choice: &CandidateRelease) -> Option<RowRange> {
        let release_cache =
            self.pins.borrow().get(&choice.name).and_then(|own| own.get(choice.version.as_str())).copied();
        release_cache.unwrap_or_else(|| {
            let pin = torch_pin(&choice.name, choice.version, self.knowledge);
            self.pins.borrow_mut().entry(choice.name.clone()).or_default().insert(choice.version.as_str(), pin);
            pin
        })
    }

    /// Whether a release has a wheel for a Python version; `None` if the tables do not list that.
    pub(super) fn has_wheel(&self, choice: &CandidateRelease, python: &str) -> Option<bool> {
        let wheel: WheelKey = (choice.version.as_str(), choice.code, python.to_owned());
        let release_cache = self.wheels.borrow().get(&choice.name).and_then(|own| own.get(&wheel)).copied();
        release_cache.unwrap_or_else(|| {
            let has = has_wheel(choice, python, self);
            self.wheels.borrow_mut().entry(choice.name.clone()).or_default().insert(wheel, has);
            has
        })
    }
}

#[cfg(test)]
mod python_tests {
    use super::*;
    use crate::fix::recommend::release::torch_pin;

    fn choice(code: &'static str, version: &'static str) -> CandidateRelease {
        release_cache_tests::choice(code, code, version)
    }

    #[test]
    fn wheels_are_those_of_the_tables() {
        let release_cache = ReleaseCache::new(vec!["amd64".to_owned()], Knowledge::built_in());
        for (name, version, python, expected) in [
            ("torch", "2.6.0", "3.11", Some(true)),
            ("torch", "2.6.0", "3.8", Some(false)),
            ("torch", "1.13.1", "3.12", Some(false)),
            ("tensorflow", "2.18.0", "3.12", Some(true)),
            ("tensorflow", "2.18.0", "3.13", Some(false)),
            ("tensorflow", "1.15.5", "3.5", Some(false)),
            ("tensorflow", "1.15.0", "3.5", Some(true)),
            ("vllm", "0.8.3", "3.15", Some(false)),
            ("torchvision", "0.21.0", "3.11", Some(true)),
            ("torchvision", "0.3.0", "3.7", Some(true)),
            ("torchvision", "0.3.0", "3.11", Some(false)),
            ("torchvision", "0.2.2", "3.7", Some(false)),
            ("cupy-cuda11x", "13.6.0", "3.8", Some(false)),
            ("cupy-cuda12x", "13.6.0", "3.9", Some(true)),
            ("cupy-cuda12x", "13.5.0", "3.9", Some(false)),
            ("a", "1", "3.11", None),
        ] {
            let available = has_wheel(&choice(name, version), python, &release_cache);
            assert_eq!(available, expected, "{name} {version} {python}");
        }
    }

    #[test]
    fn release_without_a_wheel_for_the_processor_is_not_offered() {
        let both = vec!["amd64".to_owned(), "arm64".to_owned()];
        let [one, both] = [vec!["arm64".to_owned()], both].map(|archs| ReleaseCache::new(archs, Knowledge::built_in()));
        for (name, version, python, expected) in [
            ("paddlepaddle-gpu", "2.6.2", "3.10", false),
            ("onnxruntime-gpu", "1.18.1", "3.10", false),
            ("onnxruntime-gpu", "1.18.1", "3.11", false),
            ("onnxruntime-gpu", "1.31.1", "3.12", true),
            ("xformers", "0.0.30", "3.11", false),
            ("cupy-cuda12x", "14.2.0", "3.12", true),
            ("vllm", "0.8.3", "3.11", false),
            ("vllm", "0.11.0", "3.11", true),
        ] {
            for release_cache in [&one, &both] {
                let available = has_wheel(&choice(name, version), python, release_cache);
                assert_eq!(available, Some(expected), "{name} {version} {python} {:?}", release_cache.archs);
            }
            assert_eq!(has_any_wheel(&choice(name, version), &one), expected, "{name} {version}");
        }
    }

    #[test]
    fn no_release_is_pinned_in_two_ways() {
        let rows = Knowledge::built_in().torch_requirements();
        for (at, one) in rows.clone().enumerate().filter(|(_, row)| row.version.is_some()) {
            let mut others = rows.clone().skip(at + 1).filter(|row| row.distribution == one.distribution);
            let twice = others.find(|row| row.version.zip(one.version).is_some_and(|(row, one)| row.is_same(one)));
            assert!(twice.is_none(), "{} {}", one.distribution, one.version_text());
        }
        let pin = |name: &str, version: &str| torch_pin(name, &ExactVersion::from(version), Knowledge::built_in());
        assert_eq!(pin("vllm", "no version"), None);
        assert_eq!(pin("torchvision", "0.21.0").map(ParsedText::as_str), Some("==2.6.0"));
        assert_eq!(pin("torchvision", "0.21"), pin("torchvision", "0.21.0"));
    }

    #[test]
    fn returns_the_middle_version() {
        assert_eq!(middle_version(vec!["3.10", "3.9", "3.11"]), Some("3.10"));
        assert_eq!(middle_version(vec!["3.10", "3.9"]), Some("3.9"));
        assert_eq!(middle_version(vec!["3.12"]), Some("3.12"));
        assert_eq!(middle_version(Vec::new()), None);
    }
}

#[cfg(test)]
mod nvidia_dependencies_tests {
    use super::*;

    fn choice(code: &'static str, spec: &str, version: &str, page: bool) -> CandidateRelease {
        let version = ParsedText::leak(version);
        let requirement = PackageRequest::parse(spec, Knowledge::built_in()).expect(spec).requirement;
        let page = page.then(|| "https://x/cu121".to_owned());
        let build = page.is_some().then_some("cu121");
        let (name, extras, spec) = (requirement.name, requirement.extras, spec.to_owned());
        CandidateRelease { name, extras, code, version, build, spec, page, cuda: None, within: None }
    }

    #[test]
    fn frameworks_without_a_shared_pin_install_separate_libraries() {
        let knowledge = Knowledge::built_in();
        let torch = |version: &'static str| choice("torch", &format!("torch=={version}"), version, false);
        let jax = |extra: &str| choice("jax-cuda12-plugin", &format!("jax[{extra}]==0.6.2"), "0.6.2", false);
        let flow = |spec: &str| choice("tensorflow", spec, "2.18.0", false);
        let vision = choice("torchvision", "torchvision==0.21.0", "0.21.0", false);
        let vllm = choice("vllm", "vllm==0.8.3", "0.8.3", false);
        let cupy = choice("cupy-cuda12x", "cupy-cuda12x==13.6.0", "13.6.0", false);
        let whole = choice("torch", "torch==2.1.2+cu121", "2.1.2", true);
        for (one, other, expected) in [
            (&torch("2.6.0"), &jax("cuda12"), true),
            (&torch("2.14.1"), &jax("cuda12"), true),
            (&vllm, &jax("cuda12"), true),
            (&torch("2.6.0"), &flow("tensorflow[and-cuda]==2.18.0"), true),
            (&jax("cuda12"), &flow("tensorflow[and-cuda]==2.18.0"), true),
            (&torch("2.6.0"), &jax("cuda12-local"), false),
            (&torch("1.12.1"), &jax("cuda12"), false),
            (&whole, &jax("cuda12"), false),
            (&torch("2.6.0"), &flow("tensorflow==2.18.0"), false),
            (&torch("2.6.0"), &vision, false),
            (&torch("2.6.0"), &vllm, false),
            (&vllm, &vision, false),
            (&torch("2.6.0"), &cupy, false),
            (&jax("cuda12"), &cupy, false),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(
                    have_conflicting_nvidia_wheels(one, other, knowledge),
                    expected,
                    "{} {}",
                    one.spec,
                    other.spec
                );
            }
        }
    }
}

#[cfg(test)]
mod release_cache_tests {
    use super::*;

    pub(super) fn choice(name: &str, code: &'static str, version: &str) -> CandidateRelease {
        let version = ParsedText::leak(version);
        let (name, spec) = (PackageName::python(name), format!("{name}=={version}"));
        let (extras, build, page) = (Vec::new(), None, None);
        CandidateRelease { name, extras, code, version, build, spec, page, cuda: None, within: None }
    }

    #[test]
    fn cached_results_equal_fresh_results() {
        let release_cache = ReleaseCache::new(vec!["amd64".to_owned()], Knowledge::built_in());
        let candidate_releases = [
            choice("torch", "torch", "2.6.0"),
            choice("torch", "torch", "1.13.1"),
            choice("torchvision", "torchvision", "0.21.0"),
            choice("torchvision", "torchvision", "0.20.0"),
            choice("tensorflow", "tensorflow", "2.18.0"),
            choice("no-such-thing", "tensorflow", "2.18.0"),
            choice("no-such-thing", "no-such-thing", "2.18.0"),
        ];
        // Twice, so that the second answer is the one that was kept.
        for one in candidate_releases.iter().chain(&candidate_releases) {
            let fresh = ReleaseCache::new(vec!["amd64".to_owned()], Knowledge::built_in());
            assert_eq!(
                release_cache.torch_pin(one),
                torch_pin(&one.name, one.version, release_cache.knowledge),
                "{}",
                one.spec
            );
            for python in ["3.8", "3.12", "3.13"] {
                let available = release_cache.has_wheel(one, python);
                assert_eq!(available, has_wheel(one, python, &fresh), "{} {python}", one.spec);
            }
        }
    }
}
