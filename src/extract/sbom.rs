//! Packages that the SBOM of an image lists, in addition to the observations from its configuration.
//!
//! The image itself is not checked: each fact has the list as its origin, and nothing counts as complete.

use std::collections::BTreeMap;

use crate::extract::image_config::observe_config;
use crate::extract::layers::is_gpu_relevant;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, InspectionDepth, Observations, Origin, PrintedValue, ValueState};
use crate::model::note::Note;
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion};
use crate::registry::{ImageSbom, PulledImage, SbomPackage};

/// Combines the configuration of an image with the packages of its SBOM, and returns the notes for the report.
pub fn observe_sbom(image: &PulledImage, claims: &ImageSbom) -> (Observations, Vec<Note>) {
    let mut seen = observe_config(image);
    seen.depth = InspectionDepth::Sbom;
    // The last word of a build is what its list claims.
    seen.commands = seen.commands.saturating_add(1);
    let mut versions: BTreeMap<(PackageManager, PackageName), Vec<String>> = BTreeMap::new();
    for claim in &claims.packages {
        let (manager, name) = package_identity(claim);
        if !is_gpu_relevant(&name) {
            continue;
        }
        let list = versions.entry((manager, name)).or_default();
        if !list.contains(&claim.version) {
            list.push(claim.version.clone());
        }
    }
    let (known, all) = (versions.len(), claims.packages.len());
    for ((manager, name), list) in versions {
        let Some(version) = list.first() else { continue };
        let origins = vec![Origin::Report(format!("SBOM {}", claims.digest))];
        let state = ValueState::Known(PrintedValue::Text(version.clone()));
        let fact = seen.facts.add(FactKey::Package, Some(&name), state, Evidence::Leaf(origins));
        let package_version =
            if version.is_empty() { PackageVersion::any() } else { PackageVersion::exact(version.as_str()) };
        let mut package = ObservedPackage::new(manager, name.clone(), package_version, fact);
        package.command = seen.commands;
        package.conditional = (list.len() > 1)
            .then(|| Cause::SeveralInSbom { name: name.to_string(), versions: list.join(", ").clone() });
        seen.packages.push(package);
    }
    let digest = claims.digest.get(..19).unwrap_or(&claims.digest);
    let packages = if all == 1 { "package" } else { "packages" };
    let concern = if known == 1 { "concerns" } else { "concern" };
    let note = format!(
        "packages are taken from the SBOM of the image ({digest}): {all} {packages}, {known} of them {concern} a \
            GPU; layers were not read"
    );
    (seen, vec![note.into()])
}

/// Returns manager and name of a listed package, by its package URL if it has one: `pkg:pypi/torch@2.6.0`,
/// `pkg:deb/ubuntu/libc6@2.35`.
fn package_identity(claim: &SbomPackage) -> (PackageManager, PackageName) {
    let purl = claim.purl.as_deref().and_then(|purl| purl.strip_prefix("pkg:")?.split_once('/'));
    match purl.map(|(kind, _)| kind) {
        Some("conda") => (PackageManager::Conda, PackageName::conda(&claim.name)),
        Some("deb" | "rpm" | "apk" | "alpm") => (PackageManager::System, PackageName::system(&claim.name)),
        _ => (PackageManager::Pip, PackageName::python(&claim.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_follows_from_the_address() {
        let of = |name: &str, purl: Option<&str>| {
            let claim = SbomPackage { name: name.to_owned(), purl: purl.map(str::to_owned), ..SbomPackage::default() };
            let (manager, name) = package_identity(&claim);
            format!("{} {name}", manager.name())
        };
        assert_eq!(of("PyTorch_Lightning", Some("pkg:pypi/pytorch-lightning@2")), "pip pytorch-lightning");
        assert_eq!(of("pytorch", Some("pkg:conda/pytorch@2.1")), "conda pytorch");
        assert_eq!(of("cuda-compat-12-4", Some("pkg:deb/ubuntu/cuda-compat-12-4@550")), "apt cuda-compat-12-4");
        assert_eq!(of("torch", None), "pip torch");
        assert_eq!(of("torch", Some("pkg:")), "pip torch");
    }
}
