//! The torch that a command installs: its release, its build and who built it, as a package specifies or requires them.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::infer::single_build_framework::variant_cuda;
use crate::infer::system_paths::base_operating_system;
use crate::knowledge::{Knowledge, ParsedText, RequiresDistRow, RowInfo, RowRange, RowVersion, TorchRow};
use crate::model::cause::Cause;
use crate::model::fact::{FactId, InspectionDepth, Observations};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, VersionRange,
};
use crate::resolve::{TableCatalog, newest_release};

/// The architecture, date and tables that select a torch release.
#[derive(Clone, Copy)]
pub(super) struct TorchContext<'a> {
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

impl<'a> TorchContext<'a> {
    /// Returns the releases that the tables list for the indexes of a command and a Python version.
    pub(super) const fn catalog(self, python: Option<&'a str>, indexes: &'a IndexSelection) -> TableCatalog<'a> {
        TableCatalog { knowledge: self.knowledge, arch: self.arch, as_of: self.as_of, python, indexes }
    }

    /// Whether a release has a build.
    fn has_build(self, row: &TorchRow, tag: &str) -> bool {
        self.catalog(None, &IndexSelection::Default).has_build(row, tag)
    }
}

/// Returns the torch of an exact version, with the build that the index provides.
pub(super) fn torch_as_specified<'a>(package: &'a ObservedPackage, day: TorchContext<'_>) -> TorchInstall<'a> {
    let written = match &package.requirement.version {
        PackageVersion::Exact(version) => version,
        PackageVersion::Unresolved(why) => return TorchInstall::unknown(package, why.clone()),
        PackageVersion::Range(range) => {
            let specifier = if range.is_any() { "no version" } else { range.as_str() };
            let why = Cause::VersionByDate {
                package: package.requirement.name.to_string(),
                specifier: specifier.to_string(),
            };
            return any_release_in_range(package, range, why, day);
        }
    };
    if let Some(why) = &package.conditional {
        return TorchInstall::unknown(package, why.clone());
    }
    let row = find_torch_release(&written.without_local(), day.knowledge);
    let version = row.map_or_else(|| written.without_local(), |row| row.version.cloned());
    let local = written.local().map(str::to_owned);
    // Builds from source have a hash there; what they were built with stands elsewhere.
    let hash = local.as_ref().filter(|local| !is_build_tag(local));
    let variant = match (local.clone(), &package.requirement.indexes, &package.variant) {
        (Some(_), _, Some(variant)) if hash.is_some() => Ok(Some(variant.clone())),
        (Some(local), _, None) if hash.is_some() => Err(Cause::CustomBuild {
            package: package.requirement.name.to_string(),
            version: written.to_string(),
            local: local.clone(),
        }),
        // `cu117.with.pypi.cudnn` is a build for CUDA 11.7.
        (Some(local), _, Some(variant)) if local.split('.').next() == Some(variant) => Ok(Some(variant.clone())),
        (Some(local), _, _) => Ok(Some(local)),
        (None, IndexSelection::DefaultAndExtra(tags), _) => {
            Ok(row.map_or_else(|| package.variant.clone(), |row| highest_build(row, tags, day)))
        }
        // The folder of a URL names the build.
        (None, IndexSelection::Unknown(_), Some(variant)) => Ok(Some(variant.clone())),
        (None, IndexSelection::Unknown(why), None) => Err(why.clone()),
        (None, offered, variant) => {
            let without = day.knowledge.platform_without_cuda(&package.requirement.name, &version, day.arch).is_some();
            let only = matches!(offered, IndexSelection::Only(tag) if row.is_some_and(|row| !day.has_build(row, tag)));
            if only && !without && day.arch != "amd64" {
                Err(explain_unlisted_build(package, version.as_str(), day.arch))
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
        deciding_fact: None,
        candidates: Vec::new(),
        closed: false,
        maker: TorchBuilder::of_package(package),
    }
}

/// Explains why a build on a dedicated index is unknown.
fn explain_unlisted_build(package: &ObservedPackage, version: &str, arch: &str) -> Cause {
    Cause::NotKnownInIndex {
        package: package.requirement.name.to_string(),
        version: version.to_string(),
        arch: arch.to_string(),
    }
}

/// Returns a torch of unknown version within a range of an existing image.
fn any_release_in_range<'a>(
    package: &'a ObservedPackage,
    range: &VersionRange,
    why: Cause,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    let (range, tag) = split_range_and_build(range);
    let install = TorchInstall::unknown(package, why);
    if package.conditional.is_some()
        || matches!(package.requirement.indexes, IndexSelection::Unknown(_) | IndexSelection::DefaultAndExtra(_))
    {
        return install;
    }
    let variant = Ok(tag.or_else(|| package.variant.clone()));
    let closed = is_range_covered(&range, day.as_of, day.knowledge);
    TorchInstall { variant, candidates: torch_releases_in_range(&range, day.as_of, day.knowledge), closed, ..install }
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
    rows.find(|row| version.is_same(row.version))
}

/// Whether a build is the default one on the platform and without CUDA.
fn is_default_cpu_build(row: &TorchRow, tag: Option<&str>, day: TorchContext<'_>) -> bool {
    let mut default = row.default_variant.iter().filter(|value| value.arch == day.arch);
    default.any(|value| variant_cuda(value.value).is_none() && tag == Some(value.value))
}

/// Returns the build that an installer takes if several indexes have one release: the highest local version, compared
/// as text.
fn highest_build(row: &TorchRow, tags: &[String], day: TorchContext<'_>) -> Option<String> {
    // A build that no version names is a wheel for one platform like that of the default index, which is taken before it.
    let named = |tag: &&String| !day.knowledge.is_unnamed_torch_build(row.version, tag, day.arch);
    tags.iter().filter(|tag| day.has_build(row, tag)).filter(named).max().cloned()
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
    if let IndexSelection::Unknown(why) = &package.requirement.indexes {
        // The sources of a package that needs torch are not those of torch.
        let why = if why.is_built_from_sources() && !is_torch_package(package, day.knowledge) {
            Cause::DependencyVersion { name: name.to_owned(), package: package.requirement.name.to_string() }
        } else {
            why.clone()
        };
        return TorchInstall::unknown(package, why);
    }
    if let (Some(why), IndexSelection::Only(_)) = (&package.requirement.prerelease, &package.requirement.indexes) {
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
        let catalog = day.catalog(Some(python), &package.requirement.indexes);
        day.knowledge.torch_release(&newest_release(&PackageName::python(name), ranges, &catalog)?)
    };
    let chosen: Vec<&'static TorchRow> = if let Ok(python) = python {
        of_python(python).into_iter().collect()
    } else {
        let mut all: Vec<&'static TorchRow> =
            day.knowledge.torch_pythons().filter_map(|row| of_python(row.python)).collect();
        all.dedup_by_key(|row| row.info.row);
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
            let variant = match &package.requirement.indexes {
                IndexSelection::Only(tag) => Ok(Some(tag.clone())),
                IndexSelection::Default => Ok(None),
                IndexSelection::DefaultAndExtra(_) | IndexSelection::Unknown(_) => Err(why.clone()),
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
    let variant = match &package.requirement.indexes {
        IndexSelection::Only(tag) => Some(tag.clone()),
        IndexSelection::DefaultAndExtra(tags) => highest_build(row, tags, day),
        IndexSelection::Default | IndexSelection::Unknown(_) => None,
    };
    let newest = day.knowledge.served_torch_releases().filter(fitting).count() > 1;
    TorchInstall {
        package,
        version: Ok(row.version.cloned()),
        variant: Ok(variant),
        newest,
        row: Some(&row.info),
        deciding_fact: None,
        candidates: Vec::new(),
        closed: false,
        maker: TorchBuilder::of_package(package),
    }
}

/// Whether a version is in every range; `None` if a range is invalid.
pub(super) fn is_in_all_ranges(ranges: &[VersionRange], version: &ExactVersion) -> Option<bool> {
    let mut all = true;
    for range in ranges {
        all &= range.contains(version)?;
    }
    Some(all)
}

/// Returns ranges as one text.
pub(super) fn joined_text(ranges: &[VersionRange]) -> String {
    ranges.iter().map(VersionRange::as_str).collect::<Vec<_>>().join(",")
}

/// Splits a range such as `>=2.9+cu128` into the range and the build.
pub(super) fn split_range_and_build(range: &VersionRange) -> (VersionRange, Option<String>) {
    let mut tag = None;
    // What excludes one build admits the others of its version.
    let is_exclusion = |clause: &&str| clause.trim_start().starts_with("!=") && clause.contains('+');
    let plain: Vec<&str> = range
        .as_str()
        .split(',')
        .filter(|clause| !is_exclusion(clause))
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
    knowledge.served_torch_releases().filter(|row| range.contains(row.version) == Some(true)).filter(out).collect()
}

/// Whether the tables list every release in a range: no newer release can be in it.
fn is_range_covered(range: &VersionRange, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let rows = knowledge.torch_releases();
    if as_of.is_some() {
        return knowledge
            .served_torch_releases()
            .all(|row| row.released.is_some() || range.contains(row.version) == Some(false));
    }
    let newest = rows.iter().map(|row| row.version).max_by(|one, other| one.compare(other));
    let major = newest.and_then(|version| version.as_str().split('.').next()?.parse().ok());
    major.is_some_and(|major| range.ends_within_major(major))
}

/// Returns a torch whose build exists or may exist; otherwise its build becomes unknown.
pub(super) fn verify_build<'a>(
    install: TorchInstall<'a>,
    seen: &Observations,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    if let Some(why) = explain_musl_base(&install, seen, day) {
        return TorchInstall { version: Err(why.clone()), variant: Err(why), candidates: Vec::new(), ..install };
    }
    let depth = seen.depth;
    let Ok(Some(tag)) = &install.variant else { return install };
    let why =
        explain_unnamed_build(tag, &install, depth, day).or_else(|| explain_unknown_build(tag, &install, depth, day));
    let Some(why) = why else { return install };
    TorchInstall { variant: Err(why), candidates: Vec::new(), ..install }
}

/// Explains why no wheel matches the C library of the base image's system.
fn explain_musl_base(install: &TorchInstall<'_>, seen: &Observations, day: TorchContext<'_>) -> Option<Cause> {
    let of_pip = seen.depth == InspectionDepth::Text && install.maker == TorchBuilder::Wheel;
    let system = base_operating_system(seen, day.knowledge).filter(|row| of_pip && row.musl)?;
    let name = required_distribution(install.package, day.knowledge);
    Some(Cause::NoMuslWheel { name: name.to_string(), system: system.name.to_string() })
}

/// Explains why a version with a local build part matches no wheel for the platform.
fn explain_unnamed_build(
    tag: &str,
    install: &TorchInstall<'_>,
    depth: InspectionDepth,
    day: TorchContext<'_>,
) -> Option<Cause> {
    let version = install.version.as_ref().ok()?;
    let has_local = install.package.requirement.version.local().is_some();
    let of_pip = depth == InspectionDepth::Text && install.maker == TorchBuilder::Wheel && has_local;
    let name = required_distribution(install.package, day.knowledge);
    (of_pip && day.knowledge.is_unnamed_torch_build(version, tag, day.arch)).then(|| Cause::NoWheelOfBuild {
        name: name.to_string(),
        version: version.to_string(),
        arch: day.arch.to_string(),
        tag: tag.to_string(),
    })
}

/// Explains why no wheel of a build is known.
fn explain_unknown_build(
    tag: &str,
    install: &TorchInstall<'_>,
    depth: InspectionDepth,
    day: TorchContext<'_>,
) -> Option<Cause> {
    let cuda = variant_cuda(tag)?;
    let name = required_distribution(install.package, day.knowledge);
    let release = install.version.as_ref().ok().and_then(|version| day.knowledge.torch_release(version));
    if release.is_some_and(|row| row.variants.contains(&tag)) {
        return None;
    }
    if !day.knowledge.is_plausible_cuda(cuda) {
        return Some(Cause::BuildImpliesCuda { tag: tag.to_owned(), package: name.to_owned(), cuda });
    }
    // The builds that the indexes list say nothing about installed packages or other platforms.
    let of_list = depth == InspectionDepth::Text
        && install.package.requirement.manager == PackageManager::Pip
        && day.arch == "amd64";
    let row = release.filter(|_| of_list)?;
    let known = row.variants.join(", ");
    let (package, version, tag) = (name.to_owned(), row.version.to_string(), tag.to_owned());
    Some(Cause::NoWheelOfVersion { package, version, tag, known })
}

/// The range of every version.
static ANY_VERSION: ParsedText<VersionRange> = ParsedText::new("");

/// What a package requires of torch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TorchRequirement {
    /// PEP 440 version specifiers; empty if any version is accepted.
    pub(super) range: &'static VersionRange,
    /// The range that is required in any case; differs from `range` if that may be the one of a newer release.
    pub(super) minimal_range: &'static VersionRange,
}

