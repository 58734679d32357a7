//! Trials: judges a subject with a change again, on each of its pools, as often as a budget allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::dockerfile::edit::SourceEdit;
use crate::fix::buildability::{NO_SINGLE_VALUE, find_build_obstacle, is_target_observed};
use crate::fix::changed_subject::{subject_with_edits, subject_with_observations, subject_with_saved_observations};
use crate::fix::fix_context::{FixContext, TargetPools};
use crate::fix::minimum_driver::SubjectImages;
use crate::fix::search_resources::{SearchResources, single_pool_fleet};
use crate::fix::simulated_change::apply_to_observations;
use crate::fix::trial_verdict::{TrialVerdict, trial_verdicts, whole_subject_verdicts};
use crate::fix::write::EditVariant;
use crate::fix::{PoolChange, ProposedChange, other_stages, write};
use crate::fleet::{Declared, DriverSpec, Pool};
use crate::infer::infer_image_facts;
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts, InferenceCache, ReportDetail, SubjectContent};
use crate::model::fact::Observations;
use crate::replay::ImprovementGoals;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::text::source::{SourceText, Span};
use crate::{fleet, judge};

/// Maximum number of trials for a subject that fails.
pub(super) const MAX_TRIALS: usize = 400;
/// Maximum number of trials for a subject that only may fail.
pub(super) const MAX_TRIALS_UNDETERMINED: usize = 120;

/// Maximum bytes of files of the build that all trials together read again.
const MAX_BYTES_READ: usize = 64 << 20;
/// Minimum number of trials, however large the files of the build are.
const MIN_TRIALS: usize = 50;

/// Returns the number of trials for a subject, which shrinks with the size of its files.
pub(super) fn trial_budget(subject: &AnalysisSubject, most: usize) -> usize {
    let SubjectContent::Dockerfile { files, .. } = &subject.content else { return most };
    let read: usize =
        files.requested_files().filter_map(|(_, file)| file.as_ref().ok()).map(|file| file.text.len()).sum();
    most.min((MAX_BYTES_READ / read.max(1)).max(MIN_TRIALS))
}

/// Runs trials within a budget.
pub(super) struct TrialRunner<'a> {
    pub(super) resources: &'a SearchResources<'a>,
    left: usize,
    /// For work done in advance: the trials that remain for all of it together.
    ahead: Option<&'a AtomicUsize>,
    /// Whether the shared budget was insufficient.
    short: bool,
}

impl<'a> TrialRunner<'a> {
    /// Creates a runner with a budget of trials.
    pub(super) const fn new(resources: &'a SearchResources<'a>, left: usize) -> Self {
        Self { resources, left, ahead: None, short: false }
    }

    /// Creates a runner with a separate budget.
    pub(super) const fn with_budget(&self, left: usize) -> Self {
        Self::new(self.resources, left)
    }

    /// Returns the number of remaining trials.
    pub(super) const fn remaining(&self) -> usize {
        self.left
    }

    /// Takes one trial from the budget, and returns whether there was one.
    pub(super) fn take_trial(&mut self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        let next = |ahead: &AtomicUsize| ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok();
        if self.left == 0 {
            return false;
        }
        if self.ahead.is_some_and(|ahead| !next(ahead)) {
            (self.short, self.left) = (true, 0);
            return false;
        }
        self.left -= 1;
        true
    }

    /// Takes a number of trials from the budget, or all that remain.
    pub(super) fn spend(&mut self, number: usize) {
        for _ in 0..number {
            self.take_trial();
        }
    }

    /// Runs work on each item, with results as if in sequence, until `take` returns false.
    pub(super) fn run_each<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        work: impl Fn(&T, &mut TrialRunner<'_>) -> R + Sync,
        mut take: impl FnMut(R) -> bool,
    ) {
        let resources = self.resources;
        let (left, ahead) = (AtomicUsize::new(self.left), AtomicUsize::new(self.left));
        let run_item = |item: &T| {
            let left = left.load(Ordering::Relaxed);
            let mut own = TrialRunner { resources, left, ahead: Some(&ahead), short: false };
            let result = work(item, &mut own);
            (result, (!own.short).then(|| left - own.left))
        };
        let mut items_then = items.iter();
        resources.threads.process_in_order(items, run_item, |(result, used)| {
            let item = items_then.next();
            let result = match (item, used.filter(|used| *used <= self.left)) {
                (_, Some(used)) => {
                    self.spend(used);
                    result
                }
                // Earlier items left less of the budget than assumed, so the item is repeated with the rest.
                (Some(item), None) => work(item, self),
                (None, None) => return false,
            };
            left.store(self.left, Ordering::Relaxed);
            take(result)
        });
    }
}

