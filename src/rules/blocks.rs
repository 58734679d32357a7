//! Splits a Markdown page into headings, fenced blocks and prose.

use crate::rules::problem::Fault;
use crate::source::Span;

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// `## Text`.
    Heading { level: usize, text: String, span: Span },
    /// A fenced block; `body` is the place of its lines.
    Fence { info: String, info_span: Span, body: Span, whole: Span },
    /// A line of anything else.
    Line(Span),
}

impl Block {
    /// Its place.
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Heading { span, .. } | Self::Line(span) => *span,
            Self::Fence { whole, .. } => *whole,
        }
    }
}

/// The parts of a page in order, blank lines outside fences left out.
pub(super) fn blocks(text: &str) -> Result<Vec<Block>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let trimmed = line.trim_end();
        let span = Span::new(start, start + trimmed.len());
        let ticks = run(trimmed, '`');
        let marks = run(trimmed, '#');
        if ticks >= 3 {
            let info_span = Span::new(start + ticks, span.end);
            let body = at;
            let close = loop {
                let Some(line) = lines.next() else {
                    return Err(Fault::new(span, "this block is not closed"));
                };
                let here = at;
                at += line.len();
                let mark = line.trim_end();
                if run(mark, '`') >= ticks && run(mark, '`') == mark.len() {
                    break here;
                }
            };
            let info = trimmed[ticks..].trim().to_owned();
            found.push(Block::Fence { info, info_span, body: Span::new(body, close), whole: Span::new(start, at) });
        } else if (1..=6).contains(&marks) && trimmed[marks..].starts_with(' ') {
            found.push(Block::Heading { level: marks, text: trimmed[marks..].trim().to_owned(), span });
        } else if !trimmed.is_empty() {
            found.push(Block::Line(span));
        }
    }
    Ok(found)
}

/// How often a character stands at the start.
fn run(line: &str, character: char) -> usize {
    line.chars().take_while(|found| *found == character).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        let text = "# a\r\n````md x\n```\n# no heading\n```\n````\n\nline\n";
        let found = blocks(text).expect("well formed");
        let Block::Fence { info, body, .. } = &found[1] else { panic!("{found:?}") };
        assert_eq!((info.as_str(), &text[body.start..body.end]), ("md x", "```\n# no heading\n```\n"));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn an_open_fence_is_refused_where_it_opens() {
        assert_eq!(blocks("a\n```x\nb").expect_err("ill formed").span, Span::new(2, 6));
    }
}
