//! Bounds on packages by other lists than those that install them, and what the packages of one command ask of one another:
//! an installer takes a release that goes with all of it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::infer::python::python;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::BEYOND;
use crate::knowledge::EARLIEST;
use crate::knowledge::Knowledge;
use crate::knowledge::PackageAskRow;

/// A package whose version others decide: which, and what says so.
struct News {
    at: usize,
    version: PackageVersion,
    from: Vec<FactId>,
}

/// What was seen, with the bounds of each command taken into the versions of its packages; `None` where they change none.
pub(super) fn bounded(seen: &Observations, as_of: Option<Date>, knowledge: Knowledge) -> Option<Observations> {
    if seen.depth != Depth::Text {
        return None;
    }
    let mut now: Option<Observations> = None;
    let take = |now: &mut Option<Observations>, news: Vec<News>| {
        let into = now.get_or_insert_with(|| seen.clone());
        for News { at, version, from } in news {
            let Observations { packages, facts, .. } = &mut *into;
            let Some(package) = packages.get_mut(at) else { continue };
            let text = |rest: &str| State::Known(Value::Text(format!("{}{rest}", package.name)));
            let state = match &version {
                PackageVersion::Exact(version) => text(&format!("=={version}")),
                PackageVersion::Open(range) => text(range),
                PackageVersion::Unresolved(why) => State::Unknown(why.clone()),
            };
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            package.fact = facts.add(FactKey::Package, Some(&package.name), state, evidence);
            package.version = version;
        }
    };
    let own = own_bounds(seen, knowledge);
    if !own.is_empty() {
        take(&mut now, own);
    }
    let companions = companions(now.as_ref().unwrap_or(seen), knowledge);
    if !companions.is_empty() {
        now.get_or_insert_with(|| seen.clone()).bounds.extend(companions);
    }
    let held = if as_of.is_none() { held(now.as_ref().unwrap_or(seen), knowledge) } else { Vec::new() };
    if !held.is_empty() {
        take(&mut now, held);
    }
    now
}

fn of_pip(package: &PackageSeen) -> bool {
    package.manager == Manager::Pip && package.conditional.is_none()
}

/// The packages whose own name a list of bounds has; those of the framework of several builds are looked at elsewhere.
fn own_bounds(seen: &Observations, knowledge: Knowledge) -> Vec<News> {
    let mut all: BTreeMap<(&str, u32), Vec<&PackageSeen>> = BTreeMap::new();
    for bound in &seen.bounds {
        all.entry((&bound.name, bound.command)).or_default().push(bound);
    }
    let news = |(at, package): (usize, &PackageSeen)| {
        let PackageVersion::Open(range) = &package.version else { return None };
        let bounds = all.get(&(package.name.as_str(), package.command)).into_iter().flatten();
        let (mut ranges, mut exact, mut from) = (vec![range.clone()], None, vec![package.fact]);
        for bound in bounds {
            from.push(bound.fact);
            match (&bound.conditional, &bound.version) {
                (Some(why), _) | (None, PackageVersion::Unresolved(why)) => {
                    return Some(News { at, version: PackageVersion::Unresolved(why.clone()), from });
                }
                (None, PackageVersion::Exact(version)) => exact = Some(version.clone()),
                (None, PackageVersion::Open(range)) => ranges.push(range.clone()),
            }
        }
        ranges.retain(|range| !range.is_empty());
        let range = ranges.join(",");
        let version = match exact {
            Some(version) if admits(&range, public(&version)) == Some(true) => PackageVersion::Exact(version),
            // No release is both: the build fails.
            Some(_) => return None,
            None => PackageVersion::Open(range),
        };
        (from.len() > 1).then_some(News { at, version, from })
    };
    let others = |(_, package): &(usize, &PackageSeen)| of_pip(package) && !knowledge.is_built_framework(&package.name);
    seen.packages.iter().enumerate().filter(others).filter_map(news).collect()
}

/// Bounds on the framework of several builds that those on a distribution beside it come to, where a package of the command
/// brings that distribution.
fn companions(seen: &Observations, knowledge: Knowledge) -> Vec<PackageSeen> {
    let framework = knowledge.built_framework().map(|row| row.distribution);
    let brings = |bound: &PackageSeen| {
        let here = |package: &&PackageSeen| package.command == bound.command && of_pip(package) && !package.alone;
        let named = seen.packages.iter().filter(here).any(|package| package.name == bound.name);
        !named
            && seen
                .packages
                .iter()
                .filter(here)
                .any(|package| asks(&package.name, knowledge).any(|row| row.package == bound.name))
    };
    let on_framework = |bound: &PackageSeen| {
        let PackageVersion::Exact(version) = &bound.version else { return None };
        let mut rows = knowledge.torch_pins_of(&bound.name);
        let row = rows.find(|row| !row.unasked && order(row.version, public(version)) == Some(Ordering::Equal))?;
        let version = match row.torch.strip_prefix("==") {
            Some(exact) if !exact.contains([',', '*']) => PackageVersion::Exact(exact.to_owned()),
            _ => PackageVersion::Open(row.torch.to_owned()),
        };
        Some(PackageSeen { name: framework?.to_owned(), version, ..bound.clone() })
    };
    let told = seen.bounds.iter().filter(|bound| bound.conditional.is_none());
    told.filter_map(|bound| on_framework(bound).filter(|_| brings(bound))).collect()
}

