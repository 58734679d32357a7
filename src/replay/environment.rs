//! The environment variables of a container: those of the image, overridden by those of the pool.

use crate::cuda::{EnvironmentVariables, entries_with_prefix};
use crate::fleet::{Host, PoolEntry};
use crate::model::fact::EnvFacts;
use crate::replay::Basis;

/// A borrowed view of the environment variables of a container.
#[derive(Clone, Copy)]
pub(super) struct ContainerEnv<'a> {
    image: &'a EnvFacts,
    host: &'a Host,
}

impl<'a> ContainerEnv<'a> {
    /// Creates the environment of an image on a host.
    pub(super) fn new(image: &'a EnvFacts, host: &'a Host) -> Self {
        Self { image, host }
    }

    /// Returns the value of a variable, borrowed from the image or the host.
    pub(super) fn value(self, name: &str) -> Option<&'a str> {
        let own = self.host.env.get(name).map(String::as_str);
        own.or_else(|| self.image.get(name).known().map(String::as_str))
    }

    /// Returns the fact of a variable whose value is unknown.
    pub(super) fn unknown_variable(self, name: &str) -> Option<Basis> {
        let fact = self.image.get(name);
        (fact.is_unknown() && !self.host.env.contains_key(name)).then_some(Basis::Image(fact.id))
    }

    /// Returns the fact of a variable that is set to an unknown value.
    pub(super) fn unknown_set_variable(self, name: &str) -> Option<Basis> {
        let set = self.image.get_listed(name).is_some();
        self.unknown_variable(name).filter(|_| set)
    }

    /// Returns the fact that is missing to decide whether the toolkit treats the image as legacy, without
    /// `NVIDIA_REQUIRE_CUDA`.
    pub(super) fn missing_legacy_fact(self) -> Option<Basis> {
        let may = |name: &str| self.unknown_variable(name).is_some() || self.is_non_empty(name);
        if self.is_non_empty("NVIDIA_REQUIRE_CUDA") || !may("CUDA_VERSION") {
            return None;
        }
        ["CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"].into_iter().find_map(|name| self.unknown_variable(name))
    }

    /// Returns the fact or pool entry that sets a variable, or leaves it unset.
    pub(super) fn basis(self, name: &str) -> Basis {
        pool_variable(self.host, name).unwrap_or_else(|| Basis::Image(self.image.get(name).id))
    }

    /// Returns the first fact that makes the list of variables with a prefix incomplete.
    pub(super) fn unknown_with_prefix(self, prefix: &'a str) -> Option<Basis> {
        let unknown =
            self.image.with_prefix(prefix).find(|(name, fact)| fact.is_unknown() && !self.host.env.contains_key(*name));
        let others = &self.image.others;
        unknown.map(|(_, fact)| Basis::Image(fact.id)).or(others.is_unknown().then_some(Basis::Image(others.id)))
    }
}

/// Returns the pool entry that sets a variable.
pub(super) fn pool_variable(host: &Host, name: &str) -> Option<Basis> {
    host.env.keys().position(|own| own == name).map(|before| Basis::Entry(PoolEntry::Variable(before)))
}

impl EnvironmentVariables for ContainerEnv<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.value(name)
    }

    fn is_unknown(&self, name: &str) -> bool {
        ContainerEnv::unknown_variable(*self, name).is_some()
    }

    fn with_prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let own = entries_with_prefix(&self.host.env, prefix).map(|(name, value)| (name, value.as_str()));
        let image = self
            .image
            .with_prefix(prefix)
            .filter(|(name, _)| !self.host.env.contains_key(*name))
            .filter_map(|(name, fact)| Some((name, fact.known()?.as_str())));
        own.chain(image)
    }
}
