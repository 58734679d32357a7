//! The environment in which a container starts: the image's, with the pool's over it.

use crate::cuda::Environment;
use crate::cuda::entries_from;
use crate::fact::EnvFacts;
use crate::fleet::Host;
use crate::fleet::PoolEntry;
use crate::start::Basis;
use crate::start::Replay;

/// A view of it; nothing is copied.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    image: &'a EnvFacts,
    host: &'a Host,
}

impl<'a> Env<'a> {
    /// That of an image on a host.
    pub(super) fn new(image: &'a EnvFacts, host: &'a Host) -> Self {
        Self { image, host }
    }

    /// That of a replay.
    pub(super) fn of(replay: Replay<'a>) -> Self {
        Self::new(&replay.image.env, replay.host)
    }

    /// The value of a variable that outlives the view.
    pub(super) fn value(self, name: &str) -> Option<&'a str> {
        let own = self.host.env.get(name).map(String::as_str);
        own.or_else(|| self.image.get(name).known().map(String::as_str))
    }

    /// A variable of which the value cannot be told.
    pub(super) fn untold(self, name: &str) -> Option<Basis> {
        let fact = self.image.get(name);
        (fact.is_unknown() && !self.host.env.contains_key(name)).then_some(Basis::Image(fact.id))
    }

    /// A variable that is set, to a value that cannot be told.
    pub(super) fn set_untold(self, name: &str) -> Option<Basis> {
        let set = self.image.own(name).is_some();
        self.untold(name).filter(|_| set)
    }

    /// What is missing to say whether the toolkit takes the image for one from before `NVIDIA_REQUIRE_CUDA`.
    pub(super) fn untold_age(self) -> Option<Basis> {
        let may = |name: &str| self.untold(name).is_some() || self.filled(name);
        if self.filled("NVIDIA_REQUIRE_CUDA") || !may("CUDA_VERSION") {
            return None;
        }
        ["CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"].into_iter().find_map(|name| self.untold(name))
    }

    /// Where the value of a variable, or its absence, comes from.
    pub(super) fn basis(self, name: &str) -> Basis {
        variable_of(self.host, name).unwrap_or_else(|| Basis::Image(self.image.get(name).id))
    }

    /// The first fact that stands between us and a complete list of the variables that begin so.
    pub(super) fn untold_among(self, prefix: &'a str) -> Option<Basis> {
        let unknown =
            self.image.beginning(prefix).find(|(name, fact)| fact.is_unknown() && !self.host.env.contains_key(*name));
        let others = &self.image.others;
        unknown.map(|(_, fact)| Basis::Image(fact.id)).or(others.is_unknown().then_some(Basis::Image(others.id)))
    }
}

/// A variable that the pool sets, with its own place.
pub(super) fn variable_of(host: &Host, name: &str) -> Option<Basis> {
    host.env.keys().position(|own| own == name).map(|before| Basis::Entry(PoolEntry::Variable(before)))
}

impl Environment for Env<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.value(name)
    }

    fn untold(&self, name: &str) -> bool {
        Env::untold(*self, name).is_some()
    }

    fn beginning<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let own = entries_from(&self.host.env, prefix).map(|(name, value)| (name, value.as_str()));
        let image = self
            .image
            .beginning(prefix)
            .filter(|(name, _)| !self.host.env.contains_key(*name))
            .filter_map(|(name, fact)| Some((name, fact.known()?.as_str())));
        own.chain(image)
    }
}
