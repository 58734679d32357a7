//! Going through shell text command by command, keeping the variables that it sets.

mod arguments;
mod branches;
mod called;
mod chance;
mod condition;
mod ends;
mod filled;
mod insisted;
mod lists;
mod places;
mod redirects;
mod rounds;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::dockerfile::Heredoc;
use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunForm;
use crate::dockerfile::RunInstruction;
use crate::dockerfile::Scope;
use crate::shell::Command;
use crate::shell::Files;
use crate::shell::Input;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::lexer::tokens;
use crate::shell::nested::assignment;
use crate::shell::nested::inner_script;
use crate::shell::nested::is_other_user;
use crate::shell::nested::is_shell;
use crate::shell::nested::substitution;
use crate::shell::nested::unquoted;
use crate::shell::walk::arguments::Arguments;
use crate::shell::walk::branches::Branch;
use crate::shell::walk::branches::Kind;
use crate::shell::walk::called::Body;
use crate::shell::walk::chance::Chance;
use crate::shell::walk::chance::Status;
use crate::shell::walk::condition::Brackets;
use crate::shell::walk::ends::Goes;
use crate::shell::walk::filled::sets_unseen;
use crate::shell::walk::insisted::Insisted;
use crate::shell::walk::lists::List;
use crate::shell::walk::redirects::Part;
use crate::shell::walk::redirects::Redirects;
use crate::shell::walk::redirects::is_beside;
use crate::shell::wrapper;

pub use places::OWN_FILE;

const DEEPEST: usize = 4;
const MOST_COMMANDS: usize = 20_000;
const MOST_VARIABLES: usize = 256;
/// Variables, arrays and arguments may stand for so many more words than are written.
const MOST_SPREAD: usize = 50_000;

pub(super) fn commands(run: &RunInstruction, files: Files<'_>) -> Vec<Command> {
    let mut walk = Walk::new(&run.scope, &run.heredocs, files);
    match &run.form {
        RunForm::Shell(text) => walk.text(text, 0),
        RunForm::Exec(elements) => {
            let words: Vec<_> = elements
                .iter()
                .map(|element| Word {
                    value: Resolved::literal(element.text()),
                    raw: element.text().to_owned(),
                    span: element.full_span(),
                    output: None,
                })
                .collect();
            let start = words.first().map(|word| word.span.start);
            let words = walk.within(words);
            let script = inner_script(&words).filter(|(_, skip)| *skip == 0).and_then(|(at, _)| words.get(at));
            match script.and_then(|script| elements.iter().find(|element| element.full_span() == script.span)) {
                Some(script) => {
                    walk.begin_exec(&words, words.iter().position(|word| word.span == script.full_span()).unwrap_or(0));
                    walk.text(script, 1);
                }
                None => walk.emit(words, start, Redirects::default()),
            }
        }
    }
    walk.ended()
}

pub(super) fn script(text: &Mapped, scope: &Scope, variables: &[(String, Resolved)], files: Files<'_>) -> Vec<Command> {
    let mut walk = Walk::new(scope, &[], files);
    walk.variables.extend(variables.iter().take(MOST_VARIABLES).cloned());
    walk.called_with(variables);
    walk.text(text, 0);
    walk.ended()
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|one| one.is_ascii_digit())
}

struct Walk<'a> {
    scope: &'a Scope,
    heredocs: &'a [Heredoc],
    /// The files that are there before the first command.
    files: Files<'a>,
    variables: BTreeMap<String, Resolved>,
    branches: Vec<Branch>,
    goes: Goes,
    /// How many branches were opened.
    opened: usize,
    /// Whether so many were that the rest is not read.
    over: bool,
    /// How many words were read beside those that are written.
    spread: usize,
    list: List,
    brackets: Brackets,
    /// In which way the script insists on the command at hand, where that is the condition of a branch.
    insisted: Option<Insisted>,
    /// Whether a file was read in that may set any variable.
    sourced: bool,
    /// What the command in front of a `|` writes, and how many stand in front of it.
    pipe: (Input, usize),
    /// How deep this text lies in substitutions.
    substitutions: usize,
    /// The bodies of functions, by their names.
    functions: BTreeMap<String, Body>,
    /// How many of them were called.
    called: usize,
    /// How many files were read in.
    read_in: usize,
    /// What the script or function at hand was called with.
    arguments: Arguments,
    /// Whether the command at hand is a part of a pipe, or runs beside what follows.
    part: Part,
    /// Arrays by their names; nothing where one is set on one of several ways.
    arrays: BTreeMap<String, Option<Vec<Word>>>,
    /// The text that is gone through, and how many were.
    level: usize,
    levels: usize,
    /// How many rounds of loops were gone beside the first ones.
    rounds: usize,
    /// The token to go on with, where it is not the next one.
    jump: Option<usize>,
    /// The variables of the last command that was written down.
    handed: Arc<Vec<(String, Resolved)>>,
    out: Vec<Command>,
}

