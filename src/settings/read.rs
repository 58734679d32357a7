//! Reads one settings file: every value with its place, every mistake underlined.

use std::path::Path;

use toml::de::DeTable;

use crate::settings::PathPattern;
use crate::settings::Place;
use crate::settings::Set;
use crate::settings::Settings;
use crate::settings::parts;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Span;
use crate::toml_reader::Problems;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::span_of;

/// The top-level keys of a settings file.
pub const KEYS: &[&str] = &[
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

/// Lists of a settings file hold no more than this.
pub(super) const MOST: usize = 1024;

/// Words that later floors know.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// Of `persona`.
    pub personas: &'a [&'a str],
    /// Of `fail-on`.
    pub levels: &'a [&'a str],
    /// Whether a text is a platform.
    pub is_platform: fn(&str) -> bool,
}

/// A file while it is read.
pub(super) struct File<'a> {
    pub(super) reader: Reader,
    pub(super) source: SourceId,
    pub(super) folder: &'a Path,
    pub(super) words: Words<'a>,
}

/// Reads a settings file that lies in `folder`, given by its full path.
pub fn read(source: SourceId, text: &SourceText, folder: &Path, words: Words<'_>) -> Result<Settings, Box<Problems>> {
    let mut file = File { reader: Reader::default(), source, folder, words };
    let table = file.reader.parse(text);
    let mut settings = Settings::default();
    if file.reader.is_clean() {
        file.all(table.get_ref(), &mut settings);
    }
    file.reader.finish("settings", text, settings)
}

impl File<'_> {
    fn all(&mut self, table: &DeTable<'_>, settings: &mut Settings) {
        for (key, span, value) in entries(table) {
            match key {
                "extend" => settings.extend = self.text(key, value),
                "fleet" => settings.fleet = self.text(key, value),
                "baseline" => settings.baseline = self.text(key, value),
                "rule-folders" => settings.rule_folders = self.texts(key, value),
                "persona" => settings.persona = self.word(key, value, self.words.personas),
                "preview" => {
                    let place = self.place(span_of(value));
                    settings.preview = self.reader.boolean(key, value).map(|value| Set { value, place });
                }
                "fail-on" => settings.fail_on = self.word(key, value, self.words.levels),
                "as-of" => settings.as_of = self.day(key, value),
                "include" => settings.include = Some(self.patterns(key, value)),
                "exclude" => settings.exclude = Some(self.patterns(key, value)),
                "trusted-registries" => settings.trusted_registries = self.registries(key, value),
                "build-args" => settings.build_args = self.build_args(key, value),
                "target" => settings.target = self.text(key, value),
                "platform" => settings.platforms = self.platforms(key, value),
                "rules" => settings.rules = parts::rules(self, key, value),
                "ignore" => settings.ignores = parts::ignores(self, key, value),
                "paths" => settings.paths = parts::paths(self, key, value),
                // Read where the descriptions are that it names.
                "base" => {}
                "rule" | "rule-folder" if value.get_ref().is_array() || value.get_ref().as_str().is_some() => {
                    let help = "did you mean `rule-folders`? `[rules.NAME]` sets the severity of a rule".to_owned();
                    self.reader.report(span, format!("unknown key `{key}`"), Some(help));
                }
                _ => self.reader.unknown_key(key, span, KEYS),
            }
        }
    }

    pub(super) fn place(&self, span: Span) -> Place {
        Place { source: self.source, span }
    }

    /// A string that says something.
    pub(super) fn text(&mut self, key: &str, value: &Value<'_>) -> Option<Set<String>> {
        let text = self.reader.string(key, value)?;
        if text.trim().is_empty() {
            self.reader.report(span_of(value), format!("`{key}` is empty"), None);
            return None;
        }
        Some(Set { value: text, place: self.place(span_of(value)) })
    }

    /// A list of strings; a string counts as its only element.
    pub(super) fn texts(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<Set<String>>> {
        let all = Reader::one_or_more(value);
        if all.len() > MOST {
            self.reader.report(span_of(value), format!("`{key}` has more than {MOST} elements"), None);
            return None;
        }
        Some(all.into_iter().filter_map(|one| self.text(key, one)).collect())
    }

    fn word(&mut self, key: &str, value: &Value<'_>, known: &[&str]) -> Option<Set<String>> {
        let word = self.text(key, value)?;
        if !known.contains(&word.value.as_str()) {
            self.reader.unknown_word(key, &word.value, word.place.span, known);
            return None;
        }
        Some(word)
    }

    pub(super) fn patterns(&mut self, key: &str, value: &Value<'_>) -> Vec<PathPattern> {
        let mut found = Vec::new();
        for text in self.texts(key, value).unwrap_or_default() {
            match PathPattern::new(&text.value, text.place, self.folder) {
                Ok(pattern) => found.push(pattern),
                Err(reason) => self.reader.report(text.place.span, reason, None),
            }
        }
        found
    }

    fn registries(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<Set<String>>> {
        let all = self.texts(key, value)?;
        for one in &all {
            let host = one.value.strip_prefix("*.").unwrap_or(&one.value);
            if host.is_empty() || host.contains(['/', '*', '@', ' ']) {
                let help = "specify a registry host, such as nvcr.io, registry.corp:5000 or *.corp".to_owned();
                self.reader.report(one.place.span, format!("`{}` is not a registry", one.value), Some(help));
            }
        }
        Some(all)
    }

    pub(super) fn build_args(&mut self, key: &str, value: &Value<'_>) -> Vec<(String, Set<String>)> {
        let Some(table) = self.reader.table(key, value) else { return Vec::new() };
        let mut found = Vec::new();
        for (name, _, value) in entries(table).into_iter().take(MOST) {
            if let Some(text) = self.reader.string(name, value) {
                found.push((name.to_owned(), Set { value: text, place: self.place(span_of(value)) }));
            }
        }
        found
    }

    pub(super) fn platforms(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<Set<String>>> {
        let all = self.texts(key, value)?;
        for one in all.iter().filter(|one| !(self.words.is_platform)(&one.value)) {
            let message = format!("`{}` is not a platform: expected os/architecture, such as linux/arm64", one.value);
            self.reader.report(one.place.span, message, None);
        }
        Some(all)
    }
}
