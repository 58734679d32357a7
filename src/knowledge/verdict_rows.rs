//! Words of verdicts, routes and launch methods.

use crate::knowledge::rows::RowInfo;

/// A verdict or a route of a report.
#[derive(Clone, Copy, Debug)]
pub struct VerdictWordRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `minor-version`, as in JSON.
    pub word: &'static str,
    /// Other spellings, in lower case.
    pub other: &'static [&'static str],
    /// What it means, in one sentence without its period.
    pub means: &'static str,
    /// The pages about it, the likeliest first.
    pub rules: &'static [&'static str],
}

/// A launch method of the fleet file.
#[derive(Clone, Copy, Debug)]
pub struct LaunchWordRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `nvidia-runtime`, as in a fleet file.
    pub word: &'static str,
    /// Other spellings, in lower case.
    pub other: &'static [&'static str],
    /// What requests the GPUs, in one sentence without its period.
    pub means: &'static str,
    /// The pages about it, the likeliest first.
    pub rules: &'static [&'static str],
}
