//! Text assembled from pieces of a source file, with a map from its offsets to those of the source.

use std::ops::Range;

use crate::text::source::Span;

/// The start of a piece of text that is contiguous in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePiece {
    /// Offset in [`MappedText::text`].
    pub logical: usize,
    /// Offset in the source.
    pub source: usize,
}

/// A text such as a RUN command without its line continuations, with the source offset of each byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedText {
    text: String,
    pieces: Vec<SourcePiece>,
}

impl MappedText {
    /// Creates a text that is contiguous in the source from offset `start` on.
    pub fn contiguous(text: &str, start: usize) -> Self {
        let mut mapped = Self::default();
        mapped.pieces.push(SourcePiece { logical: 0, source: start });
        mapped.text.push_str(text);
        mapped
    }

    /// Appends a text that starts at the offset `source` of the source.
    pub fn push(&mut self, text: &str, source: usize) {
        let logical = self.text.len();
        if text.is_empty() && !self.pieces.is_empty() {
            return;
        }
        let follows = self.pieces.last().is_some_and(|last| last.source + (logical - last.logical) == source);
        if !follows {
            if self.pieces.last().is_some_and(|last| last.logical == logical) {
                self.pieces.pop();
            }
            self.pieces.push(SourcePiece { logical, source });
        }
        self.text.push_str(text);
    }

    /// Returns the assembled text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the pieces in the order of the text.
    pub fn pieces(&self) -> &[SourcePiece] {
        &self.pieces
    }

    /// Returns the source offset of the byte at an offset of the text.
    pub fn source_offset(&self, logical: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.logical <= logical);
        match after.checked_sub(1).and_then(|at| self.pieces.get(at)) {
            Some(piece) => piece.source + (logical - piece.logical),
            None => logical,
        }
    }

    /// Returns the source span of a range of the text; an empty range gives an empty span.
    pub fn source_span(&self, range: Range<usize>) -> Span {
        if range.end <= range.start {
            let at = self.source_offset(range.start);
            return Span::new(at, at);
        }
        Span::new(self.source_offset(range.start), self.source_offset(range.end - 1) + 1)
    }

    /// Returns the source span of the whole text.
    pub fn full_source_span(&self) -> Span {
        self.source_span(0..self.text.len())
    }

    /// Returns the text in a range; empty where the range is not valid.
    pub fn get(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or("")
    }

    /// Returns a part of the text with its own map to the source.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut part = Self::default();
        let text = self.get(range.clone());
        if text.is_empty() {
            part.pieces.push(SourcePiece { logical: 0, source: self.source_offset(range.start) });
            return part;
        }
        part.pieces.push(SourcePiece { logical: 0, source: self.source_offset(range.start) });
        let first = self.pieces.partition_point(|piece| piece.logical <= range.start);
        let inside = self.pieces.iter().skip(first).take_while(|piece| piece.logical < range.end);
        part.pieces
            .extend(inside.map(|piece| SourcePiece { logical: piece.logical - range.start, source: piece.source }));
        part.text.push_str(text);
        part
    }

    /// Appends another text with its map to the source.
    pub fn append(&mut self, other: &Self) {
        for (at, piece) in other.pieces.iter().enumerate() {
            let end = other.pieces.get(at + 1).map_or(other.text.len(), |next| next.logical);
            self.push(other.get(piece.logical..end), piece.source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_leads_back_to_the_source() {
        let source = "RUN a \\\n  bcd";
        let mut mapped = MappedText::default();
        mapped.push("a ", 4);
        mapped.push("  bcd", 8);
        assert_eq!(mapped.text(), "a   bcd");
        assert_eq!(mapped.source_span(5..7), Span::new(11, 13));
        assert_eq!(&source[11..13], "cd");
        let part = mapped.slice(4..7);
        assert_eq!((part.text(), part.full_source_span()), ("bcd", Span::new(10, 13)));
        let mut twice = part.clone();
        twice.append(&mapped);
        assert_eq!(twice.source_span(3..4), Span::new(4, 5));
    }
}
