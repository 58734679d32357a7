//! The release and build of torch that a package specifies or requires, if its wheel exists.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::release_version::{is_release_at_least, parse_release};
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::system_paths::base_operating_system;
use crate::infer::torch_install::{ImageTorch, TorchBuilder, TorchInstall, is_torch_package, required_distribution};
use crate::knowledge::{Knowledge, RequiresDistRow, TorchRow};
use crate::model::cause::Cause;
use crate::model::fact::{InspectionDepth, Observations};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageVersion, VersionRange,
    compare_pep440_versions, range_contains,
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
    let written = match &package.version {
        PackageVersion::Exact(version) => version,
        PackageVersion::Unresolved(why) => return TorchInstall::unknown(package, why.clone()),
        PackageVersion::Range(range) => {
            let asked = if range.is_any() { "no version" } else { range.as_str() };
            let why = Cause::VersionByDate { package: package.name.to_string(), specifier: asked.to_string() };
            return any_release_in_range(package, range, why, day);
        }
    };
    if let Some(why) = &package.conditional {
        return TorchInstall::unknown(package, why.clone());
    }
    let row = find_torch_release(&written.without_local(), day.knowledge);
    let version = row.map_or_else(|| written.public().to_owned(), |row| row.version.to_owned());
    let local = written.local().map(str::to_owned);
    // Builds from source have a hash there; what they were built with stands elsewhere.
    let hash = local.as_ref().filter(|local| !is_build_tag(local));
    let variant = match (local.clone(), &package.indexes, &package.variant) {
        (Some(_), _, Some(variant)) if hash.is_some() => Ok(Some(variant.clone())),
        (Some(local), _, None) if hash.is_some() => Err(Cause::CustomBuild {
            package: package.name.to_string(),
            version: written.to_string(),
            local: local.clone(),
        }),
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
    Cause::NotKnownInIndex { package: package.name.to_string(), version: version.to_string(), arch: arch.to_string() }
}

