//! Every build that a base image may be, by its reference and what was read of it.

use jiff::civil::Date;

use crate::infer::base::build::{BaseBuild, BaseFamily, BaseImageQuery};
use crate::infer::base::{cuda_image, framework_image};
use crate::knowledge::Knowledge;
use crate::model::fact::{FactId, InspectionDepth, Observations, ObservedBase};
use crate::model::reference::ImageReference;

/// Returns every build that the base image may be, for one architecture.
pub(in crate::infer) fn possible_base_builds(
    seen: &Observations,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let builds = match &seen.base {
        ObservedBase::NotSaid => {
            let build = BaseBuild::new(BaseFamily::Unknown, None, None, String::new());
            vec![BaseBuild { unresolved: seen.base_changes.unread.layer.clone(), ..build }]
        }
        ObservedBase::Scratch(fact) => vec![BaseBuild::new(BaseFamily::Plain, Some(*fact), None, "scratch".to_owned())],
        ObservedBase::Unresolved(why, fact) => {
            let repository = seen.base_repository.as_deref().unwrap_or_default();
            let mut build =
                BaseBuild::new(family_of_repository(repository, knowledge), Some(*fact), None, String::new());
            build.unresolved = Some(why.clone());
            build.named = knowledge.gpu_image_evidence(repository, "").is_some();
            vec![build]
        }
        ObservedBase::Image(reference, fact) => {
            // What was read is there; whoever describes an image or writes a FROM need not have seen that tag.
            let is_declared = matches!(seen.depth, InspectionDepth::Text | InspectionDepth::Description);
            let unread = is_declared && (seen.base_env || !seen.complete.env);
            let mut builds = builds_for_reference(reference, *fact, arch, as_of, unread, knowledge);
            if let Some(row) =
                knowledge.architectures_of_image(&reference.familiar_name(), reference.tag().unwrap_or_default())
            {
                for build in builds.iter_mut().filter(|build| build.platforms.is_none()) {
                    build.set_platforms(row.arches.iter().copied(), &row.info);
                }
            }
            builds
        }
    };
    builds.into_iter().flat_map(|build| with_compat_versions(build, knowledge)).collect()
}

/// Returns a build once for each libcuda version that its compat package may have had when it was built.
fn with_compat_versions(build: BaseBuild, knowledge: Knowledge) -> Vec<BaseBuild> {
    let row = build.cuda.and_then(|(cuda, _)| Some((cuda, knowledge.compat_package(cuda)?)));
    let (Some((true, _)), Some((from, to)), None, Some((cuda, row))) =
        (build.compat, build.built, build.compat_version, row)
    else {
        return vec![build];
    };
    let versions = knowledge.compat_versions_between(cuda, from, to);
    let several = versions.len() > 1;
    let of_version = |version| {
        let mut build = BaseBuild { compat_version: Some((version, &row.info)), ..build.clone() };
        if several {
            build.variant.get_or_insert_default().libcuda = Some(version);
        }
        build
    };
    let builds: Vec<BaseBuild> = versions.into_iter().map(of_version).collect();
    if builds.is_empty() { vec![build] } else { builds }
}

/// Returns the family of all images of a repository.
fn family_of_repository(repository: &str, knowledge: Knowledge) -> BaseFamily {
    if knowledge.is_cuda_repository(repository) {
        BaseFamily::Cuda
    } else if knowledge.base_family(repository).is_some() {
        BaseFamily::Framework
    } else {
        BaseFamily::Unknown
    }
}

/// Returns every build that an image reference may stand for.
fn builds_for_reference(
    reference: &ImageReference,
    fact: FactId,
    arch: &str,
    as_of: Option<Date>,
    unread: bool,
    knowledge: Knowledge,
) -> Vec<BaseBuild> {
    let query = BaseImageQuery {
        repository: reference.familiar_name(),
        tag: reference.tag().unwrap_or_default(),
        pinned: reference.digest().is_some(),
        name: reference.to_string(),
        fact,
        arch,
        as_of,
        knowledge,
    };
    if knowledge.is_cuda_repository(&query.repository) {
        let mut builds = cuda_image::builds_for_cuda_tag(&query, unread);
        if let Some(family) = knowledge.base_family(&query.repository) {
            for build in builds.iter_mut().filter(|build| build.env_known) {
                if family.unread {
                    build.platforms = None;
                    build.mark_additions_unread();
                }
                family.env.iter().for_each(|(variable, value)| build.set_variable(variable, value, &family.info));
            }
        }
        return builds;
    }
    if let Some(builds) = framework_image::builds_for_framework_tag(&query) {
        return builds;
    }
    let row = knowledge.gpu_image_evidence(&query.repository, query.tag);
    if let Some(plain) = knowledge.plain_image(&query.repository).filter(|_| row.is_none()) {
        let other_vendor_torch = Some(&plain.info).filter(|_| plain.torch);
        return vec![BaseBuild { other_vendor_torch, ..query.new_build(BaseFamily::Plain, Some(&plain.info)) }];
    }
    vec![BaseBuild { named: row.is_some(), ..query.new_build(BaseFamily::Unknown, row) }]
}
