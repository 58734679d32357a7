//! Dockerfiles: reading them with a span for every word, and working out what they say.

mod ast;
mod complaint;
mod control;
mod evaluate;
mod expand;
mod heredoc;
mod json;
mod lines;
mod mapped;
mod parse;
mod pattern;
mod scope;
#[cfg(test)]
mod tests;
mod words;

pub use ast::Dockerfile;
pub use ast::Flag;
pub use ast::Heredoc;
pub use ast::Instruction;
pub use ast::Kind;
pub use ast::Problem;
pub use ast::Stage;
pub use control::Control;
pub use control::Ignored;
pub use control::Order;
pub use evaluate::BaseKind;
pub use evaluate::CopyInstruction;
pub use evaluate::EnvSet;
pub use evaluate::EvaluateError;
pub use evaluate::EvaluateOptions;
pub use evaluate::Evaluated;
pub use evaluate::EvaluatedBase;
pub use evaluate::RunForm;
pub use evaluate::RunInstruction;
pub use expand::Dialect;
pub use expand::Lookup;
pub use expand::Resolved;
pub use expand::expand;
pub use json::json_array;
pub use mapped::Mapped;
pub use mapped::Piece;
pub use scope::Scope;
pub use words::Pair;
pub use words::pairs;
pub use words::quoted_words;
pub use words::split_whitespace;
