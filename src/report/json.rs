//! The report as JSON, written and read back.

use std::cell::Cell;
use std::io;

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeStruct as _;
use serde_json::Value;
use thiserror::Error;

use crate::report::escape::is_unsafe;
use crate::report::lines::Lines;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::observed::Text;

/// The only schema version that this program knows.
pub const SCHEMA_VERSION: u32 = 1;

/// Why a saved report cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
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

/// Writes the report, indented, with a newline at the end. What lies as deep as the steps of a replay takes one line each:
/// of a fleet of many pools those are most of a report, and their indentation would be half of it.
pub fn json(report: &Report, out: &mut impl io::Write) -> io::Result<()> {
    write(report, out)
}

/// The same, subject by subject as they come; `texts` is asked when all of them are written.
pub fn stream(
    head: &Report,
    subjects: impl Iterator<Item = Subject>,
    texts: impl FnOnce() -> Vec<Text>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write(&Stream { head, subjects: Cell::new(Some(subjects)), texts: Cell::new(Some(texts)) }, out)
}

fn write(value: &impl Serialize, out: &mut impl io::Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(Escaping(&mut *out), Lines::default());
    value.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// A report whose subjects are made while it is written.
struct Stream<'a, I, T> {
    head: &'a Report,
    subjects: Cell<Option<I>>,
    texts: Cell<Option<T>>,
}

impl<I: Iterator<Item = Subject>, T: FnOnce() -> Vec<Text>> Serialize for Stream<'_, I, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { schema_version, tool, as_of, fleet, subjects: _, errors, texts: _ } = self.head;
        let mut report = serializer.serialize_struct("Report", 7)?;
        report.serialize_field("schema_version", schema_version)?;
        report.serialize_field("tool", tool)?;
        report.serialize_field("as_of", as_of)?;
        report.serialize_field("fleet", fleet)?;
        report.serialize_field("subjects", &Each(&self.subjects))?;
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

struct Each<'a, I>(&'a Cell<Option<I>>);

impl<I: Iterator<Item = Subject>> Serialize for Each<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}

/// Writes characters that do harm to a terminal as escapes. Line ends are the only such characters between the
/// strings of JSON; within them all can be written so.
pub(super) struct Escaping<'a, W>(pub(super) &'a mut W);

impl<W: io::Write> io::Write for Escaping<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Strings are handed over in whole characters.
        let Ok(mut rest) = std::str::from_utf8(bytes) else {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        };
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| *c != '\n' && is_unsafe(*c)) {
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

/// Reads a report that [`json`] wrote.
pub fn read(text: &str) -> Result<Report, ReadError> {
    let value: Value = serde_json::from_str(text).map_err(ReadError::Syntax)?;
    match value.get("schema_version") {
        None => return Err(ReadError::NoVersion),
        Some(version) if version.as_u64() == Some(u64::from(SCHEMA_VERSION)) => {}
        Some(version) => return Err(ReadError::Version(version.to_string())),
    }
    // From the text again: it knows the line of a mistake, the value does not.
    serde_json::from_str(text).map_err(ReadError::Shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_with_a_text() {
        for (text, expected) in [
            ("FROM x", "not a JSON report (expected value at line 1 column 1); pass a report of --format json"),
            ("{}", "not a report of imagelint: it has no `schema_version`"),
            ("[1]", "not a report of imagelint: it has no `schema_version`"),
            (r#"{"schema_version":2}"#, "schema version 2 is unknown; this program reads version 1"),
            (r#"{"schema_version":"1"}"#, "schema version \"1\" is unknown; this program reads version 1"),
            (r#"{"schema_version":1}"#, "not a report of schema version 1: missing field `tool` at line 1 column 20"),
        ] {
            assert_eq!(read(text).expect_err("a mistake").to_string(), expected, "{text}");
        }
    }
}
