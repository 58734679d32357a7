//! Shell functions and their calls, positional parameters, arrays, `read`, `eval`, sourced files and child shells, and
//! `exit` and `return`.

use std::ops::Range;
use std::sync::Arc;

use crate::build::{StandardInput, Word, is_shell};
use crate::dockerfile::{ExpandedText, MappedText};
use crate::model::cause::Cause;
use crate::shell::lexer::ShellToken;
use crate::shell::scripts::unquote;
use crate::shell::walk::command_status::Tristate;
use crate::shell::walk::script_paths::is_folder_variable;
use crate::shell::walk::state::{
    FunctionBody, MAX_DEPTH, MAX_VARIABLES, PositionalParameters, Reachability, ShellBlockKind, ShellWalker, is_number,
};
use crate::text::source::Span;

/// The maximum number of function calls that are followed.
const MAX_CALLS: usize = 256;

/// The maximum length of a function of another file.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// The maximum number of elements of a known array.
const MAX_ARRAY_ELEMENTS: usize = 1024;
/// Words that may precede the assignment of an array.
const DECLARATION_PREFIXES: &[&str] = &["local", "declare", "typeset", "readonly", "export", "-a", "-r"];

impl FunctionBody {
    /// Returns the function for the script that sources its file; `None` if the body is too long.
    pub(super) fn into_sourced(self) -> Option<Self> {
        let text = match self {
            Self::Here(text) => Arc::from(text.text()),
            Self::Elsewhere(text) => text,
        };
        (text.len() <= MAX_BODY_BYTES).then_some(Self::Elsewhere(text))
    }
}

/// Returns a text whose characters are all mapped to one offset of the source.
pub(super) fn map_to_offset(text: &str, place: usize) -> MappedText {
    let mut mapped = MappedText::default();
    for c in text.chars() {
        let c = if c.is_ascii() { c } else { '?' };
        mapped.push(c.encode_utf8(&mut [0; 4]), place);
    }
    mapped
}

/// The maximum number of parameters that are passed to a script.
const MAX_SCRIPT_PARAMETERS: usize = 9;
/// The maximum number of known parameters.
const MAX_PARAMETERS: usize = 1024;

