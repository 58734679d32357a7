//! Variables and words that a container is started with, over those of the image.

use std::collections::BTreeMap;

use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;

/// The option that names the file which says how containers are started.
const AT_START: &str = "--from-kubernetes";

/// Sets variables as the launch does; none is a value that stands elsewhere, and `others` says where further variables do.
pub fn set_at_run_time(seen: &mut Observations, variables: &BTreeMap<String, Option<String>>, others: Option<&str>) {
    for (name, value) in variables {
        let told = value.clone().ok_or_else(|| Why {
            reason: format!("`{name}` is set outside of the manifest when the container starts"),
            supply: "write its value into the manifest".to_owned(),
        });
        let state = match &told {
            Ok(value) => State::Known(Value::Text(value.clone())),
            Err(why) => State::Unknown(why.clone()),
        };
        let fact = seen.facts.add(FactKey::Env, Some(name), state, Evidence::Leaf(vec![Origin::Option(AT_START)]));
        seen.env.insert(name.clone(), (told, fact));
    }
    if let Some(place) = others {
        seen.complete.env = false;
        seen.of_base.unread.env = Some(Why {
            reason: format!(
                "variables are set outside of the manifest when the container starts: {place} was not \
                read"
            ),
            supply: "write the variables that begin with NVIDIA_ into the manifest".to_owned(),
        });
    }
}

/// The names of the variables that were set so.
pub fn own_of_start(seen: &Observations) -> impl Iterator<Item = &str> {
    let of_start = |fact: FactId| match &seen.facts.get(fact).evidence {
        Evidence::Leaf(origins) => origins.contains(&Origin::Option(AT_START)),
        Evidence::Derived { .. } => false,
    };
    seen.env.iter().filter(move |(_, (_, fact))| of_start(*fact)).map(|(name, _)| name.as_str())
}

/// Says of the program that the one who starts the container names it.
pub fn started_at_run_time(seen: &mut Observations) {
    let Some((words, fact)) = &mut seen.entrypoint else { return };
    let state = State::Known(Value::from(&*words));
    *fact = seen.facts.add(FactKey::Entrypoint, None, state, Evidence::Leaf(vec![Origin::Option(AT_START)]));
}
