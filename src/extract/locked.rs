//! What a lock file says of a base image.

use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::lock::Entry;
use crate::source::SourceId;
use crate::source::Span;

/// Reads one entry of the lock file `source`.
pub fn of_locked(entry: &Entry, source: SourceId) -> Observations {
    let mut seen = Observations::new(Depth::Config);
    for (name, value) in &entry.env {
        let state = State::Known(Value::Text(value.value.clone()));
        let fact = add(&mut seen, source, (FactKey::Env, Some(&name.value)), state, value.span);
        seen.env.insert(name.value.clone(), (Ok(value.value.clone()), fact));
    }
    for name in &entry.withheld {
        let why = Why {
            reason: format!(
                "the lock file does not contain the value of {} in `{}`",
                name.value, entry.reference.value
            ),
            supply: "run `imagelint check --pull`, which reads the base image".to_owned(),
        };
        let state = State::Unknown(why.clone());
        let fact = add(&mut seen, source, (FactKey::Env, Some(&name.value)), state, name.span);
        seen.env.insert(name.value.clone(), (Err(why), fact));
    }
    seen.complete.env = true;
    let words = entry.entrypoint.value.clone();
    let state = State::Known(Value::from(&words));
    let fact = add(&mut seen, source, (FactKey::Entrypoint, None), state, entry.entrypoint.span);
    seen.entrypoint = Some((words, fact));
    let mut platforms = entry.platforms.value.clone();
    if platforms.is_empty() {
        platforms.push(entry.platform.clone());
    }
    let state = State::Known(Value::from(&platforms));
    let fact = add(&mut seen, source, (FactKey::Platforms, None), state, entry.platforms.span);
    seen.platforms = Some((platforms, fact));
    seen
}

fn add(
    seen: &mut Observations,
    source: SourceId,
    (key, of): (FactKey, Option<&str>),
    state: State<Value>,
    span: Span,
) -> FactId {
    seen.facts.add(key, of, state, Evidence::Leaf(vec![Origin::File { source, span }]))
}
