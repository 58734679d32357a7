//! Packages as installers know them: names, versions and their ranges, package managers and indexes.

mod exact_version;
mod name;
mod python_location;
mod version_range;

use serde::{Deserialize, Serialize};

use crate::model::cause::Cause;
use crate::model::fact::FactId;
use crate::model::named_values::named_values;

pub use exact_version::ExactVersion;
pub(crate) use exact_version::is_plain_version;
pub use name::PackageName;
pub use python_location::PythonLocation;
pub use version_range::VersionRange;

named_values! {
    /// The package manager that installs a package.
    PackageManager {
        /// pip, or uv in pip's place.
        Pip = "pip",
        /// conda, mamba or micromamba.
        Conda = "conda",
        /// That of the distribution: apt, dpkg, dnf, yum, zypper or rpm.
        System = "apt",
    }
}

/// The version of a package as requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackageVersion {
    /// An exact version, with its local part.
    Exact(ExactVersion),
    /// Any version in a range, which may be empty: the version depends on the day of the build.
    #[serde(rename = "open")]
    Range(VersionRange),
    /// An unknown version, with the reason.
    Unresolved(Cause),
}

impl PackageVersion {
    /// Creates an exact version.
    pub fn exact(version: impl Into<ExactVersion>) -> Self {
        Self::Exact(version.into())
    }

    /// Creates a range of versions.
    pub fn range(range: impl Into<VersionRange>) -> Self {
        Self::Range(range.into())
    }

    /// Returns the range that admits every version.
    pub fn any() -> Self {
        Self::range(String::new())
    }

    /// Returns a version that a variable without a value hides.
    pub fn behind_variable() -> Self {
        Self::Unresolved(Cause::VariableWithoutValue)
    }

    /// Whether the version is an exact one.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Whether the version is a range.
    pub fn is_range(&self) -> bool {
        matches!(self, Self::Range(_))
    }

    /// Returns the range of the versions that satisfy it, whatever their builds; `None` if that is unknown.
    pub fn public_range(&self) -> Option<VersionRange> {
        match self {
            Self::Exact(version) => Some(VersionRange::exactly(&version.without_local())),
            Self::Range(range) => Some(range.clone()),
            Self::Unresolved(_) => None,
        }
    }

    /// Returns the local part of an exact version.
    pub fn local(&self) -> Option<&str> {
        match self {
            Self::Exact(version) => version.local(),
            Self::Range(_) | Self::Unresolved(_) => None,
        }
    }
}

/// The package indexes from which a command installs, where neither version nor variant determines the build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexSelection {
    /// The default index.
    #[default]
    Default,
    /// Only the index of one variant.
    Only(String),
    /// The default index and the extra indexes of these variants: the highest version wins, a local one above its
    /// base.
    #[serde(rename = "beside")]
    DefaultAndExtra(Vec<String>),
    /// Unknown indexes.
    Unknown(Cause),
}

/// A requirement on a package, as an installer reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The package manager that installs it.
    pub manager: PackageManager,
    /// Its name.
    pub name: PackageName,
    /// The requested extras.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<PackageName>,
    /// The requested version.
    pub version: PackageVersion,
    /// The indexes to choose from, if the version does not determine the build.
    #[serde(rename = "offered")]
    pub indexes: IndexSelection,
    /// Why it may be a pre-release, which the tables do not list.
    #[serde(default, rename = "early")]
    pub prerelease: Option<Cause>,
    /// Whether an installed version is replaced.
    pub upgrade: bool,
    /// Whether it is installed without its dependencies.
    #[serde(default, rename = "alone", skip_serializing_if = "std::ops::Not::not")]
    pub no_deps: bool,
    /// The first conda channel of the command.
    #[serde(default)]
    pub channel: Option<String>,
    /// The Python version that the command names.
    pub python: Option<String>,
}

impl Requirement {
    /// Creates a requirement from the default index.
    pub fn new(manager: PackageManager, name: PackageName, version: PackageVersion) -> Self {
        Self {
            manager,
            name,
            extras: Vec::new(),
            version,
            indexes: IndexSelection::Default,
            prerelease: None,
            upgrade: false,
            no_deps: false,
            channel: None,
            python: None,
        }
    }
}

/// An installed package, as a package database or an SBOM lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Distribution {
    /// The package manager that installed it.
    pub manager: PackageManager,
    /// Its name.
    pub name: PackageName,
    /// Its version; `None` if it is not listed.
    pub version: Option<ExactVersion>,
    /// The build string of conda.
    pub build: Option<String>,
}

impl Distribution {
    /// Creates a distribution from its name and its version; an empty version is unknown.
    pub fn new(manager: PackageManager, name: &str, version: &str) -> Self {
        let version = Some(version).filter(|version| !version.is_empty()).map(ExactVersion::from);
        Self { manager, name: PackageName::new(manager, name), version, build: None }
    }
}

/// A package that an input installs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedPackage {
    /// What the input requires.
    #[serde(flatten)]
    pub requirement: Requirement,
    /// The CUDA variant of the index or URL that the command uses: `cu121`, `cpu`.
    pub variant: Option<String>,
    /// Why it may not be installed at all.
    pub conditional: Option<Cause>,
    /// The requirement on the package whose release decides whether this one is installed as a dependency, and in which
    /// version; `None` if something requires it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependent: Option<Box<Requirement>>,
    /// Where it is installed, if not where the Python of the image searches.
    #[serde(
        default,
        rename = "environment",
        alias = "apart",
        serialize_with = "python_location::serialize",
        deserialize_with = "python_location::deserialize",
        skip_serializing_if = "python_location::is_not_saved"
    )]
    pub location: Option<PythonLocation>,
    /// The number of the command; the packages of one command are resolved together.
    pub command: u32,
    /// Evidence.
    pub fact: FactId,
}

impl ObservedPackage {
    /// Creates a package that is declared by something other than a command.
    pub fn new(manager: PackageManager, name: PackageName, version: PackageVersion, fact: FactId) -> Self {
        let requirement = Requirement { upgrade: true, ..Requirement::new(manager, name, version) };
        Self { requirement, variant: None, conditional: None, dependent: None, location: None, command: 0, fact }
    }

    /// Returns the folder of its environment, if that does not see the packages of the base image.
    pub fn separate_environment(&self) -> Option<&str> {
        self.location.as_ref()?.separate_environment()
    }

    /// Whether it is in the same environment as another package, or both see the packages of the base image.
    pub fn shares_environment_with(&self, other: &Self) -> bool {
        self.separate_environment() == other.separate_environment()
    }
}

/// A package that a command removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedPackage {
    /// The package manager that removes it.
    pub manager: PackageManager,
    /// Its name.
    pub name: PackageName,
    /// The number of the command.
    pub command: u32,
    /// Where it was installed, as for an installed one.
    #[serde(
        default,
        rename = "environment",
        serialize_with = "python_location::serialize",
        deserialize_with = "python_location::deserialize",
        skip_serializing_if = "python_location::is_not_saved"
    )]
    pub location: Option<PythonLocation>,
}

impl RemovedPackage {
    /// Whether it was in the environment of a package, or neither was in a separate one.
    pub fn shares_environment_with(&self, package: &ObservedPackage) -> bool {
        self.location.as_ref().and_then(PythonLocation::separate_environment) == package.separate_environment()
    }
}
