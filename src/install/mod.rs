//! What commands install: Python distributions, conda packages and system packages.

mod arch_lists;
mod command_effects;
mod compile_targets;
mod conda;
mod context;
mod dependency_selection;
mod driver_installers;
mod effects;
mod framework_archive;
mod invocation;
mod lenient_toml;
mod lock_export;
mod lock_file;
mod marker;
mod package_index;
mod pip;
mod pip_options;
mod pipenv;
mod project_tools;
mod pyproject;
mod requirement;
mod requirement_files;
mod setuptools;
mod standard_streams;
mod stream_edit;
mod system_packages;
mod torch_extension;

pub use arch_lists::{ArchList, read_arch_lists};
pub use command_effects::{read_installs, read_installs_in_context};
pub use compile_targets::{CompiledCode, compiled_code, enables_gpu_code};
pub use context::{CommandContext, OpenedFile};
pub use effects::{BuildVariant, FindLinksFolders, InstallEffects, PackageInstall, RequirementFile, VariantSource};
pub use framework_archive::{
    archive_folder, downloaded_archive_folder, is_framework_archive, parse_archive, unpacked_archive,
};
pub use invocation::{is_pip_command, is_system_package_command, python_version_of_command, python_version_of_program};
pub use lock_export::exported_file;
pub use marker::{MarkerEnvironment, TargetMachine};
pub use requirement::{is_source_requirement, parse_requirement, tag_of_url};
pub use standard_streams::{standard_input, standard_output};
pub use stream_edit::{StreamEdit, parse_sed};
pub use system_packages::is_package_file;
pub use torch_extension::{compiled_project, compiled_repository, may_compile_project};
