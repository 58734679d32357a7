//! A saved report that is read to be checked again: the observations of its subjects and the source texts.
//!
//! Verdicts, findings and facts are made anew. They are passed over and never in memory, as the text of the report is
//! not: the report of an audit may be longer than what there is room for.

use std::cell::Cell;
use std::{fmt, io};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::Value;

use crate::parallel;
use crate::report::facts_digest::FactsDigest;
use crate::report::json::{ReportReadError, SCHEMA_VERSION};
use crate::report::kinds::SubjectKind;
use crate::report::model::{ImageOf, InputError, Observed, Text};
use crate::report::report_filter::ReportFilter;

/// Size in bytes of the buffer through which the JSON parser reads.
const READ_BUFFER_SIZE: usize = 64 << 10;

/// The parts of a saved report that a new check needs.
#[derive(Clone, Debug, Deserialize)]
pub struct SavedReport {
    /// Everything that was judged.
    pub subjects: Vec<SavedReportSubject>,
    /// Inputs that could not be read.
    pub errors: Vec<InputError>,
    /// The files that places refer to.
    #[serde(default)]
    pub texts: Vec<Text>,
}

/// The parts of a saved subject that a new check needs.
#[derive(Clone, Debug, Deserialize)]
pub struct SavedReportSubject {
    /// Path or reference as given.
    pub name: String,
    /// `dockerfile`, `image` or `description`.
    pub kind: SubjectKind,
    /// The day for which the tables were queried, if the run did not set it.
    pub as_of: Option<String>,
    /// Manifest digest of an image.
    pub digest: Option<String>,
    /// The images behind its name, one a platform.
    #[serde(default)]
    pub images: Vec<ImageOf>,
    /// The sum of the facts, which are made anew.
    #[serde(default)]
    pub facts: Option<FactsDigest>,
    /// What was seen.
    #[serde(default)]
    pub observed: Observed,
}

impl SavedReportSubject {
    /// Whether the facts were edited after the report was written; `false` if the report contains no facts or no
    /// digest of them.
    pub fn has_edited_facts(&self) -> bool {
        self.facts.as_ref().zip(self.observed.facts.as_ref()).is_some_and(|(sum, written)| sum.to_hex() != *written)
    }
}

/// Reads a report; `open` is called several times and must return a reader of the same bytes each time.
pub fn read_saved_report<R: io::Read + Send>(open: impl Fn() -> io::Result<R>) -> Result<SavedReport, ReportReadError> {
    let open = || open().map_err(|error| ReportReadError::Syntax(serde_json::Error::io(error)));
    match read_schema_version(open()?)? {
        None => Err(ReportReadError::NoVersion),
        Some(version) if version.as_u64() == Some(u64::from(SCHEMA_VERSION)) => {
            let filtered = ReportFilter::new(open()?);
            match parallel::read_ahead(filtered, |reader| {
                serde_json::from_reader(io::BufReader::with_capacity(READ_BUFFER_SIZE, reader))
            }) {
                Ok(again) => Ok(again),
                // The whole text tells what is wrong, and where; and it may be right, and written as no program does.
                Err(_) => serde_json::from_reader(open()?).map_err(to_read_error),
            }
        }
        Some(version) => Err(ReportReadError::Version(version.to_string())),
    }
}

/// Returns the error for a report of the supported version: wrong members, or truncated JSON.
fn to_read_error(error: serde_json::Error) -> ReportReadError {
    if error.is_data() { ReportReadError::Shape(error) } else { ReportReadError::Syntax(error) }
}

/// Reads the schema version, and no more of the report than up to it.
fn read_schema_version(from: impl io::Read) -> Result<Option<Value>, ReportReadError> {
    let found = Cell::new(None);
    let outcome = serde_json::Deserializer::from_reader(from).deserialize_any(VersionVisitor(&found));
    match (found.take(), outcome) {
        (Some(version), _) => Ok(Some(version)),
        (None, Err(error)) if !error.is_data() => Err(ReportReadError::Syntax(error)),
        (None, _) => Ok(None),
    }
}

/// Finds the schema version among the members of an object.
struct VersionVisitor<'a>(&'a Cell<Option<Value>>);

impl<'de> Visitor<'de> for VersionVisitor<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a report")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut fields: M) -> Result<(), M::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if name == "schema_version" {
                self.0.set(Some(fields.next_value()?));
                return Ok(());
            }
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<SavedReport, ReportReadError> {
        read_saved_report(|| Ok(text.as_bytes()))
    }

    #[test]
    fn saved_report_may_lack_recomputed_fields() {
        let text = r#" {"schema_version":1,"tool":7,"subjects":[{"name":"a","kind":"image","verdicts":{"x":[1]}}],"errors":[]}"#;
        let again = read_text(text).expect("a report");
        assert_eq!((again.subjects[0].name.as_str(), again.subjects[0].observed.platforms.len()), ("a", 0));
        // The version may be the last key.
        assert!(read_text(r#"{"subjects":[],"errors":[],"schema_version":1}"#).is_ok());
    }

    #[test]
    fn invalid_json_is_reported_with_its_fault() {
        for (text, expected) in [
            ("FROM x", "not a JSON report (expected value at line 1 column 1); pass a report of --format json"),
            ("", "not a JSON report (EOF while parsing a value at line 1 column 0); pass a report of --format json"),
            ("{}", "not a report of imagelint: it has no `schema_version`"),
            ("[1]", "not a report of imagelint: it has no `schema_version`"),
            (r#"{"schema_version":2}"#, "schema version 2 is unknown; this program reads version 1"),
            (r#"{"schema_version":2,"subjects":7}"#, "schema version 2 is unknown; this program reads version 1"),
            (r#"{"schema_version":"1"}"#, "schema version \"1\" is unknown; this program reads version 1"),
            (
                r#"{"schema_version":1}"#,
                "not a report of schema version 1: missing field `subjects` at line 1 column 20",
            ),
            (
                r#"{"schema_version":1,"subjects":[]"#,
                "not a JSON report (EOF while parsing an object at line 1 column 33); pass a report of --format json",
            ),
        ] {
            assert_eq!(read_text(text).expect_err("a mistake").to_string(), expected, "{text}");
        }
        let error = read_saved_report(|| Err::<&[u8], _>(io::Error::other("gone"))).expect_err("no file");
        assert!(error.to_string().contains("gone"), "{error}");
    }
}
