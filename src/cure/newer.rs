//! A newer release of the framework on a base of its CUDA: what a GPU asks for that is newer than the release, and the
//! drivers that each pool needs for it.

use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Tried;
use crate::cure::Wish;
use crate::cure::base;
use crate::cure::case::Aim;
use crate::cure::case::Case;
use crate::cure::framework;
use crate::cure::framework::cuda_of;
use crate::cure::means::Means;
use crate::cure::search::attempt;
use crate::cure::trials;
use crate::cure::trials::Trials;
use crate::fleet::Pool;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::knowledge::by_number;
use crate::least;
use crate::least::Images;
use crate::least::Starting;
use crate::outcome::Outcome;
use crate::report::model;

/// So many releases with their bases are tried.
const MOST: usize = 4;
/// For so many ways of starting the drivers are told.
const WAYS: usize = 8;

/// The nearest newer release with a base of its CUDA that starts on every pool, else the first that helps; it goes with
/// what it needs, pools that need the same together.
pub(super) fn newer(
    subject: &Subject,
    judged: &model::Subject,
    settings: Settings<'_>,
    means: &Means<'_>,
) -> Option<(Tried, Vec<model::FixDrivers>)> {
    let no_code = |one: &model::Verdict| one.outcome.as_deref() == Some(Outcome::NoKernelImage.name());
    if !judged.verdicts.iter().any(no_code) {
        return None;
    }
    let case = Case::of(Aim::Failing, subject, judged, settings, means.hosts)?;
    let mut trials = Trials::new(means, trials::budget(subject, MOST));
    let all = case.aimed().count();
    let mut found: Option<Tried> = None;
    for candidate in candidates(&case).into_iter().take(MOST) {
        let Some(one) = attempt(&case, candidate, &mut trials).filter(|one| one.breaks.is_empty()) else { continue };
        if one.cures.len() == all {
            found = Some(one);
            break;
        }
        found = found.or(Some(one));
    }
    let found = found?;
    let drivers = drivers(&case, &found);
    Some((found, drivers))
}

/// Newer releases, the nearest first, each with the nearest tag of the base that is of the CUDA of the build.
fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    let bases = base::candidates(case);
    let with_base = |release: Candidate| {
        let cuda = cuda(case, &release.wish)?;
        let base = bases.iter().find(|base| newer_base(&base.wish, cuda))?;
        Some(Candidate {
            kind: Kind::FrameworkVersion,
            step: base.step + release.step,
            title: format!("{}, and {}", base.title, release.title),
            safety: base.safety.max(release.safety),
            wish: Wish::All(vec![base.wish.clone(), release.wish]),
        })
    };
    framework::versions(case).into_iter().filter_map(with_base).collect()
}

/// The CUDA of a newer release of the framework: that of its build, else that of its default one.
fn cuda(case: &Case<'_>, wish: &Wish) -> Option<CudaVersion> {
    let Wish::Build { package, from: Some(from), to, build, .. } = wish else { return None };
    let knowledge = case.knowledge();
    if !knowledge.is_built_framework(package) || by_number(to, from).is_le() {
        return None;
    }
    let default = || {
        let row = knowledge.torch(to)?;
        let arch = case.archs.first()?;
        row.default_variant.iter().find(|one| one.arch == arch).map(|one| one.value)
    };
    let tag = build.as_deref().or_else(default).filter(|tag| tag.starts_with("cu"))?;
    cuda_of(tag).parse().ok()
}

/// Whether a change is one to a base of this CUDA, from an older one.
fn newer_base(wish: &Wish, cuda: CudaVersion) -> bool {
    let Wish::Base { from, .. } = wish else { return false };
    let older = base::cuda_of_tag(from).is_some_and(|own| own.release() < cuda.release());
    older && base::cuda_of(wish).is_some_and(|own| own.release() == cuda.release())
}

/// The drivers with which it starts, by pools on which the same ones do.
fn drivers(case: &Case<'_>, tried: &Tried) -> Vec<model::FixDrivers> {
    let Some(subject) = &tried.subject else { return Vec::new() };
    let knowledge = case.knowledge();
    let mut alike: BTreeMap<String, Vec<&Pool>> = BTreeMap::new();
    for pool in case.aimed() {
        alike.entry(least::likeness(pool, knowledge)).or_default().push(pool);
    }
    let mut told: Vec<(Vec<String>, Vec<Starting>)> = Vec::new();
    let mut groups: Vec<Vec<&Pool>> = alike.into_values().collect();
    groups.sort_by_key(|pools| case.aimed().position(|one| pools.first().is_some_and(|pool| pool.name == one.name)));
    for pools in groups.into_iter().take(WAYS) {
        let Some(first) = pools.first() else { continue };
        let images = Images::of(subject, &first.platforms(knowledge), case.settings.as_of, knowledge);
        let ranges = least::starting(&images, first, knowledge);
        let names = pools.iter().map(|pool| pool.name.value.clone());
        match told.iter_mut().find(|(_, known)| *known == ranges) {
            Some((known, _)) => known.extend(names),
            None => told.push((names.collect(), ranges)),
        }
    }
    let of_range = |pools: &[String], one: &Starting| model::FixDrivers {
        pools: pools.to_vec(),
        route: one.route.name().to_owned(),
        from: one.from.to_string(),
        to: one.to.map(|to| to.to_string()),
    };
    told.iter().flat_map(|(pools, ranges)| ranges.iter().map(|one| of_range(pools, one))).collect()
}
