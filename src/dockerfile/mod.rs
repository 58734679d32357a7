//! Parsing of Dockerfiles with source spans, and evaluation of their build targets.

mod argument_words;
mod ast;
mod brace_substitution;
pub mod builds;
pub mod context;
pub mod edit;
mod evaluate;
mod evaluated_target;
mod expand;
mod expanded_text;
mod file_type;
mod heredoc;
mod instruction_check;
mod json_form;
mod lazy_dockerfile;
mod line_lint_comment;
mod mapped_text;
mod parse;
mod platform;
mod shell_pattern;
#[cfg(test)]
mod tests;

pub use argument_words::{NameValuePair, parse_name_value_pairs, quoted_word_ranges, whitespace_word_ranges};
pub use ast::{
    Dockerfile, DockerfileProblem, Heredoc, Instruction, InstructionFlag, InstructionKind, LintComment, LintDirective,
    Stage, SuppressedRule,
};
pub use evaluated_target::{
    BASE_MARK, BaseEnvAssumption, BaseImageEnv, BaseKind, CopyDestination, CopyInstruction, EnvAssignment,
    EvaluateError, EvaluateOptions, EvaluatedBase, EvaluatedTarget, RunForm, RunInstruction, VariableScope,
};
pub use expand::{Dialect, expand_variables, literal_prefix};
pub use expanded_text::{ExpandedText, VariableLookup};
pub use file_type::non_text_reason;
pub use json_form::parse_json_array;
pub use lazy_dockerfile::LazyDockerfile;
pub use line_lint_comment::{LineLintComment, read_line_lint_comments};
pub use mapped_text::{MappedText, SourceSegment};
pub use platform::{PlatformSpecifier, is_canonical_platform};
pub(crate) use shell_pattern::ShellPattern;
