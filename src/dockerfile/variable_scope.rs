//! The variables that are visible at a point in a Dockerfile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cause::Cause;
use crate::dockerfile::base_variables::may_be_set;
use crate::dockerfile::{
    BASE_MARK, BaseEnvAssumption, Dialect, ExpandedText, MappedText, VariableLookup, expand_variables,
};
use crate::source::Span;

/// The ENV and ARG values that are visible at one point; an ENV hides an ARG of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableScope {
    pub(super) env: BTreeMap<String, ExpandedText>,
    /// `None` is an ARG without a value.
    pub(super) args: BTreeMap<String, Option<ExpandedText>>,
    /// What a base image sets of names that are not here; none where there is no base image.
    pub(super) base_env: Option<BaseEnvAssumption>,
    /// The names that the base image sets, where all of them are known.
    pub(super) of_base: Option<&'static [&'static str]>,
    /// The arguments in front of the first FROM, which no stage sees that does not declare them.
    pub(super) hidden: Arc<BTreeSet<String>>,
    /// Whether this is the scope in front of the first FROM.
    pub(super) global: bool,
}

impl VariableScope {
    /// Looks up a variable.
    pub fn lookup(&self, name: &str) -> VariableLookup {
        match self.env.get(name).or_else(|| self.args.get(name).and_then(Option::as_ref)) {
            Some(ExpandedText::Known { value, origins }) => VariableLookup::Known(value.clone(), origins.clone()),
            Some(ExpandedText::Unresolved { names, reason }) => {
                let names = if names.is_empty() { vec![name.to_owned()] } else { names.clone() };
                VariableLookup::Unknown(names, (**reason).clone())
            }
            None if self.global || self.args.contains_key(name) => VariableLookup::NoValue,
            None if self.hidden.contains(name) && self.is_set_nowhere(name) => VariableLookup::Unset,
            None => match self.base_env {
                Some(BaseEnvAssumption::Unseen) => {
                    let reason = if self.is_set_nowhere(name) { Cause::SetNowhere } else { Cause::OnlyBaseSets };
                    VariableLookup::Unknown(vec![name.to_owned()], reason)
                }
                Some(BaseEnvAssumption::Named) => {
                    VariableLookup::Known(format!("{BASE_MARK}{name}{BASE_MARK}"), Vec::new())
                }
                Some(BaseEnvAssumption::Empty) | None => VariableLookup::Unset,
            },
        }
    }

    /// Whether neither the file so far nor the base image nor a shell sets a variable.
    pub fn is_set_nowhere(&self, name: &str) -> bool {
        let set = self.env.contains_key(name) || self.args.contains_key(name);
        !set && self.of_base.is_some_and(|names| !may_be_set(names, name))
    }

    /// Returns the value of an ENV variable.
    pub fn env(&self, name: &str) -> Option<&ExpandedText> {
        self.env.get(name)
    }

    /// Expands a text by the Dockerfile rules; `at` is added to the source spans of a known value.
    pub(super) fn expand(&self, text: &MappedText, escape: char, at: Option<Span>) -> ExpandedText {
        let mut resolved = expand_variables(text.text(), Dialect::Dockerfile(escape), &|name| self.lookup(name));
        if let (ExpandedText::Known { origins, .. }, Some(at)) = (&mut resolved, at)
            && !origins.contains(&at)
        {
            origins.push(at);
        }
        resolved
    }
}
