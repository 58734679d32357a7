//! Framework images: NVIDIA's monthly framework containers, and images that are built on a CUDA base image.

use crate::infer::base::build::{BaseBuild, BaseFamily, BaseImageQuery};
use crate::infer::base::cuda_image;
use crate::knowledge::{BaseFamilyRow, FrameworkImageRow};
use crate::model::cause::Cause;

/// Returns the builds of an image whose repository or tag has a row.
pub(super) fn builds_for_framework_tag(query: &BaseImageQuery<'_>) -> Option<Vec<BaseBuild>> {
    let knowledge = query.knowledge;
    let family = knowledge.base_family(&query.repository);
    if let Some(row) = knowledge.framework_image(&query.repository, query.tag) {
        let base = row.base.and_then(|version| knowledge.cuda_image(version));
        // The tables do not list which of its builds the base was.
        let pinned = BaseImageQuery { pinned: true, ..query.clone() };
        return Some(match base {
            Some(base) => {
                builds_on_cuda_base(row, family, cuda_image::builds_for_cuda_version(&pinned, base, base.version))
            }
            None => vec![build_from_row(query, row, family)],
        });
    }
    match family {
        Some(family) if family.monthly => Some(vec![build_for_month(query, family)]),
        _ => build_for_unlisted_tag(query).map(|build| vec![build]),
    }
}

/// Returns a build for an unlisted tag of a framework repository, unless it lacks a word, such as `gpu`, that all
/// listed tags share.
fn build_for_unlisted_tag(query: &BaseImageQuery<'_>) -> Option<BaseBuild> {
    let rows = || query.knowledge.framework_images().iter().filter(|row| row.repository == query.repository);
    let has = |tag: &str, word: &str| tag.split(['-', '_']).any(|own| own == word);
    let first = rows().next()?;
    let common = first.tag.split(['-', '_']).filter(|word| rows().all(|row| has(row.tag, word)));
    if common.into_iter().any(|word| !has(query.tag, word)) {
        return None;
    }
    let mut build = query.new_build(BaseFamily::Framework, Some(&first.info));
    let newer = query.knowledge.is_newer_framework_image(&query.repository, query.tag);
    let untagged = !query.name.rsplit('/').next().unwrap_or_default().contains([':', '@']);
    build.unresolved = Some(if untagged {
        Cause::BaseWithoutTag { image: query.name.clone(), tag: rows().next_back().unwrap_or(first).tag.to_string() }
    } else {
        let (image, date) = (query.name.clone(), query.knowledge.newest_source_date());
        if newer { Cause::ImageNewer { image, date } } else { Cause::ImageNotInTables { image, date } }
    });
    Some(build)
}

/// Returns the builds of an image with what it inherits from its CUDA base image.
fn builds_on_cuda_base(
    row: &'static FrameworkImageRow,
    family: Option<&'static BaseFamilyRow>,
    mut builds: Vec<BaseBuild>,
) -> Vec<BaseBuild> {
    for build in &mut builds {
        build.family = BaseFamily::Framework;
        build.cuda = Some((row.cuda, &row.info));
        build.torch = row.torch.map(|version| (version, &row.info));
        build.torch_channel = row.torch_channel;
        set_packages(build, row);
        build.ld_conf = row.ld_conf;
        build.repository = family;
        build.set_platforms(row.arches.iter().copied(), &row.info);
        if !row.untouched {
            build.mark_additions_unread();
        }
        if let Some(first) = row.search_path {
            build.prepend_to_variable("LD_LIBRARY_PATH", first, &row.info);
        }
        for (variable, value) in family.map_or(&[][..], |family| family.env) {
            build.env_unknown.retain(|(own, _)| own != variable);
            build.set_variable(variable, value, &row.info);
        }
    }
    builds
}

/// Returns the build that a framework image row describes.
fn build_from_row(
    query: &BaseImageQuery<'_>,
    row: &'static FrameworkImageRow,
    family: Option<&'static BaseFamilyRow>,
) -> BaseBuild {
    let mut build = query.new_build(BaseFamily::Framework, Some(&row.info));
    build.cuda = Some((row.cuda, &row.info));
    build.torch = row.torch.map(|version| (version, &row.info));
    build.torch_channel = row.torch_channel;
    set_packages(&mut build, row);
    build.compat_version = row.compat.map(|version| (version, &row.info));
    build.set_platforms(row.arches.iter().copied(), &row.info);
    if let Some(family) = family {
        apply_family(query, &mut build, family);
        if family.monthly {
            build.set_variable("CUDA_VERSION", &row.cuda.to_string(), &row.info);
        }
    }
    build
}

/// Copies what a row lists about packages and libraries into a build.
fn set_packages(build: &mut BaseBuild, row: &'static FrameworkImageRow) {
    build.packages = row.packages;
    build.compiled = Some(row).filter(|row| !row.compiled.is_empty());
    build.lacks = row.lacks;
}

/// Returns the build of a tag without a row, from the monthly release that the tag names, if any.
fn build_for_month(query: &BaseImageQuery<'_>, family: &'static BaseFamilyRow) -> BaseBuild {
    let mut build = query.new_build(BaseFamily::Framework, Some(&family.info));
    apply_family(query, &mut build, family);
    build.torch_bounds = query.knowledge.ngc_torch_bounds(family, query.tag);
    let Some(row) = query.knowledge.ngc_release(family, query.tag) else {
        build.unresolved = Some(explain_unknown_month(query));
        return build;
    };
    build.cuda = Some((row.cuda, &row.info));
    build.compat_version = row.compat.map(|version| (version, &row.info));
    build.torch = row.torch.filter(|_| family.torch).map(|version| (version, &row.info));
    build.set_variable("CUDA_VERSION", &row.cuda.to_string(), &row.info);
    build
}

/// Explains why the content of a monthly tag is unknown.
fn explain_unknown_month(query: &BaseImageQuery<'_>) -> Cause {
    let (image, date) = (query.name.clone(), query.knowledge.newest_source_date());
    let newest = query.knowledge.ngc_month_range().map(|(_, newest)| newest);
    let later = newest.filter(|newest| query.tag.get(..newest.len()).is_some_and(|month| month > *newest));
    match later.filter(|_| query.tag.starts_with(|first: char| first.is_ascii_digit())) {
        Some(_) => Cause::BaseNewer { image, date },
        None => Cause::MonthNotInTables { image, date },
    }
}

/// Applies what every image of a family has, whatever its tag.
fn apply_family(query: &BaseImageQuery<'_>, build: &mut BaseBuild, family: &'static BaseFamilyRow) {
    build.env_known = true;
    build.repository = Some(family);
    build.compat = family.compat.map(|bundled| (bundled, &family.info));
    build.compat_folder = family.compat_folder;
    build.compat_probe = family.compat_probe.map(|word| (word, &family.info));
    let seen = family.probe_from.is_none_or(|from| query.tag.get(..from.len()).is_some_and(|month| from <= month));
    build.probe_unsure = (!seen).then(|| Cause::EntrypointProbe { image: query.name.clone() });
    build.code_floor = query.knowledge.code_floor(&query.repository, query.tag);
    for (variable, value) in family.env {
        build.set_variable(variable, value, &family.info);
    }
}
