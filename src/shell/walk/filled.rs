//! Substitutions in words, where what they stand for can be told without running anything.

use std::ops::Range;
use std::sync::Arc;

use crate::dockerfile::Dialect;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::expand;
use crate::shell::Command;
use crate::shell::Input;
use crate::shell::Trace;
use crate::shell::Word;
use crate::shell::nested::assignment;
use crate::shell::nested::substitution;
use crate::shell::walk::DEEPEST;
use crate::shell::walk::Walk;
use crate::shell::walk::places::OWN_FILE;
use crate::shell::walk::redirects::Redirects;
use crate::source::Span;

/// Words with more substitutions are nobody's.
const MOST: usize = 8;

impl Walk<'_> {
    /// What a word stands for, as its variables are at this place.
    pub(super) fn expanded(&self, raw: &str) -> Resolved {
        let first = format!("{OWN_FILE}[0]");
        let own = raw.contains(&first).then(|| raw.replace(&first, OWN_FILE));
        let raw = own.as_deref().unwrap_or(raw);
        let filled = self.filled(raw);
        let text = filled.as_ref().map_or(raw, |(text, _)| text);
        let mut value = expand(text, Dialect::Shell, &|name| self.lookup(name));
        if let (Resolved::Known { origins, .. }, Some((_, from))) = (&mut value, filled) {
            let new: Vec<Span> = from.into_iter().filter(|span| !origins.contains(span)).collect();
            origins.extend(new);
        }
        value
    }

    /// Takes `${NAME:=VALUE}` in a word, which sets what was not set.
    pub(super) fn sets_defaults(&mut self, raw: &str) {
        for (at, _) in raw.match_indices("${").take(MOST) {
            let rest = raw.get(at + 2..).unwrap_or_default();
            let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
            let behind = rest.get(name.len()..).unwrap_or_default();
            let (sign, behind) = behind.split_once('=').unwrap_or_default();
            if name.is_empty() || !matches!(sign, "" | ":") || !rest.contains('=') || behind.contains("${") {
                continue;
            }
            let value = behind.split('}').next().unwrap_or_default();
            let value = self.expanded(&format!("${{{name}{sign}-{value}}}"));
            self.set(name, value);
        }
    }

    /// A word with the values of its substitutions `$(…)` in their place, and where those come from; `None` where
    /// there are none, or one of them cannot be told.
    pub(super) fn filled(&self, raw: &str) -> Option<(String, Vec<Span>)> {
        let plain = backticks(raw);
        let raw = plain.as_deref().unwrap_or(raw);
        if self.sourced || !raw.contains("$(") || raw.matches("$(").count() > MOST {
            return None;
        }
        let (mut out, mut origins) = (String::new(), Vec::new());
        let (mut rest, mut double) = (raw, false);
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '\'' if !double => rest.get(1..)?.find('\'')? + 2,
                '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
                '$' if rest.starts_with("$((") => return None,
                '$' if rest.starts_with("$(") => {
                    let inside = closed(rest.get(2..)?)?;
                    let (value, from) = self.told(inside)?;
                    // What a shell would read once more, or split, is not put in.
                    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-:/=,@".contains(c);
                    if value.is_empty() || !value.chars().all(plain) {
                        return None;
                    }
                    out.push_str(&value);
                    origins.extend(from);
                    rest = rest.get(inside.len() + 3..)?;
                    continue;
                }
                c => {
                    double ^= c == '"';
                    c.len_utf8()
                }
            };
            out.push_str(rest.get(..length)?);
            rest = rest.get(length..)?;
        }
        Some((out, origins))
    }
}

