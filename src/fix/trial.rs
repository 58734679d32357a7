//! Trials: judges a subject with a change again, on each of its pools.

use std::sync::Arc;

use crate::dockerfile::LazyDockerfile;
use crate::edit::SourceEdit;
use crate::fact::Observations;
use crate::fix::buildability::{NO_SINGLE_VALUE, find_build_obstacle, is_target_observed};
use crate::fix::fix_context::{FixContext, TargetPools, whole_subject_verdicts};
use crate::fix::search::TrialVerdict;
use crate::fix::search_resources::single_pool_fleet;
use crate::fix::simulated_change::apply_to_observations;
use crate::fix::trial_runner::TrialRunner;
use crate::fix::write::EditVariant;
use crate::fix::{PoolChange, ProposedChange, other_stages, write};
use crate::fleet::{Declared, DriverSpec, Pool};
use crate::infer::infer_image_facts;
use crate::judge::{
    AnalysisSettings, AnalysisSubject, CachedTargetObservations, FleetHosts, InferenceCache, PoolRestriction,
    ReportDetail, SavedSubject, SubjectContent,
};
use crate::minimum_driver::SubjectImages;
use crate::replay::ImprovementGoals;
use crate::report::kinds::{StartRoute, SubjectKind, VerdictKind};
use crate::report::model;
use crate::report::model::OnPlatform;
use crate::source::{SourceText, Span};
use crate::{fleet, judge};

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
    pub(super) by_hand: Option<&'static str>,
    pub(super) subject: Option<AnalysisSubject>,
    pub(super) fates: Vec<TrialVerdict>,
}

impl TrialOutcome {
    /// Creates the outcome of a trial without text edits.
    fn without_edits(
        fates: Vec<TrialVerdict>,
        subject: Option<AnalysisSubject>,
        by_hand: Option<&'static str>,
    ) -> Self {
        Self { edits: Vec::new(), elsewhere: false, by_hand, subject, fates }
    }
}

