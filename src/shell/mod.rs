//! Splits the shell text of RUN instructions and scripts into simple commands.

mod file_changes;
mod filters;
mod lexer;
mod nested_scripts;
mod walk;
mod wrapper;

use std::sync::Arc;

use crate::dockerfile::{ExpandedText, MappedText, RunInstruction, VariableScope};
use crate::source::Span;

pub use file_changes::FileChanges;
pub use walk::SCRIPT_FILE_VARIABLE;
pub use wrapper::wrapped_program_index;

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
    /// Whether it may not run: inside `if`, `case`, `for` or `while`, or after `||`.
    pub conditional: bool,
    /// Whether later commands are missing because a limit was reached.
    pub cut: bool,
}

impl Command {
    /// Returns the file name of the program, if it is known.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first()?.known()?;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    /// Returns the value of a variable that the RUN instruction sets itself.
    pub fn variable(&self, name: &str) -> Option<&ExpandedText> {
        self.variables.iter().rfind(|(own, _)| own == name).map(|(_, value)| value)
    }
}

/// Whether a program runs another program that its arguments name.
pub fn is_wrapper_program(program: &str) -> bool {
    wrapper::is_wrapper(program)
}

/// The files of the image that a shell script can access before it runs.
#[derive(Clone, Copy)]
pub struct ShellFiles<'a> {
    /// The working directory at the start; empty if it is unknown.
    pub folder: &'a str,
    /// Returns the text of a file that certainly exists, by its path.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether no previous command may have changed a file, by its path.
    pub unchanged: &'a dyn Fn(&str) -> bool,
    /// Returns the paths that a glob pattern matches, in the shell's order, if they are known.
    pub listed: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

impl ShellFiles<'static> {
    /// No known files.
    pub const NONE: Self = Self { folder: "", text: &|_| None, unchanged: &|_| true, listed: &|_| None };
}

/// Returns the commands of a RUN instruction, in order.
pub fn run_commands(run: &RunInstruction) -> Vec<Command> {
    walk::walk_run(run, ShellFiles::NONE)
}

/// Returns the commands of a RUN instruction, in order, with access to files of the image.
pub fn run_commands_with_files(run: &RunInstruction, files: ShellFiles<'_>) -> Vec<Command> {
    walk::walk_run(run, files)
}

/// Returns the commands of a shell script that runs without arguments or variables.
pub fn script_commands(text: &MappedText) -> Vec<Command> {
    walk::walk_script(text, &VariableScope::default(), &[], ShellFiles::NONE)
}

/// Returns the commands of a script that a command runs, with the command's variables and arguments.
pub fn called_script_commands(
    text: &MappedText,
    scope: &VariableScope,
    variables: &[(String, ExpandedText)],
    files: ShellFiles<'_>,
) -> Vec<Command> {
    walk::walk_script(text, scope, variables, files)
}
