//! The releases that a pool can have, tried one after the other.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::fleet::Declared;
use crate::fleet::DriverSpec;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::least::End;
use crate::least::Images;
use crate::least::asked::Asked;
use crate::source::Span;
use crate::start::Route;

/// The pool with another driver.
pub fn with_driver(pool: &Pool, driver: DriverVersion) -> Pool {
    let spec = Declared { value: DriverSpec::Exact(driver), span: Span::default() };
    Pool { driver: vec![spec], driver_cuda: None, ..pool.clone() }
}

/// The driver releases that nodes of a pool can have, oldest first; none where another system holds the driver.
pub fn releases(pool: &Pool, knowledge: Knowledge) -> Vec<DriverVersion> {
    if pool.wsl.as_ref().is_some_and(|wsl| wsl.value) {
        return Vec::new();
    }
    let jetson = |name: &str| knowledge.gpu(name).is_some_and(|row| row.class == GpuClass::Jetson);
    if !pool.gpu.iter().any(|gpu| jetson(&gpu.value.name)) {
        return all_releases(knowledge);
    }
    sorted(knowledge.jetson_releases().iter().map(|row| row.driver).collect())
}

/// Every release of a driver that is installed by itself, oldest first: those of the branches, those that come with
/// toolkits, and those from which on a CUDA major runs.
pub fn all_releases(knowledge: Knowledge) -> Vec<DriverVersion> {
    let of_branches = knowledge.branches().iter().flat_map(|row| row.releases.iter().copied());
    let of_toolkits = knowledge.toolkits().iter().filter_map(|row| row.bundled_driver);
    let floors = knowledge.minor_compats().iter().map(|row| row.min_driver);
    sorted(of_branches.chain(of_toolkits).chain(floors).collect())
}

fn sorted(mut releases: Vec<DriverVersion>) -> Vec<DriverVersion> {
    releases.sort_unstable();
    releases.dedup();
    releases
}

/// The last unbroken row of places that do, of so many from the oldest to the newest; empty where none does. The newest
/// is asked first, and no more than has to be.
pub fn lasting(count: usize, mut does: impl FnMut(usize) -> bool) -> Range<usize> {
    let Some(last) = (0..count).rev().find(|at| does(*at)) else { return 0..0 };
    let first = (0..last).rev().take_while(|at| does(*at)).last().unwrap_or(last);
    first..last + 1
}

/// The smallest driver on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// From it on every known release does, or all up to the last that does.
    From(DriverVersion),
    /// No known release does.
    Never,
    /// No known release does for certain, and of some it cannot be told.
    Open,
}

/// So many replays are made of every release; of pools whose nodes may be more than that allows, those releases are tried
/// that the start-up can tell apart, and each around the one that is found.
pub(super) const MOST_REPLAYS: usize = 50_000;

/// The hosts of a pool with each release of the driver, made where they are asked for.
#[derive(Debug)]
pub struct Drivers<'a> {
    pool: &'a Pool,
    releases: Vec<DriverVersion>,
    hosts: Vec<OnceLock<Vec<Host>>>,
    day: Option<Date>,
    knowledge: Knowledge,
}

impl<'a> Drivers<'a> {
    /// Those of a pool, with the tables as of a day.
    pub fn of(pool: &'a Pool, day: Option<Date>, knowledge: Knowledge) -> Self {
        let releases = releases(pool, knowledge);
        let hosts = vec![OnceLock::new(); releases.len()];
        Self { pool, releases, hosts, day, knowledge }
    }

    fn hosts(&self, at: usize) -> &[Host] {
        let with = |driver: &DriverVersion| with_driver(self.pool, *driver).hosts(self.knowledge, self.day);
        let make = || self.releases.get(at).map_or_else(Vec::new, with);
        self.hosts.get(at).map_or(&[], |hosts| hosts.get_or_init(make))
    }

