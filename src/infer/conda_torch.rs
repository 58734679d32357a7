//! torch as installed by conda: other packages of the environment select the build; and torch from both conda and
//! pip.

use crate::cuda::CudaVersion;
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::torch_install::{TorchBuilder, TorchInstall};
use crate::infer::torch_release::{TorchContext, is_build_tag};
use crate::install::{public_version, range_contains};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Observations, ObservedPackage, PackageManager, PackageVersion};

/// Returns the torch that a conda command installs.
pub(super) fn torch_from_conda<'a>(
    package: &'a ObservedPackage,
    seen: &Observations,
    knowledge: Knowledge,
) -> TorchInstall<'a> {
    if let Some(why) = &package.conditional {
        return TorchInstall::unknown(package, why.clone());
    }
    let version = match &package.version {
        PackageVersion::Exact(version) => Ok(complete_version(public_version(version), knowledge)),
        PackageVersion::Unresolved(why) => Err(why.clone()),
        PackageVersion::Range(_) => Err(Cause::CondaByDate { package: package.name.clone() }),
    };
    let row_of = |other: &ObservedPackage| knowledge.conda_variant(&other.name);
    // What chooses the build of a command with a torch of its own may be in another environment.
    let has_own = |command: u32| {
        let of_conda = |other: &&ObservedPackage| other.manager == PackageManager::Conda && other.command == command;
        seen.packages.iter().filter(of_conda).any(|other| knowledge.has_variants(&other.name))
    };
    let choosers = |cpu: Option<bool>| {
        let all = seen.packages.iter().rev().filter(|other| other.manager == PackageManager::Conda);
        all.filter(move |other| row_of(other).is_some_and(|row| cpu.is_none_or(|cpu| row.cpu == cpu)))
    };
    let in_command = |other: &&ObservedPackage| other.command == package.command;
    let is_chosen = choosers(None).any(|other| in_command(&other));
    let counts = |other: &&ObservedPackage| if is_chosen { in_command(other) } else { !has_own(other.command) };
    let beside = |cpu: bool| choosers(Some(cpu)).find(counts);
    let local = match &package.version {
        PackageVersion::Exact(version) => version.split_once('+').map(|(_, local)| local.to_owned()),
        _ => None,
    };
    let named = package.variant.clone().or(local.filter(|local| is_build_tag(local)));
    let variant = match (&named, beside(true), beside(false).map(|cuda| &cuda.version)) {
        (Some(variant), _, _) => Ok(Some(variant.clone())),
        (None, Some(_), _) => Ok(Some("cpu".to_owned())),
        (None, None, Some(PackageVersion::Exact(cuda))) => {
            let mut parts = cuda.split('.');
            Ok(Some(format!("cu{}{}", parts.next().unwrap_or(""), parts.next().unwrap_or("0"))))
        }
        _ => Err(Cause::CondaByChannel { package: package.name.clone() }),
    };
    let maker = match (TorchBuilder::of_package(package), beside(false).and_then(row_of).and_then(|row| row.channel)) {
        (TorchBuilder::Unknown, Some(channel)) => TorchBuilder::Channel(channel),
        (maker, _) => maker,
    };
    let (candidates, closed) = (Vec::new(), false);
    TorchInstall { package, version, variant, newest: false, row: None, told: None, candidates, closed, maker }
}

/// Makes a conda CPU build unknown if another command of the image installs a CUDA build.
pub(super) fn reconcile_with_cuda_builds<'a>(
    brought: TorchInstall<'a>,
    seen: &'a Observations,
    knowledge: Knowledge,
) -> TorchInstall<'a> {
    let is_cpu = |variant: &str| variant_cuda(variant).is_none();
    let own = brought.package;
    if own.manager != PackageManager::Conda || !matches!(&brought.variant, Ok(Some(variant)) if is_cpu(variant)) {
        return brought;
    }
    let is_for_gpus = |other: &ObservedPackage| {
        if other.manager == PackageManager::Conda {
            return matches!(torch_from_conda(other, seen, knowledge).variant, Ok(Some(variant)) if !is_cpu(&variant));
        }
        let local = match &other.version {
            PackageVersion::Exact(version) => version.split_once('+').map(|(_, local)| local),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
        };
        other.variant.as_deref().or(local).is_some_and(|variant| !is_cpu(variant))
    };
    let is_other = |one: &&ObservedPackage| one.command != own.command && knowledge.has_variants(&one.name);
    if !seen.packages.iter().filter(is_other).any(is_for_gpus) {
        return brought;
    }
    let why = Cause::CpuAndCudaBuilds { package: own.name.clone() };
    TorchInstall { variant: Err(why.clone()), ..TorchInstall::unknown(own, why) }
}

