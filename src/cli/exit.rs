//! Exit codes, which are the same for all commands and formats.

use std::process::ExitCode;

use crate::cli::args::FailOn;
use crate::report::kinds::{FindingSeverity, SubjectKind};
use crate::report::model::{Finding, InputError, Subject};
use crate::rules::Notice;

/// Exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: no finding at or above the requested level.
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

/// What decides the exit code, collected subject by subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExitTally {
    subjects: usize,
    found: bool,
}

impl ExitTally {
    /// Adds one subject.
    pub(crate) fn add(&mut self, subject: &Subject, fail_on: FailOn) {
        // An image that no pool has nodes for is none that was checked.
        let unplaced = subject.kind == SubjectKind::Image && subject.verdicts.is_empty() && subject.findings.is_empty();
        self.subjects += usize::from(!unplaced);
        self.found |= subject.findings.iter().any(|finding| is_failure(finding, fail_on));
    }

    /// Returns the exit code: unreadable inputs take precedence over findings, unless `allow_incomplete` is set.
    pub(crate) fn exit(self, errors: &[InputError], allow_incomplete: bool) -> Exit {
        match self {
            _ if !errors.is_empty() && !allow_incomplete => Exit::Broken,
            Self { subjects: 0, .. } => Exit::Nothing,
            Self { found: true, .. } => Exit::Found,
            Self { .. } => Exit::Clean,
        }
    }
}

/// Whether a finding makes the exit code 1.
fn is_failure(finding: &Finding, fail_on: FailOn) -> bool {
    let open = Notice::OPEN.iter().any(|notice| notice.name() == finding.rule);
    let least = match fail_on {
        FailOn::Undetermined if open => return true,
        FailOn::Error | FailOn::Undetermined => FindingSeverity::Error,
        FailOn::Warning => FindingSeverity::Warning,
        FailOn::Note => FindingSeverity::Note,
        FailOn::Never => return false,
    };
    finding.severity <= least
}
