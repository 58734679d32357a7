//! Package releases and their builds: order and distance, the Pythons with wheels, and matching companion releases.

use crate::fix::PackageEdit;
use crate::fix::fix_context::FixContext;
use crate::knowledge::{Knowledge, RequiresDistRow, RowVersion, TorchRow, compare_natural};
use crate::model::package::{ExactVersion, ObservedPackage, PackageManager, PackageVersion};

/// Returns the distance between two positions in a list; of two equally far, the later counts as nearer.
pub(super) fn distance(at: usize, place: usize) -> usize {
    if at >= place { 2 * (at - place) } else { 2 * (place - at) + 1 }
}

/// Returns the minor release of a version: `2.6` of `2.6.0`.
pub(super) fn minor_release(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Maximum number of minor releases between neighbours.
const MAX_MINOR_DISTANCE: u32 = 2;

/// Added to the step of candidates beyond the nearest releases, which are the last resort.
pub(super) const FAR_STEP: usize = 10_000;

/// Whether two releases are of one major release and few minor releases apart.
pub(super) fn are_neighbours(one: &str, other: &str) -> bool {
    let numbers = |version: &str| {
        let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    match (numbers(one), numbers(other)) {
        (Some(one), Some(other)) => one.0 == other.0 && one.1.abs_diff(other.1) <= MAX_MINOR_DISTANCE,
        _ => false,
    }
}

/// Returns the other releases by distance: patches of the same minor first, then the last patch of each other minor.
pub(super) fn nearest_releases(all: &[RowVersion], now: &ExactVersion) -> Vec<RowVersion> {
    let minor = |version: &ExactVersion| minor_release(version.as_str());
    let mut sorted: Vec<RowVersion> = all.to_vec();
    sorted.sort_by(|one, other| one.compare(other));
    sorted.dedup_by(|one, other| one.is_same(other));
    let mut minors: Vec<String> = sorted.iter().map(|version| minor(version)).collect();
    minors.dedup();
    let place = |version: &ExactVersion| minors.iter().position(|one| *one == minor(version)).unwrap_or(0);
    let mine = place(now);
    let patch = sorted.iter().position(|one| one.compare(now).is_ge()).unwrap_or(0);
    let mut ranked: Vec<((usize, usize), RowVersion)> = sorted
        .iter()
        .enumerate()
        .filter(|(_, version)| !version.is_same(now))
        .map(|(at, version)| {
            let own = place(version) == mine;
            let within = if own { distance(at, patch) } else { sorted.len() - at };
            ((distance(place(version), mine), within), *version)
        })
        .collect();
    ranked.sort_by_key(|(distances, _)| *distances);
    let mut found: Vec<RowVersion> = Vec::new();
    for (_, version) in ranked {
        // One patch stands for a minor of others.
        if minor(version) == minor(now) || !found.iter().any(|other| minor(other) == minor(version)) {
            found.push(version);
        }
    }
    found
}

/// Returns the releases of a distribution that the tables list individually.
pub(super) fn known_releases(knowledge: Knowledge, distribution: &str) -> Vec<RowVersion> {
    let is_full = |version: &RowVersion| version.as_str().matches('.').count() >= 2;
    let builds = knowledge.framework_releases_of(distribution).filter_map(|row| row.version);
    let pins = knowledge.torch_requirements_on_build_indexes(distribution).filter_map(|row| row.version);
    let mut found: Vec<RowVersion> = builds.chain(pins).filter(is_full).collect();
    found.sort_by(|one, other| one.compare(other));
    found.dedup_by(|one, other| one.is_same(other));
    found
}

/// The Python for which a release must have a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequiredPython<'a> {
    /// This Python.
    Known(&'a str),
    /// This Python, or else the newest older one for which the present release has a wheel.
    Newest(&'a str),
    /// An unknown Python.
    Unknown,
}

/// Returns the condition on Python for another release, often empty; `None` where no wheel can match.
pub(super) fn python_condition(
    case: &FixContext<'_>,
    package: Option<&ObservedPackage>,
    from: &ExactVersion,
    to: &ExactVersion,
) -> Option<String> {
    let Some(package) = package else { return Some(String::new()) };
    let known = case.python_version(package);
    let required_python = match &known {
        Some(python) => RequiredPython::Known(python),
        None => case.newest_possible_python(package).map_or(RequiredPython::Unknown, RequiredPython::Newest),
    };
    wheel_condition(case.knowledge(), &package.requirement.name, (from, to), required_python)
}

/// Returns the condition under which a release has a wheel for the required Python; `None` where it has none.
fn wheel_condition(
    knowledge: Knowledge,
    distribution: &str,
    (from, to): (&ExactVersion, &ExactVersion),
    required_python: RequiredPython<'_>,
) -> Option<String> {
    let has = |version: &ExactVersion, python: &str| may_have_wheel(knowledge, distribution, version, python);
    let pythons = || knowledge.torch_pythons().map(|row| row.python);
    let until = |newest: &str| pythons().filter(|python| compare_natural(python, newest).is_le()).collect::<Vec<_>>();
    let of_day = |newest: &str| until(newest).into_iter().rfind(|python| has(from, python));
    match required_python {
        RequiredPython::Known(python) => return has(to, python).then(String::new),
        RequiredPython::Newest(python) if let Some(python) = of_day(python) => {
            return has(to, python).then(String::new);
        }
        RequiredPython::Newest(_) | RequiredPython::Unknown => {}
    }
    let of = |version: &ExactVersion| pythons().filter(|python| has(version, python)).collect::<Vec<_>>();
    let (before, after) = (of(from), of(to));
    if before.iter().all(|python| after.contains(python)) {
        return Some(String::new());
    }
    let (first, last) = (after.first()?, after.last()?);
    before.iter().any(|python| after.contains(python)).then_some(())?;
    Some(if Some(*last) == pythons().last() {
        format!(", which requires Python {first} or newer")
    } else {
        format!(", which requires Python {first} to {last}")
    })
}

/// Whether the tables allow a wheel of a release for a Python.
pub(super) fn may_have_wheel(knowledge: Knowledge, distribution: &str, version: &ExactVersion, python: &str) -> bool {
    let of_torch =
        |version: &ExactVersion| knowledge.torch_pythons().any(|row| row.python == python && row.contains(version));
    if knowledge.has_variants(distribution) {
        return of_torch(version);
    }
    let mut pins = knowledge.torch_requirements_on_build_indexes(distribution);
    let pin = pins.find(|row| row.version.is_some_and(|own| own.is_same(version)));
    let pinned = pin.and_then(|row| row.range.pinned_version());
    let mut rows = knowledge.complete_wheel_pythons_of(distribution).peekable();
    let is_listed = rows.peek().is_some();
    let there = rows.any(|row| row.python == python && row.contains(version));
    (!is_listed || there) && pinned.is_none_or(|torch| of_torch(&torch))
}

/// Returns the package versions that must change with torch; `None` where a pinned one has no known match.
pub(super) fn companion_updates(
    case: &FixContext<'_>,
    torch: &str,
    version: &ExactVersion,
    open: Option<u32>,
) -> Option<Vec<PackageEdit>> {
    let knowledge = case.knowledge();
    let mut found = Vec::new();
    for package in case
        .seen
        .packages
        .iter()
        .filter(|one| one.requirement.manager == PackageManager::Pip && one.requirement.name != torch)
    {
        if let MatchingRelease::Release(release) = matching_release(knowledge, package, version, open) {
            found.push(PackageEdit {
                name: package.requirement.name.clone(),
                from: None,
                to: release.cloned(),
                build: None,
            });
        }
        let PackageVersion::Exact(text) = &package.requirement.version else { continue };
        let from = text.without_local();
        let rows = || knowledge.torch_requirements_on_build_indexes(&package.requirement.name);
        let Some(own) = rows().find(|row| row.version.is_some_and(|own| own.is_same(&from))) else { continue };
        if own.range.admits(version) {
            continue;
        }
        let fits = |row: &&RequiresDistRow| row.range.has_equality() && row.range.contains(version) == Some(true);
        let (to, _) = newest_row(rows().filter(fits))?;
        found.push(PackageEdit {
            name: package.requirement.name.clone(),
            from: Some(from),
            to: to.cloned(),
            build: None,
        });
    }
    found.dedup();
    Some(found)
}

/// Returns an unpinned package of the torch command that has no known release for a torch version and build.
pub(super) fn package_without_release<'a>(
    case: &'a FixContext<'_>,
    version: &ExactVersion,
    open: Option<u32>,
    build: Option<&str>,
) -> Option<&'a str> {
    let knowledge = case.knowledge();
    let pip = case.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Pip);
    let lacks = |one: &&ObservedPackage| {
        matches!(matching_release(knowledge, one, version, open), MatchingRelease::Unknown)
            && !build.is_some_and(|build| newest_release_omits_torch(knowledge, one, build))
    };
    pip.filter(lacks).map(|one| one.requirement.name.as_str()).next()
}

