//! Other builds of the same framework release, other framework releases, and the package indexes that serve them.

use std::cmp::Ordering;
use std::ops::Range;

use crate::fix::fix_context::FixContext;
use crate::fix::proposed_change::last_pip_package;
use crate::fix::versions::{
    FAR_STEP, are_neighbours, companion_updates, cuda_version_of_build, default_build, distance,
    is_build_selected_by_index, known_releases, nearest_releases, package_without_release, python_condition,
};
use crate::fix::{FixCandidate, PackageEdit, ProposedChange, bundled_libraries};
use crate::knowledge::{Knowledge, RowVersion, TorchBuildRow, TorchRow, compare_natural};
use crate::model::fact::{CodeTargets, FactKey};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion,
};
use crate::report::kinds::{ChangeKind, FixSafety};

/// The number of nearest releases of a framework that are considered.
const MAX_RELEASES: usize = 10;
/// The number of builds of each of these releases.
const MAX_BUILDS_PER_RELEASE: usize = 5;
/// The number of releases that are considered if none of the nearest helps.
const MAX_DISTANT_RELEASES: usize = 100;
/// The number of builds of each distant release.
const MAX_BUILDS_PER_DISTANT_RELEASE: usize = 2;
/// The number of package indexes of other builds that are considered.
const MAX_INDEXES: usize = 6;

/// The torch of the image, as an install command selects it.
struct InstalledTorch<'a> {
    /// Its name, of the table.
    name: &'static str,
    /// Nothing names it where only its code was seen.
    package: Option<&'a ObservedPackage>,
    /// As written, without local part; none where nothing pins it.
    pinned: Option<ExactVersion>,
    /// Its release, or the one that is nearest to it.
    row: &'static TorchRow,
    /// The build that it has.
    has: Option<String>,
    /// The build that the commands say.
    requested_build: Option<String>,
}

impl<'a> InstalledTorch<'a> {
    /// Finds torch among the observed packages, else by its GPU code.
    fn detect(case: &'a FixContext<'_>) -> Option<Self> {
        let name = case.knowledge().framework_with_variants()?.component;
        let Some(package) = last_pip_package(&case.seen, name) else { return Self::detect_by_code(case, name) };
        let row = match case.component_fact(FactKey::ComponentVersion, name) {
            Some(version) => torch_release_row(case, &ExactVersion::from(version).without_local())?,
            None => newest_admitted_release(case, package)?,
        };
        let (pinned, local) = match &package.requirement.version {
            PackageVersion::Exact(text) => (Some(text.without_local()), text.local().map(str::to_owned)),
            PackageVersion::Range(_) => (None, None),
            PackageVersion::Unresolved(_) => return None,
        };
        let requested_build = local.or_else(|| package.variant.clone());
        let has = case.component_fact(FactKey::ComponentVariant, name).or_else(|| requested_build.clone());
        Some(Self { name, package: Some(package), pinned, row, has, requested_build })
    }

    /// Identifies torch only by its GPU code: the newest release with a build of the same code.
    fn detect_by_code(case: &FixContext<'_>, name: &'static str) -> Option<Self> {
        let component = case.core_components().find(|one| one.name == name)?;
        let code = component.code.known()?;
        let signatures: Vec<&CodeTargets> =
            code.libraries.iter().flat_map(|library| &library.containers).map(|(signature, _)| signature).collect();
        let same = |row: &&TorchBuildRow| {
            !signatures.is_empty() && signatures.iter().all(|own| own.sass == row.sass && own.ptx == row.ptx)
        };
        // Of some of its code at least.
        let holds = |row: &&TorchBuildRow| {
            let all = |own: &&CodeTargets| !own.sass.is_empty() && own.sass.iter().all(|one| row.sass.contains(one));
            !signatures.is_empty() && signatures.iter().all(all)
        };
        let builds = || case.knowledge().torch_builds().iter();
        let newest = |one: &&TorchBuildRow, other: &&TorchBuildRow| one.version.compare(other.version);
        let build = builds().filter(same).max_by(newest).or_else(|| builds().filter(holds).max_by(newest))?;
        let has = Some(build.variant.to_owned());
        Some(Self {
            name,
            package: None,
            pinned: None,
            row: case.knowledge().torch_release(build.version)?,
            has,
            requested_build: None,
        })
    }

