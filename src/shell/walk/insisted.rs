//! Conditions whose command has to end well for the script to go on: `if ! CMD; then exit 1; fi`, `until CMD; do …; done`.

use std::ops::Range;

use crate::dockerfile::Mapped;
use crate::shell::lexer::Token;
use crate::shell::walk::Walk;
use crate::shell::walk::branches::KEYWORDS;

/// In which way a script insists on the command of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insisted {
    /// The way behind its failure ends the script with an error.
    Once,
    /// It is run again until it ends well.
    AtLast,
}

impl Walk<'_> {
    /// Notes in which way the script insists on a command with these words.
    pub(super) fn insists(&mut self, text: &Mapped, tokens: &[Token], words: &[Range<usize>], at: usize) {
        let words: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
        self.insisted = if self.part.is_any() { None } else { insisted(text, tokens, &words, at) };
    }

    /// From which token on the build fails unless every test in the list holds: in the last list, without `||`.
    pub(super) fn ends_well(&self, tokens: &[Token], depth: usize) -> Option<usize> {
        let end = tokens.iter().rposition(|token| *token != Token::Separator)?;
        let ends = |token: &Token| matches!(token, Token::Separator | Token::ArmEnd);
        let from = tokens.iter().take(end).rposition(ends).map_or(0, |at| at + 1);
        let other = tokens.iter().skip(from).any(|token| matches!(token, Token::Or | Token::Pipe));
        (depth == 0 && self.substitutions == 0 && !other).then_some(from)
    }
}

/// Words that begin what another word ends, and those that end it.
const OPEN: &[&str] = &["if", "for", "while", "until", "{"];
const CLOSED: &[&str] = &["fi", "done", "}"];

/// The words and marks of a text.
#[derive(Clone, Copy)]
struct Tokens<'a> {
    text: &'a Mapped,
    all: &'a [Token],
}

impl<'a> Tokens<'a> {
    fn word(self, at: usize) -> Option<&'a str> {
        match self.all.get(at) {
            Some(Token::Word(range)) => Some(self.text.get(range.clone())),
            _ => None,
        }
    }

    /// The word that a command begins with at a place: behind a mark, or behind a keyword.
    fn first(self, at: usize) -> Option<&'a str> {
        let word = self.word(at)?;
        let before = at.checked_sub(1).and_then(|at| self.word(at));
        before.is_none_or(|before| KEYWORDS.contains(&before)).then_some(word)
    }

    /// Whether `exit` with an error stands at a place, as a command that runs whatever those in front of it do.
    fn fails(self, at: usize) -> bool {
        let always = at.checked_sub(1).is_some_and(|before| {
            self.all.get(before) == Some(&Token::Separator) || matches!(self.word(before), Some("then" | "else"))
        });
        let joined = matches!(self.all.get(at + 2), Some(Token::Pipe | Token::And | Token::Or | Token::Word(_)));
        always && self.is_error(at) && !joined
    }

    /// Whether the `exit` at a place names an error.
    fn is_error(self, at: usize) -> bool {
        self.word(at + 1).and_then(|code| code.parse::<u8>().ok()).is_some_and(|code| code > 0)
    }

    /// Goes through commands up to the word that ends them on the same level: what that is, where it stands, whether they
    /// surely fail, and whether they may leave the way that they stand on.
    fn arm(self, from: usize) -> Option<Arm<'a>> {
        let (mut depth, mut at) = (0_usize, from);
        let (mut fails, mut leaves) = (false, false);
        while at < self.all.len() {
            match self.all.get(at)? {
                Token::Open => depth += 1,
                Token::Close => depth = depth.checked_sub(1)?,
                _ => {}
            }
            match self.first(at) {
                Some(end @ ("else" | "elif" | "fi" | "done")) if depth == 0 => {
                    return Some(Arm { end, at, fails, leaves });
                }
                // The brackets of its patterns have no partners.
                Some("case") => return None,
                Some(word) if OPEN.contains(&word) => depth += 1,
                Some(word) if CLOSED.contains(&word) => depth = depth.checked_sub(1)?,
                Some("exit") if depth == 0 && self.fails(at) => fails = true,
                Some("exit") => leaves |= !self.is_error(at),
                Some("return" | "break" | "continue" | "exec") => leaves = true,
                _ => {}
            }
            at += 1;
        }
        None
    }
}

/// The commands on one way.
struct Arm<'a> {
    end: &'a str,
    at: usize,
    fails: bool,
    leaves: bool,
}

/// In which way a script insists on the one command of the condition that `words` are, with what begins it; `at` is the
/// mark behind them.
fn insisted(text: &Mapped, all: &[Token], words: &[&str], at: usize) -> Option<Insisted> {
    if all.get(at) != Some(&Token::Separator) {
        return None;
    }
    let begins = words.iter().position(|word| matches!(*word, "if" | "while" | "until"))?;
    let (before, condition) = words.split_at(begins);
    let kind = condition.first()?;
    let negated = condition.get(1) == Some(&"!");
    let plain = |word: &&str| KEYWORDS.contains(word);
    if !before.iter().all(plain) || condition.iter().skip(1 + usize::from(negated)).take(1).any(plain) {
        return None;
    }
    let tokens = Tokens { text, all };
    let next = (at..all.len()).find(|at| all.get(*at) != Some(&Token::Separator))?;
    match (*kind, tokens.word(next)?) {
        ("if", "then") => {
            let then = tokens.arm(next + 1)?;
            let failed = match (negated, then.end) {
                (true, "fi" | "else") => then,
                (false, "else") => tokens.arm(then.at + 1).filter(|failed| failed.end == "fi")?,
                _ => return None,
            };
            (failed.fails && !failed.leaves).then_some(Insisted::Once)
        }
        ("until" | "while", "do") if negated == (*kind == "while") => {
            let body = tokens.arm(next + 1)?;
            (body.end == "done" && !body.leaves).then_some(Insisted::AtLast)
        }
        _ => None,
    }
}
