//! Frameworks that a variable of the image keeps on the processor: they call nothing of CUDA, whatever their build.

use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::EnvFacts;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::State;
use crate::infer::unknown;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;

/// What was looked through.
const LEFT: &str = "the environment of the image, which selects the CPU";

/// Takes CUDA from each component that a variable switches off; where its value cannot be told, its CUDA cannot be either.
pub(super) fn by_environment(
    facts: &mut Facts,
    components: &mut [Component],
    seen: &Observations,
    env: &EnvFacts,
    knowledge: Knowledge,
) {
    for component in components {
        let Some((name, value, row)) = switch(component, seen, knowledge) else { continue };
        let said = env.get(name).clone();
        let from = vec![said.id, component.cuda.id];
        let evidence = Evidence::Derived { by: Derivation::Row, from, row: Some(&row.info) };
        let own = component.name.clone();
        match said.state {
            State::Known(said) if said.trim() == value => {
                let absent = State::Absent { searched: LEFT };
                component.cuda = facts.add_typed(FactKey::ComponentCuda, Some(&own), absent, evidence.clone());
                let absent = State::Absent { searched: LEFT };
                component.code = facts.add_typed(FactKey::ComponentCode, Some(&own), absent, evidence);
                component.may_be.clear();
                component.hollow = false;
            }
            State::Unknown(why) if seen.env.contains_key(name) => {
                component.cuda = unknown(facts, FactKey::ComponentCuda, Some(&own), why, evidence);
                component.may_be.clear();
            }
            State::Known(_) | State::Absent { .. } | State::Unknown(_) => {}
        }
    }
}

/// The variable that switches a component off, and its value; none where one of its packages has none.
fn switch(
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
