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
use crate::knowledge::Knowledge;
use crate::knowledge::TorchPinRow;

/// What a package asks of torch beside ranges of it that others ask for; `None` where it asks for none.
///
/// Of a package that is not pinned, an installer takes the newest release that goes with them.
pub(super) fn pin_beside(
    package: &PackageSeen,
    ranges: &[String],
    knowledge: Knowledge,
) -> Option<Result<&'static str, Why>> {
    let newest = pin(package, knowledge)?;
    let PackageVersion::Open(own) = &package.version else { return Some(newest) };
    let listed = || knowledge.torch_pins_of(&package.name).filter(|row| row.version != "*" && !row.unasked);
    let admitted = || listed().filter(|row| admits(own, row.version) == Some(true));
    let by_version =
        |one: &&TorchPinRow, other: &&TorchPinRow| order(one.version, other.version).unwrap_or(Ordering::Equal);
    let first = newest.as_ref().ok().copied().or_else(|| Some(admitted().max_by(by_version)?.torch));
    if first.is_none_or(|torch| meets(torch, ranges, knowledge)) {
        return Some(newest);
    }
    let chosen = admitted().filter(|row| meets(row.torch, ranges, knowledge)).max_by(by_version);
    Some(match chosen {
        Some(row) => Ok(row.torch),
        // Only the newest is listed, and older ones ask for less.
        None if listed().next().is_none() => Ok(""),
        None => Err(Why {
            reason: format!(
                "which release of {} goes with torch {} is not in the tables",
                package.name,
                ranges.join(",")
            ),
            supply: format!("pin {} or torch beside it", package.name),
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

/// What a package asks of torch; `None` where it asks for none.
fn pin(package: &PackageSeen, knowledge: Knowledge) -> Option<Result<&'static str, Why>> {
    let rows = || knowledge.torch_pins_of(&package.name);
    let listed = || rows().filter(|row| row.version != "*");
    rows().next()?;
    let any = rows().find(|row| row.version == "*");
    let any = match &package.version {
        PackageVersion::Exact(version) => {
            let own = listed().find(|row| order(row.version, public(version)) == Some(Ordering::Equal));
            own.or(any.filter(|_| listed().next().is_none()))
        }
        PackageVersion::Open(range) if any.is_some() && !range.is_empty() => {
            newest_within(range, &listed().collect::<Vec<_>>()).or(any)
        }
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => any,
    };
    if any.is_some_and(|row| row.unasked) {
        return None;
    }
    Some(any.map(|row| row.torch).ok_or_else(|| Why {
        reason: format!("which release of torch {} brings is not in the tables", package.name),
        supply: "pin torch beside it".to_owned(),
    }))
}
