//! Here-documents: their operators and bodies.

use std::ops::Range;

use crate::dockerfile::argument_words::quoted_word_ranges;
use crate::dockerfile::ast::PhysicalLines;
use crate::dockerfile::{DockerfileProblem, Heredoc, InstructionKind, MappedText};
use crate::text::source::Span;

/// The operator and terminator that open a here-document, such as `<<-EOF`.
#[derive(Debug)]
pub(crate) struct HeredocOpening {
    /// The terminator without its quotes.
    pub(crate) name: String,
    /// The position of the word.
    pub(crate) range: Range<usize>,
    /// Whether variables in the body are expanded.
    pub(crate) expand: bool,
    /// Whether leading tabs are stripped.
    pub(crate) strip: bool,
}

/// Returns all here-document openings in a text.
fn find_heredoc_openings(text: &str, escape: char) -> Vec<HeredocOpening> {
    let mut found = Vec::new();
    if !text.contains("<<") {
        return found;
    }
    let mut words = quoted_word_ranges(text, escape).into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(raw) = text.get(word.clone()) else { continue };
        let Some(rest) = raw.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<") else { continue };
        if rest.is_empty() {
            let next = words.peek().cloned().unwrap_or(0..0);
            let name = text.get(next.clone()).unwrap_or("");
            if name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"' | '\'')) {
                found.extend(parse_heredoc_opening(name, word.start..next.end, false, escape));
            }
            continue;
        }
        let (strip, rest) = rest.strip_prefix('-').map_or((false, rest), |after| (true, after));
        found.extend(parse_heredoc_opening(rest, word, strip, escape));
    }
    found
}

/// Parses the terminator of a here-document; `None` where it is not a valid one.
fn parse_heredoc_opening(raw: &str, range: Range<usize>, strip: bool, escape: char) -> Option<HeredocOpening> {
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
    (quote.is_none() && !name.is_empty()).then_some(HeredocOpening { name, range, expand, strip })
}

/// Reads the here-documents that an instruction opens, and returns them with the offset where the last one ends.
pub(super) fn read_heredocs(
    line: &MappedText,
    escape: char,
    lines: &mut PhysicalLines<'_>,
    problems: &mut Vec<DockerfileProblem>,
) -> (Vec<Heredoc>, Option<usize>) {
    let mut found = Vec::new();
    let mut end = None;
    for opening in find_heredoc_openings(line.text(), escape) {
        let span = line.source_span(opening.range.clone());
        let (body, closed) = read_heredoc_body(&opening, lines);
        if !closed {
            let message = format!("unterminated heredoc: no line contains only `{}`", opening.name);
            problems.push(DockerfileProblem::new(span, message));
        }
        end = Some(lines.at);
        found.push(Heredoc { name: opening.name, span, body, expand: opening.expand, strip: opening.strip });
        if !closed {
            break;
        }
    }
    (found, end)
}

/// Reads a body and returns whether it is terminated; an unterminated body ends before the next instruction.
fn read_heredoc_body(opening: &HeredocOpening, lines: &mut PhysicalLines<'_>) -> (MappedText, bool) {
    let start = lines.at;
    let (all, closed) = read_body_until(opening, lines, |_| false);
    if closed {
        return (all, true);
    }
    lines.at = start;
    (read_body_until(opening, lines, starts_instruction).0, false)
}

/// Whether a line starts like an instruction: with an upper-case keyword, or with FROM in any case.
fn starts_instruction(line: &str) -> bool {
    let word = line.split([' ', '\t']).next().unwrap_or("");
    let kind = InstructionKind::from_keyword(word);
    line.len() > word.len()
        && !matches!(kind, InstructionKind::Unknown(_))
        && (kind == InstructionKind::From || kind.keyword() == word)
}

/// Reads lines up to the terminator or to a line for which `stops` is true; also returns whether the terminator was
/// found.
fn read_body_until(
    opening: &HeredocOpening,
    lines: &mut PhysicalLines<'_>,
    stops: impl Fn(&str) -> bool,
) -> (MappedText, bool) {
    let start = lines.at;
    let mut body = MappedText::default();
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

/// Returns the span of an instruction, extended to the end of its last here-document.
pub(super) fn extend_span(span: Span, end: Option<usize>, text: &str) -> Span {
    match end {
        Some(end) => {
            let kept = text.get(span.start..end).map_or(0, |all| all.trim_end_matches(['\r', '\n']).len());
            Span::new(span.start, span.start + kept)
        }
        None => span,
    }
}
