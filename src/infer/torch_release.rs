//! The torch release and build that a package specifies: the exact version, or the newest acceptable one, if its wheel
//! exists.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::infer::single_build_framework::variant_cuda;
use crate::infer::system_paths::base_operating_system;
use crate::infer::torch_install::{TorchBuilder, TorchInstall, required_distribution};
use crate::install::{VersionSet, compare_pep440_versions, public_version, range_contains};
use crate::knowledge::{Knowledge, TorchRow};
use crate::model::cause::Cause;
use crate::model::fact::{
    IndexSelection, InspectionDepth, Observations, ObservedPackage, PackageManager, PackageVersion,
};

/// The architecture, date and tables that select a torch release.
#[derive(Clone, Copy)]
pub(super) struct TorchContext<'a> {
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// Returns the torch of an exact version, with the build that the index provides.
pub(super) fn torch_as_specified<'a>(package: &'a ObservedPackage, day: TorchContext<'_>) -> TorchInstall<'a> {
    let text = match &package.version {
        PackageVersion::Exact(text) => text,
        PackageVersion::Unresolved(why) => return TorchInstall::unknown(package, why.clone()),
        PackageVersion::Range(range) => {
            let asked = if range.is_empty() { "no version" } else { range };
            let why = Cause::VersionByDate { package: package.name.clone(), specifier: asked.to_string() };
            return any_release_in_range(package, range, why, day);
        }
    };
    if let Some(why) = &package.conditional {
        return TorchInstall::unknown(package, why.clone());
    }
    let row = find_torch_release(public_version(text), day.knowledge);
    let version = row.map_or_else(|| public_version(text).to_owned(), |row| row.version.to_owned());
    let local = text.split_once('+').map(|(_, local)| local.to_owned());
    // Builds from source have a hash there; what they were built with stands elsewhere.
    let hash = local.as_ref().filter(|local| !is_build_tag(local));
    let variant = match (local.clone(), &package.indexes, &package.variant) {
        (Some(_), _, Some(variant)) if hash.is_some() => Ok(Some(variant.clone())),
        (Some(local), _, None) if hash.is_some() => {
            Err(Cause::CustomBuild { package: package.name.clone(), version: text.clone(), local: local.clone() })
        }
        // `cu117.with.pypi.cudnn` is a build for CUDA 11.7.
        (Some(local), _, Some(variant)) if local.split('.').next() == Some(variant) => Ok(Some(variant.clone())),
        (Some(local), _, _) => Ok(Some(local)),
        (None, IndexSelection::Beside(tags), _) => {
            Ok(row.map_or_else(|| package.variant.clone(), |row| highest_build(row, tags, day)))
        }
        // The folder of a URL names the build.
        (None, IndexSelection::Unknown(_), Some(variant)) => Ok(Some(variant.clone())),
        (None, IndexSelection::Unknown(why), None) => Err(why.clone()),
        (None, offered, variant) => {
            let without = day.knowledge.platform_without_cuda(&package.name, &version, day.arch).is_some();
            let only = matches!(offered, IndexSelection::Only(tag) if row.is_some_and(|row| !has_build(row, tag, day)));
            if only && !without && day.arch != "amd64" {
                Err(explain_unlisted_build(package, &version, day.arch))
            } else if matches!(offered, IndexSelection::Default)
                && row.is_some_and(|row| is_default_cpu_build(row, variant.as_deref(), day))
            {
                Ok(None)
            } else {
                // An index of CUDA has there the default build; one without CUDA was chosen all the same.
                Ok(variant.clone().filter(|tag| !without || variant_cuda(tag).is_none()))
            }
        }
    };
    TorchInstall {
        package,
        version: Ok(version),
        variant,
        newest: false,
        row: row.map(|row| &row.info),
        told: None,
        candidates: Vec::new(),
        closed: false,
        maker: TorchBuilder::of_package(package),
    }
}

/// Explains why a build on a dedicated index is unknown.
fn explain_unlisted_build(package: &ObservedPackage, version: &str, arch: &str) -> Cause {
    Cause::NotKnownInIndex { package: package.name.clone(), version: version.to_string(), arch: arch.to_string() }
}

/// Returns a torch of unknown version within a range of an existing image.
fn any_release_in_range<'a>(
    package: &'a ObservedPackage,
    range: &str,
    why: Cause,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    let (range, tag) = split_range_and_build(range);
    let brought = TorchInstall::unknown(package, why);
    if package.conditional.is_some()
        || matches!(package.indexes, IndexSelection::Unknown(_) | IndexSelection::Beside(_))
    {
        return brought;
    }
    let variant = Ok(tag.or_else(|| package.variant.clone()));
    let closed = is_range_covered(&range, day.as_of, day.knowledge);
    TorchInstall { variant, candidates: torch_releases_in_range(&range, day.as_of, day.knowledge), closed, ..brought }
}

