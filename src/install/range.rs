//! Versions and ranges of PEP 440, for those who choose among releases.

use std::cmp::Ordering;
use std::str::FromStr as _;

use pep440_rs::Version;
use pep440_rs::VersionSpecifiers;

/// Whether a range such as `>=2.1,<3` admits a version; an empty one admits all. `None` where either cannot be read.
pub fn admits(range: &str, version: &str) -> Option<bool> {
    let version = Version::from_str(version).ok()?;
    if range.trim().is_empty() {
        return Some(true);
    }
    Some(VersionSpecifiers::from_str(range).ok()?.contains(&version))
}

/// Which of two versions is newer; `None` where one cannot be read.
pub fn order(one: &str, other: &str) -> Option<Ordering> {
    Some(Version::from_str(one).ok()?.cmp(&Version::from_str(other).ok()?))
}

/// Whether a version lies between two, the second left out; one that cannot be read counts as the newest.
pub fn between(version: &str, from: Option<&str>, before: Option<&str>) -> bool {
    let at = |bound: &str| order(version, bound).unwrap_or(Ordering::Greater);
    from.is_none_or(|from| at(from).is_ge()) && before.is_none_or(|before| at(before).is_lt())
}

/// Whether a version is numbers and dots alone, written as PEP 440 writes it.
pub(super) fn is_plain(version: &str) -> bool {
    version.split('.').all(|part| {
        let digits = (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    })
}

/// Whether a version comes before a release: a build of a day, a candidate.
pub(super) fn is_early(version: &str) -> bool {
    !is_plain(version) && Version::from_str(version).is_ok_and(|version| version.any_prerelease())
}

/// Whether a range names such a version, and so admits them.
pub(super) fn names_early(range: &str) -> bool {
    VersionSpecifiers::from_str(range).is_ok_and(|all| all.iter().any(|one| one.version().any_prerelease()))
}

/// A version without its local part.
pub fn public(version: &str) -> &str {
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
            assert_eq!(is_plain(version), expected, "{version}");
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
            assert_eq!(admits(range, version), expected, "{range} {version}");
        }
        assert_eq!(order("2.10.0", "2.9.1"), Some(Ordering::Greater));
        assert_eq!(order("2.1", "2.1.0"), Some(Ordering::Equal));
        assert_eq!(order("x", "2.1.0"), None);
    }
}
