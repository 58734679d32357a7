//! What `BuildKit` refuses in one instruction.

use crate::dockerfile::Flag;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::dockerfile::Mapped;
use crate::dockerfile::Problem;
use crate::dockerfile::json::holds_other_than_strings;
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
    // The builder reads past what ARG has none of.
    if instruction.kind == Kind::Arg {
        return None;
    }
    let Some((_, takes)) = known.iter().find(|(own, _)| own == name) else {
        let hint = nearest(name, known.iter().map(|(own, _)| *own));
        let hint = hint.map_or_else(String::new, |near| format!("; did you mean `--{near}`?"));
        return Some(Problem::new(flag.span, format!("{kind} has no flag `--{}`{hint}", short(name))));
    };
    let twice = *takes != Takes::Values
        && instruction.flags.iter().any(|other| other.name == *name && other.span.start < flag.span.start);
    let value = flag.value.as_ref().map(|value| value.text().to_ascii_lowercase());
    let message = match (takes, value.as_deref()) {
        _ if twice => format!("the flag `--{name}` is used twice"),
        (Takes::Switch, None | Some("true" | "false")) => return None,
        (Takes::Value | Takes::Values, Some(_)) => of_value(name, flag.value.as_ref().map_or("", Mapped::text))?,
        (Takes::Switch, Some(_)) => format!("the flag `--{name}` accepts only true or false"),
        (Takes::Value | Takes::Values, None) => format!("the flag `--{name}` requires a value"),
    };
    Some(Problem::new(flag.span, message))
}

/// What is wrong with the value of a flag that takes certain ones alone: nothing is put in for a variable there.
fn of_value(name: &str, value: &str) -> Option<String> {
    let one_of = |words: &str| format!("the flag `--{name}` accepts {words}, not `{}`", short(value));
    match name {
        "network" if !matches!(value, "default" | "none" | "host") => Some(one_of("default, none or host")),
        "security" if !matches!(value, "sandbox" | "insecure") => Some(one_of("sandbox or insecure")),
        "interval" | "timeout" | "start-period" | "start-interval" if !is_period(value) => Some(format!(
            "the flag `--{name}` requires a duration of at least 1ms, such as 30s, not `{}`",
            short(value)
        )),
        "retries" if !value.parse::<i32>().is_ok_and(|count| count >= 0) => {
            Some(format!("the flag `--{name}` requires a number, not `{}`", short(value)))
        }
        _ => None,
    }
}

/// Whether a text is a duration as Go writes one, such as `1m30s`: zero, or a millisecond and more.
fn is_period(text: &str) -> bool {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return true;
    }
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let unit = behind.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit);
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return false,
        };
        let Ok(number) = number.parse::<f64>() else { return false };
        seconds += number * factor;
        rest = behind;
    }
    !text.is_empty() && (seconds == 0.0 || seconds >= 1e-3)
}

fn of_arguments(instruction: &Instruction, escape: char) -> Option<String> {
    let arguments = &instruction.arguments;
    let name = instruction.kind.name();
    if let Some(message) = of_array(instruction) {
        return Some(message);
    }
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
                Some(_) if pairs.len() == 1 => Some(format!("{name} requires two arguments")),
                Some(pair) => Some(format!("{name}: `{}` has no `=`", short(&pair.name))),
                None if pairs.is_empty() => Some(format!("{name} has no arguments")),
                None => pairs.iter().any(|pair| pair.name.is_empty()).then(|| format!("{name}: a name is empty")),
            }
        }
        Kind::Copy | Kind::Add => {
            let count = instruction.json.as_ref().map_or_else(|| split_whitespace(arguments.text()).len(), Vec::len);
            (count < 2).then(|| format!("{name} requires at least two arguments"))
        }
        Kind::Cmd | Kind::Entrypoint | Kind::Run => None,
        _ if arguments.text().is_empty() => Some(format!("{name} has no arguments")),
        Kind::Arg => {
            let nameless = pairs(arguments, escape, false).iter().any(|pair| pair.name.is_empty());
            nameless.then(|| "ARG: a name is empty".to_owned())
        }
        Kind::Shell => instruction.json.is_none().then(|| "SHELL requires a JSON array".to_owned()),
        Kind::Healthcheck => healthcheck(arguments.text()),
        Kind::Onbuild => instruction.child.as_ref().and_then(|child| match child.kind {
            Kind::From | Kind::Maintainer | Kind::Onbuild => {
                Some(format!("{} is not allowed in ONBUILD", child.kind.name()))
            }
            _ => None,
        }),
        _ => None,
    }
}

/// What is wrong with the JSON form of arguments. What is no JSON at all is a text for the shell.
fn of_array(instruction: &Instruction) -> Option<String> {
    let name = instruction.kind.name();
    match &instruction.json {
        Some(words) => match instruction.kind {
            Kind::Shell | Kind::Volume if words.is_empty() => Some(format!("{name}: the array is empty")),
            Kind::Volume if words.iter().any(|word| word.text().trim().is_empty()) => {
                Some("VOLUME: a path is empty".to_owned())
            }
            _ => None,
        },
        None if instruction.kind == Kind::Onbuild => of_array(instruction.child.as_deref()?),
        None => {
            let text = instruction.arguments.text();
            let text = match instruction.kind {
                Kind::Healthcheck => text.split_once(char::is_whitespace).map_or("", |(_, command)| command),
                _ if instruction.kind.takes_json() => text,
                _ => return None,
            };
            holds_other_than_strings(text).then(|| format!("{name}: a JSON array may contain only strings"))
        }
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
                    "`{}` is not a valid stage name: use a letter, then letters, digits, `-`, `_`, `.`",
                    short(&stage)
                ));
            }
            let reserved = matches!(stage.as_str(), "context" | "scratch");
            reserved.then(|| format!("`{stage}` is reserved and is not a valid stage name"))
        }
        _ => Some("FROM requires one image name, or an image name, AS and a stage name".to_owned()),
    }
}

fn healthcheck(arguments: &str) -> Option<String> {
    let (first, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    match first.to_ascii_uppercase().as_str() {
        "NONE" => (!rest.trim().is_empty()).then(|| "HEALTHCHECK NONE accepts no arguments".to_owned()),
        "CMD" => rest.trim().is_empty().then(|| "HEALTHCHECK CMD requires a command".to_owned()),
        _ => Some("HEALTHCHECK requires NONE or CMD".to_owned()),
    }
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
