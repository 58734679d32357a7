//! Ways through a script: which are taken, which are not, and the variables that they set.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Command;
use crate::shell::Input;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::walk::MOST_COMMANDS;
use crate::shell::walk::MOST_VARIABLES;
use crate::shell::walk::Walk;
use crate::shell::walk::arguments::Arguments;
use crate::shell::walk::chance::Chance;
use crate::shell::walk::chance::Status;
use crate::shell::walk::ends::Goes;
use crate::shell::walk::lists::List;
use crate::shell::walk::redirects::Redirects;
use crate::shell::walk::rounds::Rounds;
use crate::shell::walk::rounds::Turns;
use crate::source::Span;

/// Words behind which a command begins.
pub(super) const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"];

/// What kind of brackets hold a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `if`.
    If,
    /// `for`, `while`, `until`.
    Loop,
    /// `case`, with the text that it looks at.
    Case(Option<String>),
    /// `{ }`.
    Braces,
    /// `( )`.
    Subshell,
    /// A script of its own, such as that of `sh -c`.
    Script,
    /// A function.
    Called,
}

/// What stands between two keywords.
pub(super) struct Branch {
    pub(super) kind: Kind,
    /// Whether the commands at hand run, as far as this branch decides.
    pub(super) now: Chance,
    /// Whether the condition is being read, or in `case` a pattern.
    pub(super) asking: bool,
    /// Whether an arm in front of the one at hand was taken.
    taken: Chance,
    /// The variables before it began.
    before: BTreeMap<String, Resolved>,
    /// The arguments and the arrays before it began.
    arguments: Arguments,
    arrays: BTreeMap<String, Option<Vec<Word>>>,
    /// Whether it is a part of a pipe and has a shell of its own.
    part: bool,
    /// The variables after the arm that is surely taken.
    after: Option<BTreeMap<String, Resolved>>,
    /// What was set in arms that run or may run.
    set: Vec<String>,
    /// The list that the branch stands in.
    list: List,
    /// Whether it was reached.
    goes: Goes,
    /// The rounds that a loop has still to go.
    pub(super) rounds: Option<Rounds>,
    /// How a loop with a condition is gone through.
    pub(super) turns: Option<Turns>,
    /// Whether a loop is gone through round by round, as the shell would.
    pub(super) followed: bool,
    /// The variable that `while read` gives each line to, and what it reads in front of what stands behind `done`.
    pub(super) reading: Option<(String, Input)>,
}

