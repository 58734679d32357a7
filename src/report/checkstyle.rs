//! The report in the XML of Checkstyle, which many review tools read.

use std::io;

use crate::report::concise::of_error;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::sink::short;
use crate::report::spot::Spot;
use crate::report::spot::named_advice;
use crate::report::xml::xml;

/// Writes the files of each subject.
pub struct Checkstyle<'a> {
    setting: Setting<'a>,
}

impl<'a> Checkstyle<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting }
    }
}

impl Sink for Checkstyle<'_> {
    fn begin(&mut self, _: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">")
    }

    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        let mut files: Vec<(&str, Vec<String>)> = Vec::new();
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, self.setting.fleet);
            let severity = match finding.severity {
                FindingSeverity::Note => "info",
                other => other.word(),
            };
            let line = error(&spot, severity, &finding.rule, &named_advice(finding, subject, &spot));
            match files.iter_mut().find(|(path, _)| *path == spot.path) {
                Some((_, lines)) => lines.push(line),
                None => files.push((spot.path, vec![line])),
            }
        }
        files.iter().try_for_each(|(path, lines)| file(path, lines, out))
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for one in &head.errors {
            let spot = of_error(one);
            file(spot.path, &[error(&spot, "error", "cannot-read", &one.message)], out)?;
        }
        writeln!(out, "</checkstyle>")
    }
}

fn file(path: &str, lines: &[String], out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "  <file name=\"{}\">", xml(short(path)))?;
    for line in lines {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "  </file>")
}

fn error(spot: &Spot<'_>, severity: &str, rule: &str, message: &str) -> String {
    format!(
        "<error line=\"{}\" column=\"{}\" severity=\"{}\" message=\"{}\" source=\"imagelint.{}\"/>",
        spot.line(),
        spot.column(),
        xml(severity),
        xml(message),
        xml(rule)
    )
}
