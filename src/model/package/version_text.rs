//! Versions and ranges of PEP 440 as text, as table rows contain them.

use std::cmp::Ordering;
use std::str::FromStr as _;

use pep440_rs::{Version, VersionSpecifiers};

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
pub(super) fn compare_plain_versions(one: &str, other: &str) -> Ordering {
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