    /// Returns how safe another build of the same release is: packages that are built on it may need the current one.
    fn variant_safety(&self, case: &FixContext<'_>) -> FixSafety {
        let frameworks = case.knowledge().frameworks();
        let other = |name: &str| name != self.name && frameworks.iter().any(|row| row.component == name);
        let is_only_framework = !case.image.components.iter().any(|one| other(&one.name)) && case.seen.code.is_empty();
        if is_only_framework { FixSafety::Safe } else { FixSafety::Unsafe }
    }

    /// Returns the command that installs torch, if it does not pin the version.
    fn unpinned_command(&self) -> Option<u32> {
        self.package.filter(|_| self.pinned.is_none()).map(|package| package.command)
    }

    /// Returns the change to a release and build, with the packages that have to change with it.
    fn build_change(&self, case: &FixContext<'_>, to: &TorchRow, build: Option<&str>) -> Option<ProposedChange> {
        let open = self.unpinned_command();
        let keeps_release = open.is_none() && to.info.row == self.row.info.row;
        let changed = if keeps_release { Vec::new() } else { companion_updates(case, self.name, to.version, open)? };
        Some(ProposedChange::Build {
            package: PackageEdit {
                name: PackageName::python(self.name),
                from: self.pinned.clone(),
                to: to.version.cloned(),
                build: build.map(str::to_owned),
            },
            old_build: self.requested_build.clone(),
            page: build.and_then(|build| build_index_url(case, self.name, build)),
            companions: [changed, bundled_libraries::bundled_companions(case, build.or(default_build(case, to)))]
                .concat(),
        })
    }
}

