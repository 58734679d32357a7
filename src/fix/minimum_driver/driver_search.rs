//! The search for the minimum driver among the releases that the nodes of a pool can have. Releases that a start cannot
//! distinguish share one result.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::fix::minimum_driver::{SubjectImages, SubjectResult};
use crate::fleet::{Declared, DriverSpec, Host, Pool};
use crate::knowledge::{GpuClass, Knowledge};
use crate::replay::StartRoute;
use crate::text::source::Span;

/// Returns the pool with another driver.
pub fn with_driver(pool: &Pool, driver: DriverVersion) -> Pool {
    let spec = Declared { value: DriverSpec::Exact(driver), span: Span::default() };
    Pool { driver: vec![spec], driver_cuda: None, ..pool.clone() }
}

/// Returns the driver releases that nodes of a pool can have, oldest first; empty where another system provides the
/// driver.
pub fn releases_for_pool(pool: &Pool, knowledge: Knowledge) -> Vec<DriverVersion> {
    if pool.wsl.as_ref().is_some_and(|wsl| wsl.value) {
        return Vec::new();
    }
    let jetson = |name: &str| knowledge.gpu(name).is_some_and(|row| row.class == GpuClass::Jetson);
    if !pool.gpu.iter().any(|gpu| jetson(&gpu.value.name)) {
        return all_driver_releases(knowledge);
    }
    sort_unique(knowledge.jetson_releases().iter().map(|row| row.driver).collect())
}

/// Returns every release of a driver that is installed separately, oldest first. These are the releases of the
/// branches, those bundled with toolkits, and the minimum drivers of CUDA majors.
pub fn all_driver_releases(knowledge: Knowledge) -> Vec<DriverVersion> {
    let of_branches = knowledge.driver_branches().iter().flat_map(|row| row.releases.iter().copied());
    let of_toolkits = knowledge.toolkits().iter().filter_map(|row| row.bundled_driver);
    let floors = knowledge.minor_compat().iter().map(|row| row.min_driver);
    sort_unique(of_branches.chain(of_toolkits).chain(floors).collect())
}

/// Sorts releases and removes duplicates.
fn sort_unique(mut releases: Vec<DriverVersion>) -> Vec<DriverVersion> {
    releases.sort_unstable();
    releases.dedup();
    releases
}

/// Returns the last unbroken range of indices, from oldest to newest, that satisfy a predicate; empty if none does.
/// Tests the newest first, and no more than necessary.
pub fn last_unbroken_range(count: usize, mut does: impl FnMut(usize) -> bool) -> Range<usize> {
    let Some(last) = (0..count).rev().find(|at| does(*at)) else { return 0..0 };
    let first = (0..last).rev().take_while(|at| does(*at)).last().unwrap_or(last);
    first..last + 1
}

/// The minimum driver of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimumDriver {
    /// Every known release from this one on works, or all up to the last that works.
    From(DriverVersion),
    /// No known release works.
    Never,
    /// No known release certainly works, and for some it is unknown.
    Open,
}

/// Number of replays up to which every release is tested. Beyond it, only releases that the start can distinguish are
/// tested, and then each one around the result.
pub(super) const MAX_REPLAYS: usize = 50_000;

/// The hosts of a pool with each driver release, created on first use.
#[derive(Debug)]
pub struct HostsByRelease<'a> {
    pool: &'a Pool,
    releases: Vec<DriverVersion>,
    hosts: Vec<OnceLock<Vec<Host>>>,
    day: Option<Date>,
    knowledge: Knowledge,
}

impl<'a> HostsByRelease<'a> {
    /// Creates the hosts of a pool, with the tables as of a day.
    pub fn new(pool: &'a Pool, day: Option<Date>, knowledge: Knowledge) -> Self {
        let releases = releases_for_pool(pool, knowledge);
        let hosts = vec![OnceLock::new(); releases.len()];
        Self { pool, releases, hosts, day, knowledge }
    }

    /// Returns the hosts with the release at an index.
    fn hosts_with_release(&self, at: usize) -> &[Host] {
        let with = |driver: &DriverVersion| with_driver(self.pool, *driver).hosts(self.knowledge, self.day);
        let make = || self.releases.get(at).map_or_else(Vec::new, with);
        self.hosts.get(at).map_or(&[], |hosts| hosts.get_or_init(make))
    }

