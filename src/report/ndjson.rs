//! The report line by line: a line of JSON for each subject and each error, and a summary at the end.

use std::collections::BTreeMap;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::Escaping;
use crate::report::kinds::VerdictKind;
use crate::report::model::Fleet;
use crate::report::model::InputError;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::model::Tool;
use crate::report::sink::Sink;

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

/// What is counted on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    subjects: usize,
    fates: BTreeMap<VerdictKind, usize>,
}

impl Counts {
    /// Adds a subject.
    pub fn add(&mut self, subject: &Subject) {
        self.subjects += 1;
        for verdict in subject.verdicts.iter().filter(|verdict| verdict.component.is_none()) {
            *self.fates.entry(verdict.fate).or_default() += 1;
        }
    }

    /// The last line of a report; its own subjects are not looked at.
    pub fn summary(self, report: &Report) -> Summary<'_> {
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

/// Writes lines as they come.
#[derive(Debug, Default)]
pub struct Ndjson {
    counts: Counts,
}

impl Sink for Ndjson {
    fn begin(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = out;
        head.errors.iter().try_for_each(|error| line(&Line::Error(error), &mut out))
    }

    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = out;
        self.counts.add(subject);
        line(&Line::Subject(subject), &mut out)
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = out;
        line(&Line::Summary(std::mem::take(&mut self.counts).summary(head)), &mut out)
    }
}

/// Writes one line.
pub fn line(line: &Line<'_>, out: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(Escaping(&mut *out), line).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_is_in_it() {
        let error =
            InputError { input: "a\n\u{1b}[31m\u{2028}".to_owned(), message: "b\r\n".to_owned(), location: None };
        let mut out = Vec::new();
        line(&Line::Error(&error), &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\r', '\u{2028}']), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("json");
        assert_eq!((&value["type"], &value["input"]), (&"error".into(), &error.input.as_str().into()));
    }
}
