//! Packages that the SBOM of an image lists, in addition to the observations from its configuration.
//!
//! The image itself is not checked: each fact has the list as its origin, and nothing counts as complete.

use std::collections::BTreeMap;

use crate::extract::image_config::observe_config;
use crate::extract::layers::is_gpu_relevant;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, InspectionDepth, Observations, Origin, PrintedValue, ValueState};
use crate::model::note::Note;
use crate::model::package::{Distribution, ExactVersion, ObservedPackage, PackageManager, PackageName, PackageVersion};
use crate::registry::{ImageSbom, PulledImage};

/// Combines the configuration of an image with the packages of its SBOM, and returns the notes for the report.
pub fn observe_sbom(image: &PulledImage, claims: &ImageSbom) -> (Observations, Vec<Note>) {
    let mut seen = observe_config(image);
    seen.depth = InspectionDepth::Sbom;
    // The last word of a build is what its list claims.
    seen.commands = seen.commands.saturating_add(1);
    let mut versions: BTreeMap<(PackageManager, &PackageName), Vec<Option<&ExactVersion>>> = BTreeMap::new();
    for Distribution { manager, name, version, .. } in &claims.packages {
        if !is_gpu_relevant(name) {
            continue;
        }
        let list = versions.entry((*manager, name)).or_default();
        if !list.contains(&version.as_ref()) {
            list.push(version.as_ref());
        }
    }
    let (known, all) = (versions.len(), claims.packages.len());
    for ((manager, name), list) in versions {
        let Some(version) = list.first() else { continue };
        let texts: Vec<&str> = list.iter().map(|version| version.map_or("", ExactVersion::as_str)).collect();
        let origins = vec![Origin::Report(format!("SBOM {}", claims.digest))];
        let state = ValueState::Known(PrintedValue::Text(texts.first().copied().unwrap_or_default().to_owned()));
        let fact = seen.facts.add(FactKey::Package, Some(name), state, Evidence::Leaf(origins));
        let package_version = version.cloned().map_or_else(PackageVersion::any, PackageVersion::Exact);
        let mut package = ObservedPackage::new(manager, name.clone(), package_version, fact);
        package.command = seen.commands;
        package.conditional =
            (list.len() > 1).then(|| Cause::SeveralInSbom { name: name.to_string(), versions: texts.join(", ") });
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
