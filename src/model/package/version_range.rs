//! A range of versions.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr as _;

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};
use serde::{Deserialize, Serialize};

use crate::model::package::exact_version::ExactVersion;
use crate::model::package::version_set::VersionSet;

/// A range of versions as written, such as `>=2.1,<3`, with what it means by PEP 440; an empty one admits every version.
///
/// A text that is no range is kept too: whether it admits a version is unknown.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct VersionRange {
    text: String,
    specifiers: Option<VersionSpecifiers>,
}

impl VersionRange {
    /// The longest number in a range that is a set; larger ones overflow at the next version.
    const MAX_DIGITS: usize = 18;

    /// Returns the versions that several ranges admit together; `None` if one is invalid.
    pub fn common_set(ranges: &[Self]) -> Option<VersionSet> {
        let sets: Option<Vec<VersionSet>> = ranges.iter().map(Self::set).collect();
        Some(VersionSet::intersection(sets?))
    }

    /// Returns the range of the versions in all of several ranges.
    pub fn of_all<'a>(ranges: impl IntoIterator<Item = &'a Self>) -> Self {
        let texts: Vec<&str> = ranges.into_iter().map(Self::as_str).filter(|range| !range.is_empty()).collect();
        Self::from(texts.join(","))
    }

    /// Returns the range as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether no version is requested.
    pub fn is_any(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is a range of PEP 440.
    pub fn is_valid(&self) -> bool {
        self.specifiers.is_some()
    }

    /// Whether it contains a version; `None` if either is invalid.
    pub fn contains(&self, version: &ExactVersion) -> Option<bool> {
        Some(self.specifiers.as_ref()?.contains(version.parsed()?))
    }

    /// Whether it contains the version with a text; `None` if either is invalid.
    pub fn contains_text(&self, version: &str) -> Option<bool> {
        let specifiers = self.specifiers.as_ref()?;
        Some(specifiers.contains(&Version::from_str(version).ok()?))
    }

    /// Whether it certainly contains the version with a text; an empty range contains invalid ones too.
    pub fn admits(&self, version: &str) -> bool {
        self.is_any() || self.contains_text(version) == Some(true)
    }

    /// Whether it names a build: `>=2.9+cu128`.
    pub fn names_build(&self) -> bool {
        self.text.contains('+')
    }

    /// Whether it names a pre-release, and therefore allows pre-releases.
    pub fn names_prerelease(&self) -> bool {
        let excludes = |one: &VersionSpecifier| matches!(one.operator(), Operator::NotEqual | Operator::NotEqualStar);
        self.specifiers().any(|one| one.version().any_prerelease() && !excludes(one))
    }

    /// Returns the version that it pins with `==`.
    pub fn pinned_version(&self) -> Option<ExactVersion> {
        let pins = |operator: &Operator| matches!(operator, Operator::Equal | Operator::ExactEqual);
        let pin = self.specifiers.as_ref()?.iter().find(|one| pins(one.operator()))?;
        Some(ExactVersion::from(pin.version()))
    }

    /// Whether it pins a version with `==` or `===`.
    pub fn is_pin(&self) -> bool {
        self.specifiers().any(|one| matches!(one.operator(), Operator::Equal | Operator::ExactEqual))
    }

    /// Whether a specifier requires equality with a version or with a prefix: `==2.1`, `==2.*`.
    pub fn has_equality(&self) -> bool {
        let equal = |one: &VersionSpecifier| {
            matches!(one.operator(), Operator::Equal | Operator::ExactEqual | Operator::EqualStar)
        };
        self.specifiers().any(equal)
    }

    /// Whether a specifier sets an upper bound without a pin.
    pub fn has_upper_bound(&self) -> bool {
        let bounds = |one: &VersionSpecifier| {
            matches!(
                one.operator(),
                Operator::LessThan | Operator::LessThanEqual | Operator::TildeEqual | Operator::EqualStar
            )
        };
        self.specifiers().any(bounds)
    }

    /// Returns the number of specifiers.
    pub fn specifier_count(&self) -> usize {
        self.specifiers().count()
    }

    /// Returns the specifiers; none if the range is invalid.
    fn specifiers(&self) -> impl Iterator<Item = &VersionSpecifier> {
        self.specifiers.iter().flat_map(|all| all.iter())
    }

    /// Returns the set of versions in the range, without regard to local parts such as `+cu121`; `None` if it is
    /// invalid.
    pub fn set(&self) -> Option<VersionSet> {
        let mut numbers = self.text.split(|c: char| !c.is_ascii_digit());
        if numbers.any(|number| number.len() > Self::MAX_DIGITS) {
            return None;
        }
        VersionSet::of_specifiers(self.specifiers.as_ref()?)
    }

    /// Whether it admits every newer release, so that an installer takes the newest. `false` if it is invalid.
    pub fn is_open_above(&self) -> bool {
        self.set().is_some_and(|set| set.is_open_above())
    }

    /// Whether it ends: it admits no version above some version. `false` if it is invalid.
    pub fn is_bounded_above(&self) -> bool {
        self.set().is_some_and(|set| !set.is_open_above())
    }
}

