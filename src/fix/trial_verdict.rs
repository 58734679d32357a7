//! The verdicts of a trial, one for each pool, and whether they show progress.

use crate::model::outcome::Outcome;
use crate::replay::StartRoute;
use crate::report::kinds::VerdictKind;
use crate::report::model;

/// The verdict for an image on one node pool, before or with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialVerdict {
    /// Name of the node pool.
    pub pool: String,
    /// `starts`, `fails`, `depends`, `undetermined`, `not-applicable`.
    pub verdict: VerdictKind,
    /// How it fails.
    pub outcome: Option<Outcome>,
    /// Whether a step that stopped the start before, or may have, passes now, while the rest is undetermined.
    pub blocker_passes: bool,
    /// Whether the image starts only with PTX that the driver compiles at start-up.
    pub compiled: bool,
    /// Whether the image starts only through CUDA minor version compatibility.
    pub minor: bool,
}

/// Returns the verdicts of a judged subject, one per pool.
pub(super) fn trial_verdicts(subject: &model::Subject) -> Vec<TrialVerdict> {
    let to_trial = |verdict: &model::Verdict| TrialVerdict {
        pool: verdict.pool.clone(),
        verdict: verdict.fate,
        outcome: verdict.outcome,
        blocker_passes: false,
        compiled: verdict.route == Some(StartRoute::Jit),
        minor: verdict.route == Some(StartRoute::MinorVersion),
    };
    whole_subject_verdicts(subject).map(to_trial).collect()
}

/// Returns the verdicts on a subject as a whole, without those on single components.
pub(super) fn whole_subject_verdicts(subject: &model::Subject) -> impl Iterator<Item = &model::Verdict> {
    subject.verdicts.iter().filter(|one| one.component.is_none())
}

/// Whether some pool fails at a later step than before, and no pool at an earlier one.
pub(super) fn makes_progress(before: &[TrialVerdict], after: &[TrialVerdict]) -> bool {
    let failure = |one: &TrialVerdict| one.outcome;
    let pairs = || {
        let now = |was: &TrialVerdict| after.iter().find(|one| one.pool == was.pool).cloned();
        before.iter().filter_map(move |was| Some((was, now(was)?)))
    };
    let later = |(was, now): (&TrialVerdict, TrialVerdict)| {
        failure(was).is_some_and(|was| failure(&now).is_some_and(|now| was < now))
    };
    let worse = |(was, now): (&TrialVerdict, TrialVerdict)| match (was.verdict, now.verdict) {
        (VerdictKind::Fails, VerdictKind::Fails) => failure(&now) < failure(was),
        (VerdictKind::Starts, verdict) => verdict != VerdictKind::Starts,
        _ => false,
    };
    pairs().any(later) && !pairs().any(worse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool_result(pool: &str, outcome: Option<&str>) -> TrialVerdict {
        let verdict = if outcome.is_some() { VerdictKind::Fails } else { VerdictKind::Starts };
        TrialVerdict {
            pool: pool.to_owned(),
            verdict,
            outcome: outcome.map(|name| name.parse().expect("an outcome")),
            blocker_passes: false,
            compiled: false,
            minor: false,
        }
    }

    #[test]
    fn only_a_later_failure_is_progress() {
        let [early, late] = [Some("refused"), Some("no-kernel-image")];
        for (before, after, further) in [
            ([early, early], [late, early], true),
            ([early, None], [late, None], true),
            ([early, early], [early, early], false),
            ([late, early], [early, early], false),
            ([late, early], [early, late], false),
            ([early, None], [late, early], false),
            ([None, None], [None, None], false),
        ] {
            let list = |ends: [Option<&str>; 2]| {
                ["a", "b"].iter().zip(ends).map(|(pool, end)| pool_result(pool, end)).collect()
            };
            let [was, is]: [Vec<TrialVerdict>; 2] = [list(before), list(after)];
            assert_eq!(makes_progress(&was, &is), further, "{before:?} {after:?}");
        }
    }
}
