//! A range of versions.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::str::FromStr as _;

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};
use serde::{Deserialize, Serialize};
use version_ranges::Ranges;

use crate::model::package::exact_version::ExactVersion;

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
    /// A number in a release that no project reaches.
    const LAST_NUMBER: u64 = 999_999;

    /// Returns the range that contains one version, with its local part.
    pub fn exactly(version: &ExactVersion) -> Self {
        Self::from(format!("=={version}"))
    }

    /// Returns the range from one version to another, both included, without their local parts; a missing one sets no
    /// bound.
    pub fn between(from: Option<&ExactVersion>, to: Option<&ExactVersion>) -> Self {
        let from = from.map(|from| Self::from(format!(">={}", from.public())));
        let to = to.map(|to| Self::from(format!("<={}", to.public())));
        Self::of_all(from.iter().chain(&to))
    }

    /// Returns the range of all versions below the given one.
    pub fn below(version: &str) -> Self {
        Self::from(format!("<{version}"))
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

    /// Whether it certainly contains a version; an empty range contains invalid ones too.
    pub fn admits(&self, version: &ExactVersion) -> bool {
        self.is_any() || self.contains(version) == Some(true)
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

    /// Returns the version if the range is one specifier that pins it.
    pub fn only_version(&self) -> Option<ExactVersion> {
        self.pinned_version().filter(|_| self.specifier_count() == 1)
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

    /// Returns the version of `>=`, if the range has no other specifier.
    pub fn only_minimum(&self) -> Option<ExactVersion> {
        let mut all = self.specifiers();
        let first = all.next().filter(|one| *one.operator() == Operator::GreaterThanEqual)?;
        all.next().is_none().then(|| ExactVersion::from(first.version()))
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
    fn set(&self) -> Option<Ranges<Version>> {
        let mut numbers = self.text.split(|c: char| !c.is_ascii_digit());
        if numbers.any(|number| number.len() > Self::MAX_DIGITS) {
            return None;
        }
        let public = |one: &VersionSpecifier| {
            VersionSpecifier::from_version(*one.operator(), one.version().clone().without_local()).ok()
        };
        let mut specifiers = self.specifiers.as_ref()?.iter();
        specifiers.try_fold(Ranges::full(), |all, one| Some(all.intersection(&Ranges::from(public(one)?))))
    }

    /// Whether it admits every newer release, so that an installer takes the newest. `false` if it is invalid.
    pub fn is_open_above(&self) -> bool {
        self.set().is_some_and(|set| is_open_above(&set))
    }

    /// Whether it ends: it admits no version above some version. `false` if it is invalid.
    pub fn is_bounded_above(&self) -> bool {
        self.set().is_some_and(|set| !is_open_above(&set))
    }

    /// Whether it admits no version of a higher major version, without regard to local parts. `false` if it is
    /// invalid.
    pub fn ends_within_major(&self, major: u64) -> bool {
        let first = |version: &Version| version.release().first().copied();
        self.set().is_some_and(|set| {
            set.bounding_range().is_none_or(|(_, end)| match end {
                Bound::Included(last) | Bound::Excluded(last) => first(last) <= Some(major),
                Bound::Unbounded => false,
            })
        })
    }

    /// Whether some version is in both ranges, without regard to local parts; `None` if one is invalid.
    pub fn overlaps(&self, other: &Self) -> Option<bool> {
        Some(!self.set()?.is_disjoint(&other.set()?))
    }

    /// Whether some version is in all ranges, without regard to local parts, and not among the given ones. Invalid ranges
    /// may contain any version.
    pub fn have_common_version<'a>(ranges: &[&Self], except: impl IntoIterator<Item = &'a ExactVersion>) -> bool {
        let mut except = except.into_iter().filter_map(ExactVersion::parsed).peekable();
        if except.peek().is_none() && ranges.iter().filter(|range| !range.is_any()).count() < 2 {
            return true;
        }
        let sets = ranges.iter().filter_map(|range| range.set());
        let common = sets.fold(Ranges::full(), |all, set| all.intersection(&set));
        let singleton = |version: &Version| Ranges::singleton(version.clone().without_local());
        let others = except.fold(common, |all, version| all.intersection(&singleton(version).complement()));
        others != Ranges::empty()
    }

    /// Returns versions between which the range changes from admitted to excluded: each version that a specifier names,
    /// one directly before and one directly after it.
    pub fn boundary_versions(&self) -> Vec<ExactVersion> {
        let mut all = Vec::new();
        for specifier in self.specifiers() {
            let version = specifier.version().clone().without_local();
            let mut release: Vec<u64> = version.release().to_vec();
            let with_release =
                |release: Vec<u64>| ExactVersion::from(&Version::new(release).with_epoch(version.epoch()));
            release.push(Self::LAST_NUMBER);
            all.push(with_release(release.clone()));
            release.pop();
            if let Some(last) = release.iter().rposition(|number| *number > 0) {
                release.truncate(last + 1);
                if let Some(number) = release.last_mut() {
                    *number -= 1;
                }
                release.push(Self::LAST_NUMBER);
                all.push(with_release(release));
            }
            all.push(ExactVersion::from(&version));
        }
        all
    }

    /// Whether another range contains every version of this one, without regard to local parts. `false` if one is
    /// invalid.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.set().zip(other.set()).is_some_and(|(own, other)| own.subset_of(&other))
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

/// Whether no version is too new for a set.
fn is_open_above(set: &Ranges<Version>) -> bool {
    set.bounding_range().is_some_and(|(_, end)| end == Bound::Unbounded)
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
        }
    }

    #[test]
    fn a_range_may_end() {
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
            assert_eq!((range.is_open_above(), range.is_bounded_above()), (open, !open), "{range}");
            assert_eq!(range.ends_within_major(2), of_major_2, "{range}");
        }
        for invalid in ["what", ">=", "==18446744073709551615.*", ">1.post18446744073709551615"] {
            let range = VersionRange::from(invalid);
            assert!(!range.is_open_above() && !range.is_bounded_above(), "{invalid}");
            assert!(!range.ends_within_major(2) && !range.is_subset_of(&range), "{invalid}");
            assert_eq!(range.overlaps(&range), None, "{invalid}");
        }
    }

    #[test]
    fn an_interval_is_in_a_range_only_if_all_its_versions_are() {
        for (from, to, range, expected) in [
            (Some("2.1"), Some("2.3"), ">=2,<3", true),
            (Some("2.1"), Some("2.3"), ">=2,<2.3", false),
            (Some("2.1"), Some("2.3"), "!=2.2", false),
            (Some("2.6.0a0+df5bbc09d1"), Some("2.6.0"), ">=2.0", true),
            (Some("2.6.0a0"), Some("2.6.0"), ">=2.6", false),
            (Some("2.1"), None, ">=2", true),
            (Some("2.1"), None, "<3", false),
            (None, Some("2.1"), "<3", true),
            (None, None, "", true),
            (Some("x"), None, "", false),
        ] {
            let (from, to) = (from.map(ExactVersion::from), to.map(ExactVersion::from));
            let interval = VersionRange::between(from.as_ref(), to.as_ref());
            assert_eq!(interval.is_subset_of(&VersionRange::from(range)), expected, "{from:?} {to:?} {range}");
        }
    }

    #[test]
    fn ranges_may_overlap() {
        let first = VersionRange::from("==11.0.*");
        assert_eq!(VersionRange::below("11.0.dev0").overlaps(&first), Some(false));
        assert_eq!(VersionRange::below("11.1").overlaps(&first), Some(true));
    }

    #[test]
    fn several_ranges_may_have_a_version_in_common() {
        for (ranges, except, expected) in [
            (&[][..], &[][..], true),
            (&[">=2", "<3"], &[], true),
            (&[">=2", "<2"], &[], false),
            (&[">=2", "<3", "!=2.5", "==2.5"], &[], false),
            (&["==2.5"], &["2.5.0"], false),
            (&["==2.5.*"], &["2.5.0"], true),
            (&["what", ">=2"], &[], true),
            (&["==2.5+cu128", "==2.5"], &[], true),
        ] {
            let ranges: Vec<VersionRange> = ranges.iter().copied().map(VersionRange::from).collect();
            let except: Vec<ExactVersion> = except.iter().copied().map(ExactVersion::from).collect();
            let all: Vec<&VersionRange> = ranges.iter().collect();
            assert_eq!(VersionRange::have_common_version(&all, &except), expected, "{ranges:?} {except:?}");
        }
    }

    #[test]
    fn a_range_changes_only_at_its_boundaries() {
        for (range, expected) in [
            ("", &[][..]),
            (">=2.0", &["1.999999", "2.0", "2.0.999999"]),
            ("<0", &["0", "0.999999"]),
            ("==1!2.1.*", &["1!2.0.999999", "1!2.1", "1!2.1.999999"]),
            (">1,<2", &["0.999999", "1", "1.999999", "1.999999", "2", "2.999999"]),
        ] {
            let mut found = VersionRange::from(range).boundary_versions();
            found.sort_by(ExactVersion::compare);
            assert_eq!(found.iter().map(ExactVersion::as_str).collect::<Vec<_>>(), expected, "{range}");
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
