//! Substitutions in braces: `${NAME}` and its operators.

use crate::dockerfile::expand::{MAX_ORIGINS, VariableExpander};
use crate::dockerfile::shell_pattern::ShellPattern;
use crate::dockerfile::{BASE_MARK, VariableLookup};
use crate::model::cause::Cause;
use crate::text::source::Span;

impl VariableExpander<'_> {
    /// Returns the value of a variable; records it as unresolved and returns `None` where it is unknown.
    pub(super) fn variable_value(&mut self, name: &str) -> Option<String> {
        match (self.lookup)(name) {
            VariableLookup::Known(value, origins) => {
                self.record_origins(origins);
                Some(value)
            }
            VariableLookup::Unset => Some(String::new()),
            VariableLookup::NoValue => {
                self.record_unresolved(vec![name.to_owned()], Cause::NoDefault { name: name.to_owned() });
                None
            }
            VariableLookup::Unknown(names, reason) => {
                self.record_unresolved(names, reason);
                None
            }
        }
    }

    /// Returns the value of a variable for an operator that needs its text, which a base image variable does not
    /// have.
    fn inspectable_value(&mut self, name: &str) -> Option<String> {
        let value = self.variable_value(name)?;
        if value.contains(BASE_MARK) {
            self.record_unresolved(vec![name.to_owned()], Cause::OnlyBaseSets);
            return None;
        }
        Some(value)
    }

    /// Records the source spans of a value.
    fn record_origins(&mut self, origins: Vec<Span>) {
        for origin in origins {
            if self.origins.len() < MAX_ORIGINS && !self.origins.contains(&origin) {
                self.origins.push(origin);
            }
        }
    }

    /// Expands a substitution after its opening brace.
    pub(super) fn expand_braces(&mut self, out: &mut String) {
        let name = self.read_variable_name();
        let operator = self.next_char();
        if name.is_empty() {
            if operator != Some('}') {
                self.expand_until(Some('}'), true);
            }
            return self.record_unresolved(Vec::new(), Cause::SubstitutionWithoutName);
        }
        let (colon, operator) = if operator == Some(':') { (true, self.next_char()) } else { (false, operator) };
        match operator {
            Some('}') if !colon => out.extend(self.variable_value(&name)),
            Some(c @ ('-' | '+' | '?')) => self.expand_alternative(&name, c, colon, out),
            Some('=') if self.shell => self.expand_alternative(&name, '-', colon, out),
            Some(c @ ('#' | '%')) if !colon => {
                let word = self.expand_until(Some('}'), true);
                let (longest, word) = word.strip_prefix(c).map_or((false, word.as_str()), |rest| (true, rest));
                if let Some(value) = self.inspectable_value(&name) {
                    self.push_or_too_long(
                        ShellPattern::compile(word).and_then(|pattern| pattern.remove_match(&value, c == '%', longest)),
                        out,
                    );
                }
            }
            Some('/') if !colon => self.expand_replacement(&name, out),
            Some(c @ ('^' | ',')) if !colon && self.shell => {
                let all = self.peek_char() == Some(c);
                self.at += usize::from(all);
                let word = self.expand_until(Some('}'), true);
                if let Some(value) = self.inspectable_value(&name) {
                    self.push_or_unsupported(name, word.is_empty().then(|| change_case(&value, c == '^', all)), out);
                }
            }
            Some(c) if colon && self.shell && (c.is_ascii_digit() || c == ' ') => {
                self.at -= 1;
                let word = self.expand_until(Some('}'), true);
                if let Some(value) = self.inspectable_value(&name) {
                    self.push_or_unsupported(name, substring(&value, &word), out);
                }
            }
            None => self.record_unresolved(vec![name], Cause::SubstitutionNotClosed),
            Some(c) => {
                if c != '}' {
                    self.expand_until(Some('}'), true);
                }
                self.push_or_unsupported(name, None, out);
            }
        }
    }

    /// Appends a value, or records that the substitution is not supported.
    fn push_or_unsupported(&mut self, name: String, value: Option<String>, out: &mut String) {
        match value {
            Some(value) => out.push_str(&value),
            None => self.record_unresolved(vec![name], Cause::SubstitutionNotSupported),
        }
    }

    /// Appends a value, or records that the pattern or value is too long.
    fn push_or_too_long(&mut self, value: Option<String>, out: &mut String) {
        match value {
            Some(value) => out.push_str(&value),
            None => self.record_unresolved(Vec::new(), Cause::PatternValueTooLong),
        }
    }

    /// Expands `${x/pattern/replacement}`.
    fn expand_replacement(&mut self, name: &str, out: &mut String) {
        let all = self.peek_char() == Some('/');
        self.at += usize::from(all);
        let start = self.at;
        let before = (self.missing.clone(), self.broken);
        let pattern = self.expand_until(Some('/'), true);
        let (pattern, with) = if self.shell && self.at >= self.chars.len() && self.depth <= 2 {
            self.at = start;
            (self.missing, self.broken) = before;
            (self.expand_until(Some('}'), true), String::new())
        } else {
            (pattern, self.expand_until(Some('}'), false))
        };
        if let Some(value) = self.inspectable_value(name) {
            self.push_or_too_long(
                ShellPattern::compile(&pattern).and_then(|pattern| pattern.replace(&value, &with, all)),
                out,
            );
        }
    }

    /// Expands `${x-word}`, `${x+word}` and `${x?word}`, with or without a colon.
    fn expand_alternative(&mut self, name: &str, operator: char, colon: bool, out: &mut String) {
        let before = (self.missing.clone(), self.origins.clone());
        let word = self.expand_until(Some('}'), false);
        let value = match (self.lookup)(name) {
            VariableLookup::Known(value, origins) => Some((value, origins)),
            VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(_, Cause::SetNowhere) => None,
            VariableLookup::Unknown(names, reason) => return self.record_unresolved(names, reason),
        };
        let value = value.filter(|(value, _)| !(colon && value.is_empty()));
        match (operator, value) {
            ('+', Some((_, origins))) => {
                self.record_origins(origins);
                out.push_str(&word);
            }
            ('-', None) => out.push_str(&word),
            (other, value) => {
                (self.missing, self.origins) = before;
                match value {
                    Some((value, origins)) => {
                        self.record_origins(origins);
                        out.push_str(&value);
                    }
                    None if other == '?' => {
                        self.record_unresolved(vec![name.to_owned()], Cause::ValueRequired);
                    }
                    None => {}
                }
            }
        }
    }
}

/// Applies `${x^}`, `${x^^}`, `${x,}` or `${x,,}` of bash.
fn change_case(value: &str, upper: bool, all: bool) -> String {
    let one = |(at, c): (usize, char)| {
        let changed = if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        if all || at == 0 { changed } else { c }
    };
    value.chars().enumerate().map(one).collect()
}

/// Applies `${x:offset}` or `${x:offset:length}` of bash; `word` is the text after the first colon.
fn substring(value: &str, word: &str) -> Option<String> {
    let (offset, length) = word.split_once(':').map_or((word, None), |(offset, length)| (offset, Some(length)));
    let count = value.chars().count();
    let from_end = |number: i64| {
        let back = usize::try_from(number.unsigned_abs()).ok()?;
        if number < 0 { count.checked_sub(back) } else { Some(back) }
    };
    let start = from_end(offset.trim().parse().ok()?)?;
    let length: Option<i64> = length.map(|length| length.trim().parse()).transpose().ok()?;
    let end = match length {
        None => count,
        Some(length) if length < 0 => from_end(length)?,
        Some(length) => start.saturating_add(usize::try_from(length).ok()?),
    };
    (start <= end || start >= count).then(|| value.chars().take(end).skip(start).collect())
}
