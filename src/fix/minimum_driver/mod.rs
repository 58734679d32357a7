//! The minimum driver: one definition for every command that reports it, `compare`, `needs`, `fleet what-if` and
//! `recommend`.
//!
//! It is the release from which on every known release works, with all else unchanged: of the releases in the tables,
//! the first of the last contiguous run with which everything in question starts. If the newest releases no longer
//! work, the run ends before them. An older release that works, followed by one that does not, is not the minimum: an
//! upgrade to a release above a minimum must not break the start. As everywhere, no monotonicity is assumed.
//!
//! The smallest *change* that fixes a pool is another question: it may be a release below such a gap.
//!
//! The observations of a subject are inferred once and replayed on every driver.

mod driver_search;
mod image_equivalence;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
pub use crate::fix::minimum_driver::driver_search::{
    CommonMinimumDriver, HostsByRelease, MinimumDriver, OlderStartingDriver, StartingReleases, all_driver_releases,
    common_minimum_driver, find_older_driver, find_starting_releases, is_below_minimum, last_unbroken_range,
    minimum_driver, releases_for_pool, starts_below_minimum, with_driver,
};
use crate::fleet::{Host, Pool};
use crate::judge::{AnalysisSubject, InferenceCache, is_for_nvidia_gpus};
use crate::knowledge::{Knowledge, ToolkitRow};
use crate::model::fact::ImageFacts;
use crate::replay::{
    ReplayCache, StartRoute, StartupResult, fails_everywhere, pool_verdicts_with_cache, starts_everywhere,
};

/// How a subject starts on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectResult {
    /// It starts, by the worst route of the possible nodes of the pool.
    Starts(StartRoute),
    /// It fails.
    Fails,
    /// It depends on the node, or is unknown.
    Open,
    /// Nothing in it uses a GPU, or the tables know no node of the pool.
    Nothing,
}

impl SubjectResult {
    /// Whether the subject starts.
    pub const fn starts(self) -> bool {
        matches!(self, Self::Starts(_))
    }
}

/// The images that were inferred for a subject, by platform.
#[derive(Clone, Debug)]
pub struct SubjectImages {
    builds: BTreeMap<String, Vec<Arc<ImageFacts>>>,
    day: Option<Date>,
}

impl SubjectImages {
    /// Infers the images of a subject for these platforms, with the tables as of a day.
    pub fn infer(subject: &AnalysisSubject, platforms: &[String], as_of: Option<Date>, knowledge: Knowledge) -> Self {
        Self::infer_with(subject, platforms, as_of, knowledge, &InferenceCache::default())
    }

    /// Infers the images of a subject, reusing those in `inferred`, which are of the same subject.
    pub fn infer_with(
        subject: &AnalysisSubject,
        platforms: &[String],
        as_of: Option<Date>,
        knowledge: Knowledge,
        inferred: &InferenceCache,
    ) -> Self {
        let (mut builds, mut day) = (BTreeMap::new(), as_of);
        for platform in platforms {
            let Some((images, of)) = inferred.images(&subject.content, platform, as_of, knowledge) else { continue };
            day = of.or(day);
            let for_gpus = images.into_iter().filter(|image| is_for_nvidia_gpus(subject, image, knowledge));
            builds.insert(platform.clone(), for_gpus.collect());
        }
        Self { builds, day }
    }

    /// Returns how the subject starts on a pool.
    pub fn result_on_pool(&self, pool: &Pool, knowledge: Knowledge) -> SubjectResult {
        self.result_on_hosts(&pool.hosts(knowledge, self.day), knowledge)
    }

    /// Returns how the subject starts on these hosts.
    pub fn result_on_hosts(&self, hosts: &[Host], knowledge: Knowledge) -> SubjectResult {
        result_on_pairs(&self.host_pairs(hosts), &mut ReplayCache::default(), knowledge)
    }

    /// Whether the subject starts on all of these hosts. Stores the index of the first host with another result in
    /// `doubt`, and replays it first the next time.
    pub fn starts_on_hosts(&self, hosts: &[Host], knowledge: Knowledge, doubt: &mut usize) -> bool {
        let pairs = self.host_pairs(hosts);
        let mut shared = ReplayCache::default();
        let of_all = starts_everywhere(&pairs, &mut shared, knowledge, doubt);
        of_all.unwrap_or_else(|| result_on_pairs(&pairs, &mut shared, knowledge).starts())
    }

