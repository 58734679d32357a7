//! Lines of the requirement files of pip and uv: requirements, and options for the whole command.

use std::ops::Range;

use crate::dockerfile::MappedText;

/// One logical line of a requirement file: continuation lines joined, without comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequirementLine {
    /// A requirement, without its hashes and its marker.
    Requirement {
        /// The requirement as written.
        text: String,
        /// What stands behind the semicolon.
        marker: Option<String>,
        /// Where the requirement is written.
        range: Range<usize>,
    },
    /// An option, with its value if it has one.
    Option {
        /// Such as `--index-url`.
        name: String,
        /// What follows it.
        value: Option<String>,
        /// Where both are written.
        range: Range<usize>,
    },
}

/// Byte order mark, which some editors write at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Parses the lines of a requirement file; ranges refer to the text of the file.
pub(super) fn parse_requirement_lines(text: &str) -> Vec<RequirementLine> {
    let mut out = Vec::new();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let begins = start;
        start += raw.len();
        let ends_open = text.get(..begins).is_some_and(ends_with_continuation);
        if !ends_open {
            // The mark at the beginning of a file is no part of its first line.
            let mark = if begins == 0 && text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
            parse_line(&logical_line(text, begins + mark), &mut out);
        }
    }
    out
}

/// Whether a text ends in a line that continues on the next one.
fn ends_with_continuation(before: &str) -> bool {
    let line = before.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    line.is_some_and(|line| line.ends_with('\\') && !is_comment_line(line))
}

/// Whether the last line of a text is only a comment.
fn is_comment_line(line: &str) -> bool {
    line.rsplit('\n').next().is_some_and(|last| last.trim_start().starts_with('#'))
}

/// Returns a line joined with its continuation lines.
fn logical_line(text: &str, begins: usize) -> MappedText {
    let mut out = MappedText::default();
    let mut at = begins;
    for raw in text.get(begins..).unwrap_or("").split_inclusive('\n') {
        let line = raw.trim_end_matches(['\n', '\r']);
        let open = line.ends_with('\\') && !is_comment_line(line);
        out.push(if open { &line[..line.len() - 1] } else { line }, at);
        at += raw.len();
        if !open {
            break;
        }
    }
    out
}

/// Parses a logical line.
fn parse_line(line: &MappedText, out: &mut Vec<RequirementLine>) {
    let text = line.text();
    let comment = if text.trim_start().starts_with('#') { Some(0) } else { comment_start(text) };
    let text = &text[..comment.unwrap_or(text.len())];
    let body = text.trim();
    let Some(first) = text.find(|c: char| !c.is_whitespace()) else { return };
    let place = |range: Range<usize>| {
        let span = line.source_span(range);
        span.start..span.end
    };
    if body.starts_with('-') {
        let (name, value) = parse_option(body);
        out.push(RequirementLine::Option { name, value, range: place(first..first + body.len()) });
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
    out.push(RequirementLine::Requirement { text: requirement.to_owned(), marker, range });
}

/// Splits off the marker after a semicolon, except in a URL, which may contain semicolons.
fn split_marker(body: &str) -> Option<(&str, &str)> {
    if body.contains("://") { None } else { body.split_once(';') }
}

/// Returns where a comment begins: at a `#` after a blank.
fn comment_start(text: &str) -> Option<usize> {
    text.match_indices('#').map(|(at, _)| at).find(|at| {
        at.checked_sub(1).and_then(|before| text.as_bytes().get(before)).is_some_and(u8::is_ascii_whitespace)
    })
}

/// Splits an option line into name and value.
fn parse_option(body: &str) -> (String, Option<String>) {
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

    fn format_lines(text: &str) -> Vec<String> {
        let one = |line: RequirementLine| match line {
            RequirementLine::Requirement { text: own, marker, range } => {
                format!("{own}|{}|{}", marker.unwrap_or_default(), &text[range])
            }
            RequirementLine::Option { name, value, range } => {
                format!("{name} {}|{}", value.unwrap_or_default(), &text[range])
            }
        };
        parse_requirement_lines(text).into_iter().map(one).collect()
    }

    #[test]
    fn ranges_refer_to_the_text() {
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
            assert_eq!(format_lines(text), expected, "{text:?}");
        }
    }
}
