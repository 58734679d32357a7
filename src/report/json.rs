//! The report as JSON, written and read back.

use std::io;

use serde_json::Value;
use thiserror::Error;

use crate::report::escape::is_unsafe;
use crate::report::model::Report;

/// The only schema version that this program knows.
pub const SCHEMA_VERSION: u32 = 1;

/// Why a saved report cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Not JSON at all.
    #[error("not JSON: {0}")]
    Syntax(#[source] serde_json::Error),
    /// JSON without a schema version.
    #[error("not a report of imagelint: it has no `schema_version`")]
    NoVersion,
    /// A version of the schema that this program does not know.
    #[error("schema version {0} is not known, this program reads version 1")]
    Version(String),
    /// Version 1 in words only.
    #[error("not a report of schema version 1: {0}")]
    Shape(#[source] serde_json::Error),
}

/// Writes the report, indented, with a newline at the end.
pub fn json(report: &Report, out: &mut impl io::Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(report).map_err(io::Error::from)?;
    let mut rest = text.as_str();
    // Line ends are the only such characters between the strings; within them all can be written as escapes.
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| *c != '\n' && is_unsafe(*c)) {
        out.write_all(rest.get(..at).unwrap_or_default().as_bytes())?;
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = rest.get(at + c.len_utf8()..).unwrap_or_default();
    }
    out.write_all(rest.as_bytes())?;
    out.write_all(b"\n")
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
            ("FROM x", "not JSON: expected value at line 1 column 1"),
            ("{}", "not a report of imagelint: it has no `schema_version`"),
            ("[1]", "not a report of imagelint: it has no `schema_version`"),
            (r#"{"schema_version":2}"#, "schema version 2 is not known, this program reads version 1"),
            (r#"{"schema_version":"1"}"#, "schema version \"1\" is not known, this program reads version 1"),
            (r#"{"schema_version":1}"#, "not a report of schema version 1: missing field `tool` at line 1 column 20"),
        ] {
            assert_eq!(read(text).expect_err("a mistake").to_string(), expected, "{text}");
        }
    }
}
