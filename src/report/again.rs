//! A saved report, read for what is judged again: what was seen, and the texts behind it.
//!
//! Verdicts, findings and facts are made anew. They are passed over and never in memory, as the text of the report is
//! not: the report of an audit may be longer than what there is room for.

use std::cell::Cell;
use std::fmt;
use std::io;

use serde::Deserialize;
use serde::Deserializer as _;
use serde::de::IgnoredAny;
use serde::de::MapAccess;
use serde::de::Visitor;
use serde_json::Value;

use crate::parallel;
use crate::report::facts_sum::FactsSum;
use crate::report::json::ReadError;
use crate::report::json::SCHEMA_VERSION;
use crate::report::model::ImageOf;
use crate::report::model::InputError;
use crate::report::observed::Observed;
use crate::report::observed::Text;
use crate::report::thin::Thin;

/// What is taken at a time of what was read ahead.
const BUFFER: usize = 64 << 10;

/// What of a report is judged again.
#[derive(Clone, Debug, Deserialize)]
pub struct Again {
    /// Everything that was judged.
    pub subjects: Vec<Kept>,
    /// Inputs that could not be read.
    pub errors: Vec<InputError>,
    /// The files that places refer to.
    #[serde(default)]
    pub texts: Vec<Text>,
}

/// What of a subject is judged again.
#[derive(Clone, Debug, Deserialize)]
pub struct Kept {
    /// Path or reference as given.
    pub name: String,
    /// `dockerfile`, `image` or `description`.
    pub kind: String,
    /// Day for which tables were asked, where the run did not say it.
    pub as_of: Option<String>,
    /// Manifest digest of an image.
    pub digest: Option<String>,
    /// The images behind its name, one a platform.
    #[serde(default)]
    pub images: Vec<ImageOf>,
    /// The sum of the facts, which are made anew.
    #[serde(default)]
    pub facts: Option<FactsSum>,
    /// What was seen.
    #[serde(default)]
    pub observed: Observed,
}

impl Kept {
    /// Whether somebody changed the facts, which are made anew of what was seen. Without facts, or a word of what
    /// they were, nothing can be told.
    pub fn has_other_facts(&self) -> bool {
        self.facts.as_ref().zip(self.observed.facts.as_ref()).is_some_and(|(sum, written)| sum.text() != *written)
    }
}

/// Reads a report; `open` is asked several times for its bytes, and has to give the same ones.
pub fn read<R: io::Read + Send>(open: impl Fn() -> io::Result<R>) -> Result<Again, ReadError> {
    let open = || open().map_err(|error| ReadError::Syntax(serde_json::Error::io(error)));
    match version(open()?)? {
        None => Err(ReadError::NoVersion),
        Some(version) if version.as_u64() == Some(u64::from(SCHEMA_VERSION)) => {
            let thin = Thin::new(open()?);
            match parallel::ahead(thin, |thin| serde_json::from_reader(io::BufReader::with_capacity(BUFFER, thin))) {
                Ok(again) => Ok(again),
                // The whole text tells what is wrong, and where; and it may be right, and written as no program does.
                Err(_) => serde_json::from_reader(open()?).map_err(of_shape),
            }
        }
        Some(version) => Err(ReadError::Version(version.to_string())),
    }
}

/// What is wrong with a report of the right version: its members, or that it is cut off.
fn of_shape(error: serde_json::Error) -> ReadError {
    if error.is_data() { ReadError::Shape(error) } else { ReadError::Syntax(error) }
}

/// The version that a report begins with: no more of it is read than up to there.
fn version(from: impl io::Read) -> Result<Option<Value>, ReadError> {
    let found = Cell::new(None);
    let outcome = serde_json::Deserializer::from_reader(from).deserialize_any(Head(&found));
    match (found.take(), outcome) {
        (Some(version), _) => Ok(Some(version)),
        (None, Err(error)) if !error.is_data() => Err(ReadError::Syntax(error)),
        (None, _) => Ok(None),
    }
}

/// Looks for the version among the fields of an object.
struct Head<'a>(&'a Cell<Option<Value>>);

impl<'de> Visitor<'de> for Head<'_> {
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

    fn of(text: &str) -> Result<Again, ReadError> {
        read(|| Ok(text.as_bytes()))
    }

    #[test]
    fn what_is_made_anew_may_be_missing_or_odd() {
        let text = r#" {"schema_version":1,"tool":7,"subjects":[{"name":"a","kind":"image","verdicts":{"x":[1]}}],"errors":[]}"#;
        let again = of(text).expect("a report");
        assert_eq!((again.subjects[0].name.as_str(), again.subjects[0].observed.platforms.len()), ("a", 0));
        // The version may stand behind.
        assert!(of(r#"{"subjects":[],"errors":[],"schema_version":1}"#).is_ok());
    }

    #[test]
    fn says_what_is_wrong_with_a_text() {
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
            assert_eq!(of(text).expect_err("a mistake").to_string(), expected, "{text}");
        }
        let gone = read(|| Err::<&[u8], _>(io::Error::other("gone"))).expect_err("no file");
        assert!(gone.to_string().contains("gone"), "{gone}");
    }
}
