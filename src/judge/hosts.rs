//! The hosts of the pools: which are tried, and which are kept to tell what becomes of them.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::fact::Confidence;
use crate::fact::ImageFacts;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::judge::Build;
use crate::judge::Settings;
use crate::knowledge::Knowledge;
use crate::start::Doubts;
use crate::start::Fate;
use crate::start::Shared;
use crate::start::Verdict;
use crate::start::verdicts;
use crate::start::verdicts_of;

/// So many hosts of a fleet are kept from one subject to the next; of wider pools they are made anew, and those
/// that tell nothing of their own are dropped at once.
const KEPT: usize = 2_000;

/// The hosts of every pool: the same for all subjects of a run. None of a pool whose hosts are too many to keep.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Vec<Option<Vec<Host>>>);

impl Hosts {
    /// Those of the fleet, pool by pool.
    pub fn of(settings: Settings<'_>) -> Self {
        let mut room = KEPT;
        let of_pool = |pool: &Pool| {
            // What is full stays full: a narrow pool behind a wide one is quickly made.
            let hosts = (room > 0).then(|| pool.hosts(settings.knowledge, settings.as_of))?;
            room = room.saturating_sub(hosts.len());
            (room > 0).then_some(hosts)
        };
        Self(settings.fleet.pools.iter().map(of_pool).collect())
    }

    /// Those of a pool by its place in the fleet; none where they are too many to keep.
    pub fn of_pool(&self, at: usize) -> Option<&[Host]> {
        self.0.get(at)?.as_deref()
    }

    /// The platforms of some pools; the usual one where there is no host.
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

    /// Whether nothing of what is sought on a pool can come of these builds, as far as its hosts are kept.
    pub(super) fn is_hopeless(
        &self,
        (at, pool): (usize, &Pool),
        builds: &[Build],
        knowledge: Knowledge,
        doubts: &mut Doubts,
        shared: &mut Shared,
    ) -> bool {
        let Some(hosts) = self.of_pool(at) else { return false };
        doubts.is_hopeless(&pool.name.value, &pairs(hosts, builds), shared, knowledge)
    }

    /// The hosts of a pool for these builds.
    pub(super) fn tried(
        &self,
        at: usize,
        pool: &Pool,
        builds: &[Build],
        settings: Settings<'_>,
        day: Option<Date>,
    ) -> Tried<'_> {
        if let Some(hosts) = self.of_pool(at) {
            return Tried { hosts: Cow::Borrowed(hosts), settled: Vec::new() };
        }
        let hosts = pool.hosts(settings.knowledge, day);
        let list = verdicts(&pairs(&hosts, builds), settings.knowledge);
        let settled = list.iter().map(Settled::of).collect();
        let tells = |host: &Host| {
            let same = |told: &Host| host.stands_for(told);
            list.iter().any(|verdict| verdict.hosts.iter().any(|told| same(told.host)))
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
        Tried { hosts: Cow::Owned(kept), settled }
    }
}

/// What all hosts of a pool have in common, where only some of them were kept.
struct Settled {
    component: Option<String>,
    fate: Option<Fate>,
    confidence: Confidence,
    open_fields: Vec<PoolField>,
    open_build: bool,
}

impl Settled {
    fn of(verdict: &Verdict<'_>) -> Self {
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
pub(super) struct Tried<'a> {
    hosts: Cow<'a, [Host]>,
    settled: Vec<Settled>,
}

/// What there is to say of one pool.
pub(super) enum Outlook<'a> {
    /// Nothing that the tables know is what the pool declares.
    NoHost,
    /// For its platform nothing of the subject concerns a GPU, or all is for another processor: these builds.
    NoContent(&'a [Build]),
    /// The verdicts, the image's first.
    Judged(Vec<Verdict<'a>>),
}

impl<'a> Tried<'a> {
    /// The verdicts of the pool.
    pub(super) fn verdicts(&'a self, builds: &'a [Build], knowledge: Knowledge, shared: &mut Shared) -> Outlook<'a> {
        if self.hosts.is_empty() {
            return Outlook::NoHost;
        }
        let pairs = pairs(&self.hosts, builds);
        if pairs.is_empty() {
            return Outlook::NoContent(builds);
        }
        let mut list = verdicts_of(&pairs, shared, knowledge);
        for verdict in &mut list {
            let of_all = self.settled.iter().find(|settled| settled.component.as_deref() == verdict.component);
            if let Some(settled) = of_all {
                (verdict.fate, verdict.confidence) = (settled.fate, settled.confidence);
                (verdict.open_fields, verdict.open_build) = (settled.open_fields.clone(), settled.open_build);
            }
        }
        Outlook::Judged(list)
    }
}

/// Every host with every build for its platform that has GPU content and is for no other processor.
fn pairs<'a>(hosts: &'a [Host], builds: &'a [Build]) -> Vec<(&'a ImageFacts, &'a Host)> {
    let mut pairs = Vec::new();
    for host in hosts {
        let own = builds.iter().filter(|build| build.platform == host.platform);
        let for_gpus = own.filter(|build| build.image.gpu_content && build.other.is_none());
        pairs.extend(for_gpus.map(|build| (build.image.as_ref(), host)));
    }
    pairs
}