/// Returns a torch of unknown version within a range of an existing image.
fn any_release_in_range<'a>(
    package: &'a ObservedPackage,
    range: &VersionRange,
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
fn find_torch_release(version: &ExactVersion, knowledge: Knowledge) -> Option<&'static TorchRow> {
    let mut rows = knowledge.torch_releases().iter();
    rows.find(|row| version.compare_text(row.version) == Some(Ordering::Equal))
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
    ranges: &[VersionRange],
    python: &Result<String, Cause>,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    let name = required_distribution(package, day.knowledge);
    let unknown = |because: Cause| {
        TorchInstall::unknown(package, Cause::NewestNotKnown { because: Box::new(because), package: name.to_owned() })
    };
    if let IndexSelection::Unknown(why) = &package.indexes {
        // The sources of a package that needs torch are not those of torch.
        let why = if why.is_built_from_sources() && !is_torch_package(package, day.knowledge) {
            Cause::DependencyVersion { name: name.to_owned(), package: package.name.to_string() }
        } else {
            why.clone()
        };
        return TorchInstall::unknown(package, why);
    }
    if let (Some(why), IndexSelection::Only(_)) = (&package.prerelease, &package.indexes) {
        return TorchInstall::unknown(package, why.clone());
    }
    if !ranges.iter().all(VersionRange::is_valid) {
        return unknown(Cause::NotARange { range: joined_text(ranges) });
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
fn has_torch_wheel_for_python(row: &TorchRow, python: &str, knowledge: Knowledge) -> bool {
    let range = knowledge.torch_pythons().iter().find(|range| range.python == python);
    range.is_some_and(|range| {
        compare_pep440_versions(row.version, range.first).is_some_and(Ordering::is_ge)
            && range.last.is_none_or(|last| compare_pep440_versions(row.version, last).is_some_and(Ordering::is_le))
    })
}

/// Whether a release was released by the date.
fn is_released(row: &TorchRow, day: TorchContext<'_>) -> bool {
    match (day.as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        _ => true,
    }
}

/// Whether the indexes of a command have a release for the platform.
fn is_offered_by_indexes(row: &TorchRow, package: &ObservedPackage, day: TorchContext<'_>) -> bool {
    let default = row.default_variant.iter().any(|value| value.arch == day.arch);
    match &package.indexes {
        IndexSelection::Only(tag) => has_build(row, tag, day),
        IndexSelection::Beside(tags) => default || tags.iter().any(|tag| has_build(row, tag, day)),
        IndexSelection::Default | IndexSelection::Unknown(_) => default,
    }
}

/// Whether a version lies in every range; `None` if a range is invalid.
pub(super) fn is_in_all_ranges(ranges: &[VersionRange], version: &str) -> Option<bool> {
    let mut all = true;
    for range in ranges {
        all &= range.contains_text(version)?;
    }
    Some(all)
}

/// Returns ranges as one text.
fn joined_text(ranges: &[VersionRange]) -> String {
    ranges.iter().map(VersionRange::as_str).collect::<Vec<_>>().join(",")
}

/// Splits a range such as `>=2.9+cu128` into the range and the build.
fn split_range_and_build(range: &VersionRange) -> (VersionRange, Option<String>) {
    let mut tag = None;
    let plain: Vec<&str> = range
        .as_str()
        .split(',')
        .map(|clause| {
            let (version, local) = clause.split_once('+').map_or((clause, None), |(one, local)| (one, Some(local)));
            tag = tag.take().or_else(|| local.map(|local| local.trim().to_owned()));
            version
        })
        .collect();
    (VersionRange::from(plain.join(",")), tag)
}

/// Returns the torch releases in a range that were released by a date.
fn torch_releases_in_range(range: &VersionRange, as_of: Option<Date>, knowledge: Knowledge) -> Vec<&'static TorchRow> {
    let out = |row: &&TorchRow| match (as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        (Some(_), None) => false,
        (None, _) => true,
    };
    knowledge.served_torch_releases().filter(|row| range.contains_text(row.version) == Some(true)).filter(out).collect()
}

