//! CUDA base images: the version that a tag stands for, and the requirement that its builds set.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::infer::base::build::{BaseBuild, BaseFamily, BaseImageQuery};
use crate::knowledge::{CudaImageRow, CudaRecipeRow, NoSuchTag, recipes_on_day};
use crate::model::cause::Cause;
use crate::model::fact::BaseImageBuild;

/// Returns the version part of a CUDA base image tag: `11.2.2` for `11.2.2-cudnn8-devel-ubuntu20.04`.
pub(crate) fn tag_version(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// Returns every build that a tag of a CUDA repository may stand for; `unread`: whether it was not checked that the tag
/// exists.
pub(super) fn builds_for_cuda_tag(query: &BaseImageQuery<'_>, unread: bool) -> Vec<BaseBuild> {
    let version = tag_version(query.tag);
    let rows = query.knowledge.cuda_images_for_version(version);
    if rows.is_empty() {
        let mut build = query.new_build(BaseFamily::Cuda, None);
        build.unresolved = Some(explain_unknown_tag(query, version));
        return vec![build];
    }
    let doubted = unread && !query.pinned;
    if let Some(none) = query.knowledge.nonexistent_cuda_tag(&query.repository, query.tag).filter(|_| doubted) {
        let mut build = query.new_build(BaseFamily::Cuda, None);
        build.unresolved = Some(explain_nonexistent_tag(query, none));
        return vec![build];
    }
    let several = rows.len() > 1;
    let mut builds: Vec<BaseBuild> = Vec::new();
    // The newest patch first, so that of builds that are alike it stands for the others.
    for row in rows.into_iter().rev() {
        for mut build in builds_for_cuda_version(query, row, version) {
            if several {
                build.variant.get_or_insert_default().cuda = Some(row.version);
            }
            if !builds.iter().any(|other| are_equivalent_builds(other, &build)) {
                builds.push(build);
            }
        }
    }
    // A patch that was not built by that day is not meant, where another was.
    if several && builds.iter().any(|build| build.env_unknown.is_empty()) {
        builds.retain(|build| build.env_unknown.is_empty());
    }
    builds
}

/// Whether two builds agree in everything that affects the result.
fn are_equivalent_builds(one: &BaseBuild, other: &BaseBuild) -> bool {
    let value = |build: &BaseBuild, name: &str| {
        build.env.iter().find(|(own, _, _)| *own == name).map(|(_, value, _)| value.clone())
    };
    let release = |build: &BaseBuild| build.cuda.map(|(cuda, _)| cuda.release());
    release(one) == release(other)
        && one.compat.map(|(bundled, _)| bundled) == other.compat.map(|(bundled, _)| bundled)
        && one.built == other.built
        && one.env_unknown.len() == other.env_unknown.len()
        && ["NVIDIA_REQUIRE_CUDA", "LD_LIBRARY_PATH"].iter().all(|name| value(one, name) == value(other, name))
}

/// Explains why a tag has no row.
fn explain_unknown_tag(query: &BaseImageQuery<'_>, version: &str) -> Cause {
    let name = &query.name;
    let (image, date) = (name.clone(), query.knowledge.newest_source_date());
    match version.parse() {
        Ok(cuda) if query.knowledge.is_newer_cuda(cuda) || query.knowledge.is_newer_cuda_image(version) => {
            Cause::BaseNewer { image, date }
        }
        Ok(_) => Cause::NoSuchTag { image, version: version.to_owned(), date },
        Err(_) if name.contains('@') => Cause::DigestNotRead { image },
        Err(_) => Cause::BaseByDate { image },
    }
}

/// Explains why nothing is known of a tag that never existed.
fn explain_nonexistent_tag(query: &BaseImageQuery<'_>, none: NoSuchTag) -> Cause {
    let date = query.knowledge.newest_source_date();
    let version = tag_version(query.tag);
    let (image, nearest) = (query.name.clone(), none.nearest);
    if none.part == version {
        return Cause::NoTagWithoutPatch { image, version: version.to_owned(), date, nearest };
    }
    Cause::NoTagWithPart { image, version: version.to_owned(), part: none.part.clone(), date, nearest }
}

/// The recipes of the images that a tag may stand for: those of the operating system at its end, else those of all.
struct CudaTagRecipes<'a> {
    query: &'a BaseImageQuery<'a>,
    rows: Vec<&'static CudaRecipeRow>,
    systems: BTreeSet<&'static str>,
    /// Whether the tag could name an operating system but names none that has a recipe.
    unnamed: bool,
}

/// A requirement and a compat package that one of those images may have.
struct RecipeCandidate {
    row: &'static CudaRecipeRow,
    first: Option<Date>,
    until: Option<Date>,
    systems: BTreeSet<&'static str>,
}

impl<'a> CudaTagRecipes<'a> {
    /// Collects the recipes of a tag.
    fn for_tag(query: &'a BaseImageQuery<'a>, row: &CudaImageRow, version: &str) -> Self {
        let of = |version: &str| query.knowledge.cuda_recipes_for_version(version).collect::<Vec<_>>();
        let rows = Some(of(version)).filter(|rows| !rows.is_empty()).unwrap_or_else(|| of(row.version));
        let mut systems: BTreeSet<_> = rows.iter().flat_map(|row| row.arches).map(|(os, _)| *os).collect();
        let named = query.tag.rsplit('-').next().unwrap_or(query.tag);
        let known = systems.contains(named);
        systems.retain(|os| !known || *os == named);
        Self { query, rows, systems, unnamed: !known && query.knowledge.is_cuda_repository(&query.repository) }
    }

