//! Where commands read and write: files, here-documents and one another.

use std::ops::Range;
use std::sync::Arc;

use crate::dockerfile::Heredoc;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Input;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::walk::Walk;
use crate::shell::walk::called::at_one_place;

/// What more commands in a row do to a text is not followed.
const LONGEST_PIPE: usize = 16;

/// Where a command reads and writes.
#[derive(Default)]
pub(super) struct Redirects<'a> {
    /// Whether there is any.
    pub(super) any: bool,
    pub(super) heredocs: Vec<&'a Heredoc>,
    pub(super) writes: Vec<Word>,
    pub(super) appends: bool,
    pub(super) input: Input,
}

/// How a command stands in a pipe: its parts have shells of their own, and so has what runs beside the rest.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// Whether another part stands in front of it.
    pub(super) behind: bool,
    /// Whether another part, or `&`, stands behind it.
    pub(super) ahead: bool,
}

impl Part {
    pub(super) fn is_any(self) -> bool {
        self.behind || self.ahead
    }
}

/// Whether `&` ends a command whose last token is known.
pub(super) fn is_beside(text: &str, last: Option<&Token>) -> bool {
    let end = match last {
        Some(Token::Word(range) | Token::Redirect(range)) => range.end,
        _ => return false,
    };
    let rest = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    rest.starts_with('&') && !rest.starts_with("&&")
}

impl<'a> Walk<'a> {
    /// One command, and what the next one reads where a `|` stands between them.
    pub(super) fn piped(
        &mut self,
        text: &Mapped,
        words: &[Range<usize>],
        redirects: Redirects<'a>,
        depth: usize,
        on: bool,
    ) {
        let before = self.out.len();
        let length = self.pipe.1;
        let part = Part { behind: self.pipe.0 != Input::None, ahead: on || self.part.ahead };
        self.part = part;
        self.simple(text, words, redirects, depth);
        self.part = Part::default();
        self.pipe = match (on, self.out.get(before..)) {
            (false, _) => (Input::None, 0),
            (true, Some([only])) if length < LONGEST_PIPE => (Input::Pipe(Arc::new(only.clone())), length + 1),
            (true, _) => (Input::Unknown, length),
        };
    }

    pub(super) fn redirect(&self, text: &Mapped, range: Range<usize>, redirects: &mut Redirects<'a>) {
        let (raw, span) = (text.get(range.clone()), text.span(range.clone()));
        if raw.contains('>') {
            redirects.appends |= raw.contains(">>");
            // `2>` takes messages alone, and `>&1` names no file.
            let before = range.start.checked_sub(1).and_then(|at| text.text().as_bytes().get(at));
            if before != Some(&b'2') && !raw.contains(">&") {
                redirects.writes.extend(self.written(text, range));
            }
            return;
        }
        let inside = |one: &&Heredoc| one.span.start >= span.start && one.span.end <= span.end;
        let from = redirects.heredocs.len();
        redirects.heredocs.extend(self.heredocs.iter().filter(inside));
        redirects.input = match redirects.heredocs.get(from..) {
            Some([only]) => Input::Text(only.body.clone()),
            _ if raw.starts_with("<<<") => self.here_text(text, range),
            _ if raw.starts_with("<<") || raw.starts_with("<&") => Input::Unknown,
            _ => {
                let target = raw.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '<' | ' ' | '\t'));
                let word = self.word(text, range.end - target.len()..range.end);
                word.into_iter().next().map_or(Input::Unknown, Input::File)
            }
        };
    }

    /// `<<< TEXT`.
    fn here_text(&self, text: &Mapped, range: Range<usize>) -> Input {
        let target = text.get(range.clone()).trim_start_matches(['<', ' ', '\t']);
        let from = range.end - target.len();
        match self.expanded(target) {
            Resolved::Known { value, .. } => Input::Text(at_one_place(&format!("{value}\n"), text.offset(from))),
            Resolved::Unresolved { .. } => Input::Unknown,
        }
    }

    /// The file that a redirection writes.
    fn written(&self, text: &Mapped, range: Range<usize>) -> Option<Word> {
        let raw = text.get(range.clone());
        let target =
            raw.find('>')? + raw.get(raw.find('>')?..)?.find(|c: char| !matches!(c, '>' | '|' | '&' | ' ' | '\t'))?;
        self.word(text, range.start + target..range.end).into_iter().next()
    }
}
