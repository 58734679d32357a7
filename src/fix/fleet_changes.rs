//! Changes of the fleet: the smallest sufficient driver, another container toolkit, variables at container start.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fix::fix_context::{FixContext, TargetPools};
use crate::fix::minimum_driver::{releases_for_pool, with_driver};
use crate::fix::trial::TrialRunner;
use crate::fix::{FixCandidate, PoolChange, ProposedChange, TrialVerdict};
use crate::fleet::{DriverSpec, Mode, Pool};
use crate::model::outcome::Outcome;
use crate::report::kinds::{ChangeKind, FixSafety, VerdictKind};

/// The variable and value that disable the requirement check.
const DISABLE_REQUIREMENT_CHECK: (&str, &str) = ("NVIDIA_DISABLE_REQUIRE", "1");

/// The modes of the container toolkit on nodes that are not Jetson modules.
const TOOLKIT_MODES: [Mode; 3] = [Mode::Legacy, Mode::JitCdi, Mode::Cdi];

/// Returns the candidate with the smallest newer driver of each pool on which the image starts.
pub(super) fn driver_candidates(case: &FixContext<'_>, trials: &mut TrialRunner<'_>) -> Vec<FixCandidate> {
    let driver_changes: Vec<(String, PoolChange)> = case
        .target_pools()
        .filter_map(|pool| {
            Some((pool.name.value.clone(), PoolChange::Driver(smallest_sufficient_driver(case, pool, trials)?)))
        })
        .collect();
    driver_change_candidate(driver_changes)
}

/// Combines the driver changes of several pools into one candidate.
pub(super) fn driver_change_candidate(changes: Vec<(String, PoolChange)>) -> Vec<FixCandidate> {
    candidate_for_pools(ChangeKind::Driver, changes, |change| match change {
        PoolChange::Driver(version) => format!("driver {version}"),
        PoolChange::Toolkit(_) | PoolChange::Mode(_) | PoolChange::Env(..) => String::new(),
    })
}

/// Returns the smallest newer driver that starts the image, if the newest of its branch does too. It may be below a
/// gap, unlike the smallest driver of `least`. For a GPU that the current driver does not support, an older branch
/// may be returned.
fn smallest_sufficient_driver(
    case: &FixContext<'_>,
    pool: &Pool,
    trials: &mut TrialRunner<'_>,
) -> Option<DriverVersion> {
    let knowledge = case.knowledge();
    let newer = newer_drivers(case, pool);
    let (images, means) = (TrialRunner::inferred_images(case, pool), trials.resources);
    let mut doubt = 0;
    let starts = |version, doubt: &mut usize| {
        let made = means.hosts_with_driver(pool, version, images.day(), case.settings);
        match made.of_pool(0) {
            Some(hosts) => images.starts_on_hosts(hosts, knowledge, doubt),
            None => {
                images.starts_on_hosts(&with_driver(pool, version).hosts(knowledge, images.day()), knowledge, doubt)
            }
        }
    };
    first_sufficient_release(&newer, |version| starts(version, &mut doubt))
        .or_else(|| {
            first_sufficient_release(&newer, |version| {
                let change = (pool.name.value.clone(), PoolChange::Driver(version));
                change_effect(&trials.judge_with_pool_changes(case, &[change]), &pool.name.value) == ChangeEffect::Lifts
            })
        })
        .or_else(|| {
            // What a driver no longer supports, one of an older branch does.
            let DriverSpec::Exact(now) = pool.driver.first()?.value else { return None };
            let all =
                if case.has_outcome(Outcome::GpuUnsupported) { releases_for_pool(pool, knowledge) } else { Vec::new() };
            let older: Vec<DriverVersion> = all.into_iter().filter(|version| *version < now).collect();
            let newest = |branch: &[DriverVersion]| branch.last().copied();
            let mut branches = older.chunk_by(|one, other| one.branch() == other.branch()).rev().filter_map(newest);
            branches.find(|version| starts(*version, &mut 0))
        })
}

/// Returns the driver releases that are newer than the driver of a pool.
pub(super) fn newer_drivers(case: &FixContext<'_>, pool: &Pool) -> Vec<DriverVersion> {
    let knowledge = case.knowledge();
    let now = pool.driver.iter().filter_map(|driver| newest_allowed_driver(&driver.value)).max();
    let floor = pool.driver_cuda.as_ref().map(|one| one.value).filter(|_| now.is_none());
    let newer = |version: &DriverVersion| {
        let cuda = knowledge.driver_cuda(*version).map(|(cuda, _)| cuda);
        now.is_none_or(|now| now < *version) && floor.is_none_or(|floor| cuda.is_some_and(|cuda| floor < cuda))
    };
    releases_for_pool(pool, knowledge).into_iter().filter(newer).collect()
}

/// Returns the first release that satisfies a condition, in the first branch whose newest release satisfies it.
pub(super) fn first_sufficient_release(
    releases: &[DriverVersion],
    mut does: impl FnMut(DriverVersion) -> bool,
) -> Option<DriverVersion> {
    let mut branches = releases.chunk_by(|one, other| one.branch() == other.branch());
    let branch = branches.find(|branch| branch.last().is_some_and(|last| does(*last)))?;
    branch.iter().copied().find(|version| does(*version))
}

