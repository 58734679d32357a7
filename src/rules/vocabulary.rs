//! The closed list of names that conditions, messages and `blame` may use.

use crate::fleet::Launch;
use crate::fleet::Mode;
use crate::nearest::nearest;
use crate::outcome::Outcome;
use crate::rules::functions::FUNCTIONS;
use crate::rules::functions::Function;
use crate::rules::functions::SIGNS;
use crate::rules::functions::Sign;
use crate::rules::value::Type;
use crate::rules::words::ENTRIES;
use crate::rules::words::FATES;
use crate::rules::words::RESULTS;

/// One name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name; one that ends in `.*` stands for all names that begin so.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Unit or form of the value; empty where the meaning says it.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Which kinds of evidence give it.
    pub origin: &'static [&'static str],
}

/// A list of names.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// All names.
    pub entries: &'static [Entry],
    /// All functions.
    pub functions: &'static [Function],
    /// All operators.
    pub signs: &'static [Sign],
}

impl Vocabulary {
    /// The vocabulary of the pages.
    pub const fn built_in() -> Self {
        Self { entries: ENTRIES, functions: FUNCTIONS, signs: SIGNS }
    }

    /// The entry that a name falls under.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| match entry.name.strip_suffix('*') {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && !rest.contains('.')),
            None => entry.name == name,
        })
    }

    /// All values that a fact may have, of one that has a closed list of them.
    pub fn words(&self, name: &str) -> Option<Vec<&'static str>> {
        match name {
            "verdict.outcome" => Some(Outcome::ALL.iter().map(|outcome| outcome.name()).collect()),
            "verdict.fate" => Some(FATES.split(", ").collect()),
            "pool.launch" => Some(Launch::WORDS.to_vec()),
            "pool.mode" => Some(Mode::WORDS.to_vec()),
            _ if name.starts_with("step.") => Some(RESULTS.split(", ").collect()),
            _ => None,
        }
    }

    /// The name most like a wrong one.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.entries.iter().map(|entry| entry.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_exactly_one_further_word() {
        let words = Vocabulary::built_in();
        assert_eq!(words.find("image.env.NVIDIA_REQUIRE_CUDA").map(|entry| entry.kind), Some(Type::Text));
        for name in ["image.env", "image.env.", "image.env.a.b", "image.bas", "", "*"] {
            assert!(words.find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_name_is_listed_twice() {
        for (at, entry) in ENTRIES.iter().enumerate() {
            assert!(ENTRIES[at + 1..].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn every_example_of_a_function_can_be_read_and_says_its_arguments() {
        let words = Vocabulary::built_in();
        for function in words.functions {
            let condition = match function.gives {
                Type::Bool => function.example.to_owned(),
                _ => format!("({}) == true", function.example),
            };
            let read = crate::rules::expr::Condition::parse(&condition, &words);
            assert!(read.is_ok(), "{}: {read:?}", function.example);
            assert!(function.example.contains(&format!("{}(", function.name)), "{}", function.example);
        }
    }

    #[test]
    fn every_entry_says_where_it_comes_from() {
        for entry in ENTRIES {
            assert!(!entry.origin.is_empty() && !entry.doc.is_empty() && !entry.doc.ends_with('.'), "{}", entry.name);
        }
    }
}
