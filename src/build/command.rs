//! A simple command of a shell text: its words, variables, redirections and standard input.

use std::sync::Arc;

use crate::dockerfile::{ExpandedText, MappedText};
use crate::text::source::Span;

/// A word of a command after expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text without quotes, or the reason why it is unknown.
    pub value: ExpandedText,
    /// The source text, with quotes.
    pub raw: String,
    /// The span in the source.
    pub span: Span,
    /// The command whose output is the whole word, for `$(…)` and `<(…)`.
    pub output: Option<Arc<Command>>,
}

impl Word {
    /// Returns the text of the word, if it is known.
    pub fn known(&self) -> Option<&str> {
        self.value.known_text()
    }

    /// Returns a word with another text and the same span, for a part or another spelling of the word.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        let value = ExpandedText::Known { value: text.to_owned(), origins: self.value.origins().to_vec() };
        Self { value, raw: text.to_owned(), span: self.span, output: None }
    }
}

/// The standard input of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StandardInput {
    /// No input is redirected.
    #[default]
    None,
    /// The output of another command.
    Pipe(Arc<Command>),
    /// A file.
    File(Word),
    /// A here-document.
    Text(MappedText),
    /// The output of several commands, or an unknown text.
    Unknown,
}

/// A simple command.
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one command")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The words; the first one names the program. Assignments in front, programs that run another (`sudo`, `timeout`)
    /// and redirections are left out.
    pub words: Vec<Word>,
    /// From the first assignment or word to the last, with what is left out in front.
    pub span: Span,
    /// `NAME=value` in front of the program, and what was exported or assigned before in the same RUN; commands that have the
    /// same share them.
    pub variables: Arc<Vec<(String, ExpandedText)>>,
    /// The files that it writes by redirection.
    pub writes: Vec<Word>,
    /// Whether those redirections append.
    pub appends: bool,
    /// The standard input.
    pub input: StandardInput,
    /// The folder in which it runs, relative to the folder in which the text starts; `None` if it is unknown.
    pub folder: Option<Arc<str>>,
    /// Whether it may not run: inside `if`, `case`, `for` or `while`, or after `||`.
    pub conditional: bool,
    /// Whether the script continues if it fails: another command follows without `set -e`, or `||`.
    pub failure_ignored: bool,
    /// Whether later commands are missing because a limit was reached.
    pub cut: bool,
}

/// Whether a program is a shell of the POSIX family; `program` may be a path.
pub fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("ash" | "bash" | "dash" | "ksh" | "sh" | "zsh"))
}

impl Command {
    /// Returns the file name of the program, if it is known.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first()?.known()?;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    /// Whether it appends its output to the files that it writes: `>>`, `tee -a`.
    pub fn appends_output(&self) -> bool {
        let is_append = |word: &Word| matches!(word.known(), Some("-a" | "--append"));
        self.appends || self.program() == Some("tee") && self.words.iter().any(is_append)
    }

    /// Returns the value of a variable that the RUN instruction sets itself.
    pub fn variable(&self, name: &str) -> Option<&ExpandedText> {
        self.variables.iter().rfind(|(own, _)| own == name).map(|(_, value)| value)
    }
}
