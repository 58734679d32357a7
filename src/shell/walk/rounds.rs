//! Loops over values that are known: their commands are read once for each.

use std::sync::Arc;

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Input;
use crate::shell::Trace;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::walk::DEEPEST;
use crate::shell::walk::Walk;
use crate::shell::walk::branches::Branch;
use crate::shell::walk::branches::Kind;
use crate::shell::walk::chance::Chance;
use crate::shell::walk::redirects::Redirects;

/// A loop with more values is read once.
const MOST: usize = 512;
/// So many rounds are gone in all.
const MOST_IN_ALL: usize = 2_048;
/// A loop with a condition is left after so many rounds.
const MOST_TURNS: usize = 64;

/// The values that a loop has still to go through.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    name: String,
    /// Those to come, the next one last.
    left: Vec<Resolved>,
    /// The text and the token where its commands begin.
    body: Option<(usize, usize)>,
    /// Whether a round behind one that may have ended the loop runs.
    begin: Option<Chance>,
}

/// A loop with a condition.
#[derive(Debug)]
pub(super) struct Turns {
    /// Whether it ends when the condition holds.
    until: bool,
    /// The text and the token where its condition begins.
    at: Option<(usize, usize)>,
    /// How many rounds were gone.
    gone: usize,
    /// Whether a round is on its way that another may follow.
    going: bool,
}

impl Turns {
    pub(super) fn new(until: bool) -> Self {
        Self { until, at: None, gone: 0, going: false }
    }
}

impl Rounds {
    /// The rounds of a loop behind its first one.
    pub(super) fn new(name: &str, values: &[Word]) -> Option<Self> {
        let plain =
            |word: &Word| word.known().is_some_and(|value| !value.is_empty() && !value.contains(['*', '?', '{']));
        let good = values.len() > 1 && values.len() <= MOST && values.iter().all(plain);
        let left = values.iter().skip(1).rev().map(|word| word.value.clone()).collect();
        good.then(|| Self { name: name.to_owned(), left, body: None, begin: None })
    }
}

/// A loop over more lines is not followed.
const MOST_LINES: usize = 1_024;
/// A file that is longer is no list.
const LONGEST: usize = 64 * 1024;

