//! Loops over known values and loops with conditions: their bodies are walked once per iteration.

use std::sync::Arc;

use crate::dockerfile::{ExpandedText, MappedText};
use crate::model::cause::Cause;
use crate::shell::command::{StandardInput, Word};
use crate::shell::file_changes::FileChanges;
use crate::shell::lexer::ShellToken;
use crate::shell::walk::command_status::Tristate;
use crate::shell::walk::redirections::Redirections;
use crate::shell::walk::state::{ConditionLoop, MAX_DEPTH, ShellBlock, ShellBlockKind, ShellWalker, ValueLoop};

/// The maximum number of values of a loop that is followed.
const MAX_LOOP_VALUES: usize = 512;
/// The maximum number of iterations of all loops of a script.
const MAX_ITERATIONS: usize = 2_048;
/// The maximum number of iterations of a loop with a condition.
const MAX_CONDITION_ITERATIONS: usize = 64;

impl ConditionLoop {
    /// Returns the state of a loop before its condition.
    pub(super) fn new(until: bool) -> Self {
        Self { until, at: None, gone: 0, going: false }
    }
}

impl ValueLoop {
    /// Returns the values of a loop behind the first one; `None` if a value is unknown or there is only one.
    pub(super) fn new(name: &str, values: &[Word]) -> Option<Self> {
        let plain =
            |word: &Word| word.known().is_some_and(|value| !value.is_empty() && !value.contains(['*', '?', '{']));
        let good = values.len() > 1 && values.len() <= MAX_LOOP_VALUES && values.iter().all(plain);
        let left = values.iter().skip(1).rev().map(|word| word.value.clone()).collect();
        good.then(|| Self { name: name.to_owned(), left, body: None, begin: None })
    }
}

/// The maximum number of lines of a `while read` loop that is followed.
const MAX_LOOP_LINES: usize = 1_024;
/// The maximum length of a file that a loop reads.
const MAX_LIST_BYTES: usize = 64 * 1024;

