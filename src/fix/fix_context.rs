//! The context of a search for fixes: the subject, its observations, and the pools on which it fails.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::fix::changed_subject::subject_with_observations;
use crate::fix::trial_verdict::whole_subject_verdicts;
use crate::fleet::{Fleet, Pool};
use crate::infer::{infer_image_facts, newest_base_python, observations_with_dependencies, python_of_package};
use crate::judge;
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts, InferenceCache, ReportDetail};
use crate::knowledge::Knowledge;
use crate::model::fact::{
    Component, ComponentRole, FactId, FactKey, ImageFacts, Observations, Origin, PrintedValue, ValueState,
};
use crate::model::outcome::Outcome;
use crate::model::package::ObservedPackage;
use crate::replay::{ImprovementGoal, ImprovementGoals, StartStep};
use crate::report::kinds::{FactState, StepStatus, VerdictKind};
use crate::report::model;
use crate::text::source::{SourceId, Span};

/// Selects the pools for which fixes are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetPools {
    /// Pools on which the image certainly fails.
    Failing,
    /// Pools on which the image may fail: the verdict depends on the host or is undetermined.
    Open,
}

impl TargetPools {
    /// Whether a pool with this verdict is selected.
    pub(super) fn includes(self, fate: VerdictKind) -> bool {
        match self {
            Self::Failing => fate == VerdictKind::Fails,
            Self::Open => fate.is_unknown(),
        }
    }
}

/// The severity of a step result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum StepSeverity {
    #[default]
    Passes,
    Unknown,
    Stops,
}

/// The highest severity of each step, over all hosts that a pool may have.
type StepSeverities = BTreeMap<StartStep, StepSeverity>;

/// A subject that fails or may fail on some pools, with everything that a search for fixes needs.
pub(super) struct FixContext<'a> {
    pub(super) target_pools: TargetPools,
    pub(super) subject: &'a AnalysisSubject,
    pub(super) settings: AnalysisSettings<'a>,
    pub(super) before: &'a model::Subject,
    /// What was seen for the platform of the first pool that changes are sought for.
    pub(super) seen: Observations,
    pub(super) image: ImageFacts,
    /// `linux/amd64`.
    pub(super) platform: String,
    /// Those of all pools that it runs on.
    pub(super) platforms: Vec<String>,
    /// Architectures of the pools that changes are sought for.
    pub(super) archs: Vec<String>,
    /// How each step ends, by these pools.
    steps: BTreeMap<String, StepSeverities>,
    /// How it fails on their hosts.
    outcomes: BTreeSet<Outcome>,
    /// Those of these pools on some host of which it starts.
    somewhere: BTreeSet<String>,
    /// The facts that are not known of it as it is.
    open: BTreeSet<String>,
    /// The observed subject, built on first use, and what was inferred from it.
    fixed: OnceLock<AnalysisSubject>,
    pub(super) inferred: InferenceCache,
    /// What is sought on the pools that changes are sought for.
    sought: ImprovementGoals,
    /// Reusable search states, one per concurrent caller; each tests the most recently failed hosts first.
    search_states: Mutex<Vec<ImprovementGoals>>,
}