impl Walk<'_> {
    /// The words of what a substitution writes, where that is the text of files.
    pub(super) fn words_of(&self, word: &Word) -> Option<Vec<Word>> {
        let command = word.output.as_ref().filter(|_| word.known().is_none() && !word.raw.contains('"'))?;
        let text = self.text_of(&Input::Pipe(Arc::clone(command)), 0)?;
        let one = |value: &str| {
            let value = Resolved::Known { value: value.to_owned(), origins: vec![word.span] };
            Word { value, raw: word.raw.clone(), span: word.span, output: None }
        };
        let words: Vec<Word> = text.split_whitespace().map(one).collect();
        (!words.is_empty() && words.len() <= MOST).then_some(words)
    }

    /// What is read, where files of the image that nothing changed in between have it.
    fn text_of(&self, input: &Input, depth: usize) -> Option<String> {
        let file = |word: &Word| (self.files.text)(&self.seen(word.known()?)?).filter(|text| text.len() <= LONGEST);
        match input {
            Input::Text(text) => Some(text.text().to_owned()),
            Input::File(word) => file(word).filter(|_| !self.is_written(word)),
            Input::Pipe(command) if depth < DEEPEST && !command.conditional => {
                let (first, rest) = command.words.split_first()?;
                let plain = |word: &&Word| word.known().is_some_and(|word| !word.starts_with('-'));
                let before = |files: &[Word]| match files {
                    [] => self.text_of(&command.input, depth + 1),
                    files => files.iter().map(|word| file(word).filter(|_| !self.is_written(word))).collect(),
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
            Input::Pipe(_) | Input::None | Input::Unknown => None,
        }
    }

    /// Whether a command so far may have written a file.
    fn is_written(&self, file: &Word) -> bool {
        let Some(path) = file.known().and_then(|path| self.seen(path)) else { return true };
        !(self.files.unchanged)(&path) || self.out.iter().filter_map(Trace::of).any(|trace| trace.may_change(&path))
    }

    /// Begins a loop over the lines that `while read` reads, where they are known and its body comes next.
    fn begin_reading(&mut self, text: &Mapped, tokens: &[Token], at: usize) {
        let Some(branch) = self.branches.last_mut().filter(|branch| branch.rounds.is_none() && branch.asking) else {
            return;
        };
        let is = |at: usize, word: &str| matches!(tokens.get(at), Some(Token::Word(range)) if text.get(range.clone()) == word);
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
        let mut redirects = Redirects::default();
        if let Some(Token::Redirect(range)) = tokens.get(end + 1).filter(|_| input == Input::None) {
            self.redirect(text, range.clone(), &mut redirects);
        } else {
            redirects.input = input;
        }
        let Some(read) = self.text_of(&redirects.input, 0) else { return };
        // A last line that no line break ends is read, and the loop ends all the same unless it asks for it.
        let from = (0..at).rev().find(|at| is(*at, "while")).unwrap_or(0);
        let whole = tokens.iter().take(at).skip(from).any(|token| *token == Token::Or);
        let read = if whole { read.as_str() } else { read.rsplit_once('\n').map_or("", |(read, _)| read) };
        let place = match tokens.get(at) {
            Some(Token::Word(range)) => text.span(range.clone()),
            _ => return,
        };
        // What begins with the mark of a comment names nothing, and a command that is given it fails.
        let lines = read.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let value = |line: &str| Resolved::Known { value: line.to_owned(), origins: vec![place] };
        let mut left: Vec<Resolved> = lines.map(value).collect();
        left.reverse();
        let Some(first) = left.pop().filter(|_| left.len() < MOST_LINES) else { return };
        self.assign(&name, first);
        self.arm(Chance::Yes);
        if let Some(branch) = self.branches.last_mut() {
            branch.rounds = Some(Rounds { name, left, body: None, begin: None });
            (branch.turns, branch.followed) = (None, true);
        }
    }
}

impl Walk<'_> {
    /// Notes where the commands of a loop begin that was just opened; one that is left early is read once.
    pub(super) fn begin_rounds(&mut self, text: &Mapped, tokens: &[Token], at: usize) {
        self.begin_reading(text, tokens, at);
        self.begin_turns(text, tokens, at);
        let level = self.level;
        let Some(rounds) = self.branches.last_mut().and_then(|branch| branch.rounds.as_mut()) else { return };
        if rounds.body.is_some() {
            return;
        }
        rounds.body = Some((level, at));
        if self.rounds + rounds.left.len() > MOST_IN_ALL || leaves_early(text, tokens, at) {
            let name = std::mem::take(&mut rounds.name);
            rounds.left.clear();
            if let Some(branch) = self.branches.last_mut() {
                branch.followed = false;
            }
            let reason = "a loop assigns several values".to_owned();
            self.assign(&name, Resolved::Unresolved { names: vec![name.clone()], reason });
        }
    }

    /// Goes back to the beginning of the loop at hand where a value is left.
    pub(super) fn another_round(&mut self) -> bool {
        let level = self.level;
        let Some(rounds) = self.branches.last_mut().and_then(|branch| branch.rounds.as_mut()) else { return false };
        let Some((_, at)) = rounds.body.filter(|(own, _)| *own == level) else { return false };
        let Some(value) = rounds.left.pop() else { return false };
        let (name, begin) = (rounds.name.clone(), rounds.begin);
        self.rounds += 1;
        self.jump = Some(at);
        self.begin_again(begin);
        self.assign(&name, value);
        true
    }
}

