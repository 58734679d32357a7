//! Frameworks that an environment variable of the image restricts to the CPU: they do not call CUDA, whatever their
//! build.

use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::{FrameworkRow, Knowledge};
use crate::model::fact::{Component, Derivation, EnvFacts, Evidence, FactKey, Facts, Observations, ValueState};

/// What was searched if a variable selects the CPU.
const SEARCHED_ENVIRONMENT: &str = "the environment of the image, which selects the CPU";

/// Removes CUDA from each component that a variable restricts to the CPU; unknown if the variable's value is unknown.
pub(super) fn apply_cpu_only_variables(
    facts: &mut Facts,
    components: &mut [Component],
    seen: &Observations,
    env: &EnvFacts,
    knowledge: Knowledge,
) {
    for component in components {
        let Some((name, value, row)) = cpu_only_variable(component, seen, knowledge) else { continue };
        let said = env.get(name).clone();
        let from = vec![said.id, component.cuda.id];
        let evidence = Evidence::Derived { by: Derivation::Row, from, row: Some(&row.info) };
        let own = component.name.clone();
        match said.state {
            ValueState::Known(said) if said.trim() == value => {
                let absent = ValueState::Absent { searched: SEARCHED_ENVIRONMENT };
                component.cuda = facts.add_typed(FactKey::ComponentCuda, Some(&own), absent, evidence.clone());
                let absent = ValueState::Absent { searched: SEARCHED_ENVIRONMENT };
                component.code = facts.add_typed(FactKey::ComponentCode, Some(&own), absent, evidence);
                component.possible_releases.clear();
                component.lacks_required_code = false;
            }
            ValueState::Unknown(why) if seen.env.contains_key(name) => {
                component.cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(&own), why, evidence);
                component.possible_releases.clear();
            }
            ValueState::Known(_) | ValueState::Absent { .. } | ValueState::Unknown(_) => {}
        }
    }
}

/// Returns the variable and value that restrict a component to the CPU; `None` if one of its packages has none.
fn cpu_only_variable(
    component: &Component,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<(&'static str, &'static str, &'static FrameworkRow)> {
    let packages = seen.packages.iter().filter_map(|package| knowledge.framework(&package.name));
    let mut rows = packages.filter(|row| row.component == component.name);
    let row = rows.next()?;
    let (name, value) = row.off_by?.split_once('=')?;
    rows.all(|other| other.off_by == row.off_by).then_some((name, value, row))
}
