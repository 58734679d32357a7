//! Places as editors count them: lines from 0, columns in the units that were agreed on.

use serde::Deserialize;
use serde::Serialize;

use crate::source::Span;

/// What a column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The one that the protocol knows by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "utf-8" => Self::Utf8,
            "utf-16" => Self::Utf16,
            "utf-32" => Self::Utf32,
            _ => return None,
        })
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    const fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A place between two characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// From one place to another, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Range {
    pub(super) start: Position,
    pub(super) end: Position,
}

impl Range {
    /// Whether they have a place in common.
    pub(super) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A text by its lines.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'a> Lines<'a> {
    /// A line ends at a line feed, a carriage return, or both together.
    pub(super) fn new(text: &'a str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: usize| match bytes.get(at) {
            Some(b'\n') => true,
            Some(b'\r') => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let starts = std::iter::once(0).chain((0..bytes.len()).filter(|at| ends(*at)).map(|at| at + 1)).collect();
        Self { text, starts, encoding }
    }

    /// The byte at a place: that of the line's end behind it, that of the text's end behind all lines.
    pub(super) fn offset(&self, place: Position) -> usize {
        let line = usize::try_from(place.line).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(line).copied() else { return self.text.len() };
        let wanted = usize::try_from(place.character).unwrap_or(usize::MAX);
        let mut counted = 0;
        for (at, c) in self.content(line).char_indices() {
            if counted >= wanted {
                return start + at;
            }
            counted += self.encoding.width(c);
        }
        start + self.content(line).len()
    }

    /// The place of a byte.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.content(line).char_indices().take_while(|(at, _)| start + at < offset);
        let character = before.map(|(_, c)| self.encoding.width(c)).sum::<usize>();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(character).unwrap_or(u32::MAX),
        }
    }

    /// The range of a span.
    pub(super) fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end.max(span.start)) }
    }

    /// The span of a range; none where it ends before it starts.
    pub(super) fn span(&self, range: Range) -> Option<Span> {
        (range.start <= range.end).then(|| Span::new(self.offset(range.start), self.offset(range.end)))
    }

    /// The line that a byte is on, without its end, and where it starts.
    pub(super) fn line_at(&self, offset: usize) -> (usize, &'a str) {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        (self.starts.get(line).copied().unwrap_or_default(), self.content(line))
    }

    /// What the line at an offset ends with; the last one as others do that lie before it.
    pub(super) fn ending(&self, offset: usize) -> &'static str {
        let next = self.starts.iter().find(|start| **start > offset).or(self.starts.last().filter(|start| **start > 0));
        let before = next.and_then(|next| self.text.get(..*next)).unwrap_or_default();
        if before.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    fn content(&self, line: usize) -> &'a str {
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
            assert_eq!(Lines::new(text, Encoding::Utf8).ending(at), expected, "{text:?} at {at}");
        }
    }

    #[test]
    fn columns_count_the_units_agreed_on() {
        for (encoding, column) in [(Encoding::Utf8, 5), (Encoding::Utf16, 3), (Encoding::Utf32, 2)] {
            let lines = Lines::new(TEXT, encoding);
            assert_eq!(lines.position(5), Position { line: 0, character: column }, "{encoding:?}");
            assert_eq!(lines.offset(Position { line: 0, character: column }), 5, "{encoding:?}");
        }
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        for (offset, line, character) in [(6, 0, 4), (7, 0, 4), (8, 1, 0), (10, 1, 1), (11, 2, 0), (15, 3, 0)] {
            assert_eq!(lines.position(offset), Position { line, character }, "{offset}");
        }
    }

    #[test]
    fn what_lies_outside_is_the_nearest_end() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        for (line, character, offset) in [(0, 99, 6), (2, 99, 14), (3, 0, 15), (9, 9, 15), (u32::MAX, u32::MAX, 15)] {
            assert_eq!(lines.offset(Position { line, character }), offset, "{line}:{character}");
        }
        assert_eq!(lines.position(usize::MAX), Position { line: 3, character: 0 });
        // In the middle of a pair, and of a character.
        assert_eq!(lines.offset(Position { line: 0, character: 2 }), 5);
        assert_eq!(lines.position(3), Position { line: 0, character: 3 });
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_none() {
        let lines = Lines::new(TEXT, Encoding::Utf16);
        let (first, last) = (Position { line: 0, character: 0 }, Position { line: 1, character: 0 });
        assert_eq!(lines.span(Range { start: last, end: first }), None);
        assert_eq!(lines.span(Range { start: first, end: last }), Some(Span::new(0, 8)));
    }
}
