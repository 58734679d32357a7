//! Versions and version ranges of PEP 440.

use std::cmp::Ordering;
use std::ops::Bound;
use std::str::FromStr as _;

use pep440_rs::{Version, VersionSpecifier, VersionSpecifiers};
use version_ranges::Ranges;

/// The versions that a range such as `>=2.1,<3` admits, without regard to local parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSet(Ranges<Version>);

impl VersionSet {
    /// The longest number in a range; larger ones overflow at the next version.
    const MAX_DIGITS: usize = 18;

    /// Parses a range of PEP 440; an empty one admits every version. `None` if it is invalid.
    pub fn parse(range: &str) -> Option<Self> {
        if range.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() > Self::MAX_DIGITS) {
            return None;
        }
        let specifiers = VersionSpecifiers::from_str(range.trim()).ok()?;
        let mut all = Ranges::full();
        for one in specifiers.iter() {
            let public = VersionSpecifier::from_version(*one.operator(), one.version().clone().without_local()).ok()?;
            all = all.intersection(&Ranges::from(public));
        }
        Some(Self(all))
    }

    /// Parses several ranges, all of which hold. `None` if one is invalid.
    pub fn of_all(ranges: &[String]) -> Option<Self> {
        ranges.iter().try_fold(Self(Ranges::full()), |all, one| Some(Self(all.0.intersection(&Self::parse(one)?.0))))
    }

    /// Returns the versions from one to another, both included; a missing one sets no bound. `None` if one is invalid.
    pub fn between(from: Option<&str>, to: Option<&str>) -> Option<Self> {
        let version = |text: &str| Version::from_str(text).map(Version::without_local);
        let above = from.map(version).transpose().ok()?.map_or_else(Ranges::full, Ranges::higher_than);
        let below = to.map(version).transpose().ok()?.map_or_else(Ranges::full, Ranges::lower_than);
        Some(Self(above.intersection(&below)))
    }

    /// Returns the versions below one; `None` if it is invalid.
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

/// Whether a range ends: it admits no version above some version. `false` if it is invalid.
pub fn is_bounded_above(range: &str) -> bool {
    VersionSet::parse(range).is_some_and(|set| !set.is_open_above())
}

/// Whether a range admits every newer release, so that an installer takes the newest. `false` if it is invalid.
pub fn is_open_above(range: &str) -> bool {
    VersionSet::parse(range).is_some_and(|set| set.is_open_above())
}

/// Whether a range such as `>=2.1,<3` contains a version; an empty range contains all. `None` if either is invalid.
pub fn range_contains(range: &str, version: &str) -> Option<bool> {
    let version = Version::from_str(version).ok()?;
    if range.trim().is_empty() {
        return Some(true);
    }
    Some(VersionSpecifiers::from_str(range).ok()?.contains(&version))
}

/// Compares two versions; `None` if one is invalid.
pub fn compare_pep440_versions(one: &str, other: &str) -> Option<Ordering> {
    // Most are numbers and dots alone, and compared by these.
    if is_plain_version(one) && is_plain_version(other) {
        return Some(compare_plain_versions(one, other));
    }
    Some(Version::from_str(one).ok()?.cmp(&Version::from_str(other).ok()?))
}

/// Compares two plain versions part by part; a missing part is 0.
fn compare_plain_versions(one: &str, other: &str) -> Ordering {
    let number = |part: &str| part.bytes().fold(0_u64, |all, digit| all * 10 + u64::from(digit - b'0'));
    let (mut one, mut other) = (one.split('.').map(number), other.split('.').map(number));
    loop {
        let (left, right) = (one.next(), other.next());
        if left.is_none() && right.is_none() {
            return Ordering::Equal;
        }
        let order = left.unwrap_or(0).cmp(&right.unwrap_or(0));
        if order.is_ne() {
            return order;
        }
    }
}

/// Whether a version is at least `from` and below `before`; an invalid version counts as the newest.
pub fn is_version_between(version: &str, from: Option<&str>, before: Option<&str>) -> bool {
    let at = |bound: &str| compare_pep440_versions(version, bound).unwrap_or(Ordering::Greater);
    from.is_none_or(|from| at(from).is_ge()) && before.is_none_or(|before| at(before).is_lt())
}

