//! Variable substitution in compose files, and the `.env` file.

use std::collections::BTreeMap;

/// Maximum depth of nested substitutions.
const MAX_SUBSTITUTION_DEPTH: usize = 16;

/// Substitutes the variables in a text; `None` if a variable without a value is required.
pub fn substitute_variables(text: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    substitute_at_depth(text, variables, 0)
}

/// Substitutes the variables in a text at a nesting depth.
fn substitute_at_depth(text: &str, variables: &BTreeMap<String, String>, depth: usize) -> Option<String> {
    if depth > MAX_SUBSTITUTION_DEPTH {
        return None;
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let end = closing_brace(after)?;
            out.push_str(&evaluate_substitution(&after[..end], variables, depth)?);
            rest = &after[end + 1..];
        } else {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            if end == 0 {
                out.push('$');
            } else {
                out.push_str(variables.get(&rest[..end])?);
            }
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Returns the position of the closing brace of a substitution.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Evaluates the inside of `${…}`.
fn evaluate_substitution(inside: &str, variables: &BTreeMap<String, String>, depth: usize) -> Option<String> {
    let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
    let (name, operator) = inside.split_at(end);
    let value = variables.get(name);
    let (colon, operator) = operator.strip_prefix(':').map_or((false, operator), |rest| (true, rest));
    let value = value.filter(|value| !(colon && value.is_empty()));
    match (operator.chars().next(), value) {
        (None | Some('-' | '?'), Some(value)) => Some(value.clone()),
        (Some('-'), None) | (Some('+'), Some(_)) => substitute_at_depth(&operator[1..], variables, depth + 1),
        (Some('+'), None) => Some(String::new()),
        _ => None,
    }
}

/// Parses the variables of a `.env` file; invalid lines are ignored.
pub fn parse_environment_file(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        let value = value.trim();
        let quoted = ['"', '\''].into_iter().find_map(|mark| value.strip_prefix(mark)?.split(mark).next());
        let plain = || value.split(" #").next().unwrap_or(value).trim();
        Some((name.trim().to_owned(), quoted.unwrap_or_else(plain).to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_substituted_as_in_compose() {
        let variables = parse_environment_file("A=1\n# B=2\nexport C=\"x y\" # z\nE=\n D = 4 # four\nnonsense\n");
        assert_eq!(variables.len(), 4, "{variables:?}");
        for (text, expected) in [
            ("$A-${A}", Some("1-1")),
            ("$$A", Some("$A")),
            ("${B:-x${A}}", Some("x1")),
            ("${E:-x}${E-x}", Some("x")),
            ("${A:+y}${B:+y}", Some("y")),
            ("$C ${D}", Some("x y 4")),
            ("cost 5$ ", Some("cost 5$ ")),
            ("${B}", None),
            ("$B", None),
            ("${B?no}", None),
            ("${A", None),
            ("${A/x}", None),
        ] {
            assert_eq!(substitute_variables(text, &variables).as_deref(), expected, "{text}");
        }
    }
}