    /// Returns the architectures for which the images are built.
    fn architectures(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().flat_map(|row| self.systems.iter().flat_map(|os| row.architectures_on(os)))
    }

    /// Returns all recipes of one operating system for the architecture.
    fn recipes_for_os(&self, os: &str) -> Vec<&'static CudaRecipeRow> {
        self.rows.iter().copied().filter(|row| row.is_for(os, self.query.arch)).collect()
    }

    /// Whether a compat package is installed; `None` if only some recipes install one.
    fn has_compat_package(&self) -> Option<bool> {
        let mut every = self.systems.iter().flat_map(|os| self.recipes_for_os(os)).map(|row| row.compat);
        let first = every.next().flatten();
        every.all(|other| other == first).then_some(first).flatten()
    }

    /// Returns what the image may have: for an unread digest any build, for a tag the build of the date, else the
    /// newest.
    fn candidates(&self) -> Result<Vec<RecipeCandidate>, Cause> {
        let mut found: Vec<RecipeCandidate> = Vec::new();
        let mut any = false;
        for os in &self.systems {
            let own = self.recipes_for_os(os);
            any |= !own.is_empty();
            let recipes = match self.query.as_of {
                None if self.query.pinned => own,
                day => recipes_on_day(&own, day),
            };
            for row in recipes {
                let alike =
                    |other: &&mut RecipeCandidate| (other.row.require, other.row.compat) == (row.require, row.compat);
                if let Some(other) = found.iter_mut().find(alike) {
                    other.add_recipe(row, os);
                } else {
                    found.push(RecipeCandidate {
                        row,
                        first: row.first,
                        until: row.until,
                        systems: BTreeSet::from([*os]),
                    });
                }
            }
        }
        match self.query.as_of {
            Some(day) if any && found.is_empty() => {
                Err(Cause::NoBuildOnDate { image: self.query.name.clone(), day: day.to_string() })
            }
            _ => Ok(found),
        }
    }

    /// Returns what distinguishes a candidate from the others: its operating systems if the tag names none, and its
    /// build dates.
    fn variant(&self, candidate: &RecipeCandidate) -> BaseImageBuild {
        let is_one_of_several = self.unnamed && candidate.systems.len() < self.systems.len();
        let systems = if is_one_of_several { candidate.systems.iter().copied().collect() } else { Vec::new() };
        BaseImageBuild { systems, first: candidate.first, until: candidate.until, ..BaseImageBuild::default() }
    }
}

impl RecipeCandidate {
    /// Extends the candidate by an equivalent recipe of another period or operating system.
    fn add_recipe(&mut self, row: &'static CudaRecipeRow, os: &'static str) {
        self.first = self.first.min(row.first);
        self.until = if self.until.is_none() || row.until.is_none() { None } else { self.until.max(row.until) };
        self.systems.insert(os);
    }

    /// Returns the dates between which it was built; the build date of the newest build is unknown, and retired
    /// recipes are no longer built.
    fn build_period(&self, query: &BaseImageQuery<'_>) -> (Date, Date) {
        let day = query.as_of.unwrap_or_else(|| query.knowledge.newest_source_date());
        (self.first.unwrap_or(Date::MIN), self.until.map_or(day, |until| until.min(day)))
    }
}

/// Returns the builds of one CUDA version that were tagged `version`.
pub(super) fn builds_for_cuda_version(
    query: &BaseImageQuery<'_>,
    row: &'static CudaImageRow,
    version: &str,
) -> Vec<BaseBuild> {
    let info = &row.info;
    let images = CudaTagRecipes::for_tag(query, row, version);
    let mut build = query.new_build(BaseFamily::Cuda, Some(info));
    build.env_known = true;
    build.cuda = row.version.parse().ok().map(|version| (version, info));
    build.set_platforms(images.architectures(), info);
    build.compat = images.has_compat_package().map(|bundled| (bundled, info));
    let cuda_version = row.cuda_version.unwrap_or(row.version);
    for (variable, value) in [
        ("CUDA_VERSION", cuda_version),
        ("LD_LIBRARY_PATH", row.ld_library_path),
        ("NVIDIA_DRIVER_CAPABILITIES", row.driver_capabilities),
        ("NVIDIA_VISIBLE_DEVICES", row.visible_devices),
    ] {
        build.env.push((variable, value.to_owned(), info));
    }
    let candidates = match images.candidates() {
        Ok(candidates) if !candidates.is_empty() => candidates,
        none => {
            let why = none.err().unwrap_or_else(|| build.explain_unknown("NVIDIA_REQUIRE_CUDA"));
            build.env_unknown.push(("NVIDIA_REQUIRE_CUDA", why));
            return vec![build];
        }
    };
    let several = candidates.len() > 1;
    let of_candidate = |candidate: RecipeCandidate| {
        let mut build = build.clone();
        let info = &candidate.row.info;
        build.variant = several.then(|| images.variant(&candidate));
        build.compat = candidate.row.compat.map(|bundled| (bundled, info));
        // Without an id the image sets none.
        if let Some(require) = candidate.row.require.and_then(|id| query.knowledge.requirement(id)) {
            build.env.push(("NVIDIA_REQUIRE_CUDA", require.value.to_owned(), info));
        }
        build.built = Some(candidate.build_period(query));
        build
    };
    candidates.into_iter().map(of_candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_part_before_the_first_dash() {
        for (tag, version) in [("11.2.2-cudnn8-devel-ubuntu20.04", "11.2.2"), ("12.4.1", "12.4.1"), ("", "")] {
            assert_eq!(tag_version(tag), version, "{tag}");
        }
    }
}