/// Whether a local version part names a build: `cu124`, `cpu`, `rocm6.2`.
pub(super) fn is_build_tag(local: &str) -> bool {
    let word = local.split(['.', '_', '-']).next().unwrap_or(local);
    let cuda = word.strip_prefix("cu").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    cuda || word.starts_with("rocm") || matches!(word, "cpu" | "xpu" | "cxx11")
}

/// Returns the row of a torch release.
fn find_torch_release(version: &str, knowledge: Knowledge) -> Option<&'static TorchRow> {
    let mut rows = knowledge.torch_releases().iter();
    rows.find(|row| compare_pep440_versions(row.version, version) == Some(Ordering::Equal))
}

/// Whether a build is the default one on the platform and without CUDA.
fn is_default_cpu_build(row: &TorchRow, tag: Option<&str>, day: TorchContext<'_>) -> bool {
    let mut default = row.default_variant.iter().filter(|value| value.arch == day.arch);
    default.any(|value| variant_cuda(value.value).is_none() && tag == Some(value.value))
}

/// Whether a release has a build.
fn has_build(row: &TorchRow, tag: &str, day: TorchContext<'_>) -> bool {
    let cuda = tag.starts_with("cu");
    if !cuda {
        return true;
    }
    if day.arch == "amd64" {
        return row.variants.contains(&tag);
    }
    day.knowledge.torch_build(row.version, tag, day.arch).is_some()
}

/// Returns the build that an installer takes if several indexes have one release: the highest local version, compared
/// as text.
fn highest_build(row: &TorchRow, tags: &[String], day: TorchContext<'_>) -> Option<String> {
    // A build that no version names is a wheel for one platform like that of the default index, which is taken before it.
    let named = |tag: &&String| !day.knowledge.is_unnamed_torch_build(row.version, tag, day.arch);
    tags.iter().filter(|tag| has_build(row, tag, day)).filter(named).max().cloned()
}

/// Returns the newest acceptable torch release.
pub(super) fn newest_torch<'a>(
    package: &'a ObservedPackage,
    ranges: &[String],
    python: &Result<String, Cause>,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    let name = required_distribution(package, day.knowledge);
    let unknown = |because: Cause| {
        TorchInstall::unknown(package, Cause::NewestNotKnown { because: Box::new(because), package: name.to_owned() })
    };
    if let IndexSelection::Unknown(why) = &package.indexes {
        return TorchInstall::unknown(package, why.clone());
    }
    if let (Some(why), IndexSelection::Only(_)) = (&package.prerelease, &package.indexes) {
        return TorchInstall::unknown(package, why.clone());
    }
    if ranges.iter().any(|range| range_contains(range, "1").is_none()) {
        return unknown(Cause::NotARange { range: ranges.join(",") });
    }
    let fitting = |row: &&TorchRow| is_in_all_ranges(ranges, row.version) == Some(true);
    if day.as_of.is_some() && day.knowledge.served_torch_releases().filter(fitting).any(|row| row.released.is_none()) {
        return unknown(Cause::ReleaseDatesNotInTables { package: name.to_owned() });
    }
    let of_python = |python: &str| {
        let rows = day
            .knowledge
            .served_torch_releases()
            .filter(fitting)
            .filter(|row| has_torch_wheel_for_python(row, python, day.knowledge));
        rows.filter(|row| is_released(row, day) && is_offered_by_indexes(row, package, day))
            .max_by(|a, b| compare_pep440_versions(a.version, b.version).unwrap_or(Ordering::Equal))
    };
    let chosen: Vec<&'static TorchRow> = if let Ok(python) = python {
        of_python(python).into_iter().collect()
    } else {
        let mut all: Vec<&'static TorchRow> =
            day.knowledge.torch_pythons().iter().filter_map(|row| of_python(row.python)).collect();
        all.dedup_by_key(|row| row.version);
        all
    };
    let row = match (chosen.as_slice(), python) {
        ([row], _) => *row,
        ([], _) => {
            let date = day.knowledge.newest_source_date();
            let none = unknown(Cause::NoReleaseMatches { package: name.to_owned(), date });
            // An index of CUDA may hold builds without it for another platform.
            let elsewhere = none.version.clone().err().filter(|_| day.arch != "amd64");
            return TorchInstall { variant: elsewhere.map_or_else(|| none.variant.clone(), Err), ..none };
        }
        (rows, Err(why)) => {
            let variant = match &package.indexes {
                IndexSelection::Only(tag) => Ok(Some(tag.clone())),
                IndexSelection::Default => Ok(None),
                IndexSelection::Beside(_) | IndexSelection::Unknown(_) => Err(why.clone()),
            };
            return TorchInstall {
                variant,
                candidates: rows.to_vec(),
                closed: true,
                ..TorchInstall::unknown(package, why.clone())
            };
        }
        (_, Ok(_)) => return unknown(Cause::SeveralReleases),
    };
    let variant = match &package.indexes {
        IndexSelection::Only(tag) => Some(tag.clone()),
        IndexSelection::Beside(tags) => highest_build(row, tags, day),
        IndexSelection::Default | IndexSelection::Unknown(_) => None,
    };
    let newest = day.knowledge.served_torch_releases().filter(fitting).count() > 1;
    TorchInstall {
        package,
        version: Ok(row.version.to_owned()),
        variant: Ok(variant),
        newest,
        row: Some(&row.info),
        told: None,
        candidates: Vec::new(),
        closed: false,
        maker: TorchBuilder::of_package(package),
    }
}

