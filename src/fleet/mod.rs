//! Fleets: the node pools that images are judged against.

mod pool;

pub use self::pool::{Declared, DeviceListStrategy, DriverSpec, Fleet, GpuSpec, Launch, Mode, Pool};
