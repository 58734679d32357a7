//! Rows of errors: codes, and lines of logs.

use crate::cuda::CudaVersion;
use crate::knowledge::rows::RowInfo;

/// A CUDA error code.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// 804.
    pub code: u16,
    /// `cudaErrorCompatNotSupportedOnDevice`.
    pub name: &'static str,
    /// What it prints.
    pub text: &'static str,
    /// The number of the same error in older runtimes, where it had another.
    pub was: Option<u32>,
    /// The first runtime with today's number.
    pub was_before: Option<CudaVersion>,
    /// `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`, where the driver's interface has the code.
    pub driver_name: Option<&'static str>,
    /// Pages of the outcomes that end with it, the likeliest first.
    pub rules: &'static [&'static str],
}

/// A line of a log, and the page that tells of it.
#[derive(Clone, Copy, Debug)]
pub struct MessageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its parts in their order.
    pub says: &'static [&'static str],
    /// Name of the page.
    pub rule: &'static str,
}
