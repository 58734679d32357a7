//! Rows about errors: CUDA error codes, log messages, and build commands that fail without a GPU.

use crate::cuda::CudaVersion;
use crate::knowledge::rows::RowInfo;

/// A CUDA error code.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Number: 804.
    pub code: u16,
    /// Name: `cudaErrorCompatNotSupportedOnDevice`.
    pub name: &'static str,
    /// Message that CUDA prints.
    pub text: &'static str,
    /// Number in older runtimes, if it was different.
    pub was: Option<u32>,
    /// First runtime with the present number.
    pub was_before: Option<CudaVersion>,
    /// Name in the driver API: `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`.
    pub driver_name: Option<&'static str>,
    /// Rule pages about outcomes with this error, most likely first.
    pub rules: &'static [&'static str],
    /// Meaning, if no rule page explains it.
    pub means: Option<&'static str>,
}

/// A log message, and the rule pages that explain it.
#[derive(Clone, Copy, Debug)]
pub struct MessageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Parts of the message, in order.
    pub says: &'static [&'static str],
    /// Rule pages, most likely first.
    pub rules: &'static [&'static str],
    /// Meaning, if no rule page explains it.
    pub means: Option<&'static str>,
}

/// A build command that depends on the GPU or driver of the build machine.
#[derive(Clone, Copy, Debug)]
pub struct BuildAskRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// What it detects: `gpu`, `code` or `variant`.
    pub what: &'static str,
    /// Prefix of the program name.
    pub program: &'static str,
    /// Parts that the command must contain, all of them.
    pub words: &'static [&'static str],
    /// Environment variable with the same effect.
    pub variable: Option<&'static str>,
    /// Value of that variable.
    pub value: Option<&'static str>,
    /// Part that disables the detection.
    pub without: Option<&'static str>,
    /// Variable that disables the detection.
    pub unless: Option<&'static str>,
}