/// Whether a version consists only of numbers and dots, in the normal form of PEP 440.
pub(crate) fn is_plain_version(version: &str) -> bool {
    version.split('.').all(|part| {
        let digits = (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    })
}

/// Whether a version is a pre-release: a nightly build or a release candidate.
pub(crate) fn is_prerelease(version: &str) -> bool {
    !is_plain_version(version) && Version::from_str(version).is_ok_and(|version| version.any_prerelease())
}

/// Whether a range names a pre-release, and therefore allows pre-releases.
pub(crate) fn names_prerelease(range: &str) -> bool {
    VersionSpecifiers::from_str(range).is_ok_and(|all| all.iter().any(|one| one.version().any_prerelease()))
}

/// Returns a version without its local part.
pub fn public_version(version: &str) -> &str {
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
            let set = VersionSet::parse(range).expect("a range");
            assert_eq!((set.is_open_above(), set.ends_within_major(2)), (open, of_major_2), "{range}");
            assert_eq!((is_open_above(range), is_bounded_above(range)), (open, !open), "{range}");
        }
        for invalid in ["what", ">=", "==18446744073709551615.*", ">1.post18446744073709551615"] {
            assert_eq!(VersionSet::parse(invalid), None, "{invalid}");
            assert!(!is_open_above(invalid) && !is_bounded_above(invalid), "{invalid}");
        }
    }

    #[test]
    fn an_interval_lies_in_a_range_only_with_all_its_versions() {
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
            let range = VersionSet::parse(range).expect("a range");
            assert_eq!(interval.is_subset_of(&range), expected, "{from:?} {to:?} {range:?}");
        }
        assert_eq!(VersionSet::between(Some("x"), None), None);
        let first = VersionSet::parse("==11.0.*").expect("a range");
        assert!(!VersionSet::below("11.0.dev0").expect("a version").overlaps(&first));
        assert!(VersionSet::below("11.1").expect("a version").overlaps(&first));
    }

    #[test]
    fn ranges_admit_by_pep_440() {
        for (range, version, expected) in [
            ("", "2.1.0", Some(true)),
            (">=2.1,<3", "2.10.0", Some(true)),
            (">=2.1,<3", "3.0", Some(false)),
            ("==2.1", "2.1.0+cu118", Some(true)),
            ("==2.1.0+cu118", "2.1.0", Some(false)),
            ("==2.1.*", "2.1.2", Some(true)),
            ("~=2.1.0", "2.2.0", Some(false)),
            ("nonsense", "2.1.0", None),
            (">=1", "nonsense", None),
        ] {
            assert_eq!(range_contains(range, version), expected, "{range} {version}");
        }
        assert_eq!(compare_pep440_versions("2.10.0", "2.9.1"), Some(Ordering::Greater));
        assert_eq!(compare_pep440_versions("2.1", "2.1.0"), Some(Ordering::Equal));
        assert_eq!(compare_pep440_versions("x", "2.1.0"), None);
    }

    /// What is compared by its parts is ordered as PEP 440 orders it, and nothing that is not plain is compared so.
    #[test]
    fn versions_are_ordered_as_pep_440_orders_them() {
        let all = [
            "0",
            "0.0",
            "1",
            "1.0",
            "1.0.0",
            "1.0.1",
            "1.2",
            "1.2.0.0.1",
            "1.10",
            "2.9.1",
            "2.10.0",
            "2024.1",
            "999999999",
            "1.0rc1",
            "1.0.post1",
            "1.0.dev3",
            "1.0+cu118",
            "1.0+cu124",
            "1!0.1",
            "v1.0",
            "01.0",
            " 1.0",
            "1.0a1",
            "99999999999",
        ];
        for one in all {
            for other in all {
                let read = |text: &str| Version::from_str(text).expect("one of PEP 440");
                assert_eq!(compare_pep440_versions(one, other), Some(read(one).cmp(&read(other))), "{one} {other}");
            }
            for none in ["", "1.", ".1", "1..2", "x", "1.*", "-1"] {
                assert_eq!(
                    (compare_pep440_versions(one, none), compare_pep440_versions(none, one)),
                    (None, None),
                    "{one} {none}"
                );
            }
        }
    }
}