impl Walk<'_> {
    /// Notes where the condition of a loop begins that was just opened; one that a function or two loops may be left
    /// from is read once.
    fn begin_turns(&mut self, text: &Mapped, tokens: &[Token], at: usize) {
        let level = self.level;
        let Some(branch) = self.branches.last_mut().filter(|branch| branch.asking) else { return };
        let Some(turns) = branch.turns.as_mut().filter(|turns| turns.at.is_none()) else { return };
        let word = if turns.until { "until" } else { "while" };
        let is = |token: &Token| matches!(token, Token::Word(range) if text.get(range.clone()) == word);
        let Some(own) = tokens.iter().take(at).rposition(is) else { return };
        if leaves_early(text, tokens, own) {
            (branch.turns, branch.followed) = (None, false);
        } else {
            turns.at = Some((level, own + 1));
        }
    }

    /// Begins the commands of a loop behind its condition.
    pub(super) fn begin_turn(&mut self) {
        let status = self.list.status.chance();
        let Some(branch) = self.branches.last_mut() else { return };
        let until = branch.turns.as_ref().is_some_and(|turns| turns.until);
        let known = branch.turns.as_ref().is_some_and(|turns| turns.at.is_some());
        let holds = match (known, until) {
            (false, _) => Chance::Maybe,
            (true, true) => status.not(),
            (true, false) => status,
        };
        if let Some(turns) = &mut branch.turns {
            turns.going = holds == Chance::Yes;
        }
        branch.followed &= holds != Chance::Maybe;
        self.arm(holds);
    }

    /// Goes back to the condition of the loop at hand behind a round that was surely gone.
    pub(super) fn another_turn(&mut self) -> bool {
        let level = self.level;
        let may = self.rounds < MOST_IN_ALL;
        let Some(branch) = self.branches.last_mut() else { return false };
        let Some(turns) = branch.turns.as_mut().filter(|turns| turns.going) else { return false };
        let Some((_, at)) = turns.at.filter(|(own, _)| *own == level) else { return false };
        turns.going = false;
        if !may || turns.gone >= MOST_TURNS || !branch.followed || branch.now == Chance::Maybe {
            branch.followed = false;
            return false;
        }
        turns.gone += 1;
        self.rounds += 1;
        self.jump = Some(at);
        self.ask_again();
        true
    }

    /// Takes `break` and `continue`; says whether a command is one of them.
    pub(super) fn leaves(&mut self, words: &[Word]) -> bool {
        let ends = match words.first().and_then(Word::known) {
            Some("break") => true,
            Some("continue") => false,
            _ => return false,
        };
        let chance = self.chance();
        let Some(at) = self.branches.iter().rposition(|branch| branch.kind == Kind::Loop) else { return true };
        // A shell of its own cannot end the loop that it stands in.
        let own = |branch: &Branch| matches!(branch.kind, Kind::Subshell | Kind::Script | Kind::Called);
        let apart = self.branches.iter().skip(at).any(own) || self.part.is_any();
        let Some(branch) = self.branches.get_mut(at) else { return true };
        if apart || chance != Chance::Yes {
            branch.now = branch.now.and(Chance::Maybe);
            branch.followed = false;
            if let Some(rounds) = branch.rounds.as_mut().filter(|_| ends || apart) {
                rounds.begin = Some(Chance::Maybe);
            }
            return true;
        }
        branch.now = Chance::No;
        if ends {
            branch.rounds.iter_mut().for_each(|rounds| rounds.left.clear());
            branch.turns.iter_mut().for_each(|turns| turns.going = false);
        }
        true
    }
}

/// Whether more than a loop may be left with it, or its end is not in sight.
fn leaves_early(text: &Mapped, tokens: &[Token], at: usize) -> bool {
    let mut depth = 0_usize;
    for (next, token) in tokens.iter().enumerate().skip(at) {
        let Token::Word(range) = token else { continue };
        let behind = tokens.get(next + 1);
        match text.get(range.clone()) {
            "do" => depth += 1,
            "done" if depth <= 1 => return false,
            "done" => depth -= 1,
            "return" => return true,
            "break" | "continue" if matches!(behind, Some(Token::Word(_))) => return true,
            _ => {}
        }
    }
    true
}
