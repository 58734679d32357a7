//! A newer driver together with an image change, for a GPU that neither the driver nor the image supports.

use crate::cuda::DriverVersion;
use crate::fix::fix_context::FixContext;
use crate::fix::minimum_driver::{SubjectImages, with_driver};
use crate::fix::search_resources::SearchResources;
use crate::fix::single_changes::single_change_fixes;
use crate::fix::tested_fix::rank_fixes;
use crate::fix::trial::TrialRunner;
use crate::fix::trial_verdict::{makes_progress, trial_verdicts};
use crate::fix::{PoolChange, ProposedChange, TestedFix, base_and_build_pair, fleet_changes};
use crate::fleet::{Fleet, Pool};
use crate::judge;
use crate::judge::{AnalysisSettings, FleetHosts, ReportDetail};
use crate::report::kinds::{ChangeKind, FixSafety};

/// The largest number of pools that are considered.
const MAX_POOLS: usize = 4;
/// The largest number of trials of image changes on pools with a newer driver.
const MAX_TRIALS: usize = 100;

/// Returns the smallest combination of newer drivers and an image change, for the pools on which nothing else helps.
pub(super) fn find_driver_and_image_change(
    case: &FixContext<'_>,
    tried: &[TestedFix],
    trials: &mut TrialRunner<'_>,
) -> Option<TestedFix> {
    let helps = |one: &TestedFix, name: &String| {
        one.starting_pools(case.target_pools).contains(name) || one.improved_pools(case.target_pools).contains(name)
    };
    let stuck = case.target_pools().filter(|pool| !tried.iter().any(|one| helps(one, &pool.name.value)));
    let stuck: Vec<(&Pool, Vec<DriverVersion>)> = stuck
        .take(MAX_POOLS)
        .map(|pool| (pool, drivers_with_progress(case, pool)))
        .filter(|(_, drivers)| !drivers.is_empty())
        .collect();
    let first: Vec<(&Pool, DriverVersion)> =
        stuck.iter().filter_map(|(pool, drivers)| Some((*pool, *drivers.first()?))).collect();
    let last: Vec<(&Pool, DriverVersion)> =
        stuck.iter().filter_map(|(pool, drivers)| Some((*pool, *drivers.last()?))).collect();
    let found = find_image_change(case, &first, trials);
    let other = stuck.iter().any(|(_, drivers)| drivers.len() > 1);
    found.or_else(|| other.then(|| find_image_change(case, &last, trials)).flatten())
}

/// Returns newer drivers with which a pool fails later: the first such release of the first branch, and the newest
/// release.
fn drivers_with_progress(case: &FixContext<'_>, pool: &Pool) -> Vec<DriverVersion> {
    let before = trial_verdicts(case.before);
    let newer = fleet_changes::newer_drivers(case, pool);
    let does = |version: DriverVersion| {
        let fleet = Fleet { pools: vec![with_driver(pool, version)], ..case.settings.fleet.clone() };
        let settings = AnalysisSettings { fleet: &fleet, pools: &[], detail: ReportDetail::Fates, ..case.settings };
        makes_progress(
            &before,
            &trial_verdicts(&judge::judge_on_hosts(
                case.observed_subject(),
                settings,
                &FleetHosts::for_fleet(settings),
            )),
        )
    };
    let Some(first) = fleet_changes::first_sufficient_release(&newer, does) else { return Vec::new() };
    let last = newer.last().copied().filter(|last| *last != first && does(*last));
    [Some(first), last].into_iter().flatten().collect()
}

/// Returns the smallest image change that starts on some of these pools with these drivers, with code that was
/// compiled for their GPUs.
fn find_image_change(
    case: &FixContext<'_>,
    moved: &[(&Pool, DriverVersion)],
    trials: &mut TrialRunner<'_>,
) -> Option<TestedFix> {
    let driver = |pool: &Pool| moved.iter().find(|(one, _)| one.name == pool.name).map(|(_, driver)| *driver);
    let of_pool = |pool: &Pool| driver(pool).map_or_else(|| pool.clone(), |driver| with_driver(pool, driver));
    let fleet = Fleet { pools: case.settings.fleet.pools.iter().map(of_pool).collect(), ..case.settings.fleet.clone() };
    let settings = AnalysisSettings { fleet: &fleet, detail: ReportDetail::Fates, ..case.settings };
    let hosts = FleetHosts::for_fleet(settings);
    let judged = judge::judge_on_hosts(case.subject, settings, &hosts);
    let next = FixContext::try_new(case.target_pools, case.subject, &judged, settings, &hosts)?;
    let left = trials.remaining().min(MAX_TRIALS);
    let means = SearchResources::new(&hosts, trials.resources.threads);
    let mut own = TrialRunner::new(&means, left);
    let kinds: Vec<ChangeKind> = ChangeKind::ALL.iter().copied().filter(|kind| kind.changes_image()).collect();
    let starts = |one: &TestedFix| {
        let written_off = one.compiled || !one.breaks.is_empty();
        !written_off && moved.iter().any(|(pool, _)| one.starting_pools(case.target_pools).contains(&pool.name.value))
    };
    let one = rank_fixes(single_change_fixes(&kinds, &next, &mut own), &next).into_iter().find(starts);
    let one = one.or_else(|| base_and_build_pair::find_pair(&next, &mut own).filter(starts));
    trials.spend(left.saturating_sub(own.remaining()));
    combine_with_drivers(case, moved, one?)
}

/// Combines an image change with the smallest driver of each pool on which the changed image starts.
fn combine_with_drivers(case: &FixContext<'_>, moved: &[(&Pool, DriverVersion)], one: TestedFix) -> Option<TestedFix> {
    let knowledge = case.knowledge();
    let subject = one.subject.as_ref()?;
    let starting = moved.iter().filter(|(pool, _)| one.starting_pools(case.target_pools).contains(&pool.name.value));
    let changes = starting.map(|(pool, driver)| {
        let images = SubjectImages::infer(subject, &pool.platforms(knowledge), case.settings.as_of, knowledge);
        let starts = |version| {
            let hosts = with_driver(pool, version).hosts(knowledge, images.day());
            images.starts_on_hosts(&hosts, knowledge, &mut 0)
        };
        let smallest = fleet_changes::first_sufficient_release(&fleet_changes::newer_drivers(case, pool), starts)
            .unwrap_or(*driver);
        (pool.name.value.clone(), PoolChange::Driver(smallest))
    });
    let drivers = fleet_changes::driver_change_candidate(changes.collect()).into_iter().next()?;
    Some(TestedFix {
        kind: ChangeKind::Driver,
        title: format!("{}, and {}", drivers.title, one.title),
        safety: FixSafety::Manual,
        change: ProposedChange::All(vec![drivers.change, one.change]),
        edits: Vec::new(),
        ..one
    })
}