impl From<String> for VersionRange {
    fn from(text: String) -> Self {
        let specifiers = VersionSpecifiers::from_str(text.trim()).ok();
        Self { text, specifiers }
    }
}

impl From<&str> for VersionRange {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<VersionRange> for String {
    fn from(range: VersionRange) -> Self {
        range.text
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl PartialEq for VersionRange {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for VersionRange {}

impl PartialOrd for VersionRange {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of the texts.
impl Ord for VersionRange {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for VersionRange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_versions_by_pep_440() {
        for (range, version, expected) in [
            ("", "2.1.0", Some(true)),
            (" ", "2.1.0", Some(true)),
            ("", "nonsense", None),
            (">=2.1,<3", "2.10.0", Some(true)),
            (">=2.1,<3", "3.0", Some(false)),
            ("==2.1", "2.1.0+cu118", Some(true)),
            ("==2.1.0+cu118", "2.1.0", Some(false)),
            ("==2.1.*", "2.1.2", Some(true)),
            ("~=2.1.0", "2.2.0", Some(false)),
            ("nonsense", "2.1.0", None),
            (">=1", "nonsense", None),
        ] {
            let (range, version) = (VersionRange::from(range), ExactVersion::from(version));
            assert_eq!(range.contains(&version), expected, "{range} {version}");
            assert_eq!(range.contains_text(version.as_str()), expected, "{range} {version}");
        }
    }

    #[test]
    fn sets_know_their_ends() {
        for (range, open, of_major_2) in [
            ("", true, false),
            (">=2.1", true, false),
            ("!=2.1", true, false),
            ("<3", false, false),
            ("<=3", false, false),
            ("<3.0.0", false, false),
            ("<2.10", false, true),
            (">=2.1,<2.5", false, true),
            ("==2.1.0+cu118", false, true),
            ("==2.*", false, false),
            ("~=2.1", false, false),
            ("~=2.1.0", false, true),
            ("<1,>2", false, true),
        ] {
            let range = VersionRange::from(range);
            let set = range.set().expect("a range");
            assert_eq!((set.is_open_above(), set.ends_within_major(2)), (open, of_major_2), "{range}");
            assert_eq!((range.is_open_above(), range.is_bounded_above()), (open, !open), "{range}");
        }
        for invalid in ["what", ">=", "==18446744073709551615.*", ">1.post18446744073709551615"] {
            let range = VersionRange::from(invalid);
            assert_eq!(range.set(), None, "{invalid}");
            assert!(!range.is_open_above() && !range.is_bounded_above(), "{invalid}");
        }
    }

    #[test]
    fn several_ranges_are_one() {
        let all = |ranges: &[&str]| {
            let ranges: Vec<VersionRange> = ranges.iter().copied().map(VersionRange::from).collect();
            VersionRange::of_all(&ranges)
        };
        for (ranges, expected) in
            [(&[][..], ""), (&[""], ""), (&["", ">=2", "", "<3"], ">=2,<3"), (&["what", ">=2"], "what,>=2")]
        {
            assert_eq!(all(ranges).as_str(), expected, "{ranges:?}");
        }
        assert!(!all(&["what", ">=2"]).is_valid());
    }

    #[test]
    fn a_range_may_pin_a_version() {
        for (range, expected) in [
            ("== 2.01", Some("2.1")),
            ("==2.1.0+cu118", Some("2.1.0+cu118")),
            ("==2.1,<3", Some("2.1")),
            ("==2.1.*", None),
            (">=2.1", None),
            ("", None),
            ("==what", None),
        ] {
            let pinned = VersionRange::from(range).pinned_version();
            assert_eq!(pinned.as_ref().map(ExactVersion::as_str), expected, "{range}");
        }
    }

    #[test]
    fn a_range_is_saved_as_its_text() {
        for text in [">=2.1, <3", "", "nonsense"] {
            let range = VersionRange::from(text);
            let saved = serde_json::to_string(&range).expect("JSON");
            assert_eq!(saved, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<VersionRange>(&saved).expect("a range"), range);
        }
    }
}
