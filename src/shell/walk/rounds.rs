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
use crate::shell::walk::chance::Chance;
use crate::shell::walk::redirects::Redirects;

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

/// A loop over more lines is not followed.
const MOST_LINES: usize = 128;
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
            branch.rounds = Some(Rounds { name, left, body: None });
        }
    }
}

impl Walk<'_> {
    /// Notes where the commands of a loop begin that was just opened; one that is left early is read once.
    pub(super) fn begin_rounds(&mut self, text: &Mapped, tokens: &[Token], at: usize) {
        self.begin_reading(text, tokens, at);
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
