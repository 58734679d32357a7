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
        &["text"],
        Type::Version,
        "the numbers with dots that a text begins with: 2.1.0 of `2.1.0+cu121` and of `2.1.0rc1`; not known where there \
         are none. Ordered by number, so 12.10 comes after 12.4",
        "version(torch.version) >= version(\"2.0\")",
    ),
    entry("major", &["version"], Type::Number, "the first number of a version", "major(image.base.cuda) == 12"),
    entry("minor", &["version"], Type::Number, "the second number, 0 where there is none", "minor(torch.cuda) < 4"),
    entry("date", &["text, written out"], Type::Date, "a day", "day >= date(\"2026-01-31\")"),
    entry(
        "known",
        &["fact"],
        Type::Bool,
        "whether it was found out, be it that it is absent; always true or false",
        "known(torch.version)",
    ),
    entry(
        "present",
        &["fact"],
        Type::Bool,
        "whether it has a value; unknown where that was not found out",
        "present(package(\"flash-attn\"))",
    ),
    entry(
        "matches",
        &["text", "pattern, written out"],
        Type::Bool,
        "whether the regular expression is found in the text",
        "matches(image.base.tag, r\"^12\\.\")",
    ),
    entry(
        "contains",
        &["list", "text"],
        Type::Bool,
        "whether the list has the text; unknown where it has not, and not all of the list was seen",
        "contains(image.packages, \"cuda-drivers\")",
    ),
    entry(
        "any_matches",
        &["list", "pattern, written out"],
        Type::Bool,
        "whether the regular expression is found in a text of the list; unknown where not, and not all of it was seen",
        "any_matches(arch_list.entries, r\"^7\\.\")",
    ),
    entry(
        "size",
        &["list"],
        Type::Number,
        "how many texts the list has; not known where not all of it was seen",
        "size(image.compat.libraries) > 1",
    ),
    entry(
        "package",
        &["text, written out"],
        Type::Text,
        "the version of a package, by whichever manager; unknown where it is not named and another may bring it along, \
         absent where all that is installed was seen; `contains(image.packages.named, …)` asks for what is named",
        "version(package(\"onnxruntime-gpu\")) < version(\"1.19\")",
    ),
    entry(
        "components.exists",
        &["name", "condition"],
        Type::Bool,
        "whether the condition holds for a component; the name stands for it: `c.name` is `component.name`",
        "components.exists(c, c.name == \"torch\")",
    ),
    entry(
        "components.all",
        &["name", "condition"],
        Type::Bool,
        "whether the condition holds for every component",
        "components.all(c, present(c.cuda))",
    ),
];

const fn sign(sign: &'static str, form: &'static str, doc: &'static str) -> Sign {
    Sign { sign, form, doc }
}

/// All operators, those that bind least first.
pub(super) const SIGNS: &[Sign] = &[
    sign("||", "condition || condition", "either holds; decided where one holds, whatever is not known of the other"),
    sign("&&", "condition && condition", "both hold; decided where one does not hold"),
    sign("==", "value == value", "both sides are of one type and alike; does not hold where one is absent"),
    sign("!=", "value != value", "both sides are of one type and differ; does not hold where one is absent"),
    sign("<", "value < value", "versions, numbers and dates: less, or earlier"),
    sign("<=", "value <= value", "versions, numbers and dates: at most"),
    sign(">", "value > value", "versions, numbers and dates: more, or later"),
    sign(">=", "value >= value", "versions, numbers and dates: at least"),
    sign("!", "!condition", "it does not hold; unknown stays unknown"),
];
