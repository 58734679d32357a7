//! Reader of a saved report that skips what a new check derives again, which is most of it, without parsing it.
//!
//! In an indented report, a value ends at the first line whose bracket is as deep as the line where it begins:
//! no JSON string contains a line break. With any other indentation brackets would be left over, and the output
//! would not be JSON.

use std::io;

use memchr::memmem::Finder;
use memchr::{memchr2, memchr3, memrchr};

/// Members of a subject that are dropped.
const DROPPED_MEMBERS: [&[u8]; 3] = [b"verdicts", b"findings", b"description"];
/// Value that replaces a dropped member.
const REPLACEMENT: &[u8] = b"null";
/// Nesting depth of the members of the report.
const REPORT_DEPTH: usize = 1;
/// Nesting depth of the members of a subject.
const SUBJECT_DEPTH: usize = 3;
/// Maximum length of a member name that is compared, in bytes.
const MAX_NAME_LENGTH: usize = 16;
/// Maximum indentation of a line that is searched for, in bytes.
const MAX_INDENT: usize = 64;
/// Size of the read buffer, in bytes.
const BUFFER_SIZE: usize = 256 << 10;

/// Reads a report with `null` in place of the dropped members; invalid JSON stays invalid, although its text may
/// change.
pub(super) struct ReportFilter<R> {
    from: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    place: JsonPosition,
    passing: Option<SkippedValue>,
    /// What is to be given before anything else.
    pending: &'static [u8],
}

/// The current position in the JSON text.
#[derive(Default)]
struct JsonPosition {
    depth: usize,
    quotes: StringState,
    /// Whether it is in the list of subjects.
    of_subjects: bool,
    /// The beginning of the last text.
    word: Vec<u8>,
    /// Whether that is the name of what comes next.
    is_member_name: bool,
    /// The end of the last line with the blanks behind it; whether nothing else was behind it.
    indent: Vec<u8>,
    blank: bool,
}

/// A value that is being skipped: the depth of its brackets, and whether the position is in a string.
struct SkippedValue {
    brackets: [u8; 2],
    depth: usize,
    quotes: StringState,
    lines: Option<ClosingLine>,
}

/// The line that ends a skipped value, and how much of it was already read.
struct ClosingLine {
    finder: Finder<'static>,
    matched: usize,
}

/// Whether the next byte is part of a string.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// And means itself.
    Escaped,
}

impl StringState {
    /// Returns the state after a byte.
    const fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Inside, b'"') => Self::Outside,
            (Self::Inside, b'\\') => Self::Escaped,
            (Self::Outside, b'"') | (Self::Escaped, _) => Self::Inside,
            (as_before, _) => as_before,
        }
    }
}

impl<R: io::Read> ReportFilter<R> {
    /// Returns a filter of the report that `from` reads.
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            buffer: vec![0; BUFFER_SIZE],
            at: 0,
            end: 0,
            place: JsonPosition::default(),
            passing: None,
            pending: &[],
        }
    }

    /// Returns the bytes in the buffer that were not returned yet.
    fn unread_bytes(&self) -> &[u8] {
        self.buffer.get(self.at..self.end).unwrap_or_default()
    }

    /// Continues after the skipped value, or at the end of the buffer.
    fn skip_value(&mut self) {
        let Some(mut passing) = self.passing.take() else { return };
        if let Some(behind) = passing.find_end(self.unread_bytes()) {
            self.at += behind;
            self.pending = REPLACEMENT;
        } else {
            self.at = self.end;
            self.passing = Some(passing);
        }
    }

    /// Copies bytes up to a value to skip, and returns their number.
    fn copy_to_skipped(&mut self, out: &mut [u8]) -> usize {
        let left = self.buffer.get(self.at..self.end).unwrap_or_default();
        let mut count = 0;
        for (byte, own) in left.iter().zip(out) {
            if self.place.begins_dropped_value(*byte) {
                let close = if *byte == b'[' { b']' } else { b'}' };
                let goes_on = left.get(count + 1).is_some_and(|next| matches!(next, b'\r' | b'\n'));
                let lines = goes_on.then(|| self.place.closing_line(close)).flatten();
                self.passing =
                    Some(SkippedValue { brackets: [*byte, close], depth: 0, quotes: StringState::Outside, lines });
                break;
            }
            *own = *byte;
            count += 1;
        }
        self.at += count;
        count
    }
}

