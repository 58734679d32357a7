//! Tests of combinations: each Dockerfile is read, inferred and replayed on each pool.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::dockerfile::context::ContextFiles;
use crate::dockerfile::{EvaluateOptions, LazyDockerfile};
use crate::fix::minimum_driver::{HostsByRelease, MinimumDriver, SubjectImages};
use crate::fix::recommend::candidate::CandidateImage;
use crate::fleet::cluster::Start;
use crate::fleet::{Host, Pool};
use crate::judge::{AnalysisSubject, CachedTargetObservations, SubjectContent};
use crate::knowledge::Knowledge;
use crate::model::fact::{ComponentRole, ImageFacts};
use crate::model::outcome::Outcome;
use crate::replay::{
    HostResult, ReplayCache, StartRoute, StartStep, StartupResult, StartupVerdict, StepResult, explanations,
    fails_everywhere, is_undecided, pool_verdicts_with_cache,
};
use crate::report::kinds::SubjectKind;
use crate::text::source::SourceId;

/// The result of a combination on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CandidateResult {
    /// It starts on every node that the pool may have, by this route or a better one.
    Starts {
        /// The route.
        route: StartRoute,
        /// Whether some of its GPU code or libraries was not inspected.
        uninspected: bool,
    },
    /// It starts, and uses no GPU or may use none.
    Idle,
    /// It fails.
    Fails(Outcome),
    /// The result is unknown or depends on something.
    Open,
}

impl CandidateResult {
    /// Whether it starts and uses the GPU.
    pub(super) const fn starts(self) -> bool {
        matches!(self, Self::Starts { .. })
    }

    /// Returns the worse of two results.
    fn worse_of(self, other: Self) -> Self {
        let badness = |end: Self| match end {
            Self::Starts { .. } => 0,
            Self::Idle => 1,
            Self::Open => 2,
            Self::Fails(_) => 3,
        };
        match (self, other) {
            (Self::Starts { route, uninspected }, Self::Starts { route: other, uninspected: too }) => {
                Self::Starts { route: route.max(other), uninspected: uninspected || too }
            }
            _ if badness(other) > badness(self) => other,
            _ => self,
        }
    }
}

/// Pools with the same hosts.
struct PoolGroup<'a> {
    hosts: Vec<Host>,
    /// The hosts with every possible driver.
    drivers: HostsByRelease<'a>,
}

/// Replay results on the hosts of one pool group, for the next combinations.
#[derive(Default)]
struct PoolGroupCache {
    /// The replay cache of the hosts.
    shared: ReplayCache,
    /// Indices of the hosts that first showed an open result.
    first: Vec<usize>,
}

/// Tests one combination after the other.
pub(super) struct CandidateTester<'p, 'a> {
    pub(super) test_pools: &'p TestPools<'a>,
    /// The cache of each pool group.
    past: RefCell<Vec<PoolGroupCache>>,
}

/// The pools on which combinations are tested.
pub(super) struct TestPools<'a> {
    kinds: Vec<PoolGroup<'a>>,
    /// The group of each pool.
    pools: Vec<usize>,
    /// The pools by their names.
    pub(super) declared: BTreeMap<String, &'a Pool>,
    pub(super) platforms: Vec<String>,
    pub(super) day: Option<Date>,
    pub(super) knowledge: Knowledge,
}

impl<'a> TestPools<'a> {
    /// Groups pools with the same hosts.
    pub(super) fn new(pools: &[&'a Pool], day: Option<Date>, knowledge: Knowledge) -> Self {
        let mut kinds: Vec<(String, PoolGroup<'a>)> = Vec::new();
        let mut of_pools = Vec::new();
        let mut platforms: Vec<String> = Vec::new();
        for pool in pools {
            let hosts = pool.hosts(knowledge, day);
            for host in &hosts {
                if !platforms.contains(&host.platform) {
                    platforms.push(host.platform.clone());
                }
            }
            let key = format!("{hosts:?}");
            let at = kinds.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
                kinds.push((key, PoolGroup { hosts, drivers: HostsByRelease::new(pool, day, knowledge) }));
                kinds.len() - 1
            });
            of_pools.push(at);
        }
        let kinds = kinds.into_iter().map(|(_, kind)| kind).collect();
        let declared = pools.iter().map(|pool| (pool.name.value.clone(), *pool)).collect();
        Self { kinds, pools: of_pools, declared, platforms, day, knowledge }
    }

