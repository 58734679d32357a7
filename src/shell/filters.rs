//! Computes the output of short pipelines of filters over known words: `echo $V | cut -d. -f1-2 | tr -d .`.

use crate::build::{Command, StandardInput, Word};
use crate::dockerfile::BASE_MARK;
use crate::text::source::Span;

/// The maximum length of an output line in bytes.
const MAX_OUTPUT_BYTES: usize = 4_096;

/// Returns the output line of a command and the spans of its values; `None` if it cannot be computed statically.
pub(super) fn output_line(command: &Command) -> Option<(String, Vec<Span>)> {
    if command.conditional || !command.writes.is_empty() {
        return None;
    }
    let words: Option<Vec<&str>> = command.words.iter().map(Word::known).collect();
    let words = words.filter(|words| !words.iter().any(|word| word.contains([BASE_MARK, '\n'])))?;
    let (program, arguments) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut origins: Vec<Span> = Vec::new();
    let written = match &command.input {
        StandardInput::None => generated_line(program, arguments)?,
        StandardInput::Pipe(before) => {
            let (text, from) = output_line(before)?;
            origins.extend(from);
            apply_filter(program, arguments, &text)?
        }
        StandardInput::File(_) | StandardInput::Text(_) | StandardInput::Unknown => return None,
    };
    origins.extend(command.words.iter().flat_map(|word| word.value.origins().iter().copied()));
    origins.sort_unstable();
    origins.dedup();
    (written.len() <= MAX_OUTPUT_BYTES).then_some((written, origins))
}

/// Returns the output of `echo`, `printf`, `dirname` and similar programs, for arguments with portable behaviour.
fn generated_line(program: &str, arguments: &[&str]) -> Option<String> {
    match (program, arguments) {
        ("echo", ["-n", rest @ ..] | rest) => {
            let plain = !rest.iter().any(|word| word.contains('\\') || word.starts_with('-'));
            plain.then(|| rest.join(" "))
        }
        ("printf", ["%s" | "%s\\n", word]) => Some((*word).to_owned()),
        ("dirname", [path]) => Some(split_path(path)?.0.to_owned()),
        ("basename", [path]) => Some(split_path(path)?.1.to_owned()),
        ("basename", [path, ending]) => {
            let name = split_path(path)?.1;
            Some(name.strip_suffix(*ending).filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned())
        }
        // Links are not followed here.
        ("realpath", ["-s" | "-e" | "-m", path] | [path]) | ("readlink", ["-f" | "-e" | "-m", path]) => {
            (!path.is_empty() && !path.starts_with('-')).then(|| (*path).to_owned())
        }
        ("printf", [word]) => (!word.contains(['%', '\\'])).then(|| (*word).to_owned()),
        _ => None,
    }
}

/// Splits a path into directory and file name, like `dirname` and `basename`.
fn split_path(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_end_matches('/');
    if path.is_empty() || path.starts_with('-') {
        return None;
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let folder = folder.trim_end_matches('/');
    Some((if folder.is_empty() { "/" } else { folder }, name))
}

/// Applies a filter program to a line.
fn apply_filter(program: &str, arguments: &[&str], text: &str) -> Option<String> {
    match (program, arguments) {
        ("cut", _) => apply_cut(arguments, text),
        ("tr", ["-d" | "--delete", set]) => {
            let set = expand_tr_set(set)?;
            Some(text.chars().filter(|c| !set.contains(c)).collect())
        }
        ("tr", [from, to]) if !from.starts_with('-') => {
            let (from, to) = (expand_tr_set(from)?, expand_tr_set(to)?);
            let last = *to.last()?;
            let other = |c: char| match from.iter().rposition(|own| *own == c) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => c,
            };
            Some(text.chars().map(other).collect())
        }
        ("sed", ["-e" | "-E" | "-r", script] | [script]) => apply_sed(script, text),
        ("awk" | "gawk" | "mawk", _) => apply_awk(arguments, text),
        ("head" | "tail", ["-1" | "-n1"] | ["-n", "1"]) | ("cat", []) => Some(text.to_owned()),
        ("xargs", []) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            (!text.contains(['"', '\'', '\\'])).then(|| words.join(" "))
        }
        _ => None,
    }
}

