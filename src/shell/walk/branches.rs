//! Ways through a script that may not be taken, and the variables that they set.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Word;
use crate::shell::walk::MOST_VARIABLES;
use crate::shell::walk::Walk;

/// What a branch saw before it began, and what was set in it.
pub(super) struct Branch {
    pub(super) before: BTreeMap<String, Resolved>,
    pub(super) case: bool,
    pub(super) set: Vec<String>,
}

impl Walk<'_> {
    pub(super) fn assign(&mut self, name: &str, value: Resolved) {
        if let Some(branch) = self.branches.last_mut()
            && branch.set.len() < MOST_VARIABLES
        {
            branch.set.push(name.to_owned());
        }
        if self.variables.len() < MOST_VARIABLES {
            self.variables.insert(name.to_owned(), value);
        }
    }

    /// Takes a keyword of the shell; says whether the rest of the words is a command.
    pub(super) fn keyword(&mut self, word: &str) -> Option<bool> {
        match word {
            "if" | "while" | "until" => self.branch(false),
            "case" => {
                self.branch(true);
                return Some(false);
            }
            "fi" | "done" | "esac" => {
                if let Some(branch) = self.branches.pop() {
                    self.variables = branch.before;
                    for name in branch.set {
                        let reason = "it is set on one of several ways through the script".to_owned();
                        self.assign(&name, Resolved::Unresolved { names: vec![name.clone()], reason });
                    }
                }
            }
            "else" | "elif" => {
                if let Some(branch) = self.branches.last() {
                    self.variables = branch.before.clone();
                }
            }
            "then" | "do" | "{" | "}" | "!" | "time" => {}
            _ => return None,
        }
        Some(true)
    }

    pub(super) fn branch(&mut self, case: bool) {
        if self.branches.len() < MOST_VARIABLES {
            self.branches.push(Branch { before: self.variables.clone(), case, set: Vec::new() });
        }
    }

    pub(super) fn loop_variable(&mut self, text: &Mapped, words: &[Range<usize>]) {
        let Some(name) = words.first().map(|range| text.get(range.clone()).to_owned()) else { return };
        let values: Vec<Word> = words.iter().skip(2).flat_map(|range| self.word(text, range.clone())).collect();
        let value = match values.as_slice() {
            [only] => only.value.clone(),
            _ => {
                Resolved::Unresolved { names: vec![name.clone()], reason: "a loop gives it several values".to_owned() }
            }
        };
        self.assign(&name, value);
    }
}
