//! Positions as LSP counts them: lines from 0, columns in the negotiated encoding.

use serde::{Deserialize, Serialize};

use crate::text::source::Span;

/// The unit in which columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PositionEncoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl PositionEncoding {
    /// Returns the encoding with this LSP name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "utf-8" => Self::Utf8,
            "utf-16" => Self::Utf16,
            "utf-32" => Self::Utf32,
            _ => return None,
        })
    }

    /// Returns the LSP name of the encoding.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    /// Returns the number of units of a character.
    const fn char_width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A position between two characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct LspPosition {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// A range between two positions; the end is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct LspRange {
    pub(super) start: LspPosition,
    pub(super) end: LspPosition,
}

impl LspRange {
    /// Whether two ranges overlap or touch.
    pub(super) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A text with the starts of its lines, which converts between byte offsets and LSP positions.
#[derive(Clone, Debug)]
pub(super) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
    encoding: PositionEncoding,
}

impl<'a> LineIndex<'a> {
    /// Indexes a text; a line ends at a line feed, a carriage return, or both together.
    pub(super) fn new(text: &'a str, encoding: PositionEncoding) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: usize| match bytes.get(at) {
            Some(b'\n') => true,
            Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = std::iter::once(0).chain((0..bytes.len()).filter(|at| ends(*at)).map(|at| at + 1)).collect();
        Self { text, starts, encoding }
    }

    /// Returns the byte offset of a position; a position past the end of its line or of the text is clamped.
    pub(super) fn offset(&self, place: LspPosition) -> usize {
        let line = usize::try_from(place.line).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(line).copied() else { return self.text.len() };
        let column = usize::try_from(place.character).unwrap_or(usize::MAX);
        let mut counted = 0;
        for (at, c) in self.line_content(line).char_indices() {
            if counted >= column {
                return start + at;
            }
            counted += self.encoding.char_width(c);
        }
        start + self.line_content(line).len()
    }

    /// Returns the position of a byte offset.
    pub(super) fn position(&self, offset: usize) -> LspPosition {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.line_content(line).char_indices().take_while(|(at, _)| start + at < offset);
        let character = before.map(|(_, c)| self.encoding.char_width(c)).sum::<usize>();
        LspPosition {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(character).unwrap_or(u32::MAX),
        }
    }

    /// Returns the range of a span.
    pub(super) fn range(&self, span: Span) -> LspRange {
        LspRange { start: self.position(span.start), end: self.position(span.end.max(span.start)) }
    }

    /// Returns the span of a range; `None` if it ends before it starts.
    pub(super) fn span(&self, range: LspRange) -> Option<Span> {
        (range.start <= range.end).then(|| Span::new(self.offset(range.start), self.offset(range.end)))
    }

    /// Returns the start of the line that contains a byte, and the line without its line ending.
    pub(super) fn line_at(&self, offset: usize) -> (usize, &'a str) {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        (self.starts.get(line).copied().unwrap_or_default(), self.line_content(line))
    }

    /// Returns the line ending at an offset; for a last line without one, that of the line before.
    pub(super) fn line_ending_at(&self, offset: usize) -> &'static str {
        let next = self.starts.iter().find(|start| **start > offset).or(self.starts.last().filter(|start| **start > 0));
        let before = next.and_then(|next| self.text.get(..*next)).unwrap_or_default();
        if before.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns a line without its line ending.
    fn line_content(&self, line: usize) -> &'a str {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\r', '\n'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\u{10400}b\r\nñ\rend\n";

    #[test]
    fn lines_end_as_the_file_has_them() {
        for (text, at, expected) in [
            ("a\r\nb\r\n", 0, "\r\n"),
            ("a\r\nb", 3, "\r\n"),
            ("a\r\nb\n", 3, "\n"),
            ("a\nb\r\n", 0, "\n"),
            ("a\nb", 2, "\n"),
            ("a", 0, "\n"),
            ("", 0, "\n"),
            ("a\rb", 0, "\n"),
        ] {
            assert_eq!(LineIndex::new(text, PositionEncoding::Utf8).line_ending_at(at), expected, "{text:?} at {at}");
        }
    }

    #[test]
    fn columns_count_the_units_agreed_on() {
        for (encoding, column) in
            [(PositionEncoding::Utf8, 5), (PositionEncoding::Utf16, 3), (PositionEncoding::Utf32, 2)]
        {
            let lines = LineIndex::new(TEXT, encoding);
            assert_eq!(lines.position(5), LspPosition { line: 0, character: column }, "{encoding:?}");
            assert_eq!(lines.offset(LspPosition { line: 0, character: column }), 5, "{encoding:?}");
        }
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        let lines = LineIndex::new(TEXT, PositionEncoding::Utf16);
        for (offset, line, character) in [(6, 0, 4), (7, 0, 4), (8, 1, 0), (10, 1, 1), (11, 2, 0), (15, 3, 0)] {
            assert_eq!(lines.position(offset), LspPosition { line, character }, "{offset}");
        }
    }

    #[test]
    fn position_outside_of_the_text_is_clamped() {
        let lines = LineIndex::new(TEXT, PositionEncoding::Utf16);
        for (line, character, offset) in [(0, 99, 6), (2, 99, 14), (3, 0, 15), (9, 9, 15), (u32::MAX, u32::MAX, 15)] {
            assert_eq!(lines.offset(LspPosition { line, character }), offset, "{line}:{character}");
        }
        assert_eq!(lines.position(usize::MAX), LspPosition { line: 3, character: 0 });
        // In the middle of a pair, and of a character.
        assert_eq!(lines.offset(LspPosition { line: 0, character: 2 }), 5);
        assert_eq!(lines.position(3), LspPosition { line: 0, character: 3 });
    }

    #[test]
    fn reversed_range_is_refused() {
        let lines = LineIndex::new(TEXT, PositionEncoding::Utf16);
        let (first, last) = (LspPosition { line: 0, character: 0 }, LspPosition { line: 1, character: 0 });
        assert_eq!(lines.span(LspRange { start: last, end: first }), None);
        assert_eq!(lines.span(LspRange { start: first, end: last }), Some(Span::new(0, 8)));
    }
}
