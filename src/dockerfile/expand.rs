//! Expansion of variables as `BuildKit` does it, and the little more that a shell does.

use crate::dockerfile::BASE_MARK;
use crate::dockerfile::pattern::Pattern;
use crate::source::Span;

const DEEPEST: usize = 24;
const LONGEST: usize = 64 * 1024;
const MOST_ORIGINS: usize = 32;

/// A text after expansion, or why it cannot be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The text, and the values in the source that went into it.
    Known {
        /// The expanded text.
        value: String,
        /// Where the values of its variables are written.
        origins: Vec<Span>,
    },
    /// Some of it is not known from the file.
    Unresolved {
        /// The variables to blame; none for templating and command substitution.
        names: Vec<String>,
        /// Why.
        reason: String,
    },
}

impl Resolved {
    /// A text that needs no expansion.
    pub fn literal(value: impl Into<String>) -> Self {
        Self::Known { value: value.into(), origins: Vec::new() }
    }

    /// The text, where it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Unresolved { .. } => None,
        }
    }

    /// Where the values in it are written; empty where it is not known.
    pub fn origins(&self) -> &[Span] {
        match self {
            Self::Known { origins, .. } => origins,
            Self::Unresolved { .. } => &[],
        }
    }
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Its value and where that is written.
    Known(String, Vec<Span>),
    /// Certainly not set.
    Unset,
    /// An ARG that has no value unless the command line gives one: plain use is unresolved, `:-` takes its default.
    NoValue,
    /// It may have any value: the names to blame and why.
    Unknown(Vec<String>, String),
}

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
        let reason = "a template marker stands here; the file is not what gets built".to_owned();
        return Resolved::Unresolved { names: Vec::new(), reason };
    }
    let escape = match dialect {
        Dialect::Dockerfile(escape) => escape,
        Dialect::Shell => '\\',
    };
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
        run.miss(Vec::new(), "a substitution is not closed, or nested too deep");
    }
    match run.missing {
        Some((names, reason)) => Resolved::Unresolved { names, reason },
        None => Resolved::Known { value, origins: run.origins },
    }
}

/// Whether a text has a marker of a template language.
pub(super) fn is_template(text: &str) -> bool {
    let at_signs = || {
        let mut parts = text.split("@@").skip(1);
        parts.next().is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }) && parts.next().is_some()
    };
    text.contains("{{") || text.contains("{%") || text.contains("<%") || text.starts_with("{#") || at_signs()
}

struct Run<'a> {
    chars: Vec<char>,
    at: usize,
    escape: char,
    shell: bool,
    lookup: &'a dyn Fn(&str) -> Lookup,
    missing: Option<(Vec<String>, String)>,
    origins: Vec<Span>,
    depth: usize,
    /// Set once the text cannot be read; no alternative takes that back.
    broken: bool,
}

