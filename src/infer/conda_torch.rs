//! torch as conda installs it: other packages of the environment choose the build; and beside one of pip.

use crate::cuda::CudaVersion;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::framework::variant_cuda;
use crate::infer::torch::Brought;
use crate::infer::torch::Maker;
use crate::infer::torch_release::Day;
use crate::infer::torch_release::names_build;
use crate::install::admits;
use crate::install::public;
use crate::knowledge::Knowledge;

/// What a conda command brings.
pub(super) fn conda<'a>(package: &'a PackageSeen, seen: &Observations, knowledge: Knowledge) -> Brought<'a> {
    if let Some(why) = &package.conditional {
        return Brought::unknown(package, why.clone());
    }
    let version = match &package.version {
        PackageVersion::Exact(version) => Ok(whole(public(version), knowledge)),
        PackageVersion::Unresolved(why) => Err(why.clone()),
        PackageVersion::Open(_) => Err(Why {
            reason: format!("conda installs {} without a version: the build date decides", package.name),
            supply: format!("pin it, such as {}=<version>", package.name),
        }),
    };
    let row_of = |other: &PackageSeen| knowledge.conda_variant(&other.name);
    // What chooses the build of a command with a torch of its own may be in another environment.
    let has_own = |command: u32| {
        let of_conda = |other: &&PackageSeen| other.manager == Manager::Conda && other.command == command;
        seen.packages.iter().filter(of_conda).any(|other| knowledge.is_built_framework(&other.name))
    };
    let choosers = |cpu: Option<bool>| {
        let all = seen.packages.iter().rev().filter(|other| other.manager == Manager::Conda);
        all.filter(move |other| row_of(other).is_some_and(|row| cpu.is_none_or(|cpu| row.cpu == cpu)))
    };
    let in_command = |other: &&PackageSeen| other.command == package.command;
    let is_chosen = choosers(None).any(|other| in_command(&other));
    let counts = |other: &&PackageSeen| if is_chosen { in_command(other) } else { !has_own(other.command) };
    let beside = |cpu: bool| choosers(Some(cpu)).find(counts);
    let local = match &package.version {
        PackageVersion::Exact(version) => version.split_once('+').map(|(_, local)| local.to_owned()),
        _ => None,
    };
    let named = package.variant.clone().or(local.filter(|local| names_build(local)));
    let variant = match (&named, beside(true), beside(false).map(|cuda| &cuda.version)) {
        (Some(variant), _, _) => Ok(Some(variant.clone())),
        (None, Some(_), _) => Ok(Some("cpu".to_owned())),
        (None, None, Some(PackageVersion::Exact(cuda))) => {
            let mut parts = cuda.split('.');
            Ok(Some(format!("cu{}{}", parts.next().unwrap_or(""), parts.next().unwrap_or("0"))))
        }
        _ => Err(Why {
            reason: format!("conda selects the build of {} by its channels", package.name),
            supply: "select it with pytorch-cuda, cuda-version or a build string".to_owned(),
        }),
    };
    let maker = match (Maker::of(package), beside(false).and_then(row_of).and_then(|row| row.channel)) {
        (Maker::Unknown, Some(channel)) => Maker::Channel(channel),
        (maker, _) => maker,
    };
    let (candidates, closed) = (Vec::new(), false);
    Brought { package, version, variant, newest: false, row: None, told: None, candidates, closed, maker }
}

/// A CPU build of conda in an image in which another command brings a build for CUDA: which of them runs is unknown.
pub(super) fn or_for_gpus<'a>(brought: Brought<'a>, seen: &'a Observations, knowledge: Knowledge) -> Brought<'a> {
    let is_cpu = |variant: &str| variant_cuda(variant).is_none();
    let own = brought.package;
    if own.manager != Manager::Conda || !matches!(&brought.variant, Ok(Some(variant)) if is_cpu(variant)) {
        return brought;
    }
    let is_for_gpus = |other: &PackageSeen| {
        if other.manager == Manager::Conda {
            return matches!(conda(other, seen, knowledge).variant, Ok(Some(variant)) if !is_cpu(&variant));
        }
        let local = match &other.version {
            PackageVersion::Exact(version) => version.split_once('+').map(|(_, local)| local),
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
        };
        other.variant.as_deref().or(local).is_some_and(|variant| !is_cpu(variant))
    };
    let is_other = |one: &&PackageSeen| one.command != own.command && knowledge.is_built_framework(&one.name);
    if !seen.packages.iter().filter(is_other).any(is_for_gpus) {
        return brought;
    }
    let why = Why {
        reason: format!(
            "one command installs {0} for the CPU and another for CUDA, and the one that the program imports is unknown",
            own.name
        ),
        supply: "list only the one that the program imports".to_owned(),
    };
    Brought { variant: Err(why.clone()), ..Brought::unknown(own, why) }
}

