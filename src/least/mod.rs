//! The smallest driver of a pool on which a subject starts, all else of the pool as declared.
//!
//! What was seen of a subject is inferred once and replayed on as many drivers as there are. As everywhere nothing is
//! taken for monotone: each release that the tables know is tried.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::DriverVersion;
use crate::fact::ImageFacts;
use crate::fleet::Declared;
use crate::fleet::DriverSpec;
use crate::fleet::Host;
use crate::fleet::Pool;
use crate::infer::infer;
use crate::judge;
use crate::judge::Subject;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::source::Span;
use crate::start::Fate;
use crate::start::Route;
use crate::start::verdicts;

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
    builds: BTreeMap<String, Vec<ImageFacts>>,
    day: Option<Date>,
}

impl Images {
    /// Infers it for these platforms, with the tables as of a day.
    pub fn of(subject: &Subject, platforms: &[String], as_of: Option<Date>, knowledge: Knowledge) -> Self {
        let (mut builds, mut day) = (BTreeMap::new(), as_of);
        for platform in platforms {
            let Some(seen) = judge::observations(&subject.content, platform) else { continue };
            day = seen.as_of.or(day);
            let images = infer(&seen, platform, as_of, knowledge).into_iter();
            builds.insert(platform.clone(), images.filter(|image| image.gpu_content).collect());
        }
        Self { builds, day }
    }

    /// How it ends on a pool.
    pub fn on(&self, pool: &Pool, knowledge: Knowledge) -> End {
        self.on_hosts(&pool.hosts(knowledge, self.day), knowledge)
    }

    /// The same where the hosts are known.
    pub fn on_hosts(&self, hosts: &[Host], knowledge: Knowledge) -> End {
        let of = |host: &Host| self.builds(&host.platform);
        let pairs: Vec<_> = hosts.iter().flat_map(|host| of(host).iter().map(move |image| (image, host))).collect();
        match verdicts(&pairs, knowledge).first().map(|verdict| verdict.fate) {
            None => End::Nothing,
            Some(Some(Fate::Starts(route))) => End::Starts(route),
            Some(Some(Fate::Fails(_))) => End::Fails,
            Some(Some(Fate::Undetermined) | None) => End::Open,
        }
    }

    /// The builds for a platform that concern a GPU.
    pub fn builds(&self, platform: &str) -> &[ImageFacts] {
        self.builds.get(platform).map_or(&[], Vec::as_slice)
    }

    /// Day for which hosts are asked.
    pub fn day(&self) -> Option<Date> {
        self.day
    }
}

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
    let mut found: Vec<DriverVersion> = if pool.gpu.iter().any(|gpu| jetson(&gpu.value.name)) {
        knowledge.jetson_releases().iter().map(|row| row.driver).collect()
    } else {
        let of_branches = knowledge.branches().iter().flat_map(|row| row.releases.iter().copied());
        of_branches.chain(knowledge.minor_compats().iter().map(|row| row.min_driver)).collect()
    };
    found.sort_unstable();
    found.dedup();
    found
}

/// The smallest driver of a subject on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// From it on every known release starts, or all up to the last that does.
    From(DriverVersion),
    /// No known release starts.
    Never,
    /// No known release starts for certain, and of some it cannot be told.
    Open,
}

/// Seeks the smallest driver of a subject on a pool.
pub fn least(images: &Images, pool: &Pool, knowledge: Knowledge) -> Least {
    let mut least = Least::Never;
    for driver in releases(pool, knowledge).into_iter().rev() {
        match (images.on(&with_driver(pool, driver), knowledge), least) {
            (End::Starts(_), _) => least = Least::From(driver),
            (_, Least::From(_)) => break,
            (End::Open, _) => least = Least::Open,
            (End::Fails | End::Nothing, _) => {}
        }
    }
    least
}

/// What two pools have in common on which everything ends alike with the same driver.
pub fn likeness(pool: &Pool, knowledge: Knowledge) -> String {
    let drivers = releases(pool, knowledge);
    let one = drivers.last().map_or_else(|| pool.clone(), |driver| with_driver(pool, *driver));
    format!("{:?} {:?}", one.hosts(knowledge, None), drivers.len())
}
