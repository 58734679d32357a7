//! Values in documents of a cluster, by path.

use serde_json::Value;

/// Returns the string at a path of keys.
pub(super) fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    value_at(value, path)?.as_str()
}

/// Returns the value at a path of keys.
pub(super) fn value_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Returns the items of the list at a path of keys; empty if there is no list.
pub(super) fn items_at<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    value_at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
