//! Commands of a build, and what they do to files.
//!
//! Programs whose options determine everything are rows of the tables `file_tools` and `file_tool_options`, and
//! installers are rows of `installer_commands`. Each program with a syntax of its own has its own file: `tar`, `git`,
//! and those in `special_tools`.

mod arguments;
mod command;
mod command_effect;
mod file_changes;
mod file_effect;
mod git;
mod installers;
mod special_tools;
mod tar_command;

pub use command::{Command, StandardInput, Word, is_shell};
pub use file_changes::{FileChanges, is_at_or_below_pattern};
pub use file_effect::{Destination, DownloadTarget, FileEffect, Operand, PackedMember, TransferKind};
pub use installers::{
    chooses_python_environment, installer_of_command, is_system_package_manager, is_versioned_program,
};