/// Returns the row of a torch release; for a pre-release, the row of the release that it led to.
fn torch_release_row(case: &FixContext<'_>, version: &ExactVersion) -> Option<&'static TorchRow> {
    let knowledge = case.knowledge();
    let is_release = |row: &&TorchRow| version.compare_release_numbers(row.version) == Some(Ordering::Equal);
    knowledge.torch_release(version).or_else(|| knowledge.torch_releases().iter().find(is_release))
}

/// Returns the newest torch release that a specifier admits, of those that existed on the day of the image.
fn newest_admitted_release(case: &FixContext<'_>, package: &ObservedPackage) -> Option<&'static TorchRow> {
    let PackageVersion::Range(range) = &package.requirement.version else { return None };
    let day = case.seen.as_of.or(case.settings.as_of);
    let out = |row: &&TorchRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
    let fits = |row: &&TorchRow| range.admits(row.version);
    let rows = case.knowledge().served_torch_releases().filter(out).filter(fits);
    rows.max_by(|one, other| one.version.compare(other.version))
}

/// Returns the CUDA builds of a release that exist for every architecture, the nearest to a given build first.
fn available_builds(case: &FixContext<'_>, row: &'static TorchRow, near: Option<&str>) -> Vec<&'static str> {
    let knowledge = case.knowledge();
    let there = |tag: &&str| {
        tag.starts_with("cu")
            && case.archs.iter().all(|arch| arch == "amd64" || knowledge.torch_build(row.version, tag, arch).is_some())
    };
    let mut all: Vec<&'static str> = row.variants.iter().copied().filter(there).collect();
    all.sort_by(|one, other| compare_natural(one, other));
    let place = near
        .map_or(all.len(), |near| all.iter().position(|one| compare_natural(one, near).is_ge()).unwrap_or(all.len()));
    let mut ranked: Vec<(usize, &'static str)> =
        all.into_iter().enumerate().map(|(at, tag)| (distance(at, place), tag)).collect();
    ranked.sort_by_key(|(far, _)| *far);
    ranked.into_iter().map(|(_, tag)| tag).collect()
}

/// Returns candidates for the same torch release for another CUDA version.
pub(super) fn framework_variant_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let Some(torch) = InstalledTorch::detect(case) else { return Vec::new() };
    let safety = torch.variant_safety(case);
    let now = torch
        .pinned
        .as_ref()
        .map(ExactVersion::as_str)
        .or(torch.package.is_none().then_some(""))
        .unwrap_or(torch.row.version.as_str());
    let safety = if now == torch.row.version.as_str() { safety } else { FixSafety::Unsafe };
    // A release of which only a neighbour is known may be for a Python that the neighbour has no wheel for.
    let version = torch.row.version;
    let Some(python) = python_condition(case, torch.package, version, version) else { return Vec::new() };
    let other = |tag: &&str| torch.has.as_deref() != Some(*tag);
    let tags = available_builds(case, torch.row, torch.has.as_deref()).into_iter().filter(other);
    let pinned = tags.filter_map(|tag| {
        let version = torch.row.version;
        let same = if now == version.as_str() { "the same release" } else { "the nearest known release," };
        let name = torch.name;
        let build_suffix = describe_build(case, name, version, tag);
        let title =
            format!("install {name}=={version}{build_suffix}, {same} for CUDA {}{python}", cuda_version_of_build(tag));
        let safety = safety.max(dependent_wheel_safety(case, &torch, Some(tag)));
        let (title, safety) = match package_without_release(case, version, torch.unpinned_command(), Some(tag)) {
            Some(other) => (format!("{title}, and a release of {other} for it"), FixSafety::Manual),
            None => (title, safety),
        };
        Some((title, safety, torch.build_change(case, torch.row, Some(tag))?))
    });
    let served = find_index_candidates(case, &torch).into_iter().filter(|(same, ..)| *same);
    let served = served.map(|(_, title, safety, change)| (title, safety, change));
    // If a package has no known release for it, the newest one of the index is tried first.
    let lacks = package_without_release(case, torch.row.version, torch.unpinned_command(), None).is_some();
    let all: Vec<_> = if lacks { served.chain(pinned).collect() } else { pinned.chain(served).collect() };
    let candidate = |(step, (title, safety, change))| FixCandidate {
        kind: ChangeKind::FrameworkVariant,
        step,
        title,
        safety,
        change,
    };
    all.into_iter().enumerate().map(candidate).collect()
}

/// Returns how safe a build is for wheels built for the replaced CUDA version, such as
/// `flash-attn==2.7.4+cu12torch2.6`.
fn dependent_wheel_safety(case: &FixContext<'_>, torch: &InstalledTorch<'_>, build: Option<&str>) -> FixSafety {
    let major = |local: &str| {
        let digits: String = local.strip_prefix("cu")?.chars().take_while(char::is_ascii_digit).collect();
        digits.get(..2).map(str::to_owned)
    };
    let Some(now) = build.or(torch.row.variants.first().copied()).and_then(major) else { return FixSafety::Safe };
    let other_packages = case
        .seen
        .packages
        .iter()
        .filter(|one| one.requirement.manager == PackageManager::Pip && one.requirement.name != torch.name);
    // What has the same build is changed with it.
    let keeps_old_cuda =
        |local: &str| Some(local) != torch.requested_build.as_deref() && major(local).is_some_and(|own| own != now);
    if other_packages.filter_map(|one| one.requirement.version.local()).any(keeps_old_cuda) {
        FixSafety::Manual
    } else {
        FixSafety::Safe
    }
}

/// Returns a package whose wheel is built for another torch release, such as `flash-attn==2.7.4+cu12torch2.6`.
fn find_wheel_for_other_release<'a>(
    case: &'a FixContext<'_>,
    torch: &InstalledTorch<'_>,
    version: &str,
) -> Option<&'a str> {
    let of_release = |package: &&ObservedPackage| {
        let Some(local) = package.requirement.version.local() else { return false };
        let Some((_, own)) = local.split_once(torch.name) else { return false };
        let length = own.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(own.len());
        let own = own.get(..length).unwrap_or_default().trim_end_matches('.');
        !own.is_empty() && version != own && !version.starts_with(&format!("{own}."))
    };
    let pip = case.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::Pip);
    pip.filter(|one| one.requirement.name != torch.name).find(of_release).map(|one| one.requirement.name.as_str())
}

