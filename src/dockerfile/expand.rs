//! Expansion of variables by the rules of `BuildKit`, with the additions of a shell.

use crate::dockerfile::{ExpandedText, VariableLookup};
use crate::model::cause::Cause;
use crate::text::source::Span;

/// The maximum nesting depth of substitutions.
const MAX_NESTING_DEPTH: usize = 24;
/// The maximum length of an expanded text in bytes.
const MAX_EXPANDED_LENGTH: usize = 64 * 1024;
/// The maximum number of source spans, and of variable names, that an expanded text records.
pub(super) const MAX_ORIGINS: usize = 32;

/// The syntax rules of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `BuildKit`, with the file's escape character.
    Dockerfile(char),
    /// A POSIX shell or bash.
    Shell,
}

/// Expands the variables in a text and removes its quotes and escapes.
pub fn expand_variables(text: &str, dialect: Dialect, lookup: &dyn Fn(&str) -> VariableLookup) -> ExpandedText {
    if is_template(text) {
        return ExpandedText::unresolved(Vec::new(), Cause::TemplateMarker);
    }
    let escape = match dialect {
        Dialect::Dockerfile(escape) => escape,
        Dialect::Shell => '\\',
    };
    // Most words stand for themselves.
    let plain = |byte| !matches!(byte, b'$' | b'\'' | b'"' | b'`' | b'\\');
    if text.len() <= MAX_EXPANDED_LENGTH && text.bytes().all(plain) && !text.contains(escape) {
        return ExpandedText::Known { value: text.to_owned(), origins: Vec::new() };
    }
    let shell = dialect == Dialect::Shell;
    let mut run = VariableExpander {
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
    let value = run.expand_until(None, false);
    if value.len() > MAX_EXPANDED_LENGTH {
        run.record_unresolved(Vec::new(), Cause::ValueTooLong);
    }
    if run.broken {
        run.record_unresolved(Vec::new(), Cause::SubstitutionBroken);
    }
    match run.missing {
        Some((names, reason)) => ExpandedText::unresolved(names, reason),
        None => ExpandedText::Known { value, origins: run.origins },
    }
}

/// Whether a text contains a marker of a template language.
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
    let is_format_field = || {
        let name = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    is_format_field()
        || text.contains("{{")
        || text.contains("{%")
        || text.contains("<%")
        || text.starts_with("{#")
        || at_signs()
}

/// Returns the text before the first variable or template marker; `None` where there is neither.
pub fn literal_prefix(text: &str) -> Option<&str> {
    const MARKS: &[&str] = &["$", "{", "<", "@@"];
    text.get(..MARKS.iter().filter_map(|mark| text.find(mark)).min()?)
}

/// The state of an expansion: position in the text, unresolved variables, and source spans.
pub(super) struct VariableExpander<'a> {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    escape: char,
    pub(super) shell: bool,
    pub(super) lookup: &'a dyn Fn(&str) -> VariableLookup,
    pub(super) missing: Option<(Vec<String>, Cause)>,
    pub(super) origins: Vec<Span>,
    pub(super) depth: usize,
    /// Set once the text cannot be read; no alternative takes that back.
    pub(super) broken: bool,
}

impl VariableExpander<'_> {
    /// Returns the next character without consuming it.
    pub(super) fn peek_char(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Consumes and returns the next character.
    pub(super) fn next_char(&mut self) -> Option<char> {
        let c = self.peek_char();
        self.at += usize::from(c.is_some());
        c
    }

    /// Records that the text cannot be resolved, with the variables responsible and the reason.
    pub(super) fn record_unresolved(&mut self, names: Vec<String>, reason: Cause) {
        let (known, _) = self.missing.get_or_insert_with(|| (Vec::new(), reason));
        for name in names {
            if known.len() < MAX_ORIGINS && !known.contains(&name) {
                known.push(name);
            }
        }
    }

    /// Expands the text up to a terminator; with `raw`, escape characters outside quotes are preserved.
    pub(super) fn expand_until(&mut self, stop: Option<char>, raw: bool) -> String {
        let mut out = String::new();
        self.depth += 1;
        if self.depth > MAX_NESTING_DEPTH {
            self.at = self.chars.len();
            self.broken = true;
        }
        loop {
            if out.len() > MAX_EXPANDED_LENGTH {
                self.at = self.chars.len();
            }
            let Some(c) = self.next_char() else {
                if stop.is_some() {
                    self.broken = true;
                }
                break;
            };
            match c {
                _ if Some(c) == stop => break,
                '\'' => self.read_single_quoted(&mut out),
                '"' => self.expand_double_quoted(&mut out),
                '$' => self.expand_dollar(&mut out),
                '`' if self.shell => self.skip_backtick_command(),
                _ if c == self.escape => {
                    if raw {
                        out.push(c);
                    }
                    out.extend(self.next_char());
                }
                _ => out.push(c),
            }
        }
        self.depth -= 1;
        out
    }

    /// Reads the rest of a single-quoted string.
    fn read_single_quoted(&mut self, out: &mut String) {
        loop {
            match self.next_char() {
                Some('\'') => return,
                Some(c) => out.push(c),
                None => return self.record_unresolved(Vec::new(), Cause::SingleQuoteNotClosed),
            }
        }
    }

    /// Expands the rest of a double-quoted string.
    fn expand_double_quoted(&mut self, out: &mut String) {
        loop {
            match self.next_char() {
                Some('"') => return,
                Some('$') => self.expand_dollar(out),
                Some('`') if self.shell => self.skip_backtick_command(),
                Some(c) if c == self.escape => match self.peek_char() {
                    Some(next) if next == '"' || next == '$' || next == self.escape || (self.shell && next == '`') => {
                        out.push(next);
                        self.at += 1;
                    }
                    Some(_) => out.push(c),
                    None => {}
                },
                Some(c) => out.push(c),
                None => return self.record_unresolved(Vec::new(), Cause::DoubleQuoteNotClosed),
            }
        }
    }

    /// Skips a command substitution in backticks and records its output as unresolved.
    fn skip_backtick_command(&mut self) {
        self.record_unresolved(Vec::new(), Cause::CommandOutput);
        while let Some(c) = self.next_char() {
            match c {
                '`' => return,
                '\\' => self.at += 1,
                _ => {}
            }
        }
    }

    /// Reads the name of a variable or special parameter.
    pub(super) fn read_variable_name(&mut self) -> String {
        let start = self.at;
        match self.peek_char() {
            Some('0'..='9') => {
                while self.peek_char().is_some_and(|c| c.is_ascii_digit()) {
                    self.at += 1;
                }
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => self.at += 1,
            _ => {
                while self.peek_char().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
            }
        }
        self.chars[start..self.at].iter().collect()
    }

    /// Expands the variable or substitution after a `$`.
    fn expand_dollar(&mut self, out: &mut String) {
        match self.peek_char() {
            Some('{') => {
                self.at += 1;
                self.expand_braces(out);
            }
            Some('(') if self.shell => {
                self.record_unresolved(Vec::new(), Cause::CommandOutput);
                self.skip_parentheses();
            }
            _ => {
                let name = self.read_variable_name();
                if name.is_empty() {
                    out.push('$');
                } else if let Some(value) = self.variable_value(&name) {
                    out.push_str(&value);
                }
            }
        }
    }

    /// Skips a parenthesized command substitution.
    fn skip_parentheses(&mut self) {
        let mut open = 0;
        while let Some(c) = self.next_char() {
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
