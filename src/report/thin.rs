//! The text of a report without what is made anew: most of a report, and passed over without a look into it.
//!
//! Where its lines are indented, the end of a value is the first line with its bracket as deep as the line that it begins
//! in: no text of JSON holds the end of a line. Were they indented otherwise, brackets would be left over, and what comes
//! out would be no JSON.

use std::io;

use memchr::memchr2;
use memchr::memchr3;
use memchr::memmem::Finder;
use memchr::memrchr;

/// Members of a subject that nobody reads again.
const DROPPED: [&[u8]; 3] = [b"verdicts", b"findings", b"description"];
/// What stands in their place.
const NOTHING: &[u8] = b"null";
/// Where the members lie that hold subjects, and where their own.
const OF_REPORT: usize = 1;
const OF_SUBJECT: usize = 3;
/// No name that is looked for is longer.
const LONGEST: usize = 16;
/// No line that is looked for is indented deeper.
const DEEPEST: usize = 64;
/// So much is read at a time.
const ROOM: usize = 256 << 10;

/// Gives the bytes of a report, with `null` for those members. What is no JSON stays none, though it may be other text.
pub(super) struct Thin<R> {
    from: R,
    room: Vec<u8>,
    at: usize,
    end: usize,
    place: Place,
    passing: Option<Passing>,
    /// What is to be given before anything else.
    given: &'static [u8],
}

/// Where in the text it is.
#[derive(Default)]
struct Place {
    depth: usize,
    quotes: Quotes,
    /// Whether it is in the list of subjects.
    of_subjects: bool,
    /// The beginning of the last text.
    word: Vec<u8>,
    /// Whether that is the name of what comes next.
    named: bool,
    /// The end of the last line with the blanks behind it; whether nothing else was behind it.
    indent: Vec<u8>,
    blank: bool,
}

/// A value that is passed over: how deep in brackets of its own kind, and whether in a text.
struct Passing {
    brackets: [u8; 2],
    depth: usize,
    quotes: Quotes,
    lines: Option<Lines>,
}

/// The line that ends a value, as far as it is there already.
struct Lines {
    finder: Finder<'static>,
    met: usize,
}

/// Whether the next byte is one of a text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Quotes {
    #[default]
    Outside,
    Inside,
    /// And means itself.
    Escaped,
}

impl Quotes {
    const fn behind(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Inside, b'"') => Self::Outside,
            (Self::Inside, b'\\') => Self::Escaped,
            (Self::Outside, b'"') | (Self::Escaped, _) => Self::Inside,
            (as_before, _) => as_before,
        }
    }
}

impl<R: io::Read> Thin<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, room: vec![0; ROOM], at: 0, end: 0, place: Place::default(), passing: None, given: &[] }
    }

    fn left(&self) -> &[u8] {
        self.room.get(self.at..self.end).unwrap_or_default()
    }

    /// Goes on behind the value that is passed over, or to the end of what was read.
    fn pass(&mut self) {
        let Some(mut passing) = self.passing.take() else { return };
        if let Some(behind) = passing.over(self.left()) {
            self.at += behind;
            self.given = NOTHING;
        } else {
            self.at = self.end;
            self.passing = Some(passing);
        }
    }

    /// Gives bytes up to a value that is passed over.
    fn copy(&mut self, out: &mut [u8]) -> usize {
        let left = self.room.get(self.at..self.end).unwrap_or_default();
        let mut count = 0;
        for (byte, own) in left.iter().zip(out) {
            if self.place.drops(*byte) {
                let close = if *byte == b'[' { b']' } else { b'}' };
                let goes_on = left.get(count + 1).is_some_and(|next| matches!(next, b'\r' | b'\n'));
                let lines = goes_on.then(|| self.place.line(close)).flatten();
                self.passing = Some(Passing { brackets: [*byte, close], depth: 0, quotes: Quotes::Outside, lines });
                break;
            }
            *own = *byte;
            count += 1;
        }
        self.at += count;
        count
    }
}

impl Place {
    /// Takes the next byte; whether it begins a value to pass over, which is not taken.
    fn drops(&mut self, byte: u8) -> bool {
        let was = self.quotes;
        self.quotes = was.behind(byte);
        if was != Quotes::Outside {
            if self.quotes != Quotes::Outside && self.word.len() < LONGEST {
                self.word.push(byte);
            }
            return false;
        }
        if byte == b'\n' {
            self.indent.clear();
            self.blank = true;
        }
        self.blank &= byte.is_ascii_whitespace();
        if self.blank && self.indent.len() < DEEPEST {
            self.indent.push(byte);
        }
        match byte {
            b'"' => self.word.clear(),
            b':' => self.named = true,
            b',' => self.named = false,
            b'[' | b'{' => {
                let word = if self.named { self.word.as_slice() } else { &[] };
                if self.of_subjects && self.depth == OF_SUBJECT && DROPPED.contains(&word) {
                    self.named = false;
                    return true;
                }
                self.of_subjects |= self.depth == OF_REPORT && word == b"subjects";
                self.depth += 1;
                self.named = false;
            }
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.of_subjects &= OF_REPORT < self.depth;
                self.named = false;
            }
            _ => {}
        }
        false
    }
}

