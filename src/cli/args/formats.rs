//! Formats, levels and colours.

use clap::ValueEnum;

/// Formats of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
}

/// Formats of a report on subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
    /// A line of JSON for each subject as it is done, and a summary at the end.
    Ndjson,
}

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings; a verdict that depends or cannot be told is a warning.
    Warning,
    /// Errors, warnings and notes.
    Note,
    /// Errors, and verdicts that depend or cannot be told.
    Undetermined,
    /// Nothing.
    Never,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless the environment says otherwise.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
