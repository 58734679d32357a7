//! Expansion of variables as `BuildKit` does it, and the little more that a shell does.

use crate::dockerfile::Lookup;
use crate::dockerfile::Resolved;
use crate::source::Span;

const DEEPEST: usize = 24;
const LONGEST: usize = 64 * 1024;
pub(super) const MOST_ORIGINS: usize = 32;

/// Whose rules an expansion follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `BuildKit`, with the file's escape character.
    Dockerfile(char),
    /// A POSIX shell or bash.
    Shell,
}

/// Expands a text with its quotes; quotes and escapes are removed.
pub fn expand(text: &str, dialect: Dialect, lookup: &dyn Fn(&str) -> Lookup) -> Resolved {
    if is_template(text) {
        let reason = "the line contains a template marker".to_owned();
        return Resolved::Unresolved { names: Vec::new(), reason };
    }
    let escape = match dialect {
        Dialect::Dockerfile(escape) => escape,
        Dialect::Shell => '\\',
    };
    // Most words stand for themselves.
    let plain = |byte| !matches!(byte, b'$' | b'\'' | b'"' | b'`' | b'\\');
    if text.len() <= LONGEST && text.bytes().all(plain) && !text.contains(escape) {
        return Resolved::Known { value: text.to_owned(), origins: Vec::new() };
    }
    let shell = dialect == Dialect::Shell;
    let mut run = Run {
        chars: text.chars().collect(),
        at: 0,
        escape,
        shell,
        lookup,
        missing: None,
        origins: Vec::new(),
        depth: 0,
        broken: false,
    };
    let value = run.until(None, false);
    if value.len() > LONGEST {
        run.miss(Vec::new(), "the value is too long");
    }
    if run.broken {
        run.miss(Vec::new(), "a substitution is not closed, or nested too deeply");
    }
    match run.missing {
        Some((names, reason)) => Resolved::Unresolved { names, reason },
        None => Resolved::Known { value, origins: run.origins },
    }
}

/// Whether a text has a marker of a template language.
pub(super) fn is_template(text: &str) -> bool {
    if !text.bytes().any(|byte| matches!(byte, b'{' | b'<' | b'@')) {
        return false;
    }
    let at_signs = || {
        let mut parts = text.split("@@").skip(1);
        parts.next().is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }) && parts.next().is_some()
    };
    // A name in single braces is one of a format string, where it is all that there is.
    let alone = || {
        let name = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    alone() || text.contains("{{") || text.contains("{%") || text.contains("<%") || text.starts_with("{#") || at_signs()
}

/// What stands in front of the first variable or template marker of a text; none where it has neither.
pub fn in_front_of_variables(text: &str) -> Option<&str> {
    const MARKS: &[&str] = &["$", "{", "<", "@@"];
    text.get(..MARKS.iter().filter_map(|mark| text.find(mark)).min()?)
}

/// An expansion on its way through a text.
pub(super) struct Run<'a> {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    escape: char,
    pub(super) shell: bool,
    pub(super) lookup: &'a dyn Fn(&str) -> Lookup,
    pub(super) missing: Option<(Vec<String>, String)>,
    pub(super) origins: Vec<Span>,
    pub(super) depth: usize,
    /// Set once the text cannot be read; no alternative takes that back.
    pub(super) broken: bool,
}

impl Run<'_> {
    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    pub(super) fn miss(&mut self, names: Vec<String>, reason: &str) {
        let (known, _) = self.missing.get_or_insert_with(|| (Vec::new(), reason.to_owned()));
        for name in names {
            if known.len() < MOST_ORIGINS && !known.contains(&name) {
                known.push(name);
            }
        }
    }

    pub(super) fn until(&mut self, stop: Option<char>, raw: bool) -> String {
        let mut out = String::new();
        self.depth += 1;
        if self.depth > DEEPEST {
            self.at = self.chars.len();
            self.broken = true;
        }
        loop {
            if out.len() > LONGEST {
                self.at = self.chars.len();
            }
            let Some(c) = self.next() else {
                if stop.is_some() {
                    self.broken = true;
                }
                break;
            };
            match c {
                _ if Some(c) == stop => break,
                '\'' => self.single(&mut out),
                '"' => self.double(&mut out),
                '$' => self.dollar(&mut out),
                '`' if self.shell => self.backtick(),
                _ if c == self.escape => {
                    if raw {
                        out.push(c);
                    }
                    out.extend(self.next());
                }
                _ => out.push(c),
            }
        }
        self.depth -= 1;
        out
    }

    fn single(&mut self, out: &mut String) {
        loop {
            match self.next() {
                Some('\'') => return,
                Some(c) => out.push(c),
                None => return self.miss(Vec::new(), "a single quote is not closed"),
            }
        }
    }

    fn double(&mut self, out: &mut String) {
        loop {
            match self.next() {
                Some('"') => return,
                Some('$') => self.dollar(out),
                Some('`') if self.shell => self.backtick(),
                Some(c) if c == self.escape => match self.peek() {
                    Some(next) if next == '"' || next == '$' || next == self.escape || (self.shell && next == '`') => {
                        out.push(next);
                        self.at += 1;
                    }
                    Some(_) => out.push(c),
                    None => {}
                },
                Some(c) => out.push(c),
                None => return self.miss(Vec::new(), "a double quote is not closed"),
            }
        }
    }

    fn backtick(&mut self) {
        self.miss(Vec::new(), "its value is the output of a command");
        while let Some(c) = self.next() {
            match c {
                '`' => return,
                '\\' => self.at += 1,
                _ => {}
            }
        }
    }

    pub(super) fn name(&mut self) -> String {
        let start = self.at;
        match self.peek() {
            Some('0'..='9') => {
                while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                    self.at += 1;
                }
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => self.at += 1,
            _ => {
                while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
            }
        }
        self.chars[start..self.at].iter().collect()
    }

    fn dollar(&mut self, out: &mut String) {
        match self.peek() {
            Some('{') => {
                self.at += 1;
                self.braces(out);
            }
            Some('(') if self.shell => {
                self.miss(Vec::new(), "its value is the output of a command");
                self.parens();
            }
            _ => {
                let name = self.name();
                if name.is_empty() {
                    out.push('$');
                } else if let Some(value) = self.value(&name) {
                    out.push_str(&value);
                }
            }
        }
    }

    fn parens(&mut self) {
        let mut open = 0;
        while let Some(c) = self.next() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                '\\' => self.at += 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }
}
