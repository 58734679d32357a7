//! Fixes that were tested on the pools: how candidates are tested, and the order of those that help.

use crate::dockerfile::edit::SourceEdit;
use crate::fix::fix_context::{FixContext, TargetPools};
use crate::fix::kind::Cost;
use crate::fix::trial::TrialRunner;
use crate::fix::trial_verdict::{TrialVerdict, trial_verdicts};
use crate::fix::versions::FAR_STEP;
use crate::fix::{FixCandidate, ProposedChange, base_downgrades};
use crate::judge::AnalysisSubject;
use crate::report::kinds::{ChangeKind, FixSafety, VerdictKind};
use crate::report::model::FixDrivers;

/// Note in the title of a fix that relies on CUDA minor version compatibility.
const MINOR_VERSION_NOTE: &str =
    "by minor version compatibility: code that requires the newer driver still fails with CUDA error 36";

/// A change that was tested on the pools and helps on at least one of them.
#[derive(Clone, Debug)]
pub struct TestedFix {
    /// `ChangeKind` of the change.
    pub kind: ChangeKind,
    /// Distance from the present state, within the kind.
    pub step: usize,
    /// One-line title.
    pub title: String,
    /// How safe the change is for everything else in the image.
    pub safety: FixSafety,
    /// The change.
    pub change: ProposedChange,
    /// The edits to write.
    pub edits: Vec<SourceEdit>,
    /// The verdicts with the change, one per pool.
    pub verdicts: Vec<TrialVerdict>,
    /// Pools on which the image starts with the change and failed before.
    pub cures: Vec<String>,
    /// Pools on which the image certainly starts with the change and might have failed before.
    pub settles: Vec<String>,
    /// Pools on which the failure is gone with the change, but a start is still undetermined.
    pub lifts: Vec<String>,
    /// Pools on which the image might have failed before, and less is undetermined with the change.
    pub narrows: Vec<String>,
    /// Pools on which the image no longer starts with the change.
    pub breaks: Vec<String>,
    /// Whether the image starts on one of the fixed pools only with PTX compiled at start-up.
    pub compiled: bool,
    /// The assumption about unread parts of the image under which the change helps.
    pub supposed: Option<String>,
    /// Drivers with which the image starts after the change; only for a newer base together with a newer release.
    pub drivers: Vec<FixDrivers>,
    /// The changed subject, where its texts or its observations differ.
    pub subject: Option<AnalysisSubject>,
}

impl TestedFix {
    /// Returns the pools of this aim on which the image starts with the change.
    pub(super) fn starting_pools(&self, target_pools: TargetPools) -> &[String] {
        match target_pools {
            TargetPools::Failing => &self.cures,
            TargetPools::Open => &self.settles,
        }
    }

    /// Returns the pools of this aim on which the change helps without a certain start.
    pub(super) fn improved_pools(&self, target_pools: TargetPools) -> &[String] {
        match target_pools {
            TargetPools::Failing => &self.lifts,
            TargetPools::Open => &self.narrows,
        }
    }

    /// Returns the number of pools of this aim on which the change helps.
    pub(super) fn helped_pool_count(&self, target_pools: TargetPools) -> usize {
        self.starting_pools(target_pools).len() + self.improved_pools(target_pools).len()
    }
}