impl<'a> Walk<'a> {
    fn new(scope: &'a Scope, heredocs: &'a [Heredoc], files: Files<'a>) -> Self {
        let (variables, branches, out) = (BTreeMap::new(), Vec::new(), Vec::new());
        let pipe = (Input::None, 0);
        let (list, brackets, insisted, goes) = (List::default(), Brackets::default(), None, Goes::default());
        let (opened, over, spread, sourced, substitutions) = (0, false, 0, false, 0);
        let (functions, called, arrays) = (BTreeMap::new(), 0, BTreeMap::new());
        let (read_in, arguments, part) = (0, Arguments::default(), Part::default());
        let (level, levels, rounds, jump, handed) = (0, 0, 0, None, Arc::default());
        Self {
            scope,
            heredocs,
            files,
            variables,
            branches,
            goes,
            opened,
            over,
            spread,
            list,
            brackets,
            insisted,
            sourced,
            pipe,
            substitutions,
            functions,
            called,
            read_in,
            arguments,
            part,
            arrays,
            level,
            levels,
            rounds,
            jump,
            handed,
            out,
        }
    }

    fn lookup(&self, name: &str) -> Lookup {
        let argument = self.argument(name);
        if self.lacks(name) {
            return Lookup::Unset;
        }
        match argument.as_ref().or_else(|| self.variables.get(name)) {
            Some(Resolved::Known { value, origins }) => Lookup::Known(value.clone(), origins.clone()),
            Some(Resolved::Unresolved { reason, .. }) => Lookup::Unknown(vec![name.to_owned()], reason.clone()),
            // What a script or RUN is not called with is not set; within a function it may be.
            None if self.called == 0 && self.substitutions == 0 && is_number(name) => Lookup::Unset,
            None => match self.scope.lookup(name) {
                Lookup::Unset | Lookup::Unknown(..) if self.sourced && self.scope.is_free(name) => {
                    Lookup::Unknown(vec![name.to_owned()], "a command that is not inspected may set it".to_owned())
                }
                other => other,
            },
        }
    }

    fn text(&mut self, text: &Mapped, depth: usize) {
        let mut words: Vec<Range<usize>> = Vec::new();
        let mut redirects = Redirects::default();
        let tokens = tokens(text.text());
        let sure = self.ends_well(&tokens, depth);
        self.levels += 1;
        let outer = std::mem::replace(&mut self.level, self.levels);
        let mut next = 0;
        // Behind the last token stands the end of a command too.
        while let Some(token) = tokens.get(next).cloned().or_else(|| (next == tokens.len()).then_some(Token::Separator))
        {
            let at = next;
            next += 1;
            if self.over {
                break;
            }
            if self.in_pattern() {
                self.pattern(text, &token, &mut words);
                continue;
            }
            let closes = words.last().is_some_and(|range| text.get(range.clone()) == "]]");
            if self.brackets.open && !closes && !matches!(token, Token::Word(_) | Token::Separator | Token::ArmEnd) {
                self.brackets.operator(&token);
                if !matches!(token, Token::And | Token::Or) || self.brackets.broken {
                    words.clear();
                    continue;
                }
            }
            match &token {
                Token::Open if !self.brackets.open => {
                    if let Some(behind) = self.defined(text, &mut words, &tokens, next) {
                        next = behind;
                        continue;
                    }
                    self.piped(text, &words, std::mem::take(&mut redirects), depth, false);
                }
                Token::Word(range) => {
                    words.push(range.clone());
                    if text.get(range.clone()) == "{"
                        && let Some(behind) = self.defined(text, &mut words, &tokens, next)
                    {
                        next = behind;
                        continue;
                    }
                    self.case(text, &mut words, depth);
                    continue;
                }
                Token::Redirect(range) => {
                    redirects.any = true;
                    self.redirect(text, range.clone(), &mut redirects);
                    continue;
                }
                _ => {
                    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
                    self.part.ahead = token == Token::Separator && is_beside(text.text(), before);
                    self.insists(text, &tokens, &words, at);
                    self.piped(text, &words, std::mem::take(&mut redirects), depth, token == Token::Pipe);
                }
            }
            words.clear();
            if let Some(back) = self.jump.take() {
                self.list = List::default();
                next = back;
                continue;
            }
            match token {
                Token::Open | Token::Close | Token::Pipe if self.brackets.open => self.brackets.operator(&token),
                Token::And => self.list.and(sure.is_some_and(|from| at >= from) && self.branches.is_empty()),
                Token::Or => self.list.or(),
                Token::Open => self.open(Kind::Subshell),
                Token::Close => self.close(&|kind| *kind == Kind::Subshell),
                Token::Separator | Token::ArmEnd => {
                    self.list.end();
                    self.brackets = Brackets::default();
                    if token == Token::ArmEnd
                        && self.branches.last().is_some_and(|one| matches!(one.kind, Kind::Case(_)))
                    {
                        self.next_arm();
                    }
                }
                Token::Pipe | Token::Word(_) | Token::Redirect(_) => {}
            }
            self.begin_rounds(text, &tokens, next);
        }
        self.level = outer;
    }

