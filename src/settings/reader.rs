//! Reads a settings file: every value with its location, every error with its span.

use std::path::Path;

use toml::de::DeTable;

use crate::settings::{PathPattern, SettingLocation, SettingValue, Settings, read_tables};
use crate::source::{SourceId, SourceText, Span};
use crate::toml_reader::{Problems, Reader, Value, entries, span_of};

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
pub(super) const MAX_ELEMENTS: usize = 1024;

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
                "rules" => settings.rules = read_tables::read_rules(self, key, value),
                "ignore" => settings.ignores = read_tables::read_ignores(self, key, value),
                "paths" => settings.paths = read_tables::read_path_settings(self, key, value),
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
