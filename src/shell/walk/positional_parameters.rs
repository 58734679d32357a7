//! Positional parameters `$1`, `$2`, …: the arguments of a script or function, or those that `set` assigns.

use std::sync::Arc;

use crate::dockerfile::ExpandedText;
use crate::model::cause::Cause;
use crate::shell::command::Word;
use crate::shell::scripts::is_shell;
use crate::shell::walk::command_status::Tristate;
use crate::shell::walk::state::{PositionalParameters, ShellWalker, is_number};
use crate::text::source::Span;

/// The maximum number of parameters that are passed to a script.
const MAX_SCRIPT_PARAMETERS: usize = 9;
/// The maximum number of known parameters.
const MAX_PARAMETERS: usize = 1024;

impl PositionalParameters {
    /// Returns exactly these parameters.
    pub(super) fn from_words(words: &[Word]) -> Self {
        Self { words: Some(Arc::new(words.to_vec())), open: false }
    }

    /// Returns parameters of which nothing is known.
    fn unknown() -> Self {
        Self { words: None, open: true }
    }

    /// Returns the parameters up to the first word that the shell may still split or remove; later ones are unknown.
    pub(super) fn from_unexpanded_words(words: &[Word]) -> Self {
        let is_one = |word: &&Word| match word.known() {
            Some(value) => word.raw.contains(['"', '\'']) || !value.contains(['*', '?', '[', '{']),
            None => {
                word.raw.len() > 1 && word.raw.starts_with('"') && word.raw.ends_with('"') && !word.raw.contains('@')
            }
        };
        let known: Vec<Word> = words.iter().take_while(is_one).take(MAX_PARAMETERS).cloned().collect();
        let open = known.len() < words.len();
        Self { words: Some(Arc::new(known)), open }
    }

    /// Returns the parameters that the arguments of `set` assign; `None` if it does not change them.
    fn from_set_command(words: &[Word]) -> Option<Self> {
        let mut rest = words;
        while let Some((first, behind)) = rest.split_first() {
            let Some(option) = first.known() else { return Some(Self::unknown()) };
            rest = match option {
                "-" if behind.is_empty() => return None,
                "-" | "--" => return Some(Self::from_unexpanded_words(behind)),
                // `-o` takes the name of an option.
                _ if option.starts_with(['-', '+']) => {
                    behind.get(usize::from(option.contains('o'))..).unwrap_or_default()
                }
                _ => return Some(Self::from_unexpanded_words(rest)),
            };
        }
        None
    }

    /// Returns all parameters, if all are known.
    pub(super) fn all_known(&self) -> Option<&[Word]> {
        self.words.as_ref().filter(|_| !self.open).map(|words| words.as_slice())
    }
}

