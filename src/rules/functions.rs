//! Functions and operators of conditions: how they are written, what they take and give, and what they mean.

use crate::rules::value::Type;

/// A function of conditions.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What it takes, argument by argument.
    pub takes: &'static [&'static str],
    /// What it gives.
    pub gives: Type,
    /// What it means.
    pub doc: &'static str,
    /// How it is written.
    pub example: &'static str,
}

impl Function {
    /// Name, arguments and result: `major(version) → number`.
    pub fn signature(&self) -> String {
        format!("{}({}) → {}", self.name, self.takes.join(", "), self.gives)
    }
}

/// An operator of conditions.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// How it is written.
    pub sign: &'static str,
    /// What stands on its sides.
    pub form: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// The function of that name.
pub(super) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

const fn entry(
    name: &'static str,
    takes: &'static [&'static str],
    gives: Type,
    doc: &'static str,
    example: &'static str,
) -> Function {
    Function { name, takes, gives, doc, example }
}

/// All functions.
pub(super) const FUNCTIONS: &[Function] = &[
    entry(
        "version",
        &["string"],
        Type::Version,
        "the numbers at the start of a string: 2.1.0 for `2.1.0+cu121` and `2.1.0rc1`; unknown without numbers. 12.10 is \
         newer than 12.4",
        "version(torch.version) >= version(\"2.0\")",
    ),
    entry("major", &["version"], Type::Number, "the first number of a version", "major(image.base.cuda) == 12"),
    entry("minor", &["version"], Type::Number, "the second number, or 0", "minor(torch.cuda) < 4"),
    entry("date", &["literal string"], Type::Date, "a date", "day >= date(\"2026-01-31\")"),
    entry(
        "known",
        &["fact"],
        Type::Bool,
        "whether the fact is known or absent; always true or false",
        "known(torch.version)",
    ),
    entry(
        "present",
        &["fact"],
        Type::Bool,
        "whether the fact has a value; unknown if the fact is unknown",
        "present(package(\"flash-attn\"))",
    ),
    entry(
        "matches",
        &["text", "literal pattern"],
        Type::Bool,
        "whether the regular expression matches a part of the string",
        "matches(image.base.tag, r\"^12\\.\")",
    ),
    entry(
        "contains",
        &["list", "string"],
        Type::Bool,
        "whether the list contains the string; unknown if an incomplete list does not contain it",
        "contains(image.packages, \"cuda-drivers\")",
    ),
    entry(
        "any_matches",
        &["list", "literal pattern"],
        Type::Bool,
        "whether the regular expression matches an entry; unknown if an incomplete list has no match",
        "any_matches(arch_list.entries, r\"^7\\.\")",
    ),
    entry(
        "size",
        &["list"],
        Type::Number,
        "number of entries; unknown for an incomplete list",
        "size(image.compat.libraries) > 1",
    ),
    entry(
        "package",
        &["literal string"],
        Type::Text,
        "the version of a package, from any package manager; unknown if another package may install it, absent if the \
         list is complete. `contains(image.packages.named, …)` tests named packages only",
        "version(package(\"onnxruntime-gpu\")) < version(\"1.19\")",
    ),
    entry(
        "components.exists",
        &["name", "condition"],
        Type::Bool,
        "whether the condition is true for a component; `c.name` is its `component.name`",
        "components.exists(c, c.name == \"torch\")",
    ),
    entry(
        "components.all",
        &["name", "condition"],
        Type::Bool,
        "whether the condition is true for every component",
        "components.all(c, present(c.cuda))",
    ),
];

const fn sign(sign: &'static str, form: &'static str, doc: &'static str) -> Sign {
    Sign { sign, form, doc }
}

/// All operators, those that bind least first.
pub(super) const SIGNS: &[Sign] = &[
    sign("||", "condition || condition", "one of them is true; the other may be unknown"),
    sign("&&", "condition && condition", "both are true; false if one is false"),
    sign("==", "value == value", "both sides have the same type and value; false if one is absent"),
    sign("!=", "value != value", "both sides have the same type and different values; false if one is absent"),
    sign("<", "value < value", "versions, numbers and dates: less, or earlier"),
    sign("<=", "value <= value", "versions, numbers and dates: at most"),
    sign(">", "value > value", "versions, numbers and dates: more, or later"),
    sign(">=", "value >= value", "versions, numbers and dates: at least"),
    sign("!", "!condition", "the condition is false; unknown stays unknown"),
];
