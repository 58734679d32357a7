//! Versions, compute capabilities and requirement expressions: plain values, no table.

mod capability;
mod devices;
mod image_requirements;
mod requirement;
mod requirement_go;
mod version;

pub use self::capability::{CodeTarget, ComputeCapability, Suffix};
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
