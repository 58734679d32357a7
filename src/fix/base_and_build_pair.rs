//! Two image changes together: a base image that makes progress, and a framework build that starts on it.

use crate::fix::fix_context::FixContext;
use crate::fix::tested_fix::test_candidate;
use crate::fix::trial::TrialRunner;
use crate::fix::trial_verdict::trial_verdicts;
use crate::fix::{FixCandidate, ProposedChange, TestedFix, TrialVerdict, base_image_tags, compat_library, framework};
use crate::report::kinds::{ChangeKind, VerdictKind};

/// The largest number of base images that are combined with builds.
const MAX_BASES: usize = 4;
/// The largest number of builds for each base image.
const MAX_BUILDS_PER_BASE: usize = 5;

/// The results of one base image with several builds.
#[derive(Default)]
struct PairResults {
    /// Whether it gets further than the image does.
    further: bool,
    /// The first pair that helps.
    found: Option<TestedFix>,
    /// Whether that helps on every pool.
    enough: bool,
}

impl PairResults {
    /// Adds the results of the next base image, and returns whether more are needed.
    fn merge_next(&mut self, next: Self) -> bool {
        self.enough = next.enough;
        self.found = if next.enough { next.found } else { self.found.take().or(next.found) };
        !self.enough
    }
}

/// Returns the smallest pair that helps on every pool, else the first that helps.
pub(super) fn find_pair(case: &FixContext<'_>, trials: &mut TrialRunner<'_>) -> Option<TestedFix> {
    let builds = framework::framework_variant_candidates(case);
    if builds.is_empty() {
        return None;
    }
    let before = trial_verdicts(case.before);
    let compat = compat_library::compat_candidates(case);
    let dropped = compat.iter().find(|one| one.change == ProposedChange::DropCompat);
    let of_base = |base: &FixCandidate, dropped: Option<&FixCandidate>, trials: &mut TrialRunner<'_>| {
        let gets_further = trials
            .test_on_aimed_pools(case, &base.change)
            .is_some_and(|outcome| changes_failure(&before, &outcome.verdicts));
        if gets_further { evaluate_pairs(case, base, &builds, dropped, trials) } else { PairResults::default() }
    };
    let (mut all, mut further) = (PairResults::default(), 0);
    let bases = base_image_tags::base_tag_candidates(case);
    trials.run_each(
        &bases,
        |base, trials| of_base(base, dropped, trials),
        |one| {
            further += usize::from(one.further);
            all.merge_next(one) && further < MAX_BASES
        },
    );
    if !all.enough {
        trials.run_each(&compat, |one, trials| of_base(one, None, trials), |one| all.merge_next(one));
    }
    all.found
}

/// Evaluates a base image with each build, and without its compat library where the pair does not help.
fn evaluate_pairs(
    case: &FixContext<'_>,
    base: &FixCandidate,
    builds: &[FixCandidate],
    dropped: Option<&FixCandidate>,
    trials: &mut TrialRunner<'_>,
) -> PairResults {
    let all = case.target_pools().count();
    let mut found: Option<TestedFix> = None;
    for build in builds.iter().take(MAX_BUILDS_PER_BASE) {
        let pair = combine_candidates(base, build);
        let without = || dropped.map(|compat| combine_candidates(&pair, compat));
        let one = match test_candidate(case, pair.clone(), trials) {
            Some(one) => Some(one),
            None => without().and_then(|three| test_candidate(case, three, trials)),
        };
        let Some(one) = one else { continue };
        if one.breaks.is_empty() && one.helped_pool_count(case.target_pools) == all {
            return PairResults { further: true, found: Some(one), enough: true };
        }
        found = found.or(Some(one));
    }
    PairResults { further: true, found, enough: false }
}

/// Whether a pool that failed before now has another result.
fn changes_failure(before: &[TrialVerdict], after: &[TrialVerdict]) -> bool {
    before.iter().filter(|one| one.verdict == VerdictKind::Fails).any(|one| {
        after.iter().any(|now| now.pool == one.pool && (&now.verdict, &now.outcome) != (&one.verdict, &one.outcome))
    })
}

/// Combines two candidates into one.
fn combine_candidates(base: &FixCandidate, build: &FixCandidate) -> FixCandidate {
    FixCandidate {
        kind: ChangeKind::BaseTag.max(base.kind),
        step: 1_000 + base.step + build.step,
        title: format!("{}, and {}", base.title, build.title),
        safety: base.safety.max(build.safety),
        change: ProposedChange::All([single_changes(&base.change), single_changes(&build.change)].concat()),
    }
}

/// Returns the single changes that a change consists of.
fn single_changes(change: &ProposedChange) -> Vec<ProposedChange> {
    match change {
        ProposedChange::All(list) => list.clone(),
        one => vec![one.clone()],
    }
}
