//! Descriptions of the functions and operators of conditions: syntax, arguments, result and meaning.

use crate::rules::value::ValueType;

/// A function of conditions.
#[derive(Clone, Copy, Debug)]
pub struct ConditionFunction {
    /// The name.
    pub name: &'static str,
    /// The type of each argument.
    pub takes: &'static [&'static str],
    /// The type of the result.
    pub gives: ValueType,
    /// The meaning.
    pub doc: &'static str,
    /// An example of a call.
    pub example: &'static str,
}

impl ConditionFunction {
    /// Returns the name, arguments and result: `major(version) → number`.
    pub fn signature(&self) -> String {
        format!("{}({}) → {}", self.name, self.takes.join(", "), self.gives)
    }
}

/// An operator of conditions.
#[derive(Clone, Copy, Debug)]
pub struct ConditionOperator {
    /// The operator itself, such as `&&`.
    pub sign: &'static str,
    /// The operator with its operands.
    pub form: &'static str,
    /// The meaning.
    pub doc: &'static str,
}

/// Returns the function of that name.
pub(super) fn find_function(name: &str) -> Option<&'static ConditionFunction> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Returns a function description from its parts.
const fn function_entry(
    name: &'static str,
    takes: &'static [&'static str],
    gives: ValueType,
    doc: &'static str,
    example: &'static str,
) -> ConditionFunction {
    ConditionFunction { name, takes, gives, doc, example }
}

/// All functions of conditions.
pub(super) const FUNCTIONS: &[ConditionFunction] = &[
    function_entry(
        "version",
        &["string"],
        ValueType::Version,
        "the numbers at the start of a string: 2.1.0 for `2.1.0+cu121` and `2.1.0rc1`; unknown without numbers. 12.10 is \
         newer than 12.4",
        "version(torch.version) >= version(\"2.0\")",
    ),
    function_entry(
        "major",
        &["version"],
        ValueType::Number,
        "the first number of a version",
        "major(image.base.cuda) == 12",
    ),
    function_entry("minor", &["version"], ValueType::Number, "the second number, or 0", "minor(torch.cuda) < 4"),
    function_entry("date", &["literal string"], ValueType::Date, "a date", "day >= date(\"2026-01-31\")"),
    function_entry(
        "known",
        &["fact"],
        ValueType::Bool,
        "whether the fact is known or absent; always true or false",
        "known(torch.version)",
    ),
    function_entry(
        "present",
        &["fact"],
        ValueType::Bool,
        "whether the fact has a value; unknown if the fact is unknown",
        "present(package(\"flash-attn\"))",
    ),
    function_entry(
        "matches",
        &["text", "literal pattern"],
        ValueType::Bool,
        "whether the regular expression matches a part of the string",
        "matches(image.base.tag, r\"^12\\.\")",
    ),
    function_entry(
        "contains",
        &["list", "string"],
        ValueType::Bool,
        "whether the list contains the string; unknown if an incomplete list does not contain it",
        "contains(image.packages, \"cuda-drivers\")",
    ),
    function_entry(
        "any_matches",
        &["list", "literal pattern"],
        ValueType::Bool,
        "whether the regular expression matches an entry; unknown if an incomplete list has no match",
        "any_matches(arch_list.entries, r\"^7\\.\")",
    ),
    function_entry(
        "size",
        &["list"],
        ValueType::Number,
        "number of entries; unknown for an incomplete list",
        "size(image.compat.libraries) > 1",
    ),
    function_entry(
        "package",
        &["literal string"],
        ValueType::Text,
        "the version of a package, from any package manager; unknown if another package may install it, absent if the \
         list is complete. `contains(image.packages.named, …)` tests named packages only",
        "version(package(\"onnxruntime-gpu\")) < version(\"1.19\")",
    ),
    function_entry(
        "components.exists",
        &["name", "condition"],
        ValueType::Bool,
        "whether the condition is true for a component; `c.name` is its `component.name`",
        "components.exists(c, c.name == \"torch\")",
    ),
    function_entry(
        "components.all",
        &["name", "condition"],
        ValueType::Bool,
        "whether the condition is true for every component",
        "components.all(c, present(c.cuda))",
    ),
];

/// Returns an operator description from its parts.
const fn operator_entry(sign: &'static str, form: &'static str, doc: &'static str) -> ConditionOperator {
    ConditionOperator { sign, form, doc }
}

/// All operators of conditions, in order of increasing precedence.
pub(super) const OPERATORS: &[ConditionOperator] = &[
    operator_entry("||", "condition || condition", "one of them is true; the other may be unknown"),
    operator_entry("&&", "condition && condition", "both are true; false if one is false"),
    operator_entry("==", "value == value", "both sides have the same type and value; false if one is absent"),
    operator_entry(
        "!=",
        "value != value",
        "both sides have the same type and different values; false if one is absent",
    ),
    operator_entry("<", "value < value", "versions, numbers and dates: less, or earlier"),
    operator_entry("<=", "value <= value", "versions, numbers and dates: at most"),
    operator_entry(">", "value > value", "versions, numbers and dates: more, or later"),
    operator_entry(">=", "value >= value", "versions, numbers and dates: at least"),
    operator_entry("!", "!condition", "the condition is false; unknown stays unknown"),
];
