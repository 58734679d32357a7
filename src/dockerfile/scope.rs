//! The variables that hold at a place in a Dockerfile.

use std::collections::BTreeMap;

use crate::dockerfile::BASE_MARK;
use crate::dockerfile::BaseEnv;
use crate::dockerfile::Dialect;
use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::expand;
use crate::source::Span;

/// Why a variable is not known that nothing in sight sets.
pub const ONLY_THE_BASE: &str = "only the base image could set it";

/// ENV and ARG values that hold at one place; an ENV hides an ARG of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub(super) env: BTreeMap<String, Resolved>,
    /// `None` is an ARG without a value.
    pub(super) args: BTreeMap<String, Option<Resolved>>,
    /// What a base image sets of names that are not here; none where there is no base image.
    pub(super) base_env: Option<BaseEnv>,
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
            None => match self.base_env {
                Some(BaseEnv::Unseen) => Lookup::Unknown(vec![name.to_owned()], ONLY_THE_BASE.to_owned()),
                Some(BaseEnv::Named) => Lookup::Known(format!("{BASE_MARK}{name}{BASE_MARK}"), Vec::new()),
                Some(BaseEnv::Empty) | None => Lookup::Unset,
            },
        }
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