    /// Returns the indices of the releases to test with some images, oldest first.
    fn releases_to_test<'t>(&self, telling: impl Iterator<Item = &'t [usize]>, images: usize) -> Vec<usize> {
        let all = 0..self.releases.len();
        let replays =
            self.hosts_with_release(all.end.saturating_sub(1)).len().saturating_mul(all.end).saturating_mul(images);
        if replays <= MAX_REPLAYS {
            return all.collect();
        }
        telling.flatten().copied().collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// Creates the release groups of one image.
    fn release_groups<'i>(&self, images: &'i SubjectImages) -> ReleaseGroups<'i> {
        ReleaseGroups::new(images, self.pool, &self.releases, self.knowledge)
    }

    /// Returns whether one image starts with any release.
    fn driver_support(&self, groups: &mut ReleaseGroups<'_>) -> DriverSupport {
        let mut open = self.releases.is_empty();
        for at in groups.distinguishable_releases().to_vec() {
            match groups.result_with_release(at, self.hosts_with_release(at), self.knowledge) {
                SubjectResult::Starts(_) => return DriverSupport::Starts,
                SubjectResult::Open => open = true,
                SubjectResult::Fails | SubjectResult::Nothing => {}
            }
        }
        if open { DriverSupport::Open } else { DriverSupport::Never }
    }

    /// Returns the minimum driver with which all of these images start.
    pub fn minimum_driver(&self, images: &[&SubjectImages]) -> MinimumDriver {
        let mut groups_by_image: Vec<ReleaseGroups<'_>> =
            images.iter().map(|images| self.release_groups(images)).collect();
        self.last_start_range(&mut groups_by_image).map_or_else(|none| none, |(first, _)| MinimumDriver::From(first))
    }

    /// Whether all of these images start with the release at an index.
    fn all_start(&self, images: &mut [ReleaseGroups<'_>], at: usize) -> bool {
        let hosts = self.hosts_with_release(at);
        let fails = images.iter_mut().position(|groups| !groups.starts_with_release(at, hosts, self.knowledge));
        // The image for which a driver was too old is tested first with the next one.
        if let Some(one) = fails {
            images.swap(0, one);
        }
        fails.is_none() && !images.is_empty()
    }

    /// Returns the oldest release below a minimum with which all of these images start.
    fn oldest_below(&self, images: &mut [ReleaseGroups<'_>], least: DriverVersion) -> Option<DriverVersion> {
        let end = self.releases.partition_point(|release| *release < least);
        let distinguishable: BTreeSet<usize> =
            images.iter().flat_map(|groups| groups.distinguishable_releases().iter().copied()).collect();
        let tried: Vec<usize> = distinguishable.into_iter().filter(|at| *at < end).collect();
        let place = tried.iter().position(|at| self.all_start(images, *at))?;
        // Releases between two distinguishable ones are tried one by one.
        let first = place.checked_sub(1).and_then(|before| tried.get(before)).map_or(0, |at| at + 1);
        let found = (first..=*tried.get(place)?).find(|at| self.all_start(images, *at))?;
        self.releases.get(found).copied()
    }

    /// Returns the ends of the last unbroken range of releases with which all images start; no end if it is the
    /// newest.
    fn last_start_range(
        &self,
        images: &mut [ReleaseGroups<'_>],
    ) -> Result<(DriverVersion, Option<DriverVersion>), MinimumDriver> {
        let tried = self.releases_to_test(images.iter().map(ReleaseGroups::distinguishable_releases), images.len());
        let mut start = |at: usize| self.all_start(images, at);
        let place = |of: usize| tried.get(of).copied();
        let row = last_unbroken_range(tried.len(), |of| place(of).is_some_and(&mut start));
        let Some(first) = place(row.start).filter(|_| !row.is_empty()) else {
            let open = images.iter_mut().any(|groups| self.driver_support(groups) == DriverSupport::Open);
            return Err(if open { MinimumDriver::Open } else { MinimumDriver::Never });
        };
        // Releases between two distinguishable ones are tried one by one.
        let below = row.start.checked_sub(1).and_then(place).map_or(0, |at| at + 1);
        let first = (below..first).rev().take_while(|at| start(*at)).last().unwrap_or(first);
        let above = place(row.end).unwrap_or(self.releases.len());
        let last = row.end.checked_sub(1).and_then(place).unwrap_or(first);
        let last = (last + 1..above).take_while(|at| start(*at)).last().unwrap_or(last);
        let last = self.releases.get(last).copied().filter(|_| last + 1 < self.releases.len());
        self.releases.get(first).map(|first| (*first, last)).ok_or(MinimumDriver::Never)
    }
}

/// Consecutive driver releases with which a subject starts on a pool by one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartingReleases {
    /// The route by which it starts.
    pub route: StartRoute,
    /// The first release.
    pub from: DriverVersion,
    /// The last release; `None` if it is the newest known.
    pub to: Option<DriverVersion>,
}

/// Finds all releases with which a subject starts on a pool, the oldest first.
pub fn find_starting_releases(images: &SubjectImages, pool: &Pool, knowledge: Knowledge) -> Vec<StartingReleases> {
    let drivers = HostsByRelease::new(pool, images.day(), knowledge);
    let telling = images.distinguishable_releases(pool, &drivers.releases, knowledge);
    let tried = drivers.releases_to_test(std::iter::once(telling.as_slice()), 1);
    let end = |at: usize| images.result_on_hosts(drivers.hosts_with_release(at), knowledge);
    let mut runs: Vec<(SubjectResult, usize, usize)> = Vec::new();
    let mut meet = |at: usize, now: SubjectResult| match runs.last_mut() {
        Some((was, _, last)) if *was == now => *last = at,
        _ => runs.push((now, at, at)),
    };
    let mut before: Option<(usize, SubjectResult)> = None;
    for at in tried {
        let now = end(at);
        // Releases between two with different results are tried one by one.
        let between = before.filter(|(_, was)| *was != now).map_or(at..at, |(last, _)| last + 1..at);
        between.for_each(|at| meet(at, end(at)));
        meet(at, now);
        before = Some((at, now));
    }
    let release = |at: usize| drivers.releases.get(at).copied();
    let of_run = |(end, first, last): (SubjectResult, usize, usize)| match end {
        SubjectResult::Starts(route) => Some(StartingReleases {
            route,
            from: release(first)?,
            to: release(last).filter(|_| last + 1 < drivers.releases.len()),
        }),
        SubjectResult::Fails | SubjectResult::Open | SubjectResult::Nothing => None,
    };
    runs.into_iter().filter_map(of_run).collect()
}

/// A release below the minimum driver with which a subject starts nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OlderStartingDriver {
    /// The oldest such release that is known.
    pub driver: DriverVersion,
    /// The route by which it starts.
    pub route: StartRoute,
}

