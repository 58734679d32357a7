//! Constraint files, and the requirements that the packages of one command have of one another, applied to version
//! ranges.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::infer::python_version::python_of_package;
use crate::knowledge::{Knowledge, RequiresDistRow, RowVersion};
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, Evidence, FactId, FactKey, InspectionDepth, Observations, PrintedValue, ValueState,
};
use crate::model::package::{
    IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, VersionRange,
};

/// A new version of a package that constraints or other packages determine, with the facts it follows from.
struct ConstrainedVersion {
    at: usize,
    version: PackageVersion,
    from: Vec<FactId>,
}

/// Returns the observations with the constraints of each command applied to its package versions; `None` if nothing
/// changes.
pub(super) fn apply_constraints(
    seen: &Observations,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Option<Observations> {
    if seen.depth != InspectionDepth::Text {
        return None;
    }
    let mut now: Option<Observations> = None;
    let take = |now: &mut Option<Observations>, news: Vec<ConstrainedVersion>| {
        let into = now.get_or_insert_with(|| seen.clone());
        for ConstrainedVersion { at, version, from } in news {
            let Observations { packages, facts, .. } = &mut *into;
            let Some(package) = packages.get_mut(at) else { continue };
            let text =
                |rest: &str| ValueState::Known(PrintedValue::Text(format!("{}{rest}", package.requirement.name)));
            let state = match &version {
                PackageVersion::Exact(version) => text(&format!("=={version}")),
                PackageVersion::Range(range) => text(range.as_str()),
                PackageVersion::Unresolved(why) => ValueState::Unknown(why.clone()),
            };
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            package.fact = facts.add(FactKey::Package, Some(&package.requirement.name), state, evidence);
            package.requirement.version = version;
        }
    };
    let own = constrained_packages(seen, knowledge);
    if !own.is_empty() {
        take(&mut now, own);
    }
    let companions = derived_torch_constraints(now.as_ref().unwrap_or(seen), knowledge);
    if !companions.is_empty() {
        now.get_or_insert_with(|| seen.clone()).bounds.extend(companions);
    }
    let older_releases = if as_of.is_none() {
        packages_without_newest_release(now.as_ref().unwrap_or(seen), knowledge)
    } else {
        Vec::new()
    };
    if !older_releases.is_empty() {
        take(&mut now, older_releases);
    }
    now
}

/// Whether pip installs a package in every branch of the command.
fn is_unconditional_pip_package(package: &ObservedPackage) -> bool {
    package.requirement.manager == PackageManager::Pip && package.conditional.is_none()
}

/// Returns the packages that constraints name, except torch, which is handled elsewhere.
fn constrained_packages(seen: &Observations, knowledge: Knowledge) -> Vec<ConstrainedVersion> {
    let mut all: BTreeMap<(&str, u32), Vec<&ObservedPackage>> = BTreeMap::new();
    for bound in &seen.bounds {
        all.entry((&bound.requirement.name, bound.command)).or_default().push(bound);
    }
    let news = |(at, package): (usize, &ObservedPackage)| {
        let PackageVersion::Range(range) = &package.requirement.version else { return None };
        let bounds = all.get(&(package.requirement.name.as_str(), package.command)).into_iter().flatten();
        let (mut ranges, mut exact, mut from) = (vec![range], None, vec![package.fact]);
        for bound in bounds {
            from.push(bound.fact);
            match (&bound.conditional, &bound.requirement.version) {
                (Some(why), _) | (None, PackageVersion::Unresolved(why)) => {
                    return Some(ConstrainedVersion { at, version: PackageVersion::Unresolved(why.clone()), from });
                }
                (None, PackageVersion::Exact(version)) => exact = Some(version),
                (None, PackageVersion::Range(range)) => ranges.push(range),
            }
        }
        let range = VersionRange::of_all(ranges);
        let version = match exact {
            Some(version) if range.contains(&version.without_local()) == Some(true) => {
                PackageVersion::Exact(version.clone())
            }
            // No release is both: the build fails.
            Some(_) => return None,
            None => PackageVersion::Range(range),
        };
        (from.len() > 1).then_some(ConstrainedVersion { at, version, from })
    };
    let others = |(_, package): &(usize, &ObservedPackage)| {
        is_unconditional_pip_package(package) && !knowledge.has_variants(&package.requirement.name)
    };
    seen.packages.iter().enumerate().filter(others).filter_map(news).collect()
}

/// Returns constraints on torch that follow from constraints on distributions which a package of the command depends
/// on.
fn derived_torch_constraints(seen: &Observations, knowledge: Knowledge) -> Vec<ObservedPackage> {
    let framework = knowledge.framework_with_variants().map(|row| row.distribution);
    let brings = |bound: &ObservedPackage| {
        let here = |package: &&ObservedPackage| {
            package.command == bound.command && is_unconditional_pip_package(package) && !package.requirement.no_deps
        };
        let named = seen.packages.iter().filter(here).any(|package| package.requirement.name == bound.requirement.name);
        !named
            && seen.packages.iter().filter(here).any(|package| {
                requirement_rows(&package.requirement.name, knowledge).any(|row| row.package == bound.requirement.name)
            })
    };
    let on_framework = |bound: &ObservedPackage| {
        let PackageVersion::Exact(version) = &bound.requirement.version else { return None };
        let public = version.without_local();
        let mut rows = knowledge.torch_requirements_of(&bound.requirement.name);
        let row = rows.find(|row| !row.unasked && row.version.is_some_and(|own| own.is_same(&public)))?;
        let version = match row.range.only_version() {
            Some(version) => PackageVersion::Exact(version),
            None => PackageVersion::Range(row.range.cloned()),
        };
        let mut on_framework = bound.clone();
        on_framework.requirement.name = PackageName::python(framework?);
        on_framework.requirement.version = version;
        Some(on_framework)
    };
    let unconditional = seen.bounds.iter().filter(|bound| bound.conditional.is_none());
    unconditional.filter_map(|bound| on_framework(bound).filter(|_| brings(bound))).collect()
}

/// Returns the rows of what the newest release of a distribution requires.
fn requirement_rows(distribution: &str, knowledge: Knowledge) -> impl Iterator<Item = &'static RequiresDistRow> {
    knowledge.requirements_of(distribution).filter(|row| row.newest)
}