/// The effect of a change on a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeEffect {
    None,
    Lifts,
    Starts,
}

/// Returns the effect of a change on a pool.
fn change_effect(verdicts: &[TrialVerdict], pool: &str) -> ChangeEffect {
    match verdicts.iter().find(|one| one.pool == pool) {
        Some(one) if one.verdict == VerdictKind::Starts => ChangeEffect::Starts,
        Some(one) if one.blocker_passes => ChangeEffect::Lifts,
        _ => ChangeEffect::None,
    }
}

/// Returns the newest driver that a declaration allows.
fn newest_allowed_driver(spec: &DriverSpec) -> Option<DriverVersion> {
    match spec {
        DriverSpec::Exact(version) => Some(*version),
        DriverSpec::Branch(branch) => format!("{branch}.999.99").parse().ok(),
        DriverSpec::Range { from, before } => before.or(*from),
    }
}

/// Returns candidates with the smallest sufficient container toolkit of each pool, and with another mode of it.
pub(super) fn toolkit_candidates(case: &FixContext<'_>, trials: &mut TrialRunner<'_>) -> Vec<FixCandidate> {
    let samples: Vec<CudaVersion> = case.knowledge().container_toolkits().iter().map(|row| row.sample).collect();
    let (mut versions, mut modes) = (Vec::new(), Vec::new());
    for pool in case.target_pools() {
        let name = &pool.name.value;
        let mut helps = |change: PoolChange| {
            change_effect(&trials.judge_with_pool_changes(case, &[(name.clone(), change)]), name) != ChangeEffect::None
        };
        let version = match pool.toolkit.as_ref().map(|one| one.value) {
            Some(now) => {
                let mut newer = samples.iter().copied().filter(|version| now < *version);
                newer.find(|version| helps(PoolChange::Toolkit(*version)))
            }
            // The toolkit version of the nodes is unknown: the first one from which on all work.
            None if case.target_pools == TargetPools::Open => {
                let not = samples.iter().rposition(|version| !helps(PoolChange::Toolkit(*version)));
                samples.get(not.map_or(samples.len(), |at| at + 1)).copied()
            }
            None => continue,
        };
        versions.extend(version.map(|version| (name.clone(), PoolChange::Toolkit(version))));
        let other = |mode: &Mode| pool.mode.as_ref().is_some_and(|own| own.value != *mode && own.value != Mode::None);
        let mode = TOOLKIT_MODES.iter().copied().filter(other).find(|mode| helps(PoolChange::Mode(*mode)));
        modes.extend(mode.map(|mode| (name.clone(), PoolChange::Mode(mode))));
    }
    let mut found = candidate_for_pools(ChangeKind::Toolkit, versions, |change| match change {
        PoolChange::Toolkit(version) => format!("container toolkit {version}"),
        PoolChange::Driver(_) | PoolChange::Mode(_) | PoolChange::Env(..) => String::new(),
    });
    let of_mode = candidate_for_pools(ChangeKind::Toolkit, modes, |change| match change {
        PoolChange::Mode(mode) => format!("mode {mode} of the container toolkit"),
        PoolChange::Driver(_) | PoolChange::Toolkit(_) | PoolChange::Env(..) => String::new(),
    });
    found.extend(of_mode.into_iter().map(|one| FixCandidate { step: 1, ..one }));
    found
}

/// Returns the candidate that disables the requirement check, for the pools on which that check fails.
pub(super) fn run_environment_candidates(case: &FixContext<'_>, trials: &mut TrialRunner<'_>) -> Vec<FixCandidate> {
    let (name, value) = DISABLE_REQUIREMENT_CHECK;
    if !case.has_outcome(Outcome::Refused) {
        return Vec::new();
    }
    let changes = case.target_pools().map(|pool| (pool.name.value.clone(), PoolChange::Env(name, value)));
    let pools = changes
        .filter(|one| {
            change_effect(&trials.judge_with_pool_changes(case, std::slice::from_ref(one)), &one.0)
                != ChangeEffect::None
        })
        .collect();
    candidate_for_pools(ChangeKind::RunEnvironment, pools, |_| {
        format!("start it with {name}={value}, which disables the requirement check,")
    })
}

/// Builds one candidate for all pools, with a title that groups the pools by their change.
fn candidate_for_pools(
    kind: ChangeKind,
    changes: Vec<(String, PoolChange)>,
    word: impl Fn(&PoolChange) -> String,
) -> Vec<FixCandidate> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (pool, change) in &changes {
        let what = word(change);
        match groups.iter_mut().find(|(other, _)| *other == what) {
            Some((_, pools)) => pools.push(format!("`{pool}`")),
            None => groups.push((what, vec![format!("`{pool}`")])),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let parts: Vec<String> =
        groups.into_iter().map(|(what, pools)| format!("{what} on {}", pools.join(", "))).collect();
    vec![FixCandidate {
        kind,
        step: 0,
        title: parts.join("; "),
        safety: FixSafety::Manual,
        change: ProposedChange::Pools(changes),
    }]
}