    /// Infers the images that a Dockerfile text builds.
    pub(super) fn infer_images(&self, text: &str) -> SubjectImages {
        SubjectImages::infer(
            &dockerfile_subject(text, SourceId(0), self.knowledge),
            &self.platforms,
            self.day,
            self.knowledge,
        )
    }

    /// Returns the oldest driver for each pool from which on it starts, with all other fields as declared; `None` if
    /// no release is known.
    pub(super) fn smallest_drivers(&self, images: &SubjectImages) -> Vec<Option<DriverVersion>> {
        let of_kind = |kind: &PoolGroup<'_>| match kind.drivers.minimum_driver(&[images]) {
            MinimumDriver::From(driver) => Some(driver),
            MinimumDriver::Never | MinimumDriver::Open => None,
        };
        let found: Vec<_> = self.kinds.iter().map(of_kind).collect();
        self.pools.iter().map(|at| found.get(*at).copied().flatten()).collect()
    }
}

impl<'p, 'a> CandidateTester<'p, 'a> {
    /// Creates a tester with empty caches.
    pub(super) fn new(test_pools: &'p TestPools<'a>) -> Self {
        Self { test_pools, past: RefCell::new(test_pools.kinds.iter().map(|_| PoolGroupCache::default()).collect()) }
    }

    /// Returns the result on each pool.
    pub(super) fn test(&self, images: &SubjectImages, bare: bool) -> Vec<CandidateResult> {
        let mut past = self.past.borrow_mut();
        let kinds = self.test_pools.kinds.iter().zip(past.iter_mut());
        let ends: Vec<CandidateResult> = kinds
            .map(|(kind, past)| pool_group_result(images, &kind.hosts, past, bare, self.test_pools.knowledge))
            .collect();
        self.test_pools.pools.iter().map(|at| ends.get(*at).copied().unwrap_or(CandidateResult::Open)).collect()
    }
}

/// Returns the subject for a Dockerfile text without a build context.
pub(super) fn dockerfile_subject(text: &str, source: SourceId, knowledge: Knowledge) -> AnalysisSubject {
    let dockerfile = LazyDockerfile::new(text);
    let (options, cached_target) = (EvaluateOptions::new(knowledge), CachedTargetObservations::default());
    let (files, bases) = (ContextFiles::default(), Arc::default());
    AnalysisSubject {
        name: "Dockerfile".to_owned(),
        path: String::new(),
        kind: SubjectKind::Dockerfile,
        digest: None,
        images: Vec::new(),
        notes: Vec::new(),
        as_of: None,
        only: None,
        start: Start::default(),
        named_at: None,
        content: SubjectContent::Dockerfile { source, dockerfile, options, files, bases, cached_target },
    }
}

/// Whether a build is for another CUDA major release than that of its base image.
pub(super) fn has_other_cuda_major(
    images: &SubjectImages,
    test_pools: &TestPools<'_>,
    candidate: &CandidateImage<'_>,
) -> bool {
    let of_bases = || test_pools.platforms.iter().flat_map(|platform| images.builds_for(platform));
    let base_versions = || of_bases().filter_map(|image| image.base_cuda.known());
    let builds = candidate.candidate_releases.iter().filter_map(|choice| choice.cuda);
    builds.into_iter().any(|cuda| base_versions().any(|base_version| base_version.major() != cuda.major()))
}

/// Maximum number of hosts of a pool that are sampled for whether all of them may fail.
const MAX_SAMPLED_HOSTS: usize = 32;

