//! The least that is known of GPU code that nobody has read: the oldest GPU that it is for.

use crate::cuda::ComputeCapability;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::State;
use crate::infer::base::BaseBuild;

/// The floors of the components that the base image brought: those that no package of the build replaced.
///
/// The image's own program is not the base's where the build says another one.
pub(super) fn code_floors(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    components: &[Component],
) -> Vec<(String, Fact<ComputeCapability>)> {
    let Some((capability, row)) = build.code_floor.filter(|_| seen.entrypoint.is_none()) else { return Vec::new() };
    let evidence = || Evidence::Derived { by: Derivation::Row, from: build.fact.into_iter().collect(), row: Some(row) };
    let installed = |name: &str| seen.packages.iter().any(|package| package.name == name);
    let of_base = components.iter().filter(|component| component.code.is_unknown() && !installed(&component.name));
    of_base
        .map(|component| {
            let name = component.name.as_str();
            let state = State::Known(capability);
            (name.to_owned(), facts.add_typed(FactKey::ComponentFloor, Some(name), state, evidence()))
        })
        .collect()
}
