//! Packages with GPU code that are installed only as dependencies, without any command naming them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::install::{InstallEffects, PackageInstall};
use crate::knowledge::{Knowledge, RequiresDistRow};
use crate::model::cause::Cause;
use crate::model::fact::Observations;
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion, Requirement,
    VersionRange, compare_pep440_versions,
};
use crate::text::source::Span;

/// Returns the packages with GPU code that the installs of one command add as dependencies, except those named or
/// already installed.
pub(super) fn find_gpu_dependencies(
    command: &InstallEffects,
    seen: &Observations,
    knowledge: Knowledge,
) -> Vec<PackageInstall> {
    let named = &command.packages;
    if named.is_empty() {
        return Vec::new();
    }
    let own_names: BTreeSet<&str> = named.iter().map(|install| install.requirement.name.as_str()).collect();
    let certain = seen.packages.iter().filter(|package| package.conditional.is_none());
    let there_already: BTreeSet<&str> = certain.map(|package| package.requirement.name.as_str()).collect();
    let bounds = combine_constraints(&command.constraints, knowledge);
    let mut found = Vec::new();
    for install in named
        .iter()
        .filter(|install| install.requirement.manager == PackageManager::Pip && !install.requirement.no_deps)
    {
        let requested = requested_version(install, bounds.get(install.requirement.name.as_str()), knowledge);
        for row in knowledge
            .dependencies_with_extras(&install.requirement.name, &install.requirement.extras)
            .filter(|row| is_row_applicable(row, &requested, knowledge))
        {
            let version = match &install.requirement.version {
                _ if row.local.is_some() => local_build_version(row, &requested),
                _ if !row.range.is_empty() && requested != RequestedVersion::Unknown => {
                    PackageVersion::range(row.range)
                }
                PackageVersion::Exact(text) if row.same => PackageVersion::Exact(text.without_local()),
                // On an earlier day there may have been none that brings it.
                PackageVersion::Range(range)
                    if row.same
                        && range.is_any()
                        && let Some(from) = row.from =>
                {
                    PackageVersion::range(format!(">={from}"))
                }
                version if row.same => version.clone(),
                _ => PackageVersion::any(),
            };
            let exact = version.is_exact();
            let there = !exact && there_already.contains(row.package);
            // What goes with one torch is brought all the same where it may not be there.
            let there =
                there && !(knowledge.is_built_with_torch(row.package) && is_install_uncertain(row.package, seen));
            if there || own_names.contains(row.package) {
                continue;
            }
            let (name, extras) =
                (PackageName::python(row.package), row.with.map(PackageName::python).into_iter().collect());
            let requirement = Requirement { name, version, extras, upgrade: false, ..install.requirement.clone() };
            found.push(PackageInstall { requirement, variant: None, ..install.clone() });
        }
        if requested == RequestedVersion::Unknown {
            found.extend(
                uncertain_extra_dependency(install, &install.requirement.extras, knowledge)
                    .filter(|one| !own_names.contains(one.requirement.name.as_str())),
            );
        }
    }
    found
}

/// Whether no unconditional install of a package was seen.
fn is_install_uncertain(name: &str, seen: &Observations) -> bool {
    seen.packages.iter().filter(|package| package.requirement.name == name).all(|package| package.conditional.is_some())
}

/// Returns the requested version with the local build tag of a dependency row; unresolved if either is unknown.
fn local_build_version(row: &RequiresDistRow, requested: &RequestedVersion) -> PackageVersion {
    match (requested, row.local) {
        (RequestedVersion::Exact(version), Some(local)) => PackageVersion::exact(format!("{version}+{local}")),
        _ => PackageVersion::behind_variable(),
    }
}

/// Returns one dependency of an extra as conditional, where the package version is unknown and its dependencies
/// differ by version.
fn uncertain_extra_dependency(
    install: &PackageInstall,
    extras: &[PackageName],
    knowledge: Knowledge,
) -> Option<PackageInstall> {
    let rows = || {
        knowledge
            .dependencies_with_extras(&install.requirement.name, extras)
            .filter(|row| row.same || row.local.is_some())
    };
    let changes = rows().any(|row| row.before.is_some());
    let is_code = |row: &&RequiresDistRow| changes && knowledge.framework(row.package).is_some();
    let row = rows().find(is_code).filter(|_| knowledge.framework(&install.requirement.name).is_none())?;
    let (name, extras) = (PackageName::python(row.package), Vec::new());
    let version = PackageVersion::behind_variable();
    let requirement = Requirement { name, version, extras, upgrade: false, ..install.requirement.clone() };
    Some(PackageInstall { requirement, variant: None, conditional: true, ..install.clone() })
}