/// Whether a torch release has a wheel for a Python version.
pub(super) fn has_torch_wheel_for_python(row: &TorchRow, python: &str, knowledge: Knowledge) -> bool {
    let range = knowledge.torch_pythons().iter().find(|range| range.python == python);
    range.is_some_and(|range| {
        compare_pep440_versions(row.version, range.first).is_some_and(Ordering::is_ge)
            && range.last.is_none_or(|last| compare_pep440_versions(row.version, last).is_some_and(Ordering::is_le))
    })
}

/// Whether a release was released by the date.
pub(super) fn is_released(row: &TorchRow, day: TorchContext<'_>) -> bool {
    match (day.as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        _ => true,
    }
}

/// Whether the indexes of a command have a release for the platform.
pub(super) fn is_offered_by_indexes(row: &TorchRow, package: &ObservedPackage, day: TorchContext<'_>) -> bool {
    let default = row.default_variant.iter().any(|value| value.arch == day.arch);
    match &package.indexes {
        IndexSelection::Only(tag) => has_build(row, tag, day),
        IndexSelection::Beside(tags) => default || tags.iter().any(|tag| has_build(row, tag, day)),
        IndexSelection::Default | IndexSelection::Unknown(_) => default,
    }
}

/// Whether a version lies in every range; `None` if a range is invalid.
pub(super) fn is_in_all_ranges(ranges: &[String], version: &str) -> Option<bool> {
    let mut all = true;
    for range in ranges {
        all &= range_contains(range, version)?;
    }
    Some(all)
}

/// Splits a range such as `>=2.9+cu128` into the range and the build.
fn split_range_and_build(range: &str) -> (String, Option<String>) {
    let mut tag = None;
    let plain: Vec<&str> = range
        .split(',')
        .map(|clause| {
            let (version, local) = clause.split_once('+').map_or((clause, None), |(one, local)| (one, Some(local)));
            tag = tag.take().or_else(|| local.map(|local| local.trim().to_owned()));
            version
        })
        .collect();
    (plain.join(","), tag)
}

/// Returns the torch releases in a range that were released by a date.
fn torch_releases_in_range(range: &str, as_of: Option<Date>, knowledge: Knowledge) -> Vec<&'static TorchRow> {
    let out = |row: &&TorchRow| match (as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        (Some(_), None) => false,
        (None, _) => true,
    };
    knowledge
        .served_torch_releases()
        .filter(|row| range_contains(range, row.version) == Some(true))
        .filter(out)
        .collect()
}

/// Whether the tables list every release in a range: no newer release can lie in it.
fn is_range_covered(range: &str, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let rows = knowledge.torch_releases();
    if as_of.is_some() {
        return knowledge
            .served_torch_releases()
            .all(|row| row.released.is_some() || range_contains(range, row.version) == Some(false));
    }
    let newest = rows.iter().map(|row| row.version).reduce(|one, other| select_version(one, other, Ordering::Greater));
    let major = newest.and_then(|version| version.split('.').next()?.parse().ok());
    major.zip(VersionSet::parse(range)).is_some_and(|(major, set)| set.ends_within_major(major))
}

