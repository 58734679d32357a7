//! Releases in their order, and what goes with them.

use crate::cure::Companion;
use crate::cure::case::Case;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::install::admits;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::knowledge::TorchPinRow;
use crate::knowledge::by_number;

/// How far one place is from another; of two that are as far, the later is nearer.
pub(super) fn far(at: usize, place: usize) -> usize {
    if at >= place { 2 * (at - place) } else { 2 * (place - at) + 1 }
}

/// `2.6` of `2.6.0`.
pub(super) fn minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// So many minors of one major are met without reading what changed in each.
const NEAR: u32 = 2;

/// Added to the step of a candidate that is further away than that: the last resort, where nothing nearer helps as much.
pub(super) const FAR: usize = 10_000;

/// Whether two releases are neighbours: of one major, and few minors apart.
pub(super) fn near(one: &str, other: &str) -> bool {
    let numbers = |version: &str| {
        let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    match (numbers(one), numbers(other)) {
        (Some(one), Some(other)) => one.0 == other.0 && one.1.abs_diff(other.1) <= NEAR,
        _ => false,
    }
}

/// All other releases: patches of the same minor first, then by their distance, of a minor its last patch first.
pub(super) fn nearest<'a>(all: &[&'a str], now: &str) -> Vec<&'a str> {
    let mut sorted: Vec<&'a str> = all.to_vec();
    sorted.sort_by(|one, other| by_number(one, other));
    sorted.dedup();
    let mut minors: Vec<String> = sorted.iter().map(|version| minor(version)).collect();
    minors.dedup();
    let place = |version: &str| minors.iter().position(|one| *one == minor(version)).unwrap_or(0);
    let mine = place(now);
    let patch = sorted.iter().position(|one| by_number(one, now).is_ge()).unwrap_or(0);
    let mut ranked: Vec<((usize, usize), &'a str)> = sorted
        .iter()
        .enumerate()
        .filter(|(_, version)| **version != now)
        .map(|(at, version)| {
            let own = place(version) == mine;
            let within = if own { far(at, patch) } else { sorted.len() - at };
            ((far(place(version), mine), within), *version)
        })
        .collect();
    ranked.sort_unstable();
    let mut found: Vec<&'a str> = Vec::new();
    for (_, version) in ranked {
        // One patch stands for a minor of others.
        if minor(version) == minor(now) || !found.iter().any(|other| minor(other) == minor(version)) {
            found.push(version);
        }
    }
    found
}

/// The releases of a distribution that the tables know one by one.
pub(super) fn releases(knowledge: Knowledge, distribution: &str) -> Vec<&'static str> {
    let whole = |version: &str| version.matches('.').count() >= 2;
    let builds = knowledge.framework_builds().iter().filter(|row| row.distribution == distribution);
    let pins = knowledge.torch_pins_of(distribution);
    let mut found: Vec<&'static str> =
        builds.map(|row| row.version).chain(pins.map(|row| row.version)).filter(|version| whole(version)).collect();
    found.sort_by(|one, other| by_number(one, other));
    found.dedup();
    found
}