impl ShellWalker<'_> {
    /// Reads a function or array definition at an opening bracket or brace; returns the index of the token behind it.
    pub(super) fn read_definition(
        &mut self,
        text: &MappedText,
        words: &mut Vec<Range<usize>>,
        tokens: &[ShellToken],
        at: usize,
    ) -> Option<usize> {
        let last = words.last().cloned()?;
        let word = text.get(last.clone());
        if word.ends_with('=') && text.text().as_bytes().get(last.end) == Some(&b'(') {
            words.pop();
            // Behind `then` or `else` it is not yet known which branch runs.
            let is_plain = words.iter().all(|range| DECLARATION_PREFIXES.contains(&text.get(range.clone())));
            return Some(self.read_array(text, word, tokens, at, is_plain));
        }
        let plain = |token: &ShellToken| matches!(token, ShellToken::Close | ShellToken::Separator);
        let named: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
        let (name, from) = match named.as_slice() {
            ["function", name, "{"] => (*name, at - 1),
            ["function", name] | [name] if tokens.get(at) == Some(&ShellToken::Close) => {
                (*name, at + tokens.iter().skip(at).take_while(|token| plain(token)).count())
            }
            _ => return None,
        };
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let (body, behind) = find_function_body(text, tokens, from).filter(|_| name.chars().all(good))?;
        if self.functions.len() < MAX_VARIABLES {
            self.functions.insert(name.to_owned(), FunctionBody::Here(text.slice(body)));
        }
        words.clear();
        Some(behind)
    }

    /// Reads the elements of an array up to its closing bracket.
    fn read_array(&mut self, text: &MappedText, word: &str, tokens: &[ShellToken], at: usize, is_plain: bool) -> usize {
        let inside = tokens.get(at..).unwrap_or_default();
        let length = inside.iter().position(|token| *token == ShellToken::Close).unwrap_or(inside.len());
        let mut elements = Some(Vec::new());
        for token in inside.iter().take(length) {
            match (token, &mut elements) {
                (ShellToken::Word(range), Some(list)) => {
                    list.extend(self.expand_word(text, range.clone()));
                    if list.len() > MAX_ARRAY_ELEMENTS {
                        elements = None;
                    }
                }
                (ShellToken::Separator, _) => {}
                _ => elements = None,
            }
        }
        let name = word.trim_end_matches(['=', '+']);
        let before = if word.ends_with("+=") { self.arrays.get(name).cloned() } else { Some(Some(Vec::new())) };
        let whole = before.flatten().zip(elements.filter(|_| is_plain && self.commands_run() == Tristate::Yes));
        let whole = whole.map(|(before, new)| before.into_iter().chain(new).collect::<Vec<Word>>());
        let whole = whole.filter(|whole| whole.len() <= MAX_ARRAY_ELEMENTS);
        if self.arrays.len() < MAX_VARIABLES {
            self.arrays.insert(name.to_owned(), whole);
        }
        (at + length + 1).min(tokens.len())
    }

    /// Returns the words that `"$@"` or `"${NAME[@]}"` expands to; `None` for any other word.
    pub(super) fn expand_list(&self, raw: &str, span: Span) -> Option<Vec<Word>> {
        let plain = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
        if matches!(plain, "$@" | "${@}" | "$*" | "${*}") {
            let own = |word: &Word| if word.raw.is_empty() { Word { span, ..word.clone() } } else { word.clone() };
            return self.arguments.all_known().map(|words| words.iter().map(own).collect());
        }
        let name = plain.strip_prefix("${")?;
        let name = name.strip_suffix("[@]}").or_else(|| name.strip_suffix("[*]}"))?;
        self.arrays.get(name)?.clone()
    }

    /// Assigns the variables of `read`: the words of a known line, or else unknown values.
    pub(super) fn apply_read(&mut self, words: &[Word], own: &[(String, ExpandedText)], input: &StandardInput) {
        let (mut names, mut array, mut plain) = (Vec::new(), false, own.is_empty() && self.list.gate == Tristate::Yes);
        for word in words.iter().skip(1) {
            match word.known() {
                Some("-r") => {}
                Some("-a" | "-ra" | "-ar") => array = true,
                Some(option) if option.starts_with('-') => plain = false,
                Some(name) => names.push(name),
                None => plain = false,
            }
        }
        let loops =
            self.is_in_condition() && self.branches.last().is_some_and(|branch| branch.kind == ShellBlockKind::Loop);
        let whole_lines = own.iter().all(|(name, value)| name == "IFS" && value.known_text() == Some(""));
        if let [name] = names.as_slice()
            && loops
            && whole_lines
            && !array
            && self.list.is_first()
        {
            let input = if *input == StandardInput::None { self.pipe.0.clone() } else { input.clone() };
            let reading = Some(((*name).to_owned(), input));
            self.branches.last_mut().into_iter().for_each(|branch| branch.reading.clone_from(&reading));
        }
        let line = match input {
            StandardInput::Text(text) if plain && !self.is_in_condition() => {
                text.text().lines().next().map(|line| (line, text.source_offset(0)))
            }
            _ => None,
        };
        let line = line.filter(|(line, _)| !line.contains('\\'));
        let unknown = |name: &str| ExpandedText::unresolved(vec![name.to_owned()], Cause::ReadAtRunTime);
        let Some((line, place)) = line else {
            for name in names {
                self.arrays.remove(name);
                self.assign_variable(name, unknown(name));
            }
            return;
        };
        let span = Span::new(place, place + 1);
        let value = |text: &str| ExpandedText::Known { value: text.to_owned(), origins: vec![span] };
        if let Some(name) = names.first().filter(|_| array) {
            let word = |text: &str| Word { value: value(text), raw: text.to_owned(), span, output: None };
            let elements: Vec<Word> = line.split_whitespace().map(word).collect();
            self.assign_variable(name, elements.first().map_or_else(|| value(""), |first| first.value.clone()));
            if elements.len() <= MAX_ARRAY_ELEMENTS && self.arrays.len() < MAX_VARIABLES {
                self.arrays.insert((*name).to_owned(), Some(elements));
            }
            return;
        }
        // The last variable has all that is left of the line.
        let mut rest = line.trim();
        for (at, name) in names.iter().enumerate() {
            let end = if at + 1 == names.len() { None } else { rest.find(char::is_whitespace) };
            let (one, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.assign_variable(name, value(one));
            rest = after.trim_start();
        }
    }

    /// Walks the script of `eval`, if it is literal; returns whether it did.
    pub(super) fn run_eval(
        &mut self,
        text: &MappedText,
        ranges: &[Range<usize>],
        words: &[Word],
        depth: usize,
    ) -> bool {
        let Some((first, given)) = ranges.split_first().filter(|_| depth < MAX_DEPTH) else { return false };
        let is_literal = words.iter().all(|word| word.known().is_some());
        let plain = |range: &Range<usize>| !text.get(range.clone()).contains(['`', '(']);
        if text.get(first.clone()) != "eval" || given.is_empty() || !is_literal || !given.iter().all(plain) {
            return false;
        }
        let mut script = MappedText::default();
        for range in given {
            script.push(" ", text.source_offset(range.start));
            script.append(&unquote(text, range.clone()));
        }
        self.walk_nested_script(&script, depth + 1, &ShellBlockKind::Called);
        true
    }

    /// Walks the body of the function that a command calls; returns whether it did.
    pub(super) fn run_function(&mut self, words: &[Word], depth: usize) -> bool {
        let Some((first, arguments)) = words.split_first() else { return false };
        if self.apply_shift_or_set(first.known(), arguments) {
            return false;
        }
        let body = first.known().and_then(|name| self.functions.get(name)).cloned();
        let Some(body) = body.filter(|_| depth < MAX_DEPTH && self.called < MAX_CALLS) else { return false };
        self.called += 1;
        let body = match body {
            FunctionBody::Here(text) => text,
            FunctionBody::Elsewhere(text) => map_to_offset(&text, first.span.start),
        };
        let outer = std::mem::replace(&mut self.arguments, PositionalParameters::from_unexpanded_words(arguments));
        self.walk_nested_script(&body, depth + 1, &ShellBlockKind::Called);
        self.arguments = outer;
        true
    }

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
        let sure = self.commands_run() == Tristate::Yes;
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
            Some("set") => {
                self.options.apply(words.iter().map_while(Word::known));
                match PositionalParameters::from_set_command(words) {
                    Some(arguments) if sure => self.arguments = arguments,
                    Some(_) => self.arguments = PositionalParameters::unknown(),
                    None => {}
                }
            }
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
            self.arguments = if self.commands_run() == Tristate::Yes { left } else { PositionalParameters::unknown() };
        }
    }

    /// Returns the variables of a command; equal to those of the previous command, they are shared.
    pub(super) fn shared_variables(&mut self, first: Option<&Word>) -> Arc<Vec<(String, ExpandedText)>> {
        let mut variables: Vec<(String, ExpandedText)> =
            self.variables.clone().into_iter().filter(|(name, _)| !is_folder_variable(name)).collect();
        if first.is_some_and(|first| matches!(first.known(), Some("." | "source"))) {
            self.add_numbered_parameters(&mut variables);
        }
        if *self.last_variables != variables {
            self.last_variables = Arc::new(variables);
        }
        Arc::clone(&self.last_variables)
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

    /// Returns the reachability behind a command, which may be `exit` or `return`.
    pub(super) fn reachability_after(&self, words: &[Word]) -> Reachability {
        let (shell, code) = match words {
            [first, rest @ ..] if first.known() == Some("exit") => (true, rest.first()),
            [first, rest @ ..] if first.known() == Some("return") => (false, rest.first()),
            _ => return self.reachability,
        };
        // Without a number the status is that of the command in front: behind `||` that has failed.
        let exit_status = code.filter(|word| word.raw != "$?");
        let fails = match exit_status {
            Some(word) => word.known().and_then(|code| code.parse::<i64>().ok()).is_some_and(|code| code != 0),
            None => self.list.is_after_failure(),
        };
        let outside = !shell && !self.branches.iter().any(|branch| branch.kind == ShellBlockKind::Called);
        if fails || outside || self.part.is_in_subshell() {
            return self.reachability;
        }
        // The command runs only if the one in front succeeds.
        let after_success =
            self.list.is_after_success() && !self.branches.iter().any(|branch| branch.kind == ShellBlockKind::Loop);
        let runs = if after_success { self.commands_run().and(Tristate::Maybe) } else { self.commands_run() };
        let mut reachability = self.reachability;
        let left = if shell { &mut reachability.shell } else { &mut reachability.function };
        *left = left.and(runs.not());
        reachability
    }
}

