//! Fate: what becomes of one host, and what that means for a pool whose nodes may be any of several.

use std::collections::BTreeSet;

use crate::fact::Component;
use crate::fact::Confidence;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::Role;
use crate::fleet::Host;
use crate::fleet::PoolField;
use crate::knowledge::Knowledge;
use crate::start::Basis;
use crate::start::Replay;
use crate::start::Route;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Steps;
use crate::start::Wall;
use crate::start::replay;

/// What becomes of one component on one host, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It starts, by this route.
    Starts(Route),
    /// Cannot be told.
    Undetermined,
    /// It fails at this wall, whatever else is not known.
    Fails(Wall),
}

impl Fate {
    pub(super) fn unsettled() -> Unsettled {
        Unsettled { wall: None, unknown: false, route: Route::Native }
    }

    /// What two fates must share to be one: the same walls by outcome, the same starts whatever the route.
    fn same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Starts(_), Self::Starts(_)) | (Self::Undetermined, Self::Undetermined) => true,
            (Self::Fails(one), Self::Fails(other)) => {
                (one.outcome(), one.reason()) == (other.outcome(), other.reason())
            }
            _ => false,
        }
    }
}

/// A fate in the making: the first certain stop wins, also over unknowns before it.
pub(super) struct Unsettled {
    wall: Option<Wall>,
    unknown: bool,
    route: Route,
}

impl Unsettled {
    pub(super) fn meet(&mut self, step: &StepRecord) {
        match step.result {
            StepResult::Stops(wall) => self.wall = self.wall.or(Some(wall)),
            StepResult::Unknown => self.unknown = true,
            StepResult::Passes(route) => self.route = self.route.max(route),
            StepResult::NotSeen | StepResult::FailsLater | StepResult::NotApplicable => {}
        }
    }

    /// Whether no later step can change it.
    pub(super) fn is_decided(&self) -> bool {
        self.wall.is_some()
    }

    pub(super) fn settle(self) -> Fate {
        match self.wall {
            Some(wall) => Fate::Fails(wall),
            None if self.unknown => Fate::Undetermined,
            None => Fate::Starts(self.route),
        }
    }
}

/// One host, one build of the image, one component: the fate with its steps.
#[derive(Clone, Debug)]
pub struct HostFate<'a> {
    /// The host.
    pub host: &'a Host,
    /// The image.
    pub image: &'a ImageFacts,
    /// The component.
    pub component: &'a Component,
    /// What becomes of it.
    pub fate: Fate,
    /// The steps.
    pub steps: Vec<StepRecord>,
}

/// The fate of an image, or of one component, over all hosts of a pool.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// Component; none = the image.
    pub component: Option<&'a str>,
    /// The common fate; none where hosts differ.
    pub fate: Option<Fate>,
    /// Every host that was tried.
    pub hosts: Vec<HostFate<'a>>,
    /// Trust in the weakest image fact that decided.
    pub confidence: Confidence,
    /// Pool fields that would settle it.
    pub open_fields: Vec<PoolField>,
    /// Whether it depends on which build of the tag is pulled.
    pub open_build: bool,
}

/// The verdicts of one pool: the image's first, then its components'. Empty where there is nothing to judge.
///
/// Each pair is a build of the image, inferred for the host's platform, and a host of the pool.
pub fn verdicts<'a>(pairs: &[(&'a ImageFacts, &'a Host)], knowledge: Knowledge) -> Vec<Verdict<'a>> {
    let mut names: Vec<(Role, &str)> = Vec::new();
    for component in pairs.iter().flat_map(|(image, _)| &image.components) {
        if !names.iter().any(|(_, name)| *name == component.name) {
            names.push((component.role, &component.name));
        }
    }
    let components: Vec<(Role, Verdict<'a>)> =
        names.into_iter().map(|(role, name)| (role, of_component(pairs, name, knowledge))).collect();
    let worst = components
        .iter()
        .filter(|(role, _)| *role == Role::Core)
        .max_by_key(|(_, verdict)| verdict.badness())
        .map(|(_, verdict)| Verdict { component: None, ..verdict.clone() });
    worst.into_iter().chain(components.into_iter().map(|(_, verdict)| verdict)).collect()
}

fn of_component<'a>(pairs: &[(&'a ImageFacts, &'a Host)], name: &'a str, knowledge: Knowledge) -> Verdict<'a> {
    let mut fates = Vec::new();
    for (image, host) in pairs.iter().copied() {
        for component in image.components.iter().filter(|component| component.name == name) {
            let mut steps = Steps::default();
            let fate = replay(Replay { image, component, host, knowledge }, &mut steps);
            fates.push(HostFate { host, image, component, fate, steps: steps.0 });
        }
    }
    let common = fates.first().map(|first| first.fate).filter(|first| fates.iter().all(|one| one.fate.same(*first)));
    let common = common.map(|fate| plainest(fate, &fates)).or_else(|| commonest_wall(&fates));
    let confidence = fates.iter().map(HostFate::confidence).min().unwrap_or(Confidence::Measured);
    let (open_fields, open_build) = if common.is_none() { settlers(&fates) } else { (Vec::new(), false) };
    Verdict { component: Some(name), fate: common, hosts: fates, confidence, open_fields, open_build }
}