/// Of which Pythons a release has to have a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// Of this one.
    Known(&'a str),
    /// Of this one, else of the newest before it of which the release that is there has one: that of its day.
    Newest(&'a str),
    /// Of one that is not known.
    Unknown,
}

/// Whether another release is there for the Python of the one that is there: none where no wheel of it can be, else what
/// has to be true of a Python that is not known.
pub(super) fn for_python(case: &Case<'_>, package: Option<&PackageSeen>, from: &str, to: &str) -> Option<String> {
    let Some(package) = package else { return Some(String::new()) };
    let known = case.python(package);
    let wanted = match &known {
        Some(python) => Wanted::Known(python),
        None => case.newest_python(package).map_or(Wanted::Unknown, Wanted::Newest),
    };
    there(case.knowledge(), &package.name, (from, to), wanted)
}

fn there(knowledge: Knowledge, distribution: &str, (from, to): (&str, &str), wanted: Wanted<'_>) -> Option<String> {
    let has = |version: &str, python: &str| has_wheel(knowledge, distribution, version, python);
    let pythons = || knowledge.torch_pythons().iter().map(|row| row.python);
    let until = |newest: &str| pythons().filter(|python| by_number(python, newest).is_le()).collect::<Vec<_>>();
    let of_day = |newest: &str| until(newest).into_iter().rfind(|python| has(from, python));
    match wanted {
        Wanted::Known(python) => return has(to, python).then(String::new),
        Wanted::Newest(python) if let Some(python) = of_day(python) => return has(to, python).then(String::new),
        Wanted::Newest(_) | Wanted::Unknown => {}
    }
    let of = |version: &str| pythons().filter(|python| has(version, python)).collect::<Vec<_>>();
    let (before, after) = (of(from), of(to));
    if before.iter().all(|python| after.contains(python)) {
        return Some(String::new());
    }
    let (first, last) = (after.first()?, after.last()?);
    before.iter().any(|python| after.contains(python)).then_some(())?;
    Some(if Some(*last) == pythons().next_back() {
        format!(", which requires Python {first} or newer")
    } else {
        format!(", which requires Python {first} to {last}")
    })
}

/// Whether nothing in the tables speaks against a wheel of a release for a Python.
pub(super) fn has_wheel(knowledge: Knowledge, distribution: &str, version: &str, python: &str) -> bool {
    let within = |first: &str, last: Option<&str>, version: &str| {
        by_number(first, version).is_le() && last.is_none_or(|last| by_number(version, last).is_le())
    };
    let of_torch = |version: &str| {
        let mut rows = knowledge.torch_pythons().iter().filter(|row| row.python == python);
        rows.any(|row| within(row.first, row.last, version))
    };
    if knowledge.is_built_framework(distribution) {
        return of_torch(version);
    }
    let mut pins = knowledge.torch_pins_of(distribution);
    let pin = pins.find(|row| row.version == version).map(|row| row.torch);
    let pinned = pin.and_then(|pin| pin.strip_prefix("==")).filter(|pin| !pin.contains(['*', ',']));
    let mut rows = knowledge.wheel_pythons().iter().filter(|row| row.distribution == distribution).peekable();
    let told = rows.peek().is_some();
    let there = rows.any(|row| row.python == python && within(row.first, row.last, version));
    (!told || there) && pinned.is_none_or(of_torch)
}

/// What has to go with another release of torch; none where something is pinned of which no fitting release is known.
/// Where nothing pins torch itself, `open` is the command that asks for it: what it asks for beside that is pinned too.
pub(super) fn companions(case: &Case<'_>, torch: &str, version: &str, open: Option<u32>) -> Option<Vec<Companion>> {
    let knowledge = case.knowledge();
    let mut found = Vec::new();
    for package in case.seen.packages.iter().filter(|one| one.manager == Manager::Pip && one.name != torch) {
        if let Beside::Release(row) = beside(knowledge, package, version, open) {
            let to = row.version.to_owned();
            found.push(Companion { package: package.name.clone(), from: None, to });
        }
        let PackageVersion::Exact(text) = &package.version else { continue };
        let from = public(text);
        let rows = || knowledge.torch_pins_of(&package.name);
        let Some(own) = rows().find(|row| row.version == from) else { continue };
        if own.torch.is_empty() || admits(own.torch, version) == Some(true) {
            continue;
        }
        let fits = |row: &&TorchPinRow| {
            row.version != "*" && row.torch.starts_with("==") && admits(row.torch, version) == Some(true)
        };
        let to = rows().filter(fits).max_by(|one, other| by_number(one.version, other.version))?.version.to_owned();
        found.push(Companion { package: package.name.clone(), from: Some(from.to_owned()), to });
    }
    found.dedup();
    Some(found)
}

/// What the command that asks for a torch that nothing pins asks for beside it, of which no release is known to go with
/// one of torch, in a build.
pub(super) fn without_release<'a>(
    case: &'a Case<'_>,
    version: &str,
    open: Option<u32>,
    build: Option<&str>,
) -> Option<&'a str> {
    let knowledge = case.knowledge();
    let pip = case.seen.packages.iter().filter(|one| one.manager == Manager::Pip);
    let lacks = |one: &&PackageSeen| {
        matches!(beside(knowledge, one, version, open), Beside::Unknown)
            && !build.is_some_and(|build| comes_unasked(knowledge, one, build))
    };
    pip.filter(lacks).map(|one| one.name.as_str()).next()
}

/// Whether the newest release that is asked for asks for no torch, and there is one in a build.
fn comes_unasked(knowledge: Knowledge, package: &PackageSeen, build: &str) -> bool {
    let PackageVersion::Open(range) = &package.version else { return false };
    let admitted = |row: &&TorchPinRow| range.is_empty() || admits(range, row.version) == Some(true);
    let rows = knowledge.torch_pins_of(&package.name).filter(|row| row.version != "*").filter(admitted);
    let Some(newest) = rows.max_by(|one, other| by_number(one.version, other.version)) else { return false };
    let torch = newest.torch.strip_prefix("==").and_then(|torch| knowledge.torch(torch));
    let is_built = knowledge.is_built_with_torch(&package.name);
    is_built && newest.unasked && torch.is_some_and(|torch| torch.variants.contains(&build))
}

