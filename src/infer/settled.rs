//! Ranges of versions: where all releases of one end alike, the newest of them stands for all; else what an installer
//! takes is the newest of the day that there is for the Python of the image.
//!
//! Of a range that has no end, a release of tomorrow may be meant: it never counts as one whose releases end alike.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::libraries::release_of;
use crate::infer::python::python;
use crate::infer::torch_pins::bounds;
use crate::infer::torch_pins::goes;
use crate::infer::unread::may_be_kept;
use crate::install::admits;
use crate::install::order;
use crate::knowledge::BEYOND;
use crate::knowledge::FrameworkBuildRow;
use crate::knowledge::Knowledge;
use crate::knowledge::WheelPythonRow;

/// The architecture whose wheels the tables list by Python.
const LISTED: &str = "amd64";
/// Where and when packages are installed.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) build: &'a BaseBuild,
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// What was seen, with the version of every package whose range settles it; `None` where no range does.
pub(super) fn settled(seen: &Observations, place: Place<'_>) -> Option<Observations> {
    let news: Vec<(usize, (&'static FrameworkBuildRow, Derivation))> = seen
        .packages
        .iter()
        .enumerate()
        .filter(|(_, package)| package.manager == Manager::Pip && package.conditional.is_none())
        .filter_map(|(at, package)| Some((at, release(package, seen, place)?)))
        .collect();
    let unserved: Vec<(usize, Why)> = seen
        .packages
        .iter()
        .enumerate()
        .filter_map(|(at, package)| Some((at, unserved(package, seen, place.knowledge)?)))
        .collect();
    if news.is_empty() && unserved.is_empty() {
        return None;
    }
    let mut seen = seen.clone();
    for (at, why) in unserved {
        if let Some(package) = seen.packages.get_mut(at) {
            package.conditional = Some(why);
        }
    }
    for (at, (row, by)) in news {
        let Observations { packages, facts, .. } = &mut seen;
        if let Some(package) = packages.get_mut(at) {
            package.fact = told(facts, package, row, by);
            package.version = PackageVersion::Exact(row.version.to_owned());
        }
    }
    Some(seen)
}

/// Why what an extra brings may not be installed: no release of it has a wheel for the Python, so that an older release is
/// taken of what has the extra, which may not have it yet.
fn unserved(package: &PackageSeen, seen: &Observations, knowledge: Knowledge) -> Option<Why> {
    let open = matches!(package.version, PackageVersion::Open(_)) && package.conditional.is_none();
    let brought = || knowledge.brought_packages().iter().any(|row| row.brings == package.name && row.from.is_some());
    if !open || seen.depth != Depth::Text || package.manager != Manager::Pip || !brought() {
        return None;
    }
    let python = python(seen, package, knowledge).ok()?;
    let mut own = knowledge.wheel_pythons().iter().filter(|row| row.distribution == package.name).peekable();
    own.peek()?;
    let name = &package.name;
    own.all(|row| row.python != python).then(|| Why {
        reason: format!(
            "no release of {name} has a wheel for Python {python}; an older release of the package that requires \
                it may not need it"
        ),
        supply: format!("pin the package that requires {name}, or use a newer Python"),
    })
}

fn told(facts: &mut Facts, package: &PackageSeen, row: &'static FrameworkBuildRow, by: Derivation) -> FactId {
    let state = State::Known(Value::Text(format!("{}=={}", package.name, row.version)));
    let evidence = Evidence::Derived { by, from: vec![package.fact], row: Some(&row.info) };
    facts.add(FactKey::Package, Some(&package.name), state, evidence)
}

/// The release that a package's range means, and how that is known.
fn release(
    package: &PackageSeen,
    seen: &Observations,
    place: Place<'_>,
) -> Option<(&'static FrameworkBuildRow, Derivation)> {
    let knowledge = place.knowledge;
    let framework = knowledge.framework(&package.name)?;
    let range = range(package, seen)?;
    // What was not read may have brought another release, or another build, which the command then keeps.
    if framework.variants || range.contains('+') || may_be_kept(seen, package).is_some() {
        return None;
    }
    let rows = knowledge.framework_builds().iter().filter(|row| row.distribution == package.name);
    let within: Vec<&'static FrameworkBuildRow> =
        rows.filter(|row| is_release(row.version) && admits(&range, row.version) == Some(true)).collect();
    let ends = admits(&range, BEYOND) == Some(false);
    if let Some(row) = alike(&within, knowledge).filter(|_| ends) {
        return Some((row, Derivation::Row));
    }
    of_the_day(package, seen, &within, place).map(|row| (row, Derivation::Newest))
}

/// What is asked of a package, by its command and the constraints of it, as one range.
fn range(package: &PackageSeen, seen: &Observations) -> Option<String> {
    let PackageVersion::Open(range) = &package.version else { return None };
    let mut ranges = vec![range.clone()];
    for bound in seen.bounds.iter().filter(|bound| bound.name == package.name && bound.command == package.command) {
        ranges.push(match &bound.version {
            PackageVersion::Exact(version) => format!("=={version}"),
            PackageVersion::Open(range) => range.clone(),
            PackageVersion::Unresolved(_) => return None,
        });
    }
    ranges.retain(|range| !range.is_empty());
    Some(ranges.join(","))
}

/// The newest of several releases, where every one of them has the same CUDA, code and needs.
fn alike(within: &[&'static FrameworkBuildRow], knowledge: Knowledge) -> Option<&'static FrameworkBuildRow> {
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
    newest(within.iter().copied())
}

/// The newest release of the day, where an installer takes it and nothing that is there already will do.
///
/// Of an image that somebody describes or that was read, a range says what is there and not what was taken.
fn of_the_day(
    package: &PackageSeen,
    seen: &Observations,
    within: &[&'static FrameworkBuildRow],
    place: Place<'_>,
) -> Option<&'static FrameworkBuildRow> {
    let Place { build, arch, as_of, knowledge } = place;
    let untouched = matches!(build.family, Family::Plain | Family::Cuda) && build.of_others.is_none();
    let of_index = matches!(package.offered, Offered::Default) && package.early.is_none();
    if seen.depth != Depth::Text || arch != LISTED || !untouched || !of_index || accompanied(package, seen, knowledge) {
        return None;
    }
    // A package that asks for torch is taken in a release that goes with the bounds on it.
    let bounds = if pins(package, knowledge) { bounds(package, seen, knowledge)? } else { Vec::new() };
    let going = |row: &FrameworkBuildRow| goes(row.distribution, row.version, &bounds, knowledge);
    let there =
        |row: &&'static FrameworkBuildRow| as_of.is_none_or(|day| row.released.is_none_or(|released| released <= day));
    let own = || knowledge.wheel_pythons().iter().filter(|row| row.distribution == package.name);
    // A release of an unknown day is no answer for a day.
    let of_python = |python: &str| {
        let fitting = within.iter().copied().filter(there).filter(|row| served(own(), python, row.version));
        let newest = newest(fitting.filter(|row| going(row) != Some(false)));
        newest.filter(|row| going(row) == Some(true) && (as_of.is_none() || row.released.is_some()))
    };
    if let Ok(python) = python(seen, package, knowledge) {
        return of_python(&python);
    }
    let mut each: Vec<_> = own().filter_map(|row| of_python(row.python)).collect();
    each.dedup_by_key(|row| row.version);
    match each.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether something else in the image has a say in the version: the same framework once more, or a torch that is
/// installed along with a package that asks for one.
fn accompanied(package: &PackageSeen, seen: &Observations, knowledge: Knowledge) -> bool {
    let component = |name: &str| knowledge.framework(name).map(|row| row.component);
    let own = component(&package.name);
    let asks = pins(package, knowledge);
    seen.packages.iter().filter(|other| other.fact != package.fact).any(|other| {
        let beside =
            other.command == package.command && (knowledge.is_built_framework(&other.name) || pins(other, knowledge));
        component(&other.name) == own || asks && beside
    })
}

/// Whether a package asks for a torch of its own.
pub(super) fn pins(package: &PackageSeen, knowledge: Knowledge) -> bool {
    knowledge.torch_pins_of(&package.name).next().is_some()
}

/// Whether a release has a wheel for a Python.
fn served<'a>(mut rows: impl Iterator<Item = &'a WheelPythonRow>, python: &str, version: &str) -> bool {
    rows.any(|row| {
        row.python == python
            && order(version, row.first).is_some_and(Ordering::is_ge)
            && row.last.is_none_or(|last| order(version, last).is_some_and(Ordering::is_le))
    })
}

fn newest(rows: impl Iterator<Item = &'static FrameworkBuildRow>) -> Option<&'static FrameworkBuildRow> {
    rows.max_by(|one, other| order(one.version, other.version).unwrap_or(Ordering::Equal))
}

/// Whether a row is about one release; others are about all of a minor or all there are.
fn is_release(version: &str) -> bool {
    version.split('.').count() > 2
}
