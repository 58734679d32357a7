//! Text assembled from segments of a source file, with a map from its offsets to those of the source.

use std::ops::Range;

use crate::text::source::Span;

/// The start of a segment of text that is contiguous in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceSegment {
    /// Offset in [`MappedText::text`].
    pub logical: usize,
    /// Offset in the source.
    pub source: usize,
}

/// A text such as a RUN command without its line continuations, with the source offset of each byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedText {
    text: String,
    segments: Vec<SourceSegment>,
}

impl MappedText {
    /// Creates a text that is contiguous in the source from offset `start` on.
    pub fn contiguous(text: &str, start: usize) -> Self {
        let mut mapped = Self::default();
        mapped.segments.push(SourceSegment { logical: 0, source: start });
        mapped.text.push_str(text);
        mapped
    }

    /// Appends a text that starts at the offset `source` of the source.
    pub fn push(&mut self, text: &str, source: usize) {
        let logical = self.text.len();
        if text.is_empty() && !self.segments.is_empty() {
            return;
        }
        let follows = self.segments.last().is_some_and(|last| last.source + (logical - last.logical) == source);
        if !follows {
            if self.segments.last().is_some_and(|last| last.logical == logical) {
                self.segments.pop();
            }
            self.segments.push(SourceSegment { logical, source });
        }
        self.text.push_str(text);
    }

    /// Returns the assembled text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the segments in the order of the text.
    pub fn segments(&self) -> &[SourceSegment] {
        &self.segments
    }

    /// Returns the source offset of the byte at an offset of the text.
    pub fn source_offset(&self, logical: usize) -> usize {
        let after = self.segments.partition_point(|segment| segment.logical <= logical);
        match after.checked_sub(1).and_then(|at| self.segments.get(at)) {
            Some(segment) => segment.source + (logical - segment.logical),
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
            part.segments.push(SourceSegment { logical: 0, source: self.source_offset(range.start) });
            return part;
        }
        part.segments.push(SourceSegment { logical: 0, source: self.source_offset(range.start) });
        let first = self.segments.partition_point(|segment| segment.logical <= range.start);
        let inside = self.segments.iter().skip(first).take_while(|segment| segment.logical < range.end);
        part.segments.extend(
            inside.map(|segment| SourceSegment { logical: segment.logical - range.start, source: segment.source }),
        );
        part.text.push_str(text);
        part
    }

    /// Appends another text with its map to the source.
    pub fn append(&mut self, other: &Self) {
        for (at, segment) in other.segments.iter().enumerate() {
            let end = other.segments.get(at + 1).map_or(other.text.len(), |next| next.logical);
            self.push(other.get(segment.logical..end), segment.source);
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
