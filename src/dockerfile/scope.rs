//! The variables that hold at a place in a Dockerfile.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::dockerfile::BASE_MARK;
use crate::dockerfile::BaseEnv;
use crate::dockerfile::Dialect;
use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::expand;
use crate::dockerfile::tabled::may_set;
use crate::source::Span;

/// Why a variable is not known that nothing in sight sets.
pub const ONLY_THE_BASE: &str = "only the base image could set it";

/// Why a variable has no value that neither the file nor its base sets: a use with a default takes that.
pub const SET_NOWHERE: &str = "neither the file nor its base image sets it";

/// ENV and ARG values that hold at one place; an ENV hides an ARG of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub(super) env: BTreeMap<String, Resolved>,
    /// `None` is an ARG without a value.
    pub(super) args: BTreeMap<String, Option<Resolved>>,
    /// What a base image sets of names that are not here; none where there is no base image.
    pub(super) base_env: Option<BaseEnv>,
    /// The names that the base image sets, where all of them are known.
    pub(super) of_base: Option<&'static [&'static str]>,
    /// The arguments in front of the first FROM, which no stage sees that does not declare them.
    pub(super) hidden: Arc<BTreeSet<String>>,
    /// Whether this is the scope in front of the first FROM.
    pub(super) global: bool,
}

impl Scope {
    /// What is known of a variable.
    pub fn lookup(&self, name: &str) -> Lookup {
        match self.env.get(name).or_else(|| self.args.get(name).and_then(Option::as_ref)) {
            Some(Resolved::Known { value, origins }) => Lookup::Known(value.clone(), origins.clone()),
            Some(Resolved::Unresolved { names, reason }) => {
                let names = if names.is_empty() { vec![name.to_owned()] } else { names.clone() };
                Lookup::Unknown(names, reason.clone())
            }
            None if self.global || self.args.contains_key(name) => Lookup::NoValue,
            None if self.hidden.contains(name) && self.is_free(name) => Lookup::Unset,
            None => match self.base_env {
                Some(BaseEnv::Unseen) => {
                    let reason = if self.is_free(name) { SET_NOWHERE } else { ONLY_THE_BASE };
                    Lookup::Unknown(vec![name.to_owned()], reason.to_owned())
                }
                Some(BaseEnv::Named) => Lookup::Known(format!("{BASE_MARK}{name}{BASE_MARK}"), Vec::new()),
                Some(BaseEnv::Empty) | None => Lookup::Unset,
            },
        }
    }

    /// Whether neither the file so far nor its base nor a shell sets a variable.
    pub fn is_free(&self, name: &str) -> bool {
        let set = self.env.contains_key(name) || self.args.contains_key(name);
        !set && self.of_base.is_some_and(|names| !may_set(names, name))
    }

    /// The value of an ENV variable.
    pub fn env(&self, name: &str) -> Option<&Resolved> {
        self.env.get(name)
    }

    /// A text expanded by the Dockerfile's rules; `at` becomes one more origin of a known value.
    pub(super) fn expand(&self, text: &Mapped, escape: char, at: Option<Span>) -> Resolved {
        let mut resolved = expand(text.text(), Dialect::Dockerfile(escape), &|name| self.lookup(name));
        if let (Resolved::Known { origins, .. }, Some(at)) = (&mut resolved, at)
            && !origins.contains(&at)
        {
            origins.push(at);
        }
        resolved
    }
}
