//! Notes about attributes of bake files that cannot be evaluated, with their positions.

use std::collections::BTreeMap;

use hcl::Expression;
use hcl::eval::Context;

use crate::dockerfile::builds::bake::{BakeAttributes, BakeDefinition};
use crate::dockerfile::builds::bake_expression::{
    EvaluationFailure, evaluate_expression, evaluation_failure, is_builtin_function,
};
use crate::model::cause::Cause;

/// Maximum depth of variables that refer to each other.
const MAX_VARIABLE_DEPTH: usize = 8;

impl BakeDefinition {
    /// Returns notes for the attributes without a value, each with the name of its attribute: an unsupported function,
    /// or one that rejects its arguments, with its position.
    pub(super) fn evaluation_notes(
        &self,
        target: &str,
        attributes: &BakeAttributes,
        context: &Context<'_>,
    ) -> Vec<(String, Cause)> {
        let mut notes = BTreeMap::new();
        for (key, whole) in attributes.iter().filter(|(_, written)| evaluate_expression(written, context).is_none()) {
            let written = hcl::format::to_string(whole).unwrap_or_default();
            for function in called_functions(&written) {
                if is_builtin_function(function) || self.functions.defines(function) {
                    continue;
                }
                let place = self.call_position(target, function);
                let (key, target, function) = (key.clone(), target.to_owned(), function.to_owned());
                let cause = Cause::FunctionNotComputed { key: key.clone(), target, function: function.clone(), place };
                notes.insert((key, function), cause);
            }
            let parts: Vec<&Expression> = match whole {
                Expression::Object(entries) => entries.values().collect(),
                one => vec![one],
            };
            for (at, why) in
                parts.into_iter().filter_map(|one| self.failure_note(target, key, one, context)).enumerate()
            {
                notes.insert((key.clone(), format!("({at}")), why);
            }
        }
        notes.into_iter().map(|((attribute, _), note)| (attribute, note)).collect()
    }

    /// Returns a note about a function that rejects its arguments, in an attribute or in a variable that it refers
    /// to.
    pub(super) fn failure_note(
        &self,
        target: &str,
        key: &str,
        written: &Expression,
        context: &Context<'_>,
    ) -> Option<Cause> {
        let mut written = written.clone();
        for _ in 0..MAX_VARIABLE_DEPTH {
            match evaluation_failure(&written, context)? {
                EvaluationFailure::Function(function, error) => {
                    let place = self.call_position(target, &function).into();
                    let (key, target) = (key.into(), target.into());
                    let (function, error) = (function.into(), error.into());
                    return Some(Cause::FunctionFails { key, target, function, error, place });
                }
                EvaluationFailure::Variable(name) => {
                    let (_, default) = self.variables.iter().find(|(own, _)| *own == name)?;
                    written = self.functions.evaluate_calls(default.as_ref()?, context);
                }
            }
        }
        None
    }

    /// Returns the position of a call as ` (file:line:column)`; empty if it is not found.
    fn call_position(&self, target: &str, function: &str) -> String {
        let call = format!("{function}(");
        let found = |(name, text): &(String, String)| {
            let start = text.find(&format!("\"{target}\"")).unwrap_or(0);
            let at = text.get(start..)?.find(&call).map(|at| at + start).or_else(|| text.find(&call))?;
            let before = text.get(..at)?;
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Some(format!(" ({name}:{line}:{column})"))
        };
        self.texts.iter().find_map(found).unwrap_or_default()
    }
}

/// Returns the names of the functions that an expression calls.
fn called_functions(written: &str) -> impl Iterator<Item = &str> {
    written.match_indices('(').filter_map(|(at, _)| {
        let before = written.get(..at)?;
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        before.rsplit(|c| !part(c)).next().filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}
