//! Builds the recommendation, its notes and its error messages from tested combinations.

use std::collections::{BTreeMap, BTreeSet};

use crate::fix::minimum_driver::is_below_minimum;
use crate::fix::recommend::base_image::{BaseConstraint, BaseSelector};
use crate::fix::recommend::candidate::CandidateImage;
use crate::fix::recommend::model::{
    Combination, CombinationOnPool, CombinationResult, Recommendation, RecommendedFleet, RecommendedPackage,
    RecommendedRequest, RejectedCombination, SplitImage, UndeterminedCombinations,
};
use crate::fix::recommend::rank::TestedCandidate;
use crate::fix::recommend::release::{CandidateRelease, compare_versions};
use crate::fix::recommend::request::PackageRequest;
use crate::fix::recommend::trial::{CandidateResult, TestPools};
use crate::fix::recommend::{rank, release, split};
use crate::fleet::Pool;
use crate::knowledge::{Knowledge, compare_natural};
use crate::report::json::SCHEMA_VERSION;

/// Builds the recommendation from tested combinations, which are sorted except by driver.
pub(super) fn build_recommendation(
    tried: &mut [TestedCandidate<'_>],
    pools: &[&Pool],
    test_pools: &TestPools<'_>,
    limit: usize,
) -> Recommendation {
    let names: Vec<String> = pools.iter().map(|pool| pool.name.value.clone()).collect();
    let mut winners: Vec<TestedCandidate<'_>> = tried.iter().filter(|one| one.starts_everywhere()).cloned().collect();
    find_smallest_drivers(&mut winners, test_pools, limit);
    let ranked = winners.iter().take(limit).enumerate();
    let mut combinations: Vec<Combination> =
        ranked.map(|(at, one)| report_combination(at + 1, one, &names, test_pools)).collect();
    if let Some(best) = winners.first() {
        for (one, combination) in winners.iter().zip(&mut combinations).skip(1) {
            combination.lost_because = Some(rank::lower_rank_reason(best, one, &names));
        }
    }
    let (mut split, mut never) = (Vec::new(), Vec::new());
    if winners.is_empty() {
        never =
            split::pools_without_start(tried, names.len()).iter().filter_map(|at| names.get(*at).cloned()).collect();
        split = split_images(tried, &names, test_pools);
    } else if winners.first().is_some_and(TestedCandidate::needs_uninspected_jit) {
        let sound: Vec<TestedCandidate<'_>> = tried.iter().map(TestedCandidate::without_jit).collect();
        if split::pools_without_start(&sound, names.len()).is_empty() {
            split = split_images(&sound, &names, test_pools);
        }
    }
    Recommendation {
        schema_version: SCHEMA_VERSION,
        knowledge: test_pools.knowledge.newest_source_date().to_string(),
        fleet: RecommendedFleet { source: String::new(), built_in: false, pools: names.clone() },
        requests: RecommendedRequest { with: Vec::new(), base: None, python: None },
        tried: tried.len(),
        more: winners.len() - combinations.len(),
        rejected: if winners.is_empty() && never.is_empty() {
            Vec::new()
        } else {
            rejected_combinations(tried, winners.first(), &names, test_pools, limit)
        },
        undetermined: UndeterminedCombinations { combinations: 0, because: None },
        notes: recommendation_notes(winners.first(), &split),
        combinations,
        split,
        never,
    }
}

/// Returns the requirements as written.
pub(super) fn request_as_written(requirements: crate::fix::recommend::RecommendRequest<'_>) -> RecommendedRequest {
    RecommendedRequest {
        with: requirements.with.to_vec(),
        base: requirements.base.map(str::to_owned),
        python: requirements.python.map(str::to_owned),
    }
}

/// Finds the smallest drivers of the combinations up to the limit and of equal ones, and sorts them by driver.
fn find_smallest_drivers(winners: &mut [TestedCandidate<'_>], test_pools: &TestPools<'_>, limit: usize) {
    let last = winners.get(limit.saturating_sub(1)).or(winners.last()).cloned();
    let Some(last) = last else { return };
    let candidate_count = winners.iter().take_while(|one| rank::compare_without_drivers(one, &last).is_le()).count();
    for one in winners.iter_mut().take(candidate_count) {
        one.drivers = test_pools.smallest_drivers(&test_pools.infer_images(&one.text));
    }
    if let Some(candidates) = winners.get_mut(..candidate_count) {
        candidates.sort_by(rank::compare_candidates);
    }
}

/// Returns a combination for the recommendation.
fn report_combination(
    rank: usize,
    one: &TestedCandidate<'_>,
    names: &[String],
    test_pools: &TestPools<'_>,
) -> Combination {
    let CandidateImage { candidate_releases, base, .. } = &one.candidate;
    let package = |choice: &&CandidateRelease| RecommendedPackage {
        name: choice.name.to_string(),
        version: choice.version.to_string(),
        build: choice.build.map(str::to_owned),
        spec: Some(choice.spec.clone()).filter(|spec| !spec.is_empty()),
    };
    let cuda = candidate_releases.iter().find_map(|choice| choice.cuda).or(base.cuda);
    Combination {
        rank,
        base: base.reference.clone(),
        python: base.python.map(str::to_owned),
        packages: candidate_releases.iter().map(package).collect(),
        cuda: cuda.map(|cuda| cuda.to_string()),
        pip: one.candidate.pip_commands(test_pools.knowledge),
        dockerfile: one.text.clone(),
        pools: pool_results(one, names, test_pools, |_| true),
        unseen: one.is_not_fully_inspected(),
        lost_because: None,
    }
}

/// Returns the results of a combination on some pools.
fn pool_results(
    one: &TestedCandidate<'_>,
    names: &[String],
    test_pools: &TestPools<'_>,
    predicate: impl Fn(CandidateResult) -> bool,
) -> Vec<CombinationOnPool> {
    let pools = &test_pools.declared;
    let drivers = one.drivers.iter().copied().chain(std::iter::repeat(None));
    let ends = names.iter().zip(&one.ends).zip(drivers).filter(|((_, end), _)| predicate(**end));
    let pool_result = |((name, end), driver): ((&String, &CandidateResult), Option<crate::cuda::DriverVersion>)| {
        let (fate, route, outcome) = match end {
            CandidateResult::Starts { route, .. } => (CombinationResult::Starts, Some(*route), None),
            CandidateResult::Idle => (CombinationResult::NoGpuUsed, None, None),
            CandidateResult::Fails(outcome) => (CombinationResult::Fails, None, Some(*outcome)),
            CandidateResult::Open => (CombinationResult::Undetermined, None, None),
        };
        let smallest_driver = driver.map(|driver| driver.to_string());
        let below =
            driver.is_some() && end.starts() && pools.get(name).is_some_and(|pool| is_below_minimum(pool, driver));
        CombinationOnPool { pool: name.clone(), fate, route, outcome, smallest_driver, below }
    };
    ends.map(pool_result).collect()
}

/// Returns combinations that are newer than the best but fail on some pool; all failing ones if there is no best.
fn rejected_combinations(
    tried: &[TestedCandidate<'_>],
    best: Option<&TestedCandidate<'_>>,
    names: &[String],
    test_pools: &TestPools<'_>,
    limit: usize,
) -> Vec<RejectedCombination> {
    let starts = |one: &TestedCandidate<'_>| one.ends.iter().filter(|end| end.starts()).count();
    let fails = |one: &&TestedCandidate<'_>| one.ends.iter().any(|end| matches!(end, CandidateResult::Fails(_)));
    let better = |one: &&TestedCandidate<'_>| {
        best.is_none_or(|best| rank::compare_releases(&one.candidate, &best.candidate).is_le())
    };
    // Of a base alone nothing else is the same.
    let packages = |one: &TestedCandidate<'_>| {
        (!one.candidate.candidate_releases.is_empty()).then(|| one.candidate.packages_text())
    };
    let everywhere: BTreeSet<String> =
        tried.iter().filter(|one| one.starts_everywhere()).filter_map(packages).collect();
    let mut found: Vec<&TestedCandidate<'_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for one in tried.iter().filter(fails).filter(better) {
        let Some(packages) = packages(one) else {
            found.push(one);
            continue;
        };
        // What starts everywhere on another base stands for itself.
        if everywhere.contains(&packages) {
            continue;
        }
        let at = *places.entry(packages).or_insert(found.len());
        match found.get_mut(at) {
            Some(other) if starts(one) > starts(other) => *other = one,
            Some(_) => {}
            None => found.push(one),
        }
    }
    found.sort_by(|one, other| {
        rank::compare_releases(&one.candidate, &other.candidate).then_with(|| starts(other).cmp(&starts(one)))
    });
    // The newest of those with equal results represents all.
    let mut ends: Vec<&[CandidateResult]> = Vec::new();
    found.retain(|one| {
        let new = !ends.contains(&one.ends.as_slice());
        ends.push(&one.ends);
        new
    });
    let to_rejected = |one: &&TestedCandidate<'_>| RejectedCombination {
        base: one.candidate.base.reference.clone(),
        packages: one.candidate.packages_text(),
        pools: pool_results(one, names, test_pools, |end| !end.starts()),
    };
    found.iter().take(limit).map(to_rejected).collect()
}

