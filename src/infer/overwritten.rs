//! Builds with GPU code that a build for processors, installed into the same folder, writes over.

use std::collections::BTreeMap;

use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::Why;
use crate::infer::framework::Image;
use crate::infer::framework::component_unknown;
use crate::infer::framework::without_cuda;

/// Takes CUDA from each component whose folder a later command writes over; where it is not told which of the two comes last,
/// its CUDA is not either.
pub(super) fn by_processor_builds(facts: &mut Facts, found: &mut BTreeMap<&'static str, Component>, image: Image<'_>) {
    let (seen, knowledge) = (image.seen, image.knowledge);
    // Of an image that was read the files tell.
    if seen.depth == Depth::Layers {
        return;
    }
    for row in knowledge.processor_packages().iter().filter(|row| row.same_folder) {
        let of = |name: &'static str| {
            seen.packages.iter().filter(move |one| one.manager == Manager::Pip && one.name == name)
        };
        let (Some(gpu), Some(plain)) = (of(row.instead).next_back(), of(row.distribution).next_back()) else {
            continue;
        };
        let Some(framework) = knowledge.framework(row.instead) else { continue };
        if plain.command < gpu.command || plain.apart != gpu.apart || !found.contains_key(framework.component) {
            continue;
        }
        // What was there before may have stayed as it is.
        let before = of(row.distribution).any(|one| one.command < gpu.command);
        let sure = |one: &PackageSeen| one.conditional.is_none();
        let component = if plain.command > gpu.command && !before && sure(plain) && sure(gpu) {
            without_cuda(facts, framework, plain, &row.info)
        } else {
            let why = Why {
                reason: format!(
                    "{} and {} are installed into the same directory, and the one that overwrites the other is \
                        unknown",
                    row.distribution, row.instead
                ),
                supply: format!("install only {}", row.instead),
            };
            component_unknown(facts, framework, plain, &why, None)
        };
        found.insert(framework.component, component);
    }
}
