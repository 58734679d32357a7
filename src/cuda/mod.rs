//! Versions, compute capabilities, requirement expressions, compat libraries: plain values, no table.

mod capability;
mod compat;
mod compat_files;
mod compat_note;
mod compat_order;
mod devices;
mod image_requirements;
mod requirement;
mod requirement_go;
mod version;

pub use self::capability::{CodeTarget, ComputeCapability, Suffix};
pub use self::compat::{CliCompat, ElfNote, HookHost, HookRule, cli_keeps, hook_uses, only};
pub use self::compat_files::{COMPAT_ROOT, hook_looks_at, resolve, split_path};
pub use self::compat_order::{LdConf, Linked, linked, search_order, trimmed};
pub use self::devices::{
    DEFAULT_CAPABILITIES, SUPPORTED_CAPABILITIES, UnsupportedCapabilities, VisibleDevices, capability_list,
    driver_capabilities, intersect_capabilities, visible_devices, visible_devices_of,
};
pub use self::image_requirements::{
    BadCudaVersion, MAX_REQUIREMENTS, RequirementsError, ToolkitVersion, cuda_version_requirement, go_bool,
    image_requirements, is_legacy_image,
};
pub use self::requirement::{HostValue, Property, RequirementHost, Verdict, evaluate_all_c, evaluate_c};
pub use self::requirement_go::{evaluate_all_go, go_condition};
pub use self::version::{BadVersion, CudaVersion, DottedVersion, DriverVersion};
