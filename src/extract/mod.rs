//! Extraction of observations from each kind of input; the tables state what packages and commands add, and nothing
//! is concluded yet.

mod active_python;
mod arch_lists;
mod base_images;
mod base_merge;
mod build_host_queries;
mod built_image;
mod changed_files;
mod command_effects;
mod command_reader;
mod command_step;
mod compiled_programs;
mod copied_programs;
mod copied_toolkit;
mod description;
mod dockerfile;
mod env_templates;
mod fetched_files;
mod framework_archives;
mod git_clones;
mod history;
mod image_config;
mod install_locations;
mod layers;
mod loader_files;
mod makefile;
mod missing_installer;
mod package_locations;
mod pip_config;
mod possible_dependencies;
mod python_search_path;
mod python_version;
mod removals;
mod removed_compat;
mod run_commands;
mod sbom;
mod stage_copies;
mod stage_files;
mod start_commands;
mod target_reader;
mod test_stages;
mod unpackaged_files;
mod unread_inputs;
mod virtual_environments;
mod wheel_folders;
mod written_files;

pub use self::base_images::{
    KnownBase, KnownBases, find_base_image, observe_dockerfile_on_base, observe_lock_entry, record_tag_drift,
};
pub use self::built_image::{DockerfileBuild, observe_built_image};
pub use self::description::{observe_description, to_description};
pub use self::dockerfile::{TargetObservations, observe_dockerfile};
pub use self::image_config::observe_config;
pub use self::layers::{MissingLayer, observe_layers};
pub use self::sbom::observe_sbom;
pub use self::start_commands::{mark_entrypoint_overridden, set_start_variables, start_variable_names};
