//! Rule pages: their conditions, messages and examples, and the collection of all pages.

mod builtin;
mod condition;
mod condition_lexer;
mod condition_parser;
#[cfg(test)]
mod condition_tests;
mod docs;
mod example;
mod explain;
mod functions;
mod markdown;
mod page;
mod page_error;
mod page_header;
#[cfg(test)]
mod page_tests;
mod pattern;
mod rule_book;
mod template;
mod value;
mod vocabulary;

pub use self::condition::{FactTypeMismatch, RuleCondition};
pub use self::docs::{rule_table, vocabulary_tables, web_book};
pub use self::example::{Example, ExampleInput, Expectation, Level};
pub use self::explain::{
    MatchKind, PageMatch, describe_launch_method, explain_report_term, explain_text, find_deciding_line,
    find_launch_method, find_verdict_term, matching_errors, matching_log_messages, misspelled_page, similar_names,
};
pub use self::functions::{ConditionFunction, ConditionOperator};
pub use self::page::{PageSections, RulePage};
pub use self::page_error::{Fault, RulePageError};
pub use self::page_header::{FixKind, Notice, PageKind, Persona, Severity, Status};
pub use self::rule_book::{RuleBook, is_rule_page};
pub use self::template::MessageTemplate;
pub use self::value::{ComponentScopes, FactLookup, FactScope, FactValue, Truth, ValueType};
pub use self::vocabulary::{Vocabulary, VocabularyEntry};