/// Whether the tables list every release in a range: no newer release can lie in it.
fn is_range_covered(range: &VersionRange, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let rows = knowledge.torch_releases();
    if as_of.is_some() {
        return knowledge
            .served_torch_releases()
            .all(|row| row.released.is_some() || range.contains_text(row.version) == Some(false));
    }
    let newest = rows.iter().map(|row| row.version).reduce(|one, other| select_version(one, other, Ordering::Greater));
    let major = newest.and_then(|version| version.split('.').next()?.parse().ok());
    major.zip(range.set()).is_some_and(|(major, set)| set.ends_within_major(major))
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
    let said = brought.package.version.local().is_some();
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
    const fn from_range(range: &'static str) -> Self {
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
    ranges: &[VersionRange],
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let newest = listed_torch_requirement(package, python, knowledge)?;
    let PackageVersion::Range(own) = &package.version else { return Some(newest) };
    let listed = || knowledge.torch_requirements_of(&package.name).filter(|row| row.version != "*" && !row.unasked);
    let admitted = || listed().filter(|row| own.contains_text(row.version) == Some(true));
    let by_version = |one: &&RequiresDistRow, other: &&RequiresDistRow| {
        compare_pep440_versions(one.version, other.version).unwrap_or(Ordering::Equal)
    };
    let first = newest.as_ref().ok().map(|ask| ask.range).or_else(|| Some(admitted().max_by(by_version)?.range));
    if first.is_none_or(|torch| shares_release(torch, ranges, knowledge)) {
        return Some(newest);
    }
    let chosen = admitted().filter(|row| shares_release(row.range, ranges, knowledge)).max_by(by_version);
    Some(match chosen {
        Some(row) => Ok(TorchRequirement::from_range(row.range)),
        // Only the newest is listed, and older ones ask for less.
        None if listed().next().is_none() => Ok(TorchRequirement::ANY),
        None => Err(Cause::ReleaseForTorch { package: package.name.to_string(), torch: joined_text(ranges) }),
    })
}

/// Whether a release of a package is compatible with constraints on torch; `None` if its requirement is not listed.
pub(super) fn satisfies_torch_constraints(
    distribution: &str,
    version: &str,
    bounds: &[VersionRange],
    knowledge: Knowledge,
) -> Option<bool> {
    if bounds.is_empty() {
        return Some(true);
    }
    let mut rows = knowledge.torch_requirements_of(distribution);
    let row = rows.find(|row| compare_pep440_versions(row.version, version) == Some(Ordering::Equal))?;
    Some(row.unasked || shares_release(row.range, bounds, knowledge))
}

/// Returns the constraints on torch of a package's command as ranges; `None` if one is unknown.
pub(super) fn torch_constraints(
    package: &ObservedPackage,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<Vec<VersionRange>> {
    let of_command = seen.bounds.iter().filter(|bound| bound.command == package.command);
    let of_torch = of_command.filter(|bound| knowledge.has_variants(&bound.name));
    let range = |bound: &ObservedPackage| match &bound.version {
        PackageVersion::Exact(version) => Some(VersionRange::from(format!("=={}", version.public()))),
        PackageVersion::Range(range) => Some(range.clone()),
        PackageVersion::Unresolved(_) => None,
    };
    of_torch.map(|bound| range(bound).filter(|_| bound.conditional.is_none())).collect()
}

/// Whether some torch release lies in a range and in all others.
fn shares_release(torch: &str, ranges: &[VersionRange], knowledge: Knowledge) -> bool {
    if ranges.is_empty() {
        return true;
    }
    let torch = VersionRange::from(torch);
    let both =
        |version: &str| torch.contains_text(version) == Some(true) && is_in_all_ranges(ranges, version) == Some(true);
    knowledge.served_torch_releases().any(|row| both(row.version))
}

/// Returns the newest listed version that a range admits, if it is not the newest of all.
fn newest_admitted_row(range: &VersionRange, listed: &[&'static RequiresDistRow]) -> Option<&'static RequiresDistRow> {
    let newest = |rows: &mut dyn Iterator<Item = &'static RequiresDistRow>| {
        rows.reduce(|one, other| {
            if compare_pep440_versions(other.version, one.version) == Some(Ordering::Greater) { other } else { one }
        })
    };
    let of_all = newest(&mut listed.iter().copied())?;
    let admitted = newest(&mut listed.iter().copied().filter(|row| range.contains_text(row.version) != Some(false)))?;
    (admitted.version != of_all.version).then_some(admitted)
}

/// Returns what a package requires of torch, for a Python version if known; `None` if it does not require torch.
fn listed_torch_requirement(
    package: &ObservedPackage,
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let rows = || knowledge.torch_requirements_of(&package.name);
    let listed = || rows().filter(|row| row.version != "*");
    rows().next()?;
    let any = rows().find(|row| row.version == "*");
    // One of which the metadata ask for none.
    let whole = |row: &'static RequiresDistRow| (!row.unasked).then(|| TorchRequirement::from_range(row.range));
    let ask = match &package.version {
        PackageVersion::Exact(version) => {
            let version = version.without_local();
            let own = listed().find(|row| version.compare_text(row.version) == Some(Ordering::Equal));
            let other = any.filter(|_| listed().next().is_none());
            own.map(whole).or_else(|| other.map(|row| Some(requirement_of_older_release(row, &version))))
        }
        PackageVersion::Range(range) if any.is_some() && !range.is_any() => {
            let within = newest_admitted_row(range, &listed().collect::<Vec<_>>());
            within.map(whole).or_else(|| any.map(|row| Some(requirement_of_range(row, range, python))))
        }
        PackageVersion::Range(range) => any.map(|row| Some(requirement_of_range(row, range, python))),
        PackageVersion::Unresolved(_) => any.map(|row| Some(TorchRequirement::at_most(row.range))),
    };
    let untold = || Cause::TorchRequirement { package: package.name.to_string() };
    match ask {
        Some(asked) => asked.map(Ok),
        None => Some(Err(untold())),
    }
}

/// Returns what a release requires of which at most newer ones are listed.
fn requirement_of_older_release(row: &'static RequiresDistRow, version: &ExactVersion) -> TorchRequirement {
    let not_before = |(listed, _): &&(&str, &str)| version.compare_text(listed).is_some_and(Ordering::is_le);
    match row.older.iter().find(not_before) {
        Some((listed, range)) if version.compare_text(listed) == Some(Ordering::Equal) => {
            TorchRequirement::from_range(range)
        }
        Some((_, range)) => TorchRequirement::at_most(range),
        None => TorchRequirement::at_most(row.range),
    }
}

/// Returns what the newest release within a range requires.
fn requirement_of_range(row: &'static RequiresDistRow, range: &VersionRange, python: Option<&str>) -> TorchRequirement {
    if !range.is_bounded_above() {
        let Some(python) = python else {
            let oldest = row.on_python.first().map_or(row.range, |(_, range)| range);
            return TorchRequirement { range: row.range, least: oldest };
        };
        let not_before =
            |(listed, _): &&(&str, &str)| compare_pep440_versions(listed, python).is_some_and(Ordering::is_ge);
        return match row.on_python.iter().find(not_before) {
            Some((listed, range)) if *listed == python => TorchRequirement::from_range(range),
            Some((_, range)) => TorchRequirement::at_most(range),
            None => TorchRequirement::from_range(row.range),
        };
    }
    // The one behind the last that lies within asks for no less than any that does.
    let last = row.older.iter().rposition(|(listed, _)| range.contains_text(listed) == Some(true));
    let behind = last.and_then(|last| row.older.get(last + 1));
    TorchRequirement::at_most(behind.map_or(row.range, |(_, range)| range))
}

/// Whether a package requires torch.
pub(super) fn requires_torch(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.torch_requirements_of(&package.name).next().is_some()
}

/// The state of the image in which a command installs a companion.
#[derive(Clone, Copy)]
pub(super) struct CompanionContext<'a> {
    /// The torch that is installed before the command.
    pub(super) now: &'a ImageTorch<'a>,
    /// The build of the base image.
    pub(super) build: &'a BaseBuild,
    /// The observations.
    pub(super) seen: &'a Observations,
    /// The Python version of the command, if known.
    pub(super) python: Option<&'a str>,
    /// The architecture and the date.
    pub(super) day: TorchContext<'a>,
}

/// Whether a companion is installed before its command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CompanionPresence {
    No,
    Yes,
    /// Possibly; with a description of what may have installed it.
    Perhaps(String),
}

/// What the release that an installer takes requires of torch.
pub(super) enum CompanionRequirement {
    /// It does not require torch.
    Nothing,
    /// It requires torch, with the range, or why that is unknown.
    Torch(Result<TorchRequirement, Cause>),
}

/// Returns what an unpinned companion requires of torch, within the ranges of others; `None` if it is no companion or
/// its release is unknown.
pub(super) fn companion_requirement(
    package: &ObservedPackage,
    ranges: &[VersionRange],
    place: CompanionContext<'_>,
) -> Option<CompanionRequirement> {
    let CompanionContext { now, day, .. } = place;
    if !day.knowledge.is_built_with_torch(&package.name) {
        return None;
    }
    if let Some(why) = &package.prerelease {
        return prerelease_may_replace_torch(package, place).then(|| CompanionRequirement::Torch(Err(why.clone())));
    }
    let own = match &package.version {
        PackageVersion::Range(own) => own,
        // What is built here from its sources is built for the torch that is there.
        PackageVersion::Unresolved(_) if is_built_from_sources(&package.indexes) => {
            return Some(CompanionRequirement::Torch(Ok(TorchRequirement::ANY)));
        }
        // Each of its releases requires another torch.
        PackageVersion::Unresolved(why) => return Some(CompanionRequirement::Torch(Err(why.clone()))),
        // Of early versions the tables know none.
        PackageVersion::Exact(_) => return None,
    };
    let there =
        if is_forced_upgrade(package, place) { CompanionPresence::No } else { companion_presence(package, own, place) };
    let nothing_there = matches!(now, ImageTorch::None);
    let stays = if there == CompanionPresence::Yes {
        CompanionPresence::Yes
    } else {
        torch_stays_when_named(package, ranges, place)
    };
    if stays == CompanionPresence::Yes {
        return Some(CompanionRequirement::Torch(Ok(TorchRequirement::ANY)));
    }
    let row = newest_installable_companion(package, own, ranges, place);
    let will_do = row
        .is_some_and(|row| installed_torch_version(now).is_some_and(|it| range_contains(row.range, it) == Some(true)));
    if let (CompanionPresence::Perhaps(who), false) = (stays, will_do) {
        return Some(CompanionRequirement::Torch(Err(explain_possible_replacement(&who))));
    }
    if let CompanionPresence::Perhaps(who) = there
        && !nothing_there
        && !row.is_some_and(|row| {
            row.unasked || installed_torch_version(now).is_some_and(|it| range_contains(row.range, it) == Some(true))
        })
    {
        return Some(CompanionRequirement::Torch(Err(explain_possible_presence(package, &who))));
    }
    let row = row?;
    Some(match (row.unasked, place.python) {
        (true, _) => CompanionRequirement::Nothing,
        (false, Some(_)) => CompanionRequirement::Torch(Ok(TorchRequirement::from_range(row.range))),
        // A release for an older Python asks for an older torch.
        (false, None) if nothing_there => CompanionRequirement::Torch(Ok(TorchRequirement::ANY)),
        (false, None) => CompanionRequirement::Torch(Ok(TorchRequirement { range: row.range, least: "" })),
    })
}

/// Whether the command installs the newest release of a package, whatever is installed.
fn is_forced_upgrade(package: &ObservedPackage, place: CompanionContext<'_>) -> bool {
    package.upgrade || place.seen.base_changes.renewing.contains(&package.command)
}

/// Whether a pre-release may be installed that replaces the installed torch.
fn prerelease_may_replace_torch(package: &ObservedPackage, place: CompanionContext<'_>) -> bool {
    let CompanionContext { now, seen, day, .. } = place;
    let torch = |one: &ObservedPackage| day.knowledge.has_variants(&one.name);
    let own = match &package.version {
        PackageVersion::Range(own) => own,
        PackageVersion::Exact(_) | PackageVersion::Unresolved(_) => return false,
    };
    let stays =
        || !is_forced_upgrade(package, place) && companion_presence(package, own, place) == CompanionPresence::Yes;
    !matches!(now, ImageTorch::None) && !seen.packages_of_command(package.command).any(torch) && !stays()
}

/// Returns the version of the installed torch, if known.
fn installed_torch_version<'t>(now: &'t ImageTorch<'_>) -> Option<&'t str> {
    match now {
        ImageTorch::Brought(brought) => brought.version.as_deref().ok(),
        ImageTorch::None | ImageTorch::Base => None,
    }
}

/// Whether the installed torch stays although the command names it too, with an installer that prefers installed
/// versions.
///
/// That one turns to newer releases where too many of a package that it was told do not go with it: it has to have taken
/// torch first, and be told none of which each release goes with one torch alone.
fn torch_stays_when_named(
    package: &ObservedPackage,
    ranges: &[VersionRange],
    place: CompanionContext<'_>,
) -> CompanionPresence {
    let CompanionContext { now, seen, day, .. } = place;
    let together = || seen.packages_of_command(package.command);
    let is_torch = |one: &ObservedPackage| day.knowledge.has_variants(&one.name);
    let fits = installed_torch_version(now).is_some_and(|it| is_in_all_ranges(ranges, it) == Some(true));
    let stays = |one: &ObservedPackage| !one.upgrade && one.version.is_range();
    let kept = together().filter(|one| is_torch(one)).last().is_some_and(stays);
    if !fits || !kept || !seen.base_changes.keeping.contains(&package.command) {
        return CompanionPresence::No;
    }
    let exact =
        |one: &ObservedPackage| day.knowledge.torch_requirements_of(&one.name).any(|row| row.range.starts_with("=="));
    // What another one brings along stands in front of that one, and is written where that is.
    let place = |one: &ObservedPackage| seen.facts.origins(one.fact);
    let brought =
        |one: &ObservedPackage| together().any(|other| other.fact.0 > one.fact.0 && place(other) == place(one));
    let named = || together().filter(|one| !brought(one));
    let told = |one: &ObservedPackage| is_torch(one) || !day.knowledge.is_library_free(&one.name, |_| true);
    let first = named().find(|one| told(one)).is_some_and(is_torch);
    if first && !named().any(exact) {
        CompanionPresence::Yes
    } else {
        CompanionPresence::Perhaps(package.name.to_string())
    }
}

/// Whether a command builds the package from its sources, for the torch that is installed.
fn is_built_from_sources(offered: &IndexSelection) -> bool {
    matches!(offered, IndexSelection::Unknown(cause) if cause.is_built_from_sources())
}

/// Explains why it is unknown whether an installer that prefers the installed torch keeps it.
fn explain_possible_replacement(name: &str) -> Cause {
    Cause::InstallerMayReplaceTorch { name: name.to_string() }
}

/// Returns whether an earlier command or the base image installs the package in an acceptable version.
fn companion_presence(package: &ObservedPackage, own: &VersionRange, place: CompanionContext<'_>) -> CompanionPresence {
    let CompanionContext { build, seen, .. } = place;
    let taken =
        seen.removed_packages.iter().filter(|gone| gone.name == package.name && gone.command <= package.command);
    let taken = taken.map(|gone| gone.command).max();
    let stays = |command: u32| taken.is_none_or(|taken| taken < command);
    let will_do = |version: &PackageVersion| match version {
        PackageVersion::Exact(version) => own.is_any() || own.contains(&version.without_local()) != Some(false),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => true,
    };
    let here = |one: &&ObservedPackage| one.name == package.name && one.command < package.command;
    let fits = |one: &&ObservedPackage| {
        one.separate_environment == package.separate_environment && stays(one.command) && will_do(&one.version)
    };
    let log = || seen.packages.iter().chain(&seen.uninstalled_packages);
    let earlier = || log().filter(here).filter(fits);
    if earlier().any(|one| one.conditional.is_none()) {
        return CompanionPresence::Yes;
    }
    let before = || {
        log().filter(|one| one.command < package.command && one.separate_environment == package.separate_environment)
    };
    let after = |one: &&ObservedPackage| one.manager == PackageManager::Pip && !one.no_deps && stays(one.command);
    let brings: Vec<(&ObservedPackage, CompanionDependency)> =
        before().filter(after).map(|one| (one, companion_dependency(one, &package.name, place))).collect();
    if brings.iter().any(|(one, brings)| *brings == CompanionDependency::Yes && one.conditional.is_none()) {
        return CompanionPresence::Yes;
    }
    let perhaps =
        earlier().chain(brings.iter().filter(|(_, brings)| *brings == CompanionDependency::Yes).map(|(one, _)| *one));
    let perhaps = perhaps.map(|one| one.name.clone()).next();
    // An environment of its own does not see what the base has.
    if !package.separate_environment && taken.is_none() {
        let of_base = |(name, version): &(&str, &str)| {
            let reaches = |from| parse_release(version).is_some_and(|version| from <= version);
            let brought = place.day.knowledge.companion_packages_of(name, reaches);
            *name == package.name || brought.is_some_and(|brought| brought.contains(&package.name.as_str()))
        };
        let told = build.torch.is_some() || build.torch_bounds.is_some() || build.of_others.is_some();
        if told || build.packages.iter().any(of_base) {
            return CompanionPresence::Yes;
        }
        if !matches!(build.family, BaseFamily::Plain | BaseFamily::Cuda) {
            return CompanionPresence::Perhaps("the base image".to_owned());
        }
    }
    if let Some((one, _)) = brings.iter().find(|(_, brings)| *brings != CompanionDependency::No) {
        return CompanionPresence::Perhaps(one.name.to_string());
    }
    if let Some(name) = perhaps {
        return CompanionPresence::Perhaps(format!("the command that installs {name} in only some branches"));
    }
    if seen.base_changes.unread_commands.iter().any(|command| *command < package.command && stays(*command)) {
        return CompanionPresence::Perhaps("an earlier command".to_owned());
    }
    CompanionPresence::No
}

/// Whether a package has a companion as a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompanionDependency {
    No,
    Yes,
    Perhaps,
}

