//! The walk through the commands of a RUN instruction or script, in order.

use std::ops::Range;
use std::sync::Arc;

use crate::build::{Command, StandardInput, Word};
use crate::dockerfile::{ExpandedText, MappedText, RunForm, RunInstruction, VariableScope};
use crate::model::cause::Cause;
use crate::shell::lexer::{ShellToken, tokenize};
use crate::shell::scripts::{
    ShellFiles, find_inline_script, reads_script_from_input, split_assignment, substitution_range, unquote,
};
use crate::shell::walk::command_status::{AndOrList, CommandStatus, Tristate};
use crate::shell::walk::redirections::{Redirections, is_background};
use crate::shell::walk::state::{
    DoubleBrackets, MAX_COMMANDS, MAX_DEPTH, MAX_VARIABLES, RequiredSuccess, ShellBlockKind, ShellOptions, ShellWalker,
};
use crate::shell::walk::substitutions::sets_untracked_variables;
use crate::shell::wrapper;
use crate::text::source::Span;

/// The maximum number of tokens of a group behind `||` that are read for an `exit`.
const MAX_GROUP_TOKENS: usize = 256;
/// The maximum number of words that expansions may add to a script.
const MAX_EXTRA_WORDS: usize = 50_000;

/// Returns the commands of a RUN instruction.
pub(in crate::shell) fn walk_run(run: &RunInstruction, files: ShellFiles<'_>) -> Vec<Command> {
    let mut walk = ShellWalker::new(&run.scope, &run.heredocs, files);
    match &run.form {
        RunForm::Shell(text) => {
            walk.options.apply(run.shell.iter().flatten().skip(1).map(String::as_str));
            walk.walk_text(text, 0);
        }
        RunForm::Exec(elements) => {
            let words: Vec<_> = elements
                .iter()
                .map(|element| Word {
                    value: ExpandedText::literal(element.text()),
                    raw: element.text().to_owned(),
                    span: element.full_source_span(),
                    output: None,
                })
                .collect();
            let start = words.first().map(|word| word.span.start);
            let words = walk.unwrap_command(words);
            let script = find_inline_script(&words).filter(|(_, skip)| *skip == 0).and_then(|(at, _)| words.get(at));
            match script.and_then(|script| elements.iter().find(|element| element.full_source_span() == script.span)) {
                Some(script) => {
                    walk.begin_exec_script(
                        &words,
                        words.iter().position(|word| word.span == script.full_source_span()).unwrap_or(0),
                    );
                    walk.walk_text(script, 1);
                }
                None => walk.record_command(words, start, Redirections::default()),
            }
        }
    }
    walk.into_commands()
}

/// Returns the commands of a script, with initial variables.
pub(in crate::shell) fn walk_script(
    text: &MappedText,
    scope: &VariableScope,
    variables: &[(String, ExpandedText)],
    files: ShellFiles<'_>,
) -> Vec<Command> {
    let mut walk = ShellWalker::new(scope, &[], files);
    walk.variables.extend(variables.iter().take(MAX_VARIABLES).cloned());
    walk.set_script_parameters(variables);
    walk.walk_text(text, 0);
    walk.into_commands()
}

/// Whether tokens begin with a command that fails, or a group that ends in one: what follows `||` in `pip install x ||
/// { echo failed; exit 1; }`.
fn is_failing_command(text: &MappedText, tokens: &[ShellToken]) -> bool {
    let word = |token: &ShellToken| match token {
        ShellToken::Word(range) => Some(text.get(range.clone())),
        _ => None,
    };
    let fails = |at: usize| match tokens.get(at).and_then(word) {
        Some("exit" | "return") => tokens.get(at + 1).and_then(word) != Some("0"),
        Some("false") => true,
        _ => false,
    };
    let tokens = tokens.get(..MAX_GROUP_TOKENS).unwrap_or(tokens);
    let end = match tokens.first() {
        Some(ShellToken::Open) => tokens.iter().position(|token| *token == ShellToken::Close),
        Some(first) if word(first) == Some("{") => tokens.iter().position(|token| word(token) == Some("}")),
        _ => return fails(0),
    };
    (0..end.unwrap_or(tokens.len())).any(fails)
}

