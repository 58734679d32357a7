//! Shell text of RUN instructions, split into the simple commands that it runs.

mod filters;
mod lexer;
mod nested;
mod traces;
mod walk;
mod wrapper;

use std::sync::Arc;

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::dockerfile::Scope;
use crate::source::Span;

pub use traces::Trace;
pub use walk::OWN_FILE;
pub use wrapper::inner;

/// A word of a command after expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text without quotes, or why it is not known.
    pub value: Resolved,
    /// The word as written, with its quotes.
    pub raw: String,
    /// Where it is written.
    pub span: Span,
    /// The command whose output the whole word is, for `$(…)` and `<(…)`.
    pub output: Option<Arc<Command>>,
}

impl Word {
    /// The text, where it is known.
    pub fn known(&self) -> Option<&str> {
        self.value.known()
    }

    /// A part of the word, or another spelling of it, as a word at its place.
    pub(crate) fn part(&self, text: &str) -> Self {
        let value = Resolved::Known { value: text.to_owned(), origins: self.value.origins().to_vec() };
        Self { value, raw: text.to_owned(), span: self.span, output: None }
    }
}

/// What a command reads on its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Nothing that the text gives it.
    #[default]
    None,
    /// What another command writes.
    Pipe(Arc<Command>),
    /// A file.
    File(Word),
    /// A here-document.
    Text(Mapped),
    /// What several commands write, or a text that is not at hand.
    Unknown,
}

/// A simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The words; the first one names the program. Assignments in front, programs that run another (`sudo`, `timeout`)
    /// and redirections are left out.
    pub words: Vec<Word>,
    /// From the first assignment or word to the last, with what is left out in front.
    pub span: Span,
    /// `NAME=value` in front of the program, and what was exported or assigned before in the same RUN; commands that have the
    /// same share them.
    pub variables: Arc<Vec<(String, Resolved)>>,
    /// Files that it writes by redirection.
    pub writes: Vec<Word>,
    /// Whether it adds to the files that it writes.
    pub appends: bool,
    /// What it reads.
    pub input: Input,
    /// Whether it may not run: below `if`, `case`, `for`, `while`, or after `||`.
    pub conditional: bool,
    /// Whether what stands behind it is more than is followed, and left out.
    pub cut: bool,
}

impl Command {
    /// The last part of the program's path, where it is known.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first()?.known()?;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    /// The value of a variable that was set in the RUN itself.
    pub fn variable(&self, name: &str) -> Option<&Resolved> {
        self.variables.iter().rfind(|(own, _)| own == name).map(|(_, value)| value)
    }
}

/// Whether a program runs another, which its arguments name.
pub fn runs_another(program: &str) -> bool {
    wrapper::is_wrapper(program)
}

/// What a text for the shell finds in the image before it runs.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The folder that it begins in; empty where that is not known.
    pub folder: &'a str,
    /// The text of a file that is surely there, by its path as written.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether no command so far may have changed a file, by its path as written.
    pub unchanged: &'a dyn Fn(&str) -> bool,
    /// The paths that a pattern as written stands for, in the shell's order, where that can be told.
    pub listed: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

impl Files<'static> {
    /// No file is known.
    pub const NONE: Self = Self { folder: "", text: &|_| None, unchanged: &|_| true, listed: &|_| None };
}

/// The commands that a RUN instruction runs, in order.
pub fn commands(run: &RunInstruction) -> Vec<Command> {
    walk::commands(run, Files::NONE)
}

/// The commands that a RUN instruction runs, in order, among the files of the image.
pub fn commands_among(run: &RunInstruction, files: Files<'_>) -> Vec<Command> {
    walk::commands(run, files)
}

/// The commands of a text for the shell that stands on its own, such as a script.
pub fn script_commands(text: &Mapped) -> Vec<Command> {
    walk::script(text, &Scope::default(), &[], Files::NONE)
}

/// The commands of a script that a command runs: it sees the command's variables and its own arguments.
pub fn called_commands(
    text: &Mapped,
    scope: &Scope,
    variables: &[(String, Resolved)],
    files: Files<'_>,
) -> Vec<Command> {
    walk::script(text, scope, variables, files)
}
