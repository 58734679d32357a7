//! Environment markers (PEP 508), evaluated to true, false or unknown, since the Python version may be unknown.

use std::cell::Cell;

use crate::model::package::{ExactVersion, VersionRange};

/// Maximum nesting depth of a marker.
const MAX_DEPTH: usize = 32;

/// The machine architecture that packages are installed for.
#[derive(Clone, Copy, Debug)]
pub struct TargetMachine<'a> {
    name: &'a str,
    /// Set as soon as the name is read.
    read_flag: Option<&'a Cell<bool>>,
}

impl<'a> TargetMachine<'a> {
    /// Creates a machine by its name, `x86_64` or `aarch64`.
    pub const fn new(name: &'a str) -> Self {
        Self { name, read_flag: None }
    }

    /// Creates a machine that sets `read_flag` as soon as its name is read.
    pub const fn with_read_flag(name: &'a str, read_flag: &'a Cell<bool>) -> Self {
        Self { name, read_flag: Some(read_flag) }
    }

    /// Returns the name of the machine, and records that it was read.
    pub(super) fn name(self) -> &'a str {
        if let Some(read_flag) = self.read_flag {
            read_flag.set(true);
        }
        self.name
    }
}

/// The environment that markers are evaluated for.
#[derive(Clone, Copy, Debug)]
pub struct MarkerEnvironment<'a> {
    /// The target machine.
    pub machine: TargetMachine<'a>,
    /// Version of Python such as `3.11`, if known.
    pub python: Option<&'a str>,
}

/// Whether a requirement with this marker is installed; `None` if that is unknown.
pub(super) fn evaluate_marker(marker: &str, environment: MarkerEnvironment<'_>) -> Option<bool> {
    let tokens = marker_tokens(marker);
    let mut parser = MarkerParser { tokens: &tokens, at: 0, environment };
    let value = parser.parse_or(0);
    if parser.at == tokens.len() { value } else { None }
}

/// A token of a marker.
#[derive(Clone, Debug, PartialEq)]
enum MarkerToken {
    /// An opening parenthesis.
    Open,
    /// A closing parenthesis.
    Close,
    /// A quoted string.
    Text(String),
    /// A variable, a keyword or an operator.
    Word(String),
}

/// Splits a marker into tokens.
fn marker_tokens(text: &str) -> Vec<MarkerToken> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' => {
                out.push(if first == '(' { MarkerToken::Open } else { MarkerToken::Close });
                1
            }
            '\'' | '"' => {
                let body = rest.get(1..).unwrap_or("");
                let end = body.find(first).unwrap_or(body.len());
                out.push(MarkerToken::Text(body.get(..end).unwrap_or("").to_owned()));
                (end + 2).min(rest.len())
            }
            '<' | '>' | '=' | '!' | '~' => {
                let end = rest.find(|c| !matches!(c, '<' | '>' | '=' | '!' | '~')).unwrap_or(rest.len());
                out.push(MarkerToken::Word(rest.get(..end).unwrap_or("").to_owned()));
                end
            }
            _ => {
                let stop = |c: char| c.is_whitespace() || "()'\"<>=!~".contains(c);
                let end = rest.find(stop).unwrap_or(rest.len()).max(first.len_utf8());
                out.push(MarkerToken::Word(rest.get(..end).unwrap_or("").to_owned()));
                end
            }
        };
        rest = rest.get(length..).unwrap_or("").trim_start();
    }
    out
}

/// Evaluates a marker while parsing it.
struct MarkerParser<'a> {
    tokens: &'a [MarkerToken],
    at: usize,
    environment: MarkerEnvironment<'a>,
}