impl TrialRunner<'_> {
    /// Tests a change with each variant of its edits, until one has the intended effect.
    pub(super) fn test_change(&mut self, case: &FixContext<'_>, wish: &ProposedChange) -> Option<TrialOutcome> {
        self.run_trial(case, wish, TrialDetail::Fates)
    }

    /// Tests a change like `test_change`, but only for final verdicts on the pools that the aim selects.
    pub(super) fn test_on_aimed_pools(&mut self, case: &FixContext<'_>, wish: &ProposedChange) -> Option<TrialOutcome> {
        self.run_trial(case, wish, TrialDetail::Ends)
    }

    /// Tests a change like `test_change`, but may omit verdicts where it helps on no pool.
    pub(super) fn test_if_helpful(&mut self, case: &FixContext<'_>, wish: &ProposedChange) -> Option<TrialOutcome> {
        self.run_trial(case, wish, TrialDetail::Help)
    }

    /// Runs one trial of a change, with the requested detail.
    fn run_trial(&mut self, case: &FixContext<'_>, wish: &ProposedChange, told: TrialDetail) -> Option<TrialOutcome> {
        if let ProposedChange::Pools(changes) = wish {
            let fates = self.judge_with_pool_changes(case, changes);
            return Some(TrialOutcome::without_edits(fates, None, None));
        }
        if !matches!(case.subject.content, SubjectContent::Dockerfile { .. }) {
            let seen = observations_with_change(case, wish)?;
            if !self.take_trial() {
                return None;
            }
            let subject = subject_with_observations(case.subject, case.before, seen);
            return Some(TrialOutcome::without_edits(
                self.judge_changed_subject(case, &subject, told),
                Some(subject),
                None,
            ));
        }
        let mut hindered = None;
        for EditVariant { edits, elsewhere } in write::edit_variants(case, wish) {
            let Some(subject) = write::subject_with_edits(case.subject, case.settings.sources, &edits) else {
                continue;
            };
            // Each text is read once for each platform, and judged as it was seen.
            let Some(seen) = subject_with_saved_observations(&subject, case.before, &case.platforms, Some) else {
                continue;
            };
            let observed = observations_on_platform(&seen, &case.platform)
                .filter(|seen| wish.is_fulfilled_by(seen) && is_compat_removed(case, wish, seen));
            let Some(observed) = observed.filter(|_| other_stages::are_other_bases_known(case, &subject)) else {
                continue;
            };
            if let Some(why) = find_build_obstacle(case, wish, &edits, observed) {
                hindered.get_or_insert((seen, why));
                continue;
            }
            if !self.take_trial() {
                return None;
            }
            let fates = self.judge_changed_subject(case, &seen, told);
            return Some(TrialOutcome { edits, elsewhere, by_hand: None, subject: Some(subject), fates });
        }
        // What somebody names in a text that is not edited is changed there by hand.
        let (seen, why) = match hindered {
            Some(found) => found,
            None if is_target_observed(case, wish) => (
                subject_with_observations(case.subject, case.before, observations_with_change(case, wish)?),
                NO_SINGLE_VALUE,
            ),
            None => return None,
        };
        if !self.take_trial() {
            return None;
        }
        Some(TrialOutcome::without_edits(self.judge_changed_subject(case, &seen, told), None, Some(why)))
    }

    /// Judges a changed subject on the aimed pools, and on all others if it helps on one.
    fn judge_changed_subject(
        &self,
        case: &FixContext<'_>,
        subject: &AnalysisSubject,
        told: TrialDetail,
    ) -> Vec<TrialVerdict> {
        let inferred = InferenceCache::default();
        let judged = |pools: &[String], detail| {
            let settings = AnalysisSettings { pools, detail, ..case.settings };
            case.with_search_state(|doubts| {
                judge::judge_with_replay_cache(subject, settings, self.means.hosts, &inferred, doubts)
            })
        };
        let runs = whole_subject_verdicts(case.before);
        let (aimed, others): (Vec<_>, Vec<_>) = runs.partition(|one| case.aim.includes(one.fate));
        let [aimed, others] =
            [aimed, others].map(|list| list.into_iter().map(|one| one.pool.clone()).collect::<Vec<String>>());
        let settings = AnalysisSettings { pools: &aimed, detail: ReportDetail::Steps, ..case.settings };
        let mut found = match told {
            TrialDetail::Ends => return trial_verdicts(&judged(&aimed, ReportDetail::Fates)),
            TrialDetail::Fates => trial_verdicts_with_steps(case, &judged(&aimed, ReportDetail::Steps)),
            TrialDetail::Help => {
                let ask = |doubts: &mut ImprovementGoals| {
                    judge::judge_with_goals(subject, settings, self.means.hosts, &inferred, doubts)
                };
                trial_verdicts_with_steps(case, &case.with_search_state(ask))
            }
        };
        if !others.is_empty() && found.iter().any(|one| one.fate == VerdictKind::Starts || one.lifted) {
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
                    self.means.hosts_with_driver(pool, *version, settings.as_of, settings)
                }
                _ => Arc::new(FleetHosts::for_fleet(settings)),
            };
            let told = judge::judge_with_goals(subject, settings, &hosts, inferred, &mut case.new_search_state());
            for fate in trial_verdicts_with_steps(case, &told) {
                if let Some(known) = found.iter_mut().find(|one| one.pool == fate.pool) {
                    *known = fate;
                }
            }
        }
        found
    }
}

/// Returns the observations as they would be with a change; `None` where that is unknown.
fn observations_with_change(case: &FixContext<'_>, wish: &ProposedChange) -> Option<Observations> {
    apply_to_observations(wish, &case.seen, case.knowledge()).filter(|seen| wish.is_fulfilled_by(seen))
}

/// Whether no compat library remains, if the change is to remove it.
fn is_compat_removed(case: &FixContext<'_>, wish: &ProposedChange, seen: &Observations) -> bool {
    let left = || infer_image_facts(seen, &case.platform, case.settings.as_of, case.knowledge());
    !wish.drops_compat() || left().iter().all(|image| image.compat.known().is_none())
}

/// Wraps a value as declared, with the default span.
fn with_default_span<T>(value: T) -> Declared<T> {
    Declared { value, span: Span::default() }
}

/// Returns the subject with its content replaced by fixed observations.
pub(super) fn subject_with_observations(
    subject: &AnalysisSubject,
    before: &model::Subject,
    seen: Observations,
) -> AnalysisSubject {
    let only = Some(PoolRestriction::Pools(whole_subject_verdicts(before).map(|one| one.pool.clone()).collect()));
    AnalysisSubject { content: SubjectContent::Fixed(Box::new(seen)), only, ..subject_without_content(subject) }
}

