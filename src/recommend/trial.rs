//! A trial: the text of a combination goes the whole road, and the replay says how it ends on each pool.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cluster::Start;
use crate::context::Files;
use crate::cuda::DriverVersion;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::OnDemand;
use crate::fact::ImageFacts;
use crate::fact::Role;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::judge::Content;
use crate::judge::Early;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::least::Drivers;
use crate::least::Images;
use crate::least::Least;
use crate::outcome::Outcome;
use crate::recommend::candidate::Candidate;
use crate::source::SourceId;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::Route;
use crate::start::Shared;
use crate::start::Step;
use crate::start::StepResult;
use crate::start::Verdict;
use crate::start::fails_everywhere;
use crate::start::is_open;
use crate::start::verdicts_of;
use crate::start::words;

/// How a combination ends on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It starts, by the worst route of the nodes that the pool may have; whether all that decides was seen.
    Starts {
        /// The route.
        route: Route,
        /// Whether GPU code or libraries of it were seen by nobody.
        unseen: bool,
    },
    /// It starts, and uses no GPU or may use none.
    Idle,
    /// It fails.
    Fails(Outcome),
    /// It depends, or cannot be told.
    Open,
}

impl End {
    /// Whether it starts and uses the GPU.
    pub(super) const fn starts(self) -> bool {
        matches!(self, Self::Starts { .. })
    }

    /// The worse of two.
    fn and(self, other: Self) -> Self {
        let badness = |end: Self| match end {
            Self::Starts { .. } => 0,
            Self::Idle => 1,
            Self::Open => 2,
            Self::Fails(_) => 3,
        };
        match (self, other) {
            (Self::Starts { route, unseen }, Self::Starts { route: other, unseen: too }) => {
                Self::Starts { route: route.max(other), unseen: unseen || too }
            }
            _ if badness(other) > badness(self) => other,
            _ => self,
        }
    }
}

/// Pools that are alike, with their hosts.
struct Kind<'a> {
    hosts: Vec<Host>,
    /// The same with every driver that they can have.
    drivers: Drivers<'a>,
}

/// What trials have told of the hosts of one kind, for the next ones.
#[derive(Default)]
struct Past {
    /// What the hosts have in common.
    shared: Shared,
    /// The places of those that told first that it is open.
    first: Vec<usize>,
}

/// Who tries one combination after the other.
pub(super) struct Bench<'p, 'a> {
    pub(super) place: &'p Place<'a>,
    /// One for each kind of pool.
    past: RefCell<Vec<Past>>,
}

/// Where combinations are tried.
pub(super) struct Place<'a> {
    kinds: Vec<Kind<'a>>,
    /// The kind of each pool.
    pools: Vec<usize>,
    /// The pools by their names.
    pub(super) declared: BTreeMap<String, &'a Pool>,
    pub(super) platforms: Vec<String>,
    pub(super) day: Option<Date>,
    pub(super) knowledge: Knowledge,
}

impl<'a> Place<'a> {
    pub(super) fn of(pools: &[&'a Pool], day: Option<Date>, knowledge: Knowledge) -> Self {
        let mut kinds: Vec<(String, Kind<'a>)> = Vec::new();
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
                kinds.push((key, Kind { hosts, drivers: Drivers::of(pool, day, knowledge) }));
                kinds.len() - 1
            });
            of_pools.push(at);
        }
        let kinds = kinds.into_iter().map(|(_, kind)| kind).collect();
        let declared = pools.iter().map(|pool| (pool.name.value.clone(), *pool)).collect();
        Self { kinds, pools: of_pools, declared, platforms, day, knowledge }
    }

    /// What is seen and inferred of a text.
    pub(super) fn images(&self, text: &str) -> Images {
        Images::of(&subject(text, SourceId(0), self.knowledge), &self.platforms, self.day, self.knowledge)
    }

    /// The smallest driver of each pool from which on it starts, all else as declared; none where no release is known.
    pub(super) fn smallest(&self, images: &Images) -> Vec<Option<DriverVersion>> {
        let of_kind = |kind: &Kind<'_>| match kind.drivers.least(&[images]) {
            Least::From(driver) => Some(driver),
            Least::Never | Least::Open => None,
        };
        let found: Vec<_> = self.kinds.iter().map(of_kind).collect();
        self.pools.iter().map(|at| found.get(*at).copied().flatten()).collect()
    }
}

impl<'p, 'a> Bench<'p, 'a> {
    /// Nothing tried yet.
    pub(super) fn at(place: &'p Place<'a>) -> Self {
        Self { place, past: RefCell::new(place.kinds.iter().map(|_| Past::default()).collect()) }
    }

    /// How it ends, pool by pool.
    pub(super) fn ends(&self, images: &Images, bare: bool) -> Vec<End> {
        let mut past = self.past.borrow_mut();
        let kinds = self.place.kinds.iter().zip(past.iter_mut());
        let ends: Vec<End> =
            kinds.map(|(kind, past)| end(images, &kind.hosts, past, bare, self.place.knowledge)).collect();
        self.place.pools.iter().map(|at| ends.get(*at).copied().unwrap_or(End::Open)).collect()
    }
}