impl MarkerParser<'_> {
    /// Consumes the next token if it is this word.
    fn accept_word(&mut self, word: &str) -> bool {
        let here = matches!(self.tokens.get(self.at), Some(MarkerToken::Word(own)) if own == word);
        self.at += usize::from(here);
        here
    }

    /// Evaluates operands that are joined by `or`.
    fn parse_or(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.parse_and(depth);
        while self.accept_word("or") {
            let other = self.parse_and(depth);
            value = match (value, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        value
    }

    /// Evaluates operands that are joined by `and`.
    fn parse_and(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.parse_comparison(depth);
        while self.accept_word("and") {
            let other = self.parse_comparison(depth);
            value = match (value, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        value
    }

    /// Evaluates a comparison or a marker in parentheses.
    fn parse_comparison(&mut self, depth: usize) -> Option<bool> {
        if self.tokens.get(self.at) == Some(&MarkerToken::Open) {
            self.at += 1;
            if depth >= MAX_DEPTH {
                return None;
            }
            let value = self.parse_or(depth + 1);
            self.at += usize::from(self.tokens.get(self.at) == Some(&MarkerToken::Close));
            return value;
        }
        let left = self.next_token()?;
        let MarkerToken::Word(mut operator) = self.next_token()? else { return None };
        if operator == "not" && self.accept_word("in") {
            "not in".clone_into(&mut operator);
        }
        let right = self.next_token()?;
        match (left, right) {
            (MarkerToken::Word(name), MarkerToken::Text(value)) => {
                compare_variable(&name, &operator, &value, self.environment)
            }
            (MarkerToken::Text(value), MarkerToken::Word(name)) => {
                compare_variable(&name, swapped_operator(&operator), &value, self.environment)
            }
            _ => None,
        }
    }

    /// Consumes and returns the next token.
    fn next_token(&mut self) -> Option<MarkerToken> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }
}

/// Returns the operator for swapped operands; empty for membership, which has none.
fn swapped_operator(operator: &str) -> &str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        "in" | "not in" => "",
        same => same,
    }
}

/// Compares a marker variable with a value; `None` if the result is unknown.
fn compare_variable(name: &str, operator: &str, value: &str, environment: MarkerEnvironment<'_>) -> Option<bool> {
    let own = match name {
        "sys_platform" => "linux",
        "platform_system" => "Linux",
        "os_name" | "os.name" => "posix",
        "platform_machine" => environment.machine.name(),
        "implementation_name" => "cpython",
        "platform_python_implementation" => "CPython",
        "python_version" => return compare_python(environment.python?, operator, value),
        "python_full_version" => return compare_full_python(environment.python?, operator, value),
        _ => return None,
    };
    Some(match operator {
        "==" | "===" => own == value,
        "!=" => own != value,
        "in" => value.contains(own),
        "not in" => !value.contains(own),
        _ => return None,
    })
}

/// Returns the first patch release of a minor version of Python, and one above all that exist: a range that admits
/// both or neither is the same for every patch release.
pub(super) fn outermost_patches(minor: &str) -> [ExactVersion; 2] {
    ["0", "99"].map(|patch| ExactVersion::from(format!("{minor}.{patch}")))
}

/// Compares the full Python version; if only the minor version is known, the result must hold for all of its patch
/// releases.
fn compare_full_python(own: &str, operator: &str, value: &str) -> Option<bool> {
    let range = VersionRange::from(format!("{operator}{value}"));
    if own.matches('.').count() > 1 {
        return range.contains(&ExactVersion::from(own));
    }
    let [first, last] = outermost_patches(own).map(|python| range.contains(&python));
    first.filter(|_| first == last)
}

/// Compares the minor version of Python.
fn compare_python(own: &str, operator: &str, value: &str) -> Option<bool> {
    if matches!(operator, "in" | "not in") {
        let listed = value.split([',', ' ']).any(|one| one.trim() == own);
        return Some(listed == (operator == "in"));
    }
    let minor = own.split('.').take(2).collect::<Vec<_>>().join(".");
    VersionRange::from(format!("{operator}{value}")).contains(&ExactVersion::from(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_true_false_or_unknown() {
        let known = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: Some("3.10") };
        let open = MarkerEnvironment { machine: TargetMachine::new("aarch64"), python: None };
        for (marker, amd, arm) in [
            ("sys_platform == 'linux'", Some(true), Some(true)),
            ("sys_platform=='win32' or platform_machine == \"aarch64\"", Some(false), Some(true)),
            ("python_version >= '3.9'", Some(true), None),
            ("python_version < '3.9' and sys_platform == 'darwin'", Some(false), Some(false)),
            ("python_full_version >= '3.9'", Some(true), None),
            ("python_full_version < '3.10.4'", None, None),
            ("python_full_version >= '3.11.0'", Some(false), None),
            ("python_full_version == '3.10.*'", Some(true), None),
            ("(python_version < '3.9') or os_name == 'posix'", Some(true), Some(true)),
            ("'linux' == sys_platform", Some(true), Some(true)),
            ("'3.11' > python_version", Some(true), None),
            ("platform_machine not in 'x86_64 amd64'", Some(false), Some(true)),
            ("extra == 'gpu'", None, None),
            ("nonsense", None, None),
            ("sys_platform == 'linux' garbage", None, None),
            ("", None, None),
        ] {
            assert_eq!(evaluate_marker(marker, known), amd, "{marker}");
            assert_eq!(evaluate_marker(marker, open), arm, "{marker}");
        }
        assert_eq!(evaluate_marker(&"(".repeat(100_000), known), None);
    }
}
