//! What packages ask of torch, and which of their releases go with what is asked of it beside them.

use std::cmp::Ordering;

use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::torch_release::fits;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::BEYOND;
use crate::knowledge::Knowledge;
use crate::knowledge::TorchPinRow;

/// What a package asks of torch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Range of PEP 440; empty where any will do.
    pub(super) range: &'static str,
    /// The range that it asks for in any case: another one where the range may be that of a newer release.
    pub(super) least: &'static str,
}

impl Ask {
    pub(super) const ANY: Self = Self::of("");

    pub(super) const fn of(range: &'static str) -> Self {
        Self { range, least: range }
    }

    /// What asks for so much or for less.
    const fn at_most(range: &'static str) -> Self {
        Self { range, least: "" }
    }
}

/// What a package asks of torch beside ranges of it that others ask for; `None` where it asks for none.
///
/// Of a package that is not pinned, an installer takes the newest release that goes with them.
pub(super) fn pin_beside(
    package: &PackageSeen,
    ranges: &[String],
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<Ask, Why>> {
    let newest = pin(package, python, knowledge)?;
    let PackageVersion::Open(own) = &package.version else { return Some(newest) };
    let listed = || knowledge.torch_pins_of(&package.name).filter(|row| row.version != "*" && !row.unasked);
    let admitted = || listed().filter(|row| admits(own, row.version) == Some(true));
    let by_version =
        |one: &&TorchPinRow, other: &&TorchPinRow| order(one.version, other.version).unwrap_or(Ordering::Equal);
    let first = newest.as_ref().ok().map(|ask| ask.range).or_else(|| Some(admitted().max_by(by_version)?.torch));
    if first.is_none_or(|torch| meets(torch, ranges, knowledge)) {
        return Some(newest);
    }
    let chosen = admitted().filter(|row| meets(row.torch, ranges, knowledge)).max_by(by_version);
    Some(match chosen {
        Some(row) => Ok(Ask::of(row.torch)),
        // Only the newest is listed, and older ones ask for less.
        None if listed().next().is_none() => Ok(Ask::ANY),
        None => Err(Why {
            reason: format!(
                "the release of {} for torch {} is not in the compatibility database",
                package.name,
                ranges.join(",")
            ),
            supply: format!("pin {} or torch", package.name),
        }),
    })
}

/// Whether a release of a package goes with bounds on torch; `None` where what it asks for is not listed.
pub(super) fn goes(distribution: &str, version: &str, bounds: &[String], knowledge: Knowledge) -> Option<bool> {
    if bounds.is_empty() {
        return Some(true);
    }
    let mut rows = knowledge.torch_pins_of(distribution);
    let row = rows.find(|row| order(row.version, version) == Some(Ordering::Equal))?;
    Some(row.unasked || meets(row.torch, bounds, knowledge))
}

/// The bounds on torch of a package's command as ranges; `None` where one of them cannot be told.
pub(super) fn bounds(package: &PackageSeen, seen: &Observations, knowledge: Knowledge) -> Option<Vec<String>> {
    let of_command = seen.bounds.iter().filter(|bound| bound.command == package.command);
    let of_torch = of_command.filter(|bound| knowledge.is_built_framework(&bound.name));
    let range = |bound: &PackageSeen| match &bound.version {
        PackageVersion::Exact(version) => Some(format!("=={}", public(version))),
        PackageVersion::Open(range) => Some(range.clone()),
        PackageVersion::Unresolved(_) => None,
    };
    of_torch.map(|bound| range(bound).filter(|_| bound.conditional.is_none())).collect()
}

/// Whether some release of torch lies in a range and in others as well.
fn meets(torch: &str, ranges: &[String], knowledge: Knowledge) -> bool {
    let both = |version: &str| admits(torch, version) == Some(true) && fits(ranges, version) == Some(true);
    ranges.is_empty() || knowledge.torch_served().any(|row| both(row.version))
}

/// The newest listed version that a range admits, where that is not the newest of all.
fn newest_within(range: &str, listed: &[&'static TorchPinRow]) -> Option<&'static TorchPinRow> {
    let newest = |rows: &mut dyn Iterator<Item = &'static TorchPinRow>| {
        rows.reduce(|one, other| if order(other.version, one.version) == Some(Ordering::Greater) { other } else { one })
    };
    let of_all = newest(&mut listed.iter().copied())?;
    let admitted = newest(&mut listed.iter().copied().filter(|row| admits(range, row.version) != Some(false)))?;
    (admitted.version != of_all.version).then_some(admitted)
}

/// What a package asks of torch, for a Python where that is known; `None` where it asks for none.
fn pin(package: &PackageSeen, python: Option<&str>, knowledge: Knowledge) -> Option<Result<Ask, Why>> {
    let rows = || knowledge.torch_pins_of(&package.name);
    let listed = || rows().filter(|row| row.version != "*");
    rows().next()?;
    let any = rows().find(|row| row.version == "*");
    // One of which the metadata ask for none.
    let whole = |row: &'static TorchPinRow| (!row.unasked).then(|| Ask::of(row.torch));
    let ask = match &package.version {
        PackageVersion::Exact(version) => {
            let own = listed().find(|row| order(row.version, public(version)) == Some(Ordering::Equal));
            let other = any.filter(|_| listed().next().is_none());
            own.map(whole).or_else(|| other.map(|row| Some(of_older(row, public(version)))))
        }
        PackageVersion::Open(range) if any.is_some() && !range.is_empty() => {
            let within = newest_within(range, &listed().collect::<Vec<_>>());
            within.map(whole).or_else(|| any.map(|row| Some(of_range(row, range, python))))
        }
        PackageVersion::Open(range) => any.map(|row| Some(of_range(row, range, python))),
        PackageVersion::Unresolved(_) => any.map(|row| Some(Ask::at_most(row.torch))),
    };
    let untold = || Why {
        reason: format!("the torch release that {} requires is not in the compatibility database", package.name),
        supply: "pin torch as well".to_owned(),
    };
    match ask {
        Some(asked) => asked.map(Ok),
        None => Some(Err(untold())),
    }
}

/// What a release asks for of which only newer ones and perhaps itself are listed.
fn of_older(row: &'static TorchPinRow, version: &str) -> Ask {
    let not_before = |(listed, _): &&(&str, &str)| order(listed, version).is_some_and(Ordering::is_ge);
    match row.older.iter().find(not_before) {
        Some((listed, range)) if order(listed, version) == Some(Ordering::Equal) => Ask::of(range),
        Some((_, range)) => Ask::at_most(range),
        None => Ask::at_most(row.torch),
    }
}

/// What the newest release within a range asks for.
fn of_range(row: &'static TorchPinRow, range: &str, python: Option<&str>) -> Ask {
    if admits(range, BEYOND) != Some(false) {
        let Some(python) = python else {
            let oldest = row.on_python.first().map_or(row.torch, |(_, range)| range);
            return Ask { range: row.torch, least: oldest };
        };
        let not_before = |(listed, _): &&(&str, &str)| order(listed, python).is_some_and(Ordering::is_ge);
        return match row.on_python.iter().find(not_before) {
            Some((listed, range)) if *listed == python => Ask::of(range),
            Some((_, range)) => Ask::at_most(range),
            None => Ask::of(row.torch),
        };
    }
    // The one behind the last that lies within asks for no less than any that does.
    let last = row.older.iter().rposition(|(listed, _)| admits(range, listed) == Some(true));
    let behind = last.and_then(|last| row.older.get(last + 1));
    Ask::at_most(behind.map_or(row.torch, |(_, range)| range))
}
