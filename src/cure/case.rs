//! What candidates are made from: the subject, what was seen of it, and where it fails.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;

use crate::cure::trial::fixed;
use crate::fact::Component;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::Role;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::infer::infer;
use crate::infer::newest_of_base;
use crate::infer::python;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Hosts;
use crate::judge::Inferred;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::report::kinds::FactState;
use crate::report::kinds::StepStatus;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::start::Doubts;
use crate::start::Sought;
use crate::start::Step;

/// Which pools changes are sought for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// Those on which it fails for certain.
    Failing,
    /// Those on which it may fail: it depends, or it cannot be told.
    Open,
}

impl Aim {
    /// Whether a fate is one that changes are sought for.
    pub(super) fn takes(self, fate: VerdictKind) -> bool {
        match self {
            Self::Failing => fate == VerdictKind::Fails,
            Self::Open => fate.is_unknown(),
        }
    }
}

/// How bad the end of a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Worst {
    #[default]
    Passes,
    Unknown,
    Stops,
}

/// The worst end of each step, over all hosts that a pool may be.
type Ends = BTreeMap<String, Worst>;

/// One subject that fails, or may, somewhere.
pub(super) struct Case<'a> {
    pub(super) aim: Aim,
    pub(super) subject: &'a Subject,
    pub(super) settings: Settings<'a>,
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
    steps: BTreeMap<String, Ends>,
    /// How it fails on their hosts.
    outcomes: BTreeSet<String>,
    /// Those of these pools on some host of which it starts.
    somewhere: BTreeSet<String>,
    /// The facts that are not known of it as it is.
    open: BTreeSet<String>,
    /// The subject as it was seen, once that was asked for, and what was inferred of it.
    fixed: OnceLock<Subject>,
    pub(super) inferred: Inferred,
    /// What is sought on the pools that changes are sought for.
    sought: Doubts,
    /// The same with the hosts that soonest tell that it is not there: one for each who asks at a time.
    asked: Mutex<Vec<Doubts>>,
}

impl<'a> Case<'a> {
    /// None where there is no such pool, or nothing was seen of it.
    pub(super) fn of(
        aim: Aim,
        subject: &'a Subject,
        before: &'a model::Subject,
        settings: Settings<'a>,
        hosts: &Hosts,
    ) -> Option<Self> {
        let knowledge = settings.knowledge;
        let aimed: Vec<&Pool> = aimed(aim, before, settings.fleet).collect();
        let mut platforms: Vec<String> = aimed.iter().flat_map(|pool| pool.platforms(knowledge)).collect();
        platforms.dedup();
        let platform = platforms.first()?.clone();
        let mut archs: Vec<String> =
            platforms.iter().filter_map(|one| one.split('/').nth(1).map(str::to_owned)).collect();
        archs.sort();
        archs.dedup();
        let seen = judge::observations(&subject.content, &platform)?;
        let image = infer(&seen, &platform, settings.as_of, knowledge).into_iter().find(|image| image.gpu_content)?;
        let names: Vec<String> = aimed.iter().map(|pool| pool.name.value.clone()).collect();
        let told = judge::judge_on(subject, Settings { detail: Detail::Steps, pools: &names, ..settings }, hosts);
        let verdicts = || whole(&told).filter(|one| aim.takes(one.fate));
        let steps: BTreeMap<String, Ends> = verdicts().map(|one| (one.pool.clone(), ends(one))).collect();
        let mut doubts = Doubts::default();
        for (pool, was) in &steps {
            doubts.seek(pool, sought(aim, was));
        }
        let of_hosts = verdicts().flat_map(|one| one.scenarios.iter().map(|scenario| &scenario.outcome));
        let somewhere = verdicts().filter(|one| starts_somewhere(one)).map(|one| one.pool.clone()).collect();
        let outcomes = verdicts().map(|one| &one.outcome).chain(of_hosts).flatten().cloned().collect();
        let open =
            told.facts.iter().filter(|fact| fact.state == FactState::Unknown).map(|fact| fact.key.clone()).collect();
        Some(Self {
            aim,
            subject,
            settings,
            before,
            seen,
            image,
            platform,
            platforms: platforms_of(before, settings),
            archs,
            steps,
            outcomes,
            somewhere,
            open,
            fixed: OnceLock::new(),
            inferred: Inferred::default(),
            sought: doubts,
            asked: Mutex::default(),
        })
    }