impl ShellWalker<'_> {
    /// Returns the words of a substitution whose output is the text of known files.
    pub(super) fn substitution_words(&self, word: &Word) -> Option<Vec<Word>> {
        let command = word.output.as_ref().filter(|_| word.known().is_none() && !word.raw.contains('"'))?;
        let text = self.input_text(&StandardInput::Pipe(Arc::clone(command)), 0)?;
        let one = |value: &str| {
            let value = ExpandedText::Known { value: value.to_owned(), origins: vec![word.span] };
            Word { value, raw: word.raw.clone(), span: word.span, output: None }
        };
        let words: Vec<Word> = text.split_whitespace().map(one).collect();
        (!words.is_empty() && words.len() <= MAX_LOOP_VALUES).then_some(words)
    }

    /// Returns the text of an input, if it comes from unchanged files of the image.
    fn input_text(&self, input: &StandardInput, depth: usize) -> Option<String> {
        let file = |word: &Word| {
            (self.files.text)(&self.resolve_path(word.known()?)?).filter(|text| text.len() <= MAX_LIST_BYTES)
        };
        match input {
            StandardInput::Text(text) => Some(text.text().to_owned()),
            StandardInput::File(word) => file(word).filter(|_| !self.may_be_written(word)),
            StandardInput::Pipe(command) if depth < MAX_DEPTH && !command.conditional => {
                let (first, rest) = command.words.split_first()?;
                let plain = |word: &&Word| word.known().is_some_and(|word| !word.starts_with('-'));
                let before = |files: &[Word]| match files {
                    [] => self.input_text(&command.input, depth + 1),
                    files => files.iter().map(|word| file(word).filter(|_| !self.may_be_written(word))).collect(),
                };
                match (first.known()?, rest) {
                    ("cat", files) if files.iter().all(|word| plain(&word)) => before(files),
                    ("grep" | "egrep", [option, pattern, files @ ..]) if files.iter().all(|word| plain(&word)) => {
                        let (comments, blanks) = match (option.known()?, pattern.known()?) {
                            ("-v", "^#" | "^\\s*#" | "^ *#") => (true, false),
                            ("-v", "^$" | "^\\s*$") => (false, true),
                            ("-vE" | "-Ev", "^#|^$" | "^\\s*(#|$)" | "^\\s*#|^\\s*$" | "^(#|$)") => (true, true),
                            _ => return None,
                        };
                        let kept = |line: &&str| {
                            !(comments && line.trim().starts_with('#') || blanks && line.trim().is_empty())
                        };
                        Some(before(files)?.lines().filter(kept).flat_map(|line| [line, "\n"]).collect())
                    }
                    _ => None,
                }
            }
            StandardInput::Pipe(_) | StandardInput::None | StandardInput::Unknown => None,
        }
    }

    /// Whether a command so far may have written a file.
    fn may_be_written(&self, file: &Word) -> bool {
        let Some(path) = file.known().and_then(|path| self.resolve_path(path)) else { return true };
        !(self.files.unchanged)(&path)
            || self.out.iter().filter_map(FileChanges::of_command).any(|trace| trace.may_change(&path))
    }

    /// Begins the body of a `while read` loop, if the lines that it reads are known.
    fn begin_read_loop(&mut self, text: &MappedText, tokens: &[ShellToken], at: usize) {
        let Some(branch) = self.branches.last_mut().filter(|branch| branch.rounds.is_none() && branch.asking) else {
            return;
        };
        let is = |at: usize, word: &str| matches!(tokens.get(at), Some(ShellToken::Word(range)) if text.get(range.clone()) == word);
        if branch.reading.is_none() || !is(at, "do") {
            return;
        }
        let Some((name, input)) = branch.reading.take() else { return };
        let (mut depth, mut end) = (0_usize, at);
        while end < tokens.len() {
            depth += usize::from(is(end, "do"));
            depth -= usize::from(is(end, "done"));
            if depth == 0 {
                break;
            }
            end += 1;
        }
        let mut redirects = Redirections::default();
        if let Some(ShellToken::Redirect(range)) = tokens.get(end + 1).filter(|_| input == StandardInput::None) {
            self.read_redirection(text, range.clone(), &mut redirects);
        } else {
            redirects.input = input;
        }
        let Some(read) = self.input_text(&redirects.input, 0) else { return };
        // A last line that no line break ends is read, and the loop ends all the same unless it asks for it.
        let from = (0..at).rev().find(|at| is(*at, "while")).unwrap_or(0);
        let whole = tokens.iter().take(at).skip(from).any(|token| *token == ShellToken::Or);
        let read = if whole { read.as_str() } else { read.rsplit_once('\n').map_or("", |(read, _)| read) };
        let place = match tokens.get(at) {
            Some(ShellToken::Word(range)) => text.source_span(range.clone()),
            _ => return,
        };
        // What begins with the mark of a comment names nothing, and a command that is given it fails.
        let lines = read.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let value = |line: &str| ExpandedText::Known { value: line.to_owned(), origins: vec![place] };
        let mut left: Vec<ExpandedText> = lines.map(value).collect();
        left.reverse();
        let Some(first) = left.pop().filter(|_| left.len() < MAX_LOOP_LINES) else { return };
        self.assign_variable(&name, first);
        self.begin_arm(Tristate::Yes);
        if let Some(branch) = self.branches.last_mut() {
            branch.rounds = Some(ValueLoop { name, left, body: None, begin: None });
            (branch.turns, branch.followed) = (None, true);
        }
    }
}

impl ShellWalker<'_> {
    /// Records where the body of a new loop starts; a loop with an early exit is walked once.
    pub(super) fn begin_loop(&mut self, text: &MappedText, tokens: &[ShellToken], at: usize) {
        self.begin_read_loop(text, tokens, at);
        self.record_condition_start(text, tokens, at);
        let level = self.level;
        let Some(rounds) = self.branches.last_mut().and_then(|branch| branch.rounds.as_mut()) else { return };
        if rounds.body.is_some() {
            return;
        }
        rounds.body = Some((level, at));
        if self.rounds + rounds.left.len() > MAX_ITERATIONS || may_leave_early(text, tokens, at) {
            let name = std::mem::take(&mut rounds.name);
            rounds.left.clear();
            if let Some(branch) = self.branches.last_mut() {
                branch.followed = false;
            }
            self.assign_variable(&name, ExpandedText::unresolved(vec![name.clone()], Cause::SetInLoop));
        }
    }

    /// Jumps back to the body of the current loop if a value remains; returns whether it did.
    pub(super) fn next_value_iteration(&mut self) -> bool {
        let level = self.level;
        let Some(rounds) = self.branches.last_mut().and_then(|branch| branch.rounds.as_mut()) else { return false };
        let Some((_, at)) = rounds.body.filter(|(own, _)| *own == level) else { return false };
        let Some(value) = rounds.left.pop() else { return false };
        let (name, begin) = (rounds.name.clone(), rounds.begin);
        self.rounds += 1;
        self.jump = Some(at);
        self.restart_loop_body(begin);
        self.assign_variable(&name, value);
        true
    }
}

