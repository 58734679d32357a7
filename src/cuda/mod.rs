//! Versions, compute capabilities, requirement expressions and compat libraries, as plain values without tables.

mod capability;
mod compat;
mod compat_note;
mod devices;
mod environment;
mod host_values;
mod image_paths;
mod image_requirements;
mod ldconfig;
mod requirement_cache;
mod requirement_cli;
mod requirement_toolkit;
mod version;

pub use self::capability::{CodeTarget, ComputeCapability, TargetSuffix};
pub use self::compat::{
    CompatHookHost, CompatHookRule, CompatNote, CudaCompatMode, cli_uses_compat_library, exactly_one,
    hook_uses_compat_library,
};
pub use self::devices::{
    DEFAULT_CAPABILITIES, DeviceRequest, DriverCapabilities, DriverCapabilitySyntax, SUPPORTED_CAPABILITIES,
    UnsupportedCapabilities, VisibleDevices, device_names, device_request, driver_capability_names,
    intersect_capabilities, is_cdi_name, old_toolkit_device_request, parse_capability_list, visible_devices,
    visible_devices_from_env,
};
pub use self::environment::{EnvironmentVariables, entries_with_prefix};
pub use self::host_values::{HostProperty, HostPropertySet, HostValue, RequirementHost};
pub use self::image_paths::{
    COMPAT_ROOT, LIBCUDA_SONAME, TOOLKIT_ROOT, is_at_or_below, is_compat_directory, is_hook_library_name,
    is_in_compat_tree, is_stub_directory, resolve_links, split_path, toolkit_directory,
};
pub use self::image_requirements::{
    ContainerToolkitRelease, InvalidCudaVersion, MAX_REQUIREMENTS, RequirementsError, RequirementsReader,
    are_requirements_disabled, cuda_version_requirement, image_requirements, is_legacy_image, parse_go_bool,
    visit_requirements,
};
pub use self::ldconfig::{
    LIB64_DIRECTORY, LdConf, LinkedFile, debian_library_directory, ldconfig_search_order, library_path_directories,
    select_linked_file, trim_trailing_slash,
};
pub use self::requirement_cache::cached_cli_requirement_outcome;
pub(crate) use self::requirement_cli::first_condition;
pub use self::requirement_cli::{
    RequirementOutcome, RequirementVerdict, UNSATISFIED_PREFIX, cli_requirement_outcome, evaluate_cli_requirement,
    evaluate_cli_requirements, last_failed_condition,
};
pub use self::requirement_toolkit::{evaluate_toolkit_requirements, toolkit_condition};
pub use self::version::{BadVersion, CudaVersion, DottedVersion, DriverVersion};
