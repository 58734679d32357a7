//! Rows of errors: codes, lines of logs, and commands that end otherwise where no GPU is.

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
    /// What it means, where no page is about it.
    pub means: Option<&'static str>,
}

/// A line of a log, and the page that tells of it.
#[derive(Clone, Copy, Debug)]
pub struct MessageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its parts in their order.
    pub says: &'static [&'static str],
    /// Names of the pages, the likeliest first.
    pub rules: &'static [&'static str],
    /// What it means, where no page is about it.
    pub means: Option<&'static str>,
}

/// A way in which a command asks the machine that builds for its GPU or its driver.
#[derive(Clone, Copy, Debug)]
pub struct BuildAskRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `gpu`, `code` or `variant`.
    pub what: &'static str,
    /// How the name of the program begins.
    pub program: &'static str,
    /// Parts of the command, all of them.
    pub words: &'static [&'static str],
    /// A variable that says the same.
    pub variable: Option<&'static str>,
    /// Its value.
    pub value: Option<&'static str>,
    /// A part with which nothing is asked.
    pub without: Option<&'static str>,
    /// A variable with which nothing is asked.
    pub unless: Option<&'static str>,
}
