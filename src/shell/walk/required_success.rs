//! Detects conditions whose command must succeed: `if ! CMD; then exit 1; fi`, `until CMD; do …; done`.

use std::ops::Range;

use crate::dockerfile::MappedText;
use crate::shell::lexer::ShellToken;
use crate::shell::walk::blocks::COMMAND_KEYWORDS;
use crate::shell::walk::state::{RequiredSuccess, ShellWalker};

impl ShellWalker<'_> {
    /// Records whether the script requires the success of the current command.
    pub(super) fn update_required_success(
        &mut self,
        text: &MappedText,
        tokens: &[ShellToken],
        words: &[Range<usize>],
        at: usize,
    ) {
        let words: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
        self.insisted = if self.part.is_in_subshell() { None } else { find_required_success(text, tokens, &words, at) };
    }

    /// Returns the token from which on every test must succeed for the build: the last list without `||`.
    pub(super) fn required_list_start(&self, tokens: &[ShellToken], depth: usize) -> Option<usize> {
        let end = tokens.iter().rposition(|token| *token != ShellToken::Separator)?;
        let ends = |token: &ShellToken| matches!(token, ShellToken::Separator | ShellToken::ArmEnd);
        let from = tokens.iter().take(end).rposition(ends).map_or(0, |at| at + 1);
        let other = tokens.iter().skip(from).any(|token| matches!(token, ShellToken::Or | ShellToken::Pipe));
        (depth == 0 && self.substitutions == 0 && !other).then_some(from)
    }
}

/// Keywords that open a block.
const OPENING_KEYWORDS: &[&str] = &["if", "for", "while", "until", "{"];
/// Keywords that close a block.
const CLOSING_KEYWORDS: &[&str] = &["fi", "done", "}"];

/// The tokens of a script with their text.
#[derive(Clone, Copy)]
struct ScriptTokens<'a> {
    text: &'a MappedText,
    all: &'a [ShellToken],
}

impl<'a> ScriptTokens<'a> {
    /// Returns the word at a token index.
    fn word_at(self, at: usize) -> Option<&'a str> {
        match self.all.get(at) {
            Some(ShellToken::Word(range)) => Some(self.text.get(range.clone())),
            _ => None,
        }
    }

    /// Returns the word at a token index, if a command starts there.
    fn command_word_at(self, at: usize) -> Option<&'a str> {
        let word = self.word_at(at)?;
        let before = at.checked_sub(1).and_then(|at| self.word_at(at));
        before.is_none_or(|before| COMMAND_KEYWORDS.contains(&before)).then_some(word)
    }

    /// Whether an `exit` with an error at a token index runs regardless of the previous commands.
    fn is_unconditional_failure(self, at: usize) -> bool {
        let always = at.checked_sub(1).is_some_and(|before| {
            self.all.get(before) == Some(&ShellToken::Separator)
                || matches!(self.word_at(before), Some("then" | "else"))
        });
        let joined = matches!(
            self.all.get(at + 2),
            Some(ShellToken::Pipe | ShellToken::And | ShellToken::Or | ShellToken::Word(_))
        );
        always && self.is_error_exit(at) && !joined
    }

    /// Whether the `exit` at a token index has an error status.
    fn is_error_exit(self, at: usize) -> bool {
        self.word_at(at + 1).and_then(|code| code.parse::<u8>().ok()).is_some_and(|code| code > 0)
    }

    /// Scans the commands of an arm up to the keyword that ends it.
    fn scan_arm(self, from: usize) -> Option<ArmSummary<'a>> {
        let (mut depth, mut at) = (0_usize, from);
        let (mut fails, mut leaves) = (false, false);
        while at < self.all.len() {
            match self.all.get(at)? {
                ShellToken::Open => depth += 1,
                ShellToken::Close => depth = depth.checked_sub(1)?,
                _ => {}
            }
            match self.command_word_at(at) {
                Some(end @ ("else" | "elif" | "fi" | "done")) if depth == 0 => {
                    return Some(ArmSummary { end, at, fails, leaves });
                }
                // The brackets of its patterns have no partners.
                Some("case") => return None,
                Some(word) if OPENING_KEYWORDS.contains(&word) => depth += 1,
                Some(word) if CLOSING_KEYWORDS.contains(&word) => depth = depth.checked_sub(1)?,
                Some("exit") if depth == 0 && self.is_unconditional_failure(at) => fails = true,
                Some("exit") => leaves |= !self.is_error_exit(at),
                Some("return" | "break" | "continue" | "exec") => leaves = true,
                _ => {}
            }
            at += 1;
        }
        None
    }
}

/// The end of an arm, and whether its commands certainly fail or may leave the arm.
struct ArmSummary<'a> {
    end: &'a str,
    at: usize,
    fails: bool,
    leaves: bool,
}

/// Returns how a script requires the success of the condition `words`; `at` is the index of the token behind them.
fn find_required_success(text: &MappedText, all: &[ShellToken], words: &[&str], at: usize) -> Option<RequiredSuccess> {
    if all.get(at) != Some(&ShellToken::Separator) {
        return None;
    }
    let begins = words.iter().position(|word| matches!(*word, "if" | "while" | "until"))?;
    let (before, condition) = words.split_at(begins);
    let kind = condition.first()?;
    let negated = condition.get(1) == Some(&"!");
    let plain = |word: &&str| COMMAND_KEYWORDS.contains(word);
    if !before.iter().all(plain) || condition.iter().skip(1 + usize::from(negated)).take(1).any(plain) {
        return None;
    }
    let tokens = ScriptTokens { text, all };
    let next = (at..all.len()).find(|at| all.get(*at) != Some(&ShellToken::Separator))?;
    match (*kind, tokens.word_at(next)?) {
        ("if", "then") => {
            let then = tokens.scan_arm(next + 1)?;
            let failed = match (negated, then.end) {
                (true, "fi" | "else") => then,
                (false, "else") => tokens.scan_arm(then.at + 1).filter(|failed| failed.end == "fi")?,
                _ => return None,
            };
            (failed.fails && !failed.leaves).then_some(RequiredSuccess::Once)
        }
        ("until" | "while", "do") if negated == (*kind == "while") => {
            let body = tokens.scan_arm(next + 1)?;
            (body.end == "done" && !body.leaves).then_some(RequiredSuccess::Eventually)
        }
        _ => None,
    }
}