/// Finds the oldest release below the minimum driver with which a subject starts.
pub fn find_older_driver(
    images: &SubjectImages,
    pool: &Pool,
    least: DriverVersion,
    knowledge: Knowledge,
) -> Option<OlderStartingDriver> {
    let drivers = HostsByRelease::new(pool, images.day(), knowledge);
    let release = |at: usize| drivers.releases.get(at).copied().filter(|driver| *driver < least);
    let end = |at: usize| match images.result_on_hosts(drivers.hosts_with_release(at), knowledge) {
        SubjectResult::Starts(route) => Some(OlderStartingDriver { driver: release(at)?, route }),
        SubjectResult::Fails | SubjectResult::Open | SubjectResult::Nothing => None,
    };
    let telling = images.distinguishable_releases(pool, &drivers.releases, knowledge);
    let tried = drivers.releases_to_test(std::iter::once(telling.as_slice()), 1);
    let (place, found) = tried.iter().enumerate().find_map(|(place, at)| Some((place, end(*at)?)))?;
    // Releases between two distinguishable ones are tried one by one.
    let first = place.checked_sub(1).and_then(|before| tried.get(before)).map_or(0, |at| at + 1);
    (first..*tried.get(place)?).find_map(end).or(Some(found))
}

/// Whether an image starts with any driver release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriverSupport {
    Starts,
    Open,
    Never,
}

/// Returns the minimum driver of one subject on a pool.
pub fn minimum_driver(images: &SubjectImages, pool: &Pool, knowledge: Knowledge) -> MinimumDriver {
    HostsByRelease::new(pool, images.day(), knowledge).minimum_driver(&[images])
}

/// The minimum driver of several subjects on one pool; subjects by their index in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonMinimumDriver {
    /// The minimum with which all subjects start that start with any release; `None` if no release suits them all.
    pub driver: Option<DriverVersion>,
    /// The newest release with which they start, if some do not start with newer ones.
    pub last: Option<DriverVersion>,
    /// The oldest release below the minimum with which they start, where one in between fails.
    pub older: Option<DriverVersion>,
    /// Subjects that fail with every release.
    pub never: Vec<usize>,
    /// Subjects that certainly start with no release, or for which it is unknown.
    pub open: Vec<usize>,
}

/// Finds the minimum driver of several subjects on a pool. Equivalent subjects share a number, and are tested once.
pub fn common_minimum_driver(
    pool: &Pool,
    images: &[(&SubjectImages, usize)],
    knowledge: Knowledge,
) -> CommonMinimumDriver {
    let mut found = CommonMinimumDriver::default();
    let day = images.iter().find_map(|(images, _)| images.day());
    let drivers = HostsByRelease::new(pool, day, knowledge);
    let mut alike: BTreeMap<usize, DriverSupport> = BTreeMap::new();
    let mut able: Vec<ReleaseGroups<'_>> = Vec::new();
    for (at, (images, kind)) in images.iter().enumerate() {
        let ability = *alike.entry(*kind).or_insert_with(|| {
            let mut groups = drivers.release_groups(images);
            let ability = drivers.driver_support(&mut groups);
            if ability == DriverSupport::Starts {
                able.push(groups);
            }
            ability
        });
        match ability {
            DriverSupport::Starts => {}
            DriverSupport::Open => found.open.push(at),
            DriverSupport::Never => found.never.push(at),
        }
    }
    if let Ok((driver, last)) = drivers.last_start_range(&mut able) {
        (found.driver, found.last) = (Some(driver), last);
        found.older = drivers.oldest_below(&mut able, driver);
    }
    found
}

