//! An exact version of a package.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr as _;

use pep440_rs::Version;
use serde::{Deserialize, Serialize};

/// An exact version as written, with what it means by PEP 440; versions of other package managers need not be of that
/// form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ExactVersion {
    text: String,
    parsed: Option<Version>,
}

impl ExactVersion {
    /// Returns the version as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is a version by PEP 440.
    pub fn is_valid(&self) -> bool {
        self.parsed.is_some()
    }

    /// Returns the text without the local part.
    pub fn public(&self) -> &str {
        public_version(&self.text)
    }

    /// Returns the local part: `cu121` of `2.1.0+cu121`.
    pub fn local(&self) -> Option<&str> {
        self.text.split_once('+').map(|(_, local)| local)
    }

    /// Returns the version without its local part.
    #[must_use]
    pub fn without_local(&self) -> Self {
        match &self.parsed {
            Some(parsed) => Self { text: self.public().to_owned(), parsed: Some(parsed.clone().without_local()) },
            // The local part alone may be invalid.
            None => Self::from(self.public()),
        }
    }

    /// Whether it is a pre-release: a nightly build or a release candidate.
    pub fn is_prerelease(&self) -> bool {
        self.parsed.as_ref().is_some_and(Version::any_prerelease)
    }

    /// Compares two versions by PEP 440; invalid ones come first, in the order of their texts.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.parsed.cmp(&other.parsed).then_with(|| match self.parsed {
            Some(_) => Ordering::Equal,
            None => self.text.cmp(&other.text),
        })
    }

    /// Compares two versions by PEP 440; `None` if one is invalid.
    pub fn compare_valid(&self, other: &Self) -> Option<Ordering> {
        Some(self.parsed.as_ref()?.cmp(other.parsed.as_ref()?))
    }

    /// Compares the release numbers of two versions, so that 2.6.0rc1 and 2.6.0.post1 equal 2.6.0; `None` if one is
    /// invalid.
    pub fn compare_release_numbers(&self, other: &Self) -> Option<Ordering> {
        Some(self.parsed.as_ref()?.only_release().cmp(&other.parsed.as_ref()?.only_release()))
    }

    /// Whether it is at least a version by PEP 440, where a pre-release counts as its release: it has the same content.
    pub fn reaches(&self, bound: &Self) -> bool {
        if self.is_prerelease() {
            self.compare_release_numbers(bound).is_some_and(Ordering::is_ge)
        } else {
            self.compare(bound).is_ge()
        }
    }

    /// Whether both are the same version by PEP 440: `2.1` and `2.1.0`.
    pub fn is_same(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }

    /// Returns the version of PEP 440; `None` if it is invalid.
    pub(super) fn parsed(&self) -> Option<&Version> {
        self.parsed.as_ref()
    }
}

impl From<String> for ExactVersion {
    fn from(text: String) -> Self {
        let parsed = Version::from_str(&text).ok();
        Self { text, parsed }
    }
}

impl From<&str> for ExactVersion {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<&Version> for ExactVersion {
    fn from(version: &Version) -> Self {
        Self { text: version.to_string(), parsed: Some(version.clone()) }
    }
}

impl From<ExactVersion> for String {
    fn from(version: ExactVersion) -> Self {
        version.text
    }
}

impl fmt::Display for ExactVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl PartialEq for ExactVersion {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ExactVersion {}

impl PartialOrd for ExactVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of PEP 440, and of the texts of one version.
impl Ord for ExactVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other).then_with(|| self.text.cmp(&other.text))
    }
}

impl Hash for ExactVersion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Whether a version consists only of numbers and dots, in the normal form of PEP 440.
pub(crate) fn is_plain_version(version: &str) -> bool {
    version.split('.').all(|part| {
        let digits = (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    })
}

/// Returns a version without its local part.
fn public_version(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_version_is_written_as_it_is_read() {
        for (version, expected) in [
            ("1.26.4", true),
            ("0", true),
            ("2024.1.0.20", true),
            ("01.2", false),
            ("1.00", false),
            ("1.", false),
            (".1", false),
            ("", false),
            (" 1.2", false),
            ("1.2rc1", false),
            ("1.2+cu118", false),
            ("1.*", false),
            ("v1.2", false),
            ("1!2.0", false),
            ("99999999999999999999", false),
        ] {
            assert_eq!(is_plain_version(version), expected, "{version}");
            if expected {
                assert_eq!(Version::from_str(version).expect("one").to_string(), version);
            }
        }
    }

    #[test]
    fn a_version_has_a_public_and_a_local_part() {
        for (text, public, local, prerelease) in [
            ("2.1.0", "2.1.0", None, false),
            ("2.1.0+cu121", "2.1.0", Some("cu121"), false),
            ("2.6.0a0+df5bbc09d1", "2.6.0a0", Some("df5bbc09d1"), true),
            ("2.1.0+", "2.1.0", Some(""), false),
            ("2:8.9.7-1+cuda12.2", "2:8.9.7-1", Some("cuda12.2"), false),
            ("", "", None, false),
        ] {
            let version = ExactVersion::from(text);
            assert_eq!((version.as_str(), version.public(), version.local()), (text, public, local), "{text}");
            assert_eq!(version.is_prerelease(), prerelease, "{text}");
            let without = version.without_local();
            assert_eq!(without.as_str(), public, "{text}");
            assert_eq!(without.parsed, Version::from_str(public).ok(), "{text}");
        }
    }

    #[test]
    fn versions_compare_by_pep_440_and_equal_by_text() {
        for (one, other, expected) in [
            ("2.10.0", "2.9.1", Some(Ordering::Greater)),
            ("2.1", "2.1.0", Some(Ordering::Equal)),
            ("2.1.0+cu118", "2.1.0", Some(Ordering::Greater)),
            ("x", "2.1.0", None),
            ("2.1.0", "x", None),
        ] {
            assert_eq!(ExactVersion::from(one).compare_valid(&ExactVersion::from(other)), expected, "{one} {other}");
        }
        assert_ne!(ExactVersion::from("2.1"), ExactVersion::from("2.1.0"));
    }

    #[test]
    fn a_prerelease_reaches_its_release() {
        for (version, bound, expected) in [
            ("2", "2.0", true),
            ("2.0rc1", "2.0", true),
            ("2.6.0a0+df5bbc09d1", "2.6", true),
            ("2.6.0a0+df5bbc09d1", "2.7", false),
            ("0.36.0", "0.36.0.post2", false),
            ("0.36.0.post2", "0.36.0.post2", true),
            ("nightly", "2.0", false),
        ] {
            assert_eq!(ExactVersion::from(version).reaches(&ExactVersion::from(bound)), expected, "{version} {bound}");
        }
    }

    #[test]
    fn a_version_is_saved_as_its_text() {
        let version = ExactVersion::from("2.1.0+cu121");
        let saved = serde_json::to_string(&version).expect("JSON");
        assert_eq!(saved, r#""2.1.0+cu121""#);
        assert_eq!(serde_json::from_str::<ExactVersion>(&saved).expect("a version"), version);
    }
}