impl<'a> ShellWalker<'a> {
    /// Returns the recorded commands; the last one is marked if a limit was reached.
    fn into_commands(mut self) -> Vec<Command> {
        if self.limit_reached || self.out.len() >= MAX_COMMANDS {
            if self.out.is_empty() {
                self.limit_reached = false;
                self.branches.clear();
                let word = Word {
                    value: ExpandedText::literal(":"),
                    raw: ":".to_owned(),
                    span: Span::default(),
                    output: None,
                };
                self.record_command(vec![word], None, Redirections::default());
            }
            if let Some(last) = self.out.last_mut() {
                last.cut = true;
            }
        }
        self.out
    }

    /// Strips wrapper programs from a command and applies the variables that they set.
    fn unwrap_command(&mut self, words: Vec<Word>) -> Vec<Word> {
        let skip = wrapper::wrapped_program_index(&words);
        let own: Vec<(String, ExpandedText)> =
            words.iter().take(skip).filter_map(wrapper::parse_variable_assignment).collect();
        self.variables.extend(own);
        words.into_iter().skip(skip).collect()
    }

    /// Walks through a text.
    pub(super) fn walk_text(&mut self, text: &MappedText, depth: usize) {
        let mut words: Vec<Range<usize>> = Vec::new();
        let mut redirects = Redirections::default();
        let tokens = tokenize(text.text());
        let sure = self.required_list_start(&tokens, depth);
        self.levels += 1;
        let outer = std::mem::replace(&mut self.level, self.levels);
        let outer_list = std::mem::replace(&mut self.list_start, (self.out.len(), self.out.len()));
        let mut next = 0;
        // Behind the last token stands the end of a command too.
        while let Some(token) =
            tokens.get(next).cloned().or_else(|| (next == tokens.len()).then_some(ShellToken::Separator))
        {
            let at = next;
            next += 1;
            if self.limit_reached {
                break;
            }
            if self.is_in_case_pattern() {
                self.read_case_pattern(text, &token, &mut words);
                continue;
            }
            let closes = words.last().is_some_and(|range| text.get(range.clone()) == "]]");
            if self.brackets.open
                && !closes
                && !matches!(token, ShellToken::Word(_) | ShellToken::Separator | ShellToken::ArmEnd)
            {
                self.brackets.apply_operator(&token);
                if !matches!(token, ShellToken::And | ShellToken::Or) || self.brackets.broken {
                    words.clear();
                    continue;
                }
            }
            match &token {
                ShellToken::Open if !self.brackets.open => {
                    if let Some(behind) = self.read_definition(text, &mut words, &tokens, next) {
                        next = behind;
                        continue;
                    }
                    self.walk_pipeline_command(text, &words, std::mem::take(&mut redirects), depth, false);
                }
                ShellToken::Word(range) => {
                    words.push(range.clone());
                    if text.get(range.clone()) == "{"
                        && let Some(behind) = self.read_definition(text, &mut words, &tokens, next)
                    {
                        next = behind;
                        continue;
                    }
                    self.begin_case(text, &mut words, depth);
                    continue;
                }
                ShellToken::Redirect(range) => {
                    redirects.any = true;
                    self.read_redirection(text, range.clone(), &mut redirects);
                    continue;
                }
                _ => {
                    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
                    self.part.ahead = token == ShellToken::Separator && is_background(text.text(), before);
                    self.update_required_success(text, &tokens, &words, at);
                    self.walk_pipeline_command(
                        text,
                        &words,
                        std::mem::take(&mut redirects),
                        depth,
                        token == ShellToken::Pipe,
                    );
                }
            }
            words.clear();
            if let Some(back) = self.jump.take() {
                self.list = AndOrList::default();
                next = back;
                continue;
            }
            match token {
                ShellToken::Open | ShellToken::Close | ShellToken::Pipe if self.brackets.open => {
                    self.brackets.apply_operator(&token);
                }
                ShellToken::And => {
                    self.list_start.1 = self.out.len();
                    self.list.continue_with_and(sure.is_some_and(|from| at >= from) && self.branches.is_empty());
                }
                ShellToken::Or => {
                    let is_required = is_failing_command(text, tokens.get(next..).unwrap_or_default());
                    self.continue_with_or(is_required);
                }
                ShellToken::Open => self.open_block(ShellBlockKind::Subshell),
                ShellToken::Close => self.close_block(&|kind| *kind == ShellBlockKind::Subshell),
                ShellToken::Separator | ShellToken::ArmEnd => {
                    self.end_list(tokens.get(next..).unwrap_or_default(), token == ShellToken::ArmEnd);
                }
                ShellToken::Pipe if !self.options.pipefail => {
                    self.mark_failures_ignored(self.out.len().saturating_sub(1).max(self.list_start.0)..self.out.len());
                }
                ShellToken::Pipe | ShellToken::Word(_) | ShellToken::Redirect(_) => {}
            }
            self.begin_loop(text, &tokens, next);
        }
        self.level = outer;
        self.list_start = outer_list;
    }

