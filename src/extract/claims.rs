//! What a list of packages beside an image claims (SBOM), over what its configuration says.
//!
//! Nobody has looked whether it is so: each fact has the list as its place, and nothing counts as seen whole.

use std::collections::BTreeMap;

use crate::extract::config::of_config;
use crate::extract::layers::concerns;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::install::normalised;
use crate::oci::Claim;
use crate::oci::Claims;
use crate::oci::PulledImage;

/// What the configuration says, and the packages that the list claims; with what is to be told of it.
pub fn of_claims(image: &PulledImage, claims: &Claims) -> (Observations, Vec<String>) {
    let mut seen = of_config(image);
    seen.depth = Depth::Sbom;
    // The last word of a build is what its list claims.
    seen.commands = seen.commands.saturating_add(1);
    let mut versions: BTreeMap<(Manager, String), Vec<String>> = BTreeMap::new();
    for claim in &claims.packages {
        let (manager, name) = package(claim);
        if !concerns(&name) {
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
        let state = State::Known(Value::Text(version.clone()));
        let fact = seen.facts.add(FactKey::Package, Some(&name), state, Evidence::Leaf(origins));
        let said = if version.is_empty() {
            PackageVersion::Open(String::new())
        } else {
            PackageVersion::Exact(version.clone())
        };
        let mut package = PackageSeen::new(manager, name.clone(), said, fact);
        package.command = seen.commands;
        package.conditional = (list.len() > 1).then(|| Why {
            reason: format!("the SBOM of the image lists several versions of {name}: {}", list.join(", ")),
            supply: "scan the image with all of its layers".to_owned(),
        });
        seen.packages.push(package);
    }
    let digest = claims.digest.get(..19).unwrap_or(&claims.digest);
    let packages = if all == 1 { "package" } else { "packages" };
    let concern = if known == 1 { "concerns" } else { "concern" };
    let note = format!(
        "packages are taken from the SBOM of the image ({digest}): {all} {packages}, {known} of them {concern} a \
            GPU; layers were not read"
    );
    (seen, vec![note])
}

/// Manager and name of a package, by its address where it has one: `pkg:pypi/torch@2.6.0`, `pkg:deb/ubuntu/libc6@2.35`.
fn package(claim: &Claim) -> (Manager, String) {
    let purl = claim.purl.as_deref().and_then(|purl| purl.strip_prefix("pkg:")?.split_once('/'));
    match purl.map(|(kind, _)| kind) {
        Some("conda") => (Manager::Conda, normalised(&claim.name)),
        Some("deb" | "rpm" | "apk" | "alpm") => (Manager::Apt, claim.name.clone()),
        _ => (Manager::Pip, normalised(&claim.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_follows_from_the_address() {
        let of = |name: &str, purl: Option<&str>| {
            let claim = Claim { name: name.to_owned(), purl: purl.map(str::to_owned), ..Claim::default() };
            let (manager, name) = package(&claim);
            format!("{} {name}", manager.name())
        };
        assert_eq!(of("PyTorch_Lightning", Some("pkg:pypi/pytorch-lightning@2")), "pip pytorch-lightning");
        assert_eq!(of("pytorch", Some("pkg:conda/pytorch@2.1")), "conda pytorch");
        assert_eq!(of("cuda-compat-12-4", Some("pkg:deb/ubuntu/cuda-compat-12-4@550")), "apt cuda-compat-12-4");
        assert_eq!(of("torch", None), "pip torch");
        assert_eq!(of("torch", Some("pkg:")), "pip torch");
    }
}
