//! GPU builds that a CPU build overwrites in the same directory.

use std::collections::BTreeMap;

use crate::infer::single_build_framework::{InferenceContext, component_without_cuda, unknown_component};
use crate::model::cause::Cause;
use crate::model::fact::{Component, Facts, InspectionDepth};
use crate::model::package::{ObservedPackage, PackageManager};

/// Removes CUDA from components whose directory a later CPU build overwrites; unknown if the order of the two is
/// unknown.
pub(super) fn apply_overwriting_cpu_builds(
    facts: &mut Facts,
    found: &mut BTreeMap<&'static str, Component>,
    image: InferenceContext<'_>,
) {
    let (seen, knowledge) = (image.seen, image.knowledge);
    // Of an image that was read the files tell.
    if seen.depth == InspectionDepth::Layers {
        return;
    }
    for row in knowledge.processor_packages().iter().filter(|row| row.same_folder) {
        let of = |name: &'static str| {
            seen.packages.iter().filter(move |one| one.manager == PackageManager::Pip && one.name == name)
        };
        let (Some(gpu), Some(plain)) = (of(row.instead).next_back(), of(row.distribution).next_back()) else {
            continue;
        };
        let Some(framework) = knowledge.framework(row.instead) else { continue };
        if plain.command < gpu.command
            || plain.separate_environment != gpu.separate_environment
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