/// Describes a build and the index that contains it, for a title.
fn describe_build(case: &FixContext<'_>, name: &str, version: &ExactVersion, tag: &str) -> String {
    let index = build_index_url(case, name, tag).unwrap_or_else(|| format!("of {tag}"));
    if is_build_selected_by_index(case, version, tag) {
        format!(" only from the index {index}")
    } else {
        format!("+{tag} from the index {index}")
    }
}

/// Returns the URL of the index of a build.
fn build_index_url(case: &FixContext<'_>, name: &str, build: &str) -> Option<String> {
    Some(case.knowledge().build_index_url_template(name)?.replace("{build}", build))
}

/// A change to another release: whether that is distant, a title, the safety, and the change.
type ReleaseChange = (bool, String, FixSafety, ProposedChange);

/// Returns candidates for neighbouring releases of torch, of packages that pin it, and of core components.
pub(super) fn framework_version_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    version_candidates_in_range(case, 0..MAX_RELEASES, MAX_BUILDS_PER_RELEASE)
}

/// Returns candidates for more distant releases.
pub(super) fn distant_version_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    version_candidates_in_range(case, MAX_RELEASES..MAX_DISTANT_RELEASES, MAX_BUILDS_PER_DISTANT_RELEASE)
}

/// Returns candidates for the releases in a range of ranks, the nearest release being the first.
fn version_candidates_in_range(case: &FixContext<'_>, places: Range<usize>, builds: usize) -> Vec<FixCandidate> {
    let mut changes: Vec<ReleaseChange> = Vec::new();
    if let Some(torch) = InstalledTorch::detect(case) {
        changes.extend(torch_release_changes(case, &torch, places.clone(), builds));
    }
    let other = |one: &&ObservedPackage| {
        one.requirement.manager == PackageManager::Pip && !case.knowledge().has_variants(&one.requirement.name)
    };
    for package in case.seen.packages.iter().filter(other) {
        changes.extend(package_release_changes(case, package, places.clone()));
    }
    let first = places.start * builds;
    let candidate = |(step, (far, title, safety, change)): (usize, ReleaseChange)| FixCandidate {
        kind: ChangeKind::FrameworkVersion,
        step: if far { FAR_STEP + first + step } else { first + step },
        title,
        safety,
        change,
    };
    changes.into_iter().enumerate().map(candidate).collect()
}

/// Returns the safety of a change between releases: unsafe to a near release, manual to a distant one.
fn release_step_safety(from: &str, to: &str) -> FixSafety {
    if are_neighbours(from, to) { FixSafety::Unsafe } else { FixSafety::Manual }
}

