//! What an installer selects for the requirements of one command.
//!
//! pip and uv search differently, so each has its own search over the same [`Catalog`]:
//! - pip backtracks ([`pip`]): packages in the order of its preferences, the newest release of each first.
//! - uv learns conflicts ([`uv`], with the `pubgrub` crate), also newest first.
//!
//! A release that the catalog does not list takes part as an unlisted one: it is in a range if any version is, and it
//! requires what all unlisted releases require. If it is selected, its version is unknown, and nothing else is.

mod catalog;
mod pip;
mod request;
mod tables;
mod uv;

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};

pub use catalog::{Catalog, Release, Releases};
pub use request::{
    Conflict, DependencySpecifier, InstallRequest, InstallerPolicy, Resolution, Selection, UpgradePolicy,
};
pub use tables::{LISTED_ARCHITECTURE, TableCatalog};

/// Returns the newest release of one distribution in all ranges, whatever it requires.
pub fn newest_release(name: &PackageName, ranges: &[VersionRange], catalog: &impl Catalog) -> Option<ExactVersion> {
    let requirement = |range: &VersionRange| DependencySpecifier::new(name.clone(), range.clone());
    let requirements = ranges.iter().map(requirement).chain([DependencySpecifier::new(name.clone(), "")]).collect();
    let request = InstallRequest { requirements, no_deps: true, ..InstallRequest::default() };
    match resolve(&request, catalog, InstallerPolicy::Pip).selection(name) {
        Some(Selection::Release(version)) => Some(version.clone()),
        Some(Selection::Installed(_) | Selection::Unknown(_)) | None => None,
    }
}

/// Returns what an installer selects for the requirements of a command.
pub fn resolve(request: &InstallRequest, catalog: &impl Catalog, policy: InstallerPolicy) -> Resolution {
    let invalid = request.requirements.iter().chain(&request.constraints).find(|one| !one.range.is_valid());
    if let Some(invalid) = invalid {
        return Resolution::Unknown(Cause::NotARange { range: invalid.range.as_str().to_owned() });
    }
    match policy {
        InstallerPolicy::Pip => pip::resolve(request, catalog),
        InstallerPolicy::Uv => uv::resolve(request, catalog),
    }
}
