//! The least that is known of GPU code that nobody has read: the oldest GPU that it is for.

use crate::fact::CodeFloor;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::infer::base::BaseBuild;
use crate::knowledge::Knowledge;
use crate::knowledge::PackageFloorRow;

/// The floors of the components that the base image brought, those that no package of the build replaced, and of packages
/// whose releases all have one.
///
/// The image's own program is not the base's where the build says another one.
pub(super) fn code_floors(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    components: &[Component],
    knowledge: Knowledge,
) -> Vec<CodeFloor> {
    let of_base = build.code_floor.filter(|_| seen.entrypoint.is_none());
    let installed = |name: &str| seen.packages.iter().rfind(|package| package.name == name);
    let mut floors = Vec::new();
    for component in components.iter().filter(|component| component.code.is_unknown()) {
        let name = component.name.as_str();
        let package = installed(name);
        let own = package.and_then(|package| Some((package, floor_of(package, knowledge)?)));
        let base = of_base.filter(|_| package.is_none_or(|package| build.fact == Some(package.fact)));
        let (capability, sure, called, from, row) = match (own, base) {
            (Some((package, row)), _) => (row.capability, None, true, Some(package.fact), &row.info),
            (None, Some(row)) => (row.capability, row.sure, false, build.fact, &row.info),
            (None, None) => continue,
        };
        let evidence = Evidence::Derived { by: Derivation::Row, from: from.into_iter().collect(), row: Some(row) };
        let lowest = facts.add_typed(FactKey::ComponentFloor, Some(name), State::Known(capability), evidence);
        floors.push(CodeFloor { component: name.to_owned(), lowest, sure, called });
    }
    floors
}

/// The floor of a release; of the newest, where none is asked for.
fn floor_of(package: &PackageSeen, knowledge: Knowledge) -> Option<&'static PackageFloorRow> {
    match &package.version {
        PackageVersion::Exact(version) => knowledge.package_floor(&package.name, Some(version)),
        PackageVersion::Open(range) if range.is_empty() => knowledge.package_floor(&package.name, None),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    }
}
