//! Row types about GPU code and about user-mode drivers of modules.

use crate::cuda::CudaVersion;
use crate::knowledge::rows::RowInfo;

/// A library that holds the GPU code a component cannot do without; its other libraries are picked at run time.
#[derive(Clone, Copy, Debug)]
pub struct CodeLibraryRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `torch`.
    pub component: &'static str,
    /// How the file's name begins: `libtorch_cuda.so`.
    pub file: &'static str,
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
