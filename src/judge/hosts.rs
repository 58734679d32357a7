//! Hosts of the pools: those to replay, and those to keep for the report of their results.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::fleet::{Host, Pool, PoolField};
use crate::judge::{AnalysisSettings, PlatformBuild};
use crate::knowledge::Knowledge;
use crate::model::fact::{Confidence, ImageFacts};
use crate::replay::{
    ImprovementGoals, ReplayCache, StartupResult, StartupVerdict, pool_verdicts, pool_verdicts_with_cache,
};

/// Maximum number of hosts of a fleet that are kept from one subject to the next; those of larger pools are
/// recreated.
const MAX_CACHED_HOSTS: usize = 2_000;

/// The hosts of every pool, shared by all subjects of a run; `None` for a pool with too many hosts to keep.
#[derive(Clone, Debug, Default)]
pub struct FleetHosts(Vec<Option<Vec<Host>>>);

impl FleetHosts {
    /// Creates the hosts of the fleet, pool by pool.
    pub fn for_fleet(settings: AnalysisSettings<'_>) -> Self {
        let mut room = MAX_CACHED_HOSTS;
        let of_pool = |pool: &Pool| {
            // What is full stays full: a narrow pool behind a wide one is quickly made.
            let hosts = (room > 0).then(|| pool.hosts(settings.knowledge, settings.as_of))?;
            room = room.saturating_sub(hosts.len());
            (room > 0).then_some(hosts)
        };
        Self(settings.fleet.pools.iter().map(of_pool).collect())
    }

    /// Returns the hosts of a pool by its index in the fleet; `None` if they are too many to keep.
    pub fn of_pool(&self, at: usize) -> Option<&[Host]> {
        self.0.get(at)?.as_deref()
    }

    /// Returns the platforms of some pools; `linux/amd64` if they have no host.
    pub(super) fn platforms(&self, pools: &[(usize, &Pool)], knowledge: Knowledge) -> Vec<String> {
        let mut platforms: Vec<String> = Vec::new();
        let mut add = |platform: &str| {
            if !platforms.iter().any(|known| known == platform) {
                platforms.push(platform.to_owned());
            }
        };
        for (at, pool) in pools {
            match self.of_pool(*at) {
                Some(hosts) => hosts.iter().for_each(|host| add(&host.platform)),
                None => pool.platforms(knowledge).iter().for_each(|platform| add(platform)),
            }
        }
        if platforms.is_empty() {
            platforms.push("linux/amd64".to_owned());
        }
        platforms
    }

    /// Whether these builds certainly miss the goal for a pool; `false` if its hosts are not kept.
    pub(super) fn is_unreachable(
        &self,
        (at, pool): (usize, &Pool),
        builds: &[PlatformBuild],
        knowledge: Knowledge,
        doubts: &mut ImprovementGoals,
        shared: &mut ReplayCache,
    ) -> bool {
        let Some(hosts) = self.of_pool(at) else { return false };
        doubts.is_unreachable(&pool.name.value, &host_build_pairs(hosts, builds), shared, knowledge)
    }

    /// Returns the hosts of a pool for these builds.
    pub(super) fn pool_hosts(
        &self,
        at: usize,
        pool: &Pool,
        builds: &[PlatformBuild],
        settings: AnalysisSettings<'_>,
        day: Option<Date>,
    ) -> PoolHosts<'_> {
        if let Some(hosts) = self.of_pool(at) {
            return PoolHosts { hosts: Cow::Borrowed(hosts), settled: Vec::new() };
        }
        let hosts = pool.hosts(settings.knowledge, day);
        let list = pool_verdicts(&host_build_pairs(&hosts, builds), settings.knowledge);
        let settled = list.iter().map(PoolVerdictSummary::from_verdict).collect();
        let tells = |host: &Host| {
            let same = |other: &Host| host.is_or_has_variant(other);
            list.iter().any(|verdict| verdict.hosts.iter().any(|result| same(result.host)))
        };
        let telling: Vec<bool> = hosts.iter().map(tells).collect();
        drop(list);
        let mut telling = telling.into_iter();
        // Where nothing was judged one host stands for all.
        let none = !telling.clone().any(|tells| tells);
        let kept = hosts.into_iter().enumerate().filter(|(at, _)| telling.next() == Some(true) || (none && *at == 0));
        let mut kept: Vec<Host> = kept.map(|(_, host)| host).collect();
        // The list is made in the place of the whole one.
        kept.shrink_to_fit();
        PoolHosts { hosts: Cow::Owned(kept), settled }
    }
}

/// The verdict over all hosts of a pool of which only some were kept.
struct PoolVerdictSummary {
    component: Option<String>,
    fate: Option<StartupResult>,
    confidence: Confidence,
    open_fields: Vec<PoolField>,
    open_build: bool,
}

impl PoolVerdictSummary {
    /// Copies the summary of a verdict.
    fn from_verdict(verdict: &StartupVerdict<'_>) -> Self {
        Self {
            component: verdict.component.map(str::to_owned),
            fate: verdict.fate,
            confidence: verdict.confidence,
            open_fields: verdict.open_fields.clone(),
            open_build: verdict.open_build,
        }
    }
}

/// The hosts of one pool.
pub(super) struct PoolHosts<'a> {
    hosts: Cow<'a, [Host]>,
    settled: Vec<PoolVerdictSummary>,
}

/// The result of judging a subject on one pool.
pub(super) enum PoolJudgement<'a> {
    /// The knowledge tables have no host that matches the pool.
    NoHost,
    /// For the platform of the pool, these builds have no GPU content or are for another processor.
    NoContent(&'a [PlatformBuild]),
    /// The verdicts, the image's first.
    Judged(Vec<StartupVerdict<'a>>),
}

impl<'a> PoolHosts<'a> {
    /// Returns the verdicts of the builds on the pool.
    pub(super) fn verdicts(
        &'a self,
        builds: &'a [PlatformBuild],
        knowledge: Knowledge,
        shared: &mut ReplayCache,
    ) -> PoolJudgement<'a> {
        if self.hosts.is_empty() {
            return PoolJudgement::NoHost;
        }
        let pairs = host_build_pairs(&self.hosts, builds);
        if pairs.is_empty() {
            return PoolJudgement::NoContent(builds);
        }
        let mut list = pool_verdicts_with_cache(&pairs, shared, knowledge);
        for verdict in &mut list {
            let of_all = self.settled.iter().find(|settled| settled.component.as_deref() == verdict.component);
            if let Some(settled) = of_all {
                (verdict.fate, verdict.confidence) = (settled.fate, settled.confidence);
                (verdict.open_fields, verdict.open_build) = (settled.open_fields.clone(), settled.open_build);
            }
        }
        PoolJudgement::Judged(list)
    }
}

/// Returns every host with every build for its platform that has GPU content and is for no other processor.
fn host_build_pairs<'a>(hosts: &'a [Host], builds: &'a [PlatformBuild]) -> Vec<(&'a ImageFacts, &'a Host)> {
    let mut pairs = Vec::new();
    for host in hosts {
        let own = builds.iter().filter(|build| build.platform == host.platform);
        let for_gpus = own.filter(|build| build.image.gpu_content && build.other_processor.is_none());
        pairs.extend(for_gpus.map(|build| (build.image.as_ref(), host)));
    }
    pairs
}
