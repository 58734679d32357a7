//! Physical lines, directives, and the logical lines that continuations join.

use crate::dockerfile::Mapped;
use crate::dockerfile::Problem;
use crate::source::Span;

const LONGEST_LINE: usize = 65_535;

/// A physical line, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    /// Where the next line starts.
    pub(super) next: usize,
}

impl Line<'_> {
    pub(super) fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len())
    }
}

/// Goes through the physical lines of a text.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at }
    }

    pub(super) fn next_line(&mut self) -> Option<Line<'a>> {
        let start = self.at;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let (line, next) = match rest.find('\n') {
            Some(end) => (&rest[..end], start + end + 1),
            None => (rest, self.text.len()),
        };
        self.at = next;
        Some(Line { start, text: line.trim_end_matches('\r'), next })
    }
}

/// One logical line and where its physical lines begin and end.
#[derive(Debug)]
pub(super) struct Logical {
    pub(super) text: Mapped,
    pub(super) end: usize,
}

/// Reads the directives at the top; gives the escape character and leaves `lines` after them.
pub(super) fn directives(lines: &mut Lines<'_>, problems: &mut Vec<Problem>) -> char {
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
        if !is_directive(&name) || value.is_empty() {
            lines.at = before;
            break;
        }
        let span = line.span();
        if seen.contains(&name) {
            problems.push(Problem::new(span, format!("only one {name} directive is allowed")));
        } else if name == "escape" {
            match value {
                "\\" => {}
                "`" => escape = '`',
                _ => problems.push(Problem::new(span, format!("the escape character must be ` or \\, not `{value}`"))),
            }
        }
        seen.push(name);
    }
    escape
}

/// Whether `BuildKit` knows a directive of this name, in lower case.
pub(super) fn is_directive(name: &str) -> bool {
    ["syntax", "escape", "check"].contains(&name)
}

/// The next logical line that says something; the comments before and in it go to `comments`.
pub(super) fn logical<'a>(
    lines: &mut Lines<'a>,
    escape: char,
    comments: &mut Vec<Line<'a>>,
    problems: &mut Vec<Problem>,
) -> Option<Logical> {
    let mut comment = |line: Line<'a>, stripped: &str| {
        if stripped.starts_with('#') {
            comments.push(line);
        }
    };
    loop {
        let first = lines.next_line()?;
        check_length(first, problems);
        let stripped = first.text.trim_start();
        if stripped.is_empty() || stripped.starts_with('#') {
            comment(first, stripped);
            continue;
        }
        let mut text = Mapped::default();
        let mut end = first.start + first.text.len();
        let (part, mut open) = continuation(stripped, escape);
        text.push(part, first.start + first.text.len() - stripped.len());
        while open {
            let Some(line) = lines.next_line() else { break };
            check_length(line, problems);
            let stripped = line.text.trim_start();
            if stripped.is_empty() || stripped.starts_with('#') {
                comment(line, stripped);
                continue;
            }
            end = line.start + line.text.len();
            let (part, more) = continuation(line.text, escape);
            text.push(part, line.start);
            open = more;
        }
        if !text.text().trim().is_empty() {
            return Some(Logical { text, end });
        }
        problems.push(Problem::new(first.span(), "nothing follows the line continuation".to_owned()));
    }
}

/// The line without a continuation mark at its end, and whether there was one.
fn continuation(line: &str, escape: char) -> (&str, bool) {
    let trimmed = line.trim_end_matches([' ', '\t']);
    match trimmed.strip_suffix(escape) {
        Some(before) if !before.ends_with(escape) => (before, true),
        _ => (line, false),
    }
}

fn check_length(line: Line<'_>, problems: &mut Vec<Problem>) {
    if line.text.len() > LONGEST_LINE {
        let message = format!("the line is longer than {LONGEST_LINE} bytes");
        problems.push(Problem::new(line.span(), message));
    }
}
