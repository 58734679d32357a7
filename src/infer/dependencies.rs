//! Packages with GPU code that are installed only as dependencies, without any command naming them.
//!
//! Which ones a package has depends on its release, so they are selected after versions are resolved.

use crate::infer::command_request::{CommandRequest, InstalledRelease, installed_release};
use crate::infer::python_version::python_of_package;
use crate::infer::torch_release::TorchContext;
use crate::infer::version_resolution::{InstallContext, combined_range};
use crate::knowledge::{Knowledge, RequiresDistRow};
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, Evidence, FactKey, Facts, InspectionDepth, InstallerBehavior, Observations, PrintedValue, ValueState,
};
use crate::model::package::{ExactVersion, ObservedPackage, PackageName, PackageVersion, Requirement};
use crate::resolve::Selection;

/// Returns the observations without the packages that are only possible dependencies; `None` if there are none.
pub(super) fn without_possible_dependencies(seen: &Observations) -> Option<Observations> {
    let is_possible = |package: &ObservedPackage| package.dependent.is_some();
    if !seen.packages.iter().chain(&seen.uninstalled_packages).any(is_possible) {
        return None;
    }
    let mut plain = seen.clone();
    plain.packages.retain(|package| !is_possible(package));
    plain.uninstalled_packages.retain(|package| !is_possible(package));
    Some(plain)
}

/// Returns the observations with those of the possible dependencies that are installed, each in its place, and these
/// dependencies. `resolved` are the observations without them, with packages of the base image in front.
pub(super) fn select_dependencies(
    seen: &Observations,
    resolved: &Observations,
    install_context: InstallContext<'_>,
) -> (Observations, Vec<ObservedPackage>) {
    let mut selected = Vec::new();
    let mut complete = Observations { packages: Vec::new(), ..resolved.clone() };
    let mut plain = resolved.packages.iter();
    let own = seen.packages.iter().filter(|package| package.dependent.is_none()).count();
    complete.packages.extend(plain.by_ref().take(resolved.packages.len().saturating_sub(own)).cloned());
    for package in &seen.packages {
        let Some(dependent) = &package.dependent else {
            complete.packages.extend(plain.next().cloned());
            continue;
        };
        let Some((dependency, row)) = select_dependency(package, dependent, resolved, install_context) else {
            continue;
        };
        let is_replaced = resolved.base_changes.installers.contains(InstallerBehavior::Reinstalls, dependency.command);
        if !is_replaced && is_already_installed(&dependency, &complete.packages) {
            continue;
        }
        let name = &dependency.requirement.name;
        let specifier = match &dependency.requirement.version {
            PackageVersion::Exact(version) => format!("{name}=={version}"),
            PackageVersion::Range(range) => format!("{name}{range}"),
            PackageVersion::Unresolved(_) => name.to_string(),
        };
        let state = ValueState::Known(PrintedValue::Text(specifier));
        let evidence = Evidence::Derived { by: Derivation::Row, from: vec![package.fact], row: Some(&row.info) };
        let fact = complete.facts.add(FactKey::Package, Some(name), state, evidence);
        let dependency = ObservedPackage { fact, ..dependency };
        selected.push(dependency.clone());
        complete.packages.push(dependency);
    }
    (complete, selected)
}

/// Returns observations with the selected dependencies of an image in place of the possible ones.
pub(super) fn with_selected_dependencies(
    mut seen: Observations,
    facts: Facts,
    selected: Vec<ObservedPackage>,
) -> Observations {
    let mut selected = selected.into_iter().peekable();
    let mut packages = Vec::new();
    for package in seen.packages {
        if package.dependent.is_none() {
            packages.push(package);
        } else if let Some(dependency) = selected.next_if(|one| facts.is_derived_from(one.fact, package.fact)) {
            packages.push(dependency);
        }
    }
    seen.uninstalled_packages.retain(|package| package.dependent.is_none());
    Observations { facts, packages, ..seen }
}

/// Whether an earlier command installed a dependency in an acceptable version.
fn is_already_installed(dependency: &ObservedPackage, earlier: &[ObservedPackage]) -> bool {
    let is_acceptable = |own: &&ObservedPackage| match (&dependency.requirement.version, &own.requirement.version) {
        (PackageVersion::Exact(_), _) => false,
        (PackageVersion::Range(range), PackageVersion::Exact(version)) => {
            range.contains(&version.without_local()) != Some(false)
        }
        _ => true,
    };
    let is_earlier = |own: &&ObservedPackage| {
        own.requirement.name == dependency.requirement.name
            && own.command < dependency.command
            && own.conditional.is_none()
            && own.shares_environment_with(dependency)
    };
    earlier.iter().rev().find(is_earlier).is_some_and(|own| is_acceptable(&own))
}