impl JsonPosition {
    /// Whether the next byte begins a value to drop; otherwise the position moves behind the byte.
    fn begins_dropped_value(&mut self, byte: u8) -> bool {
        let was = self.quotes;
        self.quotes = was.after(byte);
        if was != StringState::Outside {
            if self.quotes != StringState::Outside && self.word.len() < MAX_NAME_LENGTH {
                self.word.push(byte);
            }
            return false;
        }
        if byte == b'\n' {
            self.indent.clear();
            self.blank = true;
        }
        self.blank &= byte.is_ascii_whitespace();
        if self.blank && self.indent.len() < MAX_INDENT {
            self.indent.push(byte);
        }
        match byte {
            b'"' => self.word.clear(),
            b':' => self.is_member_name = true,
            b',' => self.is_member_name = false,
            b'[' | b'{' => {
                let word = if self.is_member_name { self.word.as_slice() } else { &[] };
                if self.of_subjects && self.depth == SUBJECT_DEPTH && DROPPED_MEMBERS.contains(&word) {
                    self.is_member_name = false;
                    return true;
                }
                self.of_subjects |= self.depth == REPORT_DEPTH && word == b"subjects";
                self.depth += 1;
                self.is_member_name = false;
            }
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.of_subjects &= REPORT_DEPTH < self.depth;
                self.is_member_name = false;
            }
            _ => {}
        }
        false
    }
}

impl JsonPosition {
    /// Returns the line that ends the value which begins here; `None` if lines are not indented.
    fn closing_line(&self, close: u8) -> Option<ClosingLine> {
        let indented = self.indent.first() == Some(&b'\n') && self.indent.len() < MAX_INDENT;
        let line = [self.indent.as_slice(), &[close]].concat();
        indented.then(|| ClosingLine { finder: Finder::new(&line).into_owned(), matched: 0 })
    }
}

impl ClosingLine {
    /// Returns the offset after the line; `None` if the line does not end in these bytes.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let line = self.finder.needle();
        let mut at = 0;
        // It began in the bytes before these.
        while let Some(byte) = bytes.get(at).filter(|_| self.matched > 0) {
            if line.get(self.matched) != Some(byte) {
                self.matched = 0;
                break;
            }
            (at, self.matched) = (at + 1, self.matched + 1);
            if self.matched == line.len() {
                return Some(at);
            }
        }
        let rest = bytes.get(at..).unwrap_or_default();
        if self.matched > 0 || rest.is_empty() {
            return None;
        }
        if let Some(found) = self.finder.find(rest) {
            return Some(at + found + line.len());
        }
        // There is one end of a line in it, at its beginning.
        let begun = memrchr(b'\n', rest).and_then(|begun| rest.get(begun..));
        self.matched = begun.filter(|begun| line.starts_with(begun)).map_or(0, <[u8]>::len);
        None
    }
}

impl SkippedValue {
    /// Returns the offset after the value; `None` if the value does not end in these bytes.
    fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        if let Some(lines) = &mut self.lines {
            return lines.find_end(bytes);
        }
        let [open, close] = self.brackets;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let found = match self.quotes {
                StringState::Outside => memchr3(b'"', open, close, rest),
                StringState::Inside => memchr2(b'"', b'\\', rest),
                StringState::Escaped => Some(0),
            };
            let outside = self.quotes == StringState::Outside;
            at += found? + 1;
            let byte = *bytes.get(at - 1)?;
            self.quotes = self.quotes.after(byte);
            if outside && byte == open {
                self.depth += 1;
            } else if outside && byte == close {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }
}

