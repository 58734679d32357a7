//! The settings as they apply to one input.

use std::path::Path;

use jiff::civil::Date;

use crate::fleet::settings::{
    IgnoreEntry, PathPattern, PathSettings, PoolPattern, RuleSeverity, SettingValue, Settings, SeverityLevel,
};

/// The settings as they apply to one input.
#[derive(Clone, Copy, Debug)]
pub struct InputSettings<'a> {
    /// All settings.
    pub settings: &'a Settings,
    /// The absolute path of the input, if it is a file.
    pub path: Option<&'a Path>,
    /// The day that decides whether ignore entries have expired.
    pub today: Date,
}

impl<'a> InputSettings<'a> {
    /// Returns the settings for the path of the input, in descending precedence.
    fn matching_path_settings(self) -> impl Iterator<Item = &'a PathSettings> {
        let fits = move |one: &&PathSettings| self.path.is_some_and(|path| one.matches(path));
        self.settings.paths.iter().rev().filter(fits)
    }

    /// Marks the settings for the path of the input as used.
    pub fn mark_path_settings_used(self) {
        self.matching_path_settings().for_each(drop);
    }

    /// Returns the severity of a rule, if it is set.
    pub fn rule_severity(self, rule: &str, pool: Option<&str>) -> Option<SeverityLevel> {
        self.rule_severities().filter(|one| one.rule.value == rule).find_map(|one| one.for_pool(pool))
    }

    /// Returns the entry that suppresses the finding of a rule for a pool, or for no pool.
    pub fn matching_ignore(self, rule: &str, pool: Option<&str>) -> Option<&'a IgnoreEntry> {
        let fits = |one: &&IgnoreEntry| {
            let file = self.matches_paths(&one.paths);
            let on =
                one.pools.is_empty() || pool.is_some_and(|pool| one.pools.iter().any(|pattern| pattern.matches(pool)));
            one.rule.value == rule && file && on && !one.is_expired(self.today)
        };
        let found = self.settings.ignores.iter().find(fits)?;
        found.mark_used();
        Some(found)
    }

    /// Returns the severities of rules, in descending precedence.
    pub fn rule_severities(self) -> impl Iterator<Item = &'a RuleSeverity> {
        self.matching_path_settings().flat_map(|one| &one.rules).chain(&self.settings.rules)
    }

    /// Returns the ignore entries that apply to the input, at least on some pool.
    pub fn possible_ignores(self) -> impl Iterator<Item = &'a IgnoreEntry> {
        self.settings.ignores.iter().filter(move |one| self.matches_paths(&one.paths))
    }

    /// Whether the input matches one of these patterns; true if there are none.
    fn matches_paths(self, paths: &[PathPattern]) -> bool {
        paths.is_empty() || self.path.is_some_and(|path| paths.iter().any(|pattern| pattern.matches(path)))
    }

    /// Returns the build arguments, in ascending precedence.
    pub fn build_args(self) -> Vec<&'a (String, SettingValue<String>)> {
        let mut lists: Vec<&[(String, SettingValue<String>)]> =
            self.matching_path_settings().map(|one| one.build_args.as_slice()).collect();
        lists.push(&self.settings.build_args);
        lists.into_iter().rev().flatten().collect()
    }

    /// Returns the target build stage.
    pub fn target(self) -> Option<&'a SettingValue<String>> {
        self.matching_path_settings().find_map(|one| one.target.as_ref()).or(self.settings.target.as_ref())
    }

    /// Returns the platforms that the input is built for.
    pub fn platforms(self) -> Option<&'a [SettingValue<String>]> {
        let own = self.matching_path_settings().find_map(|one| one.platforms.as_deref());
        own.or(self.settings.platforms.as_deref())
    }

    /// Returns the pools that the input runs on; `None` if the fleet decides that.
    pub fn pools(self) -> Option<&'a [PoolPattern]> {
        self.matching_path_settings().map(|one| one.pools.as_slice()).find(|pools| !pools.is_empty())
    }
}
