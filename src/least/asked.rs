//! What one image told of the drivers of a pool: releases that its start-up cannot tell apart are asked once.

use std::ops::Range;

use crate::cuda::DriverVersion;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::knowledge::Knowledge;
use crate::least::End;
use crate::least::Images;
use crate::least::drivers::all_releases;

/// What was told of one row, as far as that was asked.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// Whether each host starts by itself.
    starts: Option<bool>,
    /// How it ends.
    end: Option<End>,
}

/// Rows of releases between which nothing lies that a start-up compares a driver with, each with what was told of it.
#[derive(Debug)]
pub(super) struct Asked<'i> {
    pub(super) images: &'i Images,
    /// The places of those that may be told apart, the newest first.
    telling: Vec<usize>,
    /// Where each row begins, the oldest first.
    begins: Vec<usize>,
    /// What was told of each row.
    told: Vec<Told>,
    /// The host that told last that it does not start.
    doubt: usize,
}

impl<'i> Asked<'i> {
    /// Nothing asked yet of one image; releases are those of the pool, the oldest first.
    pub(super) fn of(images: &'i Images, pool: &Pool, releases: &[DriverVersion], knowledge: Knowledge) -> Self {
        let named = images.named(pool, knowledge);
        let telling = super::places(&named, releases);
        let begins = if releases == all_releases(knowledge) {
            rows(&named, releases)
        } else {
            // Each release of a module is for modules of its own.
            (0..releases.len()).collect()
        };
        Self { images, telling, told: vec![Told::default(); begins.len()], begins, doubt: 0 }
    }

    /// The places of the releases that may be told apart, the newest first.
    pub(super) fn telling(&self) -> &[usize] {
        &self.telling
    }

    /// How it ends with the release at a place, on these hosts. Of a start the route is not told.
    pub(super) fn end(&mut self, at: usize, hosts: &[Host], knowledge: Knowledge) -> End {
        let row = self.row(at);
        if let Some(known) = self.told.get(row).and_then(|told| told.end) {
            return known;
        }
        let (starts, end) = self.images.soon_on(hosts, knowledge, &mut self.doubt);
        self.keep(row, Told { starts: Some(starts), end: Some(end) });
        end
    }

    /// Whether it starts with that release, on all of these hosts.
    pub(super) fn starts(&mut self, at: usize, hosts: &[Host], knowledge: Knowledge) -> bool {
        let row = self.row(at);
        if let Some(known) = self.told.get(row).and_then(|told| told.starts) {
            return known;
        }
        let starts = self.images.start_on(hosts, knowledge, &mut self.doubt);
        self.keep(row, Told { starts: Some(starts), end: None });
        starts
    }

    fn row(&self, at: usize) -> usize {
        self.begins.partition_point(|begin| *begin <= at).saturating_sub(1)
    }

    fn keep(&mut self, row: usize, told: Told) {
        if let Some(place) = self.told.get_mut(row) {
            *place = told;
        }
    }
}

/// Where rows begin: at each branch, and on both sides of each release that is named.
fn rows(named: &[DriverVersion], releases: &[DriverVersion]) -> Vec<usize> {
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
