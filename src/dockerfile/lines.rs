//! Physical lines, parser directives, and the logical lines that continuations form.

use crate::dockerfile::{DockerfileProblem, MappedText};
use crate::source::Span;

/// The maximum length of a physical line in bytes.
const LONGEST_LINE: usize = 65_535;

/// A physical line without its line ending.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhysicalLine<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    /// Where the next line starts.
    pub(super) next: usize,
}

impl PhysicalLine<'_> {
    /// Returns the source span of the line.
    pub(super) fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }
}

/// A cursor over the physical lines of a text.
#[derive(Debug)]
pub(super) struct PhysicalLines<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> PhysicalLines<'a> {
    /// Creates a cursor at the first line, after a byte order mark.
    pub(super) fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at }
    }

    /// Returns the next physical line.
    pub(super) fn next_line(&mut self) -> Option<PhysicalLine<'a>> {
        let start = self.at;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let (line, next) = match rest.find('\n') {
            Some(end) => (&rest[..end], start + end + 1),
            None => (rest, self.text.len()),
        };
        self.at = next;
        Some(PhysicalLine { start, text: line.trim_end_matches('\r'), next })
    }
}

/// A logical line: physical lines joined at their continuations.
#[derive(Debug)]
pub(super) struct LogicalLine {
    pub(super) text: MappedText,
    pub(super) end: usize,
}

/// Reads the parser directives at the top of the file and returns the escape character.
pub(super) fn read_parser_directives(lines: &mut PhysicalLines<'_>, problems: &mut Vec<DockerfileProblem>) -> char {
    let mut escape = '\\';
    let mut seen: Vec<String> = Vec::new();
    loop {
        let before = lines.at;
        let Some(line) = lines.next_line() else { break };
        let directive = line.text.trim_start().strip_prefix('#').and_then(|rest| rest.split_once('='));
        let Some((name, value)) = directive else {
            lines.at = before;
            break;
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if !is_parser_directive(&name) || value.is_empty() {
            lines.at = before;
            break;
        }
        let span = line.span();
        if seen.contains(&name) {
            problems.push(DockerfileProblem::new(span, format!("only one {name} directive is allowed")));
        } else if name == "escape" {
            match value {
                "\\" => {}
                "`" => escape = '`',
                _ => problems
                    .push(DockerfileProblem::new(span, format!("the escape character must be ` or \\, not `{value}`"))),
            }
        }
        seen.push(name);
    }
    escape
}

/// Whether a lower-case name is that of a parser directive.
pub(super) fn is_parser_directive(name: &str) -> bool {
    ["syntax", "escape", "check"].contains(&name)
}

/// Reads the next non-empty logical line; comments before and inside it are added to `comments`.
pub(super) fn read_logical_line<'a>(
    lines: &mut PhysicalLines<'a>,
    escape: char,
    comments: &mut Vec<PhysicalLine<'a>>,
    problems: &mut Vec<DockerfileProblem>,
) -> Option<LogicalLine> {
    let mut comment = |line: PhysicalLine<'a>, stripped: &str| {
        if stripped.starts_with('#') {
            comments.push(line);
        }
    };
    loop {
        let first = lines.next_line()?;
        check_line_length(first, problems);
        let stripped = first.text.trim_start();
        if stripped.is_empty() || stripped.starts_with('#') {
            comment(first, stripped);
            continue;
        }
        let mut text = MappedText::default();
        let mut end = first.start + first.text.len();
        let (part, mut open) = split_continuation(stripped, escape);
        text.push(part, first.start + first.text.len() - stripped.len());
        while open {
            let Some(line) = lines.next_line() else { break };
            check_line_length(line, problems);
            let stripped = line.text.trim_start();
            if stripped.is_empty() || stripped.starts_with('#') {
                comment(line, stripped);
                continue;
            }
            end = line.start + line.text.len();
            let (part, more) = split_continuation(line.text, escape);
            text.push(part, line.start);
            open = more;
        }
        if !text.text().trim().is_empty() {
            return Some(LogicalLine { text, end });
        }
        problems.push(DockerfileProblem::new(first.span(), "nothing follows the line continuation".to_owned()));
    }
}

/// Returns the line without a trailing continuation character, and whether it had one.
fn split_continuation(line: &str, escape: char) -> (&str, bool) {
    let trimmed = line.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix(escape) {
        Some(before) if !before.ends_with(escape) => (before, true),
        _ => (line, false),
    }
}

/// Reports a line that is longer than the maximum.
fn check_line_length(line: PhysicalLine<'_>, problems: &mut Vec<DockerfileProblem>) {
    if line.text.len() > LONGEST_LINE {
        let message = format!("the line is longer than {LONGEST_LINE} bytes");
        problems.push(DockerfileProblem::new(line.span(), message));
    }
}
