//! Exit codes, the same in every command and format.

use std::process::ExitCode;

use crate::cli::args::FailOn;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Finding;
use crate::report::model::InputError;
use crate::report::model::Subject;
use crate::rules::Notice;

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

/// What an exit code hangs on, gathered subject by subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    subjects: usize,
    found: bool,
}

impl Tally {
    /// Adds one subject.
    pub(crate) fn add(&mut self, subject: &Subject, fail_on: FailOn) {
        // An image that no pool has nodes for is none that was checked.
        let unplaced = subject.kind == "image" && subject.verdicts.is_empty() && subject.findings.is_empty();
        self.subjects += usize::from(!unplaced);
        self.found |= subject.findings.iter().any(|finding| counts(finding, fail_on));
    }

    /// The exit code: unread inputs win over findings, unless that is allowed.
    pub(crate) fn exit(self, errors: &[InputError], allow_incomplete: bool) -> Exit {
        match self {
            _ if !errors.is_empty() && !allow_incomplete => Exit::Broken,
            Self { subjects: 0, .. } => Exit::Nothing,
            Self { found: true, .. } => Exit::Found,
            Self { .. } => Exit::Clean,
        }
    }
}

fn counts(finding: &Finding, fail_on: FailOn) -> bool {
    let open = Notice::OPEN.iter().any(|notice| notice.word() == finding.rule);
    let least = match fail_on {
        FailOn::Undetermined if open => return true,
        FailOn::Error | FailOn::Undetermined => FindingSeverity::Error,
        FailOn::Warning => FindingSeverity::Warning,
        FailOn::Note => FindingSeverity::Note,
        FailOn::Never => return false,
    };
    finding.severity <= least
}
