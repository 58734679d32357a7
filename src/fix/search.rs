//! The search for fixes: candidates of every kind, the smallest first, each tested on all pools.

use crate::fix::fix_context::{FixContext, TargetPools};
use crate::fix::search_resources::SearchResources;
use crate::fix::single_changes::single_change_fixes;
use crate::fix::tested_fix::{TestedFix, rank_fixes, test_until_sufficient};
use crate::fix::trial::TrialRunner;
use crate::fix::{
    arch_lists, base_and_build_pair, base_downgrades, change_sequence, driver_and_image_change, framework, pool_split,
    trial,
};
use crate::judge::{AnalysisSettings, AnalysisSubject};
use crate::report::kinds::ChangeKind;
use crate::report::model;

/// The result of a search for fixes.
#[derive(Clone, Debug, Default)]
pub struct FixSearchResult {
    /// The best fix of each kind, then the others: no broken pools first, more fixed pools first, smallest first.
    pub tried: Vec<TestedFix>,
    /// Why no single fix covers all pools, and how to split them into two images.
    pub split: Option<String>,
    /// Whether candidates were skipped because the trial budget was used up.
    pub cut: bool,
}

/// Searches fixes of some kinds for the pools that the aim selects.
pub(super) fn search_fixes(
    target_pools: TargetPools,
    kinds: &[ChangeKind],
    subject: &AnalysisSubject,
    before: &model::Subject,
    settings: AnalysisSettings<'_>,
    resources: &SearchResources<'_>,
) -> FixSearchResult {
    let Some(case) = FixContext::try_new(target_pools, subject, before, settings, resources.hosts) else {
        return FixSearchResult::default();
    };
    let all = case.target_pools().count();
    let certain = target_pools == TargetPools::Failing;
    let most = if certain { trial::MAX_TRIALS } else { trial::MAX_TRIALS_UNDETERMINED };
    let mut trials = TrialRunner::new(resources, trial::trial_budget(subject, most));
    let mut tried = single_change_fixes(kinds, &case, &mut trials);
    let of_image = |one: &TestedFix| {
        one.kind.changes_image() && one.breaks.is_empty() && one.helped_pool_count(target_pools) == all
    };
    if certain && !tried.iter().any(of_image) {
        tried.extend(base_and_build_pair::find_pair(&case, &mut trials));
    }
    if certain && !tried.iter().any(|one| of_image(one) && !one.compiled) {
        tried.extend(test_until_sufficient(
            &arch_lists::arch_list_candidates_on_other_bases(&case),
            &case,
            &mut trials,
        ));
    }
    if certain && !tried.iter().any(of_image) {
        tried = rank_fixes(tried, &case);
        let more = change_sequence::find_sequences(&case, &tried, &mut trials);
        tried.extend(more);
    }
    // The last resort: an old release on a newer GPU, whose code is compiled at start-up, is none.
    if certain && kinds.contains(&ChangeKind::FrameworkVersion) && !tried.iter().any(of_image) {
        let further = test_until_sufficient(&framework::distant_version_candidates(&case), &case, &mut trials);
        tried.extend(further.into_iter().filter(|one| !one.compiled));
    }
    if certain && kinds.contains(&ChangeKind::Driver) {
        tried.extend(driver_and_image_change::find_driver_and_image_change(&case, &tried, &mut trials));
    }
    let split = if certain { pool_split::describe_split(&case, &tried) } else { None };
    FixSearchResult {
        tried: drop_backward_fixes(rank_fixes(tried, &case), target_pools),
        split,
        cut: trials.remaining() == 0,
    }
}

/// Drops fixes that go back to an older CUDA major release or base OS, where other image fixes help the same pools.
fn drop_backward_fixes(tried: Vec<TestedFix>, target_pools: TargetPools) -> Vec<TestedFix> {
    let (back, onward): (Vec<bool>, Vec<&TestedFix>) = (
        tried.iter().map(|one| base_downgrades::is_downgrade(&one.change)).collect(),
        tried.iter().filter(|one| one.kind.changes_image() && !base_downgrades::is_downgrade(&one.change)).collect(),
    );
    let needless = |one: &TestedFix| {
        let others = || onward.iter().filter(|other| other.breaks.iter().all(|pool| one.breaks.contains(pool)));
        let starts = |pool: &String| others().any(|other| other.starting_pools(target_pools).contains(pool));
        let eases =
            |pool: &String| starts(pool) || others().any(|other| other.improved_pools(target_pools).contains(pool));
        one.starting_pools(target_pools).iter().all(starts) && one.improved_pools(target_pools).iter().all(eases)
    };
    let kept: Vec<bool> = tried.iter().zip(back).map(|(one, back)| !back || !needless(one)).collect();
    tried.into_iter().zip(kept).filter_map(|(one, kept)| kept.then_some(one)).collect()
}