/// Whether a subject starts on a pool whose driver is older than the minimum. The pool is then below a gap, and the
/// release above the gap is not reported as its minimum.
pub fn starts_below_minimum(
    images: &SubjectImages,
    pool: &Pool,
    least: Option<DriverVersion>,
    knowledge: Knowledge,
) -> bool {
    is_below_minimum(pool, least) && images.result_on_pool(pool, knowledge).starts()
}

/// Whether a pool has one driver that is older than the minimum.
pub fn is_below_minimum(pool: &Pool, least: Option<DriverVersion>) -> bool {
    let [own] = pool.driver.as_slice() else { return false };
    matches!(own.value, DriverSpec::Exact(own) if least.is_none_or(|least| own < least))
}

/// The cached results of one group of releases.
#[derive(Clone, Copy, Debug, Default)]
struct ReleaseGroupResult {
    /// Whether the image starts on every host.
    starts: Option<bool>,
    /// The result on the pool.
    end: Option<SubjectResult>,
}

/// Groups of driver releases that a start cannot distinguish, with the cached results of each.
#[derive(Debug)]
pub(super) struct ReleaseGroups<'i> {
    pub(super) images: &'i SubjectImages,
    /// Indices of the releases that may be distinguished, the newest first.
    telling: Vec<usize>,
    /// Index of the first release of each group, the oldest first.
    begins: Vec<usize>,
    /// The cached results of each group.
    results: Vec<ReleaseGroupResult>,
    /// Index of the host that most recently did not start.
    doubt: usize,
}

impl<'i> ReleaseGroups<'i> {
    /// Creates the groups of one image, without results; `releases` are those of the pool, the oldest first.
    pub(super) fn new(
        images: &'i SubjectImages,
        pool: &Pool,
        releases: &[DriverVersion],
        knowledge: Knowledge,
    ) -> Self {
        let named = images.threshold_releases(pool, knowledge);
        let telling = super::distinguishable_indices(&named, releases);
        let begins = if releases == all_driver_releases(knowledge) {
            group_starts(&named, releases)
        } else {
            // Each release of a module is for modules of its own.
            (0..releases.len()).collect()
        };
        Self { images, telling, results: vec![ReleaseGroupResult::default(); begins.len()], begins, doubt: 0 }
    }

    /// Returns the indices of the releases that may be distinguished, the newest first.
    pub(super) fn distinguishable_releases(&self) -> &[usize] {
        &self.telling
    }

    /// Returns the result with the release at an index, on these hosts; the route of a start is not exact.
    pub(super) fn result_with_release(&mut self, at: usize, hosts: &[Host], knowledge: Knowledge) -> SubjectResult {
        let row = self.group_of(at);
        if let Some(known) = self.results.get(row).and_then(|result| result.end) {
            return known;
        }
        let (starts, end) = self.images.quick_result_on_hosts(hosts, knowledge, &mut self.doubt);
        self.store_result(row, ReleaseGroupResult { starts: Some(starts), end: Some(end) });
        end
    }

    /// Whether the image starts with the release at an index, on all of these hosts.
    pub(super) fn starts_with_release(&mut self, at: usize, hosts: &[Host], knowledge: Knowledge) -> bool {
        let row = self.group_of(at);
        if let Some(known) = self.results.get(row).and_then(|result| result.starts) {
            return known;
        }
        let starts = self.images.starts_on_hosts(hosts, knowledge, &mut self.doubt);
        self.store_result(row, ReleaseGroupResult { starts: Some(starts), end: None });
        starts
    }

    /// Returns the group of the release at an index.
    fn group_of(&self, at: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= at).saturating_sub(1)
    }

    /// Stores the result of a group.
    fn store_result(&mut self, row: usize, result: ReleaseGroupResult) {
        if let Some(place) = self.results.get_mut(row) {
            *place = result;
        }
    }
}

/// Returns the index of the first release of each group: at each branch, and on both sides of each threshold.
fn group_starts(named: &[DriverVersion], releases: &[DriverVersion]) -> Vec<usize> {
    let all: Range<usize> = 0..releases.len();
    let branch = |at: usize| releases.get(at).map(|release| release.branch());
    let first = |at: &usize| *at == 0 || branch(*at) != branch(*at - 1);
    let around = named.iter().flat_map(|version| {
        let at = releases.partition_point(|release| release < version);
        [at, at + 1]
    });
    let mut begins: Vec<usize> = all.clone().filter(first).chain(around).filter(|at| all.contains(at)).collect();
    begins.sort_unstable();
    begins.dedup();
    begins
}
