//! Which Python packages are installed for: it bounds which releases there are to choose from.

use crate::fact::BaseSeen;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::torch::wanted;
use crate::knowledge::Knowledge;

/// The Python of a package's command, as `3.11`.
pub(crate) fn python(seen: &Observations, package: &PackageSeen, knowledge: Knowledge) -> Result<String, Why> {
    let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    if let Some(version) = &package.python {
        return Ok(minor(version));
    }
    let of_conda = seen.packages.iter().rfind(|package| package.manager == Manager::Conda && package.name == "python");
    if let Some(PackageVersion::Exact(version)) = of_conda.map(|package| &package.version)
        && version.contains('.')
    {
        return Ok(minor(version));
    }
    let of_base = of_base(seen, knowledge);
    of_base.filter(|_| !has_another(seen, of_base)).map(str::to_owned).ok_or_else(|| Why {
        reason: format!(
            "the newest release of {} depends on the Python version, which is unknown",
            wanted(package, knowledge)
        ),
        supply: format!("pin it, such as {}==<version>", wanted(package, knowledge)),
    })
}

/// The newest Python that a base image may bring whose tag names none, where nothing else brings one.
pub(crate) fn newest_of_base(seen: &Observations, package: &PackageSeen, knowledge: Knowledge) -> Option<&'static str> {
    let BaseSeen::Image(reference, _) = &seen.base else { return None };
    let alone = package.python.is_none() && of_base(seen, knowledge).is_none() && !has_another(seen, None);
    alone.then(|| knowledge.newest_python_of(reference)).flatten()
}

/// Whether something brings a Python that is not the base's.
fn has_another(seen: &Observations, of_base: Option<&str>) -> bool {
    let of_conda = |package: &PackageSeen| package.manager == Manager::Conda && package.name == "python";
    let of_system = |package: &PackageSeen| {
        let version = package.name.strip_prefix("python").filter(|rest| rest.starts_with("3."));
        let version = version.map(|rest| rest.split('-').next().unwrap_or(rest));
        package.manager == Manager::Apt && version.is_some_and(|version| Some(version) != of_base)
    };
    seen.other_python || seen.packages.iter().any(|package| of_conda(package) || of_system(package))
}

/// The Python that the base image brings, or its distribution installs first.
fn of_base(seen: &Observations, knowledge: Knowledge) -> Option<&'static str> {
    let BaseSeen::Image(reference, _) = &seen.base else { return None };
    knowledge.python_of_image(reference).map(|row| row.python)
}