/// Returns images that start on every pool together, each the best one for its pools.
fn split_images(tried: &[TestedCandidate<'_>], names: &[String], test_pools: &TestPools<'_>) -> Vec<SplitImage> {
    let part = |(at, own): (usize, Vec<usize>)| {
        let on: Vec<String> = own.iter().filter_map(|pool| names.get(*pool).cloned()).collect();
        let mut able: Vec<TestedCandidate<'_>> = tried.iter().filter_map(|one| restrict_to_pools(one, &own)).collect();
        able.sort_by(rank::compare_candidates);
        let best = able.first().or(tried.get(at))?;
        Some(SplitImage { combination: report_combination(1, best, &on, test_pools), on })
    };
    split::minimal_pool_cover(tried, names.len()).into_iter().filter_map(part).collect()
}

/// Restricts a combination to some pools; `None` unless it starts on all of them.
fn restrict_to_pools<'a>(one: &TestedCandidate<'a>, pools: &[usize]) -> Option<TestedCandidate<'a>> {
    let ends: Vec<CandidateResult> = pools.iter().filter_map(|pool| one.ends.get(*pool).copied()).collect();
    ends.iter().all(|end| end.starts()).then(|| TestedCandidate { ends, ..one.clone() })
}

/// Returns the notes on the best combination and the split.
fn recommendation_notes(best: Option<&TestedCandidate<'_>>, split: &[SplitImage]) -> Vec<String> {
    let mut notes = Vec::new();
    let fetched = best.map(|best| &best.candidate.base).filter(|base| base.fetched && base.bare);
    if let Some((base, python)) = fetched.and_then(|base| Some((base, base.python?))) {
        notes.push(format!("{} does not include Python {python}; uv installs it", base.reference));
    }
    let uninspected =
        best.is_some_and(TestedCandidate::is_not_fully_inspected) || split.iter().any(|part| part.combination.unseen);
    if uninspected {
        notes.push("no failure found, but its native code, PTX or libraries are not in the compatibility database; check the built \
                    image with `imagelint scan`".to_owned());
    }
    notes
}

