//! Environment markers (PEP 508), where the Python version may not be known: yes, no, or cannot be told.

use std::cell::Cell;
use std::str::FromStr as _;

use pep440_rs::Version;
use pep440_rs::VersionSpecifiers;

/// No marker that people write is nested deeper.
const DEEPEST: usize = 32;

/// The machine that packages are installed on.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    name: &'a str,
    /// Set once somebody asks for the name.
    asked: Option<&'a Cell<bool>>,
}

impl<'a> Machine<'a> {
    /// `x86_64` or `aarch64`.
    pub const fn new(name: &'a str) -> Self {
        Self { name, asked: None }
    }

    /// The same, where `asked` tells afterwards whether anything hung on it.
    pub const fn watched(name: &'a str, asked: &'a Cell<bool>) -> Self {
        Self { name, asked: Some(asked) }
    }

    /// Its name.
    pub(super) fn name(self) -> &'a str {
        if let Some(asked) = self.asked {
            asked.set(true);
        }
        self.name
    }
}

/// What is known of the environment that packages are installed into.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The machine.
    pub machine: Machine<'a>,
    /// Version of Python such as `3.11`, where known.
    pub python: Option<&'a str>,
}

/// Whether a requirement with this marker is installed; `None` where that cannot be told.
pub(super) fn holds(marker: &str, environment: Environment<'_>) -> Option<bool> {
    let tokens = tokens(marker);
    let mut parser = Parser { tokens: &tokens, at: 0, environment };
    let value = parser.or(0);
    if parser.at == tokens.len() { value } else { None }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Open,
    Close,
    Text(String),
    Word(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '(' | ')' => {
                out.push(if first == '(' { Token::Open } else { Token::Close });
                1
            }
            '\'' | '"' => {
                let body = rest.get(1..).unwrap_or("");
                let end = body.find(first).unwrap_or(body.len());
                out.push(Token::Text(body.get(..end).unwrap_or("").to_owned()));
                (end + 2).min(rest.len())
            }
            '<' | '>' | '=' | '!' | '~' => {
                let end = rest.find(|c| !matches!(c, '<' | '>' | '=' | '!' | '~')).unwrap_or(rest.len());
                out.push(Token::Word(rest.get(..end).unwrap_or("").to_owned()));
                end
            }
            _ => {
                let stop = |c: char| c.is_whitespace() || "()'\"<>=!~".contains(c);
                let end = rest.find(stop).unwrap_or(rest.len()).max(first.len_utf8());
                out.push(Token::Word(rest.get(..end).unwrap_or("").to_owned()));
                end
            }
        };
        rest = rest.get(taken..).unwrap_or("").trim_start();
    }
    out
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    environment: Environment<'a>,
}

impl Parser<'_> {
    fn word(&mut self, word: &str) -> bool {
        let here = matches!(self.tokens.get(self.at), Some(Token::Word(own)) if own == word);
        self.at += usize::from(here);
        here
    }

    fn or(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.and(depth);
        while self.word("or") {
            let other = self.and(depth);
            value = match (value, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        value
    }

    fn and(&mut self, depth: usize) -> Option<bool> {
        let mut value = self.one(depth);
        while self.word("and") {
            let other = self.one(depth);
            value = match (value, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        value
    }

    fn one(&mut self, depth: usize) -> Option<bool> {
        if self.tokens.get(self.at) == Some(&Token::Open) {
            self.at += 1;
            if depth >= DEEPEST {
                return None;
            }
            let value = self.or(depth + 1);
            self.at += usize::from(self.tokens.get(self.at) == Some(&Token::Close));
            return value;
        }
        let left = self.take()?;
        let Token::Word(mut operator) = self.take()? else { return None };
        if operator == "not" && self.word("in") {
            "not in".clone_into(&mut operator);
        }
        let right = self.take()?;
        match (left, right) {
            (Token::Word(name), Token::Text(value)) => compare(&name, &operator, &value, self.environment),
            (Token::Text(value), Token::Word(name)) => compare(&name, turned(&operator), &value, self.environment),
            _ => None,
        }
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }
}

/// The operator with its sides changed; membership has no such form.
fn turned(operator: &str) -> &str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        "in" | "not in" => "",
        same => same,
    }
}

fn compare(name: &str, operator: &str, value: &str, environment: Environment<'_>) -> Option<bool> {
    let own = match name {
        "sys_platform" => "linux",
        "platform_system" => "Linux",
        "os_name" | "os.name" => "posix",
        "platform_machine" => environment.machine.name(),
        "implementation_name" => "cpython",
        "platform_python_implementation" => "CPython",
        "python_version" => return python(environment.python?, operator, value),
        "python_full_version" => return full_python(environment.python?, operator, value),
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

/// The same for the whole version: where only the minor is known, what holds for its first patch and for a late one.
fn full_python(own: &str, operator: &str, value: &str) -> Option<bool> {
    let range = VersionSpecifiers::from_str(&format!("{operator}{value}")).ok()?;
    let holds = |own: &str| Some(range.contains(&Version::from_str(own).ok()?));
    if own.matches('.').count() > 1 {
        return holds(own);
    }
    let first = holds(&format!("{own}.0"))?;
    (holds(&format!("{own}.99"))? == first).then_some(first)
}

fn python(own: &str, operator: &str, value: &str) -> Option<bool> {
    if matches!(operator, "in" | "not in") {
        let listed = value.split([',', ' ']).any(|one| one.trim() == own);
        return Some(listed == (operator == "in"));
    }
    let own = Version::from_str(&own.split('.').take(2).collect::<Vec<_>>().join(".")).ok()?;
    Some(VersionSpecifiers::from_str(&format!("{operator}{value}")).ok()?.contains(&own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_weighed_with_three_answers() {
        let known = Environment { machine: Machine::new("x86_64"), python: Some("3.10") };
        let open = Environment { machine: Machine::new("aarch64"), python: None };
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
            assert_eq!(holds(marker, known), amd, "{marker}");
            assert_eq!(holds(marker, open), arm, "{marker}");
        }
        assert_eq!(holds(&"(".repeat(100_000), known), None);
    }
}
