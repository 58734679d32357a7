//! The tables of a settings file: `[rules.NAME]`, `[[ignore]]`, `[[paths]]`.

use std::sync::Arc;

use jiff::civil::Date;
use toml::de::DeTable;
use toml::de::DeValue;

use crate::settings::ForPaths;
use crate::settings::Ignore;
use crate::settings::Level;
use crate::settings::PoolPattern;
use crate::settings::RuleLevel;
use crate::settings::Set;
use crate::settings::read::File;
use crate::settings::read::MOST;
use crate::source::Span;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::kind;
use crate::toml_reader::span_of;

const RULE_KEYS: &[&str] = &["severity", "pools"];
const IGNORE_KEYS: &[&str] = &["rule", "paths", "pools", "reason", "until"];
const PATHS_KEYS: &[&str] = &["match", "target", "build-args", "platform", "pools", "rules"];

impl File<'_> {
    /// A day without a time.
    pub(super) fn day(&mut self, key: &str, value: &Value<'_>) -> Option<Set<Date>> {
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
        Some(Set { value: found?, place: self.place(span_of(value)) })
    }

    fn level(&mut self, key: &str, value: &Value<'_>) -> Option<Set<Level>> {
        let word = self.text(key, value)?;
        let level = Level::of_word(&word.value);
        if level.is_none() {
            self.reader.unknown_word("severity", &word.value, word.place.span, Level::WORDS);
        }
        Some(Set { value: level?, place: word.place })
    }

    fn pool(&mut self, text: &str, span: Span) -> Option<PoolPattern> {
        match PoolPattern::new(text, self.place(span)) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                self.reader.report(span, reason, None);
                None
            }
        }
    }

    fn pools(&mut self, key: &str, value: &Value<'_>) -> Vec<PoolPattern> {
        let all = self.texts(key, value).unwrap_or_default();
        if all.is_empty() {
            self.reader.not_empty(span_of(value), value, "`pools` is empty; remove it to select all pools");
        }
        all.into_iter().filter_map(|text| self.pool(&text.value, text.place.span)).collect()
    }

    /// The tables of a list of tables.
    fn tables<'t, 'i>(&mut self, key: &str, value: &'t Value<'i>) -> Vec<(Span, &'t DeTable<'i>)> {
        let all = Reader::one_or_more(value);
        if all.len() > MOST {
            self.reader.report(span_of(value), format!("more than {MOST} tables `{key}`"), None);
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
                let message = format!("`{key}` is {}, expected a table", kind(one.get_ref()));
                let help = format!("write a table:\n[[{key}]]\n{example}");
                self.reader.report(span_of(one), message, Some(help));
            }
        }
        found
    }
}

/// `[rules.NAME]`.
pub(super) fn rules(file: &mut File<'_>, key: &str, value: &Value<'_>) -> Vec<RuleLevel> {
    if value.get_ref().is_array() || value.get_ref().as_str().is_some() {
        let help = "for directories with your own rule pages, set `rule-folders = [\"...\"]`".to_owned();
        file.reader.report(span_of(value), "`rules` is not a table of rules", Some(help));
        return Vec::new();
    }
    let Some(table) = file.reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table).into_iter().take(MOST) {
        let rule = Set { value: name.to_owned(), place: file.place(span) };
        let mut level = RuleLevel { rule, severity: None, pools: Vec::new() };
        // A word alone is the severity.
        if value.get_ref().as_str().is_some() {
            level.severity = file.level(name, value);
        } else if let Some(table) = file.reader.table(name, value) {
            for (key, span, value) in entries(table) {
                match key {
                    "severity" => level.severity = file.level(key, value),
                    "pools" => level.pools = pool_levels(file, key, value),
                    _ => file.reader.unknown_key(key, span, RULE_KEYS),
                }
            }
        }
        found.push(level);
    }
    found
}

fn pool_levels(file: &mut File<'_>, key: &str, value: &Value<'_>) -> Vec<(PoolPattern, Level)> {
    let Some(table) = file.reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table).into_iter().take(MOST) {
        let pattern = file.pool(name, span);
        let level = file.level(name, value);
        found.extend(pattern.zip(level).map(|(pattern, level)| (pattern, level.value)));
    }
    found
}

/// `[[ignore]]`.
pub(super) fn ignores(file: &mut File<'_>, key: &str, value: &Value<'_>) -> Vec<Ignore> {
    let tables = file.tables(key, value);
    tables.into_iter().filter_map(|(span, table)| ignore(file, span, table)).collect()
}

fn ignore(file: &mut File<'_>, whole: Span, table: &DeTable<'_>) -> Option<Ignore> {
    let (mut rule, mut reason, mut until) = (None, None, None);
    let (mut paths, mut pools) = (Vec::new(), Vec::new());
    let mut has = Vec::new();
    for (key, span, value) in entries(table) {
        has.push(key);
        match key {
            "rule" => rule = file.text(key, value),
            "reason" => reason = file.text(key, value),
            "until" => until = file.day(key, value),
            "paths" => {
                file.reader.not_empty(span, value, "`paths` is empty; remove it to select all files");
                paths = file.patterns(key, value);
            }
            "pools" => pools = file.pools(key, value),
            _ => file.reader.unknown_key(key, span, IGNORE_KEYS),
        }
    }
    for key in ["rule", "reason"].into_iter().filter(|key| !has.contains(key)) {
        let help = (key == "reason")
            .then(|| "add a reason for the next reader, such as reason = \"fixed in the next base image\"".to_owned());
        file.reader.report(whole, format!("an ignore entry without `{key}`"), help);
    }
    let place = file.place(rule.as_ref().map_or(whole, |rule| rule.place.span));
    Some(Ignore { rule: rule?, paths, pools, reason: reason?.value, until, place, used: Arc::default() })
}

/// `[[paths]]`.
pub(super) fn paths(file: &mut File<'_>, key: &str, value: &Value<'_>) -> Vec<ForPaths> {
    let tables = file.tables(key, value);
    tables.into_iter().map(|(span, table)| for_paths(file, span, table)).collect()
}

fn for_paths(file: &mut File<'_>, whole: Span, table: &DeTable<'_>) -> ForPaths {
    let mut found = ForPaths {
        paths: Vec::new(),
        build_args: Vec::new(),
        target: None,
        platforms: None,
        pools: Vec::new(),
        rules: Vec::new(),
        place: file.place(whole),
        used: Arc::default(),
    };
    let mut said = false;
    for (key, span, value) in entries(table) {
        match key {
            "match" => {
                said = true;
                file.reader.not_empty(span, value, "`match` is empty; set a pattern such as \"train/**\"");
                found.paths = file.patterns(key, value);
                found.place = file.place(span_of(value));
            }
            "target" => found.target = file.text(key, value),
            "build-args" => found.build_args = file.build_args(key, value),
            "platform" => found.platforms = file.platforms(key, value),
            "pools" => found.pools = file.pools(key, value),
            "rules" => found.rules = rules(file, key, value),
            _ => file.reader.unknown_key(key, span, PATHS_KEYS),
        }
    }
    if !said {
        let help = "set the pattern of the files: match = \"train/**\"".to_owned();
        file.reader.report(whole, "`match` is missing", Some(help));
    }
    found
}