/// Whether the newest admitted release does not require torch itself, and exists for a build.
fn newest_release_omits_torch(knowledge: Knowledge, package: &ObservedPackage, build: &str) -> bool {
    let PackageVersion::Range(range) = &package.requirement.version else { return false };
    let admitted = |row: &&RequiresDistRow| row.version.is_some_and(|version| range.admits(version));
    let rows = knowledge.torch_requirements_on_build_indexes(&package.requirement.name).filter(admitted);
    let Some((_, newest)) = newest_row(rows) else { return false };
    let torch = newest.range.pinned_version();
    let torch = torch.and_then(|torch| knowledge.torch_release(&torch));
    let is_built = knowledge.is_built_with_torch(&package.requirement.name);
    is_built && newest.unasked && torch.is_some_and(|torch| torch.variants.contains(&build))
}

/// Returns the row of the newest release, without those for every version.
fn newest_row(rows: impl Iterator<Item = &'static RequiresDistRow>) -> Option<(RowVersion, &'static RequiresDistRow)> {
    rows.filter_map(|row| Some((row.version?, row))).max_by(|(one, _), (other, _)| one.compare(other))
}

/// The release of an unpinned package that matches a release of torch.
#[derive(Clone, Copy)]
enum MatchingRelease {
    /// No match is needed: another command installs it, it is pinned, or it is not built for one torch.
    Free,
    /// No matching release is known.
    Unknown,
    /// The newest matching release.
    Release(RowVersion),
}

