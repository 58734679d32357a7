//! What uv's own files say of indexes: `uv.toml` of the project, of the user and of the system, and `[tool.uv]` of a
//! `pyproject.toml` (docs.astral.sh/uv/concepts/configuration-files).

use std::sync::Arc;

use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Opened;
use crate::install::index::Asks;
use crate::install::index::Indexes;
use crate::install::index::Place;
use crate::install::index::is_there;
use crate::install::index::setting;
use crate::install::tree;
use crate::install::tree::Table;
use crate::install::tree::Tree;
use crate::install::tree::Value;
use crate::install::tree::at;
use crate::install::tree::list_at;
use crate::install::tree::span_of;
use crate::install::tree::table_at;
use crate::install::tree::tables_at;
use crate::install::tree::text_at;
use crate::shell::Command;
use crate::shell::Word;

/// The folders that a project's file is looked for in: the one at hand and those above it.
const FOLDERS: &[&str] = &["", "../", "../../", "../../../"];
/// The files of the user and of the system, the one that counts first in front.
const OTHERS: &[&str] = &["/root/.config/uv/uv.toml", "/etc/uv/uv.toml"];

/// A file of settings, and where in it they begin.
struct Settings {
    opened: Opened,
    root: Arc<Tree>,
    within: &'static [&'static str],
}

impl Settings {
    fn new(opened: Opened, within: &'static [&'static str]) -> Self {
        Self { root: tree::root(&opened), opened, within }
    }

    /// The table of settings, where there is one.
    fn table(&self) -> Option<&Table> {
        let root = (*self.root).as_ref()?;
        if self.within.is_empty() { Some(root) } else { table_at(root, self.within) }
    }
}

/// Adds to what a command and its environment say of indexes what uv's files say: an index that is named on the command
/// line comes before one of a file, and none of a file is lost for that.
pub(super) fn read(command: &Command, around: &Around<'_>, indexes: &mut Indexes) {
    let words = || command.words.iter().filter_map(Word::known);
    let switched_off = setting("UV_NO_CONFIG", command, around).is_some_and(|value| value.known() != Some("0"));
    if switched_off || words().any(|word| word == "--no-config") {
        return;
    }
    let (files, unread) = files(command, around);
    for settings in &files {
        let Some(table) = settings.table() else { continue };
        let tables = [table_at(table, &["pip"]).filter(|_| words().any(|word| word == "pip")), Some(table)];
        for table in tables.into_iter().flatten() {
            add(table, settings, command, indexes);
        }
    }
    if let Some((path, why)) = unread {
        indexes.unread(&path, &why, command.span);
    }
}

/// The files that count for a command, the first one first, and that in front of them that is there and was not read,
/// with the reason.
fn files(command: &Command, around: &Around<'_>) -> (Vec<Settings>, Option<(String, String)>) {
    let mut words = command.words.iter().filter_map(Word::known);
    let named = words.find_map(|word| match word.split_once('=') {
        Some(("--config-file", path)) => Some(Some(path.to_owned())),
        _ => (word == "--config-file").then_some(None),
    });
    let named = match named {
        Some(Some(path)) => Some(path),
        Some(None) => words.next().map(str::to_owned),
        None => match setting("UV_CONFIG_FILE", command, around) {
            Some(Resolved::Known { value, .. }) => Some(value),
            _ => None,
        },
    };
    if let Some(path) = named {
        return match (around.open)("", &path) {
            Ok(opened) => (vec![Settings::new(opened, &[])], None),
            Err(why) => (Vec::new(), Some((path, why))),
        };
    }
    let (mut found, mut unread) = (Vec::new(), None);
    let mut own = |path: &str| match (around.open)("", path) {
        Ok(opened) => Some(Settings::new(opened, &[])),
        Err(why) => {
            if unread.is_none() && is_there(&why) {
                unread = Some((path.to_owned(), why));
            }
            None
        }
    };
    // A tool of its own is of no project.
    let tool = command.program() == Some("uvx") || command.words.get(1).and_then(Word::known) == Some("tool");
    for folder in FOLDERS.iter().filter(|_| !tool) {
        if let Some(settings) = own(&format!("{folder}uv.toml")) {
            found.push(settings);
            break;
        }
        let project = (around.open)("", &format!("{folder}pyproject.toml")).ok();
        let project = project.map(|opened| Settings::new(opened, &["tool", "uv"]));
        if let Some(project) = project.filter(|project| project.table().is_some()) {
            found.push(project);
            break;
        }
    }
    found.extend(OTHERS.iter().filter_map(|path| own(path)));
    (found, unread)
}

fn add(table: &Table, settings: &Settings, command: &Command, indexes: &mut Indexes) {
    let opened = &settings.opened;
    let place = |value: &Value| {
        let url = value.get_ref().as_str()?;
        Some(Place::new(url, span_of(value, opened), opened.source))
    };
    let is = |table: &Table, key: &str| at(table, &[key]).and_then(|value| value.get_ref().as_bool()) == Some(true);
    for index in tables_at(table, &["index"]).into_iter().filter(|index| !is(index, "explicit")) {
        let Some(found) = at(index, &["url"]).and_then(place) else { continue };
        if !is(index, "default") {
            indexes.also(found);
        } else if indexes.index.is_none() {
            indexes.index = Some(found);
        }
    }
    // One address may stand for a list of one.
    let listed = |key: &str| {
        let one = at(table, &[key]).filter(|value| value.get_ref().as_str().is_some());
        one.into_iter().chain(list_at(table, &[key])).filter_map(place).collect::<Vec<_>>()
    };
    for found in listed("extra-index-url") {
        indexes.also(found);
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
        indexes.asks = Asks::Links;
    }
}
