//! Results of one image per group of driver releases that its start cannot distinguish.

use std::ops::Range;

use crate::cuda::DriverVersion;
use crate::fleet::{Host, Pool};
use crate::knowledge::Knowledge;
use crate::minimum_driver::driver_search::all_driver_releases;
use crate::minimum_driver::{SubjectImages, SubjectResult};

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
    told: Vec<ReleaseGroupResult>,
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
        Self { images, telling, told: vec![ReleaseGroupResult::default(); begins.len()], begins, doubt: 0 }
    }

    /// Returns the indices of the releases that may be distinguished, the newest first.
    pub(super) fn distinguishable_releases(&self) -> &[usize] {
        &self.telling
    }

    /// Returns the result with the release at an index, on these hosts; the route of a start is not exact.
    pub(super) fn result_with_release(&mut self, at: usize, hosts: &[Host], knowledge: Knowledge) -> SubjectResult {
        let row = self.group_of(at);
        if let Some(known) = self.told.get(row).and_then(|told| told.end) {
            return known;
        }
        let (starts, end) = self.images.quick_result_on_hosts(hosts, knowledge, &mut self.doubt);
        self.store_result(row, ReleaseGroupResult { starts: Some(starts), end: Some(end) });
        end
    }

    /// Whether the image starts with the release at an index, on all of these hosts.
    pub(super) fn starts_with_release(&mut self, at: usize, hosts: &[Host], knowledge: Knowledge) -> bool {
        let row = self.group_of(at);
        if let Some(known) = self.told.get(row).and_then(|told| told.starts) {
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
    fn store_result(&mut self, row: usize, told: ReleaseGroupResult) {
        if let Some(place) = self.told.get_mut(row) {
            *place = told;
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
