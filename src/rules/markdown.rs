//! Splits a Markdown page into headings, fenced code blocks and lines.

use crate::rules::page_error::Fault;
use crate::text::source::Span;

/// A block of a Markdown page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkdownBlock {
    /// A heading such as `## Text`.
    Heading { level: usize, text: String, span: Span },
    /// A fenced code block; `body` is the span of the lines between the fences.
    Fence { info: String, info_span: Span, body: Span, whole: Span },
    /// Any other line that is not blank.
    Line(Span),
}

impl MarkdownBlock {
    /// Returns the span of the block in the page.
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Heading { span, .. } | Self::Line(span) => *span,
            Self::Fence { whole, .. } => *whole,
        }
    }
}

/// Splits a page into its blocks, in order; blank lines outside of fences are skipped.
pub(super) fn split_blocks(text: &str) -> Result<Vec<MarkdownBlock>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let trimmed = line.trim_end();
        let span = Span::new(start, start + trimmed.len());
        let ticks = count_leading(trimmed, '`');
        let marks = count_leading(trimmed, '#');
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
                if count_leading(mark, '`') >= ticks && count_leading(mark, '`') == mark.len() {
                    break here;
                }
            };
            let info = trimmed[ticks..].trim().to_owned();
            found.push(MarkdownBlock::Fence {
                info,
                info_span,
                body: Span::new(body, close),
                whole: Span::new(start, at),
            });
        } else if (1..=6).contains(&marks) && trimmed[marks..].starts_with(' ') {
            found.push(MarkdownBlock::Heading { level: marks, text: trimmed[marks..].trim().to_owned(), span });
        } else if !trimmed.is_empty() {
            found.push(MarkdownBlock::Line(span));
        }
    }
    Ok(found)
}

/// Returns how many times a character is repeated at the start of a line.
fn count_leading(line: &str, character: char) -> usize {
    line.chars().take_while(|found| *found == character).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_fence_contains_a_shorter_one() {
        let text = "# a\r\n````md x\n```\n# no heading\n```\n````\n\nline\n";
        let found = split_blocks(text).expect("well formed");
        let MarkdownBlock::Fence { info, body, .. } = &found[1] else { panic!("{found:?}") };
        assert_eq!((info.as_str(), &text[body.start..body.end]), ("md x", "```\n# no heading\n```\n"));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn an_open_fence_is_refused_where_it_opens() {
        assert_eq!(split_blocks("a\n```x\nb").expect_err("ill formed").span, Span::new(2, 6));
    }
}
