//! Walks through shell text command by command and tracks the variables that it sets.

mod and_or_lists;
mod blocks;
mod command_status;
mod commands;
mod exit_and_return;
mod functions;
mod loops;
mod positional_parameters;
mod redirections;
mod required_success;
mod script_paths;
mod state;
mod substitutions;
mod test_commands;

pub(super) use commands::{walk_run, walk_script};
pub use script_paths::SCRIPT_FILE_VARIABLE;
