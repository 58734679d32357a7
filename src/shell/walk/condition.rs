//! The tests of a shell, as far as their words are known: `[ a = b ]`, `[[ -n $X ]]`, `test 1 -lt 2`, `case` patterns.

use crate::dockerfile::BASE_MARK;
use crate::dockerfile::Dialect;
use crate::dockerfile::Lookup;
use crate::dockerfile::Pattern;
use crate::dockerfile::Resolved;
use crate::dockerfile::SET_NOWHERE;
use crate::dockerfile::expand;
use crate::shell::Command;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::walk::Walk;
use crate::shell::walk::branches::Kind;
use crate::shell::walk::chance::Chance;

/// `[[ … ]]` with `&&` and `||` inside, which falls into several commands here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brackets {
    /// Whether they are open.
    pub(super) open: bool,
    /// Whether something in them or in front of them is not followed.
    pub(super) broken: bool,
    /// Whether `||` stood in them.
    or: bool,
}

impl Brackets {
    /// Takes an operator inside of the brackets.
    pub(super) fn operator(&mut self, token: &Token) {
        match token {
            Token::And => self.broken |= self.or,
            Token::Or => self.or = true,
            _ => self.broken = true,
        }
    }
}

impl Walk<'_> {
    /// What a word stands for, where nothing outside of the text can have changed that.
    pub(super) fn certain(&self, raw: &str) -> Option<String> {
        let turns = self.branches.iter().any(|branch| branch.kind == Kind::Loop && !branch.followed);
        let lookup = |name: &str| {
            let unknown = || Lookup::Unknown(vec![name.to_owned()], "something else may set it".to_owned());
            match self.lookup(name) {
                Lookup::Unset => unknown(),
                Lookup::Unknown(_, reason) if reason == SET_NOWHERE => unknown(),
                // The next round may see another value.
                Lookup::Known(..) if turns && self.variables.contains_key(name) => unknown(),
                other => other,
            }
        };
        let filled = if turns { None } else { self.filled(raw) };
        let value = expand(filled.as_ref().map_or(raw, |(text, _)| text), Dialect::Shell, &lookup);
        match value {
            Resolved::Known { value, .. } if !self.sourced && !value.contains(BASE_MARK) => Some(value),
            _ => None,
        }
    }

    /// The answer of a command that is a question.
    pub(super) fn answer(&mut self, words: &[&str], redirected: bool) -> Option<Chance> {
        let (first, rest) = words.split_first()?;
        let inside = self.brackets.open;
        let double = inside || *first == "[[";
        if double {
            let open = words.last() != Some(&"]]");
            let broken = self.brackets.broken || (open && !inside && !self.list.is_first());
            self.brackets = if open { Brackets { open, broken, ..self.brackets } } else { Brackets::default() };
            if broken {
                self.list.spoil();
                return Some(Chance::Maybe);
            }
        }
        let expression = match *first {
            _ if inside => words.strip_suffix(&["]]"]).unwrap_or(words),
            "[[" => rest.strip_suffix(&["]]"]).unwrap_or(rest),
            "[" => rest.strip_suffix(&["]"]).unwrap_or(&[]),
            "test" => rest,
            "true" | ":" => return Some(Chance::Yes),
            "false" => return Some(Chance::No),
            "getopts" if self.has_no_options() => return Some(Chance::No),
            _ => return None,
        };
        let holds = if redirected { None } else { self.test(expression, double) };
        Some(holds.map_or(Chance::Maybe, |holds| if holds { Chance::Yes } else { Chance::No }))
    }

    fn test(&self, words: &[&str], double: bool) -> Option<bool> {
        if let Some((&"!", rest)) = words.split_first()
            && !rest.is_empty()
        {
            return self.test(rest, double).map(|holds| !holds);
        }
        // An unquoted word that comes to nothing or to several is another question.
        let plain = |raw: &str| -> Option<String> {
            let value = self.certain(raw)?;
            let split = value.is_empty() || value.contains(char::is_whitespace);
            (double || !split || raw.contains(['"', '\''])).then_some(value)
        };
        match words {
            [word] => Some(!self.certain(word)?.trim().is_empty()),
            ["-n", word] => Some(!plain(word)?.is_empty()),
            ["-z", word] => Some(self.certain(word)?.trim().is_empty()),
            ["-f" | "-e" | "-r", word] => self.untouched(&plain(word)?).then_some(true),
            [left, operator @ ("=" | "==" | "!="), right] => {
                let (left, equal) = (plain(left)?, *operator != "!=");
                let same = if double { self.matches(&left, right)? } else { left == plain(right)? };
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

    /// Whether a file is there: it was before, and no command so far could have taken it away.
    fn untouched(&self, path: &str) -> bool {
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

    /// Whether a text matches a pattern as written, with its quotes.
    fn matches(&self, value: &str, raw: &str) -> Option<bool> {
        let pattern = self.certain(raw)?;
        if raw.contains(['"', '\'', '\\']) {
            // What is quoted stands for itself; where only some of it is, that is not followed.
            return if pattern.contains(['*', '?', '[']) { None } else { Some(value == pattern) };
        }
        if pattern.contains(['[', '(']) { None } else { Pattern::new(&pattern)?.matches(value) }
    }

    /// Whether one of the patterns of an arm of `case` matches.
    pub(super) fn arm_matches(&self, subject: Option<&str>, patterns: &[&str]) -> Chance {
        let one = |raw: &&str| {
            if *raw == "*" {
                return Chance::Yes;
            }
            match subject.and_then(|subject| self.matches(subject, raw)) {
                Some(true) => Chance::Yes,
                Some(false) => Chance::No,
                None => Chance::Maybe,
            }
        };
        patterns.iter().map(one).fold(Chance::No, Chance::or)
    }
}
