//! Packages with GPU code that are installed only as dependencies, without any command naming them.
//!
//! Which ones a package has depends on its release, so they are added after versions are resolved.

use crate::infer::python_version::python_of_package;
use crate::infer::torch_ecosystem::{InstalledRelease, installed_release};
use crate::infer::version_resolution::{InstallContext, combined_range};
use crate::knowledge::{Knowledge, RequiresDistRow};
use crate::model::cause::Cause;
use crate::model::fact::{Derivation, Evidence, FactKey, InspectionDepth, Observations, PrintedValue, ValueState};
use crate::model::package::{ExactVersion, ObservedPackage, PackageManager, PackageName, PackageVersion, Requirement};
use crate::resolve::{LISTED_ARCHITECTURE, TableCatalog};

/// Returns the observations with the dependencies of their packages, and these dependencies; `None` if there are none.
pub(super) fn add_dependencies(
    seen: &Observations,
    install_context: InstallContext<'_>,
) -> Option<(Observations, Vec<ObservedPackage>)> {
    let mut found: Vec<(ObservedPackage, &'static RequiresDistRow)> = Vec::new();
    // Packages of an inspected image, and those of the base image, are listed with their dependencies.
    let has_unlisted = |package: &&ObservedPackage| {
        package.requirement.manager == PackageManager::Pip
            && !package.requirement.no_deps
            && Some(package.fact) != install_context.build.fact
            && (seen.depth == InspectionDepth::Text || !package.requirement.extras.is_empty())
    };
    for package in seen.uninstalled_packages.iter().chain(&seen.packages).filter(has_unlisted) {
        found.extend(dependencies_of(package, seen, install_context));
    }
    if found.is_empty() {
        return None;
    }
    let mut seen = seen.clone();
    let mut added = Vec::new();
    for (package, row) in found {
        let Observations { packages, facts, .. } = &mut seen;
        let name = &package.requirement.name;
        let specifier = match &package.requirement.version {
            PackageVersion::Exact(version) => format!("{name}=={version}"),
            PackageVersion::Range(range) => format!("{name}{range}"),
            PackageVersion::Unresolved(_) => name.to_string(),
        };
        let state = ValueState::Known(PrintedValue::Text(specifier));
        let evidence = Evidence::Derived { by: Derivation::Row, from: vec![package.fact], row: Some(&row.info) };
        let fact = facts.add(FactKey::Package, Some(name), state, evidence);
        // Before the packages that the command names, so that these win.
        let at = packages.iter().position(|own| own.command >= package.command).unwrap_or(packages.len());
        added.push(ObservedPackage { fact, ..package.clone() });
        packages.insert(at, ObservedPackage { fact, ..package });
    }
    Some((seen, added))
}

/// Returns the dependencies of a package with their rows, except those that its command names and those that are
/// already installed or were removed.
fn dependencies_of(
    package: &ObservedPackage,
    seen: &Observations,
    install_context: InstallContext<'_>,
) -> Vec<(ObservedPackage, &'static RequiresDistRow)> {
    let InstallContext { knowledge, .. } = install_context;
    let Requirement { name, extras, .. } = &package.requirement;
    let mut rows = knowledge.dependencies_with_extras(name, extras).peekable();
    if rows.peek().is_none() {
        return Vec::new();
    }
    let release = selected_release(package, seen, install_context);
    let applicable = rows.filter(|row| is_row_applicable(row, &release, knowledge));
    let mut found: Vec<_> = applicable.map(|row| (dependency(package, row, &release, seen, knowledge), row)).collect();
    if release == SelectedRelease::Unknown {
        found.extend(uncertain_dependency(package, knowledge));
    }
    found.retain(|(dependency, _)| !is_named_or_installed(dependency, package, seen));
    found
}

/// Whether the command of a package names a dependency itself or keeps an installed one, or a later command removes it.
fn is_named_or_installed(dependency: &ObservedPackage, package: &ObservedPackage, seen: &Observations) -> bool {
    let name = &dependency.requirement.name;
    let own = || seen.packages.iter().filter(|own| own.requirement.name == *name);
    let is_named = own().any(|own| own.command == package.command);
    let is_installed = || own().any(|own| own.command < package.command && own.conditional.is_none());
    let is_removed = seen.removed_packages.iter().any(|removed| {
        removed.manager == PackageManager::Pip && removed.name == *name && removed.command > package.command
    });
    is_named || is_removed || !dependency.requirement.version.is_exact() && is_installed()
}

/// Returns the dependency that a row lists.
fn dependency(
    package: &ObservedPackage,
    row: &'static RequiresDistRow,
    release: &SelectedRelease,
    seen: &Observations,
    knowledge: Knowledge,
) -> ObservedPackage {
    let name = PackageName::python(row.package);
    let unknown = || {
        PackageVersion::Unresolved(Cause::DependencyVersion {
            name: name.to_string(),
            package: package.requirement.name.to_string(),
        })
    };
    let version = match (row.local, release) {
        (Some(local), SelectedRelease::This(version) | SelectedRelease::Newest(Some(version))) => {
            PackageVersion::exact(format!("{version}+{local}"))
        }
        (Some(_), _) => unknown(),
        (None, SelectedRelease::This(_) | SelectedRelease::Newest(_)) if !row.range.is_empty() => {
            PackageVersion::range(row.range)
        }
        (None, _) if !row.same => PackageVersion::any(),
        (None, _) => match &package.requirement.version {
            PackageVersion::Exact(version) => PackageVersion::Exact(version.without_local()),
            PackageVersion::Unresolved(_) => unknown(),
            PackageVersion::Range(_) => same_version(package, row, release, seen),
        },
    };
    let extras: Vec<PackageName> = row.with.map(PackageName::python).into_iter().collect();
    let no_deps = knowledge.lacks_library_extra(&name, &extras);
    let upgrade = package.requirement.upgrade && seen.depth != InspectionDepth::Text;
    let requirement = Requirement { name, version, extras, no_deps, upgrade, ..package.requirement.clone() };
    ObservedPackage { requirement, variant: None, ..package.clone() }
}

/// Returns the versions of a dependency that has the same version as an unpinned package.
fn same_version(
    package: &ObservedPackage,
    row: &RequiresDistRow,
    release: &SelectedRelease,
    seen: &Observations,
) -> PackageVersion {
    let range = combined_range(package, seen);
    match (release, range) {
        (SelectedRelease::This(version), _) => PackageVersion::Exact(version.clone()),
        (_, Some(range)) if !range.is_any() => PackageVersion::Range(range),
        // On an earlier day there may have been none that requires it.
        _ => row.from.map_or_else(PackageVersion::any, |from| PackageVersion::range(format!(">={from}"))),
    }
}

/// Returns one dependency of an extra as conditional, where the release of the package is unknown and its dependencies
/// differ by release.
fn uncertain_dependency(
    package: &ObservedPackage,
    knowledge: Knowledge,
) -> Option<(ObservedPackage, &'static RequiresDistRow)> {
    let rows = || {
        knowledge
            .dependencies_with_extras(&package.requirement.name, &package.requirement.extras)
            .filter(|row| row.same || row.local.is_some())
    };
    let changes = rows().any(|row| row.before.is_some());
    let is_code = |row: &&RequiresDistRow| changes && knowledge.framework(row.package).is_some();
    let row = rows().find(is_code).filter(|_| knowledge.framework(&package.requirement.name).is_none())?;
    let name = PackageName::python(row.package);
    let why = Cause::DependencyVersion { name: name.to_string(), package: package.requirement.name.to_string() };
    let version = PackageVersion::Unresolved(why.clone());
    let requirement = Requirement { name, version, extras: Vec::new(), upgrade: false, ..package.requirement.clone() };
    let conditional = package.conditional.clone().or(Some(why));
    Some((ObservedPackage { requirement, variant: None, conditional, ..package.clone() }, row))
}

/// The release of a package, as far as its dependencies depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SelectedRelease {
    /// This one.
    This(ExactVersion),
    /// The newest one that is allowed: this one of the tables, or one that they do not list.
    Newest(Option<ExactVersion>),
    /// An unknown one.
    Unknown,
}

