//! Where a script may end before its last command, and end well: `exit`.

use crate::shell::Word;
use crate::shell::walk::Walk;
use crate::shell::walk::chance::Chance;

/// What stands for how the last command ended.
const LAST: &str = "$?";

impl Walk<'_> {
    /// Whether a command is an `exit` that may end the shell at hand without an error: nothing behind it runs then. One that
    /// ends it with an error ends the build.
    pub(super) fn exits(&self, words: &[Word]) -> Chance {
        // What stands in a pipe or runs beside the rest has a shell of its own.
        if words.first().and_then(Word::known) != Some("exit") || self.part.is_any() {
            return Chance::No;
        }
        let code = words.get(1).filter(|code| code.raw.trim_matches('"') != LAST);
        let fails = match code {
            // Directly behind `||` the last command is one that failed.
            None => self.list.is_behind_or(),
            Some(code) => code.known().and_then(|code| code.parse::<u8>().ok()).is_some_and(|code| code > 0),
        };
        // Elsewhere a command in front of `&&` is one that a build needs; in front of this it is a question.
        let told = self.list.is_told() && self.branches.iter().all(|branch| branch.list.is_told());
        match (fails, told) {
            (true, _) => Chance::No,
            (false, true) => self.chance(),
            (false, false) => self.chance().and(Chance::Maybe),
        }
    }
}