/// Applies `cut -d. -f1-2` or `cut -c1-4` to a line.
fn apply_cut(arguments: &[&str], text: &str) -> Option<String> {
    let (mut mark, mut fields, mut places) = ("\t", None, None);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let name = word.get(..2)?;
        let inline = word.get(2..).filter(|inline| !inline.is_empty());
        let mut value = || inline.or_else(|| rest.next().copied());
        match name {
            "-d" => mark = value()?,
            "-f" => fields = Some(value()?),
            "-c" => places = Some(value()?),
            _ => return None,
        }
    }
    if mark.chars().count() != 1 {
        return None;
    }
    match (fields, places) {
        (Some(list), None) if text.contains(mark) => {
            let parts: Vec<&str> = text.split(mark).collect();
            Some(select_fields(&parts, list)?.join(mark))
        }
        // A line without the mark is written as it is.
        (Some(list), None) => select_fields(&[text], list).map(|_| text.to_owned()),
        (None, Some(list)) if text.is_ascii() => {
            let parts: Vec<&str> = text.split("").filter(|part| !part.is_empty()).collect();
            Some(select_fields(&parts, list)?.concat())
        }
        _ => None,
    }
}

/// Returns the parts that a list such as `1,3-` selects, in their original order.
fn select_fields<'t>(parts: &[&'t str], list: &str) -> Option<Vec<&'t str>> {
    let mut selected = vec![false; parts.len()];
    for range in list.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let from: usize = if from.is_empty() { 1 } else { from.parse().ok()? };
        let to: usize = if to.is_empty() { parts.len() } else { to.parse().ok()? };
        if from == 0 || range == "-" {
            return None;
        }
        for one in selected.iter_mut().take(to).skip(from - 1) {
            *one = true;
        }
    }
    Some(parts.iter().zip(selected).filter(|(_, is_selected)| *is_selected).map(|(part, _)| *part).collect())
}

/// Returns the characters of a `tr` set, with ranges expanded.
fn expand_tr_set(set: &str) -> Option<Vec<char>> {
    let class = match set {
        "[:lower:]" => Some("a-z"),
        "[:upper:]" => Some("A-Z"),
        "[:digit:]" => Some("0-9"),
        _ if set.contains(['[', '\\']) => return None,
        _ => None,
    };
    let mut found = Vec::new();
    let mut chars = class.unwrap_or(set).chars().peekable();
    while let Some(c) = chars.next() {
        let mut ahead = chars.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) => {
                if !(c.is_ascii() && to.is_ascii() && c <= to) {
                    return None;
                }
                found.extend(c..=to);
                chars = ahead;
            }
            _ => found.push(c),
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Applies `s/A/B/g`, where A is a literal text, optionally followed by `.*`: `s/+.*//`.
fn apply_sed(script: &str, text: &str) -> Option<String> {
    let script = script.strip_prefix('s')?;
    let mark = script.chars().next().filter(|mark| !mark.is_ascii_alphanumeric() && *mark != '\\')?;
    let mut parts = script.get(mark.len_utf8()..)?.split(mark);
    let (pattern, with, flags) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !matches!(flags, "" | "g") || with.contains(['&', '\\']) {
        return None;
    }
    let (pattern, to_end) = pattern.strip_suffix(".*").map_or((pattern, false), |pattern| (pattern, true));
    let mut own = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => own.push(chars.next().filter(|c| matches!(c, '.' | '*' | '/' | '-'))?),
            '.' | '*' | '[' | ']' | '^' | '$' | '?' | '(' | ')' | '{' | '}' | '|' => return None,
            // It stands for itself unless the words are those of `-E`, where nothing would be in front of it.
            '+' if !own.is_empty() => return None,
            c => own.push(c),
        }
    }
    if own.is_empty() {
        return None;
    }
    Some(match (to_end, flags) {
        (true, _) => {
            text.split_once(own.as_str()).map_or_else(|| text.to_owned(), |(before, _)| format!("{before}{with}"))
        }
        (false, "g") => text.replace(&own, with),
        (false, _) => text.replacen(&own, with, 1),
    })
}