/// Returns a possible dependency as the selected release of its dependent requires it; `None` if that does not.
fn select_dependency(
    package: &ObservedPackage,
    dependent: &Requirement,
    seen: &Observations,
    install_context: InstallContext<'_>,
) -> Option<(ObservedPackage, &'static RequiresDistRow)> {
    let knowledge = install_context.knowledge;
    let is_dependent = |own: &&ObservedPackage| {
        own.command == package.command
            && own.requirement.name == dependent.name
            && own.requirement.manager == dependent.manager
    };
    let resolved = seen.packages.iter().chain(&seen.uninstalled_packages).find(is_dependent);
    let requirement = resolved.map_or(dependent, |own| &own.requirement).clone();
    let requirement = Requirement { upgrade: requirement.upgrade || dependent.upgrade, ..requirement };
    let fact = resolved.map_or(package.fact, |own| own.fact);
    let dependent = ObservedPackage { requirement, dependent: None, fact, ..package.clone() };
    let release = selected_release(&dependent, seen, install_context);
    let rows: Vec<&'static RequiresDistRow> = knowledge
        .dependencies_with_extras(&dependent.requirement.name, &dependent.requirement.extras)
        .filter(|row| package.requirement.name == row.package)
        .collect();
    let applicable = rows.iter().copied().find(|row| is_row_applicable(row, &release, knowledge));
    let unknown = || {
        let (name, package) = (package.requirement.name.to_string(), dependent.requirement.name.to_string());
        Cause::DependencyVersion { name, package }
    };
    let conditional = match (applicable, &release) {
        (Some(_), _) => None,
        (None, SelectedRelease::Unknown) => Some(unknown()),
        (None, SelectedRelease::This(_) | SelectedRelease::Newest(_)) => return None,
    };
    let row = applicable.or_else(|| rows.first().copied())?;
    let version = match &conditional {
        Some(why) => PackageVersion::Unresolved(why.clone()),
        None => version_of_dependency(&dependent, row, &release, seen)
            .unwrap_or_else(|| PackageVersion::Unresolved(unknown())),
    };
    let extras: Vec<PackageName> = row.with.map(PackageName::python).into_iter().collect();
    let no_deps = knowledge.lacks_library_extra(&package.requirement.name, &extras);
    // Commands keep installed dependencies; a plain description lists installed packages.
    let upgrade = package.requirement.upgrade && seen.depth != InspectionDepth::Text;
    let requirement = Requirement { extras, version, upgrade, no_deps, ..package.requirement.clone() };
    let conditional = package.conditional.clone().or(conditional);
    Some((ObservedPackage { requirement, conditional, dependent: None, ..package.clone() }, row))
}

/// Returns the version of a dependency that a row lists; `None` if it is unknown.
fn version_of_dependency(
    dependent: &ObservedPackage,
    row: &RequiresDistRow,
    release: &SelectedRelease,
    seen: &Observations,
) -> Option<PackageVersion> {
    match (row.local, release) {
        (Some(local), SelectedRelease::This(version) | SelectedRelease::Newest(Some(version))) => {
            return Some(PackageVersion::exact(format!("{version}+{local}")));
        }
        (Some(_), _) => return None,
        (None, SelectedRelease::This(_) | SelectedRelease::Newest(_)) if !row.range.is_any() => {
            return Some(PackageVersion::Range(row.range.cloned()));
        }
        (None, _) if !row.same => return Some(PackageVersion::any()),
        (None, _) => {}
    }
    match (&dependent.requirement.version, release) {
        (PackageVersion::Exact(version), _) => Some(PackageVersion::Exact(version.without_local())),
        (PackageVersion::Unresolved(_), _) => None,
        (PackageVersion::Range(_), SelectedRelease::This(version)) => Some(PackageVersion::Exact(version.clone())),
        (PackageVersion::Range(_), _) => Some(match combined_range(dependent, seen).filter(|range| !range.is_any()) {
            Some(range) => PackageVersion::Range(range),
            // On an earlier day there may have been none that requires it.
            None => row.from.map_or_else(PackageVersion::any, |from| PackageVersion::range(format!(">={from}"))),
        }),
    }
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
    let torch = knowledge.framework_with_variants().map(|row| PackageName::python(row.distribution));
    let torch = torch.map_or(InstalledRelease::No, |torch| installed_release(&torch, package, seen, build));
    let python = python_of_package(seen, package, knowledge).ok();
    let day = TorchContext { arch, as_of, knowledge };
    let mut request = CommandRequest::new(package.command, torch, python.as_deref(), (seen, build), day);
    request.add_removed(package, seen);
    if request.unknown_installed.contains(name) && !package.requirement.upgrade {
        return SelectedRelease::Unknown;
    }
    match request.resolve().selection(name) {
        Some(Selection::Installed(version)) => SelectedRelease::This(version.without_local()),
        Some(Selection::Release(version)) => SelectedRelease::Newest(Some(version.clone())),
        Some(Selection::Unknown(_)) | None => {
            let is_listed = knowledge.known_releases(name).next().is_some();
            if is_listed || !range.is_any() || as_of.is_some() {
                SelectedRelease::Unknown
            } else {
                SelectedRelease::Newest(None)
            }
        }
    }
}

/// Whether a dependency row applies to a release; for an unknown release, only if it applies to all releases with the
/// extra.
fn is_row_applicable(row: &RequiresDistRow, release: &SelectedRelease, knowledge: Knowledge) -> bool {
    match release {
        SelectedRelease::This(version) | SelectedRelease::Newest(Some(version)) => row.applies_to(version),
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

    /// Returns the dependencies of a command on an unknown base image whose names imply a CUDA release; `?` marks those
    /// that may not be installed.
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
        let mark = |one: &ObservedPackage| if one.conditional.is_some() { "?" } else { "" };
        let found = image.dependencies.iter().filter(is_versioned).map(|one| format!("{}{}", text(one), mark(one)));
        let mut found: Vec<String> = found.collect();
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
            ("tensorflow[and-cuda]>=99", &["nvidia-cuda-runtime-cu11?", "nvidia-cuda-runtime-cu12?"]),
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
            ("jax[cuda]<0.4.10", &["jax-cuda12-plugin?", "jaxlib?"]),
            ("jax[cuda]==$NOBODY", &["jax-cuda12-plugin?", "jaxlib?"]),
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
