//! Rows about GPU code, and about drivers with their own numbering: Jetson and Windows.

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::rows::RowInfo;

/// A library with the GPU code of a component.
#[derive(Clone, Copy, Debug)]
pub struct CodeLibraryRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Component: `torch`.
    pub component: &'static str,
    /// Prefix of the file name: `libtorch_cuda.so`.
    pub file: &'static str,
    /// Whether the library is optional: it is selected at run time in addition to the required libraries.
    pub beside: bool,
}

/// A Python package or module whose import name differs from the name of its distribution.
#[derive(Clone, Copy, Debug)]
pub struct CodeOwnerRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Import name: `flash_attn_2_cuda`.
    pub import: &'static str,
    /// Component that it belongs to.
    pub component: &'static str,
}

/// Libraries and tools of CUDA itself, whose GPU code does not decide whether an image starts.
#[derive(Clone, Copy, Debug)]
pub struct CudaPartRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Part of the path if it contains `/`, otherwise a prefix of the file name.
    pub place: &'static str,
}

/// CUDA upgrade packages that run on a Jetson release.
#[derive(Clone, Copy, Debug)]
pub struct JetsonUpgradeRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// CUDA version of the Jetson release.
    pub base: CudaVersion,
    /// CUDA versions of the upgrade packages that run on it.
    pub compatible: &'static [CudaVersion],
}

/// A Jetson release.
#[derive(Clone, Copy, Debug)]
pub struct JetsonReleaseRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Prefix of its driver version, as users write it: `36.4`, `540.4`.
    pub driver: DriverVersion,
    /// Compute capabilities of its modules.
    pub capabilities: &'static [ComputeCapability],
    /// Its CUDA version.
    pub cuda: CudaVersion,
    /// Whether it has NVML.
    pub nvml: bool,
}

/// A range of Windows driver versions of one driver branch.
#[derive(Clone, Copy, Debug)]
pub struct WindowsDriverRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// First number of the oldest version.
    pub from: u32,
    /// First number that is no longer in the range.
    pub before: u32,
    /// Driver branch.
    pub branch: u32,
}