/// Returns the release of an unpinned package that matches a release of torch.
fn matching_release(
    knowledge: Knowledge,
    package: &ObservedPackage,
    version: &ExactVersion,
    open: Option<u32>,
) -> MatchingRelease {
    let PackageVersion::Range(range) = &package.requirement.version else { return MatchingRelease::Free };
    let mut rows = knowledge
        .torch_requirements_on_build_indexes(&package.requirement.name)
        .filter(|row| row.version.is_some())
        .peekable();
    if rows.peek().is_none() || open != Some(package.command) {
        return MatchingRelease::Free;
    }
    let fits = |row: &&RequiresDistRow| {
        let admitted = row.version.is_some_and(|version| range.admits(version));
        // A release that requires `>=` a version is from the time of that version.
        let of_day = row
            .range
            .only_minimum()
            .is_some_and(|lowest| minor_release(lowest.as_str()) == minor_release(version.as_str()));
        admitted && (row.range.has_equality() || of_day) && row.range.contains(version) == Some(true)
    };
    newest_row(rows.filter(fits)).map_or(MatchingRelease::Unknown, |(version, _)| MatchingRelease::Release(version))
}

/// Returns the build of a release that the default index has for the platform.
pub(super) fn default_build(case: &FixContext<'_>, row: &TorchRow) -> Option<&'static str> {
    let arch = case.platform.split('/').nth(1)?;
    row.default_variant.iter().find(|one| one.arch == arch).map(|one| one.value)
}

/// Whether on some platform the wheels of a CUDA build have no local version such as `+cu118`, so that only the index
/// selects the build.
pub(super) fn is_build_selected_by_index(case: &FixContext<'_>, version: &ExactVersion, tag: &str) -> bool {
    let mut archs = case.platforms.iter().filter_map(|platform| platform.split('/').nth(1));
    archs.any(|arch| case.knowledge().is_unnamed_torch_build(version, tag, arch))
}

/// Returns the CUDA version in a build tag, `11.8` of `cu118`.
pub(super) fn cuda_version_of_build(tag: &str) -> String {
    let digits = tag.trim_start_matches("cu");
    digits
        .split_at_checked(digits.len().saturating_sub(1))
        .map_or_else(String::new, |(major, minor)| format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::ParsedText;

    #[test]
    fn patch_releases_are_ordered_before_minor_releases_by_distance() {
        let all = ["2.4.0", "2.4.1", "2.5.0", "2.5.1", "2.6.0", "2.7.0", "2.7.1"].map(ParsedText::leak);
        for (now, expected) in [
            ("2.6.0", vec!["2.7.1", "2.5.1", "2.4.1"]),
            ("2.5.0", vec!["2.5.1", "2.6.0", "2.4.1", "2.7.1"]),
            ("2.4.1", vec!["2.4.0", "2.5.1", "2.6.0", "2.7.1"]),
        ] {
            let nearest = nearest_releases(&all, &ExactVersion::from(now));
            assert_eq!(nearest.into_iter().map(ParsedText::as_str).collect::<Vec<_>>(), expected, "{now}");
        }
        assert!(nearest_releases(&[], &ExactVersion::from("1.0.0")).is_empty());
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
            assert_eq!((are_neighbours(one, other), are_neighbours(other, one)), (expected, expected), "{one} {other}");
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
            let may_have_wheel = may_have_wheel(knowledge, name, &ExactVersion::from(version), python);
            assert_eq!(may_have_wheel, expected, "{name} {version} {python}");
        }
    }

    #[test]
    fn release_supports_the_python_or_names_the_required_one() {
        let knowledge = Knowledge::built_in();
        let needs = |text: &str| Some(format!(", which requires Python {text}"));
        let fits = || Some(String::new());
        for (name, from, to, required_python, expected) in [
            ("torch", "2.9.1", "2.9.0", RequiredPython::Unknown, fits()),
            ("torch", "1.12.1", "1.13.1", RequiredPython::Unknown, fits()),
            ("torch", "2.9.1", "2.7.1", RequiredPython::Unknown, needs("3.9 to 3.13")),
            ("torch", "1.13.1", "2.0.0", RequiredPython::Unknown, needs("3.8 to 3.11")),
            ("torch", "1.4.0", "2.6.0", RequiredPython::Unknown, None),
            ("torch", "2.9.1", "2.7.1", RequiredPython::Known("3.13"), fits()),
            ("torch", "2.9.1", "2.7.1", RequiredPython::Known("3.14"), None),
            ("torch", "1.13.1", "2.0.0", RequiredPython::Known("3.7"), None),
            ("torch", "1.13.1", "2.0.0", RequiredPython::Known("3.8"), fits()),
            ("torch", "2.9.1", "2.7.1", RequiredPython::Newest("3.14"), None),
            ("torch", "2.9.1", "2.9.0", RequiredPython::Newest("3.14"), fits()),
            // It has none for that one: it was installed on an earlier day.
            ("torch", "2.6.0", "2.5.1", RequiredPython::Newest("3.15"), fits()),
            ("torch", "2.9.1", "2.7.1", RequiredPython::Newest("3.15"), None),
            ("torch", "2.4.1", "2.5.1", RequiredPython::Newest("3.14"), fits()),
            ("torch", "2.9.1", "2.7.1", RequiredPython::Newest("2.6"), needs("3.9 to 3.13")),
            ("tensorflow", "2.20.0", "2.18.0", RequiredPython::Known("3.13"), None),
            ("tensorflow", "2.20.0", "2.18.0", RequiredPython::Unknown, needs("3.9 to 3.12")),
            ("cupy-cuda12x", "13.4.0", "13.3.0", RequiredPython::Unknown, fits()),
        ] {
            assert_eq!(
                wheel_condition(knowledge, name, (&ExactVersion::from(from), &ExactVersion::from(to)), required_python),
                expected,
                "{name} {from} {to} {required_python:?}"
            );
        }
    }
}