/// Of one of pip and one of conda in one image, that which Python imports.
///
/// Of the same version they are the same files. Else the order of the commands and the search path of Python decide,
/// which no list of packages tells; a CUDA runtime that somebody states is that of one of them at the most.
pub(super) fn imported<'a>(pip: Brought<'a>, conda: Brought<'a>, seen: &Observations, day: Day<'_>) -> Brought<'a> {
    let (Ok(one), Ok(other)) = (&pip.version, &conda.version) else {
        let why = pip.version.clone().err().or(conda.version.clone().err());
        return why.map_or(conda.clone(), |why| Brought::unknown(pip.package, why));
    };
    if one == other {
        let maker = conda.maker;
        return if matches!(conda.variant, Ok(Some(_))) { conda } else { Brought { maker, ..pip } };
    }
    if let Some((cuda, fact)) = seen.cuda_runtime {
        let is = |brought: &Brought<'_>| cuda_of(brought, day).map(|own| own.release() == cuda.release());
        let told = Some(fact);
        match (is(&pip), is(&conda)) {
            (Some(true), Some(false)) => return Brought { told, ..pip },
            (Some(false), Some(true)) => return Brought { told, ..conda },
            _ => {}
        }
    }
    let why = Why {
        reason: format!(
            "pip installs {0} {one} and conda installs {0} {other}, and the one that Python imports is unknown",
            pip.package.name
        ),
        supply: "list only the one that the program imports".to_owned(),
    };
    let unknown = Brought::unknown(pip.package, why.clone());
    // What both have in common holds whichever it is.
    let build = build_of(&pip, day).filter(|build| build_of(&conda, day) == Some(build));
    let listed = |version: &str| {
        day.knowledge.torch(version).filter(|row| build.is_some_and(|build| row.variants.contains(&build)))
    };
    match (build, listed(one), listed(other)) {
        (Some(build), Some(one), Some(other)) => {
            // Where the build of conda has no other PTX than the wheel, both end alike.
            let of_conda = match conda.maker {
                Maker::Channel(channel) => day.knowledge.conda_build(channel, other.version, build),
                _ => None,
            };
            let wheel = day.knowledge.torch_build(other.version, build, day.arch);
            let alike = of_conda.zip(wheel).is_some_and(|(conda, wheel)| conda.ptx == wheel.ptx);
            let maker = if alike { Maker::Wheel } else { Maker::Unknown };
            Brought { variant: Ok(Some(build.to_owned())), candidates: vec![one, other], maker, ..unknown }
        }
        _ => Brought { variant: Err(why), ..unknown },
    }
}

/// The build of a torch that is told apart; none where it cannot be.
fn build_of<'a>(brought: &'a Brought<'_>, day: Day<'_>) -> Option<&'a str> {
    let version = brought.version.as_ref().ok()?;
    let default = || {
        let row = day.knowledge.torch(version)?;
        row.default_variant.iter().find(|value| value.arch == day.arch).map(|value| value.value)
    };
    brought.variant.as_ref().ok()?.as_deref().or_else(default)
}

/// The CUDA of a build that is told apart; none where it cannot be, or is none.
fn cuda_of(brought: &Brought<'_>, day: Day<'_>) -> Option<CudaVersion> {
    variant_cuda(build_of(brought, day)?)
}

/// `2.1` stands for the newest 2.1.x.
fn whole(version: &str, knowledge: Knowledge) -> String {
    let releases = || knowledge.torch_served();
    if version.matches('.').count() > 1 {
        return version.to_owned();
    }
    let range = format!("=={version}.*");
    releases()
        .filter(|row| admits(&range, row.version) == Some(true))
        .last()
        .map_or(version, |row| row.version)
        .to_owned()
}
