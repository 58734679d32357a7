//! TOML as other tools write it: what is not as expected is passed over.

use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;

use crate::install::Opened;
use crate::source::Span;

pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// The value at a path of keys.
pub(super) fn at<'t, 'i>(table: &'t DeTable<'i>, path: &[&str]) -> Option<&'t Value<'i>> {
    let (first, rest) = path.split_first()?;
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    if rest.is_empty() { Some(value) } else { at(value.get_ref().as_table()?, rest) }
}

/// The table at a path of keys.
pub(super) fn table_at<'t, 'i>(table: &'t DeTable<'i>, path: &[&str]) -> Option<&'t DeTable<'i>> {
    at(table, path)?.get_ref().as_table()
}

/// The text at a path of keys.
pub(super) fn text_at<'t>(table: &'t DeTable<'_>, path: &[&str]) -> Option<&'t str> {
    at(table, path)?.get_ref().as_str()
}

/// The elements of a list at a path of keys.
pub(super) fn list_at<'t, 'i>(table: &'t DeTable<'i>, path: &[&str]) -> Vec<&'t Value<'i>> {
    at(table, path).and_then(|value| value.get_ref().as_array()).map_or_else(Vec::new, |list| list.iter().collect())
}

/// The tables of a list at a path of keys.
pub(super) fn tables_at<'t, 'i>(table: &'t DeTable<'i>, path: &[&str]) -> Vec<&'t DeTable<'i>> {
    list_at(table, path).into_iter().filter_map(|value| value.get_ref().as_table()).collect()
}

/// Where a value is written in its file.
pub(super) fn span_of(value: &Value<'_>, opened: &Opened) -> Span {
    opened.text.span(value.span())
}
