//! Requirement files of pip and uv, line by line: requirements, and options for the whole command.

use std::ops::Range;

use crate::dockerfile::Mapped;

/// One line of a requirement file, continuations joined and comments left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A requirement, without its hashes and its marker.
    Requirement {
        /// The requirement as written.
        text: String,
        /// What stands behind the semicolon.
        marker: Option<String>,
        /// Where the requirement is written.
        range: Range<usize>,
    },
    /// An option with its value, where it has one.
    Option {
        /// Such as `--index-url`.
        name: String,
        /// What follows it.
        value: Option<String>,
        /// Where both are written.
        range: Range<usize>,
    },
}

/// What some editors put at the beginning of a text.
const MARK: char = '\u{feff}';

/// Reads the lines; ranges are of the file's own text.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut out = Vec::new();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let begins = start;
        start += raw.len();
        let ends_open = text.get(..begins).is_some_and(open_end);
        if !ends_open {
            // The mark at the beginning of a file is no part of its first line.
            let mark = if begins == 0 && text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
            line(&logical(text, begins + mark), &mut out);
        }
    }
    out
}

/// Whether a text ends in a line that goes on.
fn open_end(before: &str) -> bool {
    let line = before.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    line.is_some_and(|line| line.ends_with('\\') && !comment_only(line))
}

fn comment_only(line: &str) -> bool {
    line.rsplit('\n').next().is_some_and(|last| last.trim_start().starts_with('#'))
}

/// A line with those that it goes on in.
fn logical(text: &str, begins: usize) -> Mapped {
    let mut out = Mapped::default();
    let mut at = begins;
    for raw in text.get(begins..).unwrap_or("").split_inclusive('\n') {
        let line = raw.trim_end_matches(['\n', '\r']);
        let open = line.ends_with('\\') && !comment_only(line);
        out.push(if open { &line[..line.len() - 1] } else { line }, at);
        at += raw.len();
        if !open {
            break;
        }
    }
    out
}

fn line(line: &Mapped, out: &mut Vec<Line>) {
    let text = line.text();
    let comment = if text.trim_start().starts_with('#') { Some(0) } else { comment(text) };
    let text = &text[..comment.unwrap_or(text.len())];
    let body = text.trim();
    let Some(first) = text.find(|c: char| !c.is_whitespace()) else { return };
    let place = |range: Range<usize>| {
        let span = line.span(range);
        span.start..span.end
    };
    if body.starts_with('-') {
        let (name, value) = option(body);
        out.push(Line::Option { name, value, range: place(first..first + body.len()) });
        return;
    }
    // Hashes and other options of one requirement stand behind it.
    let end = body.find(" --").unwrap_or(body.len());
    let body = body[..end].trim_end();
    let (requirement, marker) = match body.split_once(" ;").or_else(|| split_marker(body)) {
        Some((requirement, marker)) => (requirement.trim_end(), Some(marker.trim().to_owned())),
        None => (body, None),
    };
    let range = place(first..first + requirement.len());
    out.push(Line::Requirement { text: requirement.to_owned(), marker, range });
}

/// A URL may hold a semicolon, so that only a blank in front of it ends one.
fn split_marker(body: &str) -> Option<(&str, &str)> {
    if body.contains("://") { None } else { body.split_once(';') }
}

/// Where a comment begins: a `#` behind a blank.
fn comment(text: &str) -> Option<usize> {
    text.match_indices('#').map(|(at, _)| at).find(|at| {
        at.checked_sub(1).and_then(|before| text.as_bytes().get(before)).is_some_and(u8::is_ascii_whitespace)
    })
}

fn option(body: &str) -> (String, Option<String>) {
    let end = body.find([' ', '\t', '=']).unwrap_or(body.len());
    let (name, rest) = body.split_at(end);
    if end == body.len() && !name.starts_with("--") && name.len() > 2 {
        let (name, value) = name.split_at(name.char_indices().nth(2).map_or(name.len(), |(at, _)| at));
        return (name.to_owned(), Some(value.to_owned()));
    }
    let value = rest.trim_start_matches([' ', '\t', '=']).trim().trim_matches(['"', '\'']);
    (name.to_owned(), (!value.is_empty()).then(|| value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let one = |line: Line| match line {
            Line::Requirement { text: own, marker, range } => {
                format!("{own}|{}|{}", marker.unwrap_or_default(), &text[range])
            }
            Line::Option { name, value, range } => format!("{name} {}|{}", value.unwrap_or_default(), &text[range]),
        };
        lines(text).into_iter().map(one).collect()
    }

    #[test]
    fn lines_keep_their_places() {
        for (text, expected) in [
            ("torch==2.1 # why\r\n", vec!["torch==2.1||torch==2.1"]),
            ("  a ; python_version < '3'\n", vec!["a|python_version < '3'|a"]),
            ("a>=1;sys_platform=='linux'", vec!["a>=1|sys_platform=='linux'|a>=1"]),
            ("a==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\nb", vec!["a==1||a==1", "b||b"]),
            (
                "--index-url https://x/whl/cu121\n",
                vec!["--index-url https://x/whl/cu121|--index-url https://x/whl/cu121"],
            ),
            (
                "--extra-index-url=https://x/whl/cu121",
                vec!["--extra-index-url https://x/whl/cu121|--extra-index-url=https://x/whl/cu121"],
            ),
            ("-rbase.txt\n-c c.txt", vec!["-r base.txt|-rbase.txt", "-c c.txt|-c c.txt"]),
            ("x @ https://h/a#sha256=00", vec!["x @ https://h/a#sha256=00||x @ https://h/a#sha256=00"]),
            ("# a \\\nb\n\n#c\n  # d", vec!["b||b"]),
            ("a\\\n==1\n", vec!["a==1||a\\\n==1"]),
            ("", vec![]),
            ("-", vec!["- |-"]),
            ("\u{e9}\\", vec!["\u{e9}||\u{e9}"]),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