impl ShellWalker<'_> {
    /// Records where the condition of a new loop starts; a loop with an early exit is walked once.
    fn record_condition_start(&mut self, text: &MappedText, tokens: &[ShellToken], at: usize) {
        let level = self.level;
        let Some(branch) = self.branches.last_mut().filter(|branch| branch.asking) else { return };
        let Some(turns) = branch.turns.as_mut().filter(|turns| turns.at.is_none()) else { return };
        let word = if turns.until { "until" } else { "while" };
        let is = |token: &ShellToken| matches!(token, ShellToken::Word(range) if text.get(range.clone()) == word);
        let Some(own) = tokens.iter().take(at).rposition(is) else { return };
        if may_leave_early(text, tokens, own) {
            (branch.turns, branch.followed) = (None, false);
        } else {
            turns.at = Some((level, own + 1));
        }
    }

    /// Begins the body of a loop behind its condition.
    pub(super) fn begin_loop_body(&mut self) {
        let status = self.list.status.as_condition();
        let Some(branch) = self.branches.last_mut() else { return };
        let until = branch.turns.as_ref().is_some_and(|turns| turns.until);
        let known = branch.turns.as_ref().is_some_and(|turns| turns.at.is_some());
        let holds = match (known, until) {
            (false, _) => Tristate::Maybe,
            (true, true) => status.not(),
            (true, false) => status,
        };
        if let Some(turns) = &mut branch.turns {
            turns.going = holds == Tristate::Yes;
        }
        branch.followed &= holds != Tristate::Maybe;
        self.begin_arm(holds);
    }

    /// Jumps back to the condition of the current loop behind an iteration that certainly ran; returns whether it
    /// did.
    pub(super) fn next_condition_iteration(&mut self) -> bool {
        let level = self.level;
        let may = self.rounds < MAX_ITERATIONS;
        let Some(branch) = self.branches.last_mut() else { return false };
        let Some(turns) = branch.turns.as_mut().filter(|turns| turns.going) else { return false };
        let Some((_, at)) = turns.at.filter(|(own, _)| *own == level) else { return false };
        turns.going = false;
        if !may || turns.gone >= MAX_CONDITION_ITERATIONS || !branch.followed || branch.now == Tristate::Maybe {
            branch.followed = false;
            return false;
        }
        turns.gone += 1;
        self.rounds += 1;
        self.jump = Some(at);
        self.restart_loop_condition();
        true
    }

    /// Applies `break` and `continue`; returns whether the command is one of them.
    pub(super) fn apply_break_or_continue(&mut self, words: &[Word]) -> bool {
        let ends = match words.first().and_then(Word::known) {
            Some("break") => true,
            Some("continue") => false,
            _ => return false,
        };
        let chance = self.current_execution();
        let Some(at) = self.branches.iter().rposition(|branch| branch.kind == ShellBlockKind::Loop) else {
            return true;
        };
        // A shell of its own cannot end the loop that it stands in.
        let own = |branch: &ShellBlock| {
            matches!(branch.kind, ShellBlockKind::Subshell | ShellBlockKind::Script | ShellBlockKind::Called)
        };
        let apart = self.branches.iter().skip(at).any(own) || self.part.is_in_subshell();
        let Some(branch) = self.branches.get_mut(at) else { return true };
        if apart || chance != Tristate::Yes {
            branch.now = branch.now.and(Tristate::Maybe);
            branch.followed = false;
            if let Some(rounds) = branch.rounds.as_mut().filter(|_| ends || apart) {
                rounds.begin = Some(Tristate::Maybe);
            }
            return true;
        }
        branch.now = Tristate::No;
        if ends {
            branch.rounds.iter_mut().for_each(|rounds| rounds.left.clear());
            branch.turns.iter_mut().for_each(|turns| turns.going = false);
        }
        true
    }
}

/// Whether a loop may be left together with an outer loop or function, or its end is missing.
fn may_leave_early(text: &MappedText, tokens: &[ShellToken], at: usize) -> bool {
    let mut depth = 0_usize;
    for (next, token) in tokens.iter().enumerate().skip(at) {
        let ShellToken::Word(range) = token else { continue };
        let behind = tokens.get(next + 1);
        match text.get(range.clone()) {
            "do" => depth += 1,
            "done" if depth <= 1 => return false,
            "done" => depth -= 1,
            "return" => return true,
            "break" | "continue" if matches!(behind, Some(ShellToken::Word(_))) => return true,
            _ => {}
        }
    }
    true
}