    /// Returns whether the subject starts on all hosts, and its result without the way in which it starts; faster than
    /// the exact result if it starts on all hosts or fails on all.
    fn quick_result_on_hosts(&self, hosts: &[Host], knowledge: Knowledge, doubt: &mut usize) -> (bool, SubjectResult) {
        let pairs = self.host_pairs(hosts);
        let mut shared = ReplayCache::default();
        let of_all = starts_everywhere(&pairs, &mut shared, knowledge, doubt);
        let end = if of_all == Some(true) {
            SubjectResult::Starts(StartRoute::Native)
        } else if fails_everywhere(&pairs, &mut shared, knowledge) {
            SubjectResult::Fails
        } else {
            result_on_pairs(&pairs, &mut shared, knowledge)
        };
        (of_all.unwrap_or_else(|| end.starts()), end)
    }

    /// Returns each host with each image for its platform.
    fn host_pairs<'a>(&'a self, hosts: &'a [Host]) -> Vec<(&'a ImageFacts, &'a Host)> {
        let of = |host: &Host| self.builds_for(&host.platform);
        hosts.iter().flat_map(|host| of(host).iter().map(move |image| (image.as_ref(), host))).collect()
    }

    /// Returns the images for a platform that use a GPU.
    pub fn builds_for(&self, platform: &str) -> &[Arc<ImageFacts>] {
        self.builds.get(platform).map_or(&[], Vec::as_slice)
    }

    /// Returns the images for all platforms that use a GPU.
    pub fn all_builds(&self) -> impl Iterator<Item = &ImageFacts> {
        self.builds.values().flatten().map(Arc::as_ref)
    }

    /// Returns a text that is equal for subjects with the same result on every host. It covers everything that a
    /// start reads and the facts behind it, without their location and without other content.
    pub fn equivalence_key(&self) -> String {
        let all = self.builds.iter().flat_map(|(platform, all)| all.iter().map(move |one| (platform, one)));
        let keys: Vec<String> = all
            .map(|(platform, image)| format!("{platform} {}", image_equivalence::image_equivalence_key(image)))
            .collect();
        keys.join("\n")
    }

    /// Returns the driver releases at which a result may change: those named by the tables, by the images, or by the
    /// requirements of a pool.
    fn threshold_releases(&self, pool: &Pool, knowledge: Knowledge) -> Vec<DriverVersion> {
        let of_pool = pool.env.iter().filter(|(name, _)| name.starts_with(REQUIREMENT_PREFIX));
        let of_pool = of_pool.flat_map(|(_, value)| driver_versions_in(&value.value)).collect();
        threshold_releases(self.all_builds(), of_pool, knowledge)
    }

    /// Returns the indices of the releases that a start on a pool can distinguish, the newest first; `releases` is
    /// sorted oldest first.
    pub fn distinguishable_releases(
        &self,
        pool: &Pool,
        releases: &[DriverVersion],
        knowledge: Knowledge,
    ) -> Vec<usize> {
        distinguishable_indices(&self.threshold_releases(pool, knowledge), releases)
    }

    /// Whether no image uses a GPU, on any platform.
    pub fn is_empty(&self) -> bool {
        self.builds.values().all(Vec::is_empty)
    }

    /// Returns the day of the tables for which hosts are determined.
    pub fn day(&self) -> Option<Date> {
        self.day
    }
}

/// Returns how a subject starts on pairs of images and hosts.
fn result_on_pairs<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    shared: &mut ReplayCache,
    knowledge: Knowledge,
) -> SubjectResult {
    match pool_verdicts_with_cache(pairs, shared, knowledge).first().map(|verdict| verdict.fate) {
        None => SubjectResult::Nothing,
        Some(Some(StartupResult::Starts(route))) => SubjectResult::Starts(route),
        Some(Some(StartupResult::Fails(_))) => SubjectResult::Fails,
        Some(Some(StartupResult::Undetermined) | None) => SubjectResult::Open,
    }
}

