//! The smallest driver: one definition for all that tell one, `compare`, `needs`, `fleet what-if` and `recommend`.
//!
//! It is the release from which on every known release does, all else as it is: of the releases that the tables know,
//! the first of the last unbroken row of those with which all start that is asked about. Where the newest releases do
//! not do any more, the row ends before them. An older release that does, with one that does not in between, is not the
//! smallest: who has it starts, and does no longer after an upgrade to one that is named as enough. As everywhere nothing
//! is taken for monotone.
//!
//! What cures a pool is another question: the smallest *change* may be a release below such a gap.
//!
//! What was seen of a subject is inferred once and replayed on as many drivers as there are.

mod asked;
mod drivers;
mod likeness;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::fact::ImageFacts;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::judge::Inferred;
use crate::judge::Subject;
use crate::judge::is_for_gpus;
use crate::knowledge::Knowledge;
use crate::knowledge::ToolkitRow;
pub use crate::least::drivers::Drivers;
pub use crate::least::drivers::Least;
pub use crate::least::drivers::OfAll;
pub use crate::least::drivers::Older;
pub use crate::least::drivers::Starting;
pub use crate::least::drivers::all_releases;
pub use crate::least::drivers::is_below;
pub use crate::least::drivers::lasting;
pub use crate::least::drivers::least;
pub use crate::least::drivers::least_of_all;
pub use crate::least::drivers::older;
pub use crate::least::drivers::releases;
pub use crate::least::drivers::starting;
pub use crate::least::drivers::starts_below;
pub use crate::least::drivers::with_driver;
use crate::start::Fate;
use crate::start::Route;
use crate::start::Shared;
use crate::start::fails_everywhere;
use crate::start::starts_everywhere;
use crate::start::verdicts_of;

/// How a subject ends on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It starts, by the worst route of the nodes that the pool may have.
    Starts(Route),
    /// It fails.
    Fails,
    /// It depends, or cannot be told.
    Open,
    /// Nothing in it concerns a GPU, or the pool has no node that the tables know.
    Nothing,
}

impl End {
    /// Whether it starts.
    pub const fn starts(self) -> bool {
        matches!(self, Self::Starts(_))
    }
}

/// What was inferred of a subject, by platform.
#[derive(Clone, Debug)]
pub struct Images {
    builds: BTreeMap<String, Vec<Arc<ImageFacts>>>,
    day: Option<Date>,
}

impl Images {
    /// Infers it for these platforms, with the tables as of a day.
    pub fn of(subject: &Subject, platforms: &[String], as_of: Option<Date>, knowledge: Knowledge) -> Self {
        Self::known(subject, platforms, as_of, knowledge, &Inferred::default())
    }

    /// The same where some of it was inferred already: `inferred` is of this subject.
    pub fn known(
        subject: &Subject,
        platforms: &[String],
        as_of: Option<Date>,
        knowledge: Knowledge,
        inferred: &Inferred,
    ) -> Self {
        let (mut builds, mut day) = (BTreeMap::new(), as_of);
        for platform in platforms {
            let Some((images, of)) = inferred.images(&subject.content, platform, as_of, knowledge) else { continue };
            day = of.or(day);
            let for_gpus = images.into_iter().filter(|image| is_for_gpus(subject, image, knowledge));
            builds.insert(platform.clone(), for_gpus.collect());
        }
        Self { builds, day }
    }

    /// How it ends on a pool.
    pub fn on(&self, pool: &Pool, knowledge: Knowledge) -> End {
        self.on_hosts(&pool.hosts(knowledge, self.day), knowledge)
    }

    /// The same where the hosts are known.
    pub fn on_hosts(&self, hosts: &[Host], knowledge: Knowledge) -> End {
        end(&self.pairs(hosts), &mut Shared::default(), knowledge)
    }

    /// Whether it starts on all of them; the place of the first that tells otherwise is kept, and asked first the next
    /// time.
    pub fn start_on(&self, hosts: &[Host], knowledge: Knowledge, doubt: &mut usize) -> bool {
        let pairs = self.pairs(hosts);
        let mut shared = Shared::default();
        let of_all = starts_everywhere(&pairs, &mut shared, knowledge, doubt);
        of_all.unwrap_or_else(|| end(&pairs, &mut shared, knowledge).starts())
    }

    /// Whether it starts on all of them, and how it ends there: without its route, and sooner where it starts on all of
    /// them or fails on all.
    fn soon_on(&self, hosts: &[Host], knowledge: Knowledge, doubt: &mut usize) -> (bool, End) {
        let pairs = self.pairs(hosts);
        let mut shared = Shared::default();
        let of_all = starts_everywhere(&pairs, &mut shared, knowledge, doubt);
        let end = if of_all == Some(true) {
            End::Starts(Route::Native)
        } else if fails_everywhere(&pairs, &mut shared, knowledge) {
            End::Fails
        } else {
            end(&pairs, &mut shared, knowledge)
        };
        (of_all.unwrap_or_else(|| end.starts()), end)
    }

