//! Observations of a base image from the imagelint lock file.

use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactId, FactKey, InspectionDepth, Observations, Origin, PrintedValue, ValueState};
use crate::registry::lock::LockedBaseImage;
use crate::text::source::{SourceId, Span};

/// Returns the observations of a base image from its entry in the lock file `source`.
pub fn observe_lock_entry(entry: &LockedBaseImage, source: SourceId) -> Observations {
    let mut seen = Observations::new(InspectionDepth::Config);
    for (name, value) in &entry.env {
        let state = ValueState::Known(PrintedValue::Text(value.value.clone()));
        let fact = add_lock_fact(&mut seen, source, (FactKey::Env, Some(&name.value)), state, value.span);
        seen.env.insert(name.value.clone(), (Ok(value.value.clone()), fact));
    }
    for name in &entry.withheld {
        let why = Cause::NotInLockFile { name: name.value.clone(), image: entry.reference.value.clone() };
        let state = ValueState::Unknown(why.clone());
        let fact = add_lock_fact(&mut seen, source, (FactKey::Env, Some(&name.value)), state, name.span);
        seen.env.insert(name.value.clone(), (Err(why), fact));
    }
    seen.complete.env = true;
    let words = entry.entrypoint.value.clone();
    let state = ValueState::Known(PrintedValue::from(&words));
    let fact = add_lock_fact(&mut seen, source, (FactKey::Entrypoint, None), state, entry.entrypoint.span);
    seen.entrypoint = Some((words, fact));
    let mut platforms = entry.platforms.value.clone();
    if platforms.is_empty() {
        platforms.push(entry.platform.clone());
    }
    let state = ValueState::Known(PrintedValue::from(&platforms));
    let fact = add_lock_fact(&mut seen, source, (FactKey::Platforms, None), state, entry.platforms.span);
    seen.platforms = Some((platforms, fact));
    seen
}

/// Adds a fact whose origin is a span of the lock file.
fn add_lock_fact(
    seen: &mut Observations,
    source: SourceId,
    (key, of): (FactKey, Option<&str>),
    state: ValueState<PrintedValue>,
    span: Span,
) -> FactId {
    seen.facts.add(key, of, state, Evidence::Leaf(vec![Origin::File { source, span }]))
}
