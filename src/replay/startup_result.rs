//! The result of a start on one host, and the verdict on a pool with several possible hosts.

use crate::fleet::{Host, PoolField};
use crate::knowledge::Knowledge;
use crate::model::fact::{Component, Confidence, FactId, FactKey, ImageFacts};
use crate::replay::{Basis, Replay, ReplayFailure, StartRoute, StartStep, StepRecord, StepResult};

/// The result of starting one component on one host, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartupResult {
    /// It starts, by this route.
    Starts(StartRoute),
    /// Unknown.
    Undetermined,
    /// It fails for this reason, whatever else is unknown.
    Fails(ReplayFailure),
}

impl StartupResult {
    /// Creates a builder without any step.
    pub(super) fn builder() -> StartupResultBuilder {
        StartupResultBuilder { failure: None, unknown: false, route: StartRoute::Native }
    }

    /// Whether two results count as equal: failures with the same outcome, or starts by any route.
    pub(super) fn is_same_kind(self, other: Self) -> bool {
        match (self, other) {
            (Self::Starts(_), Self::Starts(_)) | (Self::Undetermined, Self::Undetermined) => true,
            (Self::Fails(one), Self::Fails(other)) => one.is_same_failure(other),
            _ => false,
        }
    }
}

/// Builds a result step by step; the first certain stop wins, also over unknown steps before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartupResultBuilder {
    failure: Option<ReplayFailure>,
    unknown: bool,
    route: StartRoute,
}

impl StartupResultBuilder {
    /// Adds the result of a step.
    pub(super) fn add_step(&mut self, step: &StepRecord) {
        match step.result {
            StepResult::Stops(failure) => self.failure = self.failure.or(Some(failure)),
            StepResult::Unknown => self.unknown = true,
            StepResult::Passes(route) => self.route = self.route.max(route),
            StepResult::NotSeen | StepResult::FailsLater | StepResult::NotApplicable => {}
        }
    }

    /// Combines these steps with the ones that follow.
    pub(super) fn followed_by(self, later: Self) -> Self {
        Self {
            failure: self.failure.or(later.failure),
            unknown: self.unknown || later.unknown,
            route: self.route.max(later.route),
        }
    }

    /// Whether no later step can change the result.
    pub(super) fn is_decided(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the result of all steps.
    pub(super) fn build(self) -> StartupResult {
        match self.failure {
            Some(failure) => StartupResult::Fails(failure),
            None if self.unknown => StartupResult::Undetermined,
            None => StartupResult::Starts(self.route),
        }
    }
}

/// The result of one component of an image build on one host, with its steps.
#[derive(Clone, Debug)]
pub struct HostResult<'a> {
    /// The host.
    pub host: &'a Host,
    /// The image.
    pub image: &'a ImageFacts,
    /// The component.
    pub component: &'a Component,
    /// The result.
    pub fate: StartupResult,
    /// The steps.
    pub steps: Vec<StepRecord>,
}

/// The result of an image, or of one component, over all hosts of a pool.
#[derive(Clone, Debug)]
pub struct StartupVerdict<'a> {
    /// The component; `None` for the image.
    pub component: Option<&'a str>,
    /// The common result; `None` where hosts differ.
    pub fate: Option<StartupResult>,
    /// The hosts behind it: all of few; of many, the first with each distinct result.
    pub hosts: Vec<HostResult<'a>>,
    /// Confidence of the weakest image fact that decided.
    pub confidence: Confidence,
    /// Open pool fields that would decide it.
    pub open_fields: Vec<PoolField>,
    /// Whether it depends on which build of the tag is pulled.
    pub open_build: bool,
}

impl StartupVerdict<'_> {
    /// Returns the severity, lowest first: starts, unknown, depends on the host, fails.
    pub(super) fn severity(&self) -> u8 {
        match self.fate {
            Some(StartupResult::Starts(_)) => 0,
            Some(StartupResult::Undetermined) => 1,
            None => 2,
            Some(StartupResult::Fails(_)) => 3,
        }
    }

    /// Returns the route by which it starts on every host.
    pub(super) fn route(&self) -> Option<StartRoute> {
        match self.fate {
            Some(StartupResult::Starts(route)) => Some(route),
            Some(StartupResult::Undetermined | StartupResult::Fails(_)) | None => None,
        }
    }
}

