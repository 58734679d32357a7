//! Compound commands: which branches run, loops over known values or with a condition, and conditions whose command must
//! succeed.

use std::ops::Range;
use std::sync::Arc;

use crate::build::{Command, FileChanges, StandardInput, Word};
use crate::dockerfile::{ExpandedText, MappedText};
use crate::model::cause::Cause;
use crate::shell::lexer::ShellToken;
use crate::shell::walk::command_status::{AndOrList, CommandStatus, Tristate};
use crate::shell::walk::redirections::Redirections;
use crate::shell::walk::script_paths::{is_folder_variable, join_folder};
use crate::shell::walk::state::{
    ConditionLoop, MAX_COMMANDS, MAX_DEPTH, MAX_VARIABLES, RequiredSuccess, ShellBlock, ShellBlockKind, ShellWalker,
    ValueLoop,
};

/// The keywords behind which a command starts.
pub(super) const COMMAND_KEYWORDS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"];

/// The maximum number of values of a loop that is followed.
const MAX_LOOP_VALUES: usize = 512;
/// The maximum number of iterations of all loops of a script.
const MAX_ITERATIONS: usize = 2_048;
/// The maximum number of iterations of a loop with a condition.
const MAX_CONDITION_ITERATIONS: usize = 64;

/// The maximum number of lines of a `while read` loop that is followed.
const MAX_LOOP_LINES: usize = 1_024;
/// The maximum length of a file that a loop reads.
const MAX_LIST_BYTES: usize = 64 * 1024;