/// Returns changes to the torch releases in a range of ranks.
fn torch_release_changes(
    case: &FixContext<'_>,
    torch: &InstalledTorch<'_>,
    places: Range<usize>,
    most: usize,
) -> Vec<ReleaseChange> {
    let knowledge = case.knowledge();
    let all: Vec<RowVersion> = knowledge.served_torch_releases().map(|row| row.version).collect();
    // Releases whose companion packages are all known come before the others.
    let (mut found, mut lacking) = (Vec::new(), Vec::new());
    for version in nearest_releases(&all, torch.row.version).into_iter().skip(places.start).take(places.len()) {
        let Some(row) = knowledge.torch_release(version) else { continue };
        let Some(python) = python_condition(case, torch.package, torch.row.version, version) else { continue };
        let default = torch.requested_build.is_none()
            && torch.package.is_none_or(|package| matches!(package.requirement.indexes, IndexSelection::Default));
        let named = available_builds(case, row, torch.requested_build.as_deref().or(torch.has.as_deref()))
            .into_iter()
            .map(Some);
        let tags = default.then_some(None).into_iter().chain(named).take(most);
        for tag in tags {
            let name = torch.name;
            let local = tag.map_or_else(String::new, |tag| describe_build(case, name, version, tag));
            let title = format!("install {name}=={version}{local}{python}");
            let safety = release_step_safety(torch.row.version.as_str(), version.as_str())
                .max(dependent_wheel_safety(case, torch, tag));
            let lacks = package_without_release(case, version, torch.unpinned_command(), tag);
            let (title, safety) = match (find_wheel_for_other_release(case, torch, version.as_str()), lacks) {
                (Some(other), _) => (format!("{title}, and a build of {other} for it"), FixSafety::Manual),
                (None, Some(other)) => (format!("{title}, and a release of {other} for it"), FixSafety::Manual),
                (None, None) => (title, safety),
            };
            let list = if lacks.is_some() { &mut lacking } else { &mut found };
            let change = torch.build_change(case, row, tag);
            list.extend(
                change.map(|change| {
                    (!are_neighbours(torch.row.version.as_str(), version.as_str()), title, safety, change)
                }),
            );
        }
    }
    // What stands in an index is nearer than what is written by hand.
    let is_manual = |one: &ReleaseChange| one.2 == FixSafety::Manual;
    let (written, manual): (Vec<ReleaseChange>, Vec<ReleaseChange>) =
        found.into_iter().partition(|one| !is_manual(one));
    let served = if places.start == 0 { find_index_candidates(case, torch) } else { Vec::new() };
    let served =
        served.into_iter().filter(|(same, ..)| !same).map(|(_, title, safety, change)| (false, title, safety, change));
    written.into_iter().chain(served).chain(manual).chain(lacking).collect()
}

/// Returns changes to the releases of another package in a range of ranks.
fn package_release_changes(
    case: &FixContext<'_>,
    package: &ObservedPackage,
    places: Range<usize>,
) -> Vec<ReleaseChange> {
    let knowledge = case.knowledge();
    let PackageVersion::Exact(version) = &package.requirement.version else { return Vec::new() };
    let core = case
        .core_components()
        .any(|one| component_of_distribution(knowledge, &package.requirement.name) == Some(one.name.as_str()));
    let public = version.without_local();
    let now = public.as_str();
    let all = known_releases(knowledge, &package.requirement.name);
    if all.is_empty() || !(core || pins_torch(knowledge, &package.requirement.name, &public)) {
        return Vec::new();
    }
    let change = |(to, needs): (RowVersion, String)| {
        let change = ProposedChange::Build {
            package: PackageEdit {
                name: package.requirement.name.clone(),
                from: Some(version.without_local()),
                to: to.cloned(),
                build: package.variant.clone(),
            },
            old_build: None,
            page: None,
            companions: Vec::new(),
        };
        (
            !are_neighbours(now, to.as_str()),
            format!("install {}=={to}{needs}", package.requirement.name),
            release_step_safety(now, to.as_str()),
            change,
        )
    };
    let there = |to: RowVersion| Some((to, python_condition(case, Some(package), &public, to)?));
    let mut ranked = nearest_releases(&all, &public);
    // Of what is further away, the other patches of each minor as well.
    if places.start > 0 {
        let is_ranked = |one: &RowVersion| ranked.iter().any(|other| one.is_same(other));
        let others: Vec<RowVersion> =
            all.iter().copied().filter(|one| !one.is_same(&public) && !is_ranked(one)).collect();
        ranked.extend(others.into_iter().rev());
    }
    ranked.into_iter().filter_map(there).skip(places.start).take(places.len()).map(change).collect()
}

