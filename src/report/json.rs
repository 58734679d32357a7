//! The report as JSON, written and read back.

use std::cell::Cell;
use std::io;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::report::escape::is_unsafe_char;
use crate::report::json_formatter::ReportFormatter;
use crate::report::model::{Report, Subject, Text};

/// The only schema version that this program supports.
pub const SCHEMA_VERSION: u32 = 1;

/// Why a saved report cannot be read.
#[derive(Debug, Error)]
pub enum ReportReadError {
    /// Not JSON at all.
    #[error("not a JSON report ({0}); pass a report of --format json")]
    Syntax(#[source] serde_json::Error),
    /// JSON without a schema version.
    #[error("not a report of imagelint: it has no `schema_version`")]
    NoVersion,
    /// A version of the schema that this program does not know.
    #[error("schema version {0} is unknown; this program reads version 1")]
    Version(String),
    /// Version 1 in words only.
    #[error("not a report of schema version 1: {0}")]
    Shape(#[source] serde_json::Error),
}

/// Writes the report as indented JSON with a newline at the end; each step of a simulated start takes one line to
/// limit the size.
pub fn write_json(report: &Report, out: &mut impl io::Write) -> io::Result<()> {
    write_json_value(report, out)
}

/// Writes the same JSON, subject by subject; `texts` is called after the last subject.
pub fn write_json_stream(
    head: &Report,
    subjects: impl Iterator<Item = Subject>,
    texts: impl FnOnce() -> Vec<Text>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write_json_value(&ReportStream { head, subjects: Cell::new(Some(subjects)), texts: Cell::new(Some(texts)) }, out)
}

/// Writes a value as JSON and a newline.
fn write_json_value(value: &impl Serialize, out: &mut impl io::Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(EscapingWriter(&mut *out), ReportFormatter::default());
    value.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// A report whose subjects are created while it is written.
struct ReportStream<'a, I, T> {
    head: &'a Report,
    subjects: Cell<Option<I>>,
    texts: Cell<Option<T>>,
}

impl<I: Iterator<Item = Subject>, T: FnOnce() -> Vec<Text>> Serialize for ReportStream<'_, I, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { schema_version, tool, as_of, fleet, subjects: _, errors, texts: _ } = self.head;
        let mut report = serializer.serialize_struct("Report", 7)?;
        report.serialize_field("schema_version", schema_version)?;
        report.serialize_field("tool", tool)?;
        report.serialize_field("as_of", as_of)?;
        report.serialize_field("fleet", fleet)?;
        report.serialize_field("subjects", &SubjectSequence(&self.subjects))?;
        report.serialize_field("errors", errors)?;
        let texts = self.texts.take().map(|texts| texts()).unwrap_or_default();
        if texts.is_empty() {
            report.skip_field("texts")?;
        } else {
            report.serialize_field("texts", &texts)?;
        }
        report.end()
    }
}

/// Subjects that are created while they are serialized.
struct SubjectSequence<'a, I>(&'a Cell<Option<I>>);

impl<I: Iterator<Item = Subject>> Serialize for SubjectSequence<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}

/// Writes characters of JSON strings that are harmful to a terminal as escapes; line breaks between the strings stay.
pub(super) struct EscapingWriter<'a, W>(pub(super) &'a mut W);

impl<W: io::Write> io::Write for EscapingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Strings are handed over in whole characters.
        let Ok(mut rest) = std::str::from_utf8(bytes) else {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        };
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| *c != '\n' && is_unsafe_char(*c)) {
            self.0.write_all(rest.get(..at).unwrap_or_default().as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = rest.get(at + c.len_utf8()..).unwrap_or_default();
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Parses a report that `write_json` wrote.
pub fn parse_report(text: &str) -> Result<Report, ReportReadError> {
    let value: Value = serde_json::from_str(text).map_err(ReportReadError::Syntax)?;
    match value.get("schema_version") {
        None => return Err(ReportReadError::NoVersion),
        Some(version) if version.as_u64() == Some(u64::from(SCHEMA_VERSION)) => {}
        Some(version) => return Err(ReportReadError::Version(version.to_string())),
    }
    // From the text again: it knows the line of a mistake, the value does not.
    serde_json::from_str(text).map_err(ReportReadError::Shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_json_is_reported_with_its_fault() {
        for (text, expected) in [
            ("FROM x", "not a JSON report (expected value at line 1 column 1); pass a report of --format json"),
            ("{}", "not a report of imagelint: it has no `schema_version`"),
            ("[1]", "not a report of imagelint: it has no `schema_version`"),
            (r#"{"schema_version":2}"#, "schema version 2 is unknown; this program reads version 1"),
            (r#"{"schema_version":"1"}"#, "schema version \"1\" is unknown; this program reads version 1"),
            (r#"{"schema_version":1}"#, "not a report of schema version 1: missing field `tool` at line 1 column 20"),
        ] {
            assert_eq!(parse_report(text).expect_err("a mistake").to_string(), expected, "{text}");
        }
    }
}