/// A Dockerfile of this text alone.
pub(super) fn subject(text: &str, source: SourceId, knowledge: Knowledge) -> Subject {
    let dockerfile = OnDemand::new(text);
    let (options, early) = (EvaluateOptions::new(knowledge), Early::default());
    let (files, bases) = (Files::default(), Arc::default());
    Subject {
        name: "Dockerfile".to_owned(),
        path: String::new(),
        kind: "dockerfile",
        digest: None,
        images: Vec::new(),
        notes: Vec::new(),
        as_of: None,
        only: None,
        start: Start::default(),
        named_at: None,
        content: Content::Dockerfile { source, dockerfile, options, files, bases, early },
    }
}

/// Whether a build is for another CUDA major than its base holds.
pub(super) fn apart(images: &Images, place: &Place<'_>, candidate: &Candidate<'_>) -> bool {
    let of_bases = || place.platforms.iter().flat_map(|platform| images.builds(platform));
    let held = || of_bases().filter_map(|image| image.base_cuda.known());
    let builds = candidate.choices.iter().filter_map(|choice| choice.cuda);
    builds.into_iter().any(|cuda| held().any(|held| held.major() != cuda.major()))
}

/// So many hosts of a pool are asked whether it may be that all of them fail.
const ASKED: usize = 32;

/// How all of it ends on the hosts of a pool; `bare` where nothing is chosen but a base.
fn end(images: &Images, hosts: &[Host], past: &mut Past, bare: bool, knowledge: Knowledge) -> End {
    let of = |host: &Host| images.builds(&host.platform);
    let pairs: Vec<(&ImageFacts, &Host)> =
        hosts.iter().flat_map(|host| of(host).iter().map(move |image| (image.as_ref(), host))).collect();
    let mut shared = std::mem::take(&mut past.shared);
    // What fails on some from all over the pool mostly fails on all: whether it is open is seen soonest by its verdicts.
    let some: Vec<_> = pairs.iter().copied().step_by(pairs.len().div_ceil(ASKED).max(1)).collect();
    let likely = fails_everywhere(&some, &mut shared, knowledge);
    // A runtime that is there as well and that nothing is known to use decides nothing.
    let counts = |name: &str| knowledge.frameworks().iter().any(|row| row.component == name);
    if !likely && is_open(&pairs, &counting(images, counts), &mut shared, &mut past.first, knowledge) {
        past.shared = shared.for_others();
        return End::Open;
    }
    let list = verdicts_of(&pairs, &mut shared, knowledge);
    past.shared = shared.for_others();
    // What is put on top of another framework fails on its own, and the image starts all the same: here nothing may.
    let mut worst = End::Starts { route: Route::Native, unseen: false };
    let extension = |verdict: &Verdict<'_>| verdict.hosts.iter().any(|host| host.component.role == Role::Extension);
    for verdict in list.iter().filter(|one| !extension(one) || one.component.is_some_and(counts)) {
        worst = worst.and(of_verdict(verdict, bare, knowledge));
    }
    if list.is_empty() { End::Open } else { worst }
}

/// The names of the components that decide; none where one is an extension in one build and not in another.
fn counting(images: &Images, counts: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for component in images.all().flat_map(|image| &image.components) {
        let extension = component.role == Role::Extension;
        match names.iter().find(|(name, _)| *name == component.name) {
            Some((_, other)) if *other != extension => return Vec::new(),
            Some(_) => {}
            None => names.push((&component.name, extension)),
        }
    }
    names.into_iter().filter(|(name, extension)| !extension || counts(name)).map(|(name, _)| name).collect()
}

fn of_verdict(verdict: &Verdict<'_>, bare: bool, knowledge: Knowledge) -> End {
    let route = match verdict.fate {
        Some(Fate::Starts(route)) => route,
        Some(Fate::Fails(wall)) => return End::Fails(wall.outcome()),
        Some(Fate::Undetermined) | None => return End::Open,
    };
    let own = || verdict.hosts.iter().filter(|host| host.component.role != Role::Container);
    let of = |host: &HostFate<'_>| words::without_gpu(host.replay(knowledge));
    let met = |wanted: &dyn Fn(Step, StepResult) -> bool| {
        own().flat_map(|host| &host.steps).any(|record| wanted(record.step, record.result))
    };
    if own().any(|host| of(host).is_some()) || met(&|_, result| result == StepResult::FailsLater) {
        return End::Idle;
    }
    let seen = [Step::Code, Step::Libraries, Step::OpenedLater];
    let unseen = !bare && met(&|step, result| seen.contains(&step) && result == StepResult::NotSeen);
    // What PTX alone carries to a GPU leaves the libraries of its CUDA behind.
    let behind =
        route == Route::Jit && own().any(|host| !words::unseen_libraries(host.replay(knowledge), route).is_empty());
    End::Starts { route, unseen: unseen || behind }
}