impl Run<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn miss(&mut self, names: Vec<String>, reason: &str) {
        let (known, _) = self.missing.get_or_insert_with(|| (Vec::new(), reason.to_owned()));
        for name in names {
            if known.len() < MOST_ORIGINS && !known.contains(&name) {
                known.push(name);
            }
        }
    }

    fn until(&mut self, stop: Option<char>, raw: bool) -> String {
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
        self.miss(Vec::new(), "a command is run to get the value");
        while let Some(c) = self.next() {
            match c {
                '`' => return,
                '\\' => self.at += 1,
                _ => {}
            }
        }
    }

    fn name(&mut self) -> String {
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
                self.miss(Vec::new(), "a command is run to get the value");
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

    /// The value of a plain use; `None` after noting that it is missing.
    fn value(&mut self, name: &str) -> Option<String> {
        match (self.lookup)(name) {
            Lookup::Known(value, origins) => {
                self.note(origins);
                Some(value)
            }
            Lookup::Unset => Some(String::new()),
            Lookup::NoValue => {
                self.miss(vec![name.to_owned()], "no default gives it a value, only the command line can");
                None
            }
            Lookup::Unknown(names, reason) => {
                self.miss(names, &reason);
                None
            }
        }
    }

    /// The value of a use that looks into it: a variable of the base image cannot be looked into.
    fn whole_value(&mut self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        if value.contains(BASE_MARK) {
            self.miss(vec![name.to_owned()], "only the base image could set it");
            return None;
        }
        Some(value)
    }

    fn note(&mut self, origins: Vec<Span>) {
        for origin in origins {
            if self.origins.len() < MOST_ORIGINS && !self.origins.contains(&origin) {
                self.origins.push(origin);
            }
        }
    }

    fn braces(&mut self, out: &mut String) {
        let name = self.name();
        let operator = self.next();
        if name.is_empty() {
            if operator != Some('}') {
                self.until(Some('}'), true);
            }
            return self.miss(Vec::new(), "a substitution has no name");
        }
        let (colon, operator) = if operator == Some(':') { (true, self.next()) } else { (false, operator) };
        match operator {
            Some('}') if !colon => out.extend(self.value(&name)),
            Some(c @ ('-' | '+' | '?')) => self.alternative(&name, c, colon, out),
            Some('=') if self.shell => self.alternative(&name, '-', colon, out),
            Some(c @ ('#' | '%')) if !colon => {
                let word = self.until(Some('}'), true);
                let (longest, word) = word.strip_prefix(c).map_or((false, word.as_str()), |rest| (true, rest));
                if let Some(value) = self.whole_value(&name) {
                    self.store(Pattern::new(word).and_then(|pattern| pattern.trim(&value, c == '%', longest)), out);
                }
            }
            Some('/') if !colon => self.replacement(&name, out),
            None => self.miss(vec![name], "a substitution is not closed"),
            Some(c) => {
                if c != '}' {
                    self.until(Some('}'), true);
                }
                self.miss(vec![name], "a substitution of this kind is not understood");
            }
        }
    }

    fn store(&mut self, value: Option<String>, out: &mut String) {
        match value {
            Some(value) => out.push_str(&value),
            None => self.miss(Vec::new(), "the value is too long for a pattern"),
        }
    }

    fn replacement(&mut self, name: &str, out: &mut String) {
        let all = self.peek() == Some('/');
        self.at += usize::from(all);
        let start = self.at;
        let before = (self.missing.clone(), self.broken);
        let pattern = self.until(Some('/'), true);
        let (pattern, with) = if self.shell && self.at >= self.chars.len() && self.depth <= 2 {
            self.at = start;
            (self.missing, self.broken) = before;
            (self.until(Some('}'), true), String::new())
        } else {
            (pattern, self.until(Some('}'), false))
        };
        if let Some(value) = self.whole_value(name) {
            self.store(Pattern::new(&pattern).and_then(|pattern| pattern.replace(&value, &with, all)), out);
        }
    }

    fn alternative(&mut self, name: &str, operator: char, colon: bool, out: &mut String) {
        let before = (self.missing.clone(), self.origins.clone());
        let word = self.until(Some('}'), false);
        let value = match (self.lookup)(name) {
            Lookup::Known(value, origins) => Some((value, origins)),
            Lookup::Unset | Lookup::NoValue => None,
            Lookup::Unknown(names, reason) => return self.miss(names, &reason),
        };
        let value = value.filter(|(value, _)| !(colon && value.is_empty()));
        match (operator, value) {
            ('+', Some((_, origins))) => {
                self.note(origins);
                out.push_str(&word);
            }
            ('-', None) => out.push_str(&word),
            (other, value) => {
                (self.missing, self.origins) = before;
                match value {
                    Some((value, origins)) => {
                        self.note(origins);
                        out.push_str(&value);
                    }
                    None if other == '?' => {
                        self.miss(vec![name.to_owned()], "the file demands a value from the command line");
                    }
                    None => {}
                }
            }
        }
    }
}
