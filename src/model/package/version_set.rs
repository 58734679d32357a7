//! Sets of versions.

use std::ops::Bound;
use std::str::FromStr as _;

use pep440_rs::{Version, VersionSpecifier, VersionSpecifiers};
use version_ranges::Ranges;

/// The versions that a range such as `>=2.1,<3` admits, without regard to local parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSet(Ranges<Version>);

impl VersionSet {
    /// Returns the versions that specifiers admit; `None` if they are no range.
    pub(super) fn of_specifiers(specifiers: &VersionSpecifiers) -> Option<Self> {
        let mut all = Ranges::full();
        for one in specifiers.iter() {
            let public = VersionSpecifier::from_version(*one.operator(), one.version().clone().without_local()).ok()?;
            all = all.intersection(&Ranges::from(public));
        }
        Some(Self(all))
    }

    /// Returns the versions in all of several sets.
    pub(super) fn intersection(sets: impl IntoIterator<Item = Self>) -> Self {
        sets.into_iter().fold(Self(Ranges::full()), |all, one| Self(all.0.intersection(&one.0)))
    }

    /// Returns the versions from one to another, both included; a missing one sets no bound. `None` if one is invalid.
    pub fn between(from: Option<&str>, to: Option<&str>) -> Option<Self> {
        let version = |text: &str| Version::from_str(text).map(Version::without_local);
        let above = from.map(version).transpose().ok()?.map_or_else(Ranges::full, Ranges::higher_than);
        let below = to.map(version).transpose().ok()?.map_or_else(Ranges::full, Ranges::lower_than);
        Some(Self(above.intersection(&below)))
    }

    /// Returns the set of all versions below the given one; `None` if that is invalid.
    pub fn below(version: &str) -> Option<Self> {
        Version::from_str(version).ok().map(|version| Self(Ranges::strictly_lower_than(version)))
    }

    /// Whether no version is too new: an installer takes the newest release.
    pub fn is_open_above(&self) -> bool {
        self.0.bounding_range().is_some_and(|(_, end)| end == Bound::Unbounded)
    }

    /// Whether no admitted version has a higher major version.
    pub fn ends_within_major(&self, major: u64) -> bool {
        let first = |version: &Version| version.release().first().copied();
        self.0.bounding_range().is_none_or(|(_, end)| match end {
            Bound::Included(last) | Bound::Excluded(last) => first(last) <= Some(major),
            Bound::Unbounded => false,
        })
    }

    /// Whether some version is in both sets.
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Whether another set contains every version of this one.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.0.subset_of(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::package::VersionRange;

    #[test]
    fn interval_is_in_a_range_only_if_all_its_versions_are() {
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
        ] {
            let interval = VersionSet::between(from, to).expect("versions");
            let range = VersionRange::from(range).set().expect("a range");
            assert_eq!(interval.is_subset_of(&range), expected, "{from:?} {to:?} {range:?}");
        }
        assert_eq!(VersionSet::between(Some("x"), None), None);
        let first = VersionRange::from("==11.0.*").set().expect("a range");
        assert!(!VersionSet::below("11.0.dev0").expect("a version").overlaps(&first));
        assert!(VersionSet::below("11.1").expect("a version").overlaps(&first));
    }
}
