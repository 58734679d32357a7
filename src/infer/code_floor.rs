//! The lowest compute capability of uninspected GPU code.

use crate::infer::base::BaseBuild;
use crate::knowledge::{Knowledge, PackageFloorRow};
use crate::model::fact::{
    Component, Derivation, Evidence, FactKey, Facts, MinimumCapability, Observations, ValueState,
};
use crate::model::package::{ObservedPackage, PackageVersion};

/// Infers the lowest compute capability of base image components that no package replaces, and of packages that
/// always have one.
///
/// The image's own program is not the base's where the build says another one.
pub(super) fn infer_code_floors(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    components: &[Component],
    knowledge: Knowledge,
) -> Vec<MinimumCapability> {
    let of_base = build.code_floor.filter(|_| seen.entrypoint.is_none());
    let installed = |name: &str| seen.packages.iter().rfind(|package| package.requirement.name == name);
    let mut floors = Vec::new();
    for component in components.iter().filter(|component| component.code.is_unknown()) {
        let name = component.name.as_str();
        let package = installed(name);
        let own = package.and_then(|package| Some((package, package_code_floor(package, knowledge)?)));
        let base = of_base.filter(|_| package.is_none_or(|package| build.fact == Some(package.fact)));
        let (capability, sure, called, from, row) = match (own, base) {
            (Some((package, row)), _) => (row.capability, None, true, Some(package.fact), &row.info),
            (None, Some(row)) => (row.capability, row.sure, false, build.fact, &row.info),
            (None, None) => continue,
        };
        let evidence = Evidence::Derived { by: Derivation::Row, from: from.into_iter().collect(), row: Some(row) };
        let lowest = facts.add_typed(FactKey::ComponentFloor, Some(name), ValueState::Known(capability), evidence);
        floors.push(MinimumCapability { component: name.to_owned(), lowest, sure, is_optional: called });
    }
    floors
}

/// Returns the floor of a package's release; of the newest if no version is requested.
fn package_code_floor(package: &ObservedPackage, knowledge: Knowledge) -> Option<&'static PackageFloorRow> {
    match &package.requirement.version {
        PackageVersion::Exact(version) => knowledge.package_floor(&package.requirement.name, Some(version)),
        PackageVersion::Range(range) if range.is_any() => knowledge.package_floor(&package.requirement.name, None),
        PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
    }
}
