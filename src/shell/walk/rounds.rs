//! Loops over values that are known: their commands are read once for each.

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::walk::Walk;

/// A loop with more values is read once.
const MOST: usize = 32;
/// So many rounds are gone in all.
const MOST_IN_ALL: usize = 256;

/// The values that a loop has still to go through.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    name: String,
    /// Those to come, the next one last.
    left: Vec<Resolved>,
    /// The text and the token where its commands begin.
    body: Option<(usize, usize)>,
}

impl Rounds {
    /// The rounds of a loop behind its first one.
    pub(super) fn new(name: &str, values: &[Word]) -> Option<Self> {
        let plain =
            |word: &Word| word.known().is_some_and(|value| !value.is_empty() && !value.contains(['*', '?', '{']));
        let good = values.len() > 1 && values.len() <= MOST && values.iter().all(plain);
        let left = values.iter().skip(1).rev().map(|word| word.value.clone()).collect();
        good.then(|| Self { name: name.to_owned(), left, body: None })
    }
}

impl Walk<'_> {
    /// Notes where the commands of a loop begin that was just opened; one that is left early is read once.
    pub(super) fn begin_rounds(&mut self, text: &Mapped, tokens: &[Token], at: usize) {
        let level = self.level;
        let Some(rounds) = self.branches.last_mut().and_then(|branch| branch.rounds.as_mut()) else { return };
        if rounds.body.is_some() {
            return;
        }
        rounds.body = Some((level, at));
        if self.rounds + rounds.left.len() > MOST_IN_ALL || leaves_early(text, tokens, at) {
            let name = std::mem::take(&mut rounds.name);
            rounds.left.clear();
            let reason = "a loop gives it several values".to_owned();
            self.assign(&name, Resolved::Unresolved { names: vec![name.clone()], reason });
        }
    }

    /// Goes back to the beginning of the loop at hand where a value is left.
    pub(super) fn another_round(&mut self) -> bool {
        let level = self.level;
        let Some(rounds) = self.branches.last_mut().and_then(|branch| branch.rounds.as_mut()) else { return false };
        let Some((_, at)) = rounds.body.filter(|(own, _)| *own == level) else { return false };
        let Some(value) = rounds.left.pop() else { return false };
        let name = rounds.name.clone();
        self.rounds += 1;
        self.jump = Some(at);
        self.assign(&name, value);
        true
    }
}

/// Whether a loop may end before its last round.
fn leaves_early(text: &Mapped, tokens: &[Token], at: usize) -> bool {
    let mut depth = 0_usize;
    for token in tokens.iter().skip(at) {
        let Token::Word(range) = token else { continue };
        match text.get(range.clone()) {
            "do" => depth += 1,
            "done" if depth <= 1 => return false,
            "done" => depth -= 1,
            "break" | "continue" | "return" => return true,
            _ => {}
        }
    }
    true
}
