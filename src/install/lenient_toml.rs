//! TOML files of other tools, read leniently: unexpected values are ignored.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::install::context::OpenedFile;
use crate::install::effects::PackageInstall;
use crate::text::source::Span;

/// A TOML value with its byte range.
pub(super) type SpannedTomlValue = Spanned<TomlValue>;

/// A TOML value that owns its strings, so that it can be cached with the file.
#[derive(Debug)]
pub(super) enum TomlValue {
    Text(String),
    Bool(bool),
    List(Vec<SpannedTomlValue>),
    Table(TomlTable),
    /// A number or a date.
    Other,
}

impl TomlValue {
    /// Returns the string, if the value is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the boolean, if the value is one.
    pub(super) fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the elements, if the value is an array.
    pub(super) fn as_array(&self) -> Option<&[SpannedTomlValue]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// Returns the table, if the value is one.
    pub(super) fn as_table(&self) -> Option<&TomlTable> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }
}

/// A TOML table, with its keys in the order of the parser.
#[derive(Debug)]
pub(super) struct TomlTable(Vec<(Spanned<String>, SpannedTomlValue)>);

impl TomlTable {
    /// Returns the keys and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Spanned<String>, &SpannedTomlValue)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

/// Converts a table of the parser to an owned one.
fn convert_table(table: DeTable<'_>) -> TomlTable {
    let entry = |(key, value): (Spanned<_>, _)| {
        (Spanned::new(key.span(), std::borrow::Cow::into_owned(key.into_inner())), convert_value(value))
    };
    TomlTable(table.into_iter().map(entry).collect())
}

/// Converts a value of the parser to an owned one.
fn convert_value(value: Spanned<DeValue<'_>>) -> SpannedTomlValue {
    let span = value.span();
    let node = match value.into_inner() {
        DeValue::String(text) => TomlValue::Text(text.into_owned()),
        DeValue::Boolean(value) => TomlValue::Bool(value),
        DeValue::Array(list) => TomlValue::List(list.into_iter().map(convert_value).collect()),
        DeValue::Table(table) => TomlValue::Table(convert_table(table)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => TomlValue::Other,
    };
    Spanned::new(span, node)
}

/// Maximum number of package lists that are cached for one file.
const MAX_CACHED_LISTS: usize = 8;

/// A TOML file, with the cached lists of packages that it installs.
#[derive(Debug)]
pub(super) struct TomlFile {
    /// The root table; `None` if the file is no valid TOML.
    table: Option<TomlTable>,
    /// The cached lists of packages, by everything that they depend on.
    installs: Mutex<BTreeMap<String, Vec<PackageInstall>>>,
}

impl Deref for TomlFile {
    type Target = Option<TomlTable>;

    fn deref(&self) -> &Option<TomlTable> {
        &self.table
    }
}

impl TomlFile {
    /// Returns the packages that the file installs for a cache key, reading them if they are not cached.
    pub(super) fn installs_for_key(
        &self,
        hangs_on: String,
        read: impl FnOnce() -> Vec<PackageInstall>,
    ) -> Vec<PackageInstall> {
        let known = |tree: &Self| tree.installs.lock().ok()?.get(&hangs_on).cloned();
        if let Some(known) = known(self) {
            return known;
        }
        let made = read();
        if let Ok(mut all) = self.installs.lock()
            && all.len() < MAX_CACHED_LISTS
        {
            all.insert(hangs_on, made.clone());
        }
        made
    }
}

/// Returns the parsed TOML of a file, from its cache if possible.
pub(super) fn parse_toml(opened: &OpenedFile) -> Arc<TomlFile> {
    let read = || Some(convert_table(DeTable::parse(opened.text.text()).ok()?.into_inner()));
    opened.kept.get_or_parse(|| TomlFile { table: read(), installs: Mutex::default() })
}

/// Returns the value at a path of keys.
pub(super) fn value_at<'t>(table: &'t TomlTable, path: &[&str]) -> Option<&'t SpannedTomlValue> {
    let (first, rest) = path.split_first()?;
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    if rest.is_empty() { Some(value) } else { value_at(value.get_ref().as_table()?, rest) }
}

/// Returns the table at a path of keys.
pub(super) fn table_at<'t>(table: &'t TomlTable, path: &[&str]) -> Option<&'t TomlTable> {
    value_at(table, path)?.get_ref().as_table()
}

/// Returns the string at a path of keys.
pub(super) fn text_at<'t>(table: &'t TomlTable, path: &[&str]) -> Option<&'t str> {
    value_at(table, path)?.get_ref().as_str()
}

/// Returns the elements of the array at a path of keys.
pub(super) fn list_at<'t>(table: &'t TomlTable, path: &[&str]) -> Vec<&'t SpannedTomlValue> {
    value_at(table, path)
        .and_then(|value| value.get_ref().as_array())
        .map_or_else(Vec::new, |list| list.iter().collect())
}

/// Returns the tables in the array at a path of keys.
pub(super) fn tables_at<'t>(table: &'t TomlTable, path: &[&str]) -> Vec<&'t TomlTable> {
    list_at(table, path).into_iter().filter_map(|value| value.get_ref().as_table()).collect()
}

/// Returns where a value is written.
pub(super) fn value_span(value: &SpannedTomlValue, opened: &OpenedFile) -> Span {
    opened.text.source_span(value.span())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn package_lists_are_cached_by_key() {
        let tree = TomlFile { table: None, installs: Mutex::default() };
        let times = Cell::new(0);
        let ask = |hangs_on: &str| {
            let read = || {
                times.set(times.get() + 1);
                Vec::new()
            };
            tree.installs_for_key(hangs_on.to_owned(), read).len()
        };
        for (hangs_on, expected) in [("a", 1), ("a", 1), ("b", 2), ("a", 2), ("", 3), ("b", 3)] {
            assert_eq!((ask(hangs_on), times.get()), (0, expected), "{hangs_on}");
        }
        // What does not fit any more is read each time.
        let others: Vec<String> = (0..2 * MAX_CACHED_LISTS).map(|other| other.to_string()).collect();
        for other in others.iter().chain(&others) {
            assert_eq!(ask(other), 0);
        }
        assert_eq!(times.get(), 3 + (MAX_CACHED_LISTS - 3) + 2 * (MAX_CACHED_LISTS + 3));
    }
}