    /// The places of the releases that are tried of some images, oldest first.
    fn tried<'t>(&self, telling: impl Iterator<Item = &'t [usize]>, images: usize) -> Vec<usize> {
        let all = 0..self.releases.len();
        let replays = self.hosts(all.end.saturating_sub(1)).len().saturating_mul(all.end).saturating_mul(images);
        if replays <= MOST_REPLAYS {
            return all.collect();
        }
        telling.flatten().copied().collect::<BTreeSet<usize>>().into_iter().collect()
    }

    fn asked<'i>(&self, images: &'i Images) -> Asked<'i> {
        Asked::of(images, self.pool, &self.releases, self.knowledge)
    }

    /// Whether one image starts with some release.
    fn ability(&self, asked: &mut Asked<'_>) -> Able {
        let mut open = self.releases.is_empty();
        for at in asked.telling().to_vec() {
            match asked.end(at, self.hosts(at), self.knowledge) {
                End::Starts(_) => return Able::Starts,
                End::Open => open = true,
                End::Fails | End::Nothing => {}
            }
        }
        if open { Able::Open } else { Able::Never }
    }

    /// The smallest with which all of some images start.
    pub fn least(&self, images: &[&Images]) -> Least {
        let mut asked: Vec<Asked<'_>> = images.iter().map(|images| self.asked(images)).collect();
        self.row(&mut asked).map_or_else(|none| none, |(first, _)| Least::From(first))
    }

    /// Whether all of some images start with the release at a place.
    fn all_start(&self, images: &mut [Asked<'_>], at: usize) -> bool {
        let hosts = self.hosts(at);
        let fails = images.iter_mut().position(|asked| !asked.starts(at, hosts, self.knowledge));
        // What a driver was too old for is asked first of the next.
        if let Some(one) = fails {
            images.swap(0, one);
        }
        fails.is_none() && !images.is_empty()
    }

    /// The oldest release below one with which all of some images start; none where none does.
    fn below(&self, images: &mut [Asked<'_>], least: DriverVersion) -> Option<DriverVersion> {
        let end = self.releases.partition_point(|release| *release < least);
        let told: BTreeSet<usize> = images.iter().flat_map(|asked| asked.telling().iter().copied()).collect();
        let tried: Vec<usize> = told.into_iter().filter(|at| *at < end).collect();
        let place = tried.iter().position(|at| self.all_start(images, *at))?;
        // What lies between two that are told apart is tried one by one.
        let first = place.checked_sub(1).and_then(|before| tried.get(before)).map_or(0, |at| at + 1);
        let found = (first..=*tried.get(place)?).find(|at| self.all_start(images, *at))?;
        self.releases.get(found).copied()
    }

    /// The first and the last of the last unbroken row of releases with which all of some images start; the last is none
    /// where it is the newest that is known.
    fn row(&self, images: &mut [Asked<'_>]) -> Result<(DriverVersion, Option<DriverVersion>), Least> {
        let tried = self.tried(images.iter().map(Asked::telling), images.len());
        let mut start = |at: usize| self.all_start(images, at);
        let place = |of: usize| tried.get(of).copied();
        let row = lasting(tried.len(), |of| place(of).is_some_and(&mut start));
        let Some(first) = place(row.start).filter(|_| !row.is_empty()) else {
            let open = images.iter_mut().any(|asked| self.ability(asked) == Able::Open);
            return Err(if open { Least::Open } else { Least::Never });
        };
        // What lies between two that are told apart is tried one by one.
        let below = row.start.checked_sub(1).and_then(place).map_or(0, |at| at + 1);
        let first = (below..first).rev().take_while(|at| start(*at)).last().unwrap_or(first);
        let above = place(row.end).unwrap_or(self.releases.len());
        let last = row.end.checked_sub(1).and_then(place).unwrap_or(first);
        let last = (last + 1..above).take_while(|at| start(*at)).last().unwrap_or(last);
        let last = self.releases.get(last).copied().filter(|_| last + 1 < self.releases.len());
        self.releases.get(first).map(|first| (*first, last)).ok_or(Least::Never)
    }
}

/// Releases, one after the other, with which a subject starts on a pool by one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starting {
    /// How it starts with them.
    pub route: Route,
    /// The first.
    pub from: DriverVersion,
    /// The last; none where it is the newest that is known.
    pub to: Option<DriverVersion>,
}

/// Seeks all releases with which a subject starts on a pool, the oldest first.
pub fn starting(images: &Images, pool: &Pool, knowledge: Knowledge) -> Vec<Starting> {
    let drivers = Drivers::of(pool, images.day(), knowledge);
    let telling = images.telling(pool, &drivers.releases, knowledge);
    let tried = drivers.tried(std::iter::once(telling.as_slice()), 1);
    let end = |at: usize| images.on_hosts(drivers.hosts(at), knowledge);
    let mut runs: Vec<(End, usize, usize)> = Vec::new();
    let mut meet = |at: usize, now: End| match runs.last_mut() {
        Some((was, _, last)) if *was == now => *last = at,
        _ => runs.push((now, at, at)),
    };
    let mut before: Option<(usize, End)> = None;
    for at in tried {
        let now = end(at);
        // What lies between two that end otherwise is tried one by one.
        let between = before.filter(|(_, was)| *was != now).map_or(at..at, |(last, _)| last + 1..at);
        between.for_each(|at| meet(at, end(at)));
        meet(at, now);
        before = Some((at, now));
    }
    let release = |at: usize| drivers.releases.get(at).copied();
    let of_run = |(end, first, last): (End, usize, usize)| match end {
        End::Starts(route) => Some(Starting {
            route,
            from: release(first)?,
            to: release(last).filter(|_| last + 1 < drivers.releases.len()),
        }),
        End::Fails | End::Open | End::Nothing => None,
    };
    runs.into_iter().filter_map(of_run).collect()
}

/// A release below the smallest driver with which a subject starts all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Older {
    /// The oldest such release that is known.
    pub driver: DriverVersion,
    /// How it starts with it.
    pub route: Route,
}

