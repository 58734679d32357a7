//! CUDA base images: which version a tag means, and which requirement its builds carried.

use jiff::civil::Date;

use crate::fact::Why;
use crate::infer::base::Asked;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::knowledge::ByArch;
use crate::knowledge::CudaImageRow;
use crate::knowledge::NoSuchTag;
use crate::knowledge::RequireRow;

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
    let exact = "name the exact tag, such as 12.4.1-base-ubuntu22.04".to_owned();
    let (reason, supply) = match version.parse() {
        Ok(cuda) if asked.knowledge.newer_cuda(cuda) => {
            (format!("`{name}` is newer than the knowledge of {}", asked.knowledge.newest_date()), scan)
        }
        Ok(_) => {
            let date = asked.knowledge.newest_date();
            (format!("the tables of {date} have no tag of CUDA {version}: is there a `{name}`?"), exact)
        }
        Err(_) if name.contains('@') => (format!("`{name}` names no CUDA version, and the digest was not read"), scan),
        Err(_) => (format!("`{name}` names no CUDA version: what it was depends on the day of the build"), exact),
    };
    Why { reason, supply }
}

/// Why nothing is known of a tag that there never was.
fn no_such_tag(asked: &Asked<'_>, none: NoSuchTag) -> Why {
    let date = asked.knowledge.newest_date();
    let version = tag_version(asked.tag);
    let exact = || "name the exact tag, such as 12.4.1-base-ubuntu22.04".to_owned();
    Why {
        reason: if none.part == version {
            format!("the tables of {date} have no tag of CUDA {version} without a patch: is there a `{}`?", asked.name)
        } else {
            format!(
                "the tables of {date} have no tag of CUDA {version} with `{}`: is there a `{}`?",
                none.part, asked.name
            )
        },
        supply: none.nearest.map_or_else(exact, |tag| format!("use a tag that there is, such as {tag}")),
    }
}

fn by_arch<T: Copy>(values: &[ByArch<T>], arch: &str) -> Option<T> {
    values.iter().find(|value| value.arch == arch).map(|value| value.value)
}

/// The architectures of a tag: those of its operating system, which stands last; of one that names none, all.
fn arches(row: &'static CudaImageRow, tag: &str) -> impl Iterator<Item = &'static str> {
    let named = tag.rsplit('-').next().unwrap_or(tag);
    let known = row.arches.iter().any(|(os, _)| *os == named);
    let of_tag = move |os: &str| !known || os == named;
    row.arches.iter().filter(move |(os, _)| of_tag(os)).flat_map(|(_, arches)| arches.split(' '))
}

/// The builds of one version that were tagged `version`.
pub(super) fn of_row(asked: &Asked<'_>, row: &'static CudaImageRow, version: &str) -> Vec<BaseBuild> {
    let info = &row.info;
    let mut build = asked.build(Family::Cuda, Some(info));
    build.env_known = true;
    build.cuda = row.version.parse().ok().map(|version| (version, info));
    build.built_for(arches(row, asked.tag), info);
    build.compat = by_arch(row.bundles_compat, asked.arch).map(|bundled| (bundled, info));
    let cuda_version = row.cuda_version.unwrap_or(row.version);
    for (variable, value) in [
        ("CUDA_VERSION", cuda_version),
        ("LD_LIBRARY_PATH", row.ld_library_path),
        ("NVIDIA_DRIVER_CAPABILITIES", row.driver_capabilities),
        ("NVIDIA_VISIBLE_DEVICES", row.visible_devices),
    ] {
        build.env.push((variable, value.to_owned(), info));
    }
    let candidates = match requirements(asked, row, version) {
        Ok(candidates) if !candidates.is_empty() => candidates,
        Ok(_) => {
            let why = build.unseen("NVIDIA_REQUIRE_CUDA");
            build.env_unknown.push(("NVIDIA_REQUIRE_CUDA", why));
            return vec![build];
        }
        Err(why) => {
            build.env_unknown.push(("NVIDIA_REQUIRE_CUDA", why));
            return vec![build];
        }
    };
    let several = candidates.len() > 1;
    let mut builds = Vec::new();
    for require in candidates {
        let mut build = build.clone();
        build.label = several.then(|| format!("as built {} .. {}", require.first_seen, require.last_seen));
        build.env.push(("NVIDIA_REQUIRE_CUDA", require.value.to_owned(), &require.info));
        // Of a tag whose day and digest nobody names, the newest build is meant.
        build.built = match asked.as_of {
            Some(day) => Some((require.first_seen, day)),
            None if asked.pinned => Some((require.first_seen, require.last_seen)),
            None => None,
        };
        builds.push(build);
    }
    builds
}

/// The requirement strings that a tag may have: the newest, or those of the builds of a day.
fn requirements(asked: &Asked<'_>, row: &CudaImageRow, version: &str) -> Result<Vec<&'static RequireRow>, Why> {
    let (knowledge, arch) = (asked.knowledge, asked.arch);
    let newest = || by_arch(row.require, arch).and_then(|id| knowledge.requirement(id)).into_iter().collect();
    let tagged =
        |require: &&RequireRow| require.tag_versions.contains(&version) || require.tag_versions.contains(&row.version);
    let history: Vec<&'static RequireRow> = if version == row.version {
        row.require_history.iter().filter_map(|id| knowledge.requirement(id)).filter(tagged).collect()
    } else {
        knowledge.requirements().iter().filter(tagged).collect()
    };
    // The tables keep no architecture with a string. Stages of other architectures carried the bare
    // version alone, beside those with alternatives.
    let of_arch = |require: &&RequireRow| arch == "amd64" && require.value.trim_end().contains(' ');
    let own: Vec<_> = history.iter().copied().filter(of_arch).collect();
    let history = if own.is_empty() { history } else { own };
    let candidates: Vec<&'static RequireRow> = match asked.as_of {
        // After the last build that was seen, the newest stays.
        Some(day) if history.iter().all(|require| require.last_seen < day) => return Ok(newest()),
        Some(day) => {
            let begun = knowledge.requirements().iter().map(|require| require.first_seen).min();
            let found = of_day(&history, day, begun);
            if found.is_empty() {
                return Err(Why {
                    reason: format!("the tables have no build of `{}` as of {day}", asked.name),
                    supply: "name the tag that was built by that day, or correct the day".to_owned(),
                });
            }
            found
        }
        // A digest names one build, and the tag beside it does not say which.
        None if asked.pinned => history,
        None => return Ok(newest()),
    };
    Ok(if candidates.is_empty() || arch != "amd64" { newest() } else { candidates })
}

