//! The report as a list of issues for GitLab Code Quality.

use std::io;

use serde_json::Value;
use serde_json::json;

use crate::report::concise::of_error;
use crate::report::escape::clean;
use crate::report::fingerprint::Fingerprints;
use crate::report::json::Escaping;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::spot::Spot;
use crate::report::spot::named_advice;

/// Writes issues as they come.
pub struct Gitlab<'a> {
    setting: Setting<'a>,
    prints: Fingerprints,
    any: bool,
}

impl<'a> Gitlab<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting, prints: Fingerprints::of_book(setting.book), any: false }
    }

    fn issue(&mut self, issue: &Value, out: &mut dyn io::Write) -> io::Result<()> {
        write!(out, "{}", if self.any { ",\n" } else { "[\n" })?;
        self.any = true;
        let mut out = out;
        serde_json::to_writer(Escaping(&mut out), issue).map_err(io::Error::from)
    }

    fn place(&self, spot: &Spot<'_>) -> Value {
        json!({"path": (self.setting.from_root)(spot.path), "lines": {"begin": spot.line()}})
    }
}

impl Sink for Gitlab<'_> {
    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, self.setting.fleet);
            let severity = match finding.severity {
                FindingSeverity::Error => "major",
                FindingSeverity::Warning => "minor",
                FindingSeverity::Note => "info",
            };
            let issue = json!({
                "description": clean(&named_advice(finding, subject, &spot).replace('\n', "; ")),
                "check_name": finding.rule,
                "fingerprint": self.setting.fingerprint(&mut self.prints, finding, subject),
                "severity": severity,
                "location": self.place(&spot),
            });
            self.issue(&issue, out)?;
        }
        Ok(())
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            let spot = of_error(error);
            let issue = json!({
                "description": clean(&format!("cannot read {}: {}", error.input, error.message)),
                "check_name": "cannot-read",
                "fingerprint": self.prints.of_error(error, self.setting.from_root).hash,
                "severity": "critical",
                "location": self.place(&spot),
            });
            self.issue(&issue, out)?;
        }
        writeln!(out, "{}", if self.any { "\n]" } else { "[]" })
    }
}