impl ShellWalker<'_> {
    /// Sets the parameters of a script from variables named by numbers, if `0` is among them.
    pub(super) fn set_script_parameters(&mut self, variables: &[(String, ExpandedText)]) {
        let of = |name: &str| variables.iter().rfind(|(own, _)| own == name).map(|(_, value)| value);
        let word = |value: &ExpandedText| Word {
            value: value.clone(),
            raw: String::new(),
            span: Span::default(),
            output: None,
        };
        let arguments: Vec<Word> =
            (1..=MAX_SCRIPT_PARAMETERS).map_while(|number| of(&number.to_string())).map(word).collect();
        // Of so many, some may be missing.
        if of("0").is_some() && arguments.len() < MAX_SCRIPT_PARAMETERS {
            self.arguments = PositionalParameters::from_words(&arguments);
        }
    }

    /// Returns the value of a positional parameter, `$#`, `$@` or `$*`; `None` for other names.
    pub(super) fn positional_parameter(&self, name: &str) -> Option<ExpandedText> {
        let unknown = || Some(ExpandedText::unresolved(vec![name.to_owned()], Cause::ArgumentByControlFlow));
        let PositionalParameters { words, open } = &self.arguments;
        match name {
            "#" | "@" | "*" if *open => unknown(),
            "#" => words.as_ref().map(|words| ExpandedText::literal(words.len().to_string())),
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

    /// Whether all parameters are known and the first one is not an option.
    pub(super) fn has_no_options(&self) -> bool {
        let plain = |word: &Word| word.known().is_some_and(|word| !word.starts_with('-'));
        let none =
            !self.arguments.open && self.arguments.words.is_none() && self.called == 0 && self.substitutions == 0;
        none || self.arguments.all_known().is_some_and(|words| words.first().is_none_or(plain))
    }

    /// Whether a positional parameter is certainly not set.
    pub(super) fn is_parameter_unset(&self, name: &str) -> bool {
        let all = self.arguments.all_known();
        name != "0" && is_number(name) && all.is_some_and(|all| name.parse::<usize>().is_ok_and(|at| at > all.len()))
    }

    /// Applies `shift` and `set` to the parameters; returns whether the command is one of them.
    pub(super) fn apply_shift_or_set(&mut self, program: Option<&str>, words: &[Word]) -> bool {
        let sure = self.current_execution() == Tristate::Yes;
        match program {
            Some("shift") => {
                let number = words.first().map_or(Some(1), |number| number.known()?.parse::<usize>().ok());
                let PositionalParameters { words, open } = &mut self.arguments;
                match (words, number) {
                    (Some(own), Some(number)) if sure && own.len() >= number => {
                        drop(Arc::make_mut(own).drain(..number));
                    }
                    // With nothing left it changes nothing.
                    (Some(own), Some(_)) if sure && own.is_empty() && !*open => {}
                    (None, _) if !*open => {}
                    _ => self.arguments = PositionalParameters::unknown(),
                }
            }
            Some("set") => match PositionalParameters::from_set_command(words) {
                Some(arguments) if sure => self.arguments = arguments,
                Some(_) => self.arguments = PositionalParameters::unknown(),
                None => {}
            },
            _ => return false,
        }
        true
    }

    /// Sets the parameters of a child shell whose script is one of the words of a command.
    pub(super) fn begin_child_shell(&mut self, words: &[Word], at: usize) {
        let Some(script) = words.get(at).map(|word| word.raw.as_str()) else { return };
        let own = match words.first().and_then(Word::known) {
            Some(program) if is_shell(program) => {
                PositionalParameters::from_unexpanded_words(words.get(at + 2..).unwrap_or_default())
            }
            _ if words.len() == at + 1 => PositionalParameters::from_words(&[]),
            _ => PositionalParameters::unknown(),
        };
        let between = |mark: char| script.strip_prefix(mark).and_then(|script| script.strip_suffix(mark));
        self.arguments = match (between('\''), between('"')) {
            _ if !script.contains('$') => own,
            (Some(inside), _) if !inside.contains('\'') => own,
            // The outer shell puts its own in.
            (_, Some(inside)) if !inside.contains(['\\', '"']) => return,
            _ => PositionalParameters::unknown(),
        };
    }

    /// Sets the parameters of a shell that reads its script from a here-document.
    pub(super) fn begin_heredoc_shell(&mut self, words: &[Word], expands: bool) {
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
                PositionalParameters::from_unexpanded_words(rest.get(from..).unwrap_or_default())
            }
            rest if rest.iter().all(is_option) => PositionalParameters::from_words(&[]),
            _ => PositionalParameters::unknown(),
        };
    }

    /// Sets the parameters of a script in exec form to the words behind it.
    pub(super) fn begin_exec_script(&mut self, words: &[Word], at: usize) {
        self.arguments = PositionalParameters::from_unexpanded_words(words.get(at + 2..).unwrap_or_default());
    }

    /// Sets the parameters of a sourced file, if the command passes any.
    pub(super) fn begin_sourced_file(&mut self, rest: &[Word]) {
        if !rest.is_empty() {
            self.arguments = PositionalParameters::from_unexpanded_words(rest);
        }
    }

    /// Adopts the parameters at the end of a sourced file that had none of its own.
    pub(super) fn end_sourced_file(&mut self, left: PositionalParameters) {
        if left != self.arguments {
            self.arguments =
                if self.current_execution() == Tristate::Yes { left } else { PositionalParameters::unknown() };
        }
    }

    /// Returns the variables of a command; equal to those of the previous command, they are shared.
    pub(super) fn shared_variables(&mut self, first: Option<&Word>) -> Arc<Vec<(String, ExpandedText)>> {
        let mut variables: Vec<(String, ExpandedText)> = self.variables.clone().into_iter().collect();
        if first.is_some_and(|first| matches!(first.known(), Some("." | "source"))) {
            self.add_numbered_parameters(&mut variables);
        }
        if *self.handed != variables {
            self.handed = Arc::new(variables);
        }
        Arc::clone(&self.handed)
    }

    /// Adds the parameters to the variables under their numbers, replacing older ones.
    fn add_numbered_parameters(&self, variables: &mut Vec<(String, ExpandedText)>) {
        let PositionalParameters { words, open } = &self.arguments;
        if words.is_none() && !open {
            return;
        }
        variables.retain(|(name, _)| name == "0" || !is_number(name));
        let known = words.as_ref().map_or(0, |words| words.len());
        let last = if *open { MAX_SCRIPT_PARAMETERS } else { known.min(MAX_SCRIPT_PARAMETERS) };
        let one = |number: usize| {
            let name = number.to_string();
            self.positional_parameter(&name).map(|value| (name, value))
        };
        variables.extend((1..=last).filter_map(one));
    }
}