/// Returns which of two torch installs, one of pip and one of conda, Python imports.
///
/// Of the same version they are the same files. Else the order of the commands and the search path of Python decide,
/// which no list of packages tells; a CUDA runtime that somebody states is that of one of them at the most.
pub(super) fn select_imported_torch<'a>(
    pip: TorchInstall<'a>,
    conda: TorchInstall<'a>,
    seen: &Observations,
    day: TorchContext<'_>,
) -> TorchInstall<'a> {
    let (Ok(one), Ok(other)) = (&pip.version, &conda.version) else {
        let why = pip.version.clone().err().or(conda.version.clone().err());
        return why.map_or(conda.clone(), |why| TorchInstall::unknown(pip.package, why));
    };
    if one == other {
        let maker = conda.maker;
        return if matches!(conda.variant, Ok(Some(_))) { conda } else { TorchInstall { maker, ..pip } };
    }
    if let Some((cuda, fact)) = seen.cuda_runtime {
        let is = |brought: &TorchInstall<'_>| effective_cuda(brought, day).map(|own| own.release() == cuda.release());
        let told = Some(fact);
        match (is(&pip), is(&conda)) {
            (Some(true), Some(false)) => return TorchInstall { told, ..pip },
            (Some(false), Some(true)) => return TorchInstall { told, ..conda },
            _ => {}
        }
    }
    let why =
        Cause::PipAndConda { package: pip.package.name.clone(), pip_build: one.clone(), conda_build: other.clone() };
    let unknown = TorchInstall::unknown(pip.package, why.clone());
    // What both have in common holds whichever it is.
    let build = effective_build(&pip, day).filter(|build| effective_build(&conda, day) == Some(build));
    let listed = |version: &str| {
        day.knowledge.torch_release(version).filter(|row| build.is_some_and(|build| row.variants.contains(&build)))
    };
    match (build, listed(one), listed(other)) {
        (Some(build), Some(one), Some(other)) => {
            // Where the build of conda has no other PTX than the wheel, both end alike.
            let of_conda = match conda.maker {
                TorchBuilder::Channel(channel) => day.knowledge.conda_build(channel, other.version, build),
                _ => None,
            };
            let wheel = day.knowledge.torch_build(other.version, build, day.arch);
            let alike = of_conda.zip(wheel).is_some_and(|(conda, wheel)| conda.ptx == wheel.ptx);
            let maker = if alike { TorchBuilder::Wheel } else { TorchBuilder::Unknown };
            TorchInstall { variant: Ok(Some(build.to_owned())), candidates: vec![one, other], maker, ..unknown }
        }
        _ => TorchInstall { variant: Err(why), ..unknown },
    }
}

/// Returns the build of a torch, or the default build of its version; `None` if unknown.
fn effective_build<'a>(brought: &'a TorchInstall<'_>, day: TorchContext<'_>) -> Option<&'a str> {
    let version = brought.version.as_ref().ok()?;
    let default = || {
        let row = day.knowledge.torch_release(version)?;
        row.default_variant.iter().find(|value| value.arch == day.arch).map(|value| value.value)
    };
    brought.variant.as_ref().ok()?.as_deref().or_else(default)
}

/// Returns the CUDA version of a torch build; `None` if unknown or without CUDA.
fn effective_cuda(brought: &TorchInstall<'_>, day: TorchContext<'_>) -> Option<CudaVersion> {
    variant_cuda(effective_build(brought, day)?)
}

/// Completes a version such as `2.1` to its newest patch release.
fn complete_version(version: &str, knowledge: Knowledge) -> String {
    let releases = || knowledge.served_torch_releases();
    if version.matches('.').count() > 1 {
        return version.to_owned();
    }
    let range = format!("=={version}.*");
    releases()
        .filter(|row| range_contains(&range, row.version) == Some(true))
        .last()
        .map_or(version, |row| row.version)
        .to_owned()
}