impl<'a> FixContext<'a> {
    /// Judges a subject on its target pools; `None` if there is no such pool, or nothing was observed.
    pub(super) fn try_new(
        target_pools: TargetPools,
        subject: &'a AnalysisSubject,
        before: &'a model::Subject,
        settings: AnalysisSettings<'a>,
        hosts: &FleetHosts,
    ) -> Option<Self> {
        let knowledge = settings.knowledge;
        let aimed: Vec<&Pool> = select_target_pools(target_pools, before, settings.fleet).collect();
        let mut platforms: Vec<String> = aimed.iter().flat_map(|pool| pool.platforms(knowledge)).collect();
        platforms.dedup();
        let platform = platforms.first()?.clone();
        let mut archs: Vec<String> =
            platforms.iter().filter_map(|one| one.split('/').nth(1).map(str::to_owned)).collect();
        archs.sort();
        archs.dedup();
        let seen = judge::observations_for_platform(&subject.content, &platform)?;
        let image = infer_image_facts(&seen, &platform, settings.as_of, knowledge)
            .into_iter()
            .find(|image| image.gpu_content)?;
        let seen = observations_with_dependencies(&seen, &platform, settings.as_of, knowledge).into_owned();
        let names: Vec<String> = aimed.iter().map(|pool| pool.name.value.clone()).collect();
        let judged = judge::judge_on_hosts(
            subject,
            AnalysisSettings { detail: ReportDetail::Steps, pools: &names, ..settings },
            hosts,
        );
        let verdicts = || whole_subject_verdicts(&judged).filter(|one| target_pools.includes(one.fate));
        let steps: BTreeMap<String, StepSeverities> =
            verdicts().map(|one| (one.pool.clone(), worst_severities(one))).collect();
        let mut doubts = ImprovementGoals::default();
        for (pool, was) in &steps {
            doubts.set_goal(pool, required_improvement(target_pools, was));
        }
        let of_hosts = verdicts().flat_map(|one| one.scenarios.iter().map(|scenario| scenario.outcome));
        let somewhere = verdicts().filter(|one| starts_on_some_hosts(one)).map(|one| one.pool.clone()).collect();
        let outcomes = verdicts().map(|one| one.outcome).chain(of_hosts).flatten().collect();
        let open =
            judged.facts.iter().filter(|fact| fact.state == FactState::Unknown).map(|fact| fact.key.clone()).collect();
        Some(Self {
            target_pools,
            subject,
            settings,
            before,
            seen,
            image,
            platform,
            platforms: platforms_of_pools(before, settings),
            archs,
            steps,
            outcomes,
            somewhere,
            open,
            fixed: OnceLock::new(),
            inferred: InferenceCache::default(),
            sought: doubts,
            search_states: Mutex::default(),
        })
    }