    fn simple(&mut self, text: &Mapped, ranges: &[Range<usize>], redirects: Redirects<'a>, depth: usize) {
        let mut rest = ranges;
        while let Some((first, after)) = rest.split_first().filter(|_| !self.brackets.open) {
            let word = text.get(first.clone());
            if word == "for" {
                self.open(Kind::Loop);
                self.loop_variable(text, after);
                return;
            }
            if self.keyword(word).is_none() {
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
        let plain = |word: &&str| assignment(word).is_some() && !word.contains(['(', '`']);
        let status = match self.answer(&raw, redirects.any) {
            Some(answer) => Status::Answer(answer),
            None if raw.iter().all(plain) && !redirects.any => Status::Answer(Chance::Yes),
            None if self.insisted == Some(Insisted::Once) => Status::Answer(Chance::Yes),
            None => Status::Fine,
        };
        let kept = self.part.is_any().then(|| (self.variables.clone(), self.arguments.clone(), self.arrays.clone()));
        self.command(text, rest, redirects, depth, inside);
        if let Some(kept) = kept {
            (self.variables, self.arguments, self.arrays) = kept;
        }
        if !inside || status != Status::Fine {
            self.list.settle(status, self.asking());
        }
    }

    fn command(
        &mut self,
        text: &Mapped,
        ranges: &[Range<usize>],
        redirects: Redirects<'a>,
        depth: usize,
        inside: bool,
    ) {
        if inside || self.chance() == Chance::No {
            return;
        }
        let mut rest = ranges;
        let mut own = Vec::new();
        let start = rest.first().map(|first| first.start);
        while let Some((first, after)) = rest.split_first() {
            let Some((name, value)) = assignment(text.get(first.clone())) else { break };
            let origin = text.span(first.start + name.len() + 1..first.end);
            own.push((name.to_owned(), self.value(value, origin)));
            rest = after;
        }
        // What stands for more words than are read ends the reading.
        let most = rest.len() + MOST_SPREAD.saturating_sub(self.spread);
        let words: Vec<Word> = rest.iter().flat_map(|range| self.word(text, range.clone())).take(most).collect();
        self.spread += words.len().saturating_sub(rest.len());
        self.over |= self.spread >= MOST_SPREAD;
        for range in ranges {
            self.sets_defaults(text.get(range.clone()));
        }
        let skip = wrapper::inner(&words);
        own.extend(words.iter().take(skip).filter_map(wrapper::set));
        let words: Vec<Word> = words.into_iter().skip(skip).collect();
        self.sourced |= sets_unseen(&words);
        if words.is_empty() {
            self.trace_values(text, ranges);
            for (name, value) in std::mem::take(&mut own) {
                self.set(&name, value);
            }
        } else if matches!(words[0].known(), Some("export" | "declare" | "local" | "readonly" | "typeset")) {
            for range in &rest[1..] {
                if let Some((name, value)) = assignment(text.get(range.clone())) {
                    let value = self.value(value, text.span(range.start + name.len() + 1..range.end));
                    self.set(name, value);
                }
            }
            return;
        } else if self.evaluates(text, rest, &words, depth) {
            return;
        } else if matches!(words[0].known(), Some("." | "source" | "eval")) {
            let harmless = words.get(1).and_then(Word::known).is_some_and(|path| path.ends_with("activate"));
            self.sourced |= !harmless && !self.reads_in(&words);
        } else if words[0].known() == Some("unset") {
            for name in words.iter().skip(1).filter_map(Word::known).filter(|name| !name.starts_with('-')) {
                self.set(name, Resolved::literal(""));
            }
        } else if words[0].known() == Some("read") {
            self.reads(&words, &own, &redirects.input);
        }
        if self.calls(&words, depth) || self.leaves(&words) {
            return;
        }
        let shell = |program: &str| is_shell(program) || is_other_user(program);
        let scripts = words.is_empty() || (words.len() < 4 && words[0].known().is_some_and(shell));
        for heredoc in redirects.heredocs.iter().filter(|_| scripts && depth < DEEPEST) {
            let kept = (!words.is_empty()).then(|| (self.variables.clone(), self.arguments.clone()));
            self.begin_reader(&words, heredoc.expand);
            self.script(&heredoc.body, depth + 1, &Kind::Script);
            if let Some(kept) = kept {
                (self.variables, self.arguments) = kept;
            }
        }
        if let Some((at, front)) = inner_script(&words)
            && let Some(span) = words.get(at).map(|word| word.span)
            && let Some(range) = rest.iter().find(|range| text.span((*range).clone()) == span)
            && depth < DEEPEST
        {
            let script = unquoted(text, range.start + front..range.end);
            let kept = (self.variables.clone(), self.arguments.clone());
            self.variables.extend(own);
            self.begin_child(&words, at);
            self.script(&script, depth + 1, &Kind::Script);
            (self.variables, self.arguments) = kept;
            return;
        }
        if let (Some(start), false) = (start, words.is_empty()) {
            let saved = self.variables.clone();
            for (name, value) in own {
                self.variables.insert(name, value);
            }
            let goes = self.behind(&words);
            self.emit(words, Some(text.span(start..start + 1).start), redirects);
            (self.variables, self.goes) = (saved, goes);
        }
    }

    /// A script inside of the text, or a function, which ends what it begins.
    fn script(&mut self, text: &Mapped, depth: usize, kind: &Kind) {
        self.open(kind.clone());
        let before = self.branches.len();
        self.text(text, depth);
        self.branches.truncate(before);
        self.close(&|own| own == kind);
    }

    fn emit(&mut self, words: Vec<Word>, start: Option<usize>, redirects: Redirects<'_>) {
        let words = wrapper::module_apart(words);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let mut span = first.span.to(last.span);
        span.start = start.unwrap_or(span.start).min(span.start);
        let conditional = (self.asking() && self.insisted.is_none()) || self.chance() != Chance::Yes;
        if self.out.len() < MOST_COMMANDS {
            let variables = self.variables_of(words.first());
            let Redirects { writes, appends, input, .. } = redirects;
            let input = if input == Input::None { std::mem::take(&mut self.pipe.0) } else { input };
            self.out.push(Command { words, span, variables, writes, appends, input, conditional, cut: false });
        }
    }

    fn value(&self, raw: &str, span: crate::source::Span) -> Resolved {
        let mut value = self.expanded(raw);
        if let Resolved::Known { origins, .. } = &mut value {
            origins.push(span);
        }
        value
    }

    /// One word, or several where an unquoted variable holds several.
    fn word(&self, text: &Mapped, range: Range<usize>) -> Vec<Word> {
        let raw = text.get(range.clone()).to_owned();
        if let Some(words) = raw.contains('$').then(|| self.several(&raw, text.span(range.clone()))).flatten() {
            return words;
        }
        let span = text.span(range.clone());
        if let Some(inside) = substitution(&raw) {
            let output = self.substituted(&text.slice(range.start + inside.start..range.start + inside.end));
            let value = if raw.starts_with('<') {
                let reason = "it is the output of another command".to_owned();
                Resolved::Unresolved { names: Vec::new(), reason }
            } else {
                self.expanded(&raw)
            };
            return vec![Word { value, raw, span, output }];
        }
        let value = self.expanded(&raw);
        match &value {
            Resolved::Known { value, origins }
                if raw.contains('$') && !raw.contains(['"', '\'', '\\']) && value.contains(char::is_whitespace) =>
            {
                let part = |part: &str| Resolved::Known { value: part.to_owned(), origins: origins.clone() };
                value
                    .split_whitespace()
                    .map(|one| Word { value: part(one), raw: raw.clone(), span, output: None })
                    .collect()
            }
            Resolved::Known { value, .. } if value.is_empty() && !raw.contains(['"', '\'']) => Vec::new(),
            _ => vec![Word { value, raw, span, output: None }],
        }
    }
}

#[cfg(test)]
mod tests;
