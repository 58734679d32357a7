//! CUDA runtimes that separate packages install: without a framework, they are what the image runs on.

use crate::cuda::CudaVersion;
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::{Knowledge, RowInfo};
use crate::model::cause::Cause;
use crate::model::fact::{
    Component, Derivation, Evidence, FactKey, Facts, FrameworkErrorCodes, InspectionDepth, Observations, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager, PackageVersion};

/// The CUDA runtime of a package, or why it is unknown, with the table row it comes from.
type PackageRuntime = (Result<CudaVersion, Cause>, Option<&'static RowInfo>);

/// Returns the last installed runtime as a component named after its package; else one for another GPU-only package.
pub(super) fn runtime_component(
    facts: &mut Facts,
    seen: &Observations,
    codes: FrameworkErrorCodes,
    knowledge: Knowledge,
) -> Option<Component> {
    let last = |of: fn(&ObservedPackage, Knowledge) -> Option<PackageRuntime>| {
        seen.packages.iter().rev().find_map(|package| Some((package, of(package, knowledge)?)))
    };
    let of_cuda = last(package_runtime);
    // The CUDA libraries serve any program that calls them.
    let anonymous = of_cuda.is_some();
    let (package, runtime) = of_cuda.or_else(|| last(gpu_package_runtime))?;
    Some(Component { anonymous, ..component_named_after_package(facts, package, runtime, codes) })
}

/// Returns one component per CUDA version for packages with GPU code that state it in their name, except parts of
/// CUDA.
pub(super) fn components_with_cuda_in_name(
    facts: &mut Facts,
    seen: &Observations,
    codes: FrameworkErrorCodes,
    knowledge: Knowledge,
) -> Vec<Component> {
    if seen.depth == InspectionDepth::Layers || seen.complete.code {
        // What has code was found by its files.
        return Vec::new();
    }
    let mut found = Vec::new();
    for package in &seen.packages {
        let Some((cuda, row)) = cuda_of_wheel(package, knowledge) else { continue };
        // A name may be that of a part of CUDA; a version that contains its CUDA version is that of a build.
        let part = || {
            knowledge.may_contain_libraries(&package.requirement.name)
                && cuda_of_wheel_version(package, knowledge).is_none()
        };
        if knowledge.framework(&package.requirement.name).is_some() || part() {
            continue;
        }
        if !found.iter().any(|(_, other, _)| *other == cuda) {
            found.push((package, cuda, row));
        }
    }
    found
        .into_iter()
        .map(|(package, cuda, row)| component_named_after_package(facts, package, (Ok(cuda), Some(row)), codes))
        .collect()
}

/// Returns the CUDA version in the name or version of a wheel.
fn cuda_of_wheel(package: &ObservedPackage, knowledge: Knowledge) -> Option<(CudaVersion, &'static RowInfo)> {
    let named = knowledge
        .cuda_of_name(&package.requirement.name)
        .filter(|_| package.requirement.manager == PackageManager::Pip);
    named.or_else(|| cuda_of_wheel_version(package, knowledge))
}

/// Returns the CUDA version that the version of a wheel states.
fn cuda_of_wheel_version(package: &ObservedPackage, knowledge: Knowledge) -> Option<(CudaVersion, &'static RowInfo)> {
    match &package.requirement.version {
        PackageVersion::Exact(version) => knowledge.cuda_of_version(&package.requirement.name, version.as_str()),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
    }
    .filter(|_| package.requirement.manager == PackageManager::Pip)
}

/// Returns the CUDA runtime of a package that is useful only on GPUs.
fn gpu_package_runtime(package: &ObservedPackage, knowledge: Knowledge) -> Option<PackageRuntime> {
    if let Some((cuda, row)) = cuda_of_wheel(package, knowledge) {
        return Some((Ok(cuda), Some(row)));
    }
    // Its build string contains it.
    if let Some(cuda) = package
        .variant
        .as_deref()
        .filter(|_| package.requirement.manager == PackageManager::Conda)
        .and_then(variant_cuda)
    {
        return Some((Ok(cuda), None));
    }
    let row = knowledge
        .gpu_package(&package.requirement.name)
        .filter(|_| package.requirement.manager == PackageManager::Pip)?;
    let why = Cause::CudaOfPackage { package: package.requirement.name.to_string() };
    Some((Err(why), Some(row)))
}

/// Returns a component with the name and the CUDA runtime of a package.
fn component_named_after_package(
    facts: &mut Facts,
    package: &ObservedPackage,
    (cuda, row): PackageRuntime,
    codes: FrameworkErrorCodes,
) -> Component {
    let name = package.requirement.name.as_str();
    let evidence = |row: Option<&'static RowInfo>| {
        let by = if row.is_some() { Derivation::Row } else { Derivation::Resolution };
        Evidence::Derived { by, from: vec![package.fact], row }
    };
    // No row describes packages that may be absent.
    let row = row.filter(|_| package.conditional.is_none());
    let cuda = match (&package.conditional, cuda) {
        (Some(why), _) => ValueState::Unknown(why.clone()),
        (None, Err(why)) => ValueState::Unknown(why),
        (None, Ok(cuda)) => ValueState::Known(cuda),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, evidence(row));
    let why = Cause::CodeOnRuntime { name: name.to_string() };
    let code = add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why, evidence(None));
    Component::new_core(name, cuda, code, codes)
}

