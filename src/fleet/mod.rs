//! Fleets: the node pools that images are judged against.

mod file;
mod host;
mod pool;
mod values;
mod words;

pub use self::file::{FleetErrors, GpuName, built_in, built_in_text, read};
pub use self::host::{Host, HostGpu, PoolField};
pub use self::pool::{Declared, DeviceListStrategy, DriverSpec, Fleet, GpuSpec, Launch, Mode, Pool};
pub use self::words::UnknownWord;
