//! Builds without CUDA that somebody chose: beside what does use a GPU, they are not what the image is there for.

use crate::fact::Component;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Role;
use crate::fact::State;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;

/// Whether a fact rests on a build variant that a table row gives where nobody chose one.
pub(super) fn by_default(facts: &Facts, id: FactId) -> bool {
    rests(facts, id, true)
}

/// Whether a fact rests on a build variant that a command names.
pub(super) fn by_choice(facts: &Facts, id: FactId) -> bool {
    rests(facts, id, false)
}

fn rests(facts: &Facts, id: FactId, on_row: bool) -> bool {
    let entry = facts.get(id);
    match &entry.evidence {
        Evidence::Derived { row, .. } if entry.key == FactKey::ComponentVariant => row.is_some() == on_row,
        Evidence::Derived { from, .. } => from.iter().any(|id| rests(facts, *id, on_row)),
        Evidence::Leaf(_) => false,
    }
}

/// Whether a distribution runs on another component.
fn row_runs_on(row: &FrameworkRow, on: &str, knowledge: Knowledge) -> bool {
    let pins = || knowledge.torch_pins_of(row.distribution).next().is_some();
    let built = || knowledge.built_framework().is_some_and(|framework| framework.component == on);
    row.rides == Some(on) || (built() && pins())
}

/// Whether a component needs the GPU build of another framework: it runs on one, and has no build for the CPU.
pub(super) fn expects_gpu_build(one: &Component, knowledge: Knowledge) -> bool {
    let Some(framework) = knowledge.built_framework() else { return false };
    let mut packages = knowledge.frameworks().iter().filter(|row| row.component == one.name);
    packages.any(|row| !row.cpu_builds && row_runs_on(row, framework.component, knowledge))
}

/// Who writes `+cpu` and brings something for the GPU beside it means the other one: it decides.
///
/// Not where the other one runs on the chosen build.
pub(super) fn step_back(facts: &Facts, components: &mut [Component], knowledge: Knowledge) {
    let without = |one: &Component| matches!(one.cuda.state, State::Absent { .. });
    let runs_on = |one: &Component, on: &str| {
        let mut packages = knowledge.frameworks().iter().filter(|row| row.component == one.name);
        packages.any(|row| row_runs_on(row, on, knowledge))
    };
    let chosen: Vec<String> = components
        .iter()
        .filter(|one| {
            one.role == Role::Core && without(one) && (by_choice(facts, one.cuda.id) || one.is_switched_off(facts))
        })
        .map(|one| one.name.clone())
        .collect();
    for name in chosen {
        let decides = |one: &&Component| one.role == Role::Core && one.name != name && !runs_on(one, &name);
        let others = components.iter().filter(decides).any(|one| !without(one));
        let leans = components.iter().any(|one| one.role == Role::Core && runs_on(one, &name));
        if others && !leans {
            for one in components.iter_mut().filter(|one| one.name == name) {
                one.role = Role::Extension;
            }
        }
    }
    components.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
}
