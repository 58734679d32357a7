//! Combinations of base image, framework release, CUDA build and pip command that start on every pool of a fleet.
//!
//! Candidates are built from table rows: releases of the requested packages in each of their builds, on each base
//! with a Python that has a wheel, or in an image that contains them. Each combination becomes a Dockerfile *text*
//! that is analysed like any other; only the replay decides how it ends on each pool.
//!
//! # What is better
//!
//! | order | what counts |
//! |---|---|
//! | 1 | everything that decides was inspected, before what starts as far as it was inspected; of these, required libraries that are known and present, before unknown ones |
//! | 2 | the worst route over all pools, then the next one: native, minor-version, forward-compat, jit |
//! | 3 | a build for the CUDA major that the base holds, where it holds one |
//! | 4 | the newer release, package by package; of a base alone, the newer CUDA, of a container of every month the later month |
//! | 5 | headroom: the smaller driver from which on it starts, the pool that needs the largest first |
//! | 6 | the base that contains less: a language image, an operating system, a CUDA base image, a framework image |
//! | 7 | a tag to run before one to build in, the shorter one, the name |
//!
//! If the best of them starts on a pool only with code that is compiled for the GPU at start-up, and the libraries that
//! it calls were not inspected, the fewest images that need no such code are listed as well.
//!
//! A combination that fails on a pool, is undetermined there, or starts without a GPU is not recommended. Of bases with
//! different flavours only the smallest is tried, and a larger one if that lacks something.

mod base_image;
mod candidate;
pub mod model;
mod print;
mod rank;
mod recommendation;
mod release;
mod request;
mod split;
mod trial;

pub use self::print::write_recommendation;
pub use self::request::{RecommendRequest, requirement_text};

use std::cmp::Reverse;

use crate::fix::recommend::base_image::{BaseCandidate, BaseConstraint, BaseImageKind, BaseSelector};
use crate::fix::recommend::candidate::{CandidateImage, GpuEnvironment};
use crate::fix::recommend::model::Recommendation;
use crate::fix::recommend::rank::TestedCandidate;
use crate::fix::recommend::release::{CandidateRelease, LibraryKnowledge, ReleaseCache};
use crate::fix::recommend::request::PackageRequest;
use crate::fix::recommend::trial::{CandidateResult, CandidateTester, TestPools};
use crate::fleet::Pool;
use crate::judge::AnalysisSettings;
use crate::model::outcome::Outcome;
use crate::report::kinds::VerdictKind;
use crate::text::source::{SourceText, Sources};
use crate::{judge, parallel};

/// Maximum number of release combinations.
const MAX_RELEASE_SETS: usize = 2_000;

/// Finds combinations; returns an error if the requirements cannot be met on any fleet.
pub fn recommend(requirements: RecommendRequest<'_>, settings: AnalysisSettings<'_>) -> Result<Recommendation, String> {
    let knowledge = settings.knowledge;
    let requests =
        requirements.with.iter().map(|text| PackageRequest::parse(text, knowledge)).collect::<Result<Vec<_>, _>>()?;
    let requests = request::merge_requests(requests)?;
    if requests.is_empty() && requirements.base.is_none() {
        return Err(recommendation::empty_request_message());
    }
    let constraint = BaseConstraint::parse(requirements.base, knowledge)?;
    let python = requirements.python.map(request::parse_python_version).transpose()?;
    let pools: Vec<&Pool> = settings
        .fleet
        .pools
        .iter()
        .filter(|pool| settings.pools.is_empty() || settings.pools.contains(&pool.name.value))
        .collect();
    let place = TestPools::new(&pools, settings.as_of, knowledge);
    let mut archs: Vec<String> =
        place.platforms.iter().filter_map(|one| Some(one.split('/').nth(1)?.to_owned())).collect();
    archs.sort();
    let all = requests
        .iter()
        .map(|request| release::find_releases(request, &archs, knowledge))
        .collect::<Result<Vec<_>, _>>()?;
    let known = ReleaseCache::new(archs.clone(), knowledge);
    let sets = compatible_sets(&all, &known);
    let ground = BaseSelector {
        constraint: &constraint,
        python: python.as_deref(),
        archs: &archs,
        release_cache: &known,
        knowledge,
    };
    let made: Vec<(Vec<&CandidateRelease>, BaseCandidate)> =
        sets.iter().flat_map(|set| ground.bases(set).into_iter().map(move |base| (set.clone(), base))).collect();
    if made.is_empty() {
        return Err(recommendation::no_candidates_message(requirements, &all, &sets, ground));
    }
    let given = requirements.base.is_some();
    let mut tried: Vec<TestedCandidate<'_>> = parallel::map_with_state(
        requirements.jobs,
        &made,
        || CandidateTester::new(&place),
        |bench, one| test_on_base(one, given, bench),
    );
    // Without a requested base, older CUDA bases are tried only if no other one starts everywhere.
    if requirements.base.is_none() && !tried.iter().any(TestedCandidate::starts_everywhere) {
        let older = parallel::map_with_state(
            requirements.jobs,
            &tried,
            || CandidateTester::new(&place),
            |bench, one| test_on_older_base(one, bench),
        );
        tried.extend(older.into_iter().flatten());
    }
    if let Some(base) = requirements.base.filter(|_| requests.is_empty())
        && tried.iter().all(|one| place.infer_images(&one.text).is_empty())
    {
        return Err(recommendation::no_gpu_content_message(base));
    }
    tried.sort_by(rank::compare_candidates);
    tried.dedup_by(|one, other| one.text == other.text);
    let mut report = recommendation::build_recommendation(&mut tried, &pools, &place, requirements.limit);
    let open = |one: &&TestedCandidate<'_>| {
        let ends = || one.ends.iter();
        ends().any(|end| !end.starts()) && !ends().any(|end| matches!(end, CandidateResult::Fails(_)))
    };
    report.undetermined.combinations = tried.iter().filter(open).count();
    report.undetermined.because = tried.iter().find(open).and_then(|one| unknown_reason(one, settings));
    report.fleet.source.clone_from(&settings.fleet.name);
    report.fleet.built_in = settings.fleet.built_in;
    report.requests = recommendation::request_as_written(requirements);
    report.notes.extend(recommendation::substitute_notes(&requests, &all));
    Ok(report)
}