/// Returns the CUDA runtime that a package installs.
fn package_runtime(package: &ObservedPackage, knowledge: Knowledge) -> Option<PackageRuntime> {
    let unknown_cuda =
        |by: &str| Cause::CudaDecidedBy { by: by.to_string(), package: package.requirement.name.to_string() };
    match (package.requirement.manager, &package.requirement.version) {
        (PackageManager::System, version) => {
            let (row, cuda) = knowledge.runtime_package(&package.requirement.name)?;
            // If the name contains no release, the version is that of CUDA.
            let own = match version {
                PackageVersion::Exact(version) => parse_cuda_release(version.as_str()),
                PackageVersion::Range(range) => parse_cuda_release(range.as_str()),
                PackageVersion::Unresolved(_) => None,
            };
            Some((cuda.or(own).ok_or_else(|| unknown_cuda("the repository of the distribution")), Some(&row.info)))
        }
        (PackageManager::Pip, PackageVersion::Exact(version)) => {
            let wheel = knowledge.library_wheel(&package.requirement.name).filter(|row| row.runtime)?;
            let cuda = knowledge.library_wheel_cuda(&package.requirement.name, version.as_str());
            Some((cuda.map(|(cuda, _)| cuda).ok_or_else(|| unknown_cuda("the version")), Some(&wheel.info)))
        }
        (PackageManager::Pip, _) => {
            let wheel = knowledge.library_wheel(&package.requirement.name).filter(|row| row.runtime)?;
            Some((wheel.cuda.ok_or_else(|| unknown_cuda("the build date")), Some(&wheel.info)))
        }
        (PackageManager::Conda, version) => {
            let chooses =
                knowledge.conda_variant(&package.requirement.name).filter(|row| !row.cpu).map(|row| &row.info);
            let row =
                chooses.or_else(|| knowledge.runtime_package(&package.requirement.name).map(|(row, _)| &row.info))?;
            let cuda = match version {
                PackageVersion::Exact(version) => parse_cuda_release(version.as_str()),
                _ => None,
            };
            Some((cuda.ok_or_else(|| unknown_cuda("the date of the conda channels")), Some(row)))
        }
    }
}

/// Parses the CUDA release of a version: `11.3` of `11.3.1`.
fn parse_cuda_release(version: &str) -> Option<CudaVersion> {
    let parts: Vec<&str> = version.split('.').take(2).collect();
    parts.join(".").parse().ok()
}
