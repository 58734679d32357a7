//! The vocabulary: the names that conditions, messages and `blame` may use.

use crate::fleet::{Launch, Mode};
use crate::nearest::nearest_word;
use crate::outcome::Outcome;
use crate::rules::functions::{ConditionFunction, ConditionOperator, FUNCTIONS, OPERATORS};
use crate::rules::value::ValueType;
use crate::rules::vocabulary_entries::{POOL_VERDICTS, STEP_RESULTS, VOCABULARY_ENTRIES};

/// A name of the vocabulary, with its type and meaning.
#[derive(Clone, Copy, Debug)]
pub struct VocabularyEntry {
    /// The name; one that ends in `.*` stands for all names with that prefix.
    pub name: &'static str,
    /// The type of the fact.
    pub kind: ValueType,
    /// The unit or form of the value; empty if the meaning includes it.
    pub unit: &'static str,
    /// The meaning.
    pub doc: &'static str,
    /// The kinds of input that determine the fact.
    pub origin: &'static [&'static str],
}

/// The names, functions and operators of conditions.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// All names.
    pub entries: &'static [VocabularyEntry],
    /// All functions.
    pub functions: &'static [ConditionFunction],
    /// All operators.
    pub signs: &'static [ConditionOperator],
}

impl Vocabulary {
    /// Returns the vocabulary of the rule pages.
    pub const fn built_in() -> Self {
        Self { entries: VOCABULARY_ENTRIES, functions: FUNCTIONS, signs: OPERATORS }
    }

    /// Returns the entry for a name.
    pub fn find_entry(&self, name: &str) -> Option<&'static VocabularyEntry> {
        self.entries.iter().find(|entry| match entry.name.strip_suffix('*') {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && !rest.contains('.')),
            None => entry.name == name,
        })
    }

    /// Returns the allowed values of a fact, if they are a closed list.
    pub fn allowed_values(&self, name: &str) -> Option<Vec<&'static str>> {
        match name {
            "verdict.outcome" => Some(Outcome::ALL.iter().map(|outcome| outcome.name()).collect()),
            "verdict.fate" => Some(POOL_VERDICTS.split(", ").collect()),
            "pool.launch" => Some(Launch::WORDS.to_vec()),
            "pool.mode" => Some(Mode::WORDS.to_vec()),
            _ if name.starts_with("step.") => Some(STEP_RESULTS.split(", ").collect()),
            _ => None,
        }
    }

    /// Returns the name that is most similar to a misspelled one.
    pub fn nearest_name(&self, name: &str) -> Option<&'static str> {
        nearest_word(name, self.entries.iter().map(|entry| entry.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_exactly_one_further_word() {
        let words = Vocabulary::built_in();
        assert_eq!(words.find_entry("image.env.NVIDIA_REQUIRE_CUDA").map(|entry| entry.kind), Some(ValueType::Text));
        for name in ["image.env", "image.env.", "image.env.a.b", "image.bas", "", "*"] {
            assert!(words.find_entry(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_name_is_listed_twice() {
        for (at, entry) in VOCABULARY_ENTRIES.iter().enumerate() {
            assert!(VOCABULARY_ENTRIES[at + 1..].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn every_example_of_a_function_can_be_read_and_says_its_arguments() {
        let words = Vocabulary::built_in();
        for function in words.functions {
            let condition = match function.gives {
                ValueType::Bool => function.example.to_owned(),
                _ => format!("({}) == true", function.example),
            };
            let read = crate::rules::condition::RuleCondition::parse(&condition, &words);
            assert!(read.is_ok(), "{}: {read:?}", function.example);
            assert!(function.example.contains(&format!("{}(", function.name)), "{}", function.example);
        }
    }

    #[test]
    fn every_entry_says_where_it_comes_from() {
        for entry in VOCABULARY_ENTRIES {
            assert!(!entry.origin.is_empty() && !entry.doc.is_empty() && !entry.doc.ends_with('.'), "{}", entry.name);
        }
    }
}
