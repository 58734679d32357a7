//! Walks through shell text command by command and tracks the variables that it sets.

mod command_status;
mod commands;
mod compound_commands;
mod functions;
mod redirections;
mod script_paths;
mod state;
mod substitutions;
mod test_commands;

pub(super) use commands::{walk_run, walk_script};
pub use script_paths::SCRIPT_FILE_VARIABLE;