    /// Continues a list behind `||`; the commands before it are required if what follows fails.
    fn continue_with_or(&mut self, is_required: bool) {
        if !is_required {
            self.mark_failures_ignored(self.list_start.0..self.out.len());
        }
        self.list_start = (self.out.len(), self.out.len());
        self.list.continue_with_or();
    }

    /// Ends a list of commands before the rest of the text.
    fn end_list(&mut self, rest: &[ShellToken], ends_arm: bool) {
        self.list.end();
        if rest.iter().any(|token| matches!(token, ShellToken::Word(_))) {
            // With `-e`, only the last command of `a && b` ends the shell.
            let end = if self.options.errexit { self.list_start.1 } else { self.out.len() };
            self.mark_failures_ignored(self.list_start.0..end);
        }
        self.list_start = (self.out.len(), self.out.len());
        self.brackets = DoubleBrackets::default();
        if ends_arm && self.branches.last().is_some_and(|one| matches!(one.kind, ShellBlockKind::Case(_))) {
            self.end_arm();
        }
    }

    /// Marks commands as ones whose failure the script ignores.
    fn mark_failures_ignored(&mut self, commands: Range<usize>) {
        for command in self.out.get_mut(commands).into_iter().flatten() {
            command.failure_ignored = true;
        }
    }

    /// Walks one command, with the keywords in front of it.
    pub(super) fn walk_command(
        &mut self,
        text: &MappedText,
        ranges: &[Range<usize>],
        redirects: Redirections<'a>,
        depth: usize,
    ) {
        let mut rest = ranges;
        while let Some((first, after)) = rest.split_first().filter(|_| !self.brackets.open) {
            let word = text.get(first.clone());
            if word == "for" {
                self.open_block(ShellBlockKind::Loop);
                self.begin_for_loop(text, after);
                return;
            }
            if self.apply_keyword(word).is_none() {
                break;
            }
            // `time -p CMD`.
            let timed = word == "time" && after.first().is_some_and(|next| text.get(next.clone()) == "-p");
            rest = if timed { after.get(1..).unwrap_or_default() } else { after };
        }
        if rest.is_empty() && redirects.heredocs.is_empty() {
            return;
        }
        let inside = self.brackets.open;
        let raw: Vec<&str> = rest.iter().map(|range| text.get(range.clone())).collect();
        let plain = |word: &&str| split_assignment(word).is_some() && !word.contains(['(', '`']);
        let status = match self.test_result(&raw, redirects.any) {
            Some(answer) => CommandStatus::Answer(answer),
            None if raw.iter().all(plain) && !redirects.any => CommandStatus::Answer(Tristate::Yes),
            None if self.required_success == Some(RequiredSuccess::Once) => CommandStatus::Answer(Tristate::Yes),
            None => CommandStatus::Fine,
        };
        let kept =
            self.part.is_in_subshell().then(|| (self.variables.clone(), self.arguments.clone(), self.arrays.clone()));
        self.expand_command(text, rest, redirects, depth, inside);
        if let Some(kept) = kept {
            (self.variables, self.arguments, self.arrays) = kept;
        }
        if !inside || status != CommandStatus::Fine {
            self.list.record_status(status, self.is_in_condition());
        }
    }

