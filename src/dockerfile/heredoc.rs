//! Here-documents: the words that open them and the lines up to their end.

use std::ops::Range;

use crate::dockerfile::Heredoc;
use crate::dockerfile::Kind;
use crate::dockerfile::Mapped;
use crate::dockerfile::Problem;
use crate::dockerfile::lines::Lines;
use crate::dockerfile::words::quoted_words;
use crate::source::Span;

/// An opening word.
#[derive(Debug)]
pub(crate) struct Opening {
    /// The terminator without its quotes.
    pub(crate) name: String,
    /// Where the word lies.
    pub(crate) range: Range<usize>,
    /// Whether variables in the body are expanded.
    pub(crate) expand: bool,
    /// Whether leading tabs are stripped.
    pub(crate) strip: bool,
}

/// The opening words in a text.
pub(crate) fn openings(text: &str, escape: char) -> Vec<Opening> {
    let mut found = Vec::new();
    if !text.contains("<<") {
        return found;
    }
    let mut words = quoted_words(text, escape).into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(raw) = text.get(word.clone()) else { continue };
        let Some(rest) = raw.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<") else { continue };
        if rest.is_empty() {
            let next = words.peek().cloned().unwrap_or(0..0);
            let name = text.get(next.clone()).unwrap_or("");
            if name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"' | '\'')) {
                found.extend(opening(name, word.start..next.end, false, escape));
            }
            continue;
        }
        let (strip, rest) = rest.strip_prefix('-').map_or((false, rest), |after| (true, after));
        found.extend(opening(rest, word, strip, escape));
    }
    found
}

fn opening(raw: &str, range: Range<usize>, strip: bool, escape: char) -> Option<Opening> {
    if raw.is_empty() || raw.contains('<') {
        return None;
    }
    let mut name = String::new();
    let mut chars = raw.chars();
    let mut quote = None;
    let mut expand = true;
    while let Some(c) = chars.next() {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                expand = false;
            }
            _ if c == escape && quote != Some('\'') => {
                expand = false;
                name.extend(chars.next());
            }
            _ => name.push(c),
        }
    }
    (quote.is_none() && !name.is_empty()).then_some(Opening { name, range, expand, strip })
}

/// Reads the bodies that the words of an instruction open; gives them and where the last one ends.
pub(super) fn bodies(
    line: &Mapped,
    escape: char,
    lines: &mut Lines<'_>,
    problems: &mut Vec<Problem>,
) -> (Vec<Heredoc>, Option<usize>) {
    let mut found = Vec::new();
    let mut end = None;
    for opening in openings(line.text(), escape) {
        let span = line.span(opening.range.clone());
        let (body, closed) = body(&opening, lines);
        if !closed {
            let message = format!("unterminated heredoc: no line contains only `{}`", opening.name);
            problems.push(Problem::new(span, message));
        }
        end = Some(lines.at);
        found.push(Heredoc { name: opening.name, span, body, expand: opening.expand, strip: opening.strip });
        if !closed {
            break;
        }
    }
    (found, end)
}

/// The body, and whether it ends; one without end ends before the next line that begins with a keyword, so
/// that no stage is lost in it.
fn body(opening: &Opening, lines: &mut Lines<'_>) -> (Mapped, bool) {
    let start = lines.at;
    let (all, closed) = up_to(opening, lines, |_| false);
    if closed {
        return (all, true);
    }
    lines.at = start;
    (up_to(opening, lines, begins_instruction).0, false)
}

/// Whether a line begins as an instruction does: a keyword in upper case, or a FROM in any.
fn begins_instruction(line: &str) -> bool {
    let word = line.split([' ', '\t']).next().unwrap_or("");
    let kind = Kind::of(word);
    line.len() > word.len() && !matches!(kind, Kind::Unknown(_)) && (kind == Kind::From || kind.name() == word)
}

fn up_to(opening: &Opening, lines: &mut Lines<'_>, stops: impl Fn(&str) -> bool) -> (Mapped, bool) {
    let start = lines.at;
    let mut body = Mapped::default();
    body.push("", start);
    while let Some(line) = lines.next_line() {
        let compared = if opening.strip { line.text.trim_start_matches('\t') } else { line.text };
        if compared == opening.name {
            return (body, true);
        }
        if stops(line.text) {
            lines.at = line.start;
            break;
        }
        body.push(compared, line.start + line.text.len() - compared.len());
        if line.next > line.start + line.text.len() {
            body.push("\n", line.next - 1);
        }
    }
    (body, false)
}

/// The span of an instruction whose last heredoc ends before `end`.
pub(super) fn extend(span: Span, end: Option<usize>, text: &str) -> Span {
    match end {
        Some(end) => {
            let kept = text.get(span.start..end).map_or(0, |all| all.trim_end_matches(['\r', '\n']).len());
            Span::new(span.start, span.start + kept)
        }
        None => span,
    }
}
