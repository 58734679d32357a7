//! Reads a settings file: `[rules.NAME]`, `[[ignore]]`, `[[paths]]` and single values, every value with its location
//! and every error with its span.

use std::path::Path;
use std::sync::Arc;

use jiff::civil::Date;
use toml::de::{DeTable, DeValue};

use crate::fleet::settings::{
    IgnoreEntry, PathPattern, PathSettings, PoolPattern, RuleSeverity, SettingLocation, SettingValue, Settings,
    SeverityLevel,
};
use crate::knowledge::toml_reader::{Problems, Reader, Value, entries, span_of, type_name};
use crate::text::source::{SourceId, SourceText, Span};

/// The top-level keys of a settings file.
pub const SETTINGS_KEYS: &[&str] = &[
    "extend",
    "fleet",
    "baseline",
    "rule-folders",
    "persona",
    "preview",
    "fail-on",
    "as-of",
    "include",
    "exclude",
    "trusted-registries",
    "build-args",
    "target",
    "platform",
    "rules",
    "ignore",
    "paths",
    "base",
];

/// Maximum number of elements of a list or table.
const MAX_ELEMENTS: usize = 1024;

/// The valid values of some settings, which other modules define.
#[derive(Clone, Copy, Debug)]
pub struct SettingVocabulary<'a> {
    /// The values of `persona`.
    pub personas: &'a [&'a str],
    /// The values of `fail-on`.
    pub levels: &'a [&'a str],
    /// Whether a text is a platform.
    pub is_platform: fn(&str) -> bool,
}

/// Reads a settings file and collects its errors.
pub(super) struct SettingsText<'a> {
    pub(super) reader: Reader,
    pub(super) source: SourceId,
    pub(super) folder: &'a Path,
    pub(super) words: SettingVocabulary<'a>,
}

/// Reads a settings file in `folder`, an absolute path.
pub fn read_settings(
    source: SourceId,
    text: &SourceText,
    folder: &Path,
    words: SettingVocabulary<'_>,
) -> Result<Settings, Box<Problems>> {
    let mut file = SettingsText { reader: Reader::default(), source, folder, words };
    let table = file.reader.parse(text);
    let mut settings = Settings::default();
    if file.reader.is_clean() {
        file.read_all(table.get_ref(), &mut settings);
    }
    file.reader.finish("settings", text, settings)
}