/// Returns the release of a package that is installed: the requested one, an installed one that stays, or the newest one
/// in the tables that the ranges, the day and the Python version allow.
fn selected_release(
    package: &ObservedPackage,
    seen: &Observations,
    install_context: InstallContext<'_>,
) -> SelectedRelease {
    let InstallContext { build, arch, as_of, knowledge } = install_context;
    let name = &package.requirement.name;
    match &package.requirement.version {
        PackageVersion::Exact(version) => return SelectedRelease::This(version.without_local()),
        PackageVersion::Unresolved(_) => return SelectedRelease::Unknown,
        PackageVersion::Range(_) => {}
    }
    let Some(range) = combined_range(package, seen) else { return SelectedRelease::Unknown };
    if let Some(version) = range.pinned_version() {
        return SelectedRelease::This(version.without_local());
    }
    if !package.requirement.upgrade {
        match installed_release(name, package, seen, build) {
            InstalledRelease::Known(version) if range.contains(&version.without_local()) != Some(false) => {
                return SelectedRelease::This(version.without_local());
            }
            InstalledRelease::Known(_) | InstalledRelease::No => {}
            InstalledRelease::Unknown => return SelectedRelease::Unknown,
        }
    }
    let python = python_of_package(seen, package, knowledge).ok().filter(|_| arch == LISTED_ARCHITECTURE);
    let catalog =
        TableCatalog { knowledge, arch, as_of, python: python.as_deref(), indexes: &package.requirement.indexes };
    let is_listed = knowledge.known_releases(name).next().is_some();
    let allowed = catalog.releases_with_dependencies(name).into_iter();
    let newest = allowed.filter(|version| range.contains(version) == Some(true)).max_by(ExactVersion::compare);
    match newest {
        None if is_listed || !range.is_any() => SelectedRelease::Unknown,
        newest => SelectedRelease::Newest(newest),
    }
}