/// What goes with a release of torch of a package of which any release is asked for.
#[derive(Clone, Copy)]
enum Beside {
    /// It is asked for by another command, in one release, or is for no one torch.
    Free,
    /// No release is known.
    Unknown,
    /// The newest that does.
    Release(&'static TorchPinRow),
}

fn beside(knowledge: Knowledge, package: &PackageSeen, version: &str, open: Option<u32>) -> Beside {
    let PackageVersion::Open(range) = &package.version else { return Beside::Free };
    let mut rows = knowledge.torch_pins_of(&package.name).filter(|row| row.version != "*").peekable();
    if rows.peek().is_none() || open != Some(package.command) {
        return Beside::Free;
    }
    let fits = |row: &&TorchPinRow| {
        let admitted = range.is_empty() || admits(range, row.version) == Some(true);
        // What asks for any later one as well is of the day of the first.
        let of_day = row.torch.strip_prefix(">=").is_some_and(|first| minor(first) == minor(version));
        admitted && (row.torch.starts_with("==") || of_day) && admits(row.torch, version) == Some(true)
    };
    let newest = rows.filter(fits).max_by(|one, other| by_number(one.version, other.version));
    newest.map_or(Beside::Unknown, Beside::Release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_come_before_minors_and_near_ones_before_far_ones() {
        let all = ["2.4.0", "2.4.1", "2.5.0", "2.5.1", "2.6.0", "2.7.0", "2.7.1"];
        for (now, expected) in [
            ("2.6.0", vec!["2.7.1", "2.5.1", "2.4.1"]),
            ("2.5.0", vec!["2.5.1", "2.6.0", "2.4.1", "2.7.1"]),
            ("2.4.1", vec!["2.4.0", "2.5.1", "2.6.0", "2.7.1"]),
        ] {
            assert_eq!(nearest(&all, now), expected, "{now}");
        }
        assert_eq!(nearest(&[], "1.0.0"), [""; 0]);
    }

    #[test]
    fn neighbours_are_few_minors_apart() {
        for (one, other, expected) in [
            ("2.4.0", "2.4.1", true),
            ("2.4.0", "2.2.2", true),
            ("2.7.0a0+1a2b", "2.5.0", true),
            ("2.4.0", "2.1.2", false),
            ("2.0.0", "1.13.1", false),
            ("1.9.0", "1.5.1", false),
            ("2.4.0", "latest", false),
            ("2", "2", false),
            ("", "2.4.0", false),
        ] {
            assert_eq!((near(one, other), near(other, one)), (expected, expected), "{one} {other}");
        }
    }

    #[test]
    fn wheels_are_for_some_pythons() {
        let knowledge = Knowledge::built_in();
        for (name, version, python, expected) in [
            ("torch", "2.9.1", "3.14", true),
            ("torch", "2.7.1", "3.14", false),
            ("torch", "2.6.0", "3.8", false),
            ("torch", "2.6.0", "2.6", false),
            ("tensorflow", "2.18.0", "3.12", true),
            ("tensorflow", "2.18.0", "3.13", false),
            ("vllm", "0.8.3", "3.15", false),
            ("cupy-cuda12x", "13.3.0", "3.11", true),
        ] {
            assert_eq!(has_wheel(knowledge, name, version, python), expected, "{name} {version} {python}");
        }
    }

    #[test]
    fn a_release_is_there_for_the_python_or_says_which_it_needs() {
        let knowledge = Knowledge::built_in();
        let needs = |text: &str| Some(format!(", which requires Python {text}"));
        let fits = || Some(String::new());
        for (name, from, to, wanted, expected) in [
            ("torch", "2.9.1", "2.9.0", Wanted::Unknown, fits()),
            ("torch", "1.12.1", "1.13.1", Wanted::Unknown, fits()),
            ("torch", "2.9.1", "2.7.1", Wanted::Unknown, needs("3.9 to 3.13")),
            ("torch", "1.13.1", "2.0.0", Wanted::Unknown, needs("3.8 to 3.11")),
            ("torch", "1.4.0", "2.6.0", Wanted::Unknown, None),
            ("torch", "2.9.1", "2.7.1", Wanted::Known("3.13"), fits()),
            ("torch", "2.9.1", "2.7.1", Wanted::Known("3.14"), None),
            ("torch", "1.13.1", "2.0.0", Wanted::Known("3.7"), None),
            ("torch", "1.13.1", "2.0.0", Wanted::Known("3.8"), fits()),
            ("torch", "2.9.1", "2.7.1", Wanted::Newest("3.14"), None),
            ("torch", "2.9.1", "2.9.0", Wanted::Newest("3.14"), fits()),
            // It has none for that one: it was installed on an earlier day.
            ("torch", "2.6.0", "2.5.1", Wanted::Newest("3.15"), fits()),
            ("torch", "2.9.1", "2.7.1", Wanted::Newest("3.15"), None),
            ("torch", "2.4.1", "2.5.1", Wanted::Newest("3.14"), fits()),
            ("torch", "2.9.1", "2.7.1", Wanted::Newest("2.6"), needs("3.9 to 3.13")),
            ("tensorflow", "2.20.0", "2.18.0", Wanted::Known("3.13"), None),
            ("tensorflow", "2.20.0", "2.18.0", Wanted::Unknown, needs("3.9 to 3.12")),
            ("cupy-cuda12x", "13.4.0", "13.3.0", Wanted::Unknown, fits()),
        ] {
            assert_eq!(there(knowledge, name, (from, to), wanted), expected, "{name} {from} {to} {wanted:?}");
        }
    }
}
