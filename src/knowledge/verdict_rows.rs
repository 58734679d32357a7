//! Explanations of verdicts, routes and launch methods.

use crate::knowledge::rows::RowInfo;

/// The explanation of a verdict or route of a report.
#[derive(Clone, Copy, Debug)]
pub struct VerdictWordRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Its name in JSON: `minor-version`.
    pub word: &'static str,
    /// Other spellings, in lower case.
    pub other: &'static [&'static str],
    /// Meaning, in one sentence without its full stop.
    pub means: &'static str,
    /// Rule pages about it, most likely first.
    pub rules: &'static [&'static str],
}

/// The explanation of a launch method of the fleet file.
#[derive(Clone, Copy, Debug)]
pub struct LaunchWordRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Its name in a fleet file: `nvidia-runtime`.
    pub word: &'static str,
    /// Other spellings, in lower case.
    pub other: &'static [&'static str],
    /// How GPUs are requested, in one sentence without its full stop.
    pub means: &'static str,
    /// Rule pages about it, most likely first.
    pub rules: &'static [&'static str],
}