/// The flags that select packages.
const PACKAGE_FLAGS: &str = "--torch, --tensorflow, --jax, or --with 'NAME>=VERSION' for any other";

/// Returns the error for a request without packages and base image.
pub(super) fn empty_request_message() -> String {
    format!(
        "nothing to recommend: name what runs with {PACKAGE_FLAGS}, or a base image for GPUs with --base, such as --torch \
         '>=2.4'"
    )
}

/// Returns notes on packages for which the tables have only another distribution with their GPU code.
pub(super) fn substitute_notes(requests: &[PackageRequest], all: &[Vec<CandidateRelease>]) -> Vec<String> {
    let stand_in = |(request, candidate_releases): (&PackageRequest, &Vec<CandidateRelease>)| {
        let other = candidate_releases
            .iter()
            .find(|_| candidate_releases.iter().all(|one| request.requirement.name != one.name))?;
        let (name, own) = (&request.requirement.name, &other.name);
        Some(format!(
            "for {name} the compatibility database has only {own}, which contains its native code and PTX: install {name} as well"
        ))
    };
    requests.iter().zip(all).filter_map(stand_in).collect()
}

/// Returns the error for a base image that needs a tag.
fn missing_tag_message(repository: &str, knowledge: Knowledge) -> Option<String> {
    let rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
    let newest = rows.max_by(|one, other| compare_natural(one.tag, other.tag))?;
    Some(format!("{repository} needs a tag, such as {repository}:{}, or name what runs in it", newest.tag))
}

/// Returns the error for a base image without GPU content.
pub(super) fn no_gpu_content_message(base: &str) -> String {
    format!("{base} contains nothing for GPUs: name what runs in it with {PACKAGE_FLAGS}")
}

