//! The settings of a run: searched, read, and merged with the command-line options.

mod apply;
mod load;
mod run_settings;
mod show;

pub(crate) use self::apply::check_names_in_settings;
pub(crate) use self::load::{LoadedSettings, lock_settings, path_in_repository};
pub(crate) use self::run_settings::{RunSettings, assign_to_inputs, judged_folders};
pub(crate) use self::show::show_settings;
