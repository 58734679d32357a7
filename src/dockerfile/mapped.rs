//! Text put together from pieces of a source, with the way back to the source's bytes.

use std::ops::Range;

use crate::source::Span;

/// From this logical offset on, bytes lie one after another from this source offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in [`Mapped::text`].
    pub logical: usize,
    /// Offset in the source.
    pub source: usize,
}

/// A logical text, such as a RUN command without its line continuations, and where each byte was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    text: String,
    pieces: Vec<Piece>,
}

impl Mapped {
    /// A text that lies in the source in one piece, from `start` on.
    pub fn whole(text: &str, start: usize) -> Self {
        let mut mapped = Self::default();
        mapped.pieces.push(Piece { logical: 0, source: start });
        mapped.text.push_str(text);
        mapped
    }

    /// Appends a text that the source has at `source`.
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
            self.pieces.push(Piece { logical, source });
        }
        self.text.push_str(text);
    }

    /// The logical text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pieces, by rising logical offset.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The source offset of the byte at a logical offset.
    pub fn offset(&self, logical: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.logical <= logical);
        match after.checked_sub(1).and_then(|at| self.pieces.get(at)) {
            Some(piece) => piece.source + (logical - piece.logical),
            None => logical,
        }
    }

    /// The source span of a range of the logical text; an empty range gives an empty span.
    pub fn span(&self, range: Range<usize>) -> Span {
        if range.end <= range.start {
            let at = self.offset(range.start);
            return Span::new(at, at);
        }
        Span::new(self.offset(range.start), self.offset(range.end - 1) + 1)
    }

    /// The source span of the whole text.
    pub fn full_span(&self) -> Span {
        self.span(0..self.text.len())
    }

    /// The text under a range; empty where the range does not fit.
    pub fn get(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or("")
    }

    /// A part of the text with its own map.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut part = Self::default();
        let text = self.get(range.clone());
        if text.is_empty() {
            part.pieces.push(Piece { logical: 0, source: self.offset(range.start) });
            return part;
        }
        part.pieces.push(Piece { logical: 0, source: self.offset(range.start) });
        let first = self.pieces.partition_point(|piece| piece.logical <= range.start);
        let inside = self.pieces.iter().skip(first).take_while(|piece| piece.logical < range.end);
        part.pieces.extend(inside.map(|piece| Piece { logical: piece.logical - range.start, source: piece.source }));
        part.text.push_str(text);
        part
    }

    /// Appends another mapped text.
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
        let mut mapped = Mapped::default();
        mapped.push("a ", 4);
        mapped.push("  bcd", 8);
        assert_eq!(mapped.text(), "a   bcd");
        assert_eq!(mapped.span(5..7), Span::new(11, 13));
        assert_eq!(&source[11..13], "cd");
        let part = mapped.slice(4..7);
        assert_eq!((part.text(), part.full_span()), ("bcd", Span::new(10, 13)));
        let mut twice = part.clone();
        twice.append(&mapped);
        assert_eq!(twice.span(3..4), Span::new(4, 5));
    }
}
