//! Access to the environment variables of a container, independent of their storage.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Environment variables by name.
pub trait EnvironmentVariables {
    /// Returns the value of a variable; `None` if it is unset.
    fn get(&self, name: &str) -> Option<&str>;

    /// Returns every variable whose name starts with a prefix, sorted by name.
    fn with_prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)>;

    /// Whether it is unknown what value a variable has and whether it is set.
    fn is_unknown(&self, _name: &str) -> bool {
        false
    }

    /// Whether a variable is set and not empty.
    fn is_non_empty(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }
}

impl EnvironmentVariables for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }

    fn with_prefix<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        entries_with_prefix(self, prefix).map(|(name, value)| (name, value.as_str()))
    }
}

/// Returns the entries of a map whose names start with a prefix.
pub fn entries_with_prefix<'m, T>(
    map: &'m BTreeMap<String, T>,
    prefix: &'m str,
) -> impl Iterator<Item = (&'m str, &'m T)> {
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
        let found: Vec<&str> = env.with_prefix("NVIDIA_REQUIRE_").map(|(name, _)| name).collect();
        assert_eq!(found, ["NVIDIA_REQUIRE_", "NVIDIA_REQUIRE_CUDA"]);
        assert!(!env.is_non_empty("NVIDIA_REQUIRE_CUDA") && EnvironmentVariables::get(&env, "PATH").is_none());
    }
}
