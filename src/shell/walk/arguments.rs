//! What `$1` and those behind it stand for: the arguments of a script, of a function, or those that `set` gives.

use std::sync::Arc;

use crate::dockerfile::Resolved;
use crate::shell::Word;
use crate::shell::nested::is_shell;
use crate::shell::walk::Walk;
use crate::shell::walk::chance::Chance;
use crate::shell::walk::is_number;
use crate::source::Span;

/// Arguments of a script beyond these are not told.
const MOST_OF_SCRIPT: usize = 9;
/// No more arguments are known of one list.
const MOST: usize = 1024;
/// Why an argument is not known.
const REASON: &str = "the argument depends on the control flow of the script";

/// The arguments at hand.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Arguments {
    /// Those that are known, from the first one on.
    words: Option<Arc<Vec<Word>>>,
    /// Whether others that are not known may follow.
    open: bool,
}

impl Arguments {
    pub(super) fn of(words: &[Word]) -> Self {
        Self { words: Some(Arc::new(words.to_vec())), open: false }
    }

    fn unknown() -> Self {
        Self { words: None, open: true }
    }

    /// What words become that the shell may still split or leave out: behind the first such one nothing is known.
    pub(super) fn split(words: &[Word]) -> Self {
        let is_one = |word: &&Word| match word.known() {
            Some(value) => word.raw.contains(['"', '\'']) || !value.contains(['*', '?', '[', '{']),
            None => {
                word.raw.len() > 1 && word.raw.starts_with('"') && word.raw.ends_with('"') && !word.raw.contains('@')
            }
        };
        let known: Vec<Word> = words.iter().take_while(is_one).take(MOST).cloned().collect();
        let open = known.len() < words.len();
        Self { words: Some(Arc::new(known)), open }
    }

    /// What the words behind `set` make of them; `None` where they stay.
    fn of_set(words: &[Word]) -> Option<Self> {
        let mut rest = words;
        while let Some((first, behind)) = rest.split_first() {
            let Some(option) = first.known() else { return Some(Self::unknown()) };
            rest = match option {
                "-" if behind.is_empty() => return None,
                "-" | "--" => return Some(Self::split(behind)),
                // `-o` takes the name of an option.
                _ if option.starts_with(['-', '+']) => {
                    behind.get(usize::from(option.contains('o'))..).unwrap_or_default()
                }
                _ => return Some(Self::split(rest)),
            };
        }
        None
    }

    /// All of them, where that is known.
    pub(super) fn all(&self) -> Option<&[Word]> {
        self.words.as_ref().filter(|_| !self.open).map(|words| words.as_slice())
    }
}