/// How much of the result of a trial is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrialDetail {
    /// The verdicts for all pools.
    Fates,
    /// The verdicts, complete only if the change helps on some pool.
    Help,
    /// Only the final verdicts for the pools that the aim selects.
    Ends,
}

/// The result of one trial.
pub(super) struct TrialOutcome {
    pub(super) edits: Vec<SourceEdit>,
    /// Whether the edits add an index although the build uses a private one.
    pub(super) elsewhere: bool,
    /// Why the change cannot be written automatically.
    pub(super) manual_reason: Option<&'static str>,
    pub(super) subject: Option<AnalysisSubject>,
    pub(super) verdicts: Vec<TrialVerdict>,
}

impl TrialOutcome {
    /// Creates the outcome of a trial without text edits.
    fn without_edits(
        verdicts: Vec<TrialVerdict>,
        subject: Option<AnalysisSubject>,
        manual_reason: Option<&'static str>,
    ) -> Self {
        Self { edits: Vec::new(), elsewhere: false, manual_reason, subject, verdicts }
    }
}

impl TrialRunner<'_> {
    /// Tests a change with each variant of its edits, until one has the intended effect.
    pub(super) fn test_change(&mut self, case: &FixContext<'_>, change: &ProposedChange) -> Option<TrialOutcome> {
        self.run_trial(case, change, TrialDetail::Fates)
    }

    /// Tests a change like `test_change`, but only for final verdicts on the pools that the aim selects.
    pub(super) fn test_on_aimed_pools(
        &mut self,
        case: &FixContext<'_>,
        change: &ProposedChange,
    ) -> Option<TrialOutcome> {
        self.run_trial(case, change, TrialDetail::Ends)
    }

    /// Tests a change; verdicts may be incomplete if it helps on no pool.
    pub(super) fn test_if_helpful(&mut self, case: &FixContext<'_>, change: &ProposedChange) -> Option<TrialOutcome> {
        self.run_trial(case, change, TrialDetail::Help)
    }

    /// Runs one trial of a change, with the requested detail.
    fn run_trial(
        &mut self,
        case: &FixContext<'_>,
        change: &ProposedChange,
        trial_detail: TrialDetail,
    ) -> Option<TrialOutcome> {
        if let ProposedChange::Pools(changes) = change {
            let verdicts = self.judge_with_pool_changes(case, changes);
            return Some(TrialOutcome::without_edits(verdicts, None, None));
        }
        if !matches!(case.subject.content, SubjectContent::Dockerfile { .. }) {
            let seen = observations_with_change(case, change)?;
            if !self.take_trial() {
                return None;
            }
            let subject = subject_with_observations(case.subject, case.before, seen);
            return Some(TrialOutcome::without_edits(
                self.judge_changed_subject(case, &subject, trial_detail),
                Some(subject),
                None,
            ));
        }
        let mut hindered = None;
        for EditVariant { edits, elsewhere } in write::edit_variants(case, change) {
            let Some(subject) = subject_with_edits(case.subject, case.settings.sources, &edits) else {
                continue;
            };
            // Each text is read once for each platform, and judged as it was seen.
            let Some(seen) = subject_with_saved_observations(&subject, case.before, &case.platforms, Some) else {
                continue;
            };
            let observed = observations_on_platform(&seen, &case.platform).map(|seen| case.complete_packages(seen));
            let observed =
                observed.filter(|seen| change.is_fulfilled_by(seen) && removes_compat_as_intended(case, change, seen));
            let Some(observed) = observed.filter(|_| other_stages::are_other_bases_known(case, &subject)) else {
                continue;
            };
            if matches!(change, ProposedChange::Base { .. }) && case.makes_install_impossible(&observed) {
                return None;
            }
            if let Some(why) = find_build_obstacle(case, change, &edits, &observed) {
                hindered.get_or_insert((seen, why));
                continue;
            }
            if !self.take_trial() {
                return None;
            }
            let verdicts = self.judge_changed_subject(case, &seen, trial_detail);
            return Some(TrialOutcome { edits, elsewhere, manual_reason: None, subject: Some(subject), verdicts });
        }
        // A name in a text that is not edited must be changed there by hand.
        let (seen, why) = match hindered {
            Some(found) => found,
            None if is_target_observed(case, change) => (
                subject_with_observations(case.subject, case.before, observations_with_change(case, change)?),
                NO_SINGLE_VALUE,
            ),
            None => return None,
        };
        if !self.take_trial() {
            return None;
        }
        Some(TrialOutcome::without_edits(self.judge_changed_subject(case, &seen, trial_detail), None, Some(why)))
    }

    /// Judges a changed subject on the aimed pools, and on all others if it helps on one.
    fn judge_changed_subject(
        &self,
        case: &FixContext<'_>,
        subject: &AnalysisSubject,
        trial_detail: TrialDetail,
    ) -> Vec<TrialVerdict> {
        let inferred = InferenceCache::default();
        let judged = |pools: &[String], detail| {
            let settings = AnalysisSettings { pools, detail, ..case.settings };
            case.with_search_state(|doubts| {
                judge::judge_with_replay_cache(subject, settings, self.resources.hosts, &inferred, doubts)
            })
        };
        let runs = whole_subject_verdicts(case.before);
        let (aimed, others): (Vec<_>, Vec<_>) = runs.partition(|one| case.target_pools.includes(one.fate));
        let [aimed, others] =
            [aimed, others].map(|list| list.into_iter().map(|one| one.pool.clone()).collect::<Vec<String>>());
        let settings = AnalysisSettings { pools: &aimed, detail: ReportDetail::Steps, ..case.settings };
        let mut found = match trial_detail {
            TrialDetail::Ends => return trial_verdicts(&judged(&aimed, ReportDetail::Fates)),
            TrialDetail::Fates => trial_verdicts_with_steps(case, &judged(&aimed, ReportDetail::Steps)),
            TrialDetail::Help => {
                let ask = |doubts: &mut ImprovementGoals| {
                    judge::judge_with_goals(subject, settings, self.resources.hosts, &inferred, doubts)
                };
                trial_verdicts_with_steps(case, &case.with_search_state(ask))
            }
        };
        if !others.is_empty() && found.iter().any(|one| one.verdict == VerdictKind::Starts || one.blocker_passes) {
            found.extend(trial_verdicts(&judged(&others, ReportDetail::Fates)));
            let place = |pool: &str| whole_subject_verdicts(case.before).position(|one| one.pool == pool);
            found.sort_by_cached_key(|one| place(&one.pool));
        }
        found
    }

    /// Infers the images of the subject for the platforms of a pool.
    pub(super) fn inferred_images(case: &FixContext<'_>, pool: &Pool) -> SubjectImages {
        let (subject, knowledge) = (case.observed_subject(), case.knowledge());
        SubjectImages::infer(subject, &pool.platforms(knowledge), case.settings.as_of, knowledge)
    }

    /// Returns the verdicts with changed pools, and the present verdicts for all others.
    pub(super) fn judge_with_pool_changes(
        &mut self,
        case: &FixContext<'_>,
        changes: &[(String, PoolChange)],
    ) -> Vec<TrialVerdict> {
        let mut found = trial_verdicts(case.before);
        let (subject, inferred) = (case.observed_subject(), &case.inferred);
        for (name, change) in changes {
            let Some(pool) = case.settings.fleet.pools.iter().find(|pool| pool.name.value == *name) else { continue };
            if !self.take_trial() {
                break;
            }
            let mut pool = pool.clone();
            match change {
                PoolChange::Driver(version) => {
                    pool.driver = vec![with_default_span(DriverSpec::Exact(*version))];
                    pool.driver_cuda = None;
                }
                PoolChange::Toolkit(version) => {
                    pool.toolkit = Some(with_default_span(*version));
                    pool.libnvidia_container = None;
                }
                PoolChange::Mode(mode) => pool.mode = Some(with_default_span(*mode)),
                PoolChange::Env(name, value) => {
                    pool.env.push(((*name).to_owned(), with_default_span((*value).to_owned())));
                }
            }
            let fleet = single_pool_fleet(pool, case.settings.fleet);
            // No launch and no toolkit has every mode.
            if matches!(change, PoolChange::Mode(_))
                && fleet::check_toolkit_modes(&fleet, &SourceText::new("", ""), case.knowledge()).is_err()
            {
                continue;
            }
            let settings = AnalysisSettings { fleet: &fleet, pools: &[], detail: ReportDetail::Steps, ..case.settings };
            let hosts = match (change, fleet.pools.first()) {
                (PoolChange::Driver(version), Some(pool)) => {
                    self.resources.hosts_with_driver(pool, *version, settings.as_of, settings)
                }
                _ => Arc::new(FleetHosts::for_fleet(settings)),
            };
            let judged = judge::judge_with_goals(subject, settings, &hosts, inferred, &mut case.new_search_state());
            for verdict in trial_verdicts_with_steps(case, &judged) {
                if let Some(known) = found.iter_mut().find(|one| one.pool == verdict.pool) {
                    *known = verdict;
                }
            }
        }
        found
    }
}