/// Whether a dependency row applies to a release; for an unknown release, only if it applies to all releases with the
/// extra.
fn is_row_applicable(row: &RequiresDistRow, release: &SelectedRelease, knowledge: Knowledge) -> bool {
    match release {
        SelectedRelease::This(version) | SelectedRelease::Newest(Some(version)) => {
            version.is_between(row.from, row.before)
        }
        SelectedRelease::Newest(None) => row.before.is_none(),
        SelectedRelease::Unknown => {
            let mut others = knowledge.gpu_dependencies_of(row.distribution).filter(|other| other.extra == row.extra);
            let alike =
                others.clone().all(|other| other.package == row.package && !other.same && other.local.is_none());
            row.before.is_none() && (alike || !others.any(|other| other.before.is_some()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::context::ContextFiles;
    use crate::dockerfile::{Dockerfile, EvaluateOptions};
    use crate::extract::observe_dockerfile;
    use crate::infer::infer_image_facts;
    use crate::text::source::SourceId;

    /// Returns the dependencies of a command on an unknown base image whose names imply a CUDA release.
    fn cuda_dependencies(requirement: &str) -> Vec<String> {
        let text = format!("FROM registry.example.com/base:1\nRUN pip install '{requirement}'\n");
        let knowledge = Knowledge::built_in();
        let dockerfile = Dockerfile::parse(&text);
        let options = EvaluateOptions::new(knowledge);
        let target =
            observe_dockerfile(SourceId(0), &dockerfile, &options, &ContextFiles::default()).expect("a Dockerfile");
        let images = infer_image_facts(&target.seen, "linux/amd64", None, knowledge);
        let image = images.first().expect("an image");
        let is_versioned = |one: &&ObservedPackage| {
            one.requirement.name.starts_with("jax") || one.requirement.name.starts_with("nvidia-cuda-runtime")
        };
        let text = |one: &ObservedPackage| match &one.requirement.version {
            PackageVersion::Exact(version) => format!("{}=={version}", one.requirement.name),
            PackageVersion::Range(range) => format!("{}{range}", one.requirement.name),
            PackageVersion::Unresolved(_) => one.requirement.name.to_string(),
        };
        let mut found: Vec<String> = image.dependencies.iter().filter(is_versioned).map(text).collect();
        found.sort();
        found
    }

    #[test]
    fn the_release_decides_which_cuda_is_a_dependency() {
        for (requirement, expected) in [
            ("tensorflow[and-cuda]==2.14.0", &["nvidia-cuda-runtime-cu11"][..]),
            ("tensorflow[and-cuda]~=2.14.0", &["nvidia-cuda-runtime-cu11"]),
            ("tensorflow[and-cuda]==2.14.*", &["nvidia-cuda-runtime-cu11"]),
            ("tensorflow[and-cuda]<2.15", &["nvidia-cuda-runtime-cu11"]),
            // By PEP 440 this admits everything of 2 from 2.14 on.
            ("tensorflow[and-cuda]~=2.14", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]>=2.14", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]>2.14.1,<2.15.1", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]==2.15.0.post1", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]", &["nvidia-cuda-runtime-cu12"]),
            // The extra came with 2.14; the dependencies of an unknown version are unknown.
            ("tensorflow[and-cuda]==2.13.1", &[]),
            ("tensorflow[and-cuda]<2.14", &[]),
            ("tensorflow[and-cuda]>=99", &[]),
            ("tensorflow~=2.14.0", &[]),
            ("jax[cuda]==0.4.20", &["jaxlib==0.4.20+cuda11.cudnn86"]),
            ("jax[cuda]==0.4.26", &["jaxlib==0.4.26+cuda12.cudnn89"]),
            ("jax[cuda]==0.4.29", &["jaxlib==0.4.29+cuda12.cudnn91"]),
            ("jax[cuda]==0.4.30", &["jax-cuda12-plugin==0.4.30"]),
            ("jax[cuda]<0.4.26", &["jaxlib==0.4.25+cuda11.cudnn86"]),
            ("jax[cuda12_pip]==0.4.25", &["jaxlib==0.4.25+cuda12.cudnn89"]),
            ("jax[cuda12_pip]==0.4.30", &["jax-cuda12-plugin==0.4.30"]),
            ("jax[cuda12_local]==0.4.14", &["jaxlib==0.4.14+cuda12.cudnn89"]),
            ("jax[cuda12_local]==0.8.0", &["jax-cuda12-plugin==0.8.0"]),
            // Older than every release in the tables.
            ("jax[cuda]<0.4.10", &["jax-cuda12-plugin"]),
            ("jax[cuda]==$NOBODY", &["jax-cuda12-plugin"]),
            ("jax[cuda]", &["jax-cuda12-plugin>=0.4.30"]),
            ("jax[cuda12]~=0.4.30", &["jax-cuda12-plugin~=0.4.30"]),
            ("jax[cuda12]==0.9.0.1", &["jax-cuda12-plugin==0.9.0.1"]),
            // These have no such extra: pip warns and continues.
            ("jax[cuda12]==0.4.20", &[]),
            ("jax[cuda11_pip]==0.4.30", &[]),
            ("jax[cuda11_pip]==0.4.20", &["jaxlib==0.4.20+cuda11.cudnn86"]),
            ("jax[cuda12_pip]==0.8.0", &[]),
            ("jax==0.4.20", &[]),
        ] {
            assert_eq!(cuda_dependencies(requirement), expected, "{requirement}");
        }
    }

    #[test]
    fn an_unknown_release_has_the_dependencies_of_all_releases() {
        let knowledge = Knowledge::built_in();
        let dependency_count = |distribution: &str, extra: &str| {
            let extras = [PackageName::python(extra)];
            let rows = knowledge.dependencies_with_extras(distribution, &extras);
            rows.filter(|row| is_row_applicable(row, &SelectedRelease::Unknown, knowledge)).count()
        };
        assert_eq!(dependency_count("tensorflow", "and-cuda"), 0);
        assert_eq!(dependency_count("jax", "cuda"), 0);
        assert_eq!(dependency_count("jax", "cuda12"), 1);
        assert_eq!(dependency_count("jax", "nothing"), 0);
    }
}