impl SettingsText<'_> {
    /// Reads all top-level keys.
    fn read_all(&mut self, table: &DeTable<'_>, settings: &mut Settings) {
        for (key, span, value) in entries(table) {
            match key {
                "extend" => settings.extend = self.read_text(key, value),
                "fleet" => settings.fleet = self.read_text(key, value),
                "baseline" => settings.baseline = self.read_text(key, value),
                "rule-folders" => settings.rule_folders = self.read_texts(key, value),
                "persona" => settings.persona = self.read_word(key, value, self.words.personas),
                "preview" => {
                    let place = self.location(span_of(value));
                    settings.preview =
                        self.reader.boolean(key, value).map(|value| SettingValue { value, location: place });
                }
                "fail-on" => settings.fail_on = self.read_word(key, value, self.words.levels),
                "as-of" => settings.as_of = self.read_date(key, value),
                "include" => settings.include = Some(self.read_path_patterns(key, value)),
                "exclude" => settings.exclude = Some(self.read_path_patterns(key, value)),
                "trusted-registries" => settings.trusted_registries = self.read_registries(key, value),
                "build-args" => settings.build_args = self.read_build_args(key, value),
                "target" => settings.target = self.read_text(key, value),
                "platform" => settings.platforms = self.read_platforms(key, value),
                "rules" => settings.rules = read_rules(self, key, value),
                "ignore" => settings.ignores = read_ignores(self, key, value),
                "paths" => settings.paths = read_path_settings(self, key, value),
                // Read where the descriptions are that it names.
                "base" => {}
                "rule" | "rule-folder" if value.get_ref().is_array() || value.get_ref().as_str().is_some() => {
                    let help = "did you mean `rule-folders`? `[rules.NAME]` sets the severity of a rule".to_owned();
                    self.reader.report(span, format!("unknown key `{key}`"), Some(help));
                }
                _ => self.reader.unknown_key(key, span, SETTINGS_KEYS),
            }
        }
    }

    /// Returns the location of a span.
    pub(super) fn location(&self, span: Span) -> SettingLocation {
        SettingLocation { source: self.source, span }
    }

    /// Reads a string that is not empty.
    pub(super) fn read_text(&mut self, key: &str, value: &Value<'_>) -> Option<SettingValue<String>> {
        let text = self.reader.string(key, value)?;
        if text.trim().is_empty() {
            self.reader.report(span_of(value), format!("`{key}` is empty"), None);
            return None;
        }
        Some(SettingValue { value: text, location: self.location(span_of(value)) })
    }

    /// Reads a list of strings; a string counts as its only element.
    pub(super) fn read_texts(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<SettingValue<String>>> {
        let all = Reader::one_or_more(value);
        if all.len() > MAX_ELEMENTS {
            self.reader.report(span_of(value), format!("`{key}` has more than {MAX_ELEMENTS} elements"), None);
            return None;
        }
        Some(all.into_iter().filter_map(|one| self.read_text(key, one)).collect())
    }

    /// Reads a string that is one of the known words.
    fn read_word(&mut self, key: &str, value: &Value<'_>, known: &[&str]) -> Option<SettingValue<String>> {
        let word = self.read_text(key, value)?;
        if !known.contains(&word.value.as_str()) {
            self.reader.unknown_word(key, &word.value, word.location.span, known);
            return None;
        }
        Some(word)
    }

    /// Reads a list of path patterns.
    pub(super) fn read_path_patterns(&mut self, key: &str, value: &Value<'_>) -> Vec<PathPattern> {
        let mut found = Vec::new();
        for text in self.read_texts(key, value).unwrap_or_default() {
            match PathPattern::new(&text.value, text.location, self.folder) {
                Ok(pattern) => found.push(pattern),
                Err(reason) => self.reader.report(text.location.span, reason, None),
            }
        }
        found
    }

    /// Reads a list of registry hosts.
    fn read_registries(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<SettingValue<String>>> {
        let all = self.read_texts(key, value)?;
        for one in &all {
            let host = one.value.strip_prefix("*.").unwrap_or(&one.value);
            if host.is_empty() || host.contains(['/', '*', '@', ' ']) {
                let help = "specify a registry host, such as nvcr.io, registry.corp:5000 or *.corp".to_owned();
                self.reader.report(one.location.span, format!("`{}` is not a registry", one.value), Some(help));
            }
        }
        Some(all)
    }

    /// Reads a table of build arguments.
    pub(super) fn read_build_args(&mut self, key: &str, value: &Value<'_>) -> Vec<(String, SettingValue<String>)> {
        let Some(table) = self.reader.table(key, value) else { return Vec::new() };
        let mut found = Vec::new();
        for (name, _, value) in entries(table).into_iter().take(MAX_ELEMENTS) {
            if let Some(text) = self.reader.string(name, value) {
                found.push((name.to_owned(), SettingValue { value: text, location: self.location(span_of(value)) }));
            }
        }
        found
    }

    /// Reads a list of platforms.
    pub(super) fn read_platforms(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<SettingValue<String>>> {
        let all = self.read_texts(key, value)?;
        for one in all.iter().filter(|one| !(self.words.is_platform)(&one.value)) {
            let message = format!("`{}` is not a platform: expected os/architecture, such as linux/arm64", one.value);
            self.reader.report(one.location.span, message, None);
        }
        Some(all)
    }
}

/// The keys of `[rules.NAME]`.
const RULE_KEYS: &[&str] = &["severity", "pools"];
/// The keys of `[[ignore]]`.
const IGNORE_KEYS: &[&str] = &["rule", "paths", "pools", "reason", "until"];
/// The keys of `[[paths]]`.
const PATHS_KEYS: &[&str] = &["match", "target", "build-args", "platform", "pools", "rules"];

impl SettingsText<'_> {
    /// Reads a date without a time.
    pub(super) fn read_date(&mut self, key: &str, value: &Value<'_>) -> Option<SettingValue<Date>> {
        let written = match value.get_ref() {
            DeValue::Datetime(written) if written.time.is_none() && written.offset.is_none() => written.date,
            _ => None,
        };
        let Some(day) = written else {
            self.reader.wrong_type(key, value, "a date without quotes, such as 2026-11-21");
            return None;
        };
        let civil = |part: u8| i8::try_from(part).ok();
        let found = i16::try_from(day.year)
            .ok()
            .and_then(|year| Some((year, civil(day.month)?, civil(day.day)?)))
            .and_then(|(year, month, day)| Date::new(year, month, day).ok());
        if found.is_none() {
            self.reader.report(span_of(value), format!("`{key}` is not a valid date"), None);
        }
        Some(SettingValue { value: found?, location: self.location(span_of(value)) })
    }

    /// Reads a severity.
    fn read_severity(&mut self, key: &str, value: &Value<'_>) -> Option<SettingValue<SeverityLevel>> {
        let word = self.read_text(key, value)?;
        let level = SeverityLevel::from_name(&word.value);
        if level.is_none() {
            self.reader.unknown_word("severity", &word.value, word.location.span, SeverityLevel::NAMES);
        }
        Some(SettingValue { value: level?, location: word.location })
    }

    /// Parses a pool pattern.
    fn read_pool_pattern(&mut self, text: &str, span: Span) -> Option<PoolPattern> {
        match PoolPattern::new(text, self.location(span)) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                self.reader.report(span, reason, None);
                None
            }
        }
    }

    /// Reads a list of pool patterns, which must not be empty.
    fn read_pool_patterns(&mut self, key: &str, value: &Value<'_>) -> Vec<PoolPattern> {
        let all = self.read_texts(key, value).unwrap_or_default();
        if all.is_empty() {
            self.reader.require_not_empty(span_of(value), value, "`pools` is empty; remove it to select all pools");
        }
        all.into_iter().filter_map(|text| self.read_pool_pattern(&text.value, text.location.span)).collect()
    }

    /// Reads a list of tables.
    fn read_table_list<'t, 'i>(&mut self, key: &str, value: &'t Value<'i>) -> Vec<(Span, &'t DeTable<'i>)> {
        let all = Reader::one_or_more(value);
        if all.len() > MAX_ELEMENTS {
            self.reader.report(span_of(value), format!("more than {MAX_ELEMENTS} tables `{key}`"), None);
            return Vec::new();
        }
        let mut found = Vec::new();
        for one in all {
            if let Some(table) = one.get_ref().as_table() {
                found.push((span_of(one), table));
            } else {
                let example = match key {
                    "ignore" => "rule = \"no-gpu\"\nreason = \"...\"",
                    _ => "match = \"services/*\"",
                };
                let message = format!("`{key}` is {}, expected a table", type_name(one.get_ref()));
                let help = format!("write a table:\n[[{key}]]\n{example}");
                self.reader.report(span_of(one), message, Some(help));
            }
        }
        found
    }
}

