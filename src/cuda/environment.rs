//! The environment of a container, however it is kept.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Variables by name.
pub trait Environment {
    /// The value of a variable; none where it is unset.
    fn get(&self, name: &str) -> Option<&str>;

    /// Every variable of which the name begins so, by name.
    fn beginning<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)>;

    /// Whether nobody can tell the value of a variable, nor whether it is set.
    fn untold(&self, _name: &str) -> bool {
        false
    }

    /// Whether a variable is set and not empty.
    fn filled(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }
}

impl Environment for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }

    fn beginning<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        entries_from(self, prefix).map(|(name, value)| (name, value.as_str()))
    }
}

/// The entries of a map of which the name begins so.
pub fn entries_from<'m, T>(map: &'m BTreeMap<String, T>, prefix: &'m str) -> impl Iterator<Item = (&'m str, &'m T)> {
    map.range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
        .map(|(name, value)| (name.as_str(), value))
        .take_while(move |(name, _)| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_the_prefix_are_visited() {
        let names = ["NVIDIA_REQUIRE", "NVIDIA_REQUIRE_", "NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIREX", "nvidia_require_x"];
        let env: BTreeMap<String, String> = names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let found: Vec<&str> = env.beginning("NVIDIA_REQUIRE_").map(|(name, _)| name).collect();
        assert_eq!(found, ["NVIDIA_REQUIRE_", "NVIDIA_REQUIRE_CUDA"]);
        assert!(!env.filled("NVIDIA_REQUIRE_CUDA") && Environment::get(&env, "PATH").is_none());
    }
}
