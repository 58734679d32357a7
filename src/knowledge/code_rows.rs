//! Row types about GPU code and about drivers that have numbers of their own: those of modules and of Windows.

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::knowledge::rows::RowInfo;

/// A library that holds the GPU code a component cannot do without; its other libraries are picked at run time, and a
/// row that says so is of one of them.
#[derive(Clone, Copy, Debug)]
pub struct CodeLibraryRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `torch`.
    pub component: &'static str,
    /// How the file's name begins: `libtorch_cuda.so`.
    pub file: &'static str,
    /// Whether it lies beside those: picked at run time, and of no use without them.
    pub beside: bool,
}

/// A folder or module that Python imports under another name than its distribution has.
#[derive(Clone, Copy, Debug)]
pub struct CodeOwnerRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name: `flash_attn_2_cuda`.
    pub import: &'static str,
    /// The component that it belongs to.
    pub component: &'static str,
}

/// A place of libraries and tools that are parts of CUDA, whose GPU code decides nothing by itself.
#[derive(Clone, Copy, Debug)]
pub struct CudaPartRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// A part of the path where there is a `/` in it, else the beginning of the file's name.
    pub place: &'static str,
}

/// Which CUDA upgrade packages run on a Jetson release.
#[derive(Clone, Copy, Debug)]
pub struct JetsonUpgradeRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// CUDA of the release itself.
    pub base: CudaVersion,
    /// CUDA of the packages that run on it.
    pub compatible: &'static [CudaVersion],
}

/// A release of the Jetson modules.
#[derive(Clone, Copy, Debug)]
pub struct JetsonReleaseRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// How the number that people write for its driver begins: `36.4`, `540.4`.
    pub driver: DriverVersion,
    /// The modules that it is for, by their capabilities.
    pub capabilities: &'static [ComputeCapability],
    /// Its CUDA.
    pub cuda: CudaVersion,
    /// Whether it has NVML.
    pub nvml: bool,
}

/// Windows drivers of one branch.
#[derive(Clone, Copy, Debug)]
pub struct WindowsDriverRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// The first number of its oldest ones.
    pub from: u32,
    /// The first number that is none of them any more.
    pub before: u32,
    /// The branch.
    pub branch: u32,
}
