//! Replay results from earlier judgements on the same hosts, for judging again and again.

use crate::fleet::Pool;
use crate::judge::PlatformBuild;
use crate::judge::hosts::FleetHosts;
use crate::knowledge::Knowledge;
use crate::replay::{ImprovementGoals, ReplayCache};

/// Replay results from earlier judgements on the same hosts.
pub(super) enum ReplayHistory<'p> {
    /// No results.
    None,
    /// Cached results.
    Cached(&'p mut ImprovementGoals),
    /// Cached results and goals: nothing is judged if it certainly misses the goals.
    WithGoals(&'p mut ImprovementGoals),
}

impl ReplayHistory<'_> {
    /// Returns the goals that hold the cached results.
    fn goals(&mut self) -> Option<&mut ImprovementGoals> {
        match self {
            Self::None => None,
            Self::Cached(doubts) | Self::WithGoals(doubts) => Some(doubts),
        }
    }

    /// Takes the cached results for the hosts of these pools; empty ones if there are none.
    pub(super) fn take_caches(&mut self, pools: &[(usize, &Pool)], same_hosts: bool) -> Vec<ReplayCache> {
        let mut of = |pool: &Pool| {
            let doubts = self.goals().filter(|_| same_hosts);
            doubts.map(|doubts| doubts.take_cache(&pool.name.value)).unwrap_or_default()
        };
        pools.iter().map(|(_, pool)| of(pool)).collect()
    }

    /// Stores the cached results for the next judgement.
    pub(super) fn store_caches(&mut self, pools: &[(usize, &Pool)], shared: Vec<ReplayCache>, same_hosts: bool) {
        let Some(doubts) = self.goals().filter(|_| same_hosts) else { return };
        for ((_, pool), shared) in pools.iter().zip(shared) {
            doubts.store_cache(&pool.name.value, shared);
        }
    }

    /// Whether the builds certainly miss the goals on every pool.
    pub(super) fn is_unreachable(
        &mut self,
        hosts: &FleetHosts,
        pools: &[(usize, &Pool)],
        builds: &[PlatformBuild],
        knowledge: Knowledge,
        shared: &mut [ReplayCache],
    ) -> bool {
        let Self::WithGoals(doubts) = self else { return false };
        let mut all = pools.iter().zip(shared);
        all.all(|((at, pool), shared)| hosts.is_unreachable((*at, pool), builds, knowledge, doubts, shared))
    }
}