impl TorchRequirement {
    /// A requirement that accepts every version.
    pub(super) fn any() -> Self {
        Self::from_range(&ANY_VERSION)
    }

    /// Creates a requirement of exactly a range.
    pub(super) const fn from_range(range: &'static VersionRange) -> Self {
        Self { range, minimal_range: range }
    }

    /// Creates a requirement of a range or of less.
    pub(super) fn at_most(range: &'static VersionRange) -> Self {
        Self { range, minimal_range: &ANY_VERSION }
    }
}

/// Returns the newest listed version that a range admits, if it is not the newest of all.
fn newest_admitted_row(range: &VersionRange, listed: &[&'static RequiresDistRow]) -> Option<&'static RequiresDistRow> {
    let mut releases: Vec<(RowVersion, &'static RequiresDistRow)> =
        listed.iter().filter_map(|row| Some((row.version?, *row))).collect();
    releases.sort_by(|(one, _), (other, _)| other.compare(one));
    let (newest, _) = *releases.first()?;
    let (admitted, row) = releases.into_iter().find(|(version, _)| range.contains(version) != Some(false))?;
    (!admitted.is_same(newest)).then_some(row)
}

/// Returns what a package requires of torch, for a Python version if known; `None` if it does not require torch.
pub(super) fn listed_torch_requirement(
    package: &ObservedPackage,
    python: Option<&str>,
    knowledge: Knowledge,
) -> Option<Result<TorchRequirement, Cause>> {
    let rows = || knowledge.torch_requirements_of(&package.requirement.name);
    let listed = || rows().filter(|row| row.version.is_some());
    rows().next()?;
    let any = rows().find(|row| row.version.is_none());
    // A release whose metadata requires no torch.
    let whole = |row: &'static RequiresDistRow| (!row.unasked).then(|| TorchRequirement::from_range(row.range));
    let ask = match &package.requirement.version {
        PackageVersion::Exact(version) => {
            let version = version.without_local();
            let own = listed().find(|row| row.version.is_some_and(|own| own.is_same(&version)));
            let other = any.filter(|_| listed().next().is_none());
            own.map(whole).or_else(|| other.map(|row| Some(requirement_of_older_release(row, &version))))
        }
        PackageVersion::Range(range) if any.is_some() && !range.is_any() => {
            let within = newest_admitted_row(range, &listed().collect::<Vec<_>>());
            within.map(whole).or_else(|| any.map(|row| Some(requirement_of_range(row, range, python))))
        }
        PackageVersion::Range(range) => any.map(|row| Some(requirement_of_range(row, range, python))),
        // Each of its releases requires another torch.
        PackageVersion::Unresolved(why) if listed().any(|row| row.range.has_equality()) => {
            return Some(Err(why.clone()));
        }
        PackageVersion::Unresolved(_) => any.map(|row| Some(TorchRequirement::at_most(row.range))),
    };
    let cause = || Cause::TorchRequirement { package: package.requirement.name.to_string() };
    match ask {
        Some(requirement) => requirement.map(Ok),
        None => Some(Err(cause())),
    }
}

/// Returns what a release requires of which at most newer ones are listed.
fn requirement_of_older_release(row: &'static RequiresDistRow, version: &ExactVersion) -> TorchRequirement {
    let not_before = |(listed, _): &&(RowVersion, RowRange)| version.compare_valid(listed).is_some_and(Ordering::is_le);
    match row.older.iter().find(not_before) {
        Some((listed, range)) if version.is_same(listed) => TorchRequirement::from_range(range),
        Some((_, range)) => TorchRequirement::at_most(range),
        None => TorchRequirement::at_most(row.range),
    }
}

/// Returns what the newest release within a range requires.
fn requirement_of_range(row: &'static RequiresDistRow, range: &VersionRange, python: Option<&str>) -> TorchRequirement {
    if !range.is_bounded_above() {
        let Some(python) = python else {
            let oldest = row.on_python.first().map_or(row.range, |(_, range)| *range);
            return TorchRequirement { range: row.range, minimal_range: oldest };
        };
        let python = ExactVersion::from(python);
        let not_before =
            |(listed, _): &&(RowVersion, RowRange)| listed.compare_valid(&python).is_some_and(Ordering::is_ge);
        return match row.on_python.iter().find(not_before) {
            Some((listed, range)) if listed.is_same(&python) => TorchRequirement::from_range(range),
            Some((_, range)) => TorchRequirement::at_most(range),
            None => TorchRequirement::from_range(row.range),
        };
    }
    // The entry after the last one in the range requires at least as much as every entry in it.
    let last = row.older.iter().rposition(|(listed, _)| range.contains(listed) == Some(true));
    let behind = last.and_then(|last| row.older.get(last + 1));
    TorchRequirement::at_most(behind.map_or(row.range, |(_, range)| *range))
}

/// Whether a package requires torch.
pub(super) fn requires_torch(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.torch_requirements_of(&package.requirement.name).next().is_some()
}

/// The torch of an image at some point of its build.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each image")]
pub(super) enum ImageTorch<'a> {
    /// None was seen.
    None,
    /// The torch of the base image.
    Base,
    /// A torch that a command installed.
    Installed(TorchInstall<'a>),
}

/// A torch that a command installs.
#[derive(Clone, Debug)]
pub(super) struct TorchInstall<'a> {
    /// The package that requires it.
    pub(super) package: &'a ObservedPackage,
    /// The version, without local part.
    pub(super) version: Result<ExactVersion, Cause>,
    /// The build; `None` for that of the default index.
    pub(super) variant: Result<Option<String>, Cause>,
    /// Whether it is the newest of several acceptable releases.
    pub(super) newest: bool,
    /// The row that it was selected by.
    pub(super) row: Option<&'static RowInfo>,
    /// The fact, in addition to the package, that determines it.
    pub(super) deciding_fact: Option<FactId>,
    /// The releases that it may be, if the version is unknown.
    pub(super) candidates: Vec<&'static TorchRow>,
    /// Whether it is certainly one of those.
    pub(super) closed: bool,
    /// Who built it.
    pub(super) maker: TorchBuilder<'a>,
}

/// Who built a release of torch: their builds differ in GPU code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TorchBuilder<'a> {
    /// The project's wheel.
    Wheel,
    /// The build of a conda channel.
    Channel(&'a str),
    /// The unknown builder of the wheel at a URL that was not read.
    Unread(&'a Cause),
    /// Unknown.
    Unknown,
}

impl<'a> TorchBuilder<'a> {
    /// Returns who built the torch that a package installs.
    pub(super) fn of_package(package: &'a ObservedPackage) -> Self {
        match (package.requirement.manager, package.requirement.channel.as_deref(), &package.requirement.indexes) {
            (PackageManager::Conda, channel, _) => channel.map_or(Self::Unknown, Self::Channel),
            (_, _, IndexSelection::Unknown(why)) if why.address_outside_index().is_some() => Self::Unread(why),
            _ => Self::Wheel,
        }
    }
}

impl<'a> TorchInstall<'a> {
    /// Creates an install of unknown version.
    pub(super) fn unknown(package: &'a ObservedPackage, why: Cause) -> Self {
        let variant = match (&package.variant, &package.requirement.indexes) {
            (Some(tag), IndexSelection::Only(_) | IndexSelection::Default) => Ok(Some(tag.clone())),
            _ => Err(why.clone()),
        };
        Self {
            package,
            version: Err(why),
            variant,
            newest: false,
            row: None,
            deciding_fact: None,
            candidates: Vec::new(),
            closed: false,
            maker: TorchBuilder::of_package(package),
        }
    }
}

/// Returns the name of the required distribution: torch if the package requires it, else the package.
pub(super) fn required_distribution(package: &ObservedPackage, knowledge: Knowledge) -> &str {
    let built = knowledge.framework_with_variants().map(|row| row.distribution);
    built.filter(|_| !is_torch_package(package, knowledge)).unwrap_or(&package.requirement.name)
}

/// Whether a package is torch.
pub(super) fn is_torch_package(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.has_variants(&package.requirement.name)
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
            (">=2.7,!=2.7.0+cu118", ">=2.7", None),
        ] {
            assert_eq!(split_range_and_build(&range.into()), (plain.into(), tag.map(str::to_owned)), "{range}");
        }
    }

    #[test]
    fn releases_after_the_date_are_no_candidates() {
        let on = |range: &str, day: Option<Date>| {
            let rows = torch_releases_in_range(&range.into(), day, Knowledge::built_in());
            rows.iter().map(|row| row.version.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2026, 1, 23))), ["2.9.0", "2.9.1", "2.10.0"]);
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2025, 10, 15))), ["2.9.0"]);
        assert_eq!(on(">=99", None), [""; 0]);
        assert_eq!(on("nonsense", None), [""; 0]);
    }
}