/// Returns why no base image is compatible with the requirements.
pub(super) fn no_candidates_message(
    requirements: crate::fix::recommend::RecommendRequest<'_>,
    all: &[Vec<CandidateRelease>],
    sets: &[Vec<&CandidateRelease>],
    ground: BaseSelector<'_>,
) -> String {
    let date = ground.knowledge.newest_source_date();
    let requests = requirements.with.join(" ");
    if sets.is_empty() {
        let mut pairs =
            all.iter().enumerate().flat_map(|(at, one)| all.iter().skip(at + 1).map(move |other| (one, other)));
        let of = |one: &[CandidateRelease], other: &[CandidateRelease]| {
            one.iter().all(|one| {
                other.iter().all(|other| release::have_conflicting_nvidia_wheels(one, other, ground.knowledge))
            })
        };
        let name = |candidate_releases: &[CandidateRelease]| {
            candidate_releases.first().map(|choice| choice.name.clone()).unwrap_or_default()
        };
        return match pairs.find(|(one, other)| of(one, other)) {
            Some((one, other)) => format!(
                "{} and {} both depend on NVIDIA's pip packages. The compatibility database of {date} does not list \
                 releases that require the same ones: build an image for each, or install one without its libraries",
                name(one),
                name(other)
            ),
            None => format!("the compatibility database of {date} has no compatible releases of {requests}"),
        };
    }
    if let BaseConstraint::Exactly(reference) = ground.constraint
        && let (Some(why), false) = (ground.pip_obstacle(reference), requests.is_empty())
    {
        return format!("{requests} cannot be installed on {reference}: {why}");
    }
    if !sets.iter().any(|set| ground.has_common_python(set)) {
        return format!("the compatibility database of {date} has no Python version with wheels of all of {requests}");
    }
    let others = || sets.iter().flat_map(|set| BaseSelector { python: None, ..ground }.bases(set));
    if let Some(python) = ground.python {
        let mut pythons: Vec<&str> = others().filter_map(|base| base.python).collect();
        let any = BaseConstraint::Any;
        let (archs, knowledge) = (ground.archs, ground.knowledge);
        let wheels = release::image_pythons(knowledge)
            .filter(|own| sets.iter().any(|set| release::supports_all_releases(set, own, ground.release_cache)));
        if sets.iter().all(|set| set.iter().any(|choice| choice.within.is_some())) {
            return format!(
                "the compatibility database of {date} has {requests} for {} only in images, and their Python versions are \
                 unknown: omit --python",
                archs.iter().map(|arch| format!("linux/{arch}")).collect::<Vec<_>>().join(" and ")
            );
        }
        if sets.iter().any(|set| release::supports_all_releases(set, python, ground.release_cache)) {
            let base = requirements.base.unwrap_or("a base");
            pythons.sort_by(|one, other| compare_versions(one, other));
            pythons.dedup();
            let elsewhere = !sets.iter().all(|set| BaseSelector { constraint: &any, ..ground }.bases(set).is_empty());
            let hint = if elsewhere { "; without --base there is a combination" } else { "" };
            let there = if pythons.is_empty() { "no known Python".to_owned() } else { pythons.join(", ") };
            return format!(
                "the compatibility database of {date} has no tag of {base} with Python {python}; its tags include {there}{hint}"
            );
        }
        let mut wheels: Vec<&str> = wheels.collect();
        wheels.sort_by(|one, other| compare_versions(one, other));
        wheels.dedup();
        return format!(
            "the compatibility database of {date} has no wheel of {requests} for Python {python}; choose one of {}",
            wheels.join(", ")
        );
    }
    match requirements.base {
        Some(base) if matches!(ground.constraint, BaseConstraint::Repository(name) if is_monthly_container(name, ground)) =>
        {
            format!("{base} includes its own framework: use only --base, without {requests}")
        }
        Some(base) if requests.is_empty() => match ground.constraint {
            BaseConstraint::Repository(name) => {
                missing_tag_message(name, ground.knowledge).unwrap_or_else(|| no_gpu_content_message(base))
            }
            BaseConstraint::Any | BaseConstraint::Exactly(_) => no_gpu_content_message(base),
        },
        Some(base) => {
            format!("the compatibility database of {date} has no tag of {base} that is compatible with {requests}")
        }
        None => format!("the compatibility database of {date} has no base image that is compatible with {requests}"),
    }
}

/// Whether the images of a repository are monthly framework containers.
fn is_monthly_container(repository: &str, ground: BaseSelector<'_>) -> bool {
    ground.knowledge.base_family(repository).is_some_and(|family| family.month_tag.is_some())
}