impl<'a> StartupVerdict<'a> {
    /// Returns the error code with which every host and build fails, if it is the same; else every possible code.
    pub fn error_codes(&self) -> (Option<u16>, Vec<u16>) {
        let Some(StartupResult::Fails(failure)) = self.fate else { return (None, Vec::new()) };
        let ends = || self.hosts.iter().map(|host| host.fate);
        let with = |code: u16| move |fate: StartupResult| matches!(fate, StartupResult::Fails(own) if own.codes().certain == Some(code));
        let certain = failure.codes().certain.filter(|code| ends().all(with(*code)));
        let certain = certain.filter(|_| !self.hosts.iter().any(HostResult::may_be_refused));
        if certain.is_some() {
            return (certain, Vec::new());
        }
        let failures = ends().filter_map(|fate| match fate {
            StartupResult::Fails(failure) => Some(failure),
            StartupResult::Starts(_) | StartupResult::Undetermined => None,
        });
        // Those of the verdict's own failure first.
        let mut possible: Vec<u16> = Vec::new();
        let all = std::iter::once(failure).chain(failures).map(ReplayFailure::codes);
        for code in all.flat_map(|codes| codes.certain.into_iter().chain(codes.possible.iter().copied())) {
            if !possible.contains(&code) {
                possible.push(code);
            }
        }
        (None, possible)
    }

    /// Returns a host with the same result as the verdict, else the first.
    pub fn typical_host(&self) -> Option<&HostResult<'a>> {
        let typical = |host: &&HostResult<'_>| self.fate.is_some_and(|fate| host.fate.is_same_kind(fate));
        self.hosts.iter().find(typical).or(self.hosts.first())
    }
}

impl<'a> HostResult<'a> {
    /// Returns the replay with this result, to run it again.
    pub fn replay(&self, knowledge: Knowledge) -> Replay<'a> {
        Replay::new(self.image, self.component, self.host, knowledge)
    }

    /// Returns the step that decided: the first certain stop.
    pub fn deciding_step(&self) -> Option<&StepRecord> {
        self.steps.iter().find(|step| matches!(step.result, StepResult::Stops(_)))
    }

    /// Whether the container may be refused before the deciding step, by an unknown requirement on the declared
    /// driver. Unseen facts and undeclared fields are assumed to refuse nothing.
    fn may_be_refused(&self) -> bool {
        let declared = self.host.driver.is_some() && !self.host.assumed.contains(&PoolField::Driver);
        let by_driver =
            |step: &StepRecord| step.facts.iter().any(|basis| matches!(basis, Basis::Pool(PoolField::Driver)));
        let mut before = self.steps.iter().take_while(|step| !matches!(step.result, StepResult::Stops(_)));
        let open = |step: &StepRecord| step.step == StartStep::Requirement && step.result == StepResult::Unknown;
        declared && matches!(self.fate, StartupResult::Fails(_)) && before.any(|step| open(step) && by_driver(step))
    }

    /// Whether a fact that a step used is unknown.
    fn has_unknown_fact(&self, step: &StepRecord) -> bool {
        step.facts.iter().any(|basis| matches!(basis, Basis::Image(id) if self.image.unknown_cause(id).is_some()))
    }

    /// Returns the confidence of the weakest image fact that decided the result.
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
        let weakest = match self.deciding_step() {
            // Stopped although not everything was seen: that the rest says nothing against it is taken for granted.
            Some(step) if self.has_unknown_fact(step) => Some(Confidence::Assumed),
            Some(step) => of(step),
            None => {
                self.steps.iter().filter(|step| matches!(step.result, StepResult::Passes(_))).filter_map(passed).min()
            }
        };
        weakest.unwrap_or(Confidence::Declared)
    }
}

/// Returns the value of a pool field on one host, for comparison and reports.
pub(crate) fn pool_field_value(field: PoolField, host: &Host) -> String {
    match field {
        PoolField::Gpu => host.gpu.as_ref().map(|gpu| gpu.name.clone()).unwrap_or_default(),
        PoolField::Brand => host.gpu.as_ref().and_then(|gpu| gpu.brand.clone()).unwrap_or_default(),
        PoolField::LibraryDirectory => host.library_directory.clone().unwrap_or_default(),
        PoolField::Driver => host.driver.map(|driver| driver.to_string()).unwrap_or_default(),
        PoolField::Platform => host.platform.clone(),
        PoolField::Launch => host.launch.as_str().to_owned(),
        PoolField::Toolkit => host.toolkit_version.map(|version| version.to_string()).unwrap_or_default(),
        // The meaning of `--gpus` depends on the engine and on CDI specifications.
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
