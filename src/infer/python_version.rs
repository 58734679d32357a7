//! The Python version that packages are installed for, which limits the available releases.

use crate::infer::torch_release::required_distribution;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Observations, ObservedBase};
use crate::model::package::{ObservedPackage, PackageManager, PackageVersion};

/// Returns the Python version of a package's command, as `3.11`.
pub(crate) fn python_of_package(
    seen: &Observations,
    package: &ObservedPackage,
    knowledge: Knowledge,
) -> Result<String, Cause> {
    let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    if let Some(version) = &package.requirement.python {
        return Ok(minor(version));
    }
    let of_conda = seen
        .packages
        .iter()
        .rfind(|package| package.requirement.manager == PackageManager::Conda && package.requirement.name == "python");
    if let Some(PackageVersion::Exact(version)) = of_conda.map(|package| &package.requirement.version)
        && version.as_str().contains('.')
    {
        return Ok(minor(version.as_str()));
    }
    let of_base = base_python(seen, knowledge);
    of_base
        .filter(|_| !has_other_python(seen, of_base))
        .map(str::to_owned)
        .ok_or_else(|| Cause::ReleaseByPython { package: required_distribution(package, knowledge).to_string() })
}

/// Returns the newest Python that a base image may contain if its tag names none and nothing else installs one.
pub(crate) fn newest_base_python(
    seen: &Observations,
    package: &ObservedPackage,
    knowledge: Knowledge,
) -> Option<&'static str> {
    let ObservedBase::Image(reference, _) = &seen.base else { return None };
    let is_undetermined =
        package.requirement.python.is_none() && base_python(seen, knowledge).is_none() && !has_other_python(seen, None);
    is_undetermined.then(|| knowledge.newest_image_python(reference)).flatten()
}

/// Whether something installs a Python other than that of the base image.
fn has_other_python(seen: &Observations, of_base: Option<&str>) -> bool {
    let of_conda = |package: &ObservedPackage| {
        package.requirement.manager == PackageManager::Conda && package.requirement.name == "python"
    };
    let of_system = |package: &ObservedPackage| {
        let name = Some(&package.requirement.name).filter(|_| package.requirement.manager == PackageManager::System);
        let version = name.and_then(|name| name.strip_prefix("python")).filter(|rest| rest.starts_with("3."));
        let version = version.map(|rest| rest.split('-').next().unwrap_or(rest));
        version.is_some_and(|version| Some(version) != of_base)
    };
    seen.other_python || seen.packages.iter().any(|package| of_conda(package) || of_system(package))
}

/// Returns the Python of the base image, or the default one of its operating system.
fn base_python(seen: &Observations, knowledge: Knowledge) -> Option<&'static str> {
    let ObservedBase::Image(reference, _) = &seen.base else { return None };
    knowledge.image_python(reference).map(|row| row.python)
}