impl ShellWalker<'_> {
    /// Assigns a variable and records that the current block sets it.
    pub(super) fn assign_variable(&mut self, name: &str, value: ExpandedText) {
        if let Some(branch) = self.branches.last_mut()
            && branch.set.len() < MAX_VARIABLES
            && !branch.set.iter().any(|own| own == name)
        {
            branch.set.push(name.to_owned());
        }
        if self.variables.len() < MAX_VARIABLES || self.variables.contains_key(name) || is_folder_variable(name) {
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
                    branch.condition_loop = Some(ConditionLoop::new(word == "until"));
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
            // The rest is not read.
            self.limit_reached = true;
            return;
        }
        let in_condition = matches!(kind, ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_));
        let list = std::mem::take(&mut self.list);
        let (before, now) = (self.variables.clone(), list.gate);
        let (after, set) = (None, Vec::new());
        let (arm_ran, value_loop, reading, condition_loop, followed) = (Tristate::No, None, None, None, false);
        let (arguments, part, reachability) =
            (self.arguments.clone(), std::mem::take(&mut self.part.behind), self.reachability);
        let arrays = self.arrays.clone();
        self.branches.push(ShellBlock {
            kind,
            now,
            in_condition,
            arm_ran,
            before,
            arguments,
            arrays,
            part,
            after,
            set,
            list,
            reachability,
            options: self.options,
            list_start: std::mem::replace(&mut self.list_start, (self.out.len(), self.out.len())),
            value_loop,
            condition_loop,
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
        branch.in_condition = false;
        let runs = branch.arm_ran.not().and(condition);
        branch.now = branch.list.gate.and(runs);
        branch.arm_ran = branch.arm_ran.or(condition);
    }

    /// Ends the commands of an arm; another condition or pattern follows.
    pub(super) fn end_arm(&mut self) {
        self.list = AndOrList::default();
        let Some(branch) = self.branches.last_mut() else { return };
        if !matches!(branch.kind, ShellBlockKind::If | ShellBlockKind::Case(_)) {
            return;
        }
        let variables = std::mem::replace(&mut self.variables, branch.before.clone());
        if !branch.in_condition && branch.now == Tristate::Yes {
            branch.after = Some(variables);
        }
        branch.in_condition = true;
        branch.now = branch.list.gate.and(branch.arm_ran.not());
    }

    /// Closes the innermost block if it is of a matching kind.
    pub(super) fn close_block(&mut self, ends: &dyn Fn(&ShellBlockKind) -> bool) {
        let inner = self.list.status;
        let Some(branch) = self.branches.pop_if(|branch| ends(&branch.kind)) else { return };
        let ShellBlock {
            kind,
            now,
            in_condition,
            before,
            arguments,
            arrays,
            part,
            after,
            set,
            list,
            reachability,
            options,
            list_start,
            followed,
            ..
        } = branch;
        self.list_start = list_start;
        // If every iteration of a loop was walked, the values after the loop are known.
        let whole = kind == ShellBlockKind::Loop
            && followed
            && !in_condition
            && now != Tristate::Maybe
            && list.gate == Tristate::Yes;
        let sure = if in_condition || now != Tristate::Yes { None } else { Some(self.variables.clone()) };
        self.list = list;
        let in_subshell = part || self.part.ahead;
        if in_subshell || matches!(kind, ShellBlockKind::Subshell | ShellBlockKind::Script) {
            self.options = options;
        }
        self.reachability = reachability.after_block(self.reachability, &kind, in_subshell);
        let status = match kind {
            ShellBlockKind::Braces | ShellBlockKind::Subshell | ShellBlockKind::Script | ShellBlockKind::Called => {
                inner
            }
            ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_) => CommandStatus::Fine,
        };
        self.list.record_status(status, self.is_in_condition());
        match (after.or(sure), kind) {
            (_, kind) if kind == ShellBlockKind::Subshell || in_subshell => {
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
    pub(super) fn restart_loop_body(&mut self, runs: Option<Tristate>) {
        if let Some(branch) = self.branches.last_mut() {
            branch.now = branch.list.gate.and(runs.unwrap_or(Tristate::Yes));
        }
    }

    /// Restarts the condition of a loop.
    pub(super) fn restart_loop_condition(&mut self) {
        if let Some(branch) = self.branches.last_mut() {
            (branch.in_condition, branch.arm_ran, branch.now) = (true, Tristate::No, branch.list.gate);
        }
    }

    /// Whether a pattern of `case` is being read.
    pub(super) fn is_in_case_pattern(&self) -> bool {
        self.branches.last().is_some_and(|branch| branch.in_condition && matches!(branch.kind, ShellBlockKind::Case(_)))
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
        let value_loop = ValueLoop::new(&name, &values);
        let value = match values.as_slice() {
            [only] => only.value.clone(),
            [first, ..] if value_loop.is_some() => first.value.clone(),
            _ => ExpandedText::unresolved(vec![name.clone()], Cause::SetInLoop),
        };
        // With a known value the loop runs at least once.
        let runs_once = values.iter().any(|word| word.known().is_some_and(|value| !value.is_empty()));
        self.assign_variable(&name, value);
        if runs_once {
            self.begin_arm(Tristate::Yes);
        }
        let whole = value_loop.is_some() || (runs_once && values.len() == 1);
        if let Some(branch) = self.branches.last_mut() {
            branch.followed = whole;
            branch.value_loop = value_loop;
        }
    }

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
            || self.out.iter().filter_map(|command| self.file_changes(command)).any(|changes| changes.may_change(&path))
    }

    /// Returns the files that a command may change; `None` if it changes none.
    pub(super) fn file_changes(&self, command: &Command) -> Option<FileChanges> {
        FileChanges::of_command(command, self.folder_of_command(command).as_deref())
    }

    /// Returns the folder of an earlier command of this text, if it is known.
    fn folder_of_command(&self, command: &Command) -> Option<String> {
        command.folder.as_deref().map(|folder| join_folder(self.files.folder, folder))
    }

    /// Begins the body of a `while read` loop, if the lines that it reads are known.
    fn begin_read_loop(&mut self, text: &MappedText, tokens: &[ShellToken], at: usize) {
        let Some(branch) = self.branches.last_mut().filter(|branch| branch.value_loop.is_none() && branch.in_condition)
        else {
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
        // `read` fails on a last line without a line break, so the loop skips it unless its condition has `||`.
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
            branch.value_loop = Some(ValueLoop { name, left, body: None, begin: None });
            (branch.condition_loop, branch.followed) = (None, true);
        }
    }

    /// Records where the body of a new loop starts; a loop with an early exit is walked once.
    pub(super) fn begin_loop(&mut self, text: &MappedText, tokens: &[ShellToken], at: usize) {
        self.begin_read_loop(text, tokens, at);
        self.record_condition_start(text, tokens, at);
        let level = self.level;
        let Some(value_loop) = self.branches.last_mut().and_then(|branch| branch.value_loop.as_mut()) else { return };
        if value_loop.body.is_some() {
            return;
        }
        value_loop.body = Some((level, at));
        if self.extra_iterations + value_loop.left.len() > MAX_ITERATIONS || may_exit_enclosing_block(text, tokens, at)
        {
            let name = std::mem::take(&mut value_loop.name);
            value_loop.left.clear();
            if let Some(branch) = self.branches.last_mut() {
                branch.followed = false;
            }
            self.assign_variable(&name, ExpandedText::unresolved(vec![name.clone()], Cause::SetInLoop));
        }
    }

    /// Jumps back to the body of the current loop if a value remains; returns whether it did.
    pub(super) fn next_value_iteration(&mut self) -> bool {
        let level = self.level;
        let Some(value_loop) = self.branches.last_mut().and_then(|branch| branch.value_loop.as_mut()) else {
            return false;
        };
        let Some((_, at)) = value_loop.body.filter(|(own, _)| *own == level) else { return false };
        let Some(value) = value_loop.left.pop() else { return false };
        let (name, begin) = (value_loop.name.clone(), value_loop.begin);
        self.extra_iterations += 1;
        self.jump = Some(at);
        self.restart_loop_body(begin);
        self.assign_variable(&name, value);
        true
    }

    /// Records where the condition of a new loop starts; a loop with an early exit is walked once.
    fn record_condition_start(&mut self, text: &MappedText, tokens: &[ShellToken], at: usize) {
        let level = self.level;
        let Some(branch) = self.branches.last_mut().filter(|branch| branch.in_condition) else { return };
        let Some(condition_loop) = branch.condition_loop.as_mut().filter(|condition_loop| condition_loop.at.is_none())
        else {
            return;
        };
        let word = if condition_loop.until { "until" } else { "while" };
        let is = |token: &ShellToken| matches!(token, ShellToken::Word(range) if text.get(range.clone()) == word);
        let Some(own) = tokens.iter().take(at).rposition(is) else { return };
        if may_exit_enclosing_block(text, tokens, own) {
            (branch.condition_loop, branch.followed) = (None, false);
        } else {
            condition_loop.at = Some((level, own + 1));
        }
    }

    /// Begins the body of a loop behind its condition.
    pub(super) fn begin_loop_body(&mut self) {
        let status = self.list.status.as_condition();
        let Some(branch) = self.branches.last_mut() else { return };
        let until = branch.condition_loop.as_ref().is_some_and(|condition_loop| condition_loop.until);
        let known = branch.condition_loop.as_ref().is_some_and(|condition_loop| condition_loop.at.is_some());
        let holds = match (known, until) {
            (false, _) => Tristate::Maybe,
            (true, true) => status.not(),
            (true, false) => status,
        };
        if let Some(condition_loop) = &mut branch.condition_loop {
            condition_loop.going = holds == Tristate::Yes;
        }
        branch.followed &= holds != Tristate::Maybe;
        self.begin_arm(holds);
    }

    /// Jumps back to the condition of the current loop behind an iteration that certainly ran; returns whether it
    /// did.
    pub(super) fn next_condition_iteration(&mut self) -> bool {
        let level = self.level;
        let may = self.extra_iterations < MAX_ITERATIONS;
        let Some(branch) = self.branches.last_mut() else { return false };
        let Some(condition_loop) = branch.condition_loop.as_mut().filter(|condition_loop| condition_loop.going) else {
            return false;
        };
        let Some((_, at)) = condition_loop.at.filter(|(own, _)| *own == level) else { return false };
        condition_loop.going = false;
        if !may
            || condition_loop.iterations >= MAX_CONDITION_ITERATIONS
            || !branch.followed
            || branch.now == Tristate::Maybe
        {
            branch.followed = false;
            return false;
        }
        condition_loop.iterations += 1;
        self.extra_iterations += 1;
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
        let runs = self.commands_run();
        let Some(at) = self.branches.iter().rposition(|branch| branch.kind == ShellBlockKind::Loop) else {
            return true;
        };
        // A shell of its own cannot end the loop that it stands in.
        let own = |branch: &ShellBlock| {
            matches!(branch.kind, ShellBlockKind::Subshell | ShellBlockKind::Script | ShellBlockKind::Called)
        };
        let in_subshell = self.branches.iter().skip(at).any(own) || self.part.is_in_subshell();
        let Some(branch) = self.branches.get_mut(at) else { return true };
        if in_subshell || runs != Tristate::Yes {
            branch.now = branch.now.and(Tristate::Maybe);
            branch.followed = false;
            if let Some(value_loop) = branch.value_loop.as_mut().filter(|_| ends || in_subshell) {
                value_loop.begin = Some(Tristate::Maybe);
            }
            return true;
        }
        branch.now = Tristate::No;
        if ends {
            branch.value_loop.iter_mut().for_each(|value_loop| value_loop.left.clear());
            branch.condition_loop.iter_mut().for_each(|condition_loop| condition_loop.going = false);
        }
        true
    }

    /// Records whether the script requires the success of the current command.
    pub(super) fn update_required_success(
        &mut self,
        text: &MappedText,
        tokens: &[ShellToken],
        words: &[Range<usize>],
        at: usize,
    ) {
        let words: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
        self.required_success =
            if self.part.is_in_subshell() { None } else { find_required_success(text, tokens, &words, at) };
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

impl ConditionLoop {
    /// Returns the state of a loop before its condition.
    pub(super) fn new(until: bool) -> Self {
        Self { until, at: None, iterations: 0, going: false }
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

/// Whether a loop may be left together with an outer loop or function, or its end is missing.
fn may_exit_enclosing_block(text: &MappedText, tokens: &[ShellToken], at: usize) -> bool {
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
