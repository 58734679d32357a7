//! Input and output of commands: files, here-documents and pipes.

use std::ops::Range;
use std::sync::Arc;

use crate::build::{StandardInput, Word};
use crate::dockerfile::{ExpandedText, Heredoc, MappedText};
use crate::shell::lexer::ShellToken;
use crate::shell::walk::functions::map_to_offset;
use crate::shell::walk::state::{PipelinePosition, ShellWalker};

/// The maximum number of commands of a pipeline whose data is followed.
const MAX_PIPELINE_LENGTH: usize = 16;

/// The redirections of a command.
#[derive(Default)]
pub(super) struct Redirections<'a> {
    /// Whether there is a redirection.
    pub(super) any: bool,
    pub(super) heredocs: Vec<&'a Heredoc>,
    pub(super) writes: Vec<Word>,
    pub(super) appends: bool,
    pub(super) input: StandardInput,
}

impl PipelinePosition {
    /// Whether the command is part of a pipeline or runs in the background.
    pub(super) fn is_in_subshell(self) -> bool {
        self.behind || self.ahead
    }
}

/// Whether `&` follows the last token of a command.
pub(super) fn is_background(text: &str, last: Option<&ShellToken>) -> bool {
    let end = match last {
        Some(ShellToken::Word(range) | ShellToken::Redirect(range)) => range.end,
        _ => return false,
    };
    let rest = text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    rest.starts_with('&') && !rest.starts_with("&&")
}

impl<'a> ShellWalker<'a> {
    /// Walks one command of a pipeline and sets the input of the next one.
    pub(super) fn walk_pipeline_command(
        &mut self,
        text: &MappedText,
        words: &[Range<usize>],
        redirects: Redirections<'a>,
        depth: usize,
        on: bool,
    ) {
        let before = self.out.len();
        let length = self.pipe.1;
        let part = PipelinePosition { behind: self.pipe.0 != StandardInput::None, ahead: on || self.part.ahead };
        self.part = part;
        self.walk_command(text, words, redirects, depth);
        self.part = PipelinePosition::default();
        self.pipe = match (on, self.out.get(before..)) {
            (false, _) => (StandardInput::None, 0),
            (true, Some([only])) if length < MAX_PIPELINE_LENGTH => {
                (StandardInput::Pipe(Arc::new(only.clone())), length + 1)
            }
            (true, _) => (StandardInput::Unknown, length),
        };
    }

    /// Adds a redirection to those of the current command.
    pub(super) fn read_redirection(&self, text: &MappedText, range: Range<usize>, redirects: &mut Redirections<'a>) {
        let (raw, span) = (text.get(range.clone()), text.source_span(range.clone()));
        if raw.contains('>') {
            redirects.appends |= raw.contains(">>");
            // `2>` takes messages alone, and `>&1` names no file.
            let before = range.start.checked_sub(1).and_then(|at| text.text().as_bytes().get(at));
            if before != Some(&b'2') && !raw.contains(">&") {
                redirects.writes.extend(self.output_file(text, range));
            }
            return;
        }
        let inside = |one: &&Heredoc| one.span.start >= span.start && one.span.end <= span.end;
        let from = redirects.heredocs.len();
        redirects.heredocs.extend(self.heredocs.iter().filter(inside));
        redirects.input = match redirects.heredocs.get(from..) {
            Some([only]) => StandardInput::Text(only.body.clone()),
            _ if raw.starts_with("<<<") => self.read_here_string(text, range),
            _ if raw.starts_with("<<") || raw.starts_with("<&") => StandardInput::Unknown,
            _ => {
                let target = raw.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '<' | ' ' | '\t'));
                let word = self.expand_word(text, range.end - target.len()..range.end);
                word.into_iter().next().map_or(StandardInput::Unknown, StandardInput::File)
            }
        };
    }

    /// Returns the input of `<<< TEXT`.
    fn read_here_string(&self, text: &MappedText, range: Range<usize>) -> StandardInput {
        let target = text.get(range.clone()).trim_start_matches(['<', ' ', '\t']);
        let from = range.end - target.len();
        match self.expand_text(target) {
            ExpandedText::Known { value, .. } => {
                StandardInput::Text(map_to_offset(&format!("{value}\n"), text.source_offset(from)))
            }
            ExpandedText::Unresolved { .. } => StandardInput::Unknown,
        }
    }

    /// Returns the file that a redirection writes.
    fn output_file(&self, text: &MappedText, range: Range<usize>) -> Option<Word> {
        let raw = text.get(range.clone());
        let target =
            raw.find('>')? + raw.get(raw.find('>')?..)?.find(|c: char| !matches!(c, '>' | '|' | '&' | ' ' | '\t'))?;
        self.expand_word(text, range.start + target..range.end).into_iter().next()
    }
}
