//! The commands of RUN instructions and of scripts.

use crate::dockerfile::{ExpandedText, MappedText, RunInstruction, VariableScope};
use crate::shell::command::Command;
use crate::shell::shell_files::ShellFiles;
use crate::shell::walk;

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