    fn pairs<'a>(&'a self, hosts: &'a [Host]) -> Vec<(&'a ImageFacts, &'a Host)> {
        let of = |host: &Host| self.builds(&host.platform);
        hosts.iter().flat_map(|host| of(host).iter().map(move |image| (image.as_ref(), host))).collect()
    }

    /// The builds for a platform that concern a GPU.
    pub fn builds(&self, platform: &str) -> &[Arc<ImageFacts>] {
        self.builds.get(platform).map_or(&[], Vec::as_slice)
    }

    /// The builds for all platforms that concern a GPU.
    pub fn all(&self) -> impl Iterator<Item = &ImageFacts> {
        self.builds.values().flatten().map(Arc::as_ref)
    }

    /// What two subjects have in common that end alike on every host: all that a start-up looks at, with the facts that it
    /// rests on. Where these lie does not count, nor does what else is in it.
    pub fn likeness(&self) -> String {
        let all = self.builds.iter().flat_map(|(platform, all)| all.iter().map(move |one| (platform, one)));
        let told: Vec<String> = all.map(|(platform, image)| format!("{platform} {}", likeness::of(image))).collect();
        told.join("\n")
    }

    /// Every release that is named by the tables, by the images, or by the requirements of a pool.
    fn named(&self, pool: &Pool, knowledge: Knowledge) -> Vec<DriverVersion> {
        let of_pool = pool.env.iter().filter(|(name, _)| name.starts_with(REQUIREMENTS));
        let of_pool = of_pool.flat_map(|(_, value)| versions(&value.value)).collect();
        named(self.all(), of_pool, knowledge)
    }

    /// Of the releases, oldest first, the places of those that the start-up can tell apart on a pool, as [`telling`] has
    /// them. The newest come first.
    pub fn telling(&self, pool: &Pool, releases: &[DriverVersion], knowledge: Knowledge) -> Vec<usize> {
        places(&self.named(pool, knowledge), releases)
    }

    /// Whether nothing in it concerns a GPU, on any platform.
    pub fn is_empty(&self) -> bool {
        self.builds.values().all(Vec::is_empty)
    }

    /// Day for which hosts are asked.
    pub fn day(&self) -> Option<Date> {
        self.day
    }
}

fn end<'a>(pairs: &[(&'a ImageFacts, &'a Host)], shared: &mut Shared, knowledge: Knowledge) -> End {
    match verdicts_of(pairs, shared, knowledge).first().map(|verdict| verdict.fate) {
        None => End::Nothing,
        Some(Some(Fate::Starts(route))) => End::Starts(route),
        Some(Some(Fate::Fails(_))) => End::Fails,
        Some(Some(Fate::Undetermined) | None) => End::Open,
    }
}

/// The releases that something in an image is compared with.
fn thresholds(image: &ImageFacts, knowledge: Knowledge) -> Vec<DriverVersion> {
    let mut found = Vec::new();
    for library in image.compat.known().into_iter().flat_map(|compat| &compat.libraries) {
        found.push(library.version);
        found.extend(versions(&format!("{:?}", library.note)));
    }
    found.extend(image.driver_libraries.known().into_iter().flatten().filter_map(|library| library.version));
    for (_, value) in image.env.beginning(REQUIREMENTS) {
        found.extend(value.known().into_iter().flat_map(|value| versions(value)));
    }
    found.extend(image.firmware.known().into_iter().flatten().flat_map(|path| versions(path)));
    // Before minor version compatibility a toolkit compares drivers in full.
    for runtime in image.components.iter().filter_map(|component| component.cuda.known()) {
        let of_runtime = |row: &&ToolkitRow| {
            row.version.major() == runtime.major() && (runtime.is_major() || row.version.release() == runtime.release())
        };
        let rows = knowledge.toolkits().iter().filter(of_runtime);
        found.extend(rows.flat_map(|row| row.min_driver_full.into_iter().chain(row.bundled_driver)));
    }
    found
}

/// Of the releases, oldest first, the places of those that the start-up of some images can tell apart: the ends of each
/// branch, and what lies around a release that the tables or the images name, or that is among `others`. The newest come
/// first.
pub fn telling<'i>(
    images: impl Iterator<Item = &'i ImageFacts>,
    others: Vec<DriverVersion>,
    releases: &[DriverVersion],
    knowledge: Knowledge,
) -> Vec<usize> {
    places(&named(images, others, knowledge), releases)
}

/// Every release that is named by the tables or by some images, and these others.
fn named<'i>(
    images: impl Iterator<Item = &'i ImageFacts>,
    mut others: Vec<DriverVersion>,
    knowledge: Knowledge,
) -> Vec<DriverVersion> {
    others.extend(knowledge.minor_compats().iter().map(|row| row.min_driver));
    others.extend(knowledge.branches().iter().flat_map(|row| row.other_releases.iter().copied()));
    others.extend(images.flat_map(|image| thresholds(image, knowledge)));
    others
}

fn places(named: &[DriverVersion], releases: &[DriverVersion]) -> Vec<usize> {
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

/// Variables that name drivers.
const REQUIREMENTS: &str = "NVIDIA_REQUIRE";

/// Every number in a text that may be that of a driver: `driver>=470,driver<471`.
fn versions(text: &str) -> Vec<DriverVersion> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    words.filter(|word| word.len() >= 3).filter_map(|word| word.parse().ok()).collect()
}

/// What two pools have in common on which everything ends alike with the same driver.
pub fn likeness(pool: &Pool, knowledge: Knowledge) -> String {
    let drivers = releases(pool, knowledge);
    let one = drivers.last().map_or_else(|| pool.clone(), |driver| with_driver(pool, *driver));
    format!("{:?} {:?}", one.hosts(knowledge, None), drivers.len())
}

#[cfg(test)]
mod tests;
