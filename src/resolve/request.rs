//! The requirements that a command passes to an installer, and the result.

use std::collections::BTreeMap;

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};

/// A requirement on a distribution whose marker holds (PEP 508).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencySpecifier {
    /// The name of the distribution.
    pub name: PackageName,
    /// The requested extras, sorted.
    pub extras: Vec<PackageName>,
    /// The admitted versions.
    pub range: VersionRange,
}

impl DependencySpecifier {
    /// Creates a requirement without extras.
    pub fn new(name: PackageName, range: impl Into<VersionRange>) -> Self {
        Self { name, extras: Vec::new(), range: range.into() }
    }
}

/// The program whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallerPolicy {
    /// pip.
    Pip,
    /// uv.
    Uv,
}

/// Which installed distributions a command replaces by newer releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpgradePolicy {
    /// None that satisfies the requirements.
    #[default]
    Never,
    /// Those that the command names (`pip install --upgrade`).
    Named,
    /// All, also dependencies (`--upgrade-strategy eager`, `uv pip install --upgrade`).
    All,
}

/// The requirements and options that a command passes to an installer.
#[derive(Clone, Debug, Default)]
pub struct InstallRequest {
    /// The requirements, in the order of the command.
    pub requirements: Vec<DependencySpecifier>,
    /// Limits on distributions that are installed for another reason (`--constraint`).
    pub constraints: Vec<DependencySpecifier>,
    /// Which installed distributions are replaced.
    pub upgrade: UpgradePolicy,
    /// Whether dependencies are not installed (`--no-deps`).
    pub no_deps: bool,
    /// Whether pre-releases are allowed (`--pre`).
    pub prereleases: bool,
    /// The installed distributions.
    pub installed: BTreeMap<PackageName, ExactVersion>,
}

/// What an installer selects for one distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The installed version stays.
    Installed(ExactVersion),
    /// This version is installed.
    Release(ExactVersion),
    /// The version is unknown.
    Unknown(Cause),
}

/// Requirements on one distribution that no release satisfies together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The distribution.
    pub name: PackageName,
    /// Each requirement, with the selected package that has it; `None` for the command.
    pub requirements: Vec<(Option<PackageName>, VersionRange)>,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The selections, by distribution.
    Selected(BTreeMap<PackageName, Selection>),
    /// No selection satisfies all requirements: the command fails. The conflict is the first one that pip finds.
    Impossible(Option<Conflict>),
    /// Unknown.
    Unknown(Cause),
}

impl Resolution {
    /// Returns the selection of a distribution; `None` if there is none.
    pub fn selection(&self, name: &PackageName) -> Option<&Selection> {
        match self {
            Self::Selected(selections) => selections.get(name),
            Self::Impossible(_) | Self::Unknown(_) => None,
        }
    }
}
