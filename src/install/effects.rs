//! Effects of a command on packages: what it installs, removes, constrains and leaves unread.

use std::collections::BTreeSet;

use crate::dockerfile::ExpandedText;
use crate::model::cause::Cause;
use crate::model::fact::InstallerBehavior;
use crate::model::package::{IndexSelection, PackageManager, PackageName, PackageVersion, Requirement};
use crate::text::source::{SourceId, Span};

/// Where a build variant is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariantSource {
    /// `+cu118` in the version.
    LocalVersion,
    /// The index that replaces the default one.
    IndexUrl,
    /// An extra index, which decides because the version is exact.
    ExtraIndex,
    /// The URL of a wheel.
    WheelUrl,
    /// A link page (`--find-links`).
    FindLinks,
    /// The torch backend of uv.
    TorchBackend,
}

/// The build of a distribution: `cu118`, `cpu`, `rocm6.0`, `xpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildVariant {
    /// The build tag.
    pub tag: String,
    /// Where the tag is read from.
    pub from: VariantSource,
    /// Where the tag is written.
    pub span: Span,
    /// The file that contains the tag; `None` for the command itself.
    pub source: Option<SourceId>,
}

/// A package that a command installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageInstall {
    /// What the command requires.
    pub requirement: Requirement,
    /// The build, if the command determines it.
    pub variant: Option<BuildVariant>,
    /// The requested conda build string.
    pub build: Option<String>,
    /// Where the package is named.
    pub span: Span,
    /// The file that names the package; `None` for the command itself.
    pub source: Option<SourceId>,
    /// Whether the package may not be installed, since the command is conditional or a marker is unknown.
    pub conditional: bool,
}

impl PackageInstall {
    /// Creates an install of a package from the default index.
    pub fn new(manager: PackageManager, name: PackageName, version: PackageVersion, span: Span) -> Self {
        let requirement = Requirement::new(manager, name, version);
        Self { requirement, variant: None, build: None, span, source: None, conditional: false }
    }

    /// Returns the install with another requested version.
    pub(super) fn with_version(mut self, version: PackageVersion) -> Self {
        self.requirement.version = version;
        self
    }

    /// Returns the install with other indexes to choose from.
    pub(super) fn with_indexes(mut self, indexes: IndexSelection) -> Self {
        self.requirement.indexes = indexes;
        self
    }

    /// Replaces the requested version by that of an override; the indexes too, if one of them is unknown.
    pub(super) fn apply_override(&mut self, other: &Self) {
        self.requirement.version.clone_from(&other.requirement.version);
        self.variant.clone_from(&other.variant);
        if [&self.requirement.indexes, &other.requirement.indexes]
            .into_iter()
            .any(|indexes| matches!(indexes, IndexSelection::Unknown(_)))
        {
            self.requirement.indexes.clone_from(&other.requirement.indexes);
        }
    }
}

/// A requirement, constraint or project file, or an environment file of conda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementFile {
    /// The path as written in the command.
    pub path: ExpandedText,
    /// Whether it only constrains versions.
    pub constraint: bool,
    /// The requested extras of a project.
    pub extras: Vec<PackageName>,
    /// Where it is written.
    pub span: Span,
    /// Why the file was not read; `None` before it is read.
    pub why: Option<Cause>,
}

/// Folders that a command searches for wheels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindLinksFolders {
    /// The paths as written in the command.
    pub named: Vec<String>,
    /// Whether nothing else is searched.
    pub exclusive: bool,
}

/// The effects of one command on packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallEffects {
    /// The packages that it installs.
    pub packages: Vec<PackageInstall>,
    /// The packages that it removes, and where that is written.
    pub removed: Vec<(PackageManager, PackageName, Span)>,
    /// Constraints on the versions of dependencies.
    pub constraints: Vec<PackageInstall>,
    /// The wheels that it saves in a folder without installing them.
    pub gathered: Option<(ExpandedText, Vec<PackageInstall>)>,
    /// Glob patterns of wheels that it installs: `/wheels/*.whl`.
    pub wheels: Vec<(String, Span)>,
    /// The folders that pip searches for wheels.
    pub folders: FindLinksFolders,
    /// Requirement files that were not read.
    pub files: Vec<RequirementFile>,
    /// Repositories and archives with unknown requirements: the address, and where it is written.
    pub sources: Vec<(String, Span, Option<SourceId>)>,
    /// Whether pip uses only the default index.
    pub default_index_only: bool,
    /// Whether it removes every other package of the environment (`uv pip sync`, `pip-sync`).
    ///
    /// It installs no dependencies either, but a list that an earlier command compiled names them, and is not known.
    pub syncs: bool,
    /// How it treats installed packages and requirements.
    pub behaviors: BTreeSet<InstallerBehavior>,
    /// Words that may name packages but are unknown, with the reason.
    pub unresolved: Vec<(ExpandedText, Span)>,
}
