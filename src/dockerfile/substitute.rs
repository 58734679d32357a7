//! Substitutions in braces: `${NAME}` and what may stand behind the name.

use crate::dockerfile::BASE_MARK;
use crate::dockerfile::Lookup;
use crate::dockerfile::ONLY_THE_BASE;
use crate::dockerfile::SET_NOWHERE;
use crate::dockerfile::expand::MOST_ORIGINS;
use crate::dockerfile::expand::Run;
use crate::dockerfile::pattern::Pattern;
use crate::source::Span;

impl Run<'_> {
    /// The value of a plain use; `None` after noting that it is missing.
    pub(super) fn value(&mut self, name: &str) -> Option<String> {
        match (self.lookup)(name) {
            Lookup::Known(value, origins) => {
                self.note(origins);
                Some(value)
            }
            Lookup::Unset => Some(String::new()),
            Lookup::NoValue => {
                self.miss(vec![name.to_owned()], &format!("{name} has no default; only the command line can set it"));
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
            self.miss(vec![name.to_owned()], ONLY_THE_BASE);
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

    pub(super) fn braces(&mut self, out: &mut String) {
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
            Some(c @ ('^' | ',')) if !colon && self.shell => {
                let all = self.peek() == Some(c);
                self.at += usize::from(all);
                let word = self.until(Some('}'), true);
                if let Some(value) = self.whole_value(&name) {
                    self.understood(name, word.is_empty().then(|| cased(&value, c == '^', all)), out);
                }
            }
            Some(c) if colon && self.shell && (c.is_ascii_digit() || c == ' ') => {
                self.at -= 1;
                let word = self.until(Some('}'), true);
                if let Some(value) = self.whole_value(&name) {
                    self.understood(name, part(&value, &word), out);
                }
            }
            None => self.miss(vec![name], "a substitution is not closed"),
            Some(c) => {
                if c != '}' {
                    self.until(Some('}'), true);
                }
                self.understood(name, None, out);
            }
        }
    }

    fn understood(&mut self, name: String, value: Option<String>, out: &mut String) {
        match value {
            Some(value) => out.push_str(&value),
            None => self.miss(vec![name], "this form of substitution is not supported"),
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
            Lookup::Unknown(_, reason) if reason == SET_NOWHERE => None,
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
                        self.miss(vec![name.to_owned()], "the file requires a value from the command line");
                    }
                    None => {}
                }
            }
        }
    }
}

/// bash's `${x^}`, `${x^^}`, `${x,}` and `${x,,}`.
fn cased(value: &str, upper: bool, all: bool) -> String {
    let one = |(at, c): (usize, char)| {
        let changed = if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        if all || at == 0 { changed } else { c }
    };
    value.chars().enumerate().map(one).collect()
}

/// bash's `${x:2}`, `${x:0:4}`, `${x: -3}` and `${x:0:-2}`: what stands behind the first colon.
fn part(value: &str, word: &str) -> Option<String> {
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
