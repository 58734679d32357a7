//! What `BuildKit` refuses in one instruction.

use crate::dockerfile::Flag;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::Problem;
use crate::dockerfile::words::pairs;
use crate::dockerfile::words::split_whitespace;
use crate::nearest::nearest;

/// Every keyword, for the nearest one.
const KEYWORDS: &[&str] = &[
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// How often a flag may stand, and whether it has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `true`, `false` or nothing.
    Switch,
    /// A value, once.
    Value,
    /// A value, as often as wanted.
    Values,
}

/// The first thing that is wrong with an instruction.
pub(super) fn complaint(instruction: &Instruction, escape: char) -> Option<Problem> {
    if let Some(problem) = instruction.flags.iter().find_map(|flag| of_flag(instruction, flag)) {
        return Some(problem);
    }
    let message = of_arguments(instruction, escape)?;
    let empty = instruction.arguments.text().is_empty();
    let word = matches!(instruction.kind, Kind::Unknown(_));
    Some(Problem::new(if empty || word { instruction.keyword } else { instruction.span }, message))
}

fn flags(kind: &Kind) -> &'static [(&'static str, Takes)] {
    match kind {
        Kind::Add => &[
            ("chown", Takes::Value),
            ("chmod", Takes::Value),
            ("link", Takes::Switch),
            ("keep-git-dir", Takes::Switch),
            ("checksum", Takes::Value),
            ("exclude", Takes::Values),
            ("unpack", Takes::Switch),
        ],
        Kind::Copy => &[
            ("from", Takes::Value),
            ("chown", Takes::Value),
            ("chmod", Takes::Value),
            ("link", Takes::Switch),
            ("parents", Takes::Switch),
            ("exclude", Takes::Values),
        ],
        Kind::From => &[("platform", Takes::Value)],
        Kind::Healthcheck => &[
            ("interval", Takes::Value),
            ("timeout", Takes::Value),
            ("start-period", Takes::Value),
            ("start-interval", Takes::Value),
            ("retries", Takes::Value),
        ],
        Kind::Run => &[
            ("mount", Takes::Values),
            ("network", Takes::Value),
            ("security", Takes::Value),
            ("device", Takes::Values),
        ],
        _ => &[],
    }
}

fn of_flag(instruction: &Instruction, flag: &Flag) -> Option<Problem> {
    let (kind, name) = (instruction.kind.name(), &flag.name);
    let known = flags(&instruction.kind);
    let Some((_, takes)) = known.iter().find(|(own, _)| own == name) else {
        let hint = nearest(name, known.iter().map(|(own, _)| *own));
        let hint = hint.map_or_else(String::new, |near| format!("; did you mean `--{near}`?"));
        return Some(Problem::new(flag.span, format!("{kind} has no flag `--{}`{hint}", short(name))));
    };
    let twice = *takes != Takes::Values
        && instruction.flags.iter().any(|other| other.name == *name && other.span.start < flag.span.start);
    let value = flag.value.as_ref().map(|value| value.text().to_ascii_lowercase());
    let message = match (takes, value.as_deref()) {
        _ if twice => format!("the flag `--{name}` stands twice"),
        (Takes::Switch, None | Some("true" | "false")) | (Takes::Value | Takes::Values, Some(_)) => return None,
        (Takes::Switch, Some(_)) => format!("the flag `--{name}` is true or false"),
        (Takes::Value | Takes::Values, None) => format!("the flag `--{name}` has no value"),
    };
    Some(Problem::new(flag.span, message))
}

fn of_arguments(instruction: &Instruction, escape: char) -> Option<String> {
    let arguments = &instruction.arguments;
    let name = instruction.kind.name();
    match &instruction.kind {
        Kind::Unknown(word) => {
            let near = nearest(&word.to_ascii_uppercase(), KEYWORDS.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Some(format!("unknown instruction `{}`{near}", short(word)))
        }
        Kind::From => {
            from(&split_whitespace(arguments.text()).iter().map(|word| arguments.get(word.clone())).collect::<Vec<_>>())
        }
        Kind::Env | Kind::Label => {
            let pairs = pairs(arguments, escape, true);
            match pairs.iter().find(|pair| pair.value.is_none()) {
                Some(_) if pairs.len() == 1 => Some(format!("{name} must have two arguments")),
                Some(pair) => Some(format!("{name}: `{}` has no `=`", short(&pair.name))),
                None if pairs.is_empty() => Some(format!("{name} has no arguments")),
                None => pairs.iter().any(|pair| pair.name.is_empty()).then(|| format!("{name}: a name is empty")),
            }
        }
        Kind::Copy | Kind::Add => {
            let count = instruction.json.as_ref().map_or_else(|| split_whitespace(arguments.text()).len(), Vec::len);
            (count < 2).then(|| format!("{name} takes at least two arguments"))
        }
        Kind::Cmd | Kind::Entrypoint | Kind::Run => None,
        _ if arguments.text().is_empty() => Some(format!("{name} has no arguments")),
        Kind::Arg => {
            let nameless = pairs(arguments, escape, false).iter().any(|pair| pair.name.is_empty());
            nameless.then(|| "ARG: a name is empty".to_owned())
        }
        Kind::Shell => instruction.json.is_none().then(|| "SHELL takes a JSON array alone".to_owned()),
        Kind::Healthcheck => healthcheck(arguments.text()),
        Kind::Onbuild => instruction.child.as_ref().and_then(|child| match child.kind {
            Kind::From | Kind::Maintainer | Kind::Onbuild => {
                Some(format!("{} cannot stand below ONBUILD", child.kind.name()))
            }
            _ => None,
        }),
        _ => None,
    }
}

fn from(words: &[&str]) -> Option<String> {
    match words {
        [_] => None,
        [_, word, stage] if word.eq_ignore_ascii_case("as") => {
            let stage = stage.to_ascii_lowercase();
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if !stage.starts_with(|c: char| c.is_ascii_lowercase()) || !stage.chars().all(fits) {
                return Some(format!(
                    "`{}` cannot name a stage: a letter, then letters, digits, `-`, `_`, `.`",
                    short(&stage)
                ));
            }
            let reserved = matches!(stage.as_str(), "context" | "scratch");
            reserved.then(|| format!("`{stage}` is reserved and cannot name a stage"))
        }
        _ => Some("FROM takes one name, or a name, AS and a stage name".to_owned()),
    }
}

fn healthcheck(arguments: &str) -> Option<String> {
    let (first, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    match first.to_ascii_uppercase().as_str() {
        "NONE" => (!rest.trim().is_empty()).then(|| "HEALTHCHECK NONE takes no arguments".to_owned()),
        "CMD" => rest.trim().is_empty().then(|| "HEALTHCHECK CMD has no command".to_owned()),
        _ => Some("HEALTHCHECK takes NONE or CMD".to_owned()),
    }
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