    /// The subject as it was seen on the first platform.
    pub(super) fn fixed(&self) -> &Subject {
        self.fixed.get_or_init(|| fixed(self.subject, self.before, self.seen.clone()))
    }

    /// Asks something with what is sought and was learned of it, on the hosts of the fleet.
    pub(super) fn asked<T>(&self, ask: impl FnOnce(&mut Doubts) -> T) -> T {
        let all = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all().pop();
        let mut doubts = known.unwrap_or_else(|| self.sought.anew());
        let told = ask(&mut doubts);
        all().push(doubts);
        told
    }

    /// What is sought, for hosts that are others.
    pub(super) fn sought(&self) -> Doubts {
        self.sought.anew()
    }

    /// Whether what stopped it on a pool, or may have, is gone; what else there is was open before.
    pub(super) fn is_gone(&self, verdict: &model::Verdict, told: &model::Subject) -> bool {
        let Some(was) = self.steps.get(&verdict.pool).filter(|_| !verdict.scenarios.is_empty()) else { return false };
        match self.aim {
            Aim::Failing => self.is_lifted(was, verdict, told),
            Aim::Open => self.is_narrower(was, verdict, told),
        }
    }

    /// Whether it starts on some host, where it failed on all; else whether the steps that stopped it pass, or are open as
    /// they would have been before, and no other stops it.
    fn is_lifted(&self, was: &Ends, verdict: &model::Verdict, told: &model::Subject) -> bool {
        let wall = |step: &model::Step| was.get(&step.step) == Some(&Worst::Stops);
        let mut steps = verdict.scenarios.iter().flat_map(|scenario| &scenario.steps);
        let passed = |step: &model::Step| match worst(step) {
            Worst::Passes => true,
            Worst::Unknown => step.result == StepStatus::Unknown && self.was_open(step, told),
            Worst::Stops => false,
        };
        let walls = was.values().any(|one| *one == Worst::Stops);
        let mut none_stops =
            || steps.all(|step| if wall(step) { passed(step) } else { step.result != StepStatus::Stops });
        walls && (starts_somewhere(verdict) || none_stops())
    }

    /// Whether a step passes that could not be told or stopped it on some host, and no step ends worse than it did or
    /// cannot be told for what was known before. Where nothing could be told on any host, and it starts on some, what
    /// could not be told may stop it on others.
    fn is_narrower(&self, was: &Ends, verdict: &model::Verdict, told: &model::Subject) -> bool {
        let before = |step: &str| was.get(step).copied().unwrap_or_default();
        let is = ends(verdict);
        let told_apart = starts_somewhere(verdict) && !self.somewhere.contains(&verdict.pool);
        let mut steps = verdict.scenarios.iter().flat_map(|scenario| &scenario.steps);
        let no_worse = |step: &model::Step| {
            let settled = told_apart && before(&step.step) == Worst::Unknown;
            let as_before = worst(step) <= before(&step.step) && !self.is_newly_open(step, told);
            settled || as_before || (step.result == StepStatus::Unknown && self.was_open(step, told))
        };
        is.iter().any(|(step, end)| *end == Worst::Passes && before(step) != Worst::Passes) && steps.all(no_worse)
    }

    /// Whether a step cannot be told for what was not known before the change either.
    fn was_open(&self, step: &model::Step, told: &model::Subject) -> bool {
        let mut keys = unknown(step, told).peekable();
        keys.peek().is_some() && keys.all(|key| self.open.contains(key))
    }

    /// Whether a step cannot be told for something that was known before the change.
    fn is_newly_open(&self, step: &model::Step, told: &model::Subject) -> bool {
        step.result == StepStatus::Unknown && unknown(step, told).any(|key| !self.open.contains(key))
    }

    pub(super) fn knowledge(&self) -> Knowledge {
        self.settings.knowledge
    }

