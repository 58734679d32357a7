//! The report as newline-delimited JSON: a line for each subject and each error, and a summary at the end.

use std::collections::BTreeMap;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::EscapingWriter;
use crate::report::kinds::VerdictKind;
use crate::report::model::{Fleet, InputError, Report, Subject, Tool};
use crate::report::report_writer::ReportWriter;

/// A line of the report; `type` names its kind.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line<'a> {
    /// A subject as in the report.
    Subject(&'a Subject),
    /// An input that could not be read.
    Error(&'a InputError),
    /// The summary after the last subject.
    Summary(Summary<'a>),
}

/// Values that apply to all lines, and counts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary<'a> {
    /// Schema version of the subjects.
    pub schema_version: u32,
    /// The program.
    pub tool: &'a Tool,
    /// Date for unpinned versions.
    pub as_of: Option<&'a str>,
    /// The fleet of the check.
    pub fleet: &'a Fleet,
    /// Number of subjects.
    pub subjects: usize,
    /// Number of inputs that could not be read.
    pub errors: usize,
    /// Number of verdicts on whole images, by verdict.
    pub fates: BTreeMap<VerdictKind, usize>,
}

/// Numbers of subjects and verdicts, counted while subjects are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectCounts {
    subjects: usize,
    fates: BTreeMap<VerdictKind, usize>,
}

impl SubjectCounts {
    /// Counts a subject and its verdicts.
    pub fn add_subject(&mut self, subject: &Subject) {
        self.subjects += 1;
        for verdict in subject.verdicts.iter().filter(|verdict| verdict.component.is_none()) {
            *self.fates.entry(verdict.fate).or_default() += 1;
        }
    }

    /// Converts the counts into the summary, which is the last line of a report; the subjects of `report` are not used.
    pub fn into_summary(self, report: &Report) -> Summary<'_> {
        Summary {
            schema_version: report.schema_version,
            tool: &report.tool,
            as_of: report.as_of.as_deref(),
            fleet: &report.fleet,
            subjects: self.subjects,
            errors: report.errors.len(),
            fates: self.fates,
        }
    }
}

/// Writes a line for each subject and each error.
#[derive(Debug, Default)]
pub struct NdjsonWriter {
    counts: SubjectCounts,
}

impl ReportWriter for NdjsonWriter {
    fn write_start(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = out;
        head.errors.iter().try_for_each(|error| write_ndjson_line(&Line::Error(error), &mut out))
    }

    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = out;
        self.counts.add_subject(subject);
        write_ndjson_line(&Line::Subject(subject), &mut out)
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = out;
        write_ndjson_line(&Line::Summary(std::mem::take(&mut self.counts).into_summary(head)), &mut out)
    }
}

/// Writes one line.
pub fn write_ndjson_line(line: &Line<'_>, out: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(EscapingWriter(&mut *out), line).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ndjson_record_is_one_line_for_any_text() {
        let error =
            InputError { input: "a\n\u{1b}[31m\u{2028}".to_owned(), message: "b\r\n".to_owned(), location: None };
        let mut out = Vec::new();
        write_ndjson_line(&Line::Error(&error), &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{2028}']), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("json");
        assert_eq!((&value["type"], &value["input"]), (&"error".into(), &error.input.as_str().into()));
    }
}