/// Returns the driver releases with which something in an image is compared.
fn image_thresholds(image: &ImageFacts, knowledge: Knowledge) -> Vec<DriverVersion> {
    let mut found = Vec::new();
    for library in image.compat.known().into_iter().flat_map(|compat| &compat.libraries) {
        found.push(library.version);
        found.extend(driver_versions_in(&format!("{:?}", library.note)));
    }
    found.extend(image.driver_libraries.known().into_iter().flatten().filter_map(|library| library.version));
    for (_, value) in image.env.with_prefix(REQUIREMENT_PREFIX) {
        found.extend(value.known().into_iter().flat_map(|value| driver_versions_in(value)));
    }
    found.extend(image.firmware.known().into_iter().flatten().flat_map(|path| driver_versions_in(path)));
    // Before minor version compatibility a toolkit compares drivers in full.
    for runtime in image.components.iter().filter_map(|component| component.cuda.known()) {
        let of_runtime = |row: &&ToolkitRow| {
            row.version.major() == runtime.major()
                && (runtime.is_major_only() || row.version.release() == runtime.release())
        };
        let rows = knowledge.toolkits().iter().filter(of_runtime);
        found.extend(rows.flat_map(|row| row.min_driver_full.into_iter().chain(row.bundled_driver)));
    }
    found
}

/// Returns the indices of the releases that a start of these images can distinguish, the newest first. These are the
/// ends of each branch, and the releases around one that the tables or the images name or that is among `others`;
/// `releases` is sorted oldest first.
pub fn distinguishable_releases<'i>(
    images: impl Iterator<Item = &'i ImageFacts>,
    others: Vec<DriverVersion>,
    releases: &[DriverVersion],
    knowledge: Knowledge,
) -> Vec<usize> {
    distinguishable_indices(&threshold_releases(images, others, knowledge), releases)
}

/// Returns the driver releases at which a result may change: those named by the tables or by the images, and `others`.
fn threshold_releases<'i>(
    images: impl Iterator<Item = &'i ImageFacts>,
    mut others: Vec<DriverVersion>,
    knowledge: Knowledge,
) -> Vec<DriverVersion> {
    others.extend(knowledge.minor_compat().iter().map(|row| row.min_driver));
    others.extend(knowledge.driver_branches().iter().flat_map(|row| row.other_releases.iter().copied()));
    others.extend(images.flat_map(|image| image_thresholds(image, knowledge)));
    others
}

/// Returns the indices of releases at the ends of branches and around the named ones, branch ends first.
fn distinguishable_indices(named: &[DriverVersion], releases: &[DriverVersion]) -> Vec<usize> {
    let mut around: BTreeSet<usize> = BTreeSet::new();
    for version in named {
        let at = releases.partition_point(|release| release < version);
        around.extend(at.saturating_sub(1)..=at + 1);
    }
    let branch = |at: usize| releases.get(at).map(|release| release.branch());
    let last = |at: &usize| branch(*at) != branch(*at + 1);
    let first = |at: usize| at == 0 || branch(at) != branch(at - 1);
    let ends = (0..releases.len()).rev().filter(last);
    let others = (0..releases.len()).rev().filter(|at| !last(at) && (first(*at) || around.contains(at)));
    ends.chain(others).collect()
}

/// Prefix of the variables that contain requirements on drivers.
const REQUIREMENT_PREFIX: &str = "NVIDIA_REQUIRE";

/// Returns every number in a text that may be a driver version: `driver>=470,driver<471`.
fn driver_versions_in(text: &str) -> Vec<DriverVersion> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    words.filter(|word| word.len() >= 3).filter_map(|word| word.parse().ok()).collect()
}

/// Returns a text that is equal for pools on which every subject has the same result with the same driver.
pub fn pool_equivalence_key(pool: &Pool, knowledge: Knowledge) -> String {
    let drivers = releases_for_pool(pool, knowledge);
    let one = drivers.last().map_or_else(|| pool.clone(), |driver| with_driver(pool, *driver));
    format!("{:?} {:?}", one.hosts(knowledge, None), drivers.len())
}

#[cfg(test)]
mod tests;
