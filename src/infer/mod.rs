//! Conclusions about the image without any node pool: observations and tables become the facts that the replay uses.
//!
//! No pool is in sight here. Where a tag was built several times with different contents, each build
//! gives its own facts.

mod base;
mod build_choice;
mod code_floor;
mod command_request;
mod compat_package;
mod compiled_for_torch;
mod component;
mod constraints;
mod cuda_callers;
mod dependencies;
mod driver_libraries;
mod environment;
mod external_libraries;
mod firmware;
mod image_facts;
mod libraries;
mod library_dependencies;
mod library_per_cuda;
mod mismatched_cuda;
mod nonexistent_cuda;
mod platform;
mod python_version;
mod release_version;
mod removed_base_libraries;
mod runtime_packages;
mod single_build_framework;
mod stubs;
mod system_paths;
mod target_processor;
mod torch;
mod torch_component;
mod torch_ecosystem;
mod torch_release;
mod unknown_fact;
mod unpackaged_libraries;
mod unread_installs;
mod version_resolution;

pub(crate) use base::tag_version;
pub(crate) use compiled_for_torch::is_compiled_for_torch;
pub(crate) use environment::STARTUP_VARIABLES;
pub(crate) use python_version::{newest_base_python, python_of_package};
pub(crate) use single_build_framework::variant_cuda;

pub use self::image_facts::{infer_image_facts, observations_with_dependencies};