/// Tests a candidate on the pools; `None` where it helps on none of them.
pub(super) fn test_candidate(
    case: &FixContext<'_>,
    candidate: FixCandidate,
    trials: &mut TrialRunner<'_>,
) -> Option<TestedFix> {
    let outcome = trials.test_if_helpful(case, &candidate.change)?;
    if base_downgrades::is_rejected_downgrade(case, &candidate.change, outcome.subject.as_ref()) {
        return None;
    }
    let before = trial_verdicts(case.before);
    let starts = |list: &[TrialVerdict], pool: &str| {
        list.iter().any(|one| one.pool == pool && one.verdict == VerdictKind::Starts)
    };
    let (mut cures, mut settles, mut lifts, mut narrows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut breaks = Vec::new();
    for one in &before {
        let failed = TargetPools::Failing.includes(one.verdict);
        let eased = outcome.verdicts.iter().any(|now| now.pool == one.pool && now.blocker_passes);
        let list = match (one.verdict == VerdictKind::Starts, starts(&outcome.verdicts, &one.pool)) {
            (false, true) if failed => &mut cures,
            (false, true) => &mut settles,
            (true, false) => &mut breaks,
            (false, false) if eased && failed => &mut lifts,
            (false, false) if eased => &mut narrows,
            _ => continue,
        };
        list.push(one.pool.clone());
    }
    let FixCandidate { kind, step, mut title, safety, change } = candidate;
    let started = |one: &&TrialVerdict| cures.contains(&one.pool) || settles.contains(&one.pool);
    let compiled = outcome.verdicts.iter().filter(started).any(|one| one.compiled);
    // Of a change that was tried alone before, the title may say it already.
    let also = |title: &mut String, words: &str| {
        if !title.contains(words) {
            title.extend([", ", words]);
        }
    };
    // PTX carries a program to a newer GPU, and not the libraries of CUDA that it calls.
    let safety = if compiled { safety.max(FixSafety::Unsafe) } else { safety };
    if compiled {
        also(&mut title, "with PTX compiled at start-up");
    }
    if change.drops_compat() && outcome.verdicts.iter().filter(started).any(|one| one.minor) {
        also(&mut title, MINOR_VERSION_NOTE);
    }
    if let Some(why) = outcome.manual_reason {
        also(&mut title, why);
    }
    // What takes its wheels from a mirror may have no way to another index.
    let safety = if outcome.elsewhere { safety.max(FixSafety::Unsafe) } else { safety };
    if outcome.elsewhere {
        also(&mut title, "if the build can reach its index");
    }
    // Without an edit of a file, the fix is manual.
    let safety = if outcome.edits.is_empty() { FixSafety::Manual } else { safety };
    let edits = if safety == FixSafety::Manual { Vec::new() } else { outcome.edits };
    let tried = TestedFix {
        kind,
        step,
        title,
        safety,
        change,
        edits,
        verdicts: outcome.verdicts,
        cures,
        settles,
        lifts,
        narrows,
        breaks,
        compiled,
        supposed: None,
        drivers: Vec::new(),
        subject: outcome.subject,
    };
    (tried.helped_pool_count(case.target_pools) > 0).then_some(tried)
}

/// Tests candidates in order until one helps on all pools, and returns those that help.
pub(super) fn test_until_sufficient(
    candidates: &[FixCandidate],
    case: &FixContext<'_>,
    trials: &mut TrialRunner<'_>,
) -> Vec<TestedFix> {
    let (target_pools, all) = (case.target_pools, case.target_pools().count());
    let mut tried = Vec::new();
    let one = |candidate: &FixCandidate, trials: &mut TrialRunner<'_>| test_candidate(case, candidate.clone(), trials);
    trials.run_each(candidates, one, |one| {
        let Some(one) = one else { return true };
        // If a verdict still depends on a field of the pool, the next candidate may fix it.
        let hangs = |now: &TrialVerdict| now.verdict == VerdictKind::Depends && one.lifts.contains(&now.pool);
        let enough = one.breaks.is_empty()
            && one.helped_pool_count(target_pools) == all
            && !one.compiled
            && !one.verdicts.iter().any(hangs);
        tried.push(one);
        !enough
    });
    tried
}

/// Ranks fixes: the best of each kind first, then those that no smaller fix of the kind replaces.
pub(super) fn rank_fixes(mut tried: Vec<TestedFix>, case: &FixContext<'_>) -> Vec<TestedFix> {
    let (target_pools, all) = (case.target_pools, case.target_pools().count());
    let cost = |one: &TestedFix| Cost {
        breaks: !one.breaks.is_empty(),
        helpless: all - one.helped_pool_count(target_pools).min(all),
        compiled: one.compiled,
        far: one.step >= FAR_STEP,
        left: all - one.starting_pools(target_pools).len().min(all),
        changes: if let ProposedChange::All(list) = &one.change { list.len() } else { 1 },
        kind: one.kind,
        step: one.step,
    };
    tried.sort_by_key(cost);
    let (mut first, mut others): (Vec<TestedFix>, Vec<TestedFix>) = (Vec::new(), Vec::new());
    for one in tried {
        // A change that fixes no more and breaks no less than a smaller one of its kind is useless.
        let of_kind = || first.iter().chain(&others).filter(|other| other.kind == one.kind);
        let no_better = |other: &TestedFix| {
            other.safety <= one.safety
                && other.compiled <= one.compiled
                && one.starting_pools(target_pools).iter().all(|pool| other.starting_pools(target_pools).contains(pool))
                && one.improved_pools(target_pools).iter().all(|pool| {
                    other.starting_pools(target_pools).contains(pool)
                        || other.improved_pools(target_pools).contains(pool)
                })
                && other.breaks.iter().all(|pool| one.breaks.contains(pool))
        };
        if of_kind().next().is_none() {
            first.push(one);
        } else if !of_kind().any(no_better) {
            others.push(one);
        }
    }
    first.append(&mut others);
    first
}
