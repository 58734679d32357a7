//! Facts whose value is unknown.

use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, Facts, PrintedValue, TypedFact, ValueState};

/// Adds a fact whose value is unknown.
pub(super) fn add_unknown_fact<T>(
    facts: &mut Facts,
    key: FactKey,
    of: Option<&str>,
    why: Cause,
    evidence: Evidence,
) -> TypedFact<T>
where
    for<'a> PrintedValue: From<&'a T>,
{
    facts.add_typed(key, of, ValueState::Unknown(why), evidence)
}
