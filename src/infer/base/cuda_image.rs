//! CUDA base images: which version a tag means, and which requirement its builds carried.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::fact::Why;
use crate::infer::base::Asked;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::knowledge::CudaImageRow;
use crate::knowledge::CudaRecipeRow;
use crate::knowledge::NoSuchTag;
use crate::knowledge::standing;

/// The version part of a CUDA base tag: `11.2.2` of `11.2.2-cudnn8-devel-ubuntu20.04`.
pub(crate) fn tag_version(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// Every build that a tag of a CUDA repository may stand for; `unread`: nobody has seen that there is one.
pub(super) fn of_tag(asked: &Asked<'_>, unread: bool) -> Vec<BaseBuild> {
    let version = tag_version(asked.tag);
    let rows = asked.knowledge.cuda_images_of(version);
    if rows.is_empty() {
        let mut build = asked.build(Family::Cuda, None);
        build.unresolved = Some(unknown_tag(asked, version));
        return vec![build];
    }
    let doubted = unread && !asked.pinned;
    if let Some(none) = asked.knowledge.no_such_cuda_tag(&asked.repository, asked.tag).filter(|_| doubted) {
        let mut build = asked.build(Family::Cuda, None);
        build.unresolved = Some(no_such_tag(asked, none));
        return vec![build];
    }
    let several = rows.len() > 1;
    let mut builds: Vec<BaseBuild> = Vec::new();
    // The newest patch first, so that of builds that are alike it stands for the others.
    for row in rows.into_iter().rev() {
        for mut build in of_row(asked, row, version) {
            if several {
                let of_version = format!("CUDA {}", row.version);
                build.label =
                    Some(build.label.map_or_else(|| of_version.clone(), |label| format!("{of_version}, {label}")));
            }
            if !builds.iter().any(|other| alike(other, &build)) {
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

/// Whether two builds differ in nothing that decides.
fn alike(one: &BaseBuild, other: &BaseBuild) -> bool {
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

/// Why a tag has no row.
fn unknown_tag(asked: &Asked<'_>, version: &str) -> Why {
    let name = &asked.name;
    let scan = format!("run `imagelint scan` on the built image, or describe `{name}` in an image description");
    let exact = "use the exact tag, such as 12.4.1-base-ubuntu22.04".to_owned();
    let (reason, supply) = match version.parse() {
        Ok(cuda) if asked.knowledge.newer_cuda(cuda) || asked.knowledge.newer_cuda_image(version) => {
            (format!("`{name}` is newer than the compatibility database of {}", asked.knowledge.newest_date()), scan)
        }
        Ok(_) => {
            let date = asked.knowledge.newest_date();
            (format!("the compatibility database of {date} has no tag for CUDA {version}: does `{name}` exist?"), exact)
        }
        Err(_) if name.contains('@') => {
            (format!("`{name}` includes no CUDA version, and the digest was not read"), scan)
        }
        Err(_) => (format!("`{name}` includes no CUDA version: the build date decides its content"), exact),
    };
    Why { reason, supply }
}

/// Why nothing is known of a tag that there never was.
fn no_such_tag(asked: &Asked<'_>, none: NoSuchTag) -> Why {
    let date = asked.knowledge.newest_date();
    let version = tag_version(asked.tag);
    let exact = || "use the exact tag, such as 12.4.1-base-ubuntu22.04".to_owned();
    Why {
        reason: if none.part == version {
            format!(
                "the compatibility database of {date} has no tag for CUDA {version} without a patch release: \
                does `{}` exist?",
                asked.name
            )
        } else {
            format!(
                "the compatibility database of {date} has no tag for CUDA {version} with `{}`: does `{}` exist?",
                none.part, asked.name
            )
        },
        supply: none.nearest.map_or_else(exact, |tag| format!("use an existing tag, such as {tag}")),
    }
}

/// What the recipes said of the images that a tag may stand for: those of its operating system, which stands last; of a
/// tag that names none, those of all.
struct Images<'a> {
    asked: &'a Asked<'a>,
    rows: Vec<&'static CudaRecipeRow>,
    systems: BTreeSet<&'static str>,
    /// Whether the tag could name an operating system and names none that there is a recipe for.
    unnamed: bool,
}

/// A requirement and a compat package that an image of those may have.
struct Candidate {
    row: &'static CudaRecipeRow,
    first: Option<Date>,
    until: Option<Date>,
    systems: BTreeSet<&'static str>,
}

impl<'a> Images<'a> {
    fn of(asked: &'a Asked<'a>, row: &CudaImageRow, version: &str) -> Self {
        let of = |version: &str| asked.knowledge.cuda_recipes_of(version).collect::<Vec<_>>();
        let rows = Some(of(version)).filter(|rows| !rows.is_empty()).unwrap_or_else(|| of(row.version));
        let mut systems: BTreeSet<_> = rows.iter().flat_map(|row| row.arches).map(|(os, _)| *os).collect();
        let named = asked.tag.rsplit('-').next().unwrap_or(asked.tag);
        let known = systems.contains(named);
        systems.retain(|os| !known || *os == named);
        Self { asked, rows, systems, unnamed: !known && asked.knowledge.is_cuda_repository(&asked.repository) }
    }

    fn arches(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().flat_map(|row| self.systems.iter().flat_map(|os| row.arches_on(os)))
    }

    /// What the recipe of one operating system ever said for the architecture.
    fn of_system(&self, os: &str) -> Vec<&'static CudaRecipeRow> {
        self.rows.iter().copied().filter(|row| row.is_for(os, self.asked.arch)).collect()
    }

    /// Whether a compat package is installed, where it always was or never.
    fn compat(&self) -> Option<bool> {
        let mut every = self.systems.iter().flat_map(|os| self.of_system(os)).map(|row| row.compat);
        let first = every.next().flatten();
        every.all(|other| other == first).then_some(first).flatten()
    }

    /// What the image may have: of a digest that was not read any build, of a tag the one of the day, else the newest.
    fn candidates(&self) -> Result<Vec<Candidate>, Why> {
        let mut found: Vec<Candidate> = Vec::new();
        let mut any = false;
        for os in &self.systems {
            let own = self.of_system(os);
            any |= !own.is_empty();
            let meant = match self.asked.as_of {
                None if self.asked.pinned => own,
                day => standing(&own, day),
            };
            for row in meant {
                let alike = |other: &&mut Candidate| (other.row.require, other.row.compat) == (row.require, row.compat);
                if let Some(other) = found.iter_mut().find(alike) {
                    other.add(row, os);
                } else {
                    found.push(Candidate { row, first: row.first, until: row.until, systems: BTreeSet::from([*os]) });
                }
            }
        }
        match self.asked.as_of {
            Some(day) if any && found.is_empty() => Err(Why {
                reason: format!("the compatibility database has no build of `{}` as of {day}", self.asked.name),
                supply: "use a tag that existed on that date, correct the date, or run `imagelint scan` on the built \
                        image"
                    .to_owned(),
            }),
            _ => Ok(found),
        }
    }

    /// What tells a candidate from the others: its operating systems, `on ...`, where the tag names none, and its days.
    fn label(&self, candidate: &Candidate) -> String {
        let others = candidate.systems.len().saturating_sub(1);
        let on = candidate.systems.first().filter(|_| self.unnamed && candidate.systems.len() < self.systems.len());
        let on = on.map(|os| if others == 0 { format!("on {os}") } else { format!("on {os} and {others} more") });
        let when = match (candidate.first, candidate.until) {
            (Some(first), Some(until)) => Some(format!("as built {first} .. {until}")),
            (Some(first), None) => Some(format!("as built since {first}")),
            (None, Some(until)) => Some(format!("as built before {until}")),
            (None, None) => None,
        };
        on.into_iter().chain(when).collect::<Vec<_>>().join(", ")
    }
}

impl Candidate {
    fn add(&mut self, row: &'static CudaRecipeRow, os: &'static str) {
        self.first = self.first.min(row.first);
        self.until = if self.until.is_none() || row.until.is_none() { None } else { self.until.max(row.until) };
        self.systems.insert(os);
    }

    /// The days between which it was built: when the newest build of a tag was made, nobody tells. A recipe that was
    /// retired built nothing any more.
    fn built(&self, asked: &Asked<'_>) -> (Date, Date) {
        let day = asked.as_of.unwrap_or_else(|| asked.knowledge.newest_date());
        (self.first.unwrap_or(Date::MIN), self.until.map_or(day, |until| until.min(day)))
    }
}

/// The builds of one version that were tagged `version`.
pub(super) fn of_row(asked: &Asked<'_>, row: &'static CudaImageRow, version: &str) -> Vec<BaseBuild> {
    let info = &row.info;
    let images = Images::of(asked, row, version);
    let mut build = asked.build(Family::Cuda, Some(info));
    build.env_known = true;
    build.cuda = row.version.parse().ok().map(|version| (version, info));
    build.built_for(images.arches(), info);
    build.compat = images.compat().map(|bundled| (bundled, info));
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
            let why = none.err().unwrap_or_else(|| build.unseen("NVIDIA_REQUIRE_CUDA"));
            build.env_unknown.push(("NVIDIA_REQUIRE_CUDA", why));
            return vec![build];
        }
    };
    let several = candidates.len() > 1;
    let of_candidate = |candidate: Candidate| {
        let mut build = build.clone();
        let info = &candidate.row.info;
        build.label = several.then(|| images.label(&candidate));
        build.compat = candidate.row.compat.map(|bundled| (bundled, info));
        // Without an id the image sets none.
        if let Some(require) = candidate.row.require.and_then(|id| asked.knowledge.requirement(id)) {
            build.env.push(("NVIDIA_REQUIRE_CUDA", require.value.to_owned(), info));
        }
        build.built = Some(candidate.built(asked));
        build
    };
    candidates.into_iter().map(of_candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_before_the_first_dash() {
        for (tag, version) in [("11.2.2-cudnn8-devel-ubuntu20.04", "11.2.2"), ("12.4.1", "12.4.1"), ("", "")] {
            assert_eq!(tag_version(tag), version, "{tag}");
        }
    }
}
