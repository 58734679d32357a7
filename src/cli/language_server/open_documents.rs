//! The documents that are open in the editor, with their unsaved text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::language_server::position::{LineIndex, PositionEncoding};
use crate::cli::language_server::protocol::{ContentChange, TextDocumentItem};
use crate::cli::language_server::uri;

/// Maximum size in bytes of a document that is checked.
pub const MAX_DOCUMENT_BYTES: usize = 4 << 20;
/// Maximum number of open documents that are tracked.
const MAX_OPEN_DOCUMENTS: usize = 1024;

/// A document that is open in the editor.
#[derive(Clone, Debug)]
pub(super) struct OpenDocument {
    pub(super) path: Option<PathBuf>,
    pub(super) language: String,
    pub(super) version: i64,
    /// The text, or the reason why it is unknown.
    pub(super) text: Result<String, String>,
}

impl OpenDocument {
    /// Replaces the text; a text that is too long is not stored.
    fn set_text(&mut self, text: String) {
        self.text = if text.len() > MAX_DOCUMENT_BYTES {
            Err(format!("not checked: longer than {MAX_DOCUMENT_BYTES} bytes"))
        } else {
            Ok(text)
        };
    }

    /// Applies one change of the editor.
    fn apply_change(&mut self, change: ContentChange, encoding: PositionEncoding) {
        let Some(range) = change.range else { return self.set_text(change.text) };
        // A part of what is not known says nothing.
        let Ok(mut text) = std::mem::replace(&mut self.text, Err(String::new())) else {
            return self.mark_unknown(OUT_OF_SYNC);
        };
        let Some(span) = LineIndex::new(&text, encoding).span(range) else { return self.mark_unknown(OUT_OF_SYNC) };
        text.replace_range(span.start..span.end, &change.text);
        self.set_text(text);
    }

    /// Discards the text, with the reason why it is unknown.
    fn mark_unknown(&mut self, why: &str) {
        self.text = Err(why.to_owned());
    }
}

/// Reason for an unknown text after an edit that could not be applied.
const OUT_OF_SYNC: &str = "not checked: an edit could not be applied; close and reopen the file";

/// All documents that are open in the editor, by URI.
#[derive(Clone, Debug, Default)]
pub struct OpenDocuments(BTreeMap<String, OpenDocument>);

impl OpenDocuments {
    /// Returns the unsaved text of a file, if it is open and its text is known.
    pub fn text(&self, path: &Path) -> Option<&str> {
        let found = self.0.values().find(|document| document.path.as_deref() == Some(path))?;
        found.text.as_deref().ok()
    }

    /// Returns every open file whose text is known, with its text.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.0.values().filter_map(|document| Some((document.path.as_deref()?, document.text.as_deref().ok()?)))
    }

    /// Returns the open document with this URI.
    pub(super) fn get(&self, uri: &str) -> Option<&OpenDocument> {
        self.0.get(uri)
    }

    /// Returns all open documents with their URIs.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &OpenDocument)> {
        self.0.iter()
    }

    /// Returns the URI under which a file is open in the editor, or its `file:` URI if it is not open.
    pub(super) fn uri_of(&self, path: &Path) -> String {
        let found = self.0.iter().find(|(_, document)| document.path.as_deref() == Some(path));
        found.map_or_else(|| uri::uri_from_path(path), |(uri, _)| uri.clone())
    }

    /// Adds a document that the editor opened, unless too many are open.
    pub(super) fn open(&mut self, item: TextDocumentItem) {
        if self.0.len() >= MAX_OPEN_DOCUMENTS && !self.0.contains_key(&item.uri) {
            return;
        }
        let path = uri::path_from_uri(&item.uri);
        let text = Ok(String::new());
        let mut document = OpenDocument { path, language: item.language_id, version: item.version, text };
        document.set_text(item.text);
        self.0.insert(item.uri, document);
    }

    /// Applies the changes to a document; returns whether it is open.
    pub(super) fn apply_changes(
        &mut self,
        uri: &str,
        version: Option<i64>,
        changes: Vec<ContentChange>,
        encoding: PositionEncoding,
    ) -> bool {
        let Some(document) = self.0.get_mut(uri) else { return false };
        document.version = version.unwrap_or(document.version);
        for change in changes {
            document.apply_change(change, encoding);
        }
        true
    }

    /// Marks the text of one document, or of all, as unknown.
    pub(super) fn mark_unknown(&mut self, uri: Option<&str>) {
        for (own, document) in &mut self.0 {
            if uri.is_none_or(|uri| uri == own) {
                document.mark_unknown(OUT_OF_SYNC);
            }
        }
    }

    /// Removes a document that the editor closed.
    pub(super) fn close(&mut self, uri: &str) -> Option<OpenDocument> {
        self.0.remove(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::language_server::position::{LspPosition, LspRange};

    /// Opens one document with a text.
    fn open_with_text(text: &str) -> OpenDocuments {
        let mut open = OpenDocuments::default();
        let item = TextDocumentItem {
            uri: "file:///d".to_owned(),
            language_id: String::new(),
            version: 1,
            text: text.to_owned(),
        };
        open.open(item);
        open
    }

    /// Returns a change of the text between two positions.
    fn change_range(from: (u32, u32), to: (u32, u32), text: &str) -> ContentChange {
        let place = |(line, character)| LspPosition { line, character };
        ContentChange { range: Some(LspRange { start: place(from), end: place(to) }), text: text.to_owned() }
    }

    #[test]
    fn changes_are_followed_in_their_order() {
        let mut open = open_with_text("FROM x\nRUN \u{10400}y\n");
        let changes = vec![
            change_range((0, 5), (0, 6), "nginx"),
            change_range((1, 6), (1, 7), "z"),
            change_range((2, 0), (9, 9), "CMD a\n"),
        ];
        assert!(open.apply_changes("file:///d", Some(2), changes, PositionEncoding::Utf16));
        assert_eq!(open.text(Path::new("/d")), Some("FROM nginx\nRUN \u{10400}z\nCMD a\n"));
        assert!(!open.apply_changes("file:///other", None, Vec::new(), PositionEncoding::Utf16));
    }

    #[test]
    fn document_with_an_invalid_change_is_restored_by_its_full_text() {
        let mut open = open_with_text("FROM x\n");
        open.apply_changes("file:///d", Some(2), vec![change_range((1, 0), (0, 0), "y")], PositionEncoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), None, "a range that ends before it starts");
        open.apply_changes("file:///d", Some(3), vec![change_range((0, 0), (0, 0), "y")], PositionEncoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), None, "a part of what is lost");
        let whole = ContentChange { range: None, text: "FROM z\n".to_owned() };
        open.apply_changes("file:///d", Some(4), vec![whole], PositionEncoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), Some("FROM z\n"));
    }

    #[test]
    fn document_above_the_limit_is_not_stored() {
        let mut open = open_with_text(&"x".repeat(MAX_DOCUMENT_BYTES + 1));
        assert_eq!(open.text(Path::new("/d")), None);
        let whole = ContentChange { range: None, text: "x".repeat(MAX_DOCUMENT_BYTES) };
        open.apply_changes(
            "file:///d",
            Some(2),
            vec![whole, change_range((0, 0), (0, 0), "yy")],
            PositionEncoding::Utf16,
        );
        assert_eq!(open.text(Path::new("/d")), None, "grown by a change");
        assert!(open.get("file:///d").is_some_and(|document| document.text.is_err()));
    }
}
