//! Environment variables and arguments that a container is started with, which override those of the image.

use std::collections::BTreeMap;

use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactId, FactKey, Observations, Origin, PrintedValue, ValueState};

/// The command-line option whose file states how containers are started.
const START_OPTION: &str = "--from-kubernetes";

/// Sets the variables of a container start; `None` is a value set outside of the manifest, and `others` a source of
/// further variables.
pub fn set_start_variables(
    seen: &mut Observations,
    variables: &BTreeMap<String, Option<String>>,
    others: Option<&str>,
) {
    for (name, value) in variables {
        let told = value.clone().ok_or_else(|| Cause::SetOutsideManifest { name: name.clone() });
        let state = match &told {
            Ok(value) => ValueState::Known(PrintedValue::Text(value.clone())),
            Err(why) => ValueState::Unknown(why.clone()),
        };
        let fact = seen.facts.add(FactKey::Env, Some(name), state, Evidence::Leaf(vec![Origin::Option(START_OPTION)]));
        seen.env.insert(name.clone(), (told, fact));
    }
    if let Some(place) = others {
        seen.complete.env = false;
        seen.base_changes.unread.env = Some(Cause::VariablesOutsideManifest { place: place.to_string() });
    }
}

/// Returns the names of the variables that the container start sets.
pub fn start_variable_names(seen: &Observations) -> impl Iterator<Item = &str> {
    let of_start = |fact: FactId| match &seen.facts.get(fact).evidence {
        Evidence::Leaf(origins) => origins.contains(&Origin::Option(START_OPTION)),
        Evidence::Derived { .. } => false,
    };
    seen.env.iter().filter(move |(_, (_, fact))| of_start(*fact)).map(|(name, _)| name.as_str())
}

/// Marks the entrypoint as set by the container start.
pub fn mark_entrypoint_overridden(seen: &mut Observations) {
    let Some((words, fact)) = &mut seen.entrypoint else { return };
    let state = ValueState::Known(PrintedValue::from(&*words));
    *fact = seen.facts.add(FactKey::Entrypoint, None, state, Evidence::Leaf(vec![Origin::Option(START_OPTION)]));
}
