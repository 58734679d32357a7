//! Variables and words that a container is started with, over those of the image.

use std::collections::BTreeMap;

use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;

/// Sets variables as the launch does; none is a value that stands elsewhere, and `others` says where further variables do.
pub fn set_at_run_time(
    seen: &mut Observations,
    variables: &BTreeMap<String, Option<String>>,
    others: Option<&str>,
    option: &'static str,
) {
    for (name, value) in variables {
        let told = value.clone().ok_or_else(|| Why {
            reason: format!("`{name}` is set from elsewhere when the container starts"),
            supply: "write its value into the manifest".to_owned(),
        });
        let state = match &told {
            Ok(value) => State::Known(Value::Text(value.clone())),
            Err(why) => State::Unknown(why.clone()),
        };
        let fact = seen.facts.add(FactKey::Env, Some(name), state, Evidence::Leaf(vec![Origin::Option(option)]));
        seen.env.insert(name.clone(), (told, fact));
    }
    if let Some(place) = others {
        seen.complete.env = false;
        seen.of_base.unread.env = Some(Why {
            reason: format!("variables are set from elsewhere when the container starts: {place} was not read"),
            supply: "write those that begin with NVIDIA_ into the manifest".to_owned(),
        });
    }
}

/// Says of the program that the one who starts the container names it.
pub fn started_at_run_time(seen: &mut Observations, option: &'static str) {
    let Some((words, fact)) = &mut seen.entrypoint else { return };
    let state = State::Known(Value::from(&*words));
    *fact = seen.facts.add(FactKey::Entrypoint, None, state, Evidence::Leaf(vec![Origin::Option(option)]));
}
