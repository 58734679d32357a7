//! Past: what is known from earlier judgements on the same hosts, for those who judge again and again.

use crate::fleet::Pool;
use crate::judge::Build;
use crate::judge::hosts::Hosts;
use crate::knowledge::Knowledge;
use crate::start::Doubts;
use crate::start::Shared;

/// What is known from earlier judgements on the same hosts.
pub(super) enum Past<'p> {
    /// Nothing.
    None,
    /// What the hosts have in common.
    Kept(&'p mut Doubts),
    /// The same, and what is sought: nothing is judged where it is certain that it is not there.
    Asked(&'p mut Doubts),
}

impl Past<'_> {
    fn doubts(&mut self) -> Option<&mut Doubts> {
        match self {
            Self::None => None,
            Self::Kept(doubts) | Self::Asked(doubts) => Some(doubts),
        }
    }

    /// What the hosts of these pools have in common, as far as that is known; nothing of others.
    pub(super) fn take(&mut self, pools: &[(usize, &Pool)], same_hosts: bool) -> Vec<Shared> {
        let mut of = |pool: &Pool| {
            let doubts = self.doubts().filter(|_| same_hosts);
            doubts.map(|doubts| doubts.take(&pool.name.value)).unwrap_or_default()
        };
        pools.iter().map(|(_, pool)| of(pool)).collect()
    }

    /// Keeps it for the next judgement.
    pub(super) fn keep(&mut self, pools: &[(usize, &Pool)], shared: Vec<Shared>, same_hosts: bool) {
        let Some(doubts) = self.doubts().filter(|_| same_hosts) else { return };
        for ((_, pool), shared) in pools.iter().zip(shared) {
            doubts.keep(&pool.name.value, shared);
        }
    }

    /// Whether it is certain that nothing of what is sought is there on any pool.
    pub(super) fn is_hopeless(
        &mut self,
        hosts: &Hosts,
        pools: &[(usize, &Pool)],
        builds: &[Build],
        knowledge: Knowledge,
        shared: &mut [Shared],
    ) -> bool {
        let Self::Asked(doubts) = self else { return false };
        let mut all = pools.iter().zip(shared);
        all.all(|((at, pool), shared)| hosts.is_hopeless((*at, pool), builds, knowledge, doubts, shared))
    }
}
