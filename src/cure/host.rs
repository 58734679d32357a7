//! Changes of the fleet: the smallest driver that cures, another container toolkit, variables at the start.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::PoolChange;
use crate::cure::PoolFate;
use crate::cure::Wish;
use crate::cure::case::Aim;
use crate::cure::case::Case;
use crate::cure::trials::Trials;
use crate::fleet::DriverSpec;
use crate::fleet::Mode;
use crate::fleet::Pool;
use crate::least::releases;
use crate::least::with_driver;
use crate::report::kinds::FixSafety;
use crate::report::kinds::VerdictKind;

/// Without a check of the requirement.
const UNCHECKED: (&str, &str) = ("NVIDIA_DISABLE_REQUIRE", "1");

/// The modes of the container toolkit on nodes that are no Jetson modules.
const MODES: [Mode; 3] = [Mode::Legacy, Mode::JitCdi, Mode::Cdi];

/// The smallest newer driver of each pool on which the image starts.
pub(super) fn drivers(case: &Case<'_>, trials: &mut Trials<'_>) -> Vec<Candidate> {
    let cured: Vec<(String, PoolChange)> = case
        .aimed()
        .filter_map(|pool| Some((pool.name.value.clone(), PoolChange::Driver(smallest(case, pool, trials)?))))
        .collect();
    to_drivers(cured)
}

/// One candidate of these drivers.
pub(super) fn to_drivers(changes: Vec<(String, PoolChange)>) -> Vec<Candidate> {
    one(Kind::Driver, changes, |change| match change {
        PoolChange::Driver(version) => format!("driver {version}"),
        PoolChange::Toolkit(_) | PoolChange::Mode(_) | PoolChange::Env(..) => String::new(),
    })
}

/// The smallest newer release that starts, and with which the newest of its branch does: a change, which may lie below
/// a gap, and not what [`least`](crate::least) calls the smallest driver. Where no newer one does for a GPU that its own
/// driver does not support, the newest of the nearest older branch that starts.
fn smallest(case: &Case<'_>, pool: &Pool, trials: &mut Trials<'_>) -> Option<DriverVersion> {
    let knowledge = case.knowledge();
    let newer = newer(case, pool);
    let (images, means) = (Trials::images(case, pool), trials.means);
    let mut doubt = 0;
    let starts = |version, doubt: &mut usize| {
        let made = means.upgraded(pool, version, images.day(), case.settings);
        match made.of_pool(0) {
            Some(hosts) => images.start_on(hosts, knowledge, doubt),
            None => images.start_on(&with_driver(pool, version).hosts(knowledge, images.day()), knowledge, doubt),
        }
    };
    first_of_branch(&newer, |version| starts(version, &mut doubt))
        .or_else(|| {
            first_of_branch(&newer, |version| {
                let change = (pool.name.value.clone(), PoolChange::Driver(version));
                help(&trials.pools(case, &[change]), &pool.name.value) == Help::Lifts
            })
        })
        .or_else(|| {
            // What a driver no longer supports, one of an older branch does.
            let DriverSpec::Exact(now) = pool.driver.first()?.value else { return None };
            let all = if case.ends("gpu-unsupported") { releases(pool, knowledge) } else { Vec::new() };
            let older: Vec<DriverVersion> = all.into_iter().filter(|version| *version < now).collect();
            let newest = |branch: &[DriverVersion]| branch.last().copied();
            let mut branches = older.chunk_by(|one, other| one.branch() == other.branch()).rev().filter_map(newest);
            branches.find(|version| starts(*version, &mut 0))
        })
}

/// The releases that are newer than what a pool has.
pub(super) fn newer(case: &Case<'_>, pool: &Pool) -> Vec<DriverVersion> {
    let knowledge = case.knowledge();
    let now = pool.driver.iter().filter_map(|driver| newest(&driver.value)).max();
    let floor = pool.driver_cuda.as_ref().map(|one| one.value).filter(|_| now.is_none());
    let newer = |version: &DriverVersion| {
        let cuda = knowledge.driver_cuda(*version).map(|(cuda, _)| cuda);
        now.is_none_or(|now| now < *version) && floor.is_none_or(|floor| cuda.is_some_and(|cuda| floor < cuda))
    };
    releases(pool, knowledge).into_iter().filter(newer).collect()
}

/// Of the first branch that ends well, the first release that does.
pub(super) fn first_of_branch(
    releases: &[DriverVersion],
    mut does: impl FnMut(DriverVersion) -> bool,
) -> Option<DriverVersion> {
    let mut branches = releases.chunk_by(|one, other| one.branch() == other.branch());
    let branch = branches.find(|branch| branch.last().is_some_and(|last| does(*last)))?;
    branch.iter().copied().find(|version| does(*version))
}

