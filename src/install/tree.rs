//! TOML as other tools write it: what is not as expected is passed over.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::Mutex;

use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;

use crate::install::Install;
use crate::install::Opened;
use crate::source::Span;

/// A value with its place.
pub(super) type Value = Spanned<Node>;

/// What a value is. It holds its own texts, so that it may be kept beside the file.
#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    Bool(bool),
    List(Vec<Value>),
    Table(Table),
    /// A number or a date.
    Other,
}

impl Node {
    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&[Value]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    pub(super) fn as_table(&self) -> Option<&Table> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }
}

/// A table, in the order in which its parser has the keys.
#[derive(Debug)]
pub(super) struct Table(Vec<(Spanned<String>, Value)>);

impl Table {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Spanned<String>, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

fn table(table: DeTable<'_>) -> Table {
    let entry = |(key, value): (Spanned<_>, _)| {
        (Spanned::new(key.span(), std::borrow::Cow::into_owned(key.into_inner())), self::value(value))
    };
    Table(table.into_iter().map(entry).collect())
}

fn value(value: Spanned<DeValue<'_>>) -> Value {
    let span = value.span();
    let node = match value.into_inner() {
        DeValue::String(text) => Node::Text(text.into_owned()),
        DeValue::Boolean(value) => Node::Bool(value),
        DeValue::Array(list) => Node::List(list.into_iter().map(self::value).collect()),
        DeValue::Table(table) => Node::Table(self::table(table)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) => Node::Other,
    };
    Spanned::new(span, node)
}

/// So many lists are kept of one file: it is installed in few ways.
const MOST: usize = 8;

/// A file: its table where it is TOML, and what it installs, by all that this hangs on.
#[derive(Debug)]
pub(super) struct Tree {
    table: Option<Table>,
    installs: Mutex<BTreeMap<String, Vec<Install>>>,
}

impl Deref for Tree {
    type Target = Option<Table>;

    fn deref(&self) -> &Option<Table> {
        &self.table
    }
}

impl Tree {
    /// What is installed by it, read where nobody asked for that before.
    pub(super) fn installs(&self, hangs_on: String, read: impl FnOnce() -> Vec<Install>) -> Vec<Install> {
        let known = |tree: &Self| tree.installs.lock().ok()?.get(&hangs_on).cloned();
        if let Some(known) = known(self) {
            return known;
        }
        let made = read();
        if let Ok(mut all) = self.installs.lock()
            && all.len() < MOST
        {
            all.insert(hangs_on, made.clone());
        }
        made
    }
}

/// The table that a file is; none where it is no TOML.
pub(super) fn root(opened: &Opened) -> Arc<Tree> {
    let read = || Some(table(DeTable::parse(opened.text.text()).ok()?.into_inner()));
    opened.kept.get(|| Tree { table: read(), installs: Mutex::default() })
}

/// The value at a path of keys.
pub(super) fn at<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    if rest.is_empty() { Some(value) } else { at(value.get_ref().as_table()?, rest) }
}

/// The table at a path of keys.
pub(super) fn table_at<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Table> {
    at(table, path)?.get_ref().as_table()
}

/// The text at a path of keys.
pub(super) fn text_at<'t>(table: &'t Table, path: &[&str]) -> Option<&'t str> {
    at(table, path)?.get_ref().as_str()
}

/// The elements of a list at a path of keys.
pub(super) fn list_at<'t>(table: &'t Table, path: &[&str]) -> Vec<&'t Value> {
    at(table, path).and_then(|value| value.get_ref().as_array()).map_or_else(Vec::new, |list| list.iter().collect())
}

/// The tables of a list at a path of keys.
pub(super) fn tables_at<'t>(table: &'t Table, path: &[&str]) -> Vec<&'t Table> {
    list_at(table, path).into_iter().filter_map(|value| value.get_ref().as_table()).collect()
}

/// Where a value is written in its file.
pub(super) fn span_of(value: &Value, opened: &Opened) -> Span {
    opened.text.span(value.span())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_installed_is_asked_once_for_all_that_it_hangs_on() {
        let tree = Tree { table: None, installs: Mutex::default() };
        let times = Cell::new(0);
        let ask = |hangs_on: &str| {
            let read = || {
                times.set(times.get() + 1);
                Vec::new()
            };
            tree.installs(hangs_on.to_owned(), read).len()
        };
        for (hangs_on, expected) in [("a", 1), ("a", 1), ("b", 2), ("a", 2), ("", 3), ("b", 3)] {
            assert_eq!((ask(hangs_on), times.get()), (0, expected), "{hangs_on}");
        }
        // What does not fit any more is read each time.
        let others: Vec<String> = (0..2 * MOST).map(|other| other.to_string()).collect();
        for other in others.iter().chain(&others) {
            assert_eq!(ask(other), 0);
        }
        assert_eq!(times.get(), 3 + (MOST - 3) + 2 * (MOST + 3));
    }
}
