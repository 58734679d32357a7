//! Excerpts of a source text around labels: escaped, with long lines cut and with the original line numbers.

use crate::report::escape::push_escaped;
use crate::report::model::Region;

/// An excerpt of a source text, and the marks in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// From the first line that matters to the last; those far from every mark are empty.
    pub text: String,
    /// How many lines the source has above it.
    pub above: usize,
    /// One mark per region, in their order.
    pub marks: Vec<SnippetMark>,
}

/// A range of bytes in `Snippet::text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnippetMark {
    /// First byte.
    pub start: usize,
    /// Byte after the end.
    pub end: usize,
    /// Column in the source, from 1: cutting and cleaning move it in the text.
    pub column: usize,
}

/// Divisor of the length of a cut line that gives the length before the mark.
const BEFORE_MARK_DIVISOR: usize = 4;
/// Number of lines shown before and after a mark.
const CONTEXT_LINES: usize = 2;
/// Maximum number of lines that a mark covers; a longer one covers its first line only.
const MAX_MARKED_LINES: usize = 6;

/// Returns the excerpt around regions, which may exceed the source; `None` if there is nothing to mark. Lines of more
/// than `longest` bytes are cut.
pub fn cut_snippet(source: &str, regions: &[Region], ellipsis: &str, longest: usize) -> Option<Snippet> {
    if source.trim_end_matches(['\n', '\r']).is_empty() || regions.is_empty() {
        return None;
    }
    let spans: Vec<(usize, usize)> = regions.iter().map(|region| fit_region(source, *region)).collect();
    let mut marks = vec![SnippetMark { start: 0, end: 0, column: 1 }; spans.len()];
    let line_of = |at: usize| source[..at].bytes().filter(|byte| *byte == b'\n').count();
    let near: Vec<(usize, usize)> = spans
        .iter()
        .map(|(start, end)| (line_of(*start).saturating_sub(CONTEXT_LINES), line_of(*end) + CONTEXT_LINES))
        .collect();
    let last = near.iter().map(|(_, last)| *last).max().unwrap_or(0);
    let above = near.iter().map(|(first, _)| *first).min().unwrap_or(0);
    let begin = |at: usize| source[..at].rfind('\n').map_or(0, |before| before + 1);
    let first = begin(spans.iter().map(|(start, _)| *start).min().unwrap_or(0));
    let mut start = (0..CONTEXT_LINES).fold(first, |start, _| begin(start.saturating_sub(1)));
    let mut text = String::new();
    for (number, line) in (above..=last).zip(source[start..].split('\n')) {
        if above < number {
            text.push('\n');
        }
        if near.iter().any(|(first, last)| (*first..=*last).contains(&number)) {
            let cut = (ellipsis, longest);
            copy_line(line, start, &spans, &mut marks, cut, &mut text);
        }
        start += line.len() + 1;
    }
    Some(Snippet { text, above, marks })
}

/// Returns the region as bytes of the source: on character boundaries, not empty at the end of a line, not too many
/// lines.
fn fit_region(source: &str, region: Region) -> (usize, usize) {
    let mut start = floor_char_boundary(source, region.start_byte);
    let mut end = floor_char_boundary(source, region.end_byte).max(start);
    let bytes = source.as_bytes();
    let is_break = |at: usize| matches!(bytes.get(at), None | Some(b'\n' | b'\r'));
    while start + 1 < end && is_break(end - 1) {
        end -= 1;
    }
    if start == end {
        if !is_break(start) {
            end = ceil_char_boundary(source, start + 1);
        } else if let Some(at) = (0..start).rev().find(|at| !is_break(*at)) {
            start = floor_char_boundary(source, at);
            end = at + 1;
        }
    }
    if MAX_MARKED_LINES <= source[start..end].bytes().filter(|byte| *byte == b'\n').count() {
        end = (start..end).find(|at| *at != start && is_break(*at)).unwrap_or(end);
    }
    (start, end)
}