/// Returns every compatible set with one release for each requirement, the newest first.
fn compatible_sets<'a>(all: &'a [Vec<CandidateRelease>], known: &ReleaseCache) -> Vec<Vec<&'a CandidateRelease>> {
    let mut sets: Vec<Vec<&CandidateRelease>> = vec![Vec::new()];
    for candidate_releases in all {
        let with = |set: &Vec<&'a CandidateRelease>, one: &'a CandidateRelease| -> Option<Vec<&'a CandidateRelease>> {
            let has_single_image = one.within.is_none() || set.iter().all(|other| other.within.is_none());
            let goes = has_single_image && set.iter().all(|other| release::are_compatible(other, one, known));
            goes.then(|| set.iter().copied().chain([one]).collect())
        };
        sets = sets
            .iter()
            .flat_map(|set| candidate_releases.iter().filter_map(move |one| with(set, one)))
            .take(MAX_RELEASE_SETS)
            .collect();
    }
    sets
}

/// Tests releases on a base image; on an older one as well if the base image was requested.
fn test_on_base<'a>(
    (candidate_releases, base): &(Vec<&'a CandidateRelease>, BaseCandidate),
    given: bool,
    bench: &CandidateTester<'_, '_>,
) -> TestedCandidate<'a> {
    let candidate = CandidateImage {
        candidate_releases: candidate_releases.clone(),
        base: base.clone(),
        gpu_environment: GpuEnvironment::Nothing,
    };
    if given { test_with_older_base(candidate, bench) } else { test_candidate(candidate, bench) }
}

/// Tests a combination, and on an older base image if its own requires too new a driver.
fn test_with_older_base<'a>(candidate: CandidateImage<'a>, bench: &CandidateTester<'_, '_>) -> TestedCandidate<'a> {
    let first = test_candidate(candidate, bench);
    test_on_older_base(&first, bench).unwrap_or(first)
}

/// Tests a combination on an older base image if its own requires too new a driver; `None` unless that starts on more
/// pools.
fn test_on_older_base<'a>(first: &TestedCandidate<'a>, bench: &CandidateTester<'_, '_>) -> Option<TestedCandidate<'a>> {
    let base = first.candidate.base.older.as_deref()?.clone();
    first.ends.iter().find(|end| may_need_newer_driver(**end))?;
    let candidate_releases = first.candidate.candidate_releases.clone();
    let second =
        test_candidate(CandidateImage { candidate_releases, base, gpu_environment: GpuEnvironment::Nothing }, bench);
    (count_starting_pools(&second) > count_starting_pools(first)).then_some(second)
}

