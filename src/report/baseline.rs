//! Baseline files: known findings, which later runs no longer report.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::report::fingerprint::Fingerprint;

/// The only version of the file format that this program supports.
const VERSION: u32 = 1;

/// Why a baseline cannot be read.
#[derive(Debug, Error)]
pub enum BaselineError {
    /// Not what [`Baseline::to_json`] writes.
    #[error("not a baseline of imagelint: {0}; write it with --write-baseline")]
    Shape(#[from] serde_json::Error),
    /// Written by a newer program.
    #[error("baseline version {0} is unknown; this program reads version 1")]
    Version(u32),
}

/// One known finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// File, as seen from the baseline's folder, or subject.
    pub path: String,
    /// Rule.
    pub rule: String,
    /// Pool, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Hash.
    pub fingerprint: String,
}

impl From<Fingerprint> for Entry {
    fn from(one: Fingerprint) -> Self {
        Self { path: one.path, rule: one.rule, pool: one.pool, fingerprint: one.hash }
    }
}

/// The known findings, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeSet<Entry>,
    hashes: BTreeSet<String>,
}

/// The contents of a baseline file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    version: u32,
    findings: Vec<Entry>,
}

impl Baseline {
    /// Returns a baseline of these entries.
    fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let entries: BTreeSet<Entry> = entries.collect();
        let hashes = entries.iter().map(|entry| entry.fingerprint.clone()).collect();
        Self { entries, hashes }
    }

    /// Returns the baseline of the findings of a run.
    pub fn from_fingerprints(found: impl IntoIterator<Item = Fingerprint>) -> Self {
        Self::new(found.into_iter().map(Entry::from))
    }

    /// Reads a file that [`Self::to_json`] wrote.
    pub fn read(text: &str) -> Result<Self, BaselineError> {
        let written: BaselineFile = serde_json::from_str(text)?;
        match written.version {
            VERSION => Ok(Self::new(written.findings.into_iter())),
            other => Err(BaselineError::Version(other)),
        }
    }

    /// Returns the file: one finding per line, sorted, so that a changed finding changes one line.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let lines: Vec<String> = self
            .entries
            .iter()
            .map(|entry| serde_json::to_string(entry).map(|line| format!("    {line}")))
            .collect::<Result<_, _>>()?;
        let list = if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", lines.join(",\n")) };
        Ok(format!("{{\n  \"version\": {VERSION},\n  \"findings\": {list}\n}}\n"))
    }

    /// Returns the number of known findings.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no known findings.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the known findings in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Whether a finding with this hash is known.
    pub fn contains_hash(&self, hash: &str) -> bool {
        self.hashes.contains(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_fingerprint(path: &str, pool: Option<&str>) -> Fingerprint {
        let hash = format!("{path}-{}", pool.unwrap_or_default());
        Fingerprint { path: path.to_owned(), rule: "r".to_owned(), pool: pool.map(str::to_owned), hash }
    }

    #[test]
    fn written_baseline_is_sorted_and_readable() {
        let one = Baseline::from_fingerprints([
            test_fingerprint("b", None),
            test_fingerprint("a", Some("x\n\"")),
            test_fingerprint("b", None),
        ]);
        let other = Baseline::from_fingerprints([test_fingerprint("a", Some("x\n\"")), test_fingerprint("b", None)]);
        let text = one.to_json().expect("json");
        assert_eq!(text, other.to_json().expect("json"));
        assert_eq!(text.lines().count(), 5 + one.len(), "a line for each: {text}");
        assert_eq!(Baseline::read(&text).expect("a baseline"), one);
        assert_eq!(Baseline::read(&Baseline::default().to_json().expect("json")).expect("empty").len(), 0);
    }

    #[test]
    fn other_files_are_refused() {
        for (text, expected) in [
            ("", "not a baseline"),
            ("[]", "not a baseline"),
            ("{\"findings\": []}", "missing field `version`"),
            ("{\"version\": 1}", "missing field `findings`"),
            ("{\"version\": 2, \"findings\": []}", "baseline version 2 is unknown"),
            ("{\"version\": 1, \"findings\": [{}]}", "missing field `path`"),
            ("{\"version\": 1, \"findings\": [], \"more\": 1}", "unknown field `more`"),
        ] {
            let error = Baseline::read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
