//! Builds without CUDA: those that a command selects explicitly next to packages that use a GPU, and those that overwrite
//! a GPU build in the same directory.

use std::collections::BTreeMap;

use crate::infer::single_build_framework::{InferenceContext, component_without_cuda, unknown_component};
use crate::knowledge::{FrameworkRow, Knowledge};
use crate::model::cause::Cause;
use crate::model::fact::{Component, ComponentRole, Evidence, FactId, FactKey, Facts, InspectionDepth};
use crate::model::package::{ObservedPackage, PackageManager};

/// Whether a fact follows from a build variant that a table gives as the default.
pub(super) fn is_default_variant(facts: &Facts, id: FactId) -> bool {
    follows_from_variant(facts, id, true)
}

/// Whether a fact follows from a build variant that a command names.
pub(super) fn is_explicit_variant(facts: &Facts, id: FactId) -> bool {
    follows_from_variant(facts, id, false)
}

/// Whether a fact follows from a build variant, either of a table row or of a command.
fn follows_from_variant(facts: &Facts, id: FactId, on_row: bool) -> bool {
    let entry = facts.get(id);
    match &entry.evidence {
        Evidence::Derived { row, .. } if entry.key == FactKey::ComponentVariant => row.is_some() == on_row,
        Evidence::Derived { from, .. } => from.iter().any(|id| follows_from_variant(facts, *id, on_row)),
        Evidence::Leaf(_) => false,
    }
}

/// Whether a distribution runs on another component.
fn framework_runs_on(row: &FrameworkRow, on: &str, knowledge: Knowledge) -> bool {
    let pins = || knowledge.torch_requirements_of(row.distribution).next().is_some();
    let built = || knowledge.framework_with_variants().is_some_and(|framework| framework.component == on);
    row.cuda_from == Some(on) || (built() && pins())
}

/// Whether a component needs the GPU build of another framework: it runs on that and has no CPU build.
pub(super) fn requires_gpu_build(one: &Component, knowledge: Knowledge) -> bool {
    let Some(framework) = knowledge.framework_with_variants() else { return false };
    let mut packages = knowledge.frameworks().iter().filter(|row| row.component == one.name);
    packages.any(|row| !row.cpu_builds && framework_runs_on(row, framework.component, knowledge))
}

/// Demotes explicitly selected CPU builds to extensions if another component may use a GPU and does not run on them.
///
/// Not where the other one runs on the chosen build.
pub(super) fn demote_explicit_cpu_builds(facts: &Facts, components: &mut [Component], knowledge: Knowledge) {
    let without = |one: &Component| one.is_without_cuda();
    let runs_on = |one: &Component, on: &str| {
        let mut packages = knowledge.frameworks().iter().filter(|row| row.component == one.name);
        packages.any(|row| framework_runs_on(row, on, knowledge))
    };
    let chosen: Vec<String> = components
        .iter()
        .filter(|one| {
            one.role == ComponentRole::Core
                && without(one)
                && (is_explicit_variant(facts, one.cuda.id) || one.is_disabled_by_variable(facts))
        })
        .map(|one| one.name.clone())
        .collect();
    for name in chosen {
        let decides = |one: &&Component| one.role == ComponentRole::Core && one.name != name && !runs_on(one, &name);
        let others = components.iter().filter(decides).any(|one| !without(one));
        let leans = components.iter().any(|one| one.role == ComponentRole::Core && runs_on(one, &name));
        if others && !leans {
            for one in components.iter_mut().filter(|one| one.name == name) {
                one.role = ComponentRole::Extension;
            }
        }
    }
    components.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
}

/// Removes CUDA from components whose directory a later CPU build overwrites; unknown if the order of the two is
/// unknown.
pub(super) fn apply_overwriting_cpu_builds(
    facts: &mut Facts,
    found: &mut BTreeMap<&'static str, Component>,
    image: InferenceContext<'_>,
) {
    let (seen, knowledge) = (image.seen, image.knowledge);
    // For an inspected image the files decide.
    if seen.depth == InspectionDepth::Layers {
        return;
    }
    for row in knowledge.processor_packages().iter().filter(|row| row.same_folder) {
        let of = |name: &'static str| {
            seen.packages
                .iter()
                .filter(move |one| one.requirement.manager == PackageManager::Pip && one.requirement.name == name)
        };
        let (Some(gpu), Some(plain)) = (of(row.instead).next_back(), of(row.distribution).next_back()) else {
            continue;
        };
        let Some(framework) = knowledge.framework(row.instead) else { continue };
        if plain.command < gpu.command
            || !plain.shares_environment_with(gpu)
            || !found.contains_key(framework.component)
        {
            continue;
        }
        // What was there before may have stayed as it is.
        let before = of(row.distribution).any(|one| one.command < gpu.command);
        let sure = |one: &ObservedPackage| one.conditional.is_none();
        let component = if plain.command > gpu.command && !before && sure(plain) && sure(gpu) {
            component_without_cuda(facts, framework, plain, &row.info)
        } else {
            let why = Cause::SameDirectory { package: row.distribution.to_string(), other: row.instead.to_string() };
            unknown_component(facts, framework, plain, &why, None)
        };
        found.insert(framework.component, component);
    }
}