/// Returns the number of pools on which a combination starts.
fn count_starting_pools(one: &TestedCandidate<'_>) -> usize {
    one.ends.iter().filter(|end| end.starts()).count()
}

/// Whether the driver is too old, so that an older base image may help.
const fn may_need_newer_driver(end: CandidateResult) -> bool {
    matches!(end, CandidateResult::Fails(Outcome::Refused | Outcome::InsufficientDriver | Outcome::CompatNotSupported))
}

/// Tests a combination; again with GPU variables or a larger base image if that may help.
fn test_candidate<'a>(candidate: CandidateImage<'a>, bench: &CandidateTester<'_, '_>) -> TestedCandidate<'a> {
    let place = bench.test_pools;
    let once = |candidate: CandidateImage<'a>| {
        let text = candidate.dockerfile(place.knowledge);
        let images = place.infer_images(&text);
        let ends = bench.test(&images, candidate.candidate_releases.is_empty());
        let has_other_cuda = trial::has_other_cuda_major(&images, place, &candidate);
        let libraries = candidate.candidate_releases.iter().map(|choice| choice.library_knowledge(place.knowledge));
        let are_libraries_known = libraries.max().unwrap_or(LibraryKnowledge::Known) == LibraryKnowledge::Known;
        TestedCandidate {
            candidate,
            text,
            ends,
            libraries_known: are_libraries_known,
            other_cuda_major: has_other_cuda,
            drivers: Vec::new(),
        }
    };
    let first = once(candidate);
    if first.starts_everywhere() {
        return first;
    }
    let candidate = &first.candidate;
    let plain = matches!(candidate.base.kind, BaseImageKind::Language | BaseImageKind::System | BaseImageKind::Given);
    let larger = candidate.base.larger.clone();
    let no_gpu = |one: &TestedCandidate<'a>| one.ends.contains(&CandidateResult::Fails(Outcome::NoGpu));
    match larger {
        None if plain && no_gpu(&first) => {
            let asking = |gpu_environment| once(CandidateImage { gpu_environment, ..candidate.clone() });
            let second = asking(GpuEnvironment::Gpus);
            let third = no_gpu(&second).then(|| asking(GpuEnvironment::Driver));
            // Where none starts, the one that gets past the missing GPU says what is in the way behind it.
            let good = |one: &TestedCandidate<'a>| {
                let blind = one.ends.iter().filter(|end| **end == CandidateResult::Fails(Outcome::NoGpu)).count();
                (count_starting_pools(one), Reverse(blind))
            };
            match third.filter(|third| good(third) > good(&second)) {
                Some(third) if good(&third) > good(&first) => third,
                Some(_) | None if good(&second) >= good(&first) => second,
                Some(_) | None => first,
            }
        }
        Some(larger) if first.ends.iter().any(|end| may_lack_libraries(*end)) => {
            let base = BaseCandidate { reference: larger, larger: None, ..candidate.base.clone() };
            let second = once(CandidateImage { base, ..candidate.clone() });
            if count_starting_pools(&second) > count_starting_pools(&first) { second } else { first }
        }
        None | Some(_) => first,
    }
}

/// Whether a base image with more libraries may help.
const fn may_lack_libraries(end: CandidateResult) -> bool {
    matches!(end, CandidateResult::Idle | CandidateResult::Open | CandidateResult::Fails(Outcome::LibraryMissing))
}

/// Returns why it is unknown whether a combination starts.
fn unknown_reason(one: &TestedCandidate<'_>, settings: AnalysisSettings<'_>) -> Option<String> {
    let mut sources = Sources::default();
    let source = sources.add(SourceText::new("Dockerfile", one.text.clone()));
    // Pools are reported without their source positions.
    let fleet = crate::fleet::Fleet { built_in: true, source, ..settings.fleet.clone() };
    let settings = AnalysisSettings {
        sources: &sources,
        fleet: &fleet,
        detail: judge::ReportDetail::Verdicts,
        own: None,
        ..settings
    };
    let judged = judge::judge_subject(&trial::dockerfile_subject(&one.text, source, settings.knowledge), settings);
    let mut verdicts = judged.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let open = verdicts.find(|verdict| verdict.fate != VerdictKind::Starts).map(|verdict| verdict.message.clone());
    let idle = judged.verdicts.iter().flat_map(|verdict| &verdict.notes).next().cloned();
    let packages = one.candidate.packages_text();
    let what = if packages.is_empty() { one.candidate.base.reference.clone() } else { packages };
    open.or(idle).map(|why| format!("{what}: {why}"))
}
