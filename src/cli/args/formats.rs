//! Output formats, severity levels of the exit code, and colours.

use std::path::PathBuf;

use clap::ValueEnum;

/// Formats of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
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
    /// A line for each finding.
    Concise,
    /// Schema version 1.
    #[value(alias = "json-v1")]
    Json,
    /// A line of JSON for each subject as it is done, and a summary at the end.
    Ndjson,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
    /// GitLab Code Quality.
    Gitlab,
    /// Lines for reviewdog.
    Rdjsonl,
    /// The XML of Checkstyle.
    Checkstyle,
    /// Results of tests in XML: a suite for each subject, a case for each pool.
    Junit,
    /// For a comment on a pull request.
    Markdown,
    /// The same for the summary of a job, which has more room.
    Summary,
    /// A page for a browser, in one file.
    Html,
}

/// A requested report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportOutput {
    /// The format.
    pub(crate) format: ReportFormat,
    /// The file that it goes to; standard output where not given.
    pub(crate) file: Option<PathBuf>,
}

/// What makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings; a verdict that depends or is undetermined is a warning.
    Warning,
    /// Errors, warnings and notes.
    Note,
    /// Errors, and verdicts that depend or are undetermined.
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