impl Place {
    /// The line that ends what begins here; none where lines are not indented.
    fn line(&self, close: u8) -> Option<Lines> {
        let indented = self.indent.first() == Some(&b'\n') && self.indent.len() < DEEPEST;
        let line = [self.indent.as_slice(), &[close]].concat();
        indented.then(|| Lines { finder: Finder::new(&line).into_owned(), met: 0 })
    }
}

impl Lines {
    /// The place behind the line; none where it is not there.
    fn over(&mut self, bytes: &[u8]) -> Option<usize> {
        let line = self.finder.needle();
        let mut at = 0;
        // It began in the bytes before these.
        while let Some(byte) = bytes.get(at).filter(|_| self.met > 0) {
            if line.get(self.met) != Some(byte) {
                self.met = 0;
                break;
            }
            (at, self.met) = (at + 1, self.met + 1);
            if self.met == line.len() {
                return Some(at);
            }
        }
        let rest = bytes.get(at..).unwrap_or_default();
        if self.met > 0 || rest.is_empty() {
            return None;
        }
        if let Some(found) = self.finder.find(rest) {
            return Some(at + found + line.len());
        }
        // There is one end of a line in it, at its beginning.
        let begun = memrchr(b'\n', rest).and_then(|begun| rest.get(begun..));
        self.met = begun.filter(|begun| line.starts_with(begun)).map_or(0, <[u8]>::len);
        None
    }
}

impl Passing {
    /// The place behind the value; none where it goes on.
    fn over(&mut self, bytes: &[u8]) -> Option<usize> {
        if let Some(lines) = &mut self.lines {
            return lines.over(bytes);
        }
        let [open, close] = self.brackets;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let found = match self.quotes {
                Quotes::Outside => memchr3(b'"', open, close, rest),
                Quotes::Inside => memchr2(b'"', b'\\', rest),
                Quotes::Escaped => Some(0),
            };
            let outside = self.quotes == Quotes::Outside;
            at += found? + 1;
            let byte = *bytes.get(at - 1)?;
            self.quotes = self.quotes.behind(byte);
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

impl<R: io::Read> io::Read for Thin<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if out.is_empty() {
                return Ok(0);
            }
            if !self.given.is_empty() {
                let count = self.given.read(out)?;
                return Ok(count);
            }
            if self.at == self.end {
                (self.at, self.end) = (0, self.from.read(&mut self.room)?);
                if self.end == 0 {
                    return Ok(0);
                }
            }
            if self.passing.is_some() {
                self.pass();
            } else {
                let count = self.copy(out);
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

    /// Gives so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl io::Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }

    fn thin(text: &str, at_a_time: usize) -> String {
        let mut told = String::new();
        Thin::new(Slow(text.as_bytes(), at_a_time)).read_to_string(&mut told).expect("text");
        told
    }

    #[test]
    fn what_is_made_anew_is_passed_over_and_nothing_else() {
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
                    assert_eq!(thin(&of(value), at_a_time), of("null"), "{value}");
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
                    let told = thin(&of(value, end), at_a_time);
                    assert_eq!(told, of("null", end), "{value:?} {at_a_time}");
                    assert!(serde_json::from_str::<Value>(&told).is_ok(), "{told}");
                }
            }
        }
        // Lines that are indented as nobody does leave brackets over, or nothing at all.
        for value in ["[\n        [\n      ]\n      ]", "[\n1\n]", "[\n    [1\n      ],\n      2\n      ]"] {
            for at_a_time in [1, 4, 1 << 20] {
                let told = thin(&of(value, "\n"), at_a_time);
                assert!(told == of("null", "\n") || serde_json::from_str::<Value>(&told).is_err(), "{told}");
            }
        }
    }

    #[test]
    fn what_is_no_such_member_stays() {
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
                assert_eq!(thin(text, at_a_time), text);
            }
        }
    }

    #[test]
    fn what_is_cut_off_stays_no_json() {
        let whole = r#"{"subjects":[{"verdicts":[{"a":"]"}],"findings":{"b":[]}}]}"#;
        assert!(serde_json::from_str::<Value>(&thin(whole, 9)).is_ok());
        for end in 1..whole.len() {
            assert!(serde_json::from_str::<Value>(&thin(&whole[..end], 4)).is_err(), "{end}");
        }
    }
}
