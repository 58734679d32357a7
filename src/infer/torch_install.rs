//! The torch that a command installs, and the torch of an image at some point of its build.

use crate::knowledge::{Knowledge, RowInfo, TorchRow};
use crate::model::cause::Cause;
use crate::model::fact::FactId;
use crate::model::package::{IndexSelection, ObservedPackage, PackageManager};

/// The torch of an image at some point of its build.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each image")]
pub(super) enum ImageTorch<'a> {
    /// None was seen.
    None,
    /// The torch of the base image.
    Base,
    /// A torch that a command installed.
    Brought(TorchInstall<'a>),
}

/// A torch that a command installs.
#[derive(Clone, Debug)]
pub(super) struct TorchInstall<'a> {
    /// The package that requires it.
    pub(super) package: &'a ObservedPackage,
    /// The version, without local part.
    pub(super) version: Result<String, Cause>,
    /// The build; `None` for that of the default index.
    pub(super) variant: Result<Option<String>, Cause>,
    /// Whether it is the newest of several acceptable releases.
    pub(super) newest: bool,
    /// The row that it was selected by.
    pub(super) row: Option<&'static RowInfo>,
    /// The fact, in addition to the package, that determines it.
    pub(super) told: Option<FactId>,
    /// The releases that it may be, if the version is unknown.
    pub(super) candidates: Vec<&'static TorchRow>,
    /// Whether it is certainly one of those.
    pub(super) closed: bool,
    /// Who built it.
    pub(super) maker: TorchBuilder<'a>,
}

/// Who built a release of torch: their builds differ in GPU code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TorchBuilder<'a> {
    /// The project's wheel.
    Wheel,
    /// The build of a conda channel.
    Channel(&'a str),
    /// Whoever built the wheel at a URL that was not read.
    Unread(&'a Cause),
    /// Unknown.
    Unknown,
}

impl<'a> TorchBuilder<'a> {
    /// Returns who built the torch that a package installs.
    pub(super) fn of_package(package: &'a ObservedPackage) -> Self {
        match (package.manager, package.channel.as_deref(), &package.indexes) {
            (PackageManager::Conda, channel, _) => channel.map_or(Self::Unknown, Self::Channel),
            (_, _, IndexSelection::Unknown(why)) if why.address_outside_index().is_some() => Self::Unread(why),
            _ => Self::Wheel,
        }
    }
}

impl<'a> TorchInstall<'a> {
    /// Creates an install of unknown version.
    pub(super) fn unknown(package: &'a ObservedPackage, why: Cause) -> Self {
        let variant = match (&package.variant, &package.indexes) {
            (Some(tag), IndexSelection::Only(_) | IndexSelection::Default) => Ok(Some(tag.clone())),
            _ => Err(why.clone()),
        };
        Self {
            package,
            version: Err(why),
            variant,
            newest: false,
            row: None,
            told: None,
            candidates: Vec::new(),
            closed: false,
            maker: TorchBuilder::of_package(package),
        }
    }
}

/// Returns the name of the required distribution: torch if the package requires it, else the package.
pub(super) fn required_distribution(package: &ObservedPackage, knowledge: Knowledge) -> &str {
    let built = knowledge.framework_with_variants().map(|row| row.distribution);
    built.filter(|_| !is_torch_package(package, knowledge)).unwrap_or(&package.name)
}

/// Whether a package is torch.
pub(super) fn is_torch_package(package: &ObservedPackage, knowledge: Knowledge) -> bool {
    knowledge.has_variants(&package.name)
}
