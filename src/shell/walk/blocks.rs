//! Compound commands of a script: which of their branches run, and the variables that these set.

use std::ops::Range;

use crate::dockerfile::{ExpandedText, MappedText};
use crate::model::cause::Cause;
use crate::shell::command::{StandardInput, Word};
use crate::shell::lexer::ShellToken;
use crate::shell::walk::and_or_lists::AndOrList;
use crate::shell::walk::command_status::{CommandStatus, Tristate};
use crate::shell::walk::redirections::Redirections;
use crate::shell::walk::state::{
    ConditionLoop, MAX_COMMANDS, MAX_VARIABLES, ShellBlock, ShellBlockKind, ShellWalker, ValueLoop,
};

/// The keywords behind which a command starts.
pub(super) const COMMAND_KEYWORDS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"];

impl ShellWalker<'_> {
    /// Assigns a variable and records that the current block sets it.
    pub(super) fn assign_variable(&mut self, name: &str, value: ExpandedText) {
        if let Some(branch) = self.branches.last_mut()
            && branch.set.len() < MAX_VARIABLES
            && !branch.set.iter().any(|own| own == name)
        {
            branch.set.push(name.to_owned());
        }
        if self.variables.len() < MAX_VARIABLES || self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value);
        } else {
            // What one of so many holds is not kept.
            self.sourced = true;
        }
    }

    /// Assigns an unknown value to a variable.
    fn assign_unknown_value(&mut self, name: &str) {
        self.assign_variable(name, ExpandedText::unresolved(vec![name.to_owned()], Cause::ValueByControlFlow));
    }

    /// Applies an assignment command, which may be conditional in its list.
    pub(super) fn apply_assignment(&mut self, name: &str, value: ExpandedText) {
        match self.list.gate {
            Tristate::Yes => self.assign_variable(name, value),
            Tristate::Maybe => self.assign_unknown_value(name),
            Tristate::No => {}
        }
    }

    /// Applies a shell keyword; returns `None` for any other word.
    pub(super) fn apply_keyword(&mut self, word: &str) -> Option<bool> {
        match word {
            "if" => self.open_block(ShellBlockKind::If),
            "while" | "until" => {
                self.open_block(ShellBlockKind::Loop);
                if let Some(branch) = self.branches.last_mut() {
                    branch.turns = Some(ConditionLoop::new(word == "until"));
                    branch.followed = true;
                }
            }
            "{" => self.open_block(ShellBlockKind::Braces),
            "then" => self.begin_arm(self.list.status.as_condition()),
            "do" if self.is_in_condition() => self.begin_loop_body(),
            "do" => self.list = AndOrList::default(),
            "else" => {
                self.end_arm();
                self.begin_arm(Tristate::Yes);
            }
            "elif" => self.end_arm(),
            "done" if self.next_value_iteration() => {}
            "done" if self.next_condition_iteration() => {}
            "fi" | "done" | "esac" => {
                self.close_block(&|kind| {
                    matches!(kind, ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_))
                });
            }
            "}" => self.close_block(&|kind| *kind == ShellBlockKind::Braces),
            "!" => self.list.negated = !self.list.negated,
            "time" => {}
            _ => return None,
        }
        Some(true)
    }

    /// Opens a block.
    pub(super) fn open_block(&mut self, kind: ShellBlockKind) {
        self.opened += 1;
        if self.branches.len() >= MAX_VARIABLES || self.opened > MAX_COMMANDS {
            // Nobody writes so many; what comes after is not read.
            self.over = true;
            return;
        }
        let asking = matches!(kind, ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_));
        let list = std::mem::take(&mut self.list);
        let (before, now) = (self.variables.clone(), list.gate);
        let (after, set) = (None, Vec::new());
        let (taken, rounds, reading, turns, followed) = (Tristate::No, None, None, None, false);
        let (arguments, part, goes) = (self.arguments.clone(), std::mem::take(&mut self.part.behind), self.goes);
        let arrays = self.arrays.clone();
        self.branches.push(ShellBlock {
            kind,
            now,
            asking,
            taken,
            before,
            arguments,
            arrays,
            part,
            after,
            set,
            list,
            goes,
            rounds,
            turns,
            followed,
            reading,
        });
    }

    /// Begins the commands behind a condition or pattern.
    pub(super) fn begin_arm(&mut self, condition: Tristate) {
        self.list = AndOrList::default();
        let Some(branch) = self.branches.last_mut() else { return };
        if !matches!(branch.kind, ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_)) {
            return;
        }
        branch.asking = false;
        let runs = branch.taken.not().and(condition);
        branch.now = branch.list.gate.and(runs);
        branch.taken = branch.taken.or(condition);
    }

    /// Ends the commands of an arm; another condition or pattern follows.
    pub(super) fn end_arm(&mut self) {
        self.list = AndOrList::default();
        let Some(branch) = self.branches.last_mut() else { return };
        if !matches!(branch.kind, ShellBlockKind::If | ShellBlockKind::Case(_)) {
            return;
        }
        let variables = std::mem::replace(&mut self.variables, branch.before.clone());
        if !branch.asking && branch.now == Tristate::Yes {
            branch.after = Some(variables);
        }
        branch.asking = true;
        branch.now = branch.list.gate.and(branch.taken.not());
    }

    /// Closes the innermost block if it is of a matching kind.
    pub(super) fn close_block(&mut self, ends: &dyn Fn(&ShellBlockKind) -> bool) {
        let inner = self.list.status;
        let Some(branch) = self.branches.pop_if(|branch| ends(&branch.kind)) else { return };
        let ShellBlock { kind, now, asking, before, arguments, arrays, part, after, set, list, goes, followed, .. } =
            branch;
        // What rounds that were all gone through leave is known.
        let whole =
            kind == ShellBlockKind::Loop && followed && !asking && now != Tristate::Maybe && list.gate == Tristate::Yes;
        let sure = if asking || now != Tristate::Yes { None } else { Some(self.variables.clone()) };
        self.list = list;
        let apart = part || self.part.ahead;
        self.goes = goes.after_block(self.goes, &kind, apart);
        let status = match kind {
            ShellBlockKind::Braces | ShellBlockKind::Subshell | ShellBlockKind::Script | ShellBlockKind::Called => {
                inner
            }
            ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_) => CommandStatus::Fine,
        };
        self.list.record_status(status, self.is_in_condition());
        match (after.or(sure), kind) {
            (_, kind) if kind == ShellBlockKind::Subshell || apart => {
                (self.variables, self.arguments, self.arrays) = (before, arguments, arrays);
            }
            (_, ShellBlockKind::Loop) if whole => self.record_in_outer_block(set),
            (
                Some(after),
                ShellBlockKind::If
                | ShellBlockKind::Case(_)
                | ShellBlockKind::Braces
                | ShellBlockKind::Script
                | ShellBlockKind::Called,
            ) => {
                self.variables = after;
                self.record_in_outer_block(set);
            }
            _ => {
                self.variables = before;
                for name in set {
                    self.assign_unknown_value(&name);
                }
            }
        }
    }

    /// Records variables that an inner block sets in the surrounding block.
    fn record_in_outer_block(&mut self, set: Vec<String>) {
        if let Some(outer) = self.branches.last_mut() {
            outer.set.extend(set);
            outer.set.truncate(MAX_VARIABLES);
        }
    }

    /// Restarts the body of a loop; it may not run if an earlier iteration may have ended the loop.
    pub(super) fn restart_loop_body(&mut self, chance: Option<Tristate>) {
        if let Some(branch) = self.branches.last_mut() {
            branch.now = branch.list.gate.and(chance.unwrap_or(Tristate::Yes));
        }
    }

    /// Restarts the condition of a loop.
    pub(super) fn restart_loop_condition(&mut self) {
        if let Some(branch) = self.branches.last_mut() {
            (branch.asking, branch.taken, branch.now) = (true, Tristate::No, branch.list.gate);
        }
    }

    /// Whether a pattern of `case` is being read.
    pub(super) fn is_in_case_pattern(&self) -> bool {
        self.branches.last().is_some_and(|branch| branch.asking && matches!(branch.kind, ShellBlockKind::Case(_)))
    }

    /// Reads a token of a pattern of `case`.
    pub(super) fn read_case_pattern(&mut self, text: &MappedText, token: &ShellToken, words: &mut Vec<Range<usize>>) {
        match token {
            ShellToken::Word(range) if words.is_empty() && text.get(range.clone()) == "esac" => {
                let _ended = self.apply_keyword("esac");
            }
            ShellToken::Word(range) => words.push(range.clone()),
            ShellToken::Close => {
                let subject = match self.branches.last().map(|branch| &branch.kind) {
                    Some(ShellBlockKind::Case(subject)) => subject.clone(),
                    _ => None,
                };
                let patterns: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
                let condition = self.case_arm_matches(subject.as_deref(), &patterns);
                self.begin_arm(condition);
                words.clear();
            }
            _ => {}
        }
    }

    /// Begins a `case` command if the words end in `case SUBJECT in`.
    pub(super) fn begin_case(&mut self, text: &MappedText, words: &mut Vec<Range<usize>>, depth: usize) {
        let [before @ .., case, subject, end] = words.as_slice() else { return };
        let keyword = |range: &Range<usize>| COMMAND_KEYWORDS.contains(&text.get(range.clone()));
        if text.get(end.clone()) != "in" || text.get(case.clone()) != "case" || !before.iter().all(keyword) {
            return;
        }
        let subject = self.certain_value(text.get(subject.clone()));
        let before = before.to_vec();
        let behind = self.pipe.0 != StandardInput::None;
        self.walk_pipeline_command(text, &before, Redirections::default(), depth, false);
        self.part.behind = behind;
        self.open_block(ShellBlockKind::Case(subject));
        words.clear();
    }

    /// Assigns the first value to the variable of a `for` loop and prepares its iterations.
    pub(super) fn begin_for_loop(&mut self, text: &MappedText, words: &[Range<usize>]) {
        let Some(name) = words.first().map(|range| text.get(range.clone()).to_owned()) else { return };
        let values = words.iter().skip(2).flat_map(|range| self.expand_word(text, range.clone()));
        let values = values.flat_map(|word| self.substitution_words(&word).unwrap_or_else(|| vec![word]));
        let values: Vec<Word> = values.flat_map(|word| self.expand_glob(&word).unwrap_or_else(|| vec![word])).collect();
        let rounds = ValueLoop::new(&name, &values);
        let value = match values.as_slice() {
            [only] => only.value.clone(),
            [first, ..] if rounds.is_some() => first.value.clone(),
            _ => ExpandedText::unresolved(vec![name.clone()], Cause::SetInLoop),
        };
        // A value that is known is there, and the loop goes round once at least.
        let round = values.iter().any(|word| word.known().is_some_and(|value| !value.is_empty()));
        self.assign_variable(&name, value);
        if round {
            self.begin_arm(Tristate::Yes);
        }
        let whole = rounds.is_some() || (round && values.len() == 1);
        if let Some(branch) = self.branches.last_mut() {
            branch.followed = whole;
            branch.rounds = rounds;
        }
    }
}