fn asks(distribution: &str, knowledge: Knowledge) -> impl Iterator<Item = &'static PackageAskRow> {
    knowledge.package_asks().iter().filter(move |row| row.distribution == distribution)
}

/// The packages that are not taken in their newest release, since that asks for something else than stands beside them.
fn held(seen: &Observations, knowledge: Knowledge) -> Vec<News> {
    let news = |(at, package): (usize, &PackageSeen)| {
        let PackageVersion::Open(range) = &package.version else { return None };
        let row = asks(&package.name, knowledge).next()?;
        let newest = admits(range, row.version) == Some(true) && matches!(package.offered, Offered::Default);
        if !newest || package.alone || !serves(package, seen, knowledge) {
            return None;
        }
        let beside = seen.packages.iter().chain(&seen.bounds).filter(|other| other.command == package.command);
        let mut against = beside.filter(|other| of_pip(other)).filter_map(|other| {
            let row = asks(&package.name, knowledge).find(|row| row.package == other.name)?;
            let own = match &other.version {
                PackageVersion::Exact(version) => format!("=={}", public(version)),
                PackageVersion::Open(range) => range.clone(),
                PackageVersion::Unresolved(_) => return None,
            };
            (!both(&own, row.range)).then_some((other, own, row))
        });
        let (other, own, row) = against.next()?;
        let why = Why {
            reason: format!(
                "{0} {1} requires {2}{3}, and the command restricts that to {own}: the compatible older release \
                    is not in the compatibility database",
                row.distribution, row.version, row.package, row.range
            ),
            supply: format!("pin {} and {}", row.distribution, row.package),
        };
        Some(News { at, version: PackageVersion::Unresolved(why), from: vec![package.fact, other.fact] })
    };
    seen.packages.iter().enumerate().filter(|(_, package)| of_pip(package)).filter_map(news).collect()
}

/// Whether the newest release of a package has a wheel for the Python of its command, as far as that is known.
fn serves(package: &PackageSeen, seen: &Observations, knowledge: Knowledge) -> bool {
    let Ok(python) = python(seen, package, knowledge) else { return true };
    let of_framework = knowledge.torch_pythons().iter().filter(|_| knowledge.is_built_framework(&package.name));
    let mut ends = of_framework.filter(|row| row.python == python).map(|row| row.last);
    let own = knowledge.wheel_pythons().iter().filter(|row| row.distribution == package.name && row.python == python);
    let own: Vec<Option<&str>> = own.map(|row| row.last).collect();
    ends.all(|last| last.is_none()) && (own.is_empty() || own.contains(&None))
}

/// Whether a version may lie in two ranges: one that they name, one just behind it, the first or the last of all.
fn both(one: &str, other: &str) -> bool {
    let named = [one, other].into_iter().flat_map(|range| range.split(','));
    let named = named.map(|clause| clause.trim().trim_start_matches(['=', '<', '>', '~', '!', ' ']));
    let named: Vec<&str> = named.map(|version| version.trim_end_matches(".*")).collect();
    let behind = named.iter().map(|version| format!("{version}.1"));
    let mut all =
        named.iter().map(|version| (*version).to_owned()).chain(behind).chain([BEYOND, EARLIEST].map(str::to_owned));
    let readable = admits(one, BEYOND).is_some() && admits(other, BEYOND).is_some();
    !readable || all.any(|version| admits(one, &version) == Some(true) && admits(other, &version) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::both;

    #[test]
    fn two_ranges_meet_where_a_version_lies_in_both() {
        for (one, other) in [
            ("<2", ">=1.26"),
            ("", ">=2.0"),
            (">1", "<2"),
            ("==4.51.0", ">=4.50,<5"),
            ("~=3.9.0", ">=3.9"),
            ("==2.*", ">=2.1,!=2.1.3"),
            ("!=1.5", "<1"),
            ("what", ">=1"),
        ] {
            assert!(both(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("<2", ">=2.0"),
            ("==4.40.0", ">=5.16.1,<5.21.0"),
            ("<4.45", ">=5.16.1"),
            ("==2.1.0", "~=3.9.0"),
            ("~=1.26.0", ">=2.0"),
            ("==1.*", ">=2"),
        ] {
            assert!(!both(one, other), "{one} {other}");
        }
    }
}