/// Returns the observations as they would be with a change; `None` where that is unknown.
fn observations_with_change(case: &FixContext<'_>, change: &ProposedChange) -> Option<Observations> {
    apply_to_observations(change, &case.seen, case.knowledge()).filter(|seen| change.is_fulfilled_by(seen))
}

/// Whether the change leaves no compat library; true for a change that is not meant to remove it.
fn removes_compat_as_intended(case: &FixContext<'_>, change: &ProposedChange, seen: &Observations) -> bool {
    let left = || infer_image_facts(seen, &case.platform, case.settings.as_of, case.knowledge());
    !change.drops_compat() || left().iter().all(|image| image.compat.known().is_none())
}

/// Wraps a value as declared, with the default span.
fn with_default_span<T>(value: T) -> Declared<T> {
    Declared { value, span: Span::default() }
}

/// Returns the observations of a subject on one platform.
fn observations_on_platform<'a>(subject: &'a AnalysisSubject, platform: &str) -> Option<&'a Observations> {
    match &subject.content {
        SubjectContent::Saved(saved) => saved.for_platform(platform).map(|one| &one.seen),
        SubjectContent::Fixed(seen) => Some(seen),
        SubjectContent::Dockerfile { .. } | SubjectContent::ByPlatform(_) => None,
    }
}