/// The strings of the builds that were current on a day: of the intervals that hold it, else of the last build
/// before. `begun` is the day on which the tables begin: what they have on that day is older than they tell.
fn of_day(history: &[&'static RequireRow], day: Date, begun: Option<Date>) -> Vec<&'static RequireRow> {
    let of = |keep: &dyn Fn(&RequireRow) -> bool| -> Vec<&'static RequireRow> {
        history.iter().copied().filter(|require| keep(require)).collect()
    };
    let inside = of(&|require| require.first_seen <= day && day <= require.last_seen);
    if !inside.is_empty() {
        return inside;
    }
    if let Some(last) = history.iter().map(|require| require.last_seen).filter(|seen| *seen < day).max() {
        return of(&|require| require.last_seen == last);
    }
    of(&|require| Some(require.first_seen) == begun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;

    #[test]
    fn the_version_stands_before_the_first_dash() {
        for (tag, version) in [("11.2.2-cudnn8-devel-ubuntu20.04", "11.2.2"), ("12.4.1", "12.4.1"), ("", "")] {
            assert_eq!(tag_version(tag), version, "{tag}");
        }
    }

    #[test]
    fn a_day_has_the_builds_of_that_day_and_a_day_before_the_first_has_none() {
        let knowledge = Knowledge::built_in();
        let row = knowledge.cuda_image("11.1.1").expect("a row");
        let history: Vec<_> = row.require_history.iter().filter_map(|id| knowledge.requirement(id)).collect();
        let begun = knowledge.requirements().iter().map(|require| require.first_seen).min();
        let of = |day: &str| of_day(&history, day.parse().expect(day), begun).len();
        assert_eq!(of("2019-08-01"), 0, "before CUDA 11.1");
        assert!(of("2021-02-01") > 0, "between first and last");
        assert!(of("2026-01-01") > 0, "the last build stays");
        let first = knowledge.cuda_image("9.0").expect("a row").require_history;
        let history: Vec<_> = first.iter().filter_map(|id| knowledge.requirement(id)).collect();
        let earliest: Vec<_> = of_day(&history, "2018-03-01".parse().expect("a day"), begun);
        assert!(earliest.iter().all(|require| Some(require.first_seen) == begun) && !earliest.is_empty());
    }
}