impl Walk<'_> {
    /// The command that writes what a substitution stands for; none where there are several, one after the other.
    pub(super) fn substituted(&self, text: &Mapped) -> Option<Arc<Command>> {
        if self.substitutions >= DEEPEST {
            return None;
        }
        let mut walk = self.inside();
        walk.text(text, 0);
        let last = walk.out.pop()?;
        let fed = |command: &Command| matches!(command.input, Input::Pipe(_));
        let one = walk.out.iter().chain([&last]).enumerate().all(|(at, command)| fed(command) == (at > 0));
        one.then(|| Arc::new(last))
    }

    /// Keeps the commands that assignments run to get their values: they may change files.
    pub(super) fn trace_values(&mut self, text: &Mapped, ranges: &[Range<usize>]) {
        for range in ranges {
            let Some((name, value)) = assignment(text.get(range.clone())) else { continue };
            let front = usize::from(value.starts_with('"'));
            let bare = value.trim_matches('"');
            let Some(inside) = substitution(bare).filter(|_| self.expanded(value).known().is_none()) else { continue };
            let from = range.start + name.len() + 1 + front;
            let output = self.substituted(&text.slice(from + inside.start..from + inside.end));
            if output.as_deref().and_then(Trace::of).is_some() {
                let span = text.span(range.clone());
                let word = Word { value: Resolved::literal(":"), raw: ":".to_owned(), span, output };
                self.emit(vec![word], None, Redirects::default());
            }
        }
    }

    /// The value of an assignment.
    pub(super) fn value(&self, raw: &str, span: Span) -> Resolved {
        let mut value = self.expanded(raw);
        if let Resolved::Known { origins, .. } = &mut value {
            origins.push(span);
        }
        value
    }

    /// One word, or several where an unquoted variable holds several.
    pub(super) fn word(&self, text: &Mapped, range: Range<usize>) -> Vec<Word> {
        let raw = text.get(range.clone()).to_owned();
        if let Some(words) = raw.contains('$').then(|| self.several(&raw, text.span(range.clone()))).flatten() {
            return words;
        }
        let span = text.span(range.clone());
        if let Some(inside) = substitution(&raw) {
            let output = self.substituted(&text.slice(range.start + inside.start..range.start + inside.end));
            let value = if raw.starts_with('<') {
                let reason = "it is what another command writes".to_owned();
                Resolved::Unresolved { names: Vec::new(), reason }
            } else {
                self.expanded(&raw)
            };
            return vec![Word { value, raw, span, output }];
        }
        let value = self.expanded(&raw);
        match &value {
            Resolved::Known { value, origins }
                if raw.contains('$') && !raw.contains(['"', '\'', '\\']) && value.contains(char::is_whitespace) =>
            {
                let part = |part: &str| Resolved::Known { value: part.to_owned(), origins: origins.clone() };
                value
                    .split_whitespace()
                    .map(|one| Word { value: part(one), raw: raw.clone(), span, output: None })
                    .collect()
            }
            Resolved::Known { value, .. } if value.is_empty() && !raw.contains(['"', '\'']) => Vec::new(),
            _ => vec![Word { value, raw, span, output: None }],
        }
    }

    /// What goes through a substitution.
    pub(super) fn inside(&self) -> Self {
        let mut walk = Walk::new(self.scope, &[], self.files);
        walk.variables.clone_from(&self.variables);
        walk.arguments = self.arguments.clone();
        walk.substitutions = self.substitutions + 1;
        walk
    }
}

/// A word with one plain substitution in backticks, in the other spelling.
fn backticks(raw: &str) -> Option<String> {
    let mut parts = raw.split('`');
    let (before, inside, after) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = parts.next().is_none() && !raw.contains(['\'', '\\']);
    plain.then(|| format!("{before}$({inside}){after}"))
}

/// The text up to the bracket that closes it.
fn closed(text: &str) -> Option<&str> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return text.get(..at),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether a command sets variables in a way that is not followed: `printf -v A x`, `mapfile A`, `A+=x`, `export $(…)`.
pub(super) fn sets_unseen(words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first().and_then(|(first, rest)| Some((first.known()?, rest))) else {
        return false;
    };
    let appends = program.split_once("+=").is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    match program {
        "mapfile" | "readarray" | "let" | "getopts" => true,
        "printf" => rest.first().and_then(Word::known).is_some_and(|word| word.starts_with("-v")),
        // What a substitution gives may be names with values.
        "export" | "declare" | "local" | "readonly" | "typeset" => {
            rest.iter().any(|word| word.known().is_none() && !word.raw.contains('='))
        }
        _ => appends,
    }
}