/// Returns the verdicts of a subject judged step by step, marking pools on which the old failure is gone.
fn trial_verdicts_with_steps(case: &FixContext<'_>, judged: &model::Subject) -> Vec<TrialVerdict> {
    let mut found = trial_verdicts(judged);
    let was = |pool: &str| {
        whole_subject_verdicts(case.before).any(|one| one.pool == pool && case.target_pools.includes(one.fate))
    };
    let open = |one: &TrialVerdict| TargetPools::Open.includes(one.verdict) && was(&one.pool);
    for one in &mut found {
        let verdict = whole_subject_verdicts(judged).find(|other| other.pool == one.pool);
        one.blocker_passes = open(one) && verdict.is_some_and(|verdict| case.is_resolved(verdict, judged));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::ThreadBudget;
    use crate::judge::FleetHosts;

    /// Takes up to a number of trials, and returns how many there were.
    fn take_trials(number: usize, trials: &mut TrialRunner<'_>) -> usize {
        (0..number).take_while(|_| trials.take_trial()).count()
    }

    /// Runs lists of trial counts, and returns the results and the remaining trials.
    fn run_lists(lists: &[Vec<usize>], threads: usize, left: usize) -> (Vec<Vec<usize>>, usize) {
        let (hosts, threads) = (FleetHosts::default(), ThreadBudget::new(threads));
        let resources = SearchResources::new(&hosts, &threads);
        let mut trials = TrialRunner::new(&resources, left);
        let mut all = Vec::new();
        let of_list = |list: &Vec<usize>, trials: &mut TrialRunner<'_>| {
            let mut some = Vec::new();
            trials.run_each(
                list,
                |number, trials| take_trials(*number, trials),
                |number| {
                    some.push(number);
                    number != 7
                },
            );
            some
        };
        trials.run_each(lists, of_list, |some| {
            all.push(some);
            true
        });
        (all, trials.remaining())
    }

    #[test]
    fn parallel_trials_use_the_same_budget_as_sequential_ones() {
        let lists = [vec![3, 0, 5], vec![], vec![7, 9, 9], vec![2; 30], vec![1], vec![40, 1, 7, 3]];
        for left in 0..140 {
            let sequential = run_lists(&lists, 1, left);
            let all: usize = sequential.0.iter().flatten().sum();
            assert_eq!(all + sequential.1, left, "every trial is counted once");
            for threads in [2, 4] {
                assert_eq!(run_lists(&lists, threads, left), sequential, "{left} trials, {threads} threads");
            }
        }
        let enough = run_lists(&lists, 2, 1_000);
        assert_eq!(enough.0[2], [7], "behind what is enough nothing is made");
        assert_eq!(enough.1, 1_000 - 8 - 7 - 60 - 1 - 48);
    }
}
