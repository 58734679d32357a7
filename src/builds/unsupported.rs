//! What of a bake file imagelint does not compute: notes with their places.

use std::collections::BTreeMap;

use hcl::Expression;
use hcl::eval::Context;

use crate::builds::bake::Attributes;
use crate::builds::bake::File;
use crate::builds::expression::Failure;
use crate::builds::expression::evaluate;
use crate::builds::expression::failure;
use crate::builds::expression::is_computed;

/// Variables that name one another more often go round in circles.
const DEEPEST: usize = 8;

impl File {
    /// A note for each attribute without a value: the function that imagelint does not compute, or the one that refuses
    /// its arguments, with its first place in or after the target.
    pub(super) fn unsupported(&self, target: &str, attributes: &Attributes, context: &Context<'_>) -> Vec<String> {
        let mut notes = BTreeMap::new();
        for (key, whole) in attributes.iter().filter(|(_, written)| evaluate(written, context).is_none()) {
            let written = hcl::format::to_string(whole).unwrap_or_default();
            for function in functions_in(&written) {
                if is_computed(function) || self.functions.defines(function) {
                    continue;
                }
                let place = self.place(target, function);
                let note =
                    format!("`{key}` of target `{target}` is unknown: imagelint does not compute `{function}`{place}");
                notes.insert((key.clone(), function.to_owned()), note);
            }
            let parts: Vec<&Expression> = match whole {
                Expression::Object(entries) => entries.values().collect(),
                one => vec![one],
            };
            for (at, why) in parts.into_iter().filter_map(|one| self.refused(target, key, one, context)).enumerate() {
                notes.insert((key.clone(), format!("({at}")), why);
            }
        }
        notes.into_values().collect()
    }

    /// Why an attribute has no value: a function refuses its arguments, in it or in a variable that it names.
    pub(super) fn refused(
        &self,
        target: &str,
        key: &str,
        written: &Expression,
        context: &Context<'_>,
    ) -> Option<String> {
        let mut written = written.clone();
        for _ in 0..DEEPEST {
            match failure(&written, context)? {
                Failure::Function(function, why) => {
                    let place = self.place(target, &function);
                    return Some(format!("`{key}` of target `{target}` is unknown: `{function}` fails: {why}{place}"));
                }
                Failure::Variable(name) => {
                    let (_, default) = self.variables.iter().find(|(own, _)| *own == name)?;
                    written = self.functions.called(default.as_ref()?, context);
                }
            }
        }
        None
    }

    /// ` (file:line:column)` of a call, empty where no text has it.
    fn place(&self, target: &str, function: &str) -> String {
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

/// The names that an expression calls as functions.
fn functions_in(written: &str) -> impl Iterator<Item = &str> {
    written.match_indices('(').filter_map(|(at, _)| {
        let before = written.get(..at)?;
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        before.rsplit(|c| !part(c)).next().filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}
