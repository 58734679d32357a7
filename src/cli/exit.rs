//! Exit codes, the same in every command and format.

use std::process::ExitCode;

use crate::cli::args::FailOn;
use crate::report::model::Report;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: nothing at or above the level that was asked.
    Clean,
    /// 1: something was.
    Found,
    /// 2: usage, settings or fleet are wrong, or an input could not be read.
    Broken,
    /// 3: nothing to check.
    Nothing,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Found => 1,
            Exit::Broken => 2,
            Exit::Nothing => 3,
        })
    }
}

/// The exit code of a report: unread inputs win over findings.
pub(crate) fn of(report: &Report, fail_on: FailOn) -> Exit {
    if !report.errors.is_empty() {
        return Exit::Broken;
    }
    if report.subjects.is_empty() {
        return Exit::Nothing;
    }
    let severities: &[&str] = match fail_on {
        FailOn::Error | FailOn::Undetermined => &["error"],
        FailOn::Warning => &["error", "warning"],
        FailOn::Note => &["error", "warning", "note"],
        FailOn::Never => &[],
    };
    let untold = matches!(fail_on, FailOn::Warning | FailOn::Note | FailOn::Undetermined);
    let found = report.subjects.iter().any(|subject| {
        let said = subject.findings.iter().any(|finding| severities.contains(&finding.severity.as_str()));
        let open = subject
            .verdicts
            .iter()
            .any(|verdict| verdict.component.is_none() && matches!(verdict.fate.as_str(), "depends" | "undetermined"));
        said || (untold && open)
    });
    if found { Exit::Found } else { Exit::Clean }
}