    /// Expands a command, applies its effects and records it.
    fn expand_command(
        &mut self,
        text: &MappedText,
        ranges: &[Range<usize>],
        redirects: Redirections<'a>,
        depth: usize,
        inside: bool,
    ) {
        if inside || self.commands_run() == Tristate::No {
            return;
        }
        let mut rest = ranges;
        let mut own = Vec::new();
        let start = rest.first().map(|first| first.start);
        while let Some((first, after)) = rest.split_first() {
            let Some((name, value)) = split_assignment(text.get(first.clone())) else { break };
            let origin = text.source_span(first.start + name.len() + 1..first.end);
            own.push((name.to_owned(), self.assigned_value(value, origin)));
            rest = after;
        }
        // What stands for more words than are read ends the reading.
        let most = rest.len() + MAX_EXTRA_WORDS.saturating_sub(self.added_words);
        let words: Vec<Word> = rest.iter().flat_map(|range| self.expand_word(text, range.clone())).take(most).collect();
        self.added_words += words.len().saturating_sub(rest.len());
        self.limit_reached |= self.added_words >= MAX_EXTRA_WORDS;
        for range in ranges {
            self.apply_default_assignments(text.get(range.clone()));
        }
        let skip = wrapper::wrapped_program_index(&words);
        own.extend(words.iter().take(skip).filter_map(wrapper::parse_variable_assignment));
        let words: Vec<Word> = words.into_iter().skip(skip).collect();
        self.sourced |= sets_untracked_variables(&words);
        if words.is_empty() {
            self.record_assignment_commands(text, ranges);
            for (name, value) in std::mem::take(&mut own) {
                self.apply_assignment(&name, value);
            }
        } else if matches!(words[0].known(), Some("export" | "declare" | "local" | "readonly" | "typeset")) {
            for range in &rest[1..] {
                if let Some((name, value)) = split_assignment(text.get(range.clone())) {
                    let value = self.assigned_value(value, text.source_span(range.start + name.len() + 1..range.end));
                    self.apply_assignment(name, value);
                }
            }
            return;
        } else if self.run_eval(text, rest, &words, depth) {
            return;
        } else if matches!(words[0].known(), Some("." | "source" | "eval")) {
            let harmless = words.get(1).and_then(Word::known).is_some_and(|path| path.ends_with("activate"));
            self.sourced |= !harmless && !self.source_file(&words);
        } else if words[0].known() == Some("unset") {
            for name in words.iter().skip(1).filter_map(Word::known).filter(|name| !name.starts_with('-')) {
                self.apply_assignment(name, ExpandedText::literal(""));
            }
        } else if words[0].known() == Some("read") {
            self.apply_read(&words, &own, &redirects.input);
        }
        if self.run_function(&words, depth) || self.apply_break_or_continue(&words) {
            return;
        }
        let scripts = words.is_empty() || reads_script_from_input(&words);
        for heredoc in redirects.heredocs.iter().filter(|_| scripts && depth < MAX_DEPTH) {
            let kept = (!words.is_empty()).then(|| (self.variables.clone(), self.arguments.clone()));
            self.begin_heredoc_shell(&words, heredoc.expand);
            self.walk_nested_script(&heredoc.body, depth + 1, &ShellBlockKind::Script);
            if let Some(kept) = kept {
                (self.variables, self.arguments) = kept;
            }
        }
        if let Some((at, front)) = find_inline_script(&words)
            && let Some(span) = words.get(at).map(|word| word.span)
            && let Some(range) = rest.iter().find(|range| text.source_span((*range).clone()) == span)
            && depth < MAX_DEPTH
        {
            let script = unquote(text, range.start + front..range.end);
            let kept = (self.variables.clone(), self.arguments.clone());
            self.variables.extend(own);
            self.begin_child_shell(&words, at);
            self.walk_nested_script(&script, depth + 1, &ShellBlockKind::Script);
            (self.variables, self.arguments) = kept;
            return;
        }
        if let (Some(start), false) = (start, words.is_empty()) {
            let saved = self.variables.clone();
            for (name, value) in own {
                self.variables.insert(name, value);
            }
            let reachability = self.reachability_after(&words);
            let folder_change = self.folder_change(&words);
            self.record_command(words, Some(text.source_span(start..start + 1).start), redirects);
            (self.variables, self.reachability) = (saved, reachability);
            for (name, value) in folder_change {
                self.apply_assignment(name, value);
            }
        }
    }

