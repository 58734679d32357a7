//! What packages require of torch, and which of their releases satisfy the requirements of others.

use std::cmp::Ordering;

use crate::cause::Cause;
use crate::fact::{Observations, ObservedPackage, PackageVersion};
use crate::infer::torch_release::is_in_all_ranges;
use crate::install::{compare_pep440_versions, public_version, range_contains};
use crate::knowledge::{HIGHEST_VERSION, Knowledge, TorchPinRow};

/// What a package requires of torch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TorchRequirement {
    /// PEP 440 version specifiers; empty if any version is accepted.
    pub(super) range: &'static str,
    /// The range that is required in any case; differs from `range` if that may be the one of a newer release.
    pub(super) least: &'static str,
}

impl TorchRequirement {
    /// A requirement that accepts every version.
    pub(super) const ANY: Self = Self::from_range("");

    /// Creates a requirement of exactly a range.
    pub(super) const fn from_range(range: &'static str) -> Self {
        Self { range, least: range }
    }

    /// Creates a requirement of a range or of less.
    const fn at_most(range: &'static str) -> Self {
        Self { range, least: "" }
    }
}

/// Returns what a package requires of torch, within the ranges of others; `None` if it does not require torch.
///
/// Of a package that is not pinned, an installer takes the newest release that goes with them.
pub(super) fn requirement_within_ranges(
    package: &ObservedPackage,
    ranges: &[String],
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let newest = listed_torch_requirement(package, python, knowledge)?;
    let PackageVersion::Open(own) = &package.version else { return Some(newest) };
    let listed = || knowledge.torch_pins_of(&package.name).filter(|row| row.version != "*" && !row.unasked);
    let admitted = || listed().filter(|row| range_contains(own, row.version) == Some(true));
    let by_version = |one: &&TorchPinRow, other: &&TorchPinRow| {
        compare_pep440_versions(one.version, other.version).unwrap_or(Ordering::Equal)
    };
    let first = newest.as_ref().ok().map(|ask| ask.range).or_else(|| Some(admitted().max_by(by_version)?.torch));
    if first.is_none_or(|torch| shares_release(torch, ranges, knowledge)) {
        return Some(newest);
    }
    let chosen = admitted().filter(|row| shares_release(row.torch, ranges, knowledge)).max_by(by_version);
    Some(match chosen {
        Some(row) => Ok(TorchRequirement::from_range(row.torch)),
        // Only the newest is listed, and older ones ask for less.
        None if listed().next().is_none() => Ok(TorchRequirement::ANY),
        None => Err(Cause::ReleaseForTorch { package: package.name.clone(), torch: ranges.join(",").clone() }),
    })
}

/// Whether a release of a package is compatible with constraints on torch; `None` if its requirement is not listed.
pub(super) fn satisfies_torch_constraints(
    distribution: &str,
    version: &str,
    bounds: &[String],
    knowledge: Knowledge,
) -> Option<bool> {
    if bounds.is_empty() {
        return Some(true);
    }
    let mut rows = knowledge.torch_pins_of(distribution);
    let row = rows.find(|row| compare_pep440_versions(row.version, version) == Some(Ordering::Equal))?;
    Some(row.unasked || shares_release(row.torch, bounds, knowledge))
}