    /// The Python that a package is installed for, `3.11`, where that is known.
    pub(super) fn python(&self, package: &PackageSeen) -> Option<String> {
        python(&self.seen, package, self.knowledge()).ok()
    }

    /// The newest Python that it may be installed for, where the tag of the base names none.
    pub(super) fn newest_python(&self, package: &PackageSeen) -> Option<&'static str> {
        newest_of_base(&self.seen, package, self.knowledge())
    }

    /// The pools of the fleet that changes are sought for.
    pub(super) fn aimed(&self) -> impl Iterator<Item = &'a Pool> {
        aimed(self.aim, self.before, self.settings.fleet)
    }

    /// Whether it fails so on some host.
    pub(super) fn ends(&self, outcome: &str) -> bool {
        self.outcomes.contains(outcome)
    }

    /// Core components, those that the image is there to run.
    pub(super) fn core(&self) -> impl Iterator<Item = &Component> {
        self.image.components.iter().filter(|one| one.role == Role::Core)
    }

    /// The last fact of a component.
    pub(super) fn told(&self, key: FactKey, of: &str) -> Option<String> {
        let of_it = self.image.facts.iter().filter(|(_, entry)| entry.key == key && entry.of.as_deref() == Some(of));
        match &of_it.last()?.1.state {
            State::Known(Value::Text(text)) => Some(text.clone()),
            State::Known(value) => Some(value.to_string()),
            State::Absent { .. } | State::Unknown(_) => None,
        }
    }
}

/// The platforms of all pools that a subject runs on.
pub(super) fn platforms_of(judged: &model::Subject, settings: Settings<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let runs = |pool: &&Pool| whole(judged).any(|one| one.pool == pool.name.value);
    for platform in settings.fleet.pools.iter().filter(runs).flat_map(|pool| pool.platforms(settings.knowledge)) {
        if !found.contains(&platform) {
            found.push(platform);
        }
    }
    found
}

fn aimed<'a>(aim: Aim, before: &'a model::Subject, fleet: &'a Fleet) -> impl Iterator<Item = &'a Pool> {
    let takes = move |pool: &&Pool| whole(before).any(|one| one.pool == pool.name.value && aim.takes(one.fate));
    fleet.pools.iter().filter(takes)
}

/// The facts that a step asks for and that are not known.
fn unknown<'a>(step: &'a model::Step, told: &'a model::Subject) -> impl Iterator<Item = &'a String> {
    let of = |id: &'a String| told.facts.iter().find(|fact| fact.id == *id && fact.state == FactState::Unknown);
    step.facts.iter().filter_map(of).map(|fact| &fact.key)
}

/// Whether it starts on some of the hosts that the pool may be, and not on all.
fn starts_somewhere(verdict: &model::Verdict) -> bool {
    verdict.fate == VerdictKind::Depends
        && verdict.scenarios.iter().any(|scenario| scenario.fate == VerdictKind::Starts)
}

fn worst(step: &model::Step) -> Worst {
    match step.result {
        StepStatus::Passes | StepStatus::NotApplicable => Worst::Passes,
        StepStatus::Stops => Worst::Stops,
        StepStatus::Unknown | StepStatus::NotSeen | StepStatus::FailsLater => Worst::Unknown,
    }
}

fn ends(verdict: &model::Verdict) -> Ends {
    let mut found = Ends::new();
    for step in verdict.scenarios.iter().flat_map(|scenario| &scenario.steps) {
        let end = found.entry(step.step.clone()).or_default();
        *end = worst(step).max(*end);
    }
    found
}

/// What has to come of a start-up for a change to help: as `is_gone` asks, and no less than that.
fn sought(aim: Aim, was: &Ends) -> Sought {
    let passes = |step: &Step| was.get(step.name()).is_none_or(|end| *end == Worst::Passes);
    match aim {
        Aim::Failing => Sought::Somewhere,
        Aim::Open => Sought::Better(Step::ALL.into_iter().filter(|step| !passes(step)).collect()),
    }
}

/// The verdicts of a subject as a whole.
pub(super) fn whole(subject: &model::Subject) -> impl Iterator<Item = &model::Verdict> {
    subject.verdicts.iter().filter(|one| one.component.is_none())
}
