//! The report as Checkstyle XML, which many review tools read.

use std::io;

use crate::report::concise::error_location;
use crate::report::kinds::FindingSeverity;
use crate::report::model::{Report, Subject};
use crate::report::primary_location::{PrimaryLocation, message_with_image};
use crate::report::report_writer::{ReportContext, ReportWriter, strip_current_dir};
use crate::report::xml::escape_xml;

/// Writes a report as Checkstyle XML.
pub struct CheckstyleWriter<'a> {
    setting: ReportContext<'a>,
}

impl<'a> CheckstyleWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting }
    }
}

impl ReportWriter for CheckstyleWriter<'_> {
    fn write_start(&mut self, _: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">")
    }

    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        let mut files: Vec<(&str, Vec<String>)> = Vec::new();
        for finding in &subject.findings {
            let location = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
            let severity = match finding.severity {
                FindingSeverity::Note => "info",
                other => other.name(),
            };
            let line =
                error_element(&location, severity, &finding.rule, &message_with_image(finding, subject, &location));
            match files.iter_mut().find(|(path, _)| *path == location.path) {
                Some((_, lines)) => lines.push(line),
                None => files.push((location.path, vec![line])),
            }
        }
        files.iter().try_for_each(|(path, lines)| write_file_element(path, lines, out))
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for one in &head.errors {
            let location = error_location(one);
            write_file_element(location.path, &[error_element(&location, "error", "cannot-read", &one.message)], out)?;
        }
        writeln!(out, "</checkstyle>")
    }
}

/// Writes the element of a file with its findings.
fn write_file_element(path: &str, lines: &[String], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "  <file name=\"{}\">", escape_xml(strip_current_dir(path)))?;
    for line in lines {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "  </file>")
}

/// Returns the element of a finding.
fn error_element(location: &PrimaryLocation<'_>, severity: &str, rule: &str, message: &str) -> String {
    format!(
        "<error line=\"{}\" column=\"{}\" severity=\"{}\" message=\"{}\" source=\"imagelint.{}\"/>",
        location.line(),
        location.column(),
        escape_xml(severity),
        escape_xml(message),
        escape_xml(rule)
    )
}