impl Walk<'_> {
    /// Whether the commands at hand run.
    pub(super) fn chance(&self) -> Chance {
        self.branches.iter().fold(self.list.gate.and(self.goes.on()), |chance, branch| chance.and(branch.now))
    }

    /// Whether the commands at hand are the condition of a branch.
    pub(super) fn asking(&self) -> bool {
        self.branches.last().is_some_and(|branch| branch.asking)
    }

    pub(super) fn assign(&mut self, name: &str, value: Resolved) {
        if let Some(branch) = self.branches.last_mut()
            && branch.set.len() < MOST_VARIABLES
            && !branch.set.iter().any(|own| own == name)
        {
            branch.set.push(name.to_owned());
        }
        if self.variables.len() < MOST_VARIABLES || self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value);
        } else {
            // What one of so many holds is not kept.
            self.sourced = true;
        }
    }

    /// The commands that were read; the last one says where more stand behind it than are followed.
    pub(super) fn ended(mut self) -> Vec<Command> {
        if self.over || self.out.len() >= MOST_COMMANDS {
            if self.out.is_empty() {
                self.over = false;
                self.branches.clear();
                let word =
                    Word { value: Resolved::literal(":"), raw: ":".to_owned(), span: Span::default(), output: None };
                self.emit(vec![word], None, Redirects::default());
            }
            if let Some(last) = self.out.last_mut() {
                last.cut = true;
            }
        }
        self.out
    }

    fn assign_unknown(&mut self, name: &str) {
        let reason = "its value depends on the control flow of the script".to_owned();
        self.assign(name, Resolved::Unresolved { names: vec![name.to_owned()], reason });
    }

    /// An assignment as a command of its own.
    pub(super) fn set(&mut self, name: &str, value: Resolved) {
        match self.list.gate {
            Chance::Yes => self.assign(name, value),
            Chance::Maybe => self.assign_unknown(name),
            Chance::No => {}
        }
    }

    /// Takes a keyword of the shell; says whether the rest of the words is a command.
    pub(super) fn keyword(&mut self, word: &str) -> Option<bool> {
        match word {
            "if" => self.open(Kind::If),
            "while" | "until" => {
                self.open(Kind::Loop);
                if let Some(branch) = self.branches.last_mut() {
                    branch.turns = Some(Turns::new(word == "until"));
                    branch.followed = true;
                }
            }
            "{" => self.open(Kind::Braces),
            "then" => self.arm(self.list.status.chance()),
            "do" if self.asking() => self.begin_turn(),
            "do" => self.list = List::default(),
            "else" => {
                self.next_arm();
                self.arm(Chance::Yes);
            }
            "elif" => self.next_arm(),
            "done" if self.another_round() => {}
            "done" if self.another_turn() => {}
            "fi" | "done" | "esac" => {
                self.close(&|kind| matches!(kind, Kind::If | Kind::Loop | Kind::Case(_)));
            }
            "}" => self.close(&|kind| *kind == Kind::Braces),
            "!" => self.list.negated = !self.list.negated,
            "time" => {}
            _ => return None,
        }
        Some(true)
    }

    /// Begins a branch.
    pub(super) fn open(&mut self, kind: Kind) {
        self.opened += 1;
        if self.branches.len() >= MOST_VARIABLES || self.opened > MOST_COMMANDS {
            // Nobody writes so many; what comes after is not read.
            self.over = true;
            return;
        }
        let asking = matches!(kind, Kind::If | Kind::Loop | Kind::Case(_));
        let list = std::mem::take(&mut self.list);
        let (before, now) = (self.variables.clone(), list.gate);
        let (after, set) = (None, Vec::new());
        let (taken, rounds, reading, turns, followed) = (Chance::No, None, None, None, false);
        let (arguments, part, goes) = (self.arguments.clone(), std::mem::take(&mut self.part.behind), self.goes);
        let arrays = self.arrays.clone();
        self.branches.push(Branch {
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
    pub(super) fn arm(&mut self, condition: Chance) {
        self.list = List::default();
        let Some(branch) = self.branches.last_mut() else { return };
        if !matches!(branch.kind, Kind::If | Kind::Loop | Kind::Case(_)) {
            return;
        }
        branch.asking = false;
        let runs = branch.taken.not().and(condition);
        branch.now = branch.list.gate.and(runs);
        branch.taken = branch.taken.or(condition);
    }

    /// Ends the commands of an arm; another condition follows.
    pub(super) fn next_arm(&mut self) {
        self.list = List::default();
        let Some(branch) = self.branches.last_mut() else { return };
        if !matches!(branch.kind, Kind::If | Kind::Case(_)) {
            return;
        }
        let variables = std::mem::replace(&mut self.variables, branch.before.clone());
        if !branch.asking && branch.now == Chance::Yes {
            branch.after = Some(variables);
        }
        branch.asking = true;
        branch.now = branch.list.gate.and(branch.taken.not());
    }

    /// Ends the branch at hand, where it is one of those that the word ends.
    pub(super) fn close(&mut self, ends: &dyn Fn(&Kind) -> bool) {
        let inner = self.list.status;
        let Some(branch) = self.branches.pop_if(|branch| ends(&branch.kind)) else { return };
        let Branch { kind, now, asking, before, arguments, arrays, part, after, set, list, goes, followed, .. } =
            branch;
        // What rounds that were all gone through leave is known.
        let whole = kind == Kind::Loop && followed && !asking && now != Chance::Maybe && list.gate == Chance::Yes;
        let sure = if asking || now != Chance::Yes { None } else { Some(self.variables.clone()) };
        self.list = list;
        let apart = part || self.part.ahead;
        self.goes = goes.behind(self.goes, &kind, apart);
        let status = match kind {
            Kind::Braces | Kind::Subshell | Kind::Script | Kind::Called => inner,
            Kind::If | Kind::Loop | Kind::Case(_) => Status::Fine,
        };
        self.list.settle(status, self.asking());
        match (after.or(sure), kind) {
            (_, kind) if kind == Kind::Subshell || apart => {
                (self.variables, self.arguments, self.arrays) = (before, arguments, arrays);
            }
            (_, Kind::Loop) if whole => self.hand_out(set),
            (Some(after), Kind::If | Kind::Case(_) | Kind::Braces | Kind::Script | Kind::Called) => {
                self.variables = after;
                self.hand_out(set);
            }
            _ => {
                self.variables = before;
                for name in set {
                    self.assign_unknown(&name);
                }
            }
        }
    }

    /// What was set in a branch counts for the one around it.
    fn hand_out(&mut self, set: Vec<String>) {
        if let Some(outer) = self.branches.last_mut() {
            outer.set.extend(set);
            outer.set.truncate(MOST_VARIABLES);
        }
    }

    /// Begins the commands of a loop once more; they may not run where a round before may have ended it.
    pub(super) fn begin_again(&mut self, chance: Option<Chance>) {
        if let Some(branch) = self.branches.last_mut() {
            branch.now = branch.list.gate.and(chance.unwrap_or(Chance::Yes));
        }
    }

    /// Begins the condition of a loop once more.
    pub(super) fn ask_again(&mut self) {
        if let Some(branch) = self.branches.last_mut() {
            (branch.asking, branch.taken, branch.now) = (true, Chance::No, branch.list.gate);
        }
    }

    /// Whether a pattern of `case` is to be read.
    pub(super) fn in_pattern(&self) -> bool {
        self.branches.last().is_some_and(|branch| branch.asking && matches!(branch.kind, Kind::Case(_)))
    }

    /// Takes a token where a pattern of `case` stands.
    pub(super) fn pattern(&mut self, text: &Mapped, token: &Token, words: &mut Vec<Range<usize>>) {
        match token {
            Token::Word(range) if words.is_empty() && text.get(range.clone()) == "esac" => {
                let _ended = self.keyword("esac");
            }
            Token::Word(range) => words.push(range.clone()),
            Token::Close => {
                let subject = match self.branches.last().map(|branch| &branch.kind) {
                    Some(Kind::Case(subject)) => subject.clone(),
                    _ => None,
                };
                let patterns: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
                let condition = self.arm_matches(subject.as_deref(), &patterns);
                self.arm(condition);
                words.clear();
            }
            _ => {}
        }
    }

    /// Begins `case`, where the words say so.
    pub(super) fn case(&mut self, text: &Mapped, words: &mut Vec<Range<usize>>, depth: usize) {
        let [before @ .., case, subject, end] = words.as_slice() else { return };
        let keyword = |range: &Range<usize>| KEYWORDS.contains(&text.get(range.clone()));
        if text.get(end.clone()) != "in" || text.get(case.clone()) != "case" || !before.iter().all(keyword) {
            return;
        }
        let subject = self.certain(text.get(subject.clone()));
        let before = before.to_vec();
        let behind = self.pipe.0 != Input::None;
        self.piped(text, &before, Redirects::default(), depth, false);
        self.part.behind = behind;
        self.open(Kind::Case(subject));
        words.clear();
    }

    pub(super) fn loop_variable(&mut self, text: &Mapped, words: &[Range<usize>]) {
        let Some(name) = words.first().map(|range| text.get(range.clone()).to_owned()) else { return };
        let values = words.iter().skip(2).flat_map(|range| self.word(text, range.clone()));
        let values = values.flat_map(|word| self.words_of(&word).unwrap_or_else(|| vec![word]));
        let values: Vec<Word> = values.flat_map(|word| self.spread_out(&word).unwrap_or_else(|| vec![word])).collect();
        let rounds = Rounds::new(&name, &values);
        let value = match values.as_slice() {
            [only] => only.value.clone(),
            [first, ..] if rounds.is_some() => first.value.clone(),
            _ => Resolved::Unresolved { names: vec![name.clone()], reason: "a loop assigns several values".to_owned() },
        };
        // A value that is known is there, and the loop goes round once at least.
        let round = values.iter().any(|word| word.known().is_some_and(|value| !value.is_empty()));
        self.assign(&name, value);
        if round {
            self.arm(Chance::Yes);
        }
        let whole = rounds.is_some() || (round && values.len() == 1);
        if let Some(branch) = self.branches.last_mut() {
            branch.followed = whole;
            branch.rounds = rounds;
        }
    }
}
