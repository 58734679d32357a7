//! Versions, compute capabilities, requirement expressions, compat libraries: plain values, no table.

mod capability;
mod compat;
mod compat_files;
mod compat_note;
mod compat_order;
mod devices;
mod environment;
mod host_values;
mod image_requirements;
mod requirement;
mod requirement_go;
mod requirement_memo;
mod version;

pub use self::capability::{CodeTarget, ComputeCapability, Suffix};
pub use self::compat::{CliCompat, ElfNote, HookHost, HookRule, cli_keeps, hook_uses, only};
pub use self::compat_files::{
    COMPAT_ROOT, LIBCUDA, TOOLKIT_ROOT, hook_looks_at, in_compat_directory, is_compat_directory, is_stub_directory,
    lies_below, resolve, split_path, toolkit_directory,
};
pub use self::compat_order::{LIB64, LdConf, Linked, debian_directory, library_path, linked, search_order, trimmed};
pub use self::devices::{
    Capabilities, CapabilityReading, DEFAULT_CAPABILITIES, DeviceRequest, SUPPORTED_CAPABILITIES,
    UnsupportedCapabilities, VisibleDevices, capability_list, device_names, device_request, device_request_as_written,
    driver_capabilities, intersect_capabilities, is_cdi_name, visible_devices, visible_devices_of,
};
pub use self::environment::{Environment, entries_from};
pub use self::host_values::{HostValue, Needs, Property, RequirementHost};
pub use self::image_requirements::{
    BadCudaVersion, MAX_REQUIREMENTS, RequirementsError, RequirementsReader, ToolkitVersion, cuda_version_requirement,
    go_bool, image_requirements, is_legacy_image, requirements_disabled, visit_requirements,
};
pub use self::requirement::{
    Outcome as RequirementOutcome, UNSATISFIED, Verdict, evaluate_all_c, evaluate_c, last_condition, outcome_c,
};
pub use self::requirement_go::{evaluate_all_go, go_condition};
pub use self::requirement_memo::remembered_c;
pub use self::version::{BadVersion, CudaVersion, DottedVersion, DriverVersion};