/// Returns the packages that are not installed in their newest release, because its requirements conflict with other
/// packages of the command.
fn packages_without_newest_release(seen: &Observations, knowledge: Knowledge) -> Vec<ConstrainedVersion> {
    let news = |(at, package): (usize, &ObservedPackage)| {
        let PackageVersion::Range(range) = &package.requirement.version else { return None };
        let row = requirement_rows(&package.requirement.name, knowledge).next()?;
        let newest = row.version.is_some_and(|version| range.contains(version) == Some(true))
            && matches!(package.requirement.indexes, IndexSelection::Default);
        if !newest || package.requirement.no_deps || !newest_release_supports_python(package, seen, knowledge) {
            return None;
        }
        let coinstalled = seen.packages.iter().chain(&seen.bounds).filter(|other| other.command == package.command);
        let mut against =
            coinstalled.filter(|other| other.requirement.manager == PackageManager::Pip).filter_map(|other| {
                let row = requirement_rows(&package.requirement.name, knowledge)
                    .find(|row| row.package == other.requirement.name)?;
                let own = match &other.requirement.version {
                    PackageVersion::Exact(version) => VersionRange::exactly(&version.without_local()),
                    PackageVersion::Range(range) => range.clone(),
                    // It may be one that the newest release does not admit.
                    PackageVersion::Unresolved(why) => return Some((other, why.clone())),
                };
                let older = || Cause::OlderRelease {
                    package: row.distribution.to_string().into(),
                    version: row.version_text().into(),
                    requirement: row.package.to_string().into(),
                    range: row.range.to_string().into(),
                    restriction: own.as_str().into(),
                };
                let conflicts = !ranges_may_overlap(&own, row.range);
                conflicts.then(|| (other, other.conditional.clone().unwrap_or_else(older)))
            });
        let (other, why) = against.next()?;
        Some(ConstrainedVersion { at, version: PackageVersion::Unresolved(why), from: vec![package.fact, other.fact] })
    };
    seen.packages
        .iter()
        .enumerate()
        .filter(|(_, package)| is_unconditional_pip_package(package))
        .filter_map(news)
        .collect()
}

/// Whether the newest release of a package has a wheel for the Python of its command, as far as that is known.
fn newest_release_supports_python(package: &ObservedPackage, seen: &Observations, knowledge: Knowledge) -> bool {
    let Ok(python) = python_of_package(seen, package, knowledge) else { return true };
    let of_framework = knowledge.torch_pythons().filter(|_| knowledge.has_variants(&package.requirement.name));
    let mut ends = of_framework.filter(|row| row.python == python).map(|row| row.last);
    let own = knowledge.complete_wheel_pythons_of(&package.requirement.name).filter(|row| row.python == python);
    let own: Vec<Option<RowVersion>> = own.map(|row| row.last).collect();
    ends.all(|last| last.is_none()) && (own.is_empty() || own.iter().any(Option::is_none))
}

/// Whether some version may be in both of two ranges; an invalid range may contain any.
fn ranges_may_overlap(one: &VersionRange, other: &VersionRange) -> bool {
    one.overlaps(other).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(one: &str, other: &str) -> bool {
        ranges_may_overlap(&one.into(), &other.into())
    }

    #[test]
    fn ranges_overlap_if_they_share_a_version() {
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
            assert!(overlap(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("<2", ">=2.0"),
            ("==4.40.0", ">=5.16.1,<5.21.0"),
            ("<4.45", ">=5.16.1"),
            ("==2.1.0", "~=3.9.0"),
            ("~=1.26.0", ">=2.0"),
            ("==1.*", ">=2"),
        ] {
            assert!(!overlap(one, other), "{one} {other}");
        }
    }
}