/// Seeks the oldest release below the smallest driver with which a subject starts; none where it starts with none.
pub fn older(images: &Images, pool: &Pool, least: DriverVersion, knowledge: Knowledge) -> Option<Older> {
    let drivers = Drivers::of(pool, images.day(), knowledge);
    let release = |at: usize| drivers.releases.get(at).copied().filter(|driver| *driver < least);
    let end = |at: usize| match images.on_hosts(drivers.hosts(at), knowledge) {
        End::Starts(route) => Some(Older { driver: release(at)?, route }),
        End::Fails | End::Open | End::Nothing => None,
    };
    let telling = images.telling(pool, &drivers.releases, knowledge);
    let tried = drivers.tried(std::iter::once(telling.as_slice()), 1);
    let (place, found) = tried.iter().enumerate().find_map(|(place, at)| Some((place, end(*at)?)))?;
    // What lies between two that are told apart is tried one by one.
    let first = place.checked_sub(1).and_then(|before| tried.get(before)).map_or(0, |at| at + 1);
    (first..*tried.get(place)?).find_map(end).or(Some(found))
}

/// Whether an image starts with some driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Able {
    Starts,
    Open,
    Never,
}

/// Seeks the smallest driver of one subject on a pool.
pub fn least(images: &Images, pool: &Pool, knowledge: Knowledge) -> Least {
    Drivers::of(pool, images.day(), knowledge).least(&[images])
}

/// The smallest driver of several subjects that run on one pool; subjects by their place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfAll {
    /// The smallest with which all start that start with some; none where no release does for all of them.
    pub driver: Option<DriverVersion>,
    /// The newest with which they do, where newer releases are known with which some do not.
    pub last: Option<DriverVersion>,
    /// The oldest below the smallest with which they do all the same, and with one in between they do not.
    pub older: Option<DriverVersion>,
    /// Those that fail with every release.
    pub never: Vec<usize>,
    /// Those that start with no release for certain.
    pub open: Vec<usize>,
}

/// Seeks it. Subjects that end alike everywhere have one number, and are tried once.
pub fn least_of_all(pool: &Pool, images: &[(&Images, usize)], knowledge: Knowledge) -> OfAll {
    let mut found = OfAll::default();
    let day = images.iter().find_map(|(images, _)| images.day());
    let drivers = Drivers::of(pool, day, knowledge);
    let mut alike: BTreeMap<usize, Able> = BTreeMap::new();
    let mut able: Vec<Asked<'_>> = Vec::new();
    for (at, (images, kind)) in images.iter().enumerate() {
        let ability = *alike.entry(*kind).or_insert_with(|| {
            let mut asked = drivers.asked(images);
            let ability = drivers.ability(&mut asked);
            if ability == Able::Starts {
                able.push(asked);
            }
            ability
        });
        match ability {
            Able::Starts => {}
            Able::Open => found.open.push(at),
            Able::Never => found.never.push(at),
        }
    }
    if let Ok((driver, last)) = drivers.row(&mut able) {
        (found.driver, found.last) = (Some(driver), last);
        found.older = drivers.below(&mut able, driver);
    }
    found
}

/// Whether what is sought starts on a pool as it is with an older driver than the smallest: the pool lies below a gap,
/// and what lies above the gap is not called its minimum.
pub fn starts_below(images: &Images, pool: &Pool, least: Option<DriverVersion>, knowledge: Knowledge) -> bool {
    is_below(pool, least) && images.on(pool, knowledge).starts()
}

/// Whether a pool has one driver, and that is older than the smallest.
pub fn is_below(pool: &Pool, least: Option<DriverVersion>) -> bool {
    let [own] = pool.driver.as_slice() else { return false };
    matches!(own.value, DriverSpec::Exact(own) if least.is_none_or(|least| own < least))
}