/// Applies a print program such as `awk -F. '{print $1"."$2}'` to a line.
fn apply_awk(arguments: &[&str], text: &str) -> Option<String> {
    let (mark, program) = match arguments {
        ["-F", mark, program] => (Some(*mark), program),
        [mark, program] => (Some(mark.strip_prefix("-F")?), program),
        [program] => (None, program),
        _ => return None,
    };
    let parts: Vec<&str> = match mark.filter(|mark| *mark != " ") {
        Some(mark)
            if mark.chars().count() == 1 && !mark.contains(['\\', '|', '^', '$', '*', '+', '?', '[', '(', ')']) =>
        {
            text.split(mark).collect()
        }
        Some(_) => return None,
        None => text.split_whitespace().collect(),
    };
    let mut rest = program.trim().strip_prefix('{')?.strip_suffix('}')?.trim().strip_prefix("print")?;
    if !rest.starts_with([' ', '$', '"']) {
        return None;
    }
    let mut out = String::new();
    loop {
        rest = rest.trim_start();
        if let Some(field) = rest.strip_prefix('$') {
            let end = field.find(|c: char| !c.is_ascii_digit()).unwrap_or(field.len());
            let number: usize = field.get(..end)?.parse().ok()?;
            out.push_str(if number == 0 { text } else { parts.get(number - 1).copied().unwrap_or("") });
            rest = field.get(end..)?;
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (inside, after) = quoted.split_once('"')?;
            if inside.contains('\\') {
                return None;
            }
            out.push_str(inside);
            rest = after;
        } else {
            return rest.is_empty().then_some(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_those_that_the_programs_write() {
        for (program, arguments, expected) in [
            ("dirname", &["/opt/s/a.sh"][..], Some("/opt/s")),
            ("dirname", &["a.sh"], Some(".")),
            ("dirname", &["/a.sh"], Some("/")),
            ("dirname", &["/opt/s/"], Some("/opt")),
            ("dirname", &["-z", "a"], None),
            ("dirname", &[""], None),
            ("dirname", &["--version"], None),
            ("basename", &["/opt/a.sh", ".sh"], Some("a")),
            ("basename", &["/opt/a.sh"], Some("a.sh")),
            ("basename", &[".sh", ".sh"], Some(".sh")),
            ("realpath", &["a"], Some("a")),
            ("readlink", &["-f", "a"], Some("a")),
            ("readlink", &["a"], None),
            ("realpath", &["--relative-to=/", "a"], None),
        ] {
            assert_eq!(generated_line(program, arguments).as_deref(), expected, "{program} {arguments:?}");
        }
    }

    #[test]
    fn filters_do_what_the_programs_do() {
        for (program, arguments, text, expected) in [
            ("cut", &["-d.", "-f1-2"][..], "12.4.1", Some("12.4")),
            ("cut", &["-d", ".", "-f", "1,2"], "12.4.1", Some("12.4")),
            ("cut", &["-d.", "-f2-"], "12.4.1", Some("4.1")),
            ("cut", &["-d.", "-f1"], "12", Some("12")),
            ("cut", &["-c1-4"], "12.4.1", Some("12.4")),
            ("cut", &["-d.", "-f0"], "12.4.1", None),
            ("cut", &["-d.", "-f1", "file"], "12.4.1", None),
            ("cut", &["-d.", "--complement", "-f1"], "12.4.1", None),
            ("cut", &["-d.."], "12.4.1", None),
            ("tr", &["-d", "."], "12.4.1", Some("1241")),
            ("tr", &["-d", "0-4"], "12.4.1", Some("..")),
            ("tr", &[".", "-"], "12.4", Some("12-4")),
            ("tr", &["[:upper:]", "[:lower:]"], "CU124", Some("cu124")),
            ("tr", &["-cd", "0-9"], "12.4", None),
            ("tr", &["-d", "[:alpha:]"], "12.4", None),
            ("sed", &["s/\\.//g"], "12.4.1", Some("1241")),
            ("sed", &["s/\\.//"], "12.4.1", Some("124.1")),
            ("sed", &["s/+.*//"], "2.4.1+cu124", Some("2.4.1")),
            ("sed", &["-e", "s|cu|cuda|"], "cu124", Some("cuda124")),
            ("sed", &["s/.//g"], "12.4", None),
            ("sed", &["-E", "s/([0-9]+).*/\\1/"], "12.4", None),
            ("sed", &["-n", "p"], "12.4", None),
            ("sed", &["s/4+//"], "12.4", None),
            ("awk", &["-F.", "{print $1\".\"$2}"], "12.4.1", Some("12.4")),
            ("awk", &["-F", ".", "{print $1 $2}"], "12.4.1", Some("124")),
            ("awk", &["{print $2}"], "a b", Some("b")),
            ("awk", &["-F.", "{print $1, $2}"], "12.4.1", None),
            ("awk", &["-F.", "{print $NF}"], "12.4.1", None),
            ("xargs", &[], " 12.4 ", Some("12.4")),
            ("head", &["-n1"], "12.4", Some("12.4")),
            ("head", &["-c", "2"], "12.4", None),
            ("python3", &["-c", "print(1)"], "12.4", None),
            ("wc", &["-c"], "12.4", None),
        ] {
            assert_eq!(apply_filter(program, arguments, text).as_deref(), expected, "{program} {arguments:?}");
        }
    }
}