    /// Walks a nested script or function body as a block of its own.
    pub(super) fn walk_nested_script(&mut self, text: &MappedText, depth: usize, kind: &ShellBlockKind) {
        self.open_block(kind.clone());
        let before = self.branches.len();
        if *kind == ShellBlockKind::Script {
            self.options = ShellOptions::default();
        }
        self.walk_text(text, depth);
        self.branches.truncate(before);
        self.close_block(&|own| own == kind);
    }

    /// Records a command.
    pub(super) fn record_command(&mut self, words: Vec<Word>, start: Option<usize>, redirects: Redirections<'_>) {
        let words = wrapper::split_module_option(words);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let mut span = first.span.cover(last.span);
        span.start = start.unwrap_or(span.start).min(span.start);
        let conditional =
            (self.is_in_condition() && self.required_success.is_none()) || self.commands_run() != Tristate::Yes;
        if self.out.len() < MAX_COMMANDS {
            let variables = self.shared_variables(words.first());
            let Redirections { writes, appends, input, .. } = redirects;
            let input = if input == StandardInput::None { std::mem::take(&mut self.pipe.0) } else { input };
            let folder = self.current_folder().map(Arc::from);
            self.out.push(Command {
                words,
                span,
                variables,
                writes,
                appends,
                input,
                folder,
                conditional,
                failure_ignored: self.list.negated,
                cut: false,
            });
        }
    }

    /// Returns the value of an assignment, with its span among the origins.
    fn assigned_value(&self, raw: &str, span: Span) -> ExpandedText {
        let mut value = self.expand_text(raw);
        if let ExpandedText::Known { origins, .. } = &mut value {
            origins.push(span);
        }
        value
    }

    /// Returns the expansion of a word: several words if an unquoted variable holds several.
    pub(super) fn expand_word(&self, text: &MappedText, range: Range<usize>) -> Vec<Word> {
        let raw = text.get(range.clone()).to_owned();
        if let Some(words) =
            raw.contains('$').then(|| self.expand_list(&raw, text.source_span(range.clone()))).flatten()
        {
            return words;
        }
        let span = text.source_span(range.clone());
        if let Some(inside) = substitution_range(&raw) {
            let output = self.substitution_command(&text.slice(range.start + inside.start..range.start + inside.end));
            let value = if raw.starts_with('<') {
                ExpandedText::unresolved(Vec::new(), Cause::OutputOfCommand)
            } else {
                self.expand_text(&raw)
            };
            return vec![Word { value, raw, span, output }];
        }
        let value = self.expand_text(&raw);
        match &value {
            ExpandedText::Known { value, origins }
                if raw.contains('$') && !raw.contains(['"', '\'', '\\']) && value.contains(char::is_whitespace) =>
            {
                let part = |part: &str| ExpandedText::Known { value: part.to_owned(), origins: origins.clone() };
                value
                    .split_whitespace()
                    .map(|one| Word { value: part(one), raw: raw.clone(), span, output: None })
                    .collect()
            }
            ExpandedText::Known { value, .. } if value.is_empty() && !raw.contains(['"', '\'']) => Vec::new(),
            _ => vec![Word { value, raw, span, output: None }],
        }
    }
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
