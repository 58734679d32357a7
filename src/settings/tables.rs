//! What the tables of a settings file hold: how bad rules are, what is left out, what holds for some files.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use jiff::civil::Date;

use crate::settings::PathPattern;
use crate::settings::Place;
use crate::settings::PoolPattern;
use crate::settings::Set;

/// How bad a rule's findings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Not told.
    Off,
    /// Worth knowing.
    Note,
    /// Starts, and is fragile or wasteful.
    Warning,
    /// Does not start.
    Error,
}

impl Level {
    /// The words, in order.
    pub const WORDS: &[&str] = &["off", "note", "warning", "error"];

    /// The word in settings and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The level that a word stands for.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        [Self::Off, Self::Note, Self::Warning, Self::Error].into_iter().find(|level| level.word() == word)
    }
}

/// How bad one rule is.
#[derive(Clone, Debug)]
pub struct RuleLevel {
    /// Its name.
    pub rule: Set<String>,
    /// Everywhere, unless a pool says otherwise.
    pub severity: Option<Set<Level>>,
    /// On some pools; the first pattern that fits counts.
    pub pools: Vec<(PoolPattern, Level)>,
}

impl RuleLevel {
    /// The level for a pool, or for what is independent of pools.
    pub fn on(&self, pool: Option<&str>) -> Option<Level> {
        let of_pool = pool.and_then(|pool| self.pools.iter().find(|(pattern, _)| pattern.fits(pool)));
        of_pool.map(|(_, level)| *level).or(self.severity.as_ref().map(|severity| severity.value))
    }
}

/// Findings that are left out.
#[derive(Clone, Debug)]
pub struct Ignore {
    /// Rule.
    pub rule: Set<String>,
    /// Files; all where none is named.
    pub paths: Vec<PathPattern>,
    /// Pools; all where none is named.
    pub pools: Vec<PoolPattern>,
    /// Why.
    pub reason: String,
    /// The last day on which it holds.
    pub until: Option<Set<Date>>,
    /// Where it is written.
    pub place: Place,
    pub(super) used: Arc<AtomicBool>,
}

impl Ignore {
    /// Whether its last day is over.
    pub fn is_over(&self, today: Date) -> bool {
        self.until.as_ref().is_some_and(|until| until.value < today)
    }

    /// Whether it has left something out.
    pub fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Keeps in mind that it left something out.
    pub(super) fn use_it(&self) {
        self.used.store(true, Ordering::Relaxed);
    }
}

/// What holds for some files alone.
#[derive(Clone, Debug)]
pub struct ForPaths {
    /// Which.
    pub paths: Vec<PathPattern>,
    /// Build arguments.
    pub build_args: Vec<(String, Set<String>)>,
    /// The stage that ships.
    pub target: Option<Set<String>>,
    /// Platforms that images are built for.
    pub platforms: Option<Vec<Set<String>>>,
    /// The pools that they run on.
    pub pools: Vec<PoolPattern>,
    /// How bad rules are.
    pub rules: Vec<RuleLevel>,
    /// Where it is written.
    pub place: Place,
    pub(super) used: Arc<AtomicBool>,
}

impl ForPaths {
    /// Whether it was for one of the inputs.
    pub fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether it is for a file; keeps in mind that it was for one.
    pub(super) fn fits(&self, path: &Path) -> bool {
        let fits = self.paths.iter().any(|pattern| pattern.fits(path));
        if fits {
            self.used.store(true, Ordering::Relaxed);
        }
        fits
    }
}
