//! Fleets: the node pools that images are judged against.

mod alike;
mod derived;
mod drivers;
mod field;
mod file;
mod host;
mod host_values;
mod options;
mod plausible;
mod pool;
mod possible;
mod started;
mod values;
mod variants;
mod ways;
mod words;

pub use self::alike::Alike;
pub use self::derived::{Derived, DerivedValue, OpenField, derived};
pub use self::field::{PoolEntry, PoolField};
pub use self::file::KEYS as POOL_KEYS;
pub use self::file::{FleetErrors, GpuName, built_in, built_in_text, check_mig, check_modes, check_width, read};
pub use self::host::{Behaviour, DeviceSource, Host, HostGpu};
pub use self::options::Options;
pub use self::plausible::check_versions;
pub(crate) use self::pool::division;
pub use self::pool::{Declared, DeviceListStrategy, DriverSpec, Fleet, GpuSpec, Launch, Mode, Pool, Runtime};
pub(crate) use self::possible::likeness;
pub(crate) use self::values::{image_matches, is_profile};
pub use self::words::UnknownWord;
