//! A newer framework release on a base image with its CUDA version, for GPUs newer than the current release, and the
//! drivers that it needs.

use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::fix::cuda_tag::cuda_version_from_tag;
use crate::fix::fix_context::{FixContext, TargetPools};
use crate::fix::minimum_driver::{StartingReleases, SubjectImages};
use crate::fix::search_resources::SearchResources;
use crate::fix::tested_fix::test_candidate;
use crate::fix::trial::TrialRunner;
use crate::fix::versions::cuda_version_of_build;
use crate::fix::{
    FixCandidate, PackageEdit, ProposedChange, TestedFix, base_image_tags, framework, minimum_driver, trial,
};
use crate::fleet::Pool;
use crate::judge::{AnalysisSettings, AnalysisSubject};
use crate::model::outcome::Outcome;
use crate::report::kinds::ChangeKind;
use crate::report::model;

/// The largest number of releases with their base images that are evaluated.
const MAX_CANDIDATES: usize = 4;
/// The largest number of pool groups for which the required drivers are reported.
const MAX_POOL_GROUPS: usize = 8;

/// Returns the nearest newer release and base image that start on every pool, else the first that helps, with the
/// required drivers.
pub(super) fn find_newer_release(
    subject: &AnalysisSubject,
    judged: &model::Subject,
    settings: AnalysisSettings<'_>,
    resources: &SearchResources<'_>,
) -> Option<TestedFix> {
    let no_code = |one: &model::Verdict| one.outcome == Some(Outcome::NoKernelImage);
    if !judged.verdicts.iter().any(no_code) {
        return None;
    }
    let case = FixContext::try_new(TargetPools::Failing, subject, judged, settings, resources.hosts)?;
    let mut trials = TrialRunner::new(resources, trial::trial_budget(subject, MAX_CANDIDATES));
    let all = case.target_pools().count();
    let mut found: Option<TestedFix> = None;
    for candidate in release_and_base_candidates(&case).into_iter().take(MAX_CANDIDATES) {
        let Some(one) = test_candidate(&case, candidate, &mut trials).filter(|one| one.breaks.is_empty()) else {
            continue;
        };
        if one.cures.len() == all {
            found = Some(one);
            break;
        }
        found = found.or(Some(one));
    }
    let found = found?;
    let drivers = required_drivers(&case, &found);
    Some(TestedFix { drivers, ..found })
}

/// Returns candidates that combine a newer framework release with the nearest base image tag of its CUDA version,
/// nearest release first.
fn release_and_base_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let bases = base_image_tags::base_tag_candidates(case);
    let with_base = |release: FixCandidate| {
        let cuda = cuda_version_of_release(case, &release.change)?;
        let base = bases.iter().find(|base| is_newer_base_with_cuda(&base.change, cuda))?;
        Some(FixCandidate {
            kind: ChangeKind::FrameworkVersion,
            step: base.step + release.step,
            title: format!("{}, and {}", base.title, release.title),
            safety: base.safety.max(release.safety),
            change: ProposedChange::All(vec![base.change.clone(), release.change]),
        })
    };
    framework::framework_version_candidates(case).into_iter().filter_map(with_base).collect()
}

/// Returns the CUDA version of a newer framework release: that of its build, else of its default build.
fn cuda_version_of_release(case: &FixContext<'_>, change: &ProposedChange) -> Option<CudaVersion> {
    let ProposedChange::Build { package: PackageEdit { name, from: Some(from), to, build }, .. } = change else {
        return None;
    };
    let knowledge = case.knowledge();
    if !knowledge.has_variants(name) || to.compare(from).is_le() {
        return None;
    }
    let default = || {
        let row = knowledge.torch_release(to)?;
        let arch = case.archs.first()?;
        row.default_variant.iter().find(|one| one.arch == arch).map(|one| one.value)
    };
    let tag = build.as_deref().or_else(default).filter(|tag| tag.starts_with("cu"))?;
    cuda_version_of_build(tag).parse().ok()
}

/// Whether a change replaces an older CUDA base image by one with this CUDA version.
fn is_newer_base_with_cuda(change: &ProposedChange, cuda: CudaVersion) -> bool {
    let ProposedChange::Base { from, .. } = change else { return false };
    let older = cuda_version_from_tag(from).is_some_and(|own| own.release() < cuda.release());
    older && base_image_tags::cuda_version_of_new_base(change).is_some_and(|own| own.release() == cuda.release())
}

/// Returns the drivers with which the changed image starts, grouped by pools with the same ranges.
fn required_drivers(case: &FixContext<'_>, tried: &TestedFix) -> Vec<model::FixDrivers> {
    let Some(subject) = &tried.subject else { return Vec::new() };
    let knowledge = case.knowledge();
    let mut alike: BTreeMap<String, Vec<&Pool>> = BTreeMap::new();
    for pool in case.target_pools() {
        alike.entry(minimum_driver::pool_equivalence_key(pool, knowledge)).or_default().push(pool);
    }
    let mut pool_ranges: Vec<(Vec<String>, Vec<StartingReleases>)> = Vec::new();
    let mut groups: Vec<Vec<&Pool>> = alike.into_values().collect();
    groups.sort_by_key(|pools| {
        case.target_pools().position(|one| pools.first().is_some_and(|pool| pool.name == one.name))
    });
    for pools in groups.into_iter().take(MAX_POOL_GROUPS) {
        let Some(first) = pools.first() else { continue };
        let images = SubjectImages::infer(subject, &first.platforms(knowledge), case.settings.as_of, knowledge);
        let ranges = minimum_driver::find_starting_releases(&images, first, knowledge);
        let names = pools.iter().map(|pool| pool.name.value.clone());
        match pool_ranges.iter_mut().find(|(_, known)| *known == ranges) {
            Some((known, _)) => known.extend(names),
            None => pool_ranges.push((names.collect(), ranges)),
        }
    }
    let of_range = |pools: &[String], one: &StartingReleases| model::FixDrivers {
        pools: pools.to_vec(),
        route: one.route,
        from: one.from.to_string(),
        to: one.to.map(|to| to.to_string()),
    };
    pool_ranges.iter().flat_map(|(pools, ranges)| ranges.iter().map(|one| of_range(pools, one))).collect()
}
