//! Evaluates tests over known words: `[ a = b ]`, `[[ -n $X ]]`, `test 1 -lt 2`, and patterns of `case`.

use crate::build::{Command, Word};
use crate::dockerfile::{BASE_MARK, Dialect, ExpandedText, ShellPattern, VariableLookup, expand_variables};
use crate::model::cause::Cause;
use crate::shell::lexer::ShellToken;
use crate::shell::walk::command_status::Tristate;
use crate::shell::walk::state::{DoubleBrackets, ShellBlockKind, ShellWalker};

impl DoubleBrackets {
    /// Records an operator inside of the brackets.
    pub(super) fn apply_operator(&mut self, token: &ShellToken) {
        match token {
            ShellToken::And => self.broken |= self.or,
            ShellToken::Or => self.or = true,
            _ => self.broken = true,
        }
    }
}

impl ShellWalker<'_> {
    /// Returns the expansion of a word, if nothing outside of the script can change it.
    pub(super) fn certain_value(&self, raw: &str) -> Option<String> {
        let in_loop = self.branches.iter().any(|branch| branch.kind == ShellBlockKind::Loop && !branch.followed);
        let lookup = |name: &str| {
            let unknown = || VariableLookup::Unknown(vec![name.to_owned()], Cause::SetElsewhere);
            match self.lookup_variable(name) {
                VariableLookup::Unset | VariableLookup::Unknown(_, Cause::SetNowhere) => unknown(),
                // The next iteration may see another value.
                VariableLookup::Known(..) if in_loop && self.variables.contains_key(name) => unknown(),
                other => other,
            }
        };
        let filled = if in_loop { None } else { self.fill_substitutions(raw) };
        let value = expand_variables(filled.as_ref().map_or(raw, |(text, _)| text), Dialect::Shell, &lookup);
        match value {
            ExpandedText::Known { value, .. } if !self.sourced && !value.contains(BASE_MARK) => Some(value),
            _ => None,
        }
    }

    /// Returns the result of a test command; `None` for any other command.
    pub(super) fn test_result(&mut self, words: &[&str], redirected: bool) -> Option<Tristate> {
        let (first, rest) = words.split_first()?;
        let inside = self.brackets.open;
        let double = inside || *first == "[[";
        if double {
            let open = words.last() != Some(&"]]");
            let broken = self.brackets.broken || (open && !inside && !self.list.is_first());
            self.brackets =
                if open { DoubleBrackets { open, broken, ..self.brackets } } else { DoubleBrackets::default() };
            if broken {
                self.list.mark_unknown();
                return Some(Tristate::Maybe);
            }
        }
        let expression = match *first {
            _ if inside => words.strip_suffix(&["]]"]).unwrap_or(words),
            "[[" => rest.strip_suffix(&["]]"]).unwrap_or(rest),
            "[" => rest.strip_suffix(&["]"]).unwrap_or(&[]),
            "test" => rest,
            "true" | ":" => return Some(Tristate::Yes),
            "false" => return Some(Tristate::No),
            "getopts" if self.has_no_options() => return Some(Tristate::No),
            _ => return None,
        };
        let holds = if redirected { None } else { self.evaluate_test(expression, double) };
        Some(holds.map_or(Tristate::Maybe, |holds| if holds { Tristate::Yes } else { Tristate::No }))
    }

    /// Evaluates a test expression; `None` if its result is unknown.
    fn evaluate_test(&self, words: &[&str], double: bool) -> Option<bool> {
        if let Some((&"!", rest)) = words.split_first()
            && !rest.is_empty()
        {
            return self.evaluate_test(rest, double).map(|holds| !holds);
        }
        // An unquoted word that comes to nothing or to several is another question.
        let plain = |raw: &str| -> Option<String> {
            let value = self.certain_value(raw)?;
            let split = value.is_empty() || value.contains(char::is_whitespace);
            (double || !split || raw.contains(['"', '\''])).then_some(value)
        };
        match words {
            [word] => Some(!self.certain_value(word)?.trim().is_empty()),
            ["-n", word] => Some(!plain(word)?.is_empty()),
            ["-z", word] => Some(self.certain_value(word)?.trim().is_empty()),
            ["-f" | "-e" | "-r", word] => self.is_existing_file(&plain(word)?).then_some(true),
            [left, operator @ ("=" | "==" | "!="), right] => {
                let (left, equal) = (plain(left)?, *operator != "!=");
                let same = if double { self.matches_pattern(&left, right)? } else { left == plain(right)? };
                Some(same == equal)
            }
            [left, operator, right] => {
                let left: i64 = plain(left)?.trim().parse().ok()?;
                let right: i64 = plain(right)?.trim().parse().ok()?;
                match *operator {
                    "-eq" => Some(left == right),
                    "-ne" => Some(left != right),
                    "-lt" => Some(left < right),
                    "-le" => Some(left <= right),
                    "-gt" => Some(left > right),
                    "-ge" => Some(left >= right),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a file certainly exists: it did before, and no command so far may have removed it.
    fn is_existing_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let other = |command: &Command| {
            let moves = matches!(command.program(), Some("cd" | "pushd" | "popd")) && !path.starts_with('/');
            let takes = matches!(command.program(), Some("rm" | "mv" | "unlink" | "find" | "git" | "xargs"));
            let unclear = takes && command.words.iter().any(|word| word.known().is_none_or(|word| word.contains('*')));
            let names = |word: &Word| word.raw.contains(name);
            // A folder above it may go with all that is in it.
            let above = takes && command.words.iter().skip(1).any(|word| !word.raw.starts_with('-'));
            moves || unclear || (above && command.words.iter().any(names)) || (above && path.contains('/'))
        };
        !name.is_empty() && !self.sourced && (self.files.text)(path).is_some() && !self.out.iter().any(other)
    }

    /// Whether a text matches a pattern in its source form, with quotes; `None` if unknown.
    fn matches_pattern(&self, value: &str, raw: &str) -> Option<bool> {
        let pattern = self.certain_value(raw)?;
        if raw.contains(['"', '\'', '\\']) {
            // What is quoted stands for itself; where only some of it is, that is not followed.
            return if pattern.contains(['*', '?', '[']) { None } else { Some(value == pattern) };
        }
        if pattern.contains(['[', '(']) { None } else { ShellPattern::compile(&pattern)?.matches(value) }
    }

    /// Whether one of the patterns of an arm of `case` matches.
    pub(super) fn case_arm_matches(&self, subject: Option<&str>, patterns: &[&str]) -> Tristate {
        let one = |raw: &&str| {
            if *raw == "*" {
                return Tristate::Yes;
            }
            match subject.and_then(|subject| self.matches_pattern(subject, raw)) {
                Some(true) => Tristate::Yes,
                Some(false) => Tristate::No,
                None => Tristate::Maybe,
            }
        };
        patterns.iter().map(one).fold(Tristate::No, Tristate::or)
    }
}
