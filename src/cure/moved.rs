//! A newer driver for pools and a change of the image together, where neither alone helps: a GPU that the driver does not
//! know yet, and of which the image has no code either.

use crate::cuda::DriverVersion;
use crate::cure::Kind;
use crate::cure::PoolChange;
use crate::cure::Tried;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::chain::gets_further;
use crate::cure::host;
use crate::cure::means::Means;
use crate::cure::pair;
use crate::cure::search::best;
use crate::cure::search::singles;
use crate::cure::trial::fates;
use crate::cure::trials::Trials;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::least::Images;
use crate::least::with_driver;
use crate::report::kinds::FixSafety;

/// So many pools are looked at.
const POOLS: usize = 4;
/// So many trials are made of images on pools that moved.
const BEHIND: usize = 100;

/// The smallest such pair, for the pools on which nothing that was tried helps.
pub(super) fn moved(case: &Case<'_>, tried: &[Tried], trials: &mut Trials<'_>) -> Option<Tried> {
    let helps = |one: &Tried, name: &String| one.starts(case.aim).contains(name) || one.eases(case.aim).contains(name);
    let stuck = case.aimed().filter(|pool| !tried.iter().any(|one| helps(one, &pool.name.value)));
    let stuck: Vec<(&Pool, Vec<DriverVersion>)> =
        stuck.take(POOLS).map(|pool| (pool, further(case, pool))).filter(|(_, drivers)| !drivers.is_empty()).collect();
    let first: Vec<(&Pool, DriverVersion)> =
        stuck.iter().filter_map(|(pool, drivers)| Some((*pool, *drivers.first()?))).collect();
    let last: Vec<(&Pool, DriverVersion)> =
        stuck.iter().filter_map(|(pool, drivers)| Some((*pool, *drivers.last()?))).collect();
    let found = with_image(case, &first, trials);
    let other = stuck.iter().any(|(_, drivers)| drivers.len() > 1);
    found.or_else(|| other.then(|| with_image(case, &last, trials)).flatten())
}

/// Newer drivers with which a pool meets a later wall: the first release of the first branch, and the newest of all.
fn further(case: &Case<'_>, pool: &Pool) -> Vec<DriverVersion> {
    let before = fates(case.before);
    let newer = host::newer(case, pool);
    let does = |version: DriverVersion| {
        let fleet = Fleet { pools: vec![with_driver(pool, version)], ..case.settings.fleet.clone() };
        let settings = Settings { fleet: &fleet, pools: &[], detail: Detail::Fates, ..case.settings };
        gets_further(&before, &fates(&judge::judge_on(case.fixed(), settings, &Hosts::of(settings))))
    };
    let Some(first) = host::first_of_branch(&newer, does) else { return Vec::new() };
    let last = newer.last().copied().filter(|last| *last != first && does(*last));
    [Some(first), last].into_iter().flatten().collect()
}

/// The smallest change of the image that starts on some of these pools with these drivers, with code that was made for
/// their GPUs.
fn with_image(case: &Case<'_>, moved: &[(&Pool, DriverVersion)], trials: &mut Trials<'_>) -> Option<Tried> {
    let driver = |pool: &Pool| moved.iter().find(|(one, _)| one.name == pool.name).map(|(_, driver)| *driver);
    let of_pool = |pool: &Pool| driver(pool).map_or_else(|| pool.clone(), |driver| with_driver(pool, driver));
    let fleet = Fleet { pools: case.settings.fleet.pools.iter().map(of_pool).collect(), ..case.settings.fleet.clone() };
    let settings = Settings { fleet: &fleet, detail: Detail::Fates, ..case.settings };
    let hosts = Hosts::of(settings);
    let judged = judge::judge_on(case.subject, settings, &hosts);
    let next = Case::of(case.aim, case.subject, &judged, settings, &hosts)?;
    let left = trials.left().min(BEHIND);
    let means = Means::new(&hosts, trials.means.crew);
    let mut own = Trials::new(&means, left);
    let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| kind.of_image()).collect();
    let starts = |one: &Tried| {
        let written_off = one.compiled || !one.breaks.is_empty();
        !written_off && moved.iter().any(|(pool, _)| one.starts(case.aim).contains(&pool.name.value))
    };
    let one = best(singles(&kinds, &next, &mut own), &next).into_iter().find(starts);
    let one = one.or_else(|| pair::pair(&next, &mut own).filter(starts));
    trials.spend(left.saturating_sub(own.left()));
    joined(case, moved, one?)
}

/// Both as one, with the smallest driver of each of these pools on which the changed image starts.
fn joined(case: &Case<'_>, moved: &[(&Pool, DriverVersion)], one: Tried) -> Option<Tried> {
    let knowledge = case.knowledge();
    let subject = one.subject.as_ref()?;
    let starting = moved.iter().filter(|(pool, _)| one.starts(case.aim).contains(&pool.name.value));
    let changes = starting.map(|(pool, driver)| {
        let images = Images::of(subject, &pool.platforms(knowledge), case.settings.as_of, knowledge);
        let starts = |version| {
            let hosts = with_driver(pool, version).hosts(knowledge, images.day());
            images.start_on(&hosts, knowledge, &mut 0)
        };
        let smallest = host::first_of_branch(&host::newer(case, pool), starts).unwrap_or(*driver);
        (pool.name.value.clone(), PoolChange::Driver(smallest))
    });
    let drivers = host::to_drivers(changes.collect()).into_iter().next()?;
    Some(Tried {
        kind: Kind::Driver,
        title: format!("{}, and {}", drivers.title, one.title),
        safety: FixSafety::Manual,
        wish: Wish::All(vec![drivers.wish, one.wish]),
        edits: Vec::new(),
        ..one
    })
}
