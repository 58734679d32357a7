//! Checks of single instructions for errors that `BuildKit` would report.

use crate::dockerfile::argument_words::{parse_name_value_pairs, whitespace_word_ranges};
use crate::dockerfile::json_form::has_non_string_elements;
use crate::dockerfile::{DockerfileProblem, Instruction, InstructionFlag, InstructionKind, MappedText};
use crate::text::nearest::nearest_word;

/// All instruction keywords, for spelling suggestions.
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

/// Whether a flag has a value and may be repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagValueKind {
    /// `true`, `false` or nothing.
    Switch,
    /// A value, once.
    Value,
    /// A value, as often as wanted.
    Values,
}

/// Returns the first error in an instruction.
pub(super) fn check_instruction(instruction: &Instruction, escape: char) -> Option<DockerfileProblem> {
    if let Some(problem) = instruction.flags.iter().find_map(|flag| check_flag(instruction, flag)) {
        return Some(problem);
    }
    let message = check_arguments(instruction, escape)?;
    let empty = instruction.arguments.text().is_empty();
    let word = matches!(instruction.kind, InstructionKind::Unknown(_));
    Some(DockerfileProblem::new(if empty || word { instruction.keyword } else { instruction.span }, message))
}

/// Returns the flags that an instruction accepts.
fn known_flags(kind: &InstructionKind) -> &'static [(&'static str, FlagValueKind)] {
    match kind {
        InstructionKind::Add => &[
            ("chown", FlagValueKind::Value),
            ("chmod", FlagValueKind::Value),
            ("link", FlagValueKind::Switch),
            ("keep-git-dir", FlagValueKind::Switch),
            ("checksum", FlagValueKind::Value),
            ("exclude", FlagValueKind::Values),
            ("unpack", FlagValueKind::Switch),
        ],
        InstructionKind::Copy => &[
            ("from", FlagValueKind::Value),
            ("chown", FlagValueKind::Value),
            ("chmod", FlagValueKind::Value),
            ("link", FlagValueKind::Switch),
            ("parents", FlagValueKind::Switch),
            ("exclude", FlagValueKind::Values),
        ],
        InstructionKind::From => &[("platform", FlagValueKind::Value)],
        InstructionKind::Healthcheck => &[
            ("interval", FlagValueKind::Value),
            ("timeout", FlagValueKind::Value),
            ("start-period", FlagValueKind::Value),
            ("start-interval", FlagValueKind::Value),
            ("retries", FlagValueKind::Value),
        ],
        InstructionKind::Run => &[
            ("mount", FlagValueKind::Values),
            ("network", FlagValueKind::Value),
            ("security", FlagValueKind::Value),
            ("device", FlagValueKind::Values),
        ],
        _ => &[],
    }
}

/// Returns the error in a flag: unknown, repeated, or with an invalid value.
fn check_flag(instruction: &Instruction, flag: &InstructionFlag) -> Option<DockerfileProblem> {
    let (kind, name) = (instruction.kind.keyword(), &flag.name);
    let known = known_flags(&instruction.kind);
    // The builder reads past what ARG has none of.
    if instruction.kind == InstructionKind::Arg {
        return None;
    }
    let Some((_, takes)) = known.iter().find(|(own, _)| own == name) else {
        let hint = nearest_word(name, known.iter().map(|(own, _)| *own));
        let hint = hint.map_or_else(String::new, |near| format!("; did you mean `--{near}`?"));
        return Some(DockerfileProblem::new(flag.span, format!("{kind} has no flag `--{}`{hint}", truncated(name))));
    };
    let twice = *takes != FlagValueKind::Values
        && instruction.flags.iter().any(|other| other.name == *name && other.span.start < flag.span.start);
    let value = flag.value.as_ref().map(|value| value.text().to_ascii_lowercase());
    let message = match (takes, value.as_deref()) {
        _ if twice => format!("the flag `--{name}` is used twice"),
        (FlagValueKind::Switch, None | Some("true" | "false")) => return None,
        (FlagValueKind::Value | FlagValueKind::Values, Some(_)) => {
            check_flag_value(name, flag.value.as_ref().map_or("", MappedText::text))?
        }
        (FlagValueKind::Switch, Some(_)) => format!("the flag `--{name}` accepts only true or false"),
        (FlagValueKind::Value | FlagValueKind::Values, None) => format!("the flag `--{name}` requires a value"),
    };
    Some(DockerfileProblem::new(flag.span, message))
}

/// Returns the error in the value of a flag that accepts only certain values; variables are not expanded there.
fn check_flag_value(name: &str, value: &str) -> Option<String> {
    let one_of = |words: &str| format!("the flag `--{name}` accepts {words}, not `{}`", truncated(value));
    match name {
        "network" if !matches!(value, "default" | "none" | "host") => Some(one_of("default, none or host")),
        "security" if !matches!(value, "sandbox" | "insecure") => Some(one_of("sandbox or insecure")),
        "interval" | "timeout" | "start-period" | "start-interval" if !is_flag_duration(value) => Some(format!(
            "the flag `--{name}` requires a duration of at least 1ms, such as 30s, not `{}`",
            truncated(value)
        )),
        "retries" if !value.parse::<i32>().is_ok_and(|count| count >= 0) => {
            Some(format!("the flag `--{name}` requires a number, not `{}`", truncated(value)))
        }
        _ => None,
    }
}

