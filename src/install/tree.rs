//! TOML as other tools write it: what is not as expected is passed over.

use std::sync::Arc;

use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;

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

/// The table that a file is; none where it is no TOML.
pub(super) fn root(opened: &Opened) -> Arc<Option<Table>> {
    opened.kept.get(|| Some(table(DeTable::parse(opened.text.text()).ok()?.into_inner())))
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
