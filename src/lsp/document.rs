//! The documents that are open, as the editor has them.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use crate::lsp::place::Encoding;
use crate::lsp::place::Lines;
use crate::lsp::uri;
use crate::lsp::wire::Change;
use crate::lsp::wire::Item;

/// No document that is judged is longer.
pub const LONGEST: usize = 4 << 20;
/// No more documents are kept.
const MOST: usize = 1024;

/// One document.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) path: Option<PathBuf>,
    pub(super) language: String,
    pub(super) version: i64,
    /// The text, or why it is not known.
    pub(super) text: Result<String, String>,
}

impl Document {
    fn set(&mut self, text: String) {
        self.text =
            if text.len() > LONGEST { Err(format!("not checked: longer than {LONGEST} bytes")) } else { Ok(text) };
    }

    fn change(&mut self, change: Change, encoding: Encoding) {
        let Some(range) = change.range else { return self.set(change.text) };
        // A part of what is not known says nothing.
        let Ok(mut text) = std::mem::replace(&mut self.text, Err(String::new())) else { return self.lose(LOST) };
        let Some(span) = Lines::new(&text, encoding).span(range) else { return self.lose(LOST) };
        text.replace_range(span.start..span.end, &change.text);
        self.set(text);
    }

    fn lose(&mut self, why: &str) {
        self.text = Err(why.to_owned());
    }
}

const LOST: &str = "not checked: an edit could not be applied; close and reopen the file";

/// All of them, by their URI.
#[derive(Clone, Debug, Default)]
pub struct Open(BTreeMap<String, Document>);

impl Open {
    /// The unsaved text of a file, where it is open and known.
    pub fn text(&self, path: &Path) -> Option<&str> {
        let found = self.0.values().find(|document| document.path.as_deref() == Some(path))?;
        found.text.as_deref().ok()
    }

    /// Every file that is open, with its text.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.0.values().filter_map(|document| Some((document.path.as_deref()?, document.text.as_deref().ok()?)))
    }

    pub(super) fn get(&self, uri: &str) -> Option<&Document> {
        self.0.get(uri)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Document)> {
        self.0.iter()
    }

    /// The URI by which the editor knows a file; its usual one where it is not open.
    pub(super) fn uri_of(&self, path: &Path) -> String {
        let found = self.0.iter().find(|(_, document)| document.path.as_deref() == Some(path));
        found.map_or_else(|| uri::of(path), |(uri, _)| uri.clone())
    }

    pub(super) fn open(&mut self, item: Item) {
        if self.0.len() >= MOST && !self.0.contains_key(&item.uri) {
            return;
        }
        let path = uri::path(&item.uri);
        let text = Ok(String::new());
        let mut document = Document { path, language: item.language_id, version: item.version, text };
        document.set(item.text);
        self.0.insert(item.uri, document);
    }

    /// Follows the changes of a document; whether it is open.
    pub(super) fn change(&mut self, uri: &str, version: Option<i64>, changes: Vec<Change>, encoding: Encoding) -> bool {
        let Some(document) = self.0.get_mut(uri) else { return false };
        document.version = version.unwrap_or(document.version);
        for change in changes {
            document.change(change, encoding);
        }
        true
    }

    /// What the texts are is not known any more: of one document, or of all.
    pub(super) fn lose(&mut self, uri: Option<&str>) {
        for (own, document) in &mut self.0 {
            if uri.is_none_or(|uri| uri == own) {
                document.lose(LOST);
            }
        }
    }

    pub(super) fn close(&mut self, uri: &str) -> Option<Document> {
        self.0.remove(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::place::Position;
    use crate::lsp::place::Range;

    fn opened(text: &str) -> Open {
        let mut open = Open::default();
        let item = Item { uri: "file:///d".to_owned(), language_id: String::new(), version: 1, text: text.to_owned() };
        open.open(item);
        open
    }

    fn part(from: (u32, u32), to: (u32, u32), text: &str) -> Change {
        let place = |(line, character)| Position { line, character };
        Change { range: Some(Range { start: place(from), end: place(to) }), text: text.to_owned() }
    }

    #[test]
    fn changes_are_followed_in_their_order() {
        let mut open = opened("FROM x\nRUN \u{10400}y\n");
        let changes = vec![part((0, 5), (0, 6), "nginx"), part((1, 6), (1, 7), "z"), part((2, 0), (9, 9), "CMD a\n")];
        assert!(open.change("file:///d", Some(2), changes, Encoding::Utf16));
        assert_eq!(open.text(Path::new("/d")), Some("FROM nginx\nRUN \u{10400}z\nCMD a\n"));
        assert!(!open.change("file:///other", None, Vec::new(), Encoding::Utf16));
    }

    #[test]
    fn a_text_that_was_lost_comes_back_as_a_whole() {
        let mut open = opened("FROM x\n");
        open.change("file:///d", Some(2), vec![part((1, 0), (0, 0), "y")], Encoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), None, "a range that ends before it starts");
        open.change("file:///d", Some(3), vec![part((0, 0), (0, 0), "y")], Encoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), None, "a part of what is lost");
        let whole = Change { range: None, text: "FROM z\n".to_owned() };
        open.change("file:///d", Some(4), vec![whole], Encoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), Some("FROM z\n"));
    }

    #[test]
    fn a_text_that_is_too_long_is_not_kept() {
        let mut open = opened(&"x".repeat(LONGEST + 1));
        assert_eq!(open.text(Path::new("/d")), None);
        let whole = Change { range: None, text: "x".repeat(LONGEST) };
        open.change("file:///d", Some(2), vec![whole, part((0, 0), (0, 0), "yy")], Encoding::Utf16);
        assert_eq!(open.text(Path::new("/d")), None, "grown by a change");
        assert!(open.get("file:///d").is_some_and(|document| document.text.is_err()));
    }
}