/// Reads the tables `[rules.NAME]`.
fn read_rules(file: &mut SettingsText<'_>, key: &str, value: &Value<'_>) -> Vec<RuleSeverity> {
    if value.get_ref().is_array() || value.get_ref().as_str().is_some() {
        let help = "for directories with your own rule pages, set `rule-folders = [\"...\"]`".to_owned();
        file.reader.report(span_of(value), "`rules` is not a table of rules", Some(help));
        return Vec::new();
    }
    let Some(table) = file.reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table).into_iter().take(MAX_ELEMENTS) {
        let rule = SettingValue { value: name.to_owned(), location: file.location(span) };
        let mut level = RuleSeverity { rule, severity: None, pools: Vec::new() };
        // A word alone is the severity.
        if value.get_ref().as_str().is_some() {
            level.severity = file.read_severity(name, value);
        } else if let Some(table) = file.reader.table(name, value) {
            for (key, span, value) in entries(table) {
                match key {
                    "severity" => level.severity = file.read_severity(key, value),
                    "pools" => level.pools = read_pool_severities(file, key, value),
                    _ => file.reader.unknown_key(key, span, RULE_KEYS),
                }
            }
        }
        found.push(level);
    }
    found
}

/// Reads the severities of a rule for single pools.
fn read_pool_severities(
    file: &mut SettingsText<'_>,
    key: &str,
    value: &Value<'_>,
) -> Vec<(PoolPattern, SeverityLevel)> {
    let Some(table) = file.reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table).into_iter().take(MAX_ELEMENTS) {
        let pattern = file.read_pool_pattern(name, span);
        let level = file.read_severity(name, value);
        found.extend(pattern.zip(level).map(|(pattern, level)| (pattern, level.value)));
    }
    found
}

