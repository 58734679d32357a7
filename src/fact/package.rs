//! Packages as the readers saw them: who installed them, in which version, and which builds there were.

use serde::Deserialize;
use serde::Serialize;

use crate::fact::FactId;
use crate::fact::Why;

/// Who installed a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    /// pip and those that speak its language.
    Pip,
    /// conda and mamba.
    Conda,
    /// apt, dnf, yum.
    Apt,
}

impl Manager {
    /// The word in descriptions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Conda => "conda",
            Self::Apt => "apt",
        }
    }
}

/// The version of a package as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackageVersion {
    /// This one, local part included.
    Exact(String),
    /// A range, or none at all: what a build gets depends on its day.
    Open(String),
    /// Behind a variable without value.
    Unresolved(Why),
}

/// Which builds of a package a command chose from, where neither version nor variant says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offered {
    /// Those of the default index.
    #[default]
    Default,
    /// Those of one variant's index alone.
    Only(String),
    /// Those of the default index and of these variants' indexes: the best version wins, a local one above its base.
    Beside(Vec<String>),
    /// That cannot be told.
    Unknown(Why),
}

/// A package.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PackageSeen {
    /// Who installed it.
    pub manager: Manager,
    /// Normalised name.
    pub name: String,
    /// Version.
    pub version: PackageVersion,
    /// CUDA variant that the command chose by its index or URL: `cu121`, `cpu`.
    pub variant: Option<String>,
    /// Which builds there were to choose from.
    pub offered: Offered,
    /// Why it may be a version that is no release, of which the tables know none.
    #[serde(default)]
    pub early: Option<Why>,
    /// Whether a version that is there already is replaced.
    pub upgrade: bool,
    /// Whether it came without what it depends on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// The channel of conda that the command names first.
    #[serde(default)]
    pub channel: Option<String>,
    /// Python that the command names by its version.
    pub python: Option<String>,
    /// Why it may not be installed at all.
    pub conditional: Option<Why>,
    /// Whether it goes into an environment of Python beside that of the base image.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// Number of the command; packages of one command are chosen together.
    pub command: u32,
    /// Evidence.
    pub fact: FactId,
}

impl PackageSeen {
    /// A package that something else than a command says is there.
    pub fn new(manager: Manager, name: String, version: PackageVersion, fact: FactId) -> Self {
        Self {
            manager,
            name,
            version,
            variant: None,
            offered: Offered::Default,
            early: None,
            upgrade: true,
            alone: false,
            channel: None,
            python: None,
            conditional: None,
            apart: false,
            command: 0,
            fact,
        }
    }
}

/// A package that a command took away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageGone {
    /// Who took it away.
    pub manager: Manager,
    /// Normalised name.
    pub name: String,
    /// Number of the command.
    pub command: u32,
}