/// What a change does for a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Help {
    None,
    Lifts,
    Starts,
}

fn help(fates: &[PoolFate], pool: &str) -> Help {
    match fates.iter().find(|one| one.pool == pool) {
        Some(one) if one.fate == VerdictKind::Starts => Help::Starts,
        Some(one) if one.lifted => Help::Lifts,
        _ => Help::None,
    }
}

/// The newest driver that a declaration allows.
fn newest(spec: &DriverSpec) -> Option<DriverVersion> {
    match spec {
        DriverSpec::Exact(version) => Some(*version),
        DriverSpec::Branch(branch) => format!("{branch}.999.99").parse().ok(),
        DriverSpec::Range { from, before } => before.or(*from),
    }
}

/// The smallest newer container toolkit of each pool with which the image starts, else another mode of it.
pub(super) fn toolkits(case: &Case<'_>, trials: &mut Trials<'_>) -> Vec<Candidate> {
    let samples: Vec<CudaVersion> = case.knowledge().container_toolkits().iter().map(|row| row.sample).collect();
    let (mut versions, mut modes) = (Vec::new(), Vec::new());
    for pool in case.aimed() {
        let name = &pool.name.value;
        let mut helps = |change: PoolChange| help(&trials.pools(case, &[(name.clone(), change)]), name) != Help::None;
        let version = match pool.toolkit.as_ref().map(|one| one.value) {
            Some(now) => {
                let mut newer = samples.iter().copied().filter(|version| now < *version);
                newer.find(|version| helps(PoolChange::Toolkit(*version)))
            }
            // Nobody says which one the nodes have: that from which on all do.
            None if case.aim == Aim::Open => {
                let not = samples.iter().rposition(|version| !helps(PoolChange::Toolkit(*version)));
                samples.get(not.map_or(samples.len(), |at| at + 1)).copied()
            }
            None => continue,
        };
        versions.extend(version.map(|version| (name.clone(), PoolChange::Toolkit(version))));
        let other = |mode: &Mode| pool.mode.as_ref().is_some_and(|own| own.value != *mode && own.value != Mode::None);
        let mode = MODES.iter().copied().filter(other).find(|mode| helps(PoolChange::Mode(*mode)));
        modes.extend(mode.map(|mode| (name.clone(), PoolChange::Mode(mode))));
    }
    let mut found = one(Kind::Toolkit, versions, |change| match change {
        PoolChange::Toolkit(version) => format!("container toolkit {version}"),
        PoolChange::Driver(_) | PoolChange::Mode(_) | PoolChange::Env(..) => String::new(),
    });
    let of_mode = one(Kind::Toolkit, modes, |change| match change {
        PoolChange::Mode(mode) => format!("mode {mode} of the container toolkit"),
        PoolChange::Driver(_) | PoolChange::Toolkit(_) | PoolChange::Env(..) => String::new(),
    });
    found.extend(of_mode.into_iter().map(|one| Candidate { step: 1, ..one }));
    found
}

/// Without the check of the requirement, on the pools where that is what fails.
pub(super) fn run_environment(case: &Case<'_>, trials: &mut Trials<'_>) -> Vec<Candidate> {
    let (name, value) = UNCHECKED;
    if !case.ends("refused") {
        return Vec::new();
    }
    let changes = case.aimed().map(|pool| (pool.name.value.clone(), PoolChange::Env(name, value)));
    let pools =
        changes.filter(|one| help(&trials.pools(case, std::slice::from_ref(one)), &one.0) != Help::None).collect();
    one(Kind::RunEnvironment, pools, |_| format!("start it with {name}={value}, which disables the requirement check,"))
}

/// One candidate for all pools, told by what each of them needs.
fn one(kind: Kind, changes: Vec<(String, PoolChange)>, word: impl Fn(&PoolChange) -> String) -> Vec<Candidate> {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (pool, change) in &changes {
        let what = word(change);
        match told.iter_mut().find(|(other, _)| *other == what) {
            Some((_, pools)) => pools.push(format!("`{pool}`")),
            None => told.push((what, vec![format!("`{pool}`")])),
        }
    }
    if told.is_empty() {
        return Vec::new();
    }
    let told: Vec<String> = told.into_iter().map(|(what, pools)| format!("{what} on {}", pools.join(", "))).collect();
    vec![Candidate { kind, step: 0, title: told.join("; "), safety: FixSafety::Manual, wish: Wish::Pools(changes) }]
}