/// Returns whichever of two versions comes first or last in the wanted order.
pub(super) fn select_version(one: &'static str, other: &'static str, wanted: Ordering) -> &'static str {
    if compare_pep440_versions(other, one) == Some(wanted) { other } else { one }
}

/// Returns a torch whose build exists or may exist; otherwise its build becomes unknown.
pub(super) fn verify_build<'a>(
    brought: TorchInstall<'a>,
    seen: &Observations,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    if let Some(why) = explain_musl_base(&brought, seen, day) {
        return TorchInstall { version: Err(why.clone()), variant: Err(why), candidates: Vec::new(), ..brought };
    }
    let depth = seen.depth;
    let Ok(Some(tag)) = &brought.variant else { return brought };
    let why =
        explain_unnamed_build(tag, &brought, depth, day).or_else(|| explain_unknown_build(tag, &brought, depth, day));
    let Some(why) = why else { return brought };
    TorchInstall { variant: Err(why), candidates: Vec::new(), ..brought }
}

/// Explains why no wheel matches the C library of the base image's system.
fn explain_musl_base(brought: &TorchInstall<'_>, seen: &Observations, day: TorchContext<'_>) -> Option<Cause> {
    let of_pip = seen.depth == InspectionDepth::Text && brought.maker == TorchBuilder::Wheel;
    let system = base_operating_system(seen, day.knowledge).filter(|row| of_pip && row.musl)?;
    let name = required_distribution(brought.package, day.knowledge);
    Some(Cause::NoMuslWheel { name: name.to_string(), system: system.name.to_string() })
}

/// Explains why a version with a local build part matches no wheel for the platform.
fn explain_unnamed_build(
    tag: &str,
    brought: &TorchInstall<'_>,
    depth: InspectionDepth,
    day: TorchContext<'_>,
) -> Option<Cause> {
    let version = brought.version.as_ref().ok()?;
    let said = matches!(&brought.package.version, PackageVersion::Exact(text) if text.contains('+'));
    let of_pip = depth == InspectionDepth::Text && brought.maker == TorchBuilder::Wheel && said;
    let name = required_distribution(brought.package, day.knowledge);
    (of_pip && day.knowledge.is_unnamed_torch_build(version, tag, day.arch)).then(|| Cause::NoWheelOfBuild {
        name: name.to_string(),
        version: version.clone(),
        arch: day.arch.to_string(),
        tag: tag.to_string(),
    })
}

/// Explains why no wheel of a build is known.
fn explain_unknown_build(
    tag: &str,
    brought: &TorchInstall<'_>,
    depth: InspectionDepth,
    day: TorchContext<'_>,
) -> Option<Cause> {
    let cuda = variant_cuda(tag)?;
    let name = required_distribution(brought.package, day.knowledge);
    let release = brought.version.as_ref().ok().and_then(|version| day.knowledge.torch_release(version));
    if release.is_some_and(|row| row.variants.contains(&tag)) {
        return None;
    }
    if !day.knowledge.is_plausible_cuda(cuda) {
        return Some(Cause::BuildImpliesCuda { tag: tag.to_owned(), package: name.to_owned(), cuda });
    }
    // Of what lies in an image, or of another platform, the list of the indexes is no measure.
    let of_list =
        depth == InspectionDepth::Text && brought.package.manager == PackageManager::Pip && day.arch == "amd64";
    let row = release.filter(|_| of_list)?;
    let known = row.variants.join(", ");
    let (package, version, tag) = (name.to_owned(), row.version.to_owned(), tag.to_owned());
    Some(Cause::NoWheelOfVersion { package, version, tag, known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_include_a_build() {
        for (range, plain, tag) in [
            (">=2.9+cu128", ">=2.9", Some("cu128")),
            (">=2.9,<3", ">=2.9,<3", None),
            ("", "", None),
            ("==2.7.*,>=2.7.0+cpu", "==2.7.*,>=2.7.0", Some("cpu")),
        ] {
            assert_eq!(split_range_and_build(range), (plain.to_owned(), tag.map(str::to_owned)), "{range}");
        }
    }

    #[test]
    fn releases_after_the_date_are_no_candidates() {
        let on = |range: &str, day: Option<Date>| {
            let rows = torch_releases_in_range(range, day, Knowledge::built_in());
            rows.iter().map(|row| row.version).collect::<Vec<_>>()
        };
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2026, 1, 23))), ["2.9.0", "2.9.1", "2.10.0"]);
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2025, 10, 15))), ["2.9.0"]);
        assert_eq!(on(">=99", None), [""; 0]);
        assert_eq!(on("nonsense", None), [""; 0]);
    }
}
