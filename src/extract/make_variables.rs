//! Expansion of Makefile variables: while the file is read, and in a recipe.

use std::collections::BTreeSet;

use crate::extract::makefile::{MAX_LINE_LENGTH, MakeEnvironment, MakeRule, Makefile};

/// The largest depth of nested variable expansions.
const MAX_EXPANSION_DEPTH: usize = 8;
/// The largest number of expansions for one Makefile: one variable may refer to many, and each of those too.
const MAX_EXPANSIONS: usize = 50_000;
/// The largest length, in characters, of a variable reference; longer ones are not read.
const MAX_REFERENCE_LENGTH: usize = 4096;
/// The largest number of nested brackets in a variable reference.
const MAX_BRACKET_DEPTH: usize = 32;
/// The placeholder for an unknown part of a text.
const UNKNOWN_VALUE: &str = "$(?)";

/// The target and rule of the recipe in which a text is expanded.
#[derive(Clone, Copy)]
pub(super) struct MakeRecipeContext<'a> {
    pub(super) goal: &'a str,
    pub(super) rule: &'a MakeRule,
    /// The variables that have a target-specific value in this recipe.
    pub(super) own: &'a BTreeSet<String>,
}

impl Makefile {
    /// Returns a text with its variables expanded while the file is read; `None` where a value is unknown.
    pub(super) fn expand(&self, text: &str, environment: MakeEnvironment<'_>, depth: usize) -> Option<String> {
        let (mut out, mut rest) = (String::new(), text);
        if self.spent.replace(self.spent.get() + 1) > MAX_EXPANSIONS {
            return None;
        }
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.expand_reference(after, environment, depth)?;
            out.push_str(&value);
            if out.len() > MAX_LINE_LENGTH || depth >= MAX_EXPANSION_DEPTH {
                return None;
            }
            rest = after.get(length..)?;
        }
        Some(out + rest)
    }

    /// Returns the value of the reference after a `$`, and the length of that reference.
    fn expand_reference(&self, text: &str, environment: MakeEnvironment<'_>, depth: usize) -> Option<(String, usize)> {
        let close = match text.chars().next()? {
            '$' => return Some(("$".to_owned(), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let end = closing_bracket(text, close)?;
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            Some(value) => self.expand(value.as_ref()?, environment, depth + 1)?,
            // A file that is not at hand may set it.
            None if is_variable_name(name) && self.open => return None,
            None if is_variable_name(name) => environment(name).ok()?.unwrap_or_default(),
            None => {
                let (function, words) = name.split_once(' ')?;
                let words = self.expand(words, environment, depth + 1)?;
                match (function, words.split_once(',')) {
                    ("strip", _) => words.split_whitespace().collect::<Vec<_>>().join(" "),
                    ("filter", Some((own, words))) if !own.contains('%') => {
                        let kept =
                            words.split_whitespace().filter(|word| own.split_whitespace().any(|one| one == *word));
                        kept.collect::<Vec<_>>().join(" ")
                    }
                    ("findstring", Some((part, whole))) => {
                        if whole.contains(part) {
                            part.to_owned()
                        } else {
                            String::new()
                        }
                    }
                    _ => return None,
                }
            }
        };
        Some((value, end + 1))
    }

    /// Returns the value that `:=` assigns: the text expanded at this line, with `$(?)` for each unknown value.
    pub(super) fn expand_simply(&self, text: &str, environment: MakeEnvironment<'_>, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        let spent = self.spent.replace(self.spent.get() + 1) > MAX_EXPANSIONS;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if spent || out.len() > MAX_LINE_LENGTH || depth >= MAX_EXPANSION_DEPTH {
                return out + UNKNOWN_VALUE;
            }
            if let Some((value, length)) = self.expand_reference(after, environment, depth) {
                out.push_str(&value.replace('$', "$$"));
                rest = after.get(length..).unwrap_or("");
                continue;
            }
            let close = if after.starts_with('{') { '}' } else { ')' };
            let end = if after.starts_with(['(', '{']) { closing_bracket(after, close) } else { None };
            let Some(end) = end else { return out + UNKNOWN_VALUE };
            match after.get(1..end).and_then(|name| self.variables.get(name)) {
                Some(Some(value)) => out.push_str(&self.expand_simply(value, environment, depth + 1)),
                _ => out.push_str(UNKNOWN_VALUE),
            }
            rest = after.get(end + 1..).unwrap_or("");
        }
        out + rest
    }

    /// Returns the shell text for the reference after a `$` in a recipe, and the length of that reference.
    pub(super) fn expand_recipe_reference(
        &self,
        text: &str,
        at: MakeRecipeContext<'_>,
        depth: usize,
    ) -> Option<(String, usize)> {
        let first = text.chars().next()?;
        let close = match first {
            '$' => return Some(("$".to_owned(), 1)),
            '@' => return Some((at.goal.to_owned(), 1)),
            '<' => return Some((at.rule.before.first().cloned().unwrap_or_default(), 1)),
            '^' => return Some((at.rule.before.join(" "), 1)),
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let unknown = || "$(make)".to_owned();
        // What does not end, or is too long, may be anything.
        let Some(end) = closing_bracket(text, close) else { return Some((unknown(), text.len())) };
        let name = text.get(1..end)?;
        let value = match self.variables.get(name) {
            // Another value holds for the target.
            _ if at.own.contains(name) => unknown(),
            Some(Some(value)) if depth < MAX_EXPANSION_DEPTH => self.expand_recipe_text(value, at, depth + 1),
            None if name == "MAKE" => "make".to_owned(),
            // A variable of the environment is one of the shell.
            None if is_variable_name(name) && !self.open => format!("${{{name}}}"),
            _ => unknown(),
        };
        Some((value, end + 1))
    }

    /// Returns a text with its variables expanded as in a recipe.
    fn expand_recipe_text(&self, text: &str, at: MakeRecipeContext<'_>, depth: usize) -> String {
        let (mut out, mut rest) = (String::new(), text);
        if self.spent.replace(self.spent.get() + 1) > MAX_EXPANSIONS {
            return "$(make)".to_owned();
        }
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (value, length) = self.expand_recipe_reference(after, at, depth).unwrap_or_else(|| ("$".to_owned(), 0));
            out.push_str(&value);
            if out.len() > MAX_LINE_LENGTH {
                return out;
            }
            rest = after.get(length..).unwrap_or("");
        }
        out + rest
    }
}

/// Returns the position of the bracket that closes the first one; `None` if it is missing or too far away.
fn closing_bracket(text: &str, close: char) -> Option<usize> {
    let first = text.chars().next()?;
    let mut open = 0_usize;
    for (at, c) in text.char_indices().take(MAX_REFERENCE_LENGTH) {
        open = if c == first { open + 1 } else { open.saturating_sub(usize::from(c == close)) };
        if open == 0 {
            return Some(at);
        }
        if open > MAX_BRACKET_DEPTH {
            return None;
        }
    }
    None
}

/// Whether a text is a plain variable name.
pub(super) fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
