//! Fate: what becomes of one host, and the verdict on a pool whose nodes may be any of several.

use crate::fact::Component;
use crate::fact::Confidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fleet::Host;
use crate::fleet::PoolField;
use crate::knowledge::Knowledge;
use crate::start::Basis;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

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
    pub(super) fn same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Starts(_), Self::Starts(_)) | (Self::Undetermined, Self::Undetermined) => true,
            (Self::Fails(one), Self::Fails(other)) => one.same(other),
            _ => false,
        }
    }
}

/// A fate in the making: the first certain stop wins, also over unknowns before it.
#[derive(Clone, Copy, Debug)]
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

    /// That of steps behind which others come.
    pub(super) fn then(self, later: Self) -> Self {
        Self {
            wall: self.wall.or(later.wall),
            unknown: self.unknown || later.unknown,
            route: self.route.max(later.route),
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
    /// The hosts that tell it: all of few; of many, the first of each way that it may end.
    pub hosts: Vec<HostFate<'a>>,
    /// Trust in the weakest image fact that decided.
    pub confidence: Confidence,
    /// Pool fields that would settle it.
    pub open_fields: Vec<PoolField>,
    /// Whether it depends on which build of the tag is pulled.
    pub open_build: bool,
}

impl Verdict<'_> {
    /// Better first: starts, cannot tell, depends, fails.
    pub(super) fn badness(&self) -> u8 {
        match self.fate {
            Some(Fate::Starts(_)) => 0,
            Some(Fate::Undetermined) => 1,
            None => 2,
            Some(Fate::Fails(_)) => 3,
        }
    }

    /// The route by which it starts everywhere, the most remarkable last.
    pub(super) fn route(&self) -> Option<Route> {
        match self.fate {
            Some(Fate::Starts(route)) => Some(route),
            Some(Fate::Undetermined | Fate::Fails(_)) | None => None,
        }
    }
}

impl<'a> Verdict<'a> {
    /// The code that every host and every build ends with, where they all fail with it; else every code that may come.
    pub fn codes(&self) -> (Option<u16>, Vec<u16>) {
        let Some(Fate::Fails(wall)) = self.fate else { return (None, Vec::new()) };
        let ends = || self.hosts.iter().map(|host| host.fate);
        let with = |code: u16| move |fate: Fate| matches!(fate, Fate::Fails(own) if own.codes().certain == Some(code));
        let certain = wall.codes().certain.filter(|code| ends().all(with(*code)));
        let certain = certain.filter(|_| !self.hosts.iter().any(HostFate::may_be_refused));
        if certain.is_some() {
            return (certain, Vec::new());
        }
        let walls = ends().filter_map(|fate| match fate {
            Fate::Fails(wall) => Some(wall),
            Fate::Starts(_) | Fate::Undetermined => None,
        });
        // Those of the verdict's own wall first.
        let mut possible: Vec<u16> = Vec::new();
        let all = std::iter::once(wall).chain(walls).map(Wall::codes);
        for code in all.flat_map(|codes| codes.certain.into_iter().chain(codes.possible.iter().copied())) {
            if !possible.contains(&code) {
                possible.push(code);
            }
        }
        (None, possible)
    }

    /// A host that meets the verdict's own fate.
    pub fn typical(&self) -> Option<&HostFate<'a>> {
        let typical = |host: &&HostFate<'_>| self.fate.is_some_and(|fate| host.fate.same(fate));
        self.hosts.iter().find(typical).or(self.hosts.first())
    }
}

impl<'a> HostFate<'a> {
    /// What was replayed, to ask it again.
    pub fn replay(&self, knowledge: Knowledge) -> Replay<'a> {
        Replay::of(self.image, self.component, self.host, knowledge)
    }

    /// The step that decided: the first certain stop.
    pub fn deciding(&self) -> Option<&StepRecord> {
        self.steps.iter().find(|step| matches!(step.result, StepResult::Stops(_)))
    }

    /// Whether the container may be refused before the step that decided: of the declared driver it is not known what
    /// meets its requirements. What was not seen, and what is not declared, is taken to refuse nothing.
    fn may_be_refused(&self) -> bool {
        let declared = self.host.driver.is_some() && !self.host.assumed.contains(&PoolField::Driver);
        let by_driver =
            |step: &StepRecord| step.facts.iter().any(|basis| matches!(basis, Basis::Pool(PoolField::Driver)));
        let mut before = self.steps.iter().take_while(|step| !matches!(step.result, StepResult::Stops(_)));
        let open = |step: &StepRecord| step.step == Step::Requirement && step.result == StepResult::Unknown;
        declared && matches!(self.fate, Fate::Fails(_)) && before.any(|step| open(step) && by_driver(step))
    }

    /// Whether a fact that a step looked at could not be told.
    fn unseen_in(&self, step: &StepRecord) -> bool {
        step.facts.iter().any(|basis| matches!(basis, Basis::Image(id) if self.image.why(id).is_some()))
    }

    /// Trust in the weakest image fact among the deciding ones.
    pub fn confidence(&self) -> Confidence {
        let images = |step: &StepRecord| -> Vec<FactId> {
            let image = |basis| match basis {
                Basis::Image(id) => Some(id),
                Basis::Pool(_) | Basis::Entry(_) | Basis::Row(_) => None,
            };
            step.facts.iter().filter_map(image).collect()
        };
        let weakest_of = |ids: Vec<FactId>| ids.into_iter().map(|id| self.image.facts.confidence(id)).min();
        let of = |step: &StepRecord| weakest_of(images(step));
        // That there is a build for the platform carries what starts no further: it is the build that is judged.
        let passed = |step: &StepRecord| {
            let carries = |id: &FactId| self.image.facts.get(*id).key != FactKey::Platforms;
            weakest_of(images(step).into_iter().filter(carries).collect())
        };
        let weakest = match self.deciding() {
            // Stopped although not everything was seen: that the rest says nothing against it is taken for granted.
            Some(step) if self.unseen_in(step) => Some(Confidence::Assumed),
            Some(step) => of(step),
            None => {
                self.steps.iter().filter(|step| matches!(step.result, StepResult::Passes(_))).filter_map(passed).min()
            }
        };
        weakest.unwrap_or(Confidence::Declared)
    }
}

/// The value of a pool field on one host, for comparison and for reports.
pub(crate) fn field_value(field: PoolField, host: &Host) -> String {
    match field {
        PoolField::Gpu => host.gpu.as_ref().map(|gpu| gpu.name.clone()).unwrap_or_default(),
        PoolField::Brand => host.gpu.as_ref().and_then(|gpu| gpu.brand.clone()).unwrap_or_default(),
        PoolField::LibraryDirectory => host.library_directory.clone().unwrap_or_default(),
        PoolField::Driver => host.driver.map(|driver| driver.to_string()).unwrap_or_default(),
        PoolField::Platform => host.platform.clone(),
        PoolField::Launch => host.launch.as_str().to_owned(),
        PoolField::Toolkit => host.toolkit_version.map(|version| version.to_string()).unwrap_or_default(),
        // What `--gpus` means hangs on the engine and on specifications.
        PoolField::Mode | PoolField::Engine | PoolField::CdiSpecs => host.mode.as_str().to_owned(),
        PoolField::Host => host.options.accept_mounts.to_string(),
        PoolField::Env
        | PoolField::ComputeCapability
        | PoolField::DriverCuda
        | PoolField::LibnvidiaContainer
        | PoolField::Wsl
        | PoolField::Runtime
        | PoolField::Strategy
        | PoolField::Privileged
        | PoolField::Modeset => String::new(),
    }
}