    /// Returns observations on the first platform with the packages that are installed only as dependencies.
    pub(super) fn complete_packages<'s>(&self, seen: &'s Observations) -> Cow<'s, Observations> {
        observations_with_dependencies(seen, &self.platform, self.settings.as_of, self.knowledge())
    }

    /// Whether a command of changed observations certainly fails to install a package that it installs now.
    pub(super) fn makes_install_impossible(&self, seen: &Observations) -> bool {
        let fails = |image: &ImageFacts| {
            let mut states = image.facts.iter().map(|(_, entry)| &entry.state);
            states.any(|state| matches!(state, ValueState::Unknown(cause) if cause.is_failing_install()))
        };
        let images = infer_image_facts(seen, &self.platform, self.settings.as_of, self.knowledge());
        !fails(&self.image) && images.iter().any(fails)
    }

    /// Returns the subject reduced to its observations on the first platform.
    pub(super) fn observed_subject(&self) -> &AnalysisSubject {
        self.fixed.get_or_init(|| subject_with_observations(self.subject, self.before, self.seen.clone()))
    }

    /// Runs a closure with the required improvements and what earlier calls recorded about the hosts of the fleet.
    pub(super) fn with_search_state<T>(&self, ask: impl FnOnce(&mut ImprovementGoals) -> T) -> T {
        let all = || self.search_states.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().pop();
        let mut doubts = known.unwrap_or_else(|| self.sought.without_cache());
        let result = ask(&mut doubts);
        all().push(doubts);
        result
    }

    /// Returns the required improvements without recorded state, for other hosts than those of the fleet.
    pub(super) fn new_search_state(&self) -> ImprovementGoals {
        self.sought.without_cache()
    }

    /// Whether the cause of failure or uncertainty on a pool is removed, and everything still unknown was unknown
    /// before.
    pub(super) fn is_resolved(&self, verdict: &model::Verdict, judged: &model::Subject) -> bool {
        let Some(was) = self.steps.get(&verdict.pool).filter(|_| !verdict.scenarios.is_empty()) else { return false };
        match self.target_pools {
            TargetPools::Failing => self.is_failure_removed(was, verdict, judged),
            TargetPools::Open => self.is_uncertainty_reduced(was, verdict, judged),
        }
    }

    /// Whether the failure on a pool is gone. Either the image starts on some host, or the steps that stopped it pass
    /// or are unknown for reasons that existed before, and no other step stops it.
    fn is_failure_removed(&self, was: &StepSeverities, verdict: &model::Verdict, judged: &model::Subject) -> bool {
        let failure = |step: &model::Step| was.get(&step.step) == Some(&StepSeverity::Stops);
        let mut steps = verdict.scenarios.iter().flat_map(|scenario| &scenario.steps);
        let passed = |step: &model::Step| match step_severity(step) {
            StepSeverity::Passes => true,
            StepSeverity::Unknown => step.result == StepStatus::Unknown && self.was_already_unknown(step, judged),
            StepSeverity::Stops => false,
        };
        let failures = was.values().any(|one| *one == StepSeverity::Stops);
        let mut none_stops =
            || steps.all(|step| if failure(step) { passed(step) } else { step.result != StepStatus::Stops });
        failures && (starts_on_some_hosts(verdict) || none_stops())
    }

    /// Whether an unknown or stopping step now passes, and no step is worse than before or newly unknown. Where every
    /// host was undetermined and some now start, steps that were unknown may stop others.
    fn is_uncertainty_reduced(&self, was: &StepSeverities, verdict: &model::Verdict, judged: &model::Subject) -> bool {
        let before = |step: StartStep| was.get(&step).copied().unwrap_or_default();
        let is = worst_severities(verdict);
        let newly_starts = starts_on_some_hosts(verdict) && !self.somewhere.contains(&verdict.pool);
        let mut steps = verdict.scenarios.iter().flat_map(|scenario| &scenario.steps);
        let no_worse = |step: &model::Step| {
            let settled = newly_starts && before(step.step) == StepSeverity::Unknown;
            let as_before = step_severity(step) <= before(step.step) && !self.is_newly_unknown(step, judged);
            settled || as_before || (step.result == StepStatus::Unknown && self.was_already_unknown(step, judged))
        };
        is.iter().any(|(step, end)| *end == StepSeverity::Passes && before(*step) != StepSeverity::Passes)
            && steps.all(no_worse)
    }

    /// Whether a step is undetermined only because of facts that were unknown before the change.
    fn was_already_unknown(&self, step: &model::Step, judged: &model::Subject) -> bool {
        let mut keys = unknown_facts(step, judged).peekable();
        keys.peek().is_some() && keys.all(|key| self.open.contains(key))
    }

    /// Whether a step is undetermined because of a fact that was known before the change.
    fn is_newly_unknown(&self, step: &model::Step, judged: &model::Subject) -> bool {
        step.result == StepStatus::Unknown && unknown_facts(step, judged).any(|key| !self.open.contains(key))
    }

    pub(super) fn knowledge(&self) -> Knowledge {
        self.settings.knowledge
    }

    /// Returns the Python version that a package is installed for, such as `3.11`, if it is known.
    pub(super) fn python_version(&self, package: &ObservedPackage) -> Option<String> {
        python_of_package(&self.seen, package, self.knowledge()).ok()
    }

    /// Returns the newest Python version that a package may be installed for, if the base tag names none.
    pub(super) fn newest_possible_python(&self, package: &ObservedPackage) -> Option<&'static str> {
        newest_base_python(&self.seen, package, self.knowledge())
    }

    /// Returns the pools of the fleet for which fixes are searched.
    pub(super) fn target_pools(&self) -> impl Iterator<Item = &'a Pool> {
        select_target_pools(self.target_pools, self.before, self.settings.fleet)
    }

    /// Whether the image fails with an outcome on some host.
    pub(super) fn has_outcome(&self, outcome: Outcome) -> bool {
        self.outcomes.contains(&outcome)
    }

    /// Returns the core components, those that the image exists to run.
    pub(super) fn core_components(&self) -> impl Iterator<Item = &Component> {
        self.image.components.iter().filter(|one| one.role == ComponentRole::Core)
    }

    /// Returns the value of the last fact of a component with a key, if it is known.
    pub(super) fn component_fact(&self, key: FactKey, of: &str) -> Option<String> {
        let of_it =
            self.image.facts.iter().filter(|(_, entry)| entry.key == key && entry.subject.as_deref() == Some(of));
        match &of_it.last()?.1.state {
            ValueState::Known(PrintedValue::Text(text)) => Some(text.clone()),
            ValueState::Known(value) => Some(value.to_string()),
            ValueState::Absent { .. } | ValueState::Unknown(_) => None,
        }
    }
}