/// Returns the component that a distribution contains.
fn component_of_distribution(knowledge: Knowledge, distribution: &str) -> Option<&'static str> {
    knowledge.framework(distribution).map(|row| row.component)
}

/// Whether a release of a distribution pins the torch version.
fn pins_torch(knowledge: Knowledge, distribution: &str, version: &ExactVersion) -> bool {
    let mut rows = knowledge.torch_requirements_on_build_indexes(distribution);
    rows.any(|row| row.is_of_version(version) && !row.unasked && row.range.has_equality())
}

/// A build from its index: whether the release stays the same, the title, the safety and the change.
type IndexCandidate = (bool, String, FixSafety, ProposedChange);

/// Returns candidates for other build indexes, newest CUDA first, whose newest release is the same or a neighbour.
fn find_index_candidates(case: &FixContext<'_>, torch: &InstalledTorch<'_>) -> Vec<IndexCandidate> {
    let Some(package) = torch.package.filter(|_| torch.pinned.is_none()) else { return Vec::new() };
    let PackageVersion::Range(range) = &package.requirement.version else { return Vec::new() };
    let from = match &package.requirement.indexes {
        IndexSelection::Only(tag) => Some(tag.clone()),
        IndexSelection::Default | IndexSelection::DefaultAndExtra(_) => None,
        IndexSelection::Unknown(_) => return Vec::new(),
    };
    let knowledge = case.knowledge();
    let Some(page) = knowledge.build_index_url_template(torch.name) else { return Vec::new() };
    let day = case.seen.as_of.or(case.settings.as_of);
    let out = |row: &&TorchRow| day.is_none_or(|day| row.released.is_some_and(|released| released <= day));
    let fits = |row: &&TorchRow| range.admits(row.version);
    let mut rows: Vec<&'static TorchRow> = knowledge.served_torch_releases().filter(out).filter(fits).collect();
    rows.sort_by(|one, other| other.version.compare(one.version));
    let mut newest: Vec<(&'static str, &'static TorchRow)> = Vec::new();
    for row in rows {
        for tag in available_builds(case, row, None) {
            if !newest.iter().any(|(own, _)| *own == tag) {
                newest.push((tag, row));
            }
        }
    }
    newest.retain(|(tag, row)| {
        from.as_deref() != Some(*tag) && are_neighbours(torch.row.version.as_str(), row.version.as_str())
    });
    newest.sort_by(|(one, _), (other, _)| compare_natural(other, one));
    let of_index = |(tag, row): (&'static str, &'static TorchRow)| {
        // The packages that are requested with it must be on that index, too.
        package_without_release(case, row.version, torch.unpinned_command(), Some(tag)).is_none().then_some(())?;
        let python = python_condition(case, Some(package), torch.row.version, row.version)?;
        let (name, version, cuda) = (torch.name, row.version, cuda_version_of_build(tag));
        let same = row.info.row == torch.row.info.row;
        let newest = if same { "which has the same release," } else { "whose newest release is" };
        let title = format!("install {name} from the index of {tag}, {newest} {version}, for CUDA {cuda}{python}");
        let safety = if same { torch.variant_safety(case) } else { FixSafety::Unsafe };
        let safety = match find_wheel_for_other_release(case, torch, version.as_str()) {
            Some(_) => FixSafety::Manual,
            None => safety.max(dependent_wheel_safety(case, torch, Some(tag))),
        };
        let change = ProposedChange::Index {
            package: PackageName::python(name),
            from: from.clone(),
            build: tag.to_owned(),
            page: page.replace("{build}", tag),
        };
        Some((same, title, safety, change))
    };
    newest.into_iter().filter_map(of_index).take(MAX_INDEXES).collect()
}
