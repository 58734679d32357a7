//! Rule pages: what they say, when they speak, and the book that they make up.

mod blocks;
mod book;
mod builtin;
mod check;
mod docs;
mod eval;
mod example;
mod expr;
#[cfg(test)]
mod expr_tests;
mod functions;
mod header;
mod lexer;
mod page;
#[cfg(test)]
mod page_tests;
mod parser;
mod problem;
mod template;
mod value;
mod vocabulary;
mod words;

pub use self::book::RuleBook;
pub use self::docs::rule_table;
pub use self::docs::vocabulary_tables;
pub use self::example::Example;
pub use self::example::ExampleInput;
pub use self::example::Expectation;
pub use self::example::Level;
pub use self::expr::Condition;
pub use self::expr::Misfit;
pub use self::functions::Function;
pub use self::functions::Sign;
pub use self::header::Kind;
pub use self::header::Notice;
pub use self::header::Persona;
pub use self::header::Severity;
pub use self::page::Page;
pub use self::page::Sections;
pub use self::problem::Fault;
pub use self::problem::PageError;
pub use self::template::Template;
pub use self::value::Components;
pub use self::value::Lookup;
pub use self::value::Scope;
pub use self::value::Truth;
pub use self::value::Type;
pub use self::value::Value;
pub use self::vocabulary::Entry;
pub use self::vocabulary::Vocabulary;
