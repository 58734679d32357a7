//! Index settings in the configuration files of uv: `uv.toml` of the project, the user and the system, and
//! `[tool.uv]` of a `pyproject.toml` (docs.astral.sh/uv/concepts/configuration-files).

use std::sync::Arc;

use crate::cause::Cause;
use crate::dockerfile::ExpandedText;
use crate::install::lenient_toml::{
    SpannedTomlValue, TomlFile, TomlTable, list_at, table_at, tables_at, text_at, value_at, value_span,
};
use crate::install::package_index::{IndexAddress, IndexOptions, SearchSources, command_variable, exists_unread};
use crate::install::{CommandContext, OpenedFile, lenient_toml};
use crate::shell::{Command, Word};

/// Folders that are searched for the configuration of a project: the working directory and its parents.
const PROJECT_FOLDERS: &[&str] = &["", "../", "../../", "../../../"];
/// Configuration files of the user and of the system, in order of precedence.
const USER_AND_SYSTEM_FILES: &[&str] = &["/root/.config/uv/uv.toml", "/etc/uv/uv.toml"];

/// A configuration file, and the table in it that contains the settings.
struct UvConfigFile {
    opened: OpenedFile,
    root: Arc<TomlFile>,
    /// Keys of the table with the settings; empty for the whole file.
    within: &'static [&'static str],
}

impl UvConfigFile {
    /// Parses a configuration file.
    fn new(opened: OpenedFile, within: &'static [&'static str]) -> Self {
        Self { root: lenient_toml::parse_toml(&opened), opened, within }
    }

    /// Returns the table with the settings, if there is one.
    fn settings_table(&self) -> Option<&TomlTable> {
        let root = (*self.root).as_ref()?;
        if self.within.is_empty() { Some(root) } else { table_at(root, self.within) }
    }
}

/// Adds the index settings of uv's configuration files after those of a command and its environment.
pub(super) fn read_uv_config(command: &Command, around: &CommandContext<'_>, indexes: &mut IndexOptions) {
    let words = || command.words.iter().filter_map(Word::known);
    let switched_off =
        command_variable("UV_NO_CONFIG", command, around).is_some_and(|value| value.known_text() != Some("0"));
    if switched_off || words().any(|word| word == "--no-config") {
        return;
    }
    let (files, unread) = config_files(command, around);
    for settings in &files {
        let Some(table) = settings.settings_table() else { continue };
        let tables = [table_at(table, &["pip"]).filter(|_| words().any(|word| word == "pip")), Some(table)];
        for table in tables.into_iter().flatten() {
            add_settings(table, settings, command, indexes);
        }
    }
    if let Some((path, why)) = unread {
        indexes.add_unread_config(&path, why, command.span);
    }
}

/// Returns the configuration files that apply to a command, in order of precedence, and the first one that exists but
/// was not read.
fn config_files(command: &Command, around: &CommandContext<'_>) -> (Vec<UvConfigFile>, Option<(String, Cause)>) {
    let mut words = command.words.iter().filter_map(Word::known);
    let named = words.find_map(|word| match word.split_once('=') {
        Some(("--config-file", path)) => Some(Some(path.to_owned())),
        _ => (word == "--config-file").then_some(None),
    });
    let named = match named {
        Some(Some(path)) => Some(path),
        Some(None) => words.next().map(str::to_owned),
        None => match command_variable("UV_CONFIG_FILE", command, around) {
            Some(ExpandedText::Known { value, .. }) => Some(value),
            _ => None,
        },
    };
    if let Some(path) = named {
        return match (around.open)("", &path) {
            Ok(opened) => (vec![UvConfigFile::new(opened, &[])], None),
            Err(why) => (Vec::new(), Some((path, why))),
        };
    }
    let (mut found, mut unread) = (Vec::new(), None);
    let mut own = |path: &str| match (around.open)("", path) {
        Ok(opened) => Some(UvConfigFile::new(opened, &[])),
        Err(why) => {
            if unread.is_none() && exists_unread(&why) {
                unread = Some((path.to_owned(), why));
            }
            None
        }
    };
    // A tool of its own is of no project.
    let tool = command.program() == Some("uvx") || command.words.get(1).and_then(Word::known) == Some("tool");
    for folder in PROJECT_FOLDERS.iter().filter(|_| !tool) {
        if let Some(settings) = own(&format!("{folder}uv.toml")) {
            found.push(settings);
            break;
        }
        let project = (around.open)("", &format!("{folder}pyproject.toml")).ok();
        let project = project.map(|opened| UvConfigFile::new(opened, &["tool", "uv"]));
        if let Some(project) = project.filter(|project| project.settings_table().is_some()) {
            found.push(project);
            break;
        }
    }
    found.extend(USER_AND_SYSTEM_FILES.iter().filter_map(|path| own(path)));
    (found, unread)
}

/// Adds the index settings in a table.
fn add_settings(table: &TomlTable, settings: &UvConfigFile, command: &Command, indexes: &mut IndexOptions) {
    let opened = &settings.opened;
    let place = |value: &SpannedTomlValue| {
        let url = value.get_ref().as_str()?;
        Some(IndexAddress::new(url, value_span(value, opened), opened.source))
    };
    let is = |table: &TomlTable, key: &str| {
        value_at(table, &[key]).and_then(|value| value.get_ref().as_bool()) == Some(true)
    };
    for index in tables_at(table, &["index"]).into_iter().filter(|index| !is(index, "explicit")) {
        let Some(found) = value_at(index, &["url"]).and_then(place) else { continue };
        if !is(index, "default") {
            indexes.add_extra_index(found);
        } else if indexes.index.is_none() {
            indexes.index = Some(found);
        }
    }
    // One address may stand for a list of one.
    let listed = |key: &str| {
        let one = value_at(table, &[key]).filter(|value| value.get_ref().as_str().is_some());
        one.into_iter().chain(list_at(table, &[key])).filter_map(place).collect::<Vec<_>>()
    };
    for found in listed("extra-index-url") {
        indexes.add_extra_index(found);
    }
    indexes.links.extend(listed("find-links"));
    if indexes.index.is_none() {
        indexes.index = listed("index-url").into_iter().next();
    }
    if let Some(backend) = text_at(table, &["torch-backend"]).filter(|_| indexes.backend.is_none()) {
        indexes.backend = Some((Ok(backend.to_owned()), command.span));
    }
    indexes.first_index &= text_at(table, &["index-strategy"]).is_none_or(|strategy| strategy == "first-index");
    indexes.early |= text_at(table, &["prerelease"]) == Some("allow");
    if is(table, "no-index") {
        indexes.asks = SearchSources::Links;
    }
}