/// Of hosts that all fail, though not all at the same wall, the pool's is the one that most of them meet.
fn commonest_wall(fates: &[HostFate<'_>]) -> Option<Fate> {
    let count = |fate: Fate| fates.iter().filter(|one| one.fate.same(fate)).count();
    let all_fail = fates.iter().all(|one| matches!(one.fate, Fate::Fails(_)));
    // The first of equals, so that the order of the hosts decides and nothing else.
    let commonest = fates.iter().map(|one| one.fate).rev().max_by_key(|fate| count(*fate));
    commonest.filter(|_| all_fail)
}

/// Of hosts that all start, the most remarkable route is the pool's.
fn plainest(fate: Fate, fates: &[HostFate<'_>]) -> Fate {
    match fate {
        Fate::Starts(_) => {
            let routes = fates.iter().filter_map(|one| match one.fate {
                Fate::Starts(route) => Some(route),
                _ => None,
            });
            Fate::Starts(routes.max().unwrap_or(Route::Native))
        }
        other => other,
    }
}

impl Verdict<'_> {
    /// Better first: starts, cannot tell, depends, fails.
    fn badness(&self) -> u8 {
        match self.fate {
            Some(Fate::Starts(_)) => 0,
            Some(Fate::Undetermined) => 1,
            None => 2,
            Some(Fate::Fails(_)) => 3,
        }
    }
}

impl<'a> Verdict<'a> {
    /// A host that meets the verdict's own fate.
    pub fn typical(&self) -> Option<&HostFate<'a>> {
        let typical = |host: &&HostFate<'_>| self.fate.is_some_and(|fate| host.fate.same(fate));
        self.hosts.iter().find(typical).or(self.hosts.first())
    }
}

impl HostFate<'_> {
    /// The step that decided: the first certain stop.
    pub fn deciding(&self) -> Option<&StepRecord> {
        self.steps.iter().find(|step| matches!(step.result, StepResult::Stops(_)))
    }

    /// Trust in the weakest image fact among the deciding ones.
    pub fn confidence(&self) -> Confidence {
        let of = |step: &StepRecord| {
            step.facts
                .iter()
                .filter_map(|basis| match basis {
                    Basis::Image(id) => Some(id),
                    Basis::Pool(_) | Basis::Row(_) => None,
                })
                // What is certainly absent, or was never known, did not carry the verdict.
                .filter(|id| self.image.facts.get(*id).key != FactKey::Platforms)
                .map(|id| self.image.facts.confidence(id))
                .min()
        };
        let weakest = match self.deciding() {
            Some(step) => of(step),
            None => self.steps.iter().filter(|step| matches!(step.result, StepResult::Passes(_))).filter_map(of).min(),
        };
        weakest.unwrap_or(Confidence::Declared)
    }
}

/// The open pool fields on which the fates turn: one that settles them alone, else all that vary.
fn settlers(fates: &[HostFate<'_>]) -> (Vec<PoolField>, bool) {
    let open: BTreeSet<PoolField> = fates.iter().flat_map(|one| one.host.assumed.iter().copied()).collect();
    let build = |one: &HostFate<'_>| one.image.build.clone().unwrap_or_default();
    if settled_by(fates, build) && fates.iter().any(|one| one.image.build.is_some()) {
        return (Vec::new(), true);
    }
    for field in &open {
        if settled_by(fates, |one| field_value(*field, one.host)) {
            return (vec![*field], false);
        }
    }
    let several_builds = fates.iter().any(|one| one.image.build.is_some());
    (open.into_iter().collect(), several_builds)
}

/// Whether hosts that agree in a value always share their fate.
fn settled_by(fates: &[HostFate<'_>], value: impl Fn(&HostFate<'_>) -> String) -> bool {
    fates.iter().all(|one| fates.iter().all(|other| value(one) != value(other) || one.fate.same(other.fate)))
}

/// The value of a pool field on one host, for comparison and for reports.
pub(crate) fn field_value(field: PoolField, host: &Host) -> String {
    match field {
        PoolField::Gpu => host.gpu.as_ref().map(|gpu| gpu.name.clone()).unwrap_or_default(),
        PoolField::Driver => host.driver.map(|driver| driver.to_string()).unwrap_or_default(),
        PoolField::Platform => host.platform.clone(),
        PoolField::Launch => host.launch.as_str().to_owned(),
        PoolField::Toolkit => host.toolkit_version.map(|version| version.to_string()).unwrap_or_default(),
        PoolField::Mode => host.mode.as_str().to_owned(),
        PoolField::Env | PoolField::Wsl | PoolField::Host => String::new(),
    }
}
