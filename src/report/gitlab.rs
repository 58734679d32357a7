//! The report as a list of issues for GitLab Code Quality.

use std::io;

use serde_json::{Value, json};

use crate::report::concise::error_location;
use crate::report::escape::escape_one_line;
use crate::report::fingerprint::FingerprintGenerator;
use crate::report::json::EscapingWriter;
use crate::report::kinds::FindingSeverity;
use crate::report::model::{Report, Subject};
use crate::report::primary_location::{PrimaryLocation, message_with_image};
use crate::report::report_writer::{ReportContext, ReportWriter};

/// Writes each finding as an issue of GitLab Code Quality.
pub struct GitlabWriter<'a> {
    setting: ReportContext<'a>,
    prints: FingerprintGenerator,
    any: bool,
}

impl<'a> GitlabWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting, prints: FingerprintGenerator::for_rules(setting.book), any: false }
    }

    /// Writes an issue, with the separator before it.
    fn write_issue(&mut self, issue: &Value, out: &mut dyn io::Write) -> io::Result<()> {
        write!(out, "{}", if self.any { ",\n" } else { "[\n" })?;
        self.any = true;
        let mut out = out;
        serde_json::to_writer(EscapingWriter(&mut out), issue).map_err(io::Error::from)
    }

    /// Returns the location of an issue.
    fn location_json(&self, location: &PrimaryLocation<'_>) -> Value {
        json!({"path": (self.setting.from_root)(location.path), "lines": {"begin": location.line()}})
    }
}

impl ReportWriter for GitlabWriter<'_> {
    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let location = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
            let severity = match finding.severity {
                FindingSeverity::Error => "major",
                FindingSeverity::Warning => "minor",
                FindingSeverity::Note => "info",
            };
            let issue = json!({
                "description": escape_one_line(&message_with_image(finding, subject, &location).replace('\n', "; ")),
                "check_name": finding.rule,
                "fingerprint": self.setting.finding_hash(&mut self.prints, finding, subject),
                "severity": severity,
                "location": self.location_json(&location),
            });
            self.write_issue(&issue, out)?;
        }
        Ok(())
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            let location = error_location(error);
            let issue = json!({
                "description": escape_one_line(&format!("cannot read {}: {}", error.input, error.message)),
                "check_name": "cannot-read",
                "fingerprint": self.prints.error_fingerprint(error, self.setting.from_root).hash,
                "severity": "critical",
                "location": self.location_json(&location),
            });
            self.write_issue(&issue, out)?;
        }
        writeln!(out, "{}", if self.any { "\n]" } else { "[]" })
    }
}
