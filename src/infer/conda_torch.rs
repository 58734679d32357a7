//! torch as conda installs it: other packages of the environment choose the build.

use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::torch::Brought;
use crate::install::admits;
use crate::knowledge::Knowledge;

/// What a conda command brings.
pub(super) fn conda<'a>(package: &'a PackageSeen, seen: &Observations, knowledge: Knowledge) -> Brought<'a> {
    if let Some(why) = &package.conditional {
        return Brought::unknown(package, why.clone());
    }
    let version = match &package.version {
        PackageVersion::Exact(version) => Ok(whole(version, knowledge)),
        PackageVersion::Unresolved(why) => Err(why.clone()),
        PackageVersion::Open(_) => Err(Why {
            reason: format!("{} is installed by conda without a version: the channels of the day decide", package.name),
            supply: format!("pin it, such as {}=<version>", package.name),
        }),
    };
    let beside = |cpu: bool| {
        let mut all = seen.packages.iter().rev().filter(|other| other.manager == Manager::Conda);
        all.find(|other| knowledge.conda_variant(&other.name).is_some_and(|row| row.cpu == cpu))
    };
    let variant = match (&package.variant, beside(true), beside(false).map(|cuda| &cuda.version)) {
        (Some(variant), _, _) => Ok(Some(variant.clone())),
        (None, Some(_), _) => Ok(Some("cpu".to_owned())),
        (None, None, Some(PackageVersion::Exact(cuda))) => {
            let mut parts = cuda.split('.');
            Ok(Some(format!("cu{}{}", parts.next().unwrap_or(""), parts.next().unwrap_or("0"))))
        }
        _ => Err(Why {
            reason: format!("conda chooses the build of {} by its channels", package.name),
            supply: "name it by pytorch-cuda, cuda-version or a build string".to_owned(),
        }),
    };
    Brought { package, version, variant, newest: false, row: None, candidates: Vec::new() }
}

/// `2.1` stands for the newest 2.1.x.
fn whole(version: &str, knowledge: Knowledge) -> String {
    let releases = || knowledge.torch_releases().iter();
    if version.matches('.').count() > 1 {
        return version.to_owned();
    }
    let range = format!("=={version}.*");
    releases().rfind(|row| admits(&range, row.version) == Some(true)).map_or(version, |row| row.version).to_owned()
}