/// Reads the tables `[[ignore]]`.
fn read_ignores(file: &mut SettingsText<'_>, key: &str, value: &Value<'_>) -> Vec<IgnoreEntry> {
    let tables = file.read_table_list(key, value);
    tables.into_iter().filter_map(|(span, table)| read_ignore(file, span, table)).collect()
}

/// Reads a table `[[ignore]]`.
fn read_ignore(file: &mut SettingsText<'_>, whole: Span, table: &DeTable<'_>) -> Option<IgnoreEntry> {
    let (mut rule, mut reason, mut until) = (None, None, None);
    let (mut paths, mut pools) = (Vec::new(), Vec::new());
    let mut has = Vec::new();
    for (key, span, value) in entries(table) {
        has.push(key);
        match key {
            "rule" => rule = file.read_text(key, value),
            "reason" => reason = file.read_text(key, value),
            "until" => until = file.read_date(key, value),
            "paths" => {
                file.reader.require_not_empty(span, value, "`paths` is empty; remove it to select all files");
                paths = file.read_path_patterns(key, value);
            }
            "pools" => pools = file.read_pool_patterns(key, value),
            _ => file.reader.unknown_key(key, span, IGNORE_KEYS),
        }
    }
    for key in ["rule", "reason"].into_iter().filter(|key| !has.contains(key)) {
        let help = (key == "reason")
            .then(|| "add a reason for the next reader, such as reason = \"fixed in the next base image\"".to_owned());
        file.reader.report(whole, format!("an ignore entry without `{key}`"), help);
    }
    let place = file.location(rule.as_ref().map_or(whole, |rule| rule.location.span));
    Some(IgnoreEntry { rule: rule?, paths, pools, reason: reason?.value, until, location: place, used: Arc::default() })
}

/// Reads the tables `[[paths]]`.
fn read_path_settings(file: &mut SettingsText<'_>, key: &str, value: &Value<'_>) -> Vec<PathSettings> {
    let tables = file.read_table_list(key, value);
    tables.into_iter().map(|(span, table)| read_path_table(file, span, table)).collect()
}

/// Reads a table `[[paths]]`.
fn read_path_table(file: &mut SettingsText<'_>, whole: Span, table: &DeTable<'_>) -> PathSettings {
    let mut found = PathSettings {
        paths: Vec::new(),
        build_args: Vec::new(),
        target: None,
        platforms: None,
        pools: Vec::new(),
        rules: Vec::new(),
        location: file.location(whole),
        used: Arc::default(),
    };
    let mut has_match = false;
    for (key, span, value) in entries(table) {
        match key {
            "match" => {
                has_match = true;
                file.reader.require_not_empty(span, value, "`match` is empty; set a pattern such as \"train/**\"");
                found.paths = file.read_path_patterns(key, value);
                found.location = file.location(span_of(value));
            }
            "target" => found.target = file.read_text(key, value),
            "build-args" => found.build_args = file.read_build_args(key, value),
            "platform" => found.platforms = file.read_platforms(key, value),
            "pools" => found.pools = file.read_pool_patterns(key, value),
            "rules" => found.rules = read_rules(file, key, value),
            _ => file.reader.unknown_key(key, span, PATHS_KEYS),
        }
    }
    if !has_match {
        let help = "set the pattern of the files: match = \"train/**\"".to_owned();
        file.reader.report(whole, "`match` is missing", Some(help));
    }
    found
}
