//! The releases that an installer can select, and what they require.

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};
use crate::resolve::request::DependencySpecifier;

/// A release with a file for the Python version and the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The version, with its local part.
    pub version: ExactVersion,
    /// Whether it was yanked: only a pin selects it (PEP 592).
    pub yanked: bool,
}

impl Release {
    /// Creates a release that was not yanked.
    pub fn new(version: impl Into<ExactVersion>) -> Self {
        Self { version: version.into(), yanked: false }
    }
}

/// The releases of a distribution, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// The listed releases.
    pub listed: Vec<Release>,
    /// Why there may be others; `None` if the list is complete. Installers prefer the listed ones.
    pub others: Option<Cause>,
}

impl Releases {
    /// Creates a complete list; an empty one means that no index has the distribution.
    pub const fn complete(listed: Vec<Release>) -> Self {
        Self { listed, others: None }
    }

    /// Creates the releases of a distribution of which none is listed.
    pub const fn unlisted(why: Cause) -> Self {
        Self { listed: Vec::new(), others: Some(why) }
    }

    /// Returns the versions of the listed releases.
    pub fn versions(&self) -> impl Iterator<Item = &ExactVersion> {
        self.listed.iter().map(|release| &release.version)
    }

    /// Whether no release is listed, although there may be some.
    pub fn is_unlisted(&self) -> bool {
        self.listed.is_empty() && self.others.is_some()
    }
}

/// The releases on the indexes of a command, and the requirements of each.
pub trait Catalog {
    /// Returns the releases of a distribution.
    fn releases(&self, name: &PackageName) -> Releases;

    /// Returns what a release requires with the given extras; for `None`, what every release requires that is not
    /// listed. Markers are already evaluated.
    fn requirements(
        &self,
        name: &PackageName,
        version: Option<&ExactVersion>,
        extras: &[PackageName],
    ) -> Vec<DependencySpecifier>;
}

/// The result of filtering releases by a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// The admitted releases, the newest first.
    Listed(Vec<ExactVersion>),
    /// Only pre-releases are admitted, and several specifiers: their order decides whether pip takes one.
    OnlyPrereleases,
}

/// Returns the releases that an installer considers for several ranges, the newest first.
///
/// A pre-release counts if the command or a range allows it, or if there is nothing else. A yanked release counts only
/// if a range pins it and there is nothing else.
pub(super) fn admitted_releases<'a>(
    releases: &[Release],
    ranges: impl IntoIterator<Item = &'a VersionRange>,
    prereleases: bool,
) -> Admitted {
    let ranges: Vec<&VersionRange> = ranges.into_iter().filter(|range| !range.is_any()).collect();
    let is_admitted = |release: &&Release| ranges.iter().all(|range| range.contains(&release.version) == Some(true));
    let mut admitted: Vec<&Release> = releases.iter().filter(is_admitted).collect();
    let allows = prereleases || ranges.iter().any(|range| range.names_prerelease());
    if !allows {
        let has_final = admitted.iter().any(|release| !release.version.is_prerelease());
        if has_final {
            admitted.retain(|release| !release.version.is_prerelease());
        } else if !admitted.is_empty() && ranges.iter().map(|range| range.specifier_count()).sum::<usize>() > 1 {
            return Admitted::OnlyPrereleases;
        }
    }
    let is_pinned = ranges.iter().any(|range| range.is_pin());
    if !(is_pinned && admitted.iter().all(|release| release.yanked)) {
        admitted.retain(|release| !release.yanked);
    }
    let mut versions: Vec<ExactVersion> = admitted.into_iter().map(|release| release.version.clone()).collect();
    versions.sort_by(|one, other| other.compare(one));
    versions.dedup();
    Admitted::Listed(versions)
}