impl<R: io::Read> io::Read for ReportFilter<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if out.is_empty() {
                return Ok(0);
            }
            if !self.pending.is_empty() {
                let count = self.pending.read(out)?;
                return Ok(count);
            }
            if self.at == self.end {
                (self.at, self.end) = (0, self.from.read(&mut self.buffer)?);
                if self.end == 0 {
                    return Ok(0);
                }
            }
            if self.passing.is_some() {
                self.skip_value();
            } else {
                let count = self.copy_to_skipped(out);
                if count > 0 {
                    return Ok(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use serde_json::Value;

    use super::*;

    /// Reads at most this number of bytes at a time.
    struct ChunkedReader<'a>(&'a [u8], usize);

    impl io::Read for ChunkedReader<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }

    fn filter_text(text: &str, at_a_time: usize) -> String {
        let mut filtered = String::new();
        ReportFilter::new(ChunkedReader(text.as_bytes(), at_a_time)).read_to_string(&mut filtered).expect("text");
        filtered
    }

    #[test]
    fn filter_drops_only_recomputed_report_fields() {
        let dropped = ["[]", r#"[{"x":"]\"}]"},["\\"]]"#, r#"{"a":[{}],"b":"}{\\\""}"#, "[ \n [ ] , 1 ]"];
        for value in dropped {
            for name in ["verdicts", "findings", "description"] {
                let of = |value: &str| {
                    format!(
                        "{{\"verdicts\":[1],\"subjects\" : [ {{\"name\":\"{name}\", \"{name}\" :\n {value} ,\"observed\":\
                         {{\"{name}\":[2,\"[\"],\"k\":[\"{name}\",[3]]}}}}, {{\"{name}\":{value}}}],\"findings\":{{\"x\":[]}}}}"
                    )
                };
                for at_a_time in [1, 2, 3, 7, 1 << 20] {
                    assert_eq!(filter_text(&of(value), at_a_time), of("null"), "{value}");
                }
            }
        }
    }

    #[test]
    fn indented_lines_end_a_value_where_they_are_as_deep_as_it() {
        let of = |value: &str, end: &str| {
            let text = format!(
                "{{\n  \"subjects\": [\n    {{\n      \"name\": \"a\",\n      \"verdicts\": {value},\n      \
                 \"observed\": {{\n        \"verdicts\": [\n          1\n        ]\n      }}\n    }}\n  ]\n}}\n"
            );
            text.replace('\n', end)
        };
        for value in [
            "[\n        {\n          \"a\": \"]\",\n          \"b\": []\n        },\n        [\n          1\n        ]\n      ]",
            "[\n        7\n      ]",
            "[\n\n\n      \n      ]",
            "{\n        \"x\": 1\n      }",
            "[]",
            "[ 1,\n 2 ]",
        ] {
            for end in ["\n", "\r\n"] {
                for at_a_time in [1, 2, 3, 5, 8, 13, 1 << 20] {
                    let filtered = filter_text(&of(value, end), at_a_time);
                    assert_eq!(filtered, of("null", end), "{value:?} {at_a_time}");
                    assert!(serde_json::from_str::<Value>(&filtered).is_ok(), "{filtered}");
                }
            }
        }
        // Unusual indentation leaves unmatched brackets, or nothing at all.
        for value in ["[\n        [\n      ]\n      ]", "[\n1\n]", "[\n    [1\n      ],\n      2\n      ]"] {
            for at_a_time in [1, 4, 1 << 20] {
                let filtered = filter_text(&of(value, "\n"), at_a_time);
                assert!(
                    filtered == of("null", "\n") || serde_json::from_str::<Value>(&filtered).is_err(),
                    "{filtered}"
                );
            }
        }
    }

    #[test]
    fn other_members_are_kept() {
        for text in [
            r#"{"subjects":[{"verdict":[1],"verdicts2":[2],"Verdicts":[3],"a\"verdicts":[4],"verdicts":7}]}"#,
            r#"{"other":[{"verdicts":[1]}],"subjects":{"a":{"b":{"verdicts":[1]}}}}"#,
            r#"{"subjects":[["verdicts",[1]],{"x":{"findings":[2]}}],"texts":[{"description":[3]}]}"#,
            r#"{"a":{"subjects":[{"verdicts":[1]}]}}"#,
            r#"[{"subjects":[{"verdicts":[1]}]}]"#,
            "",
            "7",
            r#"{"subjects":[{"name":"a"#,
            "]]}{\"subjects\":[{",
        ] {
            for at_a_time in [1, 5, 1 << 20] {
                assert_eq!(filter_text(text, at_a_time), text);
            }
        }
    }

    #[test]
    fn truncated_json_stays_invalid() {
        let whole = r#"{"subjects":[{"verdicts":[{"a":"]"}],"findings":{"b":[]}}]}"#;
        assert!(serde_json::from_str::<Value>(&filter_text(whole, 9)).is_ok());
        for end in 1..whole.len() {
            assert!(serde_json::from_str::<Value>(&filter_text(&whole[..end], 4)).is_err(), "{end}");
        }
    }
}