/// Returns the range between the braces from a token on, and the index of the token behind them.
fn find_function_body(text: &MappedText, tokens: &[ShellToken], from: usize) -> Option<(Range<usize>, usize)> {
    let mut depth = 0_usize;
    let mut start = None;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        let ShellToken::Word(range) = token else {
            start?;
            continue;
        };
        match text.get(range.clone()) {
            "{" => {
                depth += 1;
                start = start.or(Some(range.end));
            }
            "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some((start?..range.start, at + 1));
                }
            }
            _ => {
                start?;
            }
        }
    }
    None
}

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

impl Reachability {
    /// Returns whether the current command is reached.
    pub(super) fn combined(self) -> Tristate {
        self.shell.and(self.function)
    }

    /// Returns the reachability behind a block: a subshell only ends itself, and a function returns to its caller.
    pub(super) fn after_block(self, inner: Self, kind: &ShellBlockKind, in_subshell: bool) -> Self {
        if in_subshell {
            return self;
        }
        match kind {
            ShellBlockKind::Subshell | ShellBlockKind::Script => self,
            ShellBlockKind::Called => Self { shell: inner.shell, ..self },
            ShellBlockKind::If | ShellBlockKind::Loop | ShellBlockKind::Case(_) | ShellBlockKind::Braces => inner,
        }
    }
}