/// Returns the observations of a subject on one platform.
fn observations_on_platform<'a>(subject: &'a AnalysisSubject, platform: &str) -> Option<&'a Observations> {
    match &subject.content {
        SubjectContent::Saved(saved) => saved.for_platform(platform).map(|one| &one.seen),
        SubjectContent::Fixed(seen) => Some(seen),
        SubjectContent::Dockerfile { .. } | SubjectContent::ByPlatform(_) => None,
    }
}

/// Returns the subject as saved observations per platform, each with a change; `None` where it cannot be observed.
pub(super) fn subject_with_saved_observations(
    subject: &AnalysisSubject,
    before: &model::Subject,
    platforms: &[String],
    change: impl Fn(Observations) -> Option<Observations>,
) -> Option<AnalysisSubject> {
    let on = |platform: &String| {
        let seen = change(judge::observations_for_platform(&subject.content, platform)?)?;
        Some(OnPlatform { platform: platform.clone(), stage: None, stages: Vec::new(), notes: Vec::new(), seen })
    };
    let platforms = platforms.iter().map(on).collect::<Option<Vec<_>>>()?;
    let content = SubjectContent::Saved(SavedSubject { dockerfile: None, platforms });
    let only = Some(PoolRestriction::Pools(whole_subject_verdicts(before).map(|one| one.pool.clone()).collect()));
    Some(AnalysisSubject { content, only, kind: SubjectKind::Description, ..subject_without_content(subject) })
}

/// Copies a subject without its content, which is the larger part of it.
pub(super) fn subject_without_content(subject: &AnalysisSubject) -> AnalysisSubject {
    AnalysisSubject {
        name: subject.name.clone(),
        path: subject.path.clone(),
        kind: subject.kind,
        digest: subject.digest.clone(),
        images: subject.images.clone(),
        notes: Vec::new(),
        as_of: subject.as_of,
        only: subject.only.clone(),
        start: subject.start,
        named_at: None,
        content: SubjectContent::Fixed(Box::default()),
    }
}

/// Returns the verdicts of a judged subject, one per pool.
pub(super) fn trial_verdicts(subject: &model::Subject) -> Vec<TrialVerdict> {
    let fate = |verdict: &model::Verdict| TrialVerdict {
        pool: verdict.pool.clone(),
        fate: verdict.fate,
        outcome: verdict.outcome,
        lifted: false,
        compiled: verdict.route == Some(StartRoute::Jit),
        minor: verdict.route == Some(StartRoute::MinorVersion),
    };
    whole_subject_verdicts(subject).map(fate).collect()
}

/// Returns the verdicts of a subject judged step by step, marking pools on which the old failure is gone.
fn trial_verdicts_with_steps(case: &FixContext<'_>, told: &model::Subject) -> Vec<TrialVerdict> {
    let mut found = trial_verdicts(told);
    let was =
        |pool: &str| whole_subject_verdicts(case.before).any(|one| one.pool == pool && case.aim.includes(one.fate));
    let open = |one: &TrialVerdict| TargetPools::Open.includes(one.fate) && was(&one.pool);
    for one in &mut found {
        let verdict = whole_subject_verdicts(told).find(|told| told.pool == one.pool);
        one.lifted = open(one) && verdict.is_some_and(|verdict| case.is_resolved(verdict, told));
    }
    found
}

/// Returns a subject whose files are read only once, however many changed texts are tested.
pub(super) fn subject_with_file_cache(subject: &AnalysisSubject) -> AnalysisSubject {
    let content = match subject.content.clone() {
        SubjectContent::Dockerfile { source, dockerfile, options, files, bases, early } => {
            SubjectContent::Dockerfile { source, dockerfile, options, files: files.with_parse_caches(), bases, early }
        }
        content @ (SubjectContent::Fixed(_) | SubjectContent::ByPlatform(_) | SubjectContent::Saved(_)) => content,
    };
    AnalysisSubject { content, ..subject_without_content(subject) }
}

/// Returns a subject with another Dockerfile text and other files.
pub(super) fn subject_with_dockerfile(
    subject: &AnalysisSubject,
    dockerfile: LazyDockerfile,
    files: crate::context::ContextFiles,
) -> Option<AnalysisSubject> {
    let SubjectContent::Dockerfile { source, options, bases, .. } = &subject.content else { return None };
    let (source, options, bases, early) =
        (*source, options.clone(), Arc::clone(bases), CachedTargetObservations::default());
    let content = SubjectContent::Dockerfile { source, dockerfile, options, files, bases, early };
    Some(AnalysisSubject { content, ..subject_without_content(subject) })
}