/// Returns the dependencies that a described package adds with these extras, except those that the description lists
/// itself.
pub(super) fn dependencies_with_extras(
    package: &ObservedPackage,
    extras: &[PackageName],
    described: &BTreeSet<PackageName>,
    seen: &Observations,
    knowledge: Knowledge,
) -> Vec<ObservedPackage> {
    let requirement = Requirement {
        extras: extras.to_vec(),
        indexes: IndexSelection::Default,
        prerelease: None,
        channel: None,
        ..package.requirement.clone()
    };
    let install = PackageInstall {
        requirement,
        variant: None,
        build: None,
        span: Span::default(),
        source: None,
        conditional: package.conditional.is_some(),
    };
    let command = InstallEffects { packages: vec![install], ..InstallEffects::default() };
    let found = find_gpu_dependencies(&command, seen, knowledge)
        .into_iter()
        .filter(|one| !described.contains(&one.requirement.name));
    let unknown_cause =
        |name: &str| Cause::DependencyVersion { name: name.to_string(), package: package.requirement.name.to_string() };
    found
        .map(|one| {
            let version = match one.requirement.version {
                PackageVersion::Unresolved(_) => PackageVersion::Unresolved(unknown_cause(&one.requirement.name)),
                version => version,
            };
            let conditional =
                package.conditional.clone().or_else(|| one.conditional.then(|| unknown_cause(&one.requirement.name)));
            let without_deps = package.requirement.no_deps
                || knowledge.lacks_library_extra(&one.requirement.name, &one.requirement.extras);
            let requirement = Requirement {
                version,
                indexes: package.requirement.indexes.clone(),
                upgrade: package.requirement.upgrade,
                no_deps: without_deps,
                ..one.requirement
            };
            ObservedPackage {
                requirement,
                variant: None,
                conditional,
                separate_environment: false,
                command: package.command,
                fact: package.fact,
            }
        })
        .collect()
}

/// The version that an install requests.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestedVersion {
    /// Exactly this version.
    Exact(ExactVersion),
    /// The newest release, perhaps newer than those in the knowledge tables.
    Newest,
    /// A version that cannot be determined.
    Unknown,
}

/// All version constraints of one package, combined.
struct PackageConstraints {
    /// What the first of those says that is no range.
    decided: Option<RequestedVersion>,
    /// The releases of the tables that all ranges admit, where there are ranges.
    admitted: Option<Vec<&'static str>>,
}

/// Combines the constraints of a command by package, checking each range once against the releases in the knowledge
/// tables.
fn combine_constraints(constraints: &[PackageInstall], knowledge: Knowledge) -> BTreeMap<&str, PackageConstraints> {
    let mut ranges: BTreeMap<&str, BTreeSet<&VersionRange>> = BTreeMap::new();
    let mut found: BTreeMap<&str, PackageConstraints> = BTreeMap::new();
    for bound in constraints {
        let own = found.entry(&bound.requirement.name).or_insert(PackageConstraints { decided: None, admitted: None });
        match &bound.requirement.version {
            PackageVersion::Exact(text) => {
                own.decided.get_or_insert_with(|| RequestedVersion::Exact(text.without_local()));
            }
            PackageVersion::Unresolved(_) => {
                own.decided.get_or_insert(RequestedVersion::Unknown);
            }
            PackageVersion::Range(range) if range.is_any() => {}
            PackageVersion::Range(range) => drop(ranges.entry(&bound.requirement.name).or_default().insert(range)),
        }
    }
    for (name, ranges) in ranges {
        let mut admitted: Vec<&'static str> = knowledge.known_releases(name).collect();
        for range in ranges {
            admitted.retain(|version| range.contains_text(version) == Some(true));
        }
        if let Some(own) = found.get_mut(name) {
            own.admitted = Some(admitted);
        }
    }
    found
}

