//! Source texts, byte spans into them, and the lines and columns of byte offsets.

use std::fmt;
use std::sync::Arc;

/// A half-open range of bytes in one source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether the span covers no byte.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns the smallest span that covers both.
    #[must_use]
    pub fn cover(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The id of a source text of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A line and a column, both from 1; the column counts UTF-8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A source text with its name as the user would type it.
#[derive(Clone, Debug)]
pub struct SourceText {
    name: String,
    text: Arc<str>,
    line_starts: Box<[u32]>,
}

impl SourceText {
    /// Indexes the lines of a text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        // Of a text beyond four gigabytes the rest counts as one line.
        let line_starts = std::iter::once(0).chain(ends.map_while(|(at, _)| u32::try_from(at + 1).ok())).collect();
        Self { name: name.into(), text, line_starts }
    }

    /// Returns the name, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns a shared reference to the whole text.
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Returns the text of a span; empty if the span is out of bounds.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// Returns line and column of a byte offset; an offset past the end counts as the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start as usize <= offset);
        Position { line, column: offset - self.line_starts[line - 1] as usize + 1 }
    }
}

/// All source texts of a run.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<SourceText>);

impl Sources {
    /// Adds a text, and returns its id.
    pub fn add(&mut self, text: SourceText) -> SourceId {
        self.0.push(text);
        SourceId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// Appends the texts of others; the returned function converts their ids to the new ones.
    pub fn append(&mut self, others: Self) -> impl Fn(SourceId) -> SourceId + use<> {
        let first = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.extend(others.0);
        move |id| SourceId(id.0.saturating_add(first))
    }

    /// Returns the text with an id of this collection.
    pub fn get(&self, id: SourceId) -> &SourceText {
        &self.0[id.0 as usize]
    }

    /// Replaces the text with an id.
    pub fn replace(&mut self, id: SourceId, text: SourceText) {
        if let Some(old) = self.0.get_mut(id.0 as usize) {
            *old = text;
        }
    }

    /// Returns all texts in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &SourceText> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_bytes_from_one() {
        let text = SourceText::new("f", "añb\r\nc");
        for (offset, line, column) in [(0, 1, 1), (3, 1, 4), (5, 1, 6), (6, 2, 1), (99, 2, 2)] {
            assert_eq!(text.position(offset), Position { line, column }, "offset {offset}");
        }
    }

    #[test]
    fn texts_of_others_get_ids_behind_those_that_are_there() {
        let (mut all, mut others) = (Sources::default(), Sources::default());
        let first = all.add(SourceText::new("a", ""));
        let (b, c) = (others.add(SourceText::new("b", "")), others.add(SourceText::new("c", "")));
        assert_eq!(first, b, "each counts from nothing");
        let new = all.append(others);
        for (id, name) in [(first, "a"), (new(b), "b"), (new(c), "c")] {
            assert_eq!(all.get(id).name(), name);
        }
    }

    #[test]
    fn a_span_outside_the_text_is_empty() {
        assert_eq!(SourceText::new("f", "añb").slice(Span::new(2, 9)), "");
    }
}