/// Returns the constraints on torch of a package's command as ranges; `None` if one is unknown.
pub(super) fn torch_constraints(
    package: &ObservedPackage,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<Vec<String>> {
    let of_command = seen.bounds.iter().filter(|bound| bound.command == package.command);
    let of_torch = of_command.filter(|bound| knowledge.has_variants(&bound.name));
    let range = |bound: &ObservedPackage| match &bound.version {
        PackageVersion::Exact(version) => Some(format!("=={}", public_version(version))),
        PackageVersion::Open(range) => Some(range.clone()),
        PackageVersion::Unresolved(_) => None,
    };
    of_torch.map(|bound| range(bound).filter(|_| bound.conditional.is_none())).collect()
}

/// Whether some torch release lies in a range and in all others.
fn shares_release(torch: &str, ranges: &[String], knowledge: Knowledge) -> bool {
    let both =
        |version: &str| range_contains(torch, version) == Some(true) && is_in_all_ranges(ranges, version) == Some(true);
    ranges.is_empty() || knowledge.served_torch_releases().any(|row| both(row.version))
}

/// Returns the newest listed version that a range admits, if it is not the newest of all.
fn newest_admitted_row(range: &str, listed: &[&'static TorchPinRow]) -> Option<&'static TorchPinRow> {
    let newest = |rows: &mut dyn Iterator<Item = &'static TorchPinRow>| {
        rows.reduce(|one, other| {
            if compare_pep440_versions(other.version, one.version) == Some(Ordering::Greater) { other } else { one }
        })
    };
    let of_all = newest(&mut listed.iter().copied())?;
    let admitted = newest(&mut listed.iter().copied().filter(|row| range_contains(range, row.version) != Some(false)))?;
    (admitted.version != of_all.version).then_some(admitted)
}

/// Returns what a package requires of torch, for a Python version if known; `None` if it does not require torch.
fn listed_torch_requirement(
    package: &ObservedPackage,
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let rows = || knowledge.torch_pins_of(&package.name);
    let listed = || rows().filter(|row| row.version != "*");
    rows().next()?;
    let any = rows().find(|row| row.version == "*");
    // One of which the metadata ask for none.
    let whole = |row: &'static TorchPinRow| (!row.unasked).then(|| TorchRequirement::from_range(row.torch));
    let ask = match &package.version {
        PackageVersion::Exact(version) => {
            let own = listed()
                .find(|row| compare_pep440_versions(row.version, public_version(version)) == Some(Ordering::Equal));
            let other = any.filter(|_| listed().next().is_none());
            own.map(whole).or_else(|| other.map(|row| Some(requirement_of_older_release(row, public_version(version)))))
        }
        PackageVersion::Open(range) if any.is_some() && !range.is_empty() => {
            let within = newest_admitted_row(range, &listed().collect::<Vec<_>>());
            within.map(whole).or_else(|| any.map(|row| Some(requirement_of_range(row, range, python))))
        }
        PackageVersion::Open(range) => any.map(|row| Some(requirement_of_range(row, range, python))),
        PackageVersion::Unresolved(_) => any.map(|row| Some(TorchRequirement::at_most(row.torch))),
    };
    let untold = || Cause::TorchRequirement { package: package.name.clone() };
    match ask {
        Some(asked) => asked.map(Ok),
        None => Some(Err(untold())),
    }
}

/// Returns what a release requires of which at most newer ones are listed.
fn requirement_of_older_release(row: &'static TorchPinRow, version: &str) -> TorchRequirement {
    let not_before =
        |(listed, _): &&(&str, &str)| compare_pep440_versions(listed, version).is_some_and(Ordering::is_ge);
    match row.older.iter().find(not_before) {
        Some((listed, range)) if compare_pep440_versions(listed, version) == Some(Ordering::Equal) => {
            TorchRequirement::from_range(range)
        }
        Some((_, range)) => TorchRequirement::at_most(range),
        None => TorchRequirement::at_most(row.torch),
    }
}

/// Returns what the newest release within a range requires.
fn requirement_of_range(row: &'static TorchPinRow, range: &str, python: Option<&str>) -> TorchRequirement {
    if range_contains(range, HIGHEST_VERSION) != Some(false) {
        let Some(python) = python else {
            let oldest = row.on_python.first().map_or(row.torch, |(_, range)| range);
            return TorchRequirement { range: row.torch, least: oldest };
        };
        let not_before =
            |(listed, _): &&(&str, &str)| compare_pep440_versions(listed, python).is_some_and(Ordering::is_ge);
        return match row.on_python.iter().find(not_before) {
            Some((listed, range)) if *listed == python => TorchRequirement::from_range(range),
            Some((_, range)) => TorchRequirement::at_most(range),
            None => TorchRequirement::from_range(row.torch),
        };
    }
    // The one behind the last that lies within asks for no less than any that does.
    let last = row.older.iter().rposition(|(listed, _)| range_contains(range, listed) == Some(true));
    let behind = last.and_then(|last| row.older.get(last + 1));
    TorchRequirement::at_most(behind.map_or(row.torch, |(_, range)| range))
}