/// Returns the version that an install requests: for a range, its newest release in the knowledge tables.
fn requested_version(
    install: &PackageInstall,
    bounds: Option<&PackageConstraints>,
    knowledge: Knowledge,
) -> RequestedVersion {
    let range = match &install.requirement.version {
        PackageVersion::Exact(text) => return RequestedVersion::Exact(text.without_local()),
        PackageVersion::Unresolved(_) => return RequestedVersion::Unknown,
        PackageVersion::Range(range) => Some(range).filter(|range| !range.is_any()),
    };
    if let Some(decided) = bounds.and_then(|bounds| bounds.decided.clone()) {
        return decided;
    }
    let admitted = bounds.and_then(|bounds| bounds.admitted.as_ref());
    let (None, None) = (range, admitted) else {
        let all: Vec<&str> =
            admitted.cloned().unwrap_or_else(|| knowledge.known_releases(&install.requirement.name).collect());
        let within = |version: &&str| range.is_none_or(|range| range.contains_text(version) == Some(true));
        let newest = all.into_iter().filter(within);
        let newest = newest.max_by(|one, other| compare_pep440_versions(one, other).unwrap_or(Ordering::Equal));
        return newest.map_or(RequestedVersion::Unknown, |version| RequestedVersion::Exact(version.into()));
    };
    RequestedVersion::Newest
}

/// Whether a dependency row applies to a version; for an unknown version, only if it applies to all versions with the
/// extra.
fn is_row_applicable(row: &RequiresDistRow, requested: &RequestedVersion, knowledge: Knowledge) -> bool {
    match requested {
        RequestedVersion::Exact(version) => version.is_between(row.from, row.before),
        RequestedVersion::Newest => row.before.is_none(),
        RequestedVersion::Unknown => {
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
    use crate::dockerfile::{MappedText, VariableLookup};
    use crate::install::{CommandContext, MarkerEnvironment, TargetMachine, read_installs_in_context};
    use crate::shell::script_commands;

    /// Returns the dependencies of a command whose names imply a CUDA release.
    fn cuda_dependency_names(command: &str) -> Vec<String> {
        let commands = script_commands(&MappedText::contiguous(command, 0));
        let lookup = |_: &str| VariableLookup::Unset;
        let open = |_: &str, _: &str| Err(Cause::NotCopied);
        let environment = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let command = commands.first().expect("a command");
        let found = find_gpu_dependencies(
            &read_installs_in_context(command, around),
            &Observations::default(),
            Knowledge::built_in(),
        );
        let mut names: Vec<String> = found
            .into_iter()
            .filter(|one| {
                one.requirement.name.starts_with("jax") || one.requirement.name.starts_with("nvidia-cuda-runtime")
            })
            .map(|one| match one.requirement.version {
                PackageVersion::Exact(version) => format!("{}=={version}", one.requirement.name),
                PackageVersion::Range(range) => format!("{}{range}", one.requirement.name),
                PackageVersion::Unresolved(_) => one.requirement.name.to_string(),
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_version_decides_which_cuda_is_a_dependency() {
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
            // The extra came with 2.14; what a version behind a variable brings cannot be told.
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
            // Older than every release that the tables have: which it is cannot be told.
            ("jax[cuda]<0.4.10", &["jax-cuda12-plugin"]),
            ("jax[cuda]==$NOBODY", &["jax-cuda12-plugin"]),
            ("jax[cuda]", &["jax-cuda12-plugin>=0.4.30"]),
            ("jax[cuda12]~=0.4.30", &["jax-cuda12-plugin~=0.4.30"]),
            ("jax[cuda12]==0.9.0.1", &["jax-cuda12-plugin==0.9.0.1"]),
            // Neither had the extra: pip says so and goes on.
            ("jax[cuda12]==0.4.20", &[]),
            ("jax[cuda11_pip]==0.4.30", &[]),
            ("jax[cuda11_pip]==0.4.20", &["jaxlib==0.4.20+cuda11.cudnn86"]),
            ("jax[cuda12_pip]==0.8.0", &[]),
            ("jax==0.4.20", &[]),
        ] {
            assert_eq!(cuda_dependency_names(&format!("pip install '{requirement}'")), expected, "{requirement}");
        }
    }

    #[test]
    fn an_unknown_version_has_the_dependencies_of_all_versions() {
        let knowledge = Knowledge::built_in();
        let extras = |extra: &str| vec![PackageName::python(extra)];
        let dependency_count = |distribution: &str, extra: &str| {
            let extras = extras(extra);
            knowledge
                .dependencies_with_extras(distribution, &extras)
                .filter(|row| is_row_applicable(row, &RequestedVersion::Unknown, knowledge))
                .count()
        };
        assert_eq!(dependency_count("tensorflow", "and-cuda"), 0);
        assert_eq!(dependency_count("jax", "cuda"), 0);
        assert_eq!(dependency_count("jax", "cuda12"), 1);
        assert_eq!(dependency_count("jax", "nothing"), 0);
    }
}