/// Whether a text is a duration in Go syntax, such as `1m30s`, of zero or at least one millisecond.
fn is_flag_duration(text: &str) -> bool {
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

/// Returns the message for an error in the arguments of an instruction.
fn check_arguments(instruction: &Instruction, escape: char) -> Option<String> {
    let arguments = &instruction.arguments;
    let name = instruction.kind.keyword();
    if let Some(message) = check_json_array(instruction) {
        return Some(message);
    }
    match &instruction.kind {
        InstructionKind::Unknown(word) => {
            let near = nearest_word(&word.to_ascii_uppercase(), KEYWORDS.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Some(format!("unknown instruction `{}`{near}", truncated(word)))
        }
        InstructionKind::From => check_from(
            &whitespace_word_ranges(arguments.text())
                .iter()
                .map(|word| arguments.get(word.clone()))
                .collect::<Vec<_>>(),
        ),
        InstructionKind::Env | InstructionKind::Label => {
            let pairs = parse_name_value_pairs(arguments, escape, true);
            match pairs.iter().find(|pair| pair.value.is_none()) {
                Some(_) if pairs.len() == 1 => Some(format!("{name} requires two arguments")),
                Some(pair) => Some(format!("{name}: `{}` has no `=`", truncated(&pair.name))),
                None if pairs.is_empty() => Some(format!("{name} has no arguments")),
                None => pairs.iter().any(|pair| pair.name.is_empty()).then(|| format!("{name}: a name is empty")),
            }
        }
        InstructionKind::Copy | InstructionKind::Add => {
            let count =
                instruction.json.as_ref().map_or_else(|| whitespace_word_ranges(arguments.text()).len(), Vec::len);
            (count < 2).then(|| format!("{name} requires at least two arguments"))
        }
        InstructionKind::Cmd | InstructionKind::Entrypoint | InstructionKind::Run => None,
        _ if arguments.text().is_empty() => Some(format!("{name} has no arguments")),
        InstructionKind::Arg => {
            let nameless = parse_name_value_pairs(arguments, escape, false).iter().any(|pair| pair.name.is_empty());
            nameless.then(|| "ARG: a name is empty".to_owned())
        }
        InstructionKind::Shell => instruction.json.is_none().then(|| "SHELL requires a JSON array".to_owned()),
        InstructionKind::Healthcheck => check_healthcheck(arguments.text()),
        InstructionKind::Onbuild => instruction.child.as_ref().and_then(|child| match child.kind {
            InstructionKind::From | InstructionKind::Maintainer | InstructionKind::Onbuild => {
                Some(format!("{} is not allowed in ONBUILD", child.kind.keyword()))
            }
            _ => None,
        }),
        _ => None,
    }
}

/// Returns the message for an error in the JSON form of arguments; text that is not JSON is a shell command.
fn check_json_array(instruction: &Instruction) -> Option<String> {
    let name = instruction.kind.keyword();
    match &instruction.json {
        Some(words) => match instruction.kind {
            InstructionKind::Shell | InstructionKind::Volume if words.is_empty() => {
                Some(format!("{name}: the array is empty"))
            }
            InstructionKind::Volume if words.iter().any(|word| word.text().trim().is_empty()) => {
                Some("VOLUME: a path is empty".to_owned())
            }
            _ => None,
        },
        None if instruction.kind == InstructionKind::Onbuild => check_json_array(instruction.child.as_deref()?),
        None => {
            let text = instruction.arguments.text();
            let text = match instruction.kind {
                InstructionKind::Healthcheck => text.split_once(char::is_whitespace).map_or("", |(_, command)| command),
                _ if instruction.kind.accepts_json_form() => text,
                _ => return None,
            };
            has_non_string_elements(text).then(|| format!("{name}: a JSON array may contain only strings"))
        }
    }
}

/// Returns the message for an error in the arguments of FROM.
fn check_from(words: &[&str]) -> Option<String> {
    match words {
        [_] => None,
        [_, word, stage] if word.eq_ignore_ascii_case("as") => {
            let stage = stage.to_ascii_lowercase();
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if !stage.starts_with(|c: char| c.is_ascii_lowercase()) || !stage.chars().all(fits) {
                return Some(format!(
                    "`{}` is not a valid stage name: use a letter, then letters, digits, `-`, `_`, `.`",
                    truncated(&stage)
                ));
            }
            let reserved = matches!(stage.as_str(), "context" | "scratch");
            reserved.then(|| format!("`{stage}` is reserved and is not a valid stage name"))
        }
        _ => Some("FROM requires one image name, or an image name, AS and a stage name".to_owned()),
    }
}

/// Returns the message for an error in the arguments of HEALTHCHECK.
fn check_healthcheck(arguments: &str) -> Option<String> {
    let (first, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    match first.to_ascii_uppercase().as_str() {
        "NONE" => (!rest.trim().is_empty()).then(|| "HEALTHCHECK NONE accepts no arguments".to_owned()),
        "CMD" => rest.trim().is_empty().then(|| "HEALTHCHECK CMD requires a command".to_owned()),
        _ => Some("HEALTHCHECK requires NONE or CMD".to_owned()),
    }
}

/// Returns at most the first 40 characters of a text.
fn truncated(word: &str) -> String {
    word.chars().take(40).collect()
}