impl Walk<'_> {
    /// Takes the arguments of a script from variables named by their numbers, where it is told by which name it is called.
    pub(super) fn called_with(&mut self, variables: &[(String, Resolved)]) {
        let of = |name: &str| variables.iter().rfind(|(own, _)| own == name).map(|(_, value)| value);
        let word =
            |value: &Resolved| Word { value: value.clone(), raw: String::new(), span: Span::default(), output: None };
        let arguments: Vec<Word> = (1..=MOST_OF_SCRIPT).map_while(|number| of(&number.to_string())).map(word).collect();
        // Of so many, some may be missing.
        if of("0").is_some() && arguments.len() < MOST_OF_SCRIPT {
            self.arguments = Arguments::of(&arguments);
        }
    }

    /// What an argument of the function or script at hand is; `None` outside of one, and for other names.
    pub(super) fn argument(&self, name: &str) -> Option<Resolved> {
        let unknown = || Some(Resolved::Unresolved { names: vec![name.to_owned()], reason: REASON.to_owned() });
        let Arguments { words, open } = &self.arguments;
        match name {
            "#" | "@" | "*" if *open => unknown(),
            "#" => words.as_ref().map(|words| Resolved::literal(words.len().to_string())),
            _ => {
                let at = name.parse::<usize>().ok()?.checked_sub(1)?;
                match words.as_ref().and_then(|words| words.get(at)) {
                    Some(word) => Some(word.value.clone()),
                    None if *open => unknown(),
                    None => None,
                }
            }
        }
    }

    /// Whether the arguments are known, and the first one is no option.
    pub(super) fn has_no_options(&self) -> bool {
        let plain = |word: &Word| word.known().is_some_and(|word| !word.starts_with('-'));
        let none =
            !self.arguments.open && self.arguments.words.is_none() && self.called == 0 && self.substitutions == 0;
        none || self.arguments.all().is_some_and(|words| words.first().is_none_or(plain))
    }

    /// Whether there surely is no argument of a number.
    pub(super) fn lacks(&self, name: &str) -> bool {
        let all = self.arguments.all();
        name != "0" && is_number(name) && all.is_some_and(|all| name.parse::<usize>().is_ok_and(|at| at > all.len()))
    }

    /// Takes `shift` and `set`; says whether a command is one of them.
    pub(super) fn moves_arguments(&mut self, program: Option<&str>, words: &[Word]) -> bool {
        let sure = self.chance() == Chance::Yes;
        match program {
            Some("shift") => {
                let number = words.first().map_or(Some(1), |number| number.known()?.parse::<usize>().ok());
                let Arguments { words, open } = &mut self.arguments;
                match (words, number) {
                    (Some(own), Some(number)) if sure && own.len() >= number => {
                        drop(Arc::make_mut(own).drain(..number));
                    }
                    // With nothing left it changes nothing.
                    (Some(own), Some(_)) if sure && own.is_empty() && !*open => {}
                    (None, _) if !*open => {}
                    _ => self.arguments = Arguments::unknown(),
                }
            }
            Some("set") => match Arguments::of_set(words) {
                Some(arguments) if sure => self.arguments = arguments,
                Some(_) => self.arguments = Arguments::unknown(),
                None => {}
            },
            _ => return false,
        }
        true
    }

    /// Begins a shell of its own whose script is one of the words of a command: it has arguments of its own.
    pub(super) fn begin_child(&mut self, words: &[Word], at: usize) {
        let Some(script) = words.get(at).map(|word| word.raw.as_str()) else { return };
        let own = match words.first().and_then(Word::known) {
            Some(program) if is_shell(program) => Arguments::split(words.get(at + 2..).unwrap_or_default()),
            _ if words.len() == at + 1 => Arguments::of(&[]),
            _ => Arguments::unknown(),
        };
        let between = |mark: char| script.strip_prefix(mark).and_then(|script| script.strip_suffix(mark));
        self.arguments = match (between('\''), between('"')) {
            _ if !script.contains('$') => own,
            (Some(inside), _) if !inside.contains('\'') => own,
            // The outer shell puts its own in.
            (_, Some(inside)) if !inside.contains(['\\', '"']) => return,
            _ => Arguments::unknown(),
        };
    }

    /// Begins a shell that reads its script from a here-document.
    pub(super) fn begin_reader(&mut self, words: &[Word], expands: bool) {
        let own = match words.split_first() {
            // It is the RUN itself.
            None => return,
            Some(_) if expands => return,
            Some((_, rest)) => rest,
        };
        let is_option = |word: &Word| word.known().is_some_and(|word| word.starts_with('-'));
        self.arguments = match own {
            [mark, rest @ ..] if mark.known() == Some("-s") => {
                let from = usize::from(rest.first().and_then(Word::known) == Some("--"));
                Arguments::split(rest.get(from..).unwrap_or_default())
            }
            rest if rest.iter().all(is_option) => Arguments::of(&[]),
            _ => Arguments::unknown(),
        };
    }

    /// Begins a script whose arguments are the words of a command behind its name.
    pub(super) fn begin_exec(&mut self, words: &[Word], at: usize) {
        self.arguments = Arguments::split(words.get(at + 2..).unwrap_or_default());
    }

    /// Begins what `.` reads in.
    pub(super) fn begin_read_in(&mut self, rest: &[Word]) {
        if !rest.is_empty() {
            self.arguments = Arguments::split(rest);
        }
    }

    /// Takes over the arguments that a file left which was read in without any of its own.
    pub(super) fn end_read_in(&mut self, left: Arguments) {
        if left != self.arguments {
            self.arguments = if self.chance() == Chance::Yes { left } else { Arguments::unknown() };
        }
    }

    /// The variables for a command that begins with a word: those of the command before, where they are the same.
    pub(super) fn variables_of(&mut self, first: Option<&Word>) -> Arc<Vec<(String, Resolved)>> {
        let mut variables: Vec<(String, Resolved)> = self.variables.clone().into_iter().collect();
        if first.is_some_and(|first| matches!(first.known(), Some("." | "source"))) {
            self.number_arguments(&mut variables);
        }
        if *self.handed != variables {
            self.handed = Arc::new(variables);
        }
        Arc::clone(&self.handed)
    }

    /// The arguments as variables named by their numbers, in place of older ones.
    fn number_arguments(&self, variables: &mut Vec<(String, Resolved)>) {
        let Arguments { words, open } = &self.arguments;
        if words.is_none() && !open {
            return;
        }
        variables.retain(|(name, _)| name == "0" || !is_number(name));
        let known = words.as_ref().map_or(0, |words| words.len());
        let last = if *open { MOST_OF_SCRIPT } else { known.min(MOST_OF_SCRIPT) };
        let one = |number: usize| {
            let name = number.to_string();
            self.argument(&name).map(|value| (name, value))
        };
        variables.extend((1..=last).filter_map(one));
    }
}
