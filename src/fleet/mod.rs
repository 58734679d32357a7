//! Fleets: the node pools that images are checked against.

pub mod cluster;
mod derived_pool;
mod file;
mod host;
pub mod inventory;
mod keywords;
mod launch_configurations;
mod launch_override;
mod pool;
mod pool_field;
mod pool_hosts;
mod pool_values;
mod possible_hardware;
pub mod settings;
mod toolkit_options;
mod version_check;

pub use self::derived_pool::{DerivedPool, DerivedValue, OpenField, derive_pool};
pub use self::file::{
    FleetErrors, GpuNameLookup, KEYS as POOL_KEYS, built_in_fleet, built_in_fleet_text, check_host_counts,
    check_mig_support, check_toolkit_modes, read_fleet,
};
pub use self::host::{DeviceSource, Host, HostEquivalence, HostGpu, ToolkitBehaviour};
pub use self::keywords::UnknownWord;
pub(crate) use self::pool::mig_division_text;
pub use self::pool::{Declared, DeviceListStrategy, DriverSpec, Fleet, GpuSpec, Launch, Mode, Pool, Runtime};
pub use self::pool_field::{PoolEntry, PoolField};
pub(crate) use self::pool_values::{image_pattern_matches, is_mig_profile};
pub(crate) use self::possible_hardware::gpu_equivalence_key;
pub use self::toolkit_options::ToolkitOptions;
pub use self::version_check::check_versions;
