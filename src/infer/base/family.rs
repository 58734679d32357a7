//! Images of families: NVIDIA's framework containers by month, and images that are built on a CUDA base image.

use crate::fact::Why;
use crate::infer::base::Asked;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::base::cuda_image;
use crate::knowledge::BaseFamilyRow;
use crate::knowledge::FrameworkImageRow;

/// The builds of an image whose repository or tag has a row.
pub(super) fn of_tag(asked: &Asked<'_>) -> Option<Vec<BaseBuild>> {
    let knowledge = asked.knowledge;
    let family = knowledge.base_family(&asked.repository);
    if let Some(row) = knowledge.framework_image(&asked.repository, asked.tag) {
        let base = row.base.and_then(|version| knowledge.cuda_image(version));
        // Which of its builds the base was, no table says.
        let pinned = Asked { pinned: true, ..asked.clone() };
        return Some(match base {
            Some(base) => inherited(row, family, cuda_image::of_row(&pinned, base, base.version)),
            None => vec![framework_build(asked, row, family)],
        });
    }
    match family {
        Some(family) if family.monthly => Some(vec![of_month(asked, family)]),
        _ => of_repository(asked).map(|build| vec![build]),
    }
}

/// A tag without a row, in a repository of framework images: one of them all the same, unless their tags share a word,
/// such as `gpu`, that it lacks.
fn of_repository(asked: &Asked<'_>) -> Option<BaseBuild> {
    let rows = || asked.knowledge.framework_images().iter().filter(|row| row.repository == asked.repository);
    let has = |tag: &str, word: &str| tag.split(['-', '_']).any(|own| own == word);
    let first = rows().next()?;
    let common = first.tag.split(['-', '_']).filter(|word| rows().all(|row| has(row.tag, word)));
    if common.into_iter().any(|word| !has(asked.tag, word)) {
        return None;
    }
    let mut build = asked.build(Family::Framework, Some(&first.info));
    let newer = asked.knowledge.newer_framework_image(&asked.repository, asked.tag);
    let how = if newer { "newer than the compatibility database" } else { "not in the compatibility database" };
    let untagged = !asked.name.rsplit('/').next().unwrap_or_default().contains([':', '@']);
    let scan = "run `imagelint scan` on the built image, or describe it in an image description";
    build.unresolved = Some(if untagged {
        Why {
            reason: format!("`{}` has no tag, so its content is unknown", asked.name),
            supply: format!("add a tag, such as {}; or {scan}", rows().next_back().unwrap_or(first).tag),
        }
    } else {
        let date = asked.knowledge.newest_date();
        Why { reason: format!("`{}` is {how} of {date}", asked.name), supply: scan.to_owned() }
    });
    Some(build)
}

/// What an image has from the CUDA base image that it is built on: the requirement and what is injected; where its
/// recipe was read, the compat library and the search path too.
fn inherited(
    row: &'static FrameworkImageRow,
    family: Option<&'static BaseFamilyRow>,
    mut builds: Vec<BaseBuild>,
) -> Vec<BaseBuild> {
    for build in &mut builds {
        build.family = Family::Framework;
        build.cuda = Some((row.cuda, &row.info));
        build.torch = row.torch.map(|version| (version, &row.info));
        build.torch_channel = row.torch_channel;
        bring(build, row);
        build.ld_conf = row.ld_conf;
        build.repository = family;
        build.built_for(row.arches.iter().copied(), &row.info);
        if !row.untouched {
            build.adds_unread();
        }
        if let Some(first) = row.search_path {
            build.put_before("LD_LIBRARY_PATH", first, &row.info);
        }
        for (variable, value) in family.map_or(&[][..], |family| family.env) {
            build.env_unknown.retain(|(own, _)| own != variable);
            build.set(variable, value, &row.info);
        }
    }
    builds
}

fn framework_build(
    asked: &Asked<'_>,
    row: &'static FrameworkImageRow,
    family: Option<&'static BaseFamilyRow>,
) -> BaseBuild {
    let mut build = asked.build(Family::Framework, Some(&row.info));
    build.cuda = Some((row.cuda, &row.info));
    build.torch = row.torch.map(|version| (version, &row.info));
    build.torch_channel = row.torch_channel;
    bring(&mut build, row);
    build.compat_version = row.compat.map(|version| (version, &row.info));
    build.built_for(row.arches.iter().copied(), &row.info);
    if let Some(family) = family {
        inherit(asked, &mut build, family);
        if family.monthly {
            build.set("CUDA_VERSION", &row.cuda.to_string(), &row.info);
        }
    }
    build
}

/// What the tag tells of the packages inside.
fn bring(build: &mut BaseBuild, row: &'static FrameworkImageRow) {
    build.brings = row.brings;
    build.compiled = Some(row).filter(|row| !row.compiled.is_empty());
    build.lacks = row.lacks;
}

/// An image of a family without a row of its own: what its month tells, where its tag names one.
fn of_month(asked: &Asked<'_>, family: &'static BaseFamilyRow) -> BaseBuild {
    let mut build = asked.build(Family::Framework, Some(&family.info));
    inherit(asked, &mut build, family);
    build.torch_about = asked.knowledge.ngc_torch_about(family, asked.tag);
    let Some(row) = asked.knowledge.ngc_release(family, asked.tag) else {
        build.unresolved = Some(unknown_month(asked));
        return build;
    };
    build.cuda = Some((row.cuda, &row.info));
    build.compat_version = row.compat.map(|version| (version, &row.info));
    build.torch = row.torch.filter(|_| family.torch).map(|version| (version, &row.info));
    build.set("CUDA_VERSION", &row.cuda.to_string(), &row.info);
    build
}

fn unknown_month(asked: &Asked<'_>) -> Why {
    let name = &asked.name;
    let newest = asked.knowledge.ngc_months().map(|(_, newest)| newest);
    let later = newest.filter(|newest| asked.tag.get(..newest.len()).is_some_and(|month| month > *newest));
    let reason = match later.filter(|_| asked.tag.starts_with(|first: char| first.is_ascii_digit())) {
        Some(_) => format!("`{name}` is newer than the compatibility database of {}", asked.knowledge.newest_date()),
        None => format!(
            "the compatibility database of {} does not have the contents of `{name}`",
            asked.knowledge.newest_date()
        ),
    };
    Why {
        reason,
        supply: format!("run `imagelint scan` on the built image, or describe `{name}` in an image description"),
    }
}

/// What every image of a family has, whatever its tag.
fn inherit(asked: &Asked<'_>, build: &mut BaseBuild, family: &'static BaseFamilyRow) {
    build.env_known = true;
    build.repository = Some(family);
    build.compat = family.compat.map(|bundled| (bundled, &family.info));
    build.compat_folder = family.compat_folder;
    build.compat_probe = family.compat_probe.map(|word| (word, &family.info));
    let seen = family.probe_from.is_none_or(|from| asked.tag.get(..from.len()).is_some_and(|month| from <= month));
    build.probe_unsure = (!seen).then(|| Why {
        reason: format!(
            "it is unknown whether the entrypoint of `{}` detects GPUs that cuda-compat does not support",
            asked.name
        ),
        supply: "set `entrypoint` in an image description".to_owned(),
    });
    build.code_floor = asked.knowledge.code_floor(&asked.repository, asked.tag);
    for (variable, value) in family.env {
        build.set(variable, value, &family.info);
    }
}
