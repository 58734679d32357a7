//! The settings in `imagelint.toml`, each value with its location.
//!
//! Nothing here opens a file. The caller passes the directory of the file, and patterns are relative to it.

mod input_settings;
mod pattern;
mod reader;
mod tables;
mod unknown_names;

#[cfg(test)]
mod tests;

use jiff::civil::Date;

use crate::text::source::{SourceId, Span};

pub use self::input_settings::InputSettings;
pub use self::pattern::{PathPattern, PoolPattern};
pub use self::reader::{SETTINGS_KEYS, SettingVocabulary, read_settings};
pub use self::tables::{IgnoreEntry, PathSettings, RuleSeverity, SeverityLevel};
pub use self::unknown_names::{KnownNames, check_names};

/// The names of settings files, by precedence.
pub const SETTINGS_FILES: [&str; 2] = [".imagelint.toml", "imagelint.toml"];

/// Maximum number of files that build on each other by `extend`.
pub const MAX_EXTENDED_FILES: usize = 8;

/// The location of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingLocation {
    /// The file.
    pub source: SourceId,
    /// The span in the file.
    pub span: Span,
}

/// The value of a setting, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingValue<T> {
    /// The value.
    pub value: T,
    /// The location of the value.
    pub location: SettingLocation,
}

/// The settings of a file, merged with those of the files that it extends.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The file that this one extends, relative to this file.
    pub extend: Option<SettingValue<String>>,
    /// The fleet file, relative to this file.
    pub fleet: Option<SettingValue<String>>,
    /// The baseline file with known findings, relative to this file.
    pub baseline: Option<SettingValue<String>>,
    /// Folders with rule pages, each relative to the file that names it.
    pub rule_folders: Option<Vec<SettingValue<String>>>,
    /// The persona, which selects the rules that are active.
    pub persona: Option<SettingValue<String>>,
    /// Whether preview rules are active.
    pub preview: Option<SettingValue<bool>>,
    /// The severity from which the exit code is 1.
    pub fail_on: Option<SettingValue<String>>,
    /// The day on which images are assumed to be built.
    pub as_of: Option<SettingValue<Date>>,
    /// Additional file names of Dockerfiles.
    pub include: Option<Vec<PathPattern>>,
    /// Files and folders that are skipped.
    pub exclude: Option<Vec<PathPattern>>,
    /// Registries that may be contacted for images that a file names.
    pub trusted_registries: Option<Vec<SettingValue<String>>>,
    /// Build arguments.
    pub build_args: Vec<(String, SettingValue<String>)>,
    /// The target build stage.
    pub target: Option<SettingValue<String>>,
    /// Platforms that images are built for.
    pub platforms: Option<Vec<SettingValue<String>>>,
    /// Severities of rules.
    pub rules: Vec<RuleSeverity>,
    /// Findings that are suppressed.
    pub ignores: Vec<IgnoreEntry>,
    /// Settings for some files only.
    pub paths: Vec<PathSettings>,
}

impl Settings {
    /// Merges these settings over those of the file that they extend.
    #[must_use]
    pub fn merge_over(self, below: Self) -> Self {
        let mut build_args = below.build_args;
        build_args.retain(|(name, _)| !self.build_args.iter().any(|(own, _)| own == name));
        build_args.extend(self.build_args);
        let mut rules = below.rules;
        rules.retain(|rule| !self.rules.iter().any(|own| own.rule.value == rule.rule.value));
        rules.extend(self.rules);
        Self {
            extend: self.extend,
            fleet: self.fleet.or(below.fleet),
            baseline: self.baseline.or(below.baseline),
            rule_folders: self.rule_folders.or(below.rule_folders),
            persona: self.persona.or(below.persona),
            preview: self.preview.or(below.preview),
            fail_on: self.fail_on.or(below.fail_on),
            as_of: self.as_of.or(below.as_of),
            include: self.include.or(below.include),
            exclude: self.exclude.or(below.exclude),
            trusted_registries: self.trusted_registries.or(below.trusted_registries),
            build_args,
            target: self.target.or(below.target),
            platforms: self.platforms.or(below.platforms),
            rules,
            ignores: below.ignores.into_iter().chain(self.ignores).collect(),
            paths: below.paths.into_iter().chain(self.paths).collect(),
        }
    }
}

/// Whether a list of trusted registries contains a registry; `*.example.com` matches all hosts below a domain.
pub fn is_trusted_registry(list: &[SettingValue<String>], registry: &str) -> bool {
    let fits = |pattern: &str| match pattern.strip_prefix("*.") {
        Some(domain) => registry.strip_suffix(domain).is_some_and(|host| host.len() > 1 && host.ends_with('.')),
        None => pattern == registry,
    };
    list.iter().any(|one| fits(&one.value))
}
