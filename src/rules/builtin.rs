//! The built-in pages, embedded: one line per file under `rules/`, sorted; a test compares the list with the folder.

/// Path and text of every page.
pub(super) const PAGES: &[(&str, &str)] = &[
];
