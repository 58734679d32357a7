//! Versions, compute capabilities and requirement expressions: plain values, no table.

mod capability;
mod version;

pub use self::capability::{CodeTarget, ComputeCapability, Suffix};
pub use self::version::{BadVersion, CudaVersion, DottedVersion, DriverVersion};