/// Copies one line, and sets the ends of marks that are in it.
fn copy_line(
    line: &str,
    at: usize,
    spans: &[(usize, usize)],
    marks: &mut [SnippetMark],
    (ellipsis, longest): (&str, usize),
    text: &mut String,
) {
    let shown = line.strip_suffix('\r').unwrap_or(line);
    let marked = spans.iter().map(|(start, _)| *start).find(|start| (at..=at + line.len()).contains(start));
    let (from, to) = visible_range(shown, marked.map_or(0, |start| start - at), longest);
    let begin = text.len();
    if 0 < from {
        text.push_str(ellipsis);
    }
    // The output offset of each character of the shown part, for the marks.
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (offset, c) in shown[from..to].char_indices() {
        places.push((from + offset, text.len()));
        match c {
            '\t' => text.push('\t'),
            c => push_escaped(text, c),
        }
    }
    places.push((to, text.len()));
    if to < shown.len() {
        text.push_str(ellipsis);
    }
    let finish = text.len();
    let moved = |offset: usize| {
        if offset < from {
            return begin;
        }
        places.iter().find(|(old, _)| offset <= *old).map_or(finish, |(_, new)| *new)
    };
    for ((start, end), mark) in spans.iter().zip(marks) {
        if (at..=at + line.len()).contains(start) {
            mark.start = moved(start - at);
            mark.column = start - at + 1;
        }
        if (at..=at + line.len()).contains(end) {
            mark.end = moved(end - at);
        }
    }
}

/// Returns the range of bytes of a line to show, which includes the mark.
fn visible_range(line: &str, mark: usize, longest: usize) -> (usize, usize) {
    if line.len() <= longest {
        return (0, line.len());
    }
    let from = floor_char_boundary(line, mark.saturating_sub(longest / BEFORE_MARK_DIVISOR).min(line.len() - longest));
    (from, floor_char_boundary(line, from + longest))
}

/// Returns the last character boundary at or before a byte.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first character boundary at or after a byte.
fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start_byte: usize, end_byte: usize) -> Region {
        Region { start_line: 1, start_column: 1, end_line: 1, end_column: 1, start_byte, end_byte }
    }

    fn marked(source: &str, start: usize, end: usize) -> Option<String> {
        let snippet = cut_snippet(source, &[region(start, end)], "...", 400)?;
        let mark = snippet.marks[0];
        Some(snippet.text[mark.start..mark.end].to_owned())
    }

    #[test]
    fn marks_fit_into_any_text() {
        for (source, start, end, expected) in [
            ("FROM x\nRUN y\n", 7, 10, Some("RUN")),
            ("FROM x\r\nRUN y\r\n", 0, 8, Some("FROM x")),
            ("FROM x\n", 7, 7, Some("x")),
            ("FROM ñ", 99, 200, Some("ñ")),
            ("FROM ñ", 6, 7, Some("ñ")),
            ("FROM x", 3, 1, Some("M")),
            ("a\u{1b}b", 1, 2, Some("\\u{1b}")),
            ("a\u{1b}b", 2, 3, Some("b")),
            ("\nx", 0, 0, Some("")),
            ("", 0, 1, None),
            ("\r\n", 0, 1, None),
        ] {
            assert_eq!(marked(source, start, end).as_deref(), expected, "{source:?} {start}..{end}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark_and_keeps_its_number() {
        let source = format!("one\n{}MARK{}\nthree\n", "é".repeat(25_000), "y".repeat(50_000));
        let at = source.find("MARK").expect("the mark");
        let snippet = cut_snippet(&source, &[region(at, at + 4), region(4, 6)], "...", 400).expect("a snippet");
        let mark = snippet.marks[0];
        assert_eq!(&snippet.text[mark.start..mark.end], "MARK");
        assert_eq!(mark.column, 50_001);
        assert!(snippet.text.len() < 500, "{}", snippet.text.len());
        assert_eq!(snippet.text[..mark.start].matches('\n').count(), 1);
        assert!(snippet.text.starts_with("one\n...é"));
        assert!(snippet.text.contains("y...\nthree"));
    }

    #[test]
    fn lines_far_away_are_empty_and_tall_marks_are_their_first_line() {
        let source = "l1\nl2\nl3\nl4\nl5\nl6\nl7\nl8\nl9\n";
        let snippet = cut_snippet(source, &[region(15, 28)], "...", 400).expect("a snippet");
        assert_eq!((snippet.text.as_str(), snippet.above), ("l4\nl5\nl6\nl7\nl8\nl9\n", 3));
        let second = cut_snippet(source, &[region(9, 11), region(3, 5)], "...", 400).expect("a snippet");
        assert_eq!((second.text.as_str(), second.above), ("l1\nl2\nl3\nl4\nl5\nl6", 0));
        let both = cut_snippet(source, &[region(0, 2), region(24, 26)], "...", 400).expect("a snippet");
        assert_eq!(both.text, "l1\nl2\nl3\n\n\n\nl7\nl8\nl9\n", "lines between two marks are not printed");
        let tall = "0\n1\n2\n3\n4\n5\n6\n7\n";
        assert_eq!(marked(tall, 0, 14).as_deref(), Some("0"));
    }
}
