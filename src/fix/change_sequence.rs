//! Sequences of several image changes, each of which gets the start-up past one more failure.

use crate::dockerfile::edit::SourceEdit;
use crate::fix::changed_subject::{edited_texts, sources_with_texts};
use crate::fix::fix_context::FixContext;
use crate::fix::single_changes::single_change_fixes;
use crate::fix::tested_fix::{rank_fixes, test_candidate};
use crate::fix::trial::TrialRunner;
use crate::fix::trial_verdict::{makes_progress, trial_verdicts};
use crate::fix::versions::FAR_STEP;
use crate::fix::{
    FixCandidate, ProposedChange, TestedFix, base_image_tags, compat_library, environment_variables, framework,
    image_platforms,
};
use crate::judge;
use crate::judge::{AnalysisSettings, AnalysisSubject, ReportDetail};
use crate::report::kinds::ChangeKind;

/// The largest number of changes in a sequence.
const MAX_CHANGES: usize = 3;
/// The largest number of first changes that are extended.
const MAX_FIRST_CHANGES: usize = 4;
/// The largest number of first changes that already help on some pools.
const MAX_HELPFUL_FIRST_CHANGES: usize = 2;
/// The largest number of candidates of one kind that are checked for progress.
const MAX_CANDIDATES_PER_KIND: usize = 6;
/// The largest number of trials that extend all first changes together.
const MAX_FOLLOW_UP_TRIALS: usize = 160;

/// The first change of a sequence, with the changed subject and the edits.
struct FirstChange {
    candidate: FixCandidate,
    subject: AnalysisSubject,
    edits: Vec<SourceEdit>,
}

/// Returns the smallest sequences that help on every pool, else those that help on more pools than any single change.
pub(super) fn find_sequences(
    case: &FixContext<'_>,
    tried: &[TestedFix],
    trials: &mut TrialRunner<'_>,
) -> Vec<TestedFix> {
    let all = case.target_pools().count();
    let mut found = Vec::new();
    let mut behind = MAX_FOLLOW_UP_TRIALS.min(trials.remaining());
    for first in find_first_changes(case, tried, trials) {
        let mut own = trials.with_budget(behind);
        let chain = extend_sequence(case, first, &mut own);
        let used = behind - own.remaining();
        trials.spend(used);
        behind -= used;
        let Some(one) = chain.and_then(|candidate| test_candidate(case, candidate, trials)) else { continue };
        let done = one.breaks.is_empty() && one.starting_pools(case.target_pools).len() == all;
        let starts_same_pools = |other: &TestedFix| {
            one.starting_pools(case.target_pools)
                .iter()
                .all(|pool| other.starting_pools(case.target_pools).contains(pool))
        };
        if !tried.iter().any(starts_same_pools) {
            found.push(one);
        }
        if done {
            break;
        }
    }
    found
}

/// Returns the changes that a sequence can begin with: those that help on some pools, and those that fail later.
fn find_first_changes(case: &FixContext<'_>, tried: &[TestedFix], trials: &mut TrialRunner<'_>) -> Vec<FirstChange> {
    let mut found: Vec<FirstChange> = Vec::new();
    for one in tried.iter().filter(|one| one.kind.changes_image() && one.breaks.is_empty() && one.step < FAR_STEP) {
        if one.starting_pools(case.target_pools).is_empty() || found.len() == MAX_HELPFUL_FIRST_CHANGES {
            continue;
        }
        let Some(outcome) = trials.test_change(case, &one.change) else { continue };
        let Some(subject) = outcome.subject else { continue };
        let (title, change) = (one.title.clone(), one.change.clone());
        let candidate = FixCandidate { kind: one.kind, step: one.step, title, safety: one.safety, change };
        found.push(FirstChange { candidate, subject, edits: outcome.edits });
    }
    let before = trial_verdicts(case.before);
    let kinds = [
        image_platforms::platform_candidates(case),
        environment_variables::environment_candidates(case),
        compat_library::driver_library_candidates(case),
        compat_library::compat_candidates(case),
        framework::framework_variant_candidates(case),
        base_image_tags::base_tag_candidates(case),
    ];
    let all_candidates = kinds.into_iter().flat_map(|list| list.into_iter().take(MAX_CANDIDATES_PER_KIND));
    let untried: Vec<FixCandidate> =
        all_candidates.filter(|proposed| !tried.iter().any(|one| one.change == proposed.change)).collect();
    let first = |candidate: &FixCandidate, trials: &mut TrialRunner<'_>| {
        let outcome = trials.test_change(case, &candidate.change)?;
        let subject = outcome.subject.filter(|_| makes_progress(&before, &outcome.verdicts))?;
        Some(FirstChange { candidate: candidate.clone(), subject, edits: outcome.edits })
    };
    trials.run_each(&untried, first, |first| {
        found.extend(first);
        found.len() < MAX_FIRST_CHANGES
    });
    found
}

