//! The tables of a settings file: severities of rules, suppressed findings, settings for some files.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::civil::Date;

use crate::fleet::settings::{PathPattern, PoolPattern, SettingLocation, SettingValue};

/// The severity of a rule's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeverityLevel {
    /// Findings are not reported.
    Off,
    /// The finding is informative.
    Note,
    /// The container starts, but the setup is fragile or wasteful.
    Warning,
    /// The container does not start.
    Error,
}

impl SeverityLevel {
    /// The names, in ascending order of severity.
    pub const NAMES: &[&str] = &["off", "note", "warning", "error"];

    /// Returns the name in settings and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Returns the level with this name.
    pub(super) fn from_name(word: &str) -> Option<Self> {
        [Self::Off, Self::Note, Self::Warning, Self::Error].into_iter().find(|level| level.name() == word)
    }
}

/// The severity of a rule, in general and for single pools.
#[derive(Clone, Debug)]
pub struct RuleSeverity {
    /// The name of the rule.
    pub rule: SettingValue<String>,
    /// The severity for pools that no pattern matches.
    pub severity: Option<SettingValue<SeverityLevel>>,
    /// The severities for single pools; the first matching pattern applies.
    pub pools: Vec<(PoolPattern, SeverityLevel)>,
}

impl RuleSeverity {
    /// Returns the severity for a pool, or for findings that are independent of pools.
    pub fn for_pool(&self, pool: Option<&str>) -> Option<SeverityLevel> {
        let of_pool = pool.and_then(|pool| self.pools.iter().find(|(pattern, _)| pattern.matches(pool)));
        of_pool.map(|(_, level)| *level).or(self.severity.as_ref().map(|severity| severity.value))
    }
}

/// A suppression of findings in the settings.
#[derive(Clone, Debug)]
pub struct IgnoreEntry {
    /// The rule whose findings are suppressed.
    pub rule: SettingValue<String>,
    /// The files; all if empty.
    pub paths: Vec<PathPattern>,
    /// The pools; all if empty.
    pub pools: Vec<PoolPattern>,
    /// The reason for the suppression.
    pub reason: String,
    /// The last day on which it applies.
    pub until: Option<SettingValue<Date>>,
    /// The location of the entry.
    pub location: SettingLocation,
    pub(super) used: Arc<AtomicBool>,
}

impl IgnoreEntry {
    /// Whether its last day has passed.
    pub fn is_expired(&self, today: Date) -> bool {
        self.until.as_ref().is_some_and(|until| until.value < today)
    }

    /// Whether it has suppressed a finding.
    pub fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Records that it has suppressed a finding.
    pub(super) fn mark_used(&self) {
        self.used.store(true, Ordering::Relaxed);
    }
}

/// Settings that apply to some files only.
#[derive(Clone, Debug)]
pub struct PathSettings {
    /// The patterns of the files.
    pub paths: Vec<PathPattern>,
    /// Build arguments.
    pub build_args: Vec<(String, SettingValue<String>)>,
    /// The target build stage.
    pub target: Option<SettingValue<String>>,
    /// Platforms that images are built for.
    pub platforms: Option<Vec<SettingValue<String>>>,
    /// The pools that the images run on.
    pub pools: Vec<PoolPattern>,
    /// Severities of rules.
    pub rules: Vec<RuleSeverity>,
    /// The location of the table.
    pub location: SettingLocation,
    pub(super) used: Arc<AtomicBool>,
}

impl PathSettings {
    /// Whether it has matched an input.
    pub fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether it matches a path; records a match as use.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let fits = self.paths.iter().any(|pattern| pattern.matches(path));
        if fits {
            self.used.store(true, Ordering::Relaxed);
        }
        fits
    }
}