/// Returns whether installing a package also installs a companion.
fn companion_dependency(one: &ObservedPackage, companion: &str, place: CompanionContext<'_>) -> CompanionDependency {
    let knowledge = place.day.knowledge;
    let reaches = |from: CudaVersion| is_release_at_least(one, from);
    if let Some(all) = knowledge.companion_packages_of(&one.name, reaches) {
        return if all.contains(&companion) { CompanionDependency::Yes } else { CompanionDependency::No };
    }
    let known = knowledge.has_variants(&one.name)
        || knowledge.is_built_with_torch(&one.name)
        || knowledge.is_library_free(&one.name, reaches)
        || knowledge.library_packages().iter().any(|row| row.name == one.name);
    if known { CompanionDependency::No } else { CompanionDependency::Perhaps }
}

/// Returns the newest allowed release of a companion package such as torchvision with an installable torch, for the
/// given indexes, date and Python version.
fn newest_installable_companion(
    package: &ObservedPackage,
    own: &VersionRange,
    ranges: &[VersionRange],
    place: CompanionContext<'_>,
) -> Option<&'static RequiresDistRow> {
    let CompanionContext { day, python, .. } = place;
    let served = |row: &&RequiresDistRow| {
        let range = VersionRange::from(row.range);
        let goes = |torch: &TorchRow| {
            range.contains_text(torch.version) == Some(true)
                && (row.unasked || is_in_all_ranges(ranges, torch.version) == Some(true))
        };
        let there = |torch: &TorchRow| is_released(torch, day) && is_offered_by_indexes(torch, package, day);
        let of_python =
            |torch: &TorchRow| python.is_none_or(|python| has_torch_wheel_for_python(torch, python, day.knowledge));
        day.knowledge.served_torch_releases().any(|torch| goes(torch) && there(torch) && of_python(torch))
    };
    let listed =
        day.knowledge.torch_requirements_of(&package.name).filter(|row| row.version != "*" && !row.range.is_empty());
    let admitted = listed.filter(|row| own.admits(row.version));
    admitted
        .filter(served)
        .max_by(|one, other| compare_pep440_versions(one.version, other.version).unwrap_or(Ordering::Equal))
}

/// Explains why it is unknown whether a companion is already installed.
fn explain_possible_presence(package: &ObservedPackage, who: &str) -> Cause {
    let name = &package.name;
    Cause::MayAlreadyInclude { source: who.to_string(), name: name.to_string() }
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
            assert_eq!(split_range_and_build(&range.into()), (plain.into(), tag.map(str::to_owned)), "{range}");
        }
    }

    #[test]
    fn releases_after_the_date_are_no_candidates() {
        let on = |range: &str, day: Option<Date>| {
            let rows = torch_releases_in_range(&range.into(), day, Knowledge::built_in());
            rows.iter().map(|row| row.version).collect::<Vec<_>>()
        };
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2026, 1, 23))), ["2.9.0", "2.9.1", "2.10.0"]);
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2025, 10, 15))), ["2.9.0"]);
        assert_eq!(on(">=99", None), [""; 0]);
        assert_eq!(on("nonsense", None), [""; 0]);
    }
}
