//! Ranges of versions whose releases all end alike: the newest of them stands for all.
//!
//! Of a range that has no end, a release of tomorrow may be meant: nothing is settled then.

use std::cmp::Ordering;

use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::infer::libraries::release_of;
use crate::install::admits;
use crate::install::order;
use crate::knowledge::FrameworkBuildRow;
use crate::knowledge::Knowledge;

/// A version that no release reaches.
const BEYOND: &str = "99999";

/// What was seen, with the version of every package whose range settles it; `None` where no range does.
pub(super) fn settled(seen: &Observations, knowledge: Knowledge) -> Option<Observations> {
    let news: Vec<(usize, &'static FrameworkBuildRow)> = seen
        .packages
        .iter()
        .enumerate()
        .filter(|(_, package)| package.manager == Manager::Pip && package.conditional.is_none())
        .filter_map(|(at, package)| Some((at, newest(package, seen, knowledge)?)))
        .collect();
    if news.is_empty() {
        return None;
    }
    let mut seen = seen.clone();
    for (at, row) in news {
        let Observations { packages, facts, .. } = &mut seen;
        if let Some(package) = packages.get_mut(at) {
            package.fact = told(facts, package, row);
            package.version = PackageVersion::Exact(row.version.to_owned());
        }
    }
    Some(seen)
}

fn told(facts: &mut Facts, package: &PackageSeen, row: &'static FrameworkBuildRow) -> FactId {
    let state = State::Known(Value::Text(format!("{}=={}", package.name, row.version)));
    let evidence = Evidence::Derived { by: Derivation::Newest, from: vec![package.fact], row: Some(&row.info) };
    facts.add(FactKey::Package, Some(&package.name), state, evidence)
}

/// The newest release in a package's range, where every one of them has the same CUDA, code and needs.
fn newest(package: &PackageSeen, seen: &Observations, knowledge: Knowledge) -> Option<&'static FrameworkBuildRow> {
    let PackageVersion::Open(range) = &package.version else { return None };
    let framework = knowledge.framework(&package.name)?;
    let mut range = vec![range.clone()];
    for bound in seen.bounds.iter().filter(|bound| bound.name == package.name && bound.command == package.command) {
        range.push(match &bound.version {
            PackageVersion::Exact(version) => format!("=={version}"),
            PackageVersion::Open(range) => range.clone(),
            PackageVersion::Unresolved(_) => return None,
        });
    }
    range.retain(|range| !range.is_empty());
    let range = range.join(",");
    let local = range.contains('+');
    if framework.variants || local || admits(&range, BEYOND) != Some(false) {
        return None;
    }
    let rows = knowledge.framework_builds().iter().filter(|row| row.distribution == package.name);
    let within: Vec<&'static FrameworkBuildRow> =
        rows.filter(|row| is_release(row.version) && admits(&range, row.version) == Some(true)).collect();
    let first = within.first()?;
    let needs = |row: &FrameworkBuildRow| {
        release_of(row.version)
            .and_then(|version| knowledge.needs_of(row.distribution, version))
            .map(|row| row.info.row)
    };
    let same = |row: &&'static FrameworkBuildRow| {
        let code = |row: &FrameworkBuildRow| (row.code_known, row.sass, row.ptx);
        row.cuda == first.cuda && code(row) == code(first) && needs(row) == needs(first)
    };
    within.iter().all(same).then_some(())?;
    within.into_iter().max_by(|one, other| order(one.version, other.version).unwrap_or(Ordering::Equal))
}

/// Whether a row is about one release; others are about all of a minor or all there are.
fn is_release(version: &str) -> bool {
    version.split('.').count() > 2
}
