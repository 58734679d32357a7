//! Expands command substitutions whose output can be computed without running anything.

use std::ops::Range;
use std::sync::Arc;

use crate::build::{Command, StandardInput, Word, is_shell};
use crate::dockerfile::{Dialect, ExpandedText, MappedText, expand_variables};
use crate::shell::scripts::{split_assignment, substitution_range};
use crate::shell::walk::redirections::Redirections;
use crate::shell::walk::script_paths::SCRIPT_FILE_VARIABLE;
use crate::shell::walk::state::{MAX_DEPTH, ShellWalker};
use crate::text::source::Span;

/// The maximum number of substitutions in a word.
const MAX_SUBSTITUTIONS: usize = 8;

impl ShellWalker<'_> {
    /// Returns the expansion of a text with the current variables.
    pub(super) fn expand_text(&self, raw: &str) -> ExpandedText {
        let first = format!("{SCRIPT_FILE_VARIABLE}[0]");
        let own = raw.contains(&first).then(|| raw.replace(&first, SCRIPT_FILE_VARIABLE));
        let raw = own.as_deref().unwrap_or(raw);
        let filled = self.fill_substitutions(raw);
        let text = filled.as_ref().map_or(raw, |(text, _)| text);
        let mut value = expand_variables(text, Dialect::Shell, &|name| self.lookup_variable(name));
        if let (ExpandedText::Known { origins, .. }, Some((_, from))) = (&mut value, filled) {
            let new: Vec<Span> = from.into_iter().filter(|span| !origins.contains(span)).collect();
            origins.extend(new);
        }
        value
    }

    /// Applies `${NAME:=VALUE}` in a word, which sets a variable that is not set.
    pub(super) fn apply_default_assignments(&mut self, raw: &str) {
        for (at, _) in raw.match_indices("${").take(MAX_SUBSTITUTIONS) {
            let rest = raw.get(at + 2..).unwrap_or_default();
            let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
            let behind = rest.get(name.len()..).unwrap_or_default();
            let (sign, behind) = behind.split_once('=').unwrap_or_default();
            if name.is_empty() || !matches!(sign, "" | ":") || !rest.contains('=') || behind.contains("${") {
                continue;
            }
            let value = behind.split('}').next().unwrap_or_default();
            let value = self.expand_text(&format!("${{{name}{sign}-{value}}}"));
            self.apply_assignment(name, value);
        }
    }

    /// Replaces the substitutions `$(…)` in a word by their output; `None` without any, or with an unknown one.
    pub(super) fn fill_substitutions(&self, raw: &str) -> Option<(String, Vec<Span>)> {
        let plain = convert_backticks(raw);
        let raw = plain.as_deref().unwrap_or(raw);
        if self.sourced || !raw.contains("$(") || raw.matches("$(").count() > MAX_SUBSTITUTIONS {
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
                    let inside = until_closing_bracket(rest.get(2..)?)?;
                    let (value, from) = self.substitution_output(inside)?;
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

    /// Returns the command or pipeline that writes the output of a substitution; `None` for several commands.
    pub(super) fn substitution_command(&self, text: &MappedText) -> Option<Arc<Command>> {
        if self.substitutions >= MAX_DEPTH {
            return None;
        }
        let mut walk = self.substitution_walker();
        walk.walk_text(text, 0);
        let last = walk.out.pop()?;
        let fed = |command: &Command| matches!(command.input, StandardInput::Pipe(_));
        let one = walk.out.iter().chain([&last]).enumerate().all(|(at, command)| fed(command) == (at > 0));
        one.then(|| Arc::new(last))
    }

    /// Records the commands that assignments run for their values, as they may change files.
    pub(super) fn record_assignment_commands(&mut self, text: &MappedText, ranges: &[Range<usize>]) {
        for range in ranges {
            let Some((name, value)) = split_assignment(text.get(range.clone())) else { continue };
            let front = usize::from(value.starts_with('"'));
            let bare = value.trim_matches('"');
            let Some(inside) = substitution_range(bare).filter(|_| self.expand_text(value).known_text().is_none())
            else {
                continue;
            };
            let from = range.start + name.len() + 1 + front;
            let inside = text.slice(from + inside.start..from + inside.end);
            self.record_installing_commands(&inside);
            let output = self.substitution_command(&inside);
            if output.as_deref().and_then(|command| self.file_changes(command)).is_some() {
                let span = text.source_span(range.clone());
                let word = Word { value: ExpandedText::literal(":"), raw: ":".to_owned(), span, output };
                self.record_command(vec![word], None, Redirections::default());
            }
        }
    }

    /// Records the commands of a substitution that run a script or install something.
    fn record_installing_commands(&mut self, text: &MappedText) {
        if self.substitutions >= MAX_DEPTH {
            return;
        }
        let mut walk = self.substitution_walker();
        walk.walk_text(text, 0);
        for command in walk.out {
            let installs = command.words.iter().any(|word| word.known() == Some("install"));
            if command.program().is_some_and(is_shell) || installs {
                let before = self.out.len();
                self.record_command(command.words, None, Redirections::default());
                for recorded in self.out.iter_mut().skip(before) {
                    recorded.conditional |= command.conditional;
                }
            }
        }
    }

    /// Returns a walker for the script of a substitution.
    pub(super) fn substitution_walker(&self) -> Self {
        let mut walk = ShellWalker::new(self.scope, &[], self.files);
        walk.variables.clone_from(&self.variables);
        walk.arguments = self.arguments.clone();
        walk.substitutions = self.substitutions + 1;
        walk
    }
}

/// Converts a single substitution in backticks to `$(…)`.
fn convert_backticks(raw: &str) -> Option<String> {
    let mut parts = raw.split('`');
    let (before, inside, after) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = parts.next().is_none() && !raw.contains(['\'', '\\']);
    plain.then(|| format!("{before}$({inside}){after}"))
}

/// Returns the text up to its closing bracket.
fn until_closing_bracket(text: &str) -> Option<&str> {
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

/// Whether a command sets variables that are not tracked: `printf -v A x`, `mapfile A`, `A+=x`, `export $(…)`.
pub(super) fn sets_untracked_variables(words: &[Word]) -> bool {
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
