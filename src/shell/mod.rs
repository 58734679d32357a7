//! Splits the shell text of RUN instructions and scripts into simple commands.

#[cfg(test)]
mod file_effect_tests;
mod filters;
mod lexer;
mod scripts;
mod walk;
mod wrapper;

pub use scripts::{ShellFiles, called_script_commands, run_commands, run_commands_with_files, script_commands};
pub use walk::SCRIPT_FILE_VARIABLE;
pub use wrapper::{is_wrapper_program, wrapped_program_index};