/// Returns the platforms of all pools on which a subject runs.
pub(super) fn platforms_of_pools(judged: &model::Subject, settings: AnalysisSettings<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let runs = |pool: &&Pool| whole_subject_verdicts(judged).any(|one| one.pool == pool.name.value);
    for platform in settings.fleet.pools.iter().filter(runs).flat_map(|pool| pool.platforms(settings.knowledge)) {
        if !found.contains(&platform) {
            found.push(platform);
        }
    }
    found
}

/// Returns the pools of a fleet whose verdict on the subject is one of the target pools.
fn select_target_pools<'a>(
    target_pools: TargetPools,
    before: &'a model::Subject,
    fleet: &'a Fleet,
) -> impl Iterator<Item = &'a Pool> {
    let takes = move |pool: &&Pool| {
        whole_subject_verdicts(before).any(|one| one.pool == pool.name.value && target_pools.includes(one.fate))
    };
    fleet.pools.iter().filter(takes)
}

/// Returns the keys of the unknown facts that a step needs.
fn unknown_facts<'a>(step: &'a model::Step, judged: &'a model::Subject) -> impl Iterator<Item = &'a String> {
    let of = |id: &'a String| judged.facts.iter().find(|fact| fact.id == *id && fact.state == FactState::Unknown);
    step.facts.iter().filter_map(of).map(|fact| &fact.key)
}

/// Whether the image starts on some, but not all, of the hosts that a pool may have.
fn starts_on_some_hosts(verdict: &model::Verdict) -> bool {
    verdict.fate == VerdictKind::Depends
        && verdict.scenarios.iter().any(|scenario| scenario.fate == VerdictKind::Starts)
}

/// Returns the severity of a step.
fn step_severity(step: &model::Step) -> StepSeverity {
    match step.result {
        StepStatus::Passes | StepStatus::NotApplicable => StepSeverity::Passes,
        StepStatus::Stops => StepSeverity::Stops,
        StepStatus::Unknown | StepStatus::NotSeen | StepStatus::FailsLater => StepSeverity::Unknown,
    }
}

/// Returns the highest severity of each step over the hosts of a verdict.
fn worst_severities(verdict: &model::Verdict) -> StepSeverities {
    let mut found = StepSeverities::new();
    for step in verdict.scenarios.iter().flat_map(|scenario| &scenario.steps) {
        let end = found.entry(step.step).or_default();
        *end = step_severity(step).max(*end);
    }
    found
}

/// Returns the improvement of a start-up that a fix must achieve: a necessary condition of `is_resolved`.
fn required_improvement(target_pools: TargetPools, was: &StepSeverities) -> ImprovementGoal {
    let passes = |step: &StartStep| was.get(step).is_none_or(|end| *end == StepSeverity::Passes);
    match target_pools {
        TargetPools::Failing => ImprovementGoal::Somewhere,
        TargetPools::Open => {
            ImprovementGoal::Better(StartStep::ALL.iter().copied().filter(|step| !passes(step)).collect())
        }
    }
}

/// Returns the sources and spans of a fact in texts, the direct one first.
pub(super) fn fact_spans(case: &FixContext<'_>, fact: FactId) -> Vec<(SourceId, Span)> {
    let origins = case.seen.facts.origins(fact).into_iter();
    origins
        .filter_map(|origin| match origin {
            Origin::File { source, span } => Some((source, span)),
            Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
        })
        .collect()
}