/// Returns the result on the hosts of a pool group; `bare` if only a base image was chosen.
fn pool_group_result(
    images: &SubjectImages,
    hosts: &[Host],
    past: &mut PoolGroupCache,
    bare: bool,
    knowledge: Knowledge,
) -> CandidateResult {
    let of = |host: &Host| images.builds_for(&host.platform);
    let pairs: Vec<(&ImageFacts, &Host)> =
        hosts.iter().flat_map(|host| of(host).iter().map(move |image| (image.as_ref(), host))).collect();
    let mut shared = std::mem::take(&mut past.shared);
    // What fails on some from all over the pool mostly fails on all: whether it is open is seen soonest by its verdicts.
    let some: Vec<_> = pairs.iter().copied().step_by(pairs.len().div_ceil(MAX_SAMPLED_HOSTS).max(1)).collect();
    let likely = fails_everywhere(&some, &mut shared, knowledge);
    // A runtime that is there as well and that nothing is known to use decides nothing.
    let counts = |name: &str| knowledge.frameworks().iter().any(|row| row.component == name);
    if !likely && is_undecided(&pairs, &deciding_components(images, counts), &mut shared, &mut past.first, knowledge) {
        past.shared = shared.reset_for_other_images();
        return CandidateResult::Open;
    }
    let list = pool_verdicts_with_cache(&pairs, &mut shared, knowledge);
    past.shared = shared.reset_for_other_images();
    // What is put on top of another framework fails on its own, and the image starts all the same: here nothing may.
    let mut worst = CandidateResult::Starts { route: StartRoute::Native, uninspected: false };
    let extension =
        |verdict: &StartupVerdict<'_>| verdict.hosts.iter().any(|host| host.component.role == ComponentRole::Extension);
    for verdict in list.iter().filter(|one| !extension(one) || one.component.is_some_and(counts)) {
        worst = worst.worse_of(verdict_result(verdict, bare, knowledge));
    }
    if list.is_empty() { CandidateResult::Open } else { worst }
}

/// Returns the components that decide; empty if one is an extension in only some builds.
fn deciding_components(images: &SubjectImages, counts: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for component in images.all_builds().flat_map(|image| &image.components) {
        let extension = component.role == ComponentRole::Extension;
        match names.iter().find(|(name, _)| *name == component.name) {
            Some((_, other)) if *other != extension => return Vec::new(),
            Some(_) => {}
            None => names.push((&component.name, extension)),
        }
    }
    names.into_iter().filter(|(name, extension)| !extension || counts(name)).map(|(name, _)| name).collect()
}

/// Returns the result of a verdict.
fn verdict_result(verdict: &StartupVerdict<'_>, bare: bool, knowledge: Knowledge) -> CandidateResult {
    let route = match verdict.fate {
        Some(StartupResult::Starts(route)) => route,
        Some(StartupResult::Fails(failure)) => return CandidateResult::Fails(failure.outcome()),
        Some(StartupResult::Undetermined) | None => return CandidateResult::Open,
    };
    let own = || verdict.hosts.iter().filter(|host| host.component.role != ComponentRole::Container);
    let of = |host: &HostResult<'_>| explanations::unused_gpu_reason(host.replay(knowledge));
    let met = |predicate: &dyn Fn(StartStep, StepResult) -> bool| {
        own().flat_map(|host| &host.steps).any(|record| predicate(record.step, record.result))
    };
    if own().any(|host| of(host).is_some()) || met(&|_, result| result == StepResult::FailsLater) {
        return CandidateResult::Idle;
    }
    let seen = [StartStep::Code, StartStep::Libraries, StartStep::OpenedLater];
    let uninspected = !bare && met(&|step, result| seen.contains(&step) && result == StepResult::NotSeen);
    // What PTX alone carries to a GPU leaves the libraries of its CUDA behind.
    let behind = route == StartRoute::Jit
        && own().any(|host| !explanations::unknown_gpu_code(host.replay(knowledge), route).is_empty());
    CandidateResult::Starts { route, uninspected: uninspected || behind }
}