/// Extends a first change until the image starts on every pool or nothing more helps; `None` if nothing was added.
fn extend_sequence(case: &FixContext<'_>, first: FirstChange, trials: &mut TrialRunner<'_>) -> Option<FixCandidate> {
    let FirstChange { mut candidate, mut subject, edits } = first;
    let mut sources = case.settings.sources.clone();
    sources = sources_with_texts(&sources, &edited_texts(&sources, &edits)?);
    let kinds: Vec<ChangeKind> = ChangeKind::ALL.iter().copied().filter(|kind| kind.changes_image()).collect();
    let mut any = false;
    for _ in 1..MAX_CHANGES {
        let settings = AnalysisSettings { sources: &sources, detail: ReportDetail::Fates, ..case.settings };
        let hosts = trials.resources.hosts;
        let judged = judge::judge_on_hosts(&subject, settings, hosts);
        let Some(next) = FixContext::try_new(case.target_pools, &subject, &judged, settings, hosts) else { break };
        let found = rank_fixes(single_change_fixes(&kinds, &next, trials), &next);
        let helps = |one: &TestedFix| one.breaks.is_empty() && !one.starting_pools(case.target_pools).is_empty();
        let Some(one) = found.into_iter().find(helps) else { break };
        candidate = combine_changes(candidate, &one)?;
        any = true;
        // A change without edits leaves no text for a further change.
        let Some(then) = one.subject.clone().filter(|_| !one.edits.is_empty()) else { break };
        sources = sources_with_texts(&sources, &edited_texts(&sources, &one.edits)?);
        subject = then;
    }
    any.then_some(candidate)
}

/// Combines two changes into one candidate; `None` if both change the same thing.
fn combine_changes(first: FixCandidate, then: &TestedFix) -> Option<FixCandidate> {
    let mut all = match first.change {
        ProposedChange::All(list) => list,
        one => vec![one],
    };
    if let ProposedChange::Env(more) = &then.change
        && let Some(ProposedChange::Env(list)) = all.iter_mut().find(|one| matches!(one, ProposedChange::Env(_)))
    {
        list.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        list.extend(more.iter().cloned());
    } else if all.iter().any(|one| changes_same_thing(one, &then.change)) {
        return None;
    } else {
        all.push(then.change.clone());
    }
    let far = if first.step >= FAR_STEP || then.step >= FAR_STEP { FAR_STEP } else { 0 };
    Some(FixCandidate {
        kind: first.kind.max(then.kind),
        step: far + 1_000 + first.step % FAR_STEP + then.step % FAR_STEP,
        title: format!("{}, and {}", first.title, then.title),
        safety: first.safety.max(then.safety),
        change: ProposedChange::All(all),
    })
}

/// Whether two changes affect the same package or the same kind of value.
fn changes_same_thing(one: &ProposedChange, other: &ProposedChange) -> bool {
    match (one, other) {
        (ProposedChange::Build { package: one, .. }, ProposedChange::Build { package: other, .. }) => {
            one.name == other.name
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}
