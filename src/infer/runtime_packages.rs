//! A CUDA runtime that a package of its own brings: without any framework, it is what the image runs on.

use crate::cuda::CudaVersion;
use crate::fact::CodeWording;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::framework::variant_cuda;
use crate::infer::unknown;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// What a package says of its runtime.
type Runtime = (Result<CudaVersion, Why>, Option<&'static RowInfo>);

/// The runtime that was installed last, as a component under the package's name; else what else is there for GPUs alone.
pub(super) fn component(
    facts: &mut Facts,
    seen: &Observations,
    codes: CodeWording,
    knowledge: Knowledge,
) -> Option<Component> {
    let last = |of: fn(&PackageSeen, Knowledge) -> Option<Runtime>| {
        seen.packages.iter().rev().find_map(|package| Some((package, of(package, knowledge)?)))
    };
    let of_cuda = last(runtime);
    // The libraries of CUDA are there for whatever calls them.
    let anonymous = of_cuda.is_some();
    let (package, runtime) = of_cuda.or_else(|| last(for_gpus))?;
    Some(Component { anonymous, ..under_its_name(facts, package, runtime, codes) })
}

/// Packages with GPU code whose name says their CUDA, one of each; those are no parts of CUDA that others come with.
pub(super) fn named(
    facts: &mut Facts,
    seen: &Observations,
    codes: CodeWording,
    knowledge: Knowledge,
) -> Vec<Component> {
    if seen.depth == Depth::Layers || seen.complete.code {
        // What has code was found by its files.
        return Vec::new();
    }
    let mut told = Vec::new();
    for package in &seen.packages {
        let Some((cuda, row)) = by_name(package, knowledge) else { continue };
        // A name may be that of a part of CUDA; a version that says its CUDA is that of a build.
        let part = || knowledge.carries_libraries(&package.name) && of_version(package, knowledge).is_none();
        if knowledge.framework(&package.name).is_some() || part() {
            continue;
        }
        if !told.iter().any(|(_, other, _)| *other == cuda) {
            told.push((package, cuda, row));
        }
    }
    told.into_iter().map(|(package, cuda, row)| under_its_name(facts, package, (Ok(cuda), Some(row)), codes)).collect()
}

fn by_name(package: &PackageSeen, knowledge: Knowledge) -> Option<(CudaVersion, &'static RowInfo)> {
    let named = knowledge.named_cuda(&package.name).filter(|_| package.manager == Manager::Pip);
    named.or_else(|| of_version(package, knowledge))
}

/// The CUDA that the version of a wheel says.
fn of_version(package: &PackageSeen, knowledge: Knowledge) -> Option<(CudaVersion, &'static RowInfo)> {
    match &package.version {
        PackageVersion::Exact(version) => knowledge.cuda_of_version(&package.name, version),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    }
    .filter(|_| package.manager == Manager::Pip)
}

/// What a package that is of use on GPUs alone says of its CUDA.
fn for_gpus(package: &PackageSeen, knowledge: Knowledge) -> Option<Runtime> {
    if let Some((cuda, row)) = by_name(package, knowledge) {
        return Some((Ok(cuda), Some(row)));
    }
    // Its build string says it.
    if let Some(cuda) = package.variant.as_deref().filter(|_| package.manager == Manager::Conda).and_then(variant_cuda)
    {
        return Some((Ok(cuda), None));
    }
    let row = knowledge.gpu_package(&package.name).filter(|_| package.manager == Manager::Pip)?;
    let why = Why {
        reason: format!("the CUDA version that {} calls is unknown", package.name),
        supply: "describe the image with `cuda_runtime` and [[gpu_code]]".to_owned(),
    };
    Some((Err(why), Some(row)))
}

fn under_its_name(facts: &mut Facts, package: &PackageSeen, (cuda, row): Runtime, codes: CodeWording) -> Component {
    let name = package.name.as_str();
    let evidence = |row: Option<&'static RowInfo>| {
        let by = if row.is_some() { Derivation::Row } else { Derivation::Resolution };
        Evidence::Derived { by, from: vec![package.fact], row }
    };
    // Of what may not be there no row says anything.
    let row = row.filter(|_| package.conditional.is_none());
    let cuda = match (&package.conditional, cuda) {
        (Some(why), _) => State::Unknown(why.clone()),
        (None, Err(why)) => State::Unknown(why),
        (None, Ok(cuda)) => State::Known(cuda),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, evidence(row));
    let why = Why {
        reason: format!("the GPU code that runs on {name} was not inspected"),
        supply: "list it under [[gpu_code]] in an image description".to_owned(),
    };
    let code = unknown(facts, FactKey::ComponentCode, Some(name), why, evidence(None));
    Component::core(name, cuda, code, codes)
}

fn runtime(package: &PackageSeen, knowledge: Knowledge) -> Option<Runtime> {
    let untold = |by: &str| Why {
        reason: format!("{by} decides the CUDA version of {}", package.name),
        supply: "install a package for one CUDA release, or describe the image with `cuda_runtime`".to_owned(),
    };
    match (package.manager, &package.version) {
        (Manager::Apt, version) => {
            let (row, cuda) = knowledge.runtime_package(&package.name)?;
            // Where the name says no release, the version is that of CUDA.
            let own = match version {
                PackageVersion::Exact(version) | PackageVersion::Open(version) => release(version),
                PackageVersion::Unresolved(_) => None,
            };
            Some((cuda.or(own).ok_or_else(|| untold("the repository of the distribution")), Some(&row.info)))
        }
        (Manager::Pip, PackageVersion::Exact(version)) => {
            let wheel = knowledge.library_wheel(&package.name).filter(|row| row.runtime)?;
            let cuda = knowledge.library_wheel_cuda(&package.name, version);
            Some((cuda.map(|(cuda, _)| cuda).ok_or_else(|| untold("the version")), Some(&wheel.info)))
        }
        (Manager::Pip, _) => {
            let wheel = knowledge.library_wheel(&package.name).filter(|row| row.runtime)?;
            Some((wheel.cuda.ok_or_else(|| untold("the build date")), Some(&wheel.info)))
        }
        (Manager::Conda, version) => {
            let chooses = knowledge.conda_variant(&package.name).filter(|row| !row.cpu).map(|row| &row.info);
            let row = chooses.or_else(|| knowledge.runtime_package(&package.name).map(|(row, _)| &row.info))?;
            let cuda = match version {
                PackageVersion::Exact(version) => release(version),
                _ => None,
            };
            Some((cuda.ok_or_else(|| untold("the date of the conda channels")), Some(row)))
        }
    }
}

/// `11.3` of `11.3.1`.
fn release(version: &str) -> Option<CudaVersion> {
    let parts: Vec<&str> = version.split('.').take(2).collect();
    parts.join(".").parse().ok()
}
