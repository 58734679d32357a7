//! Shell functions and their calls, arrays, `read` and `eval`.

use std::ops::Range;
use std::sync::Arc;

use crate::dockerfile::{ExpandedText, MappedText};
use crate::model::cause::Cause;
use crate::shell::command::{StandardInput, Word};
use crate::shell::lexer::ShellToken;
use crate::shell::scripts::unquote;
use crate::shell::walk::command_status::Tristate;
use crate::shell::walk::state::{
    FunctionBody, MAX_DEPTH, MAX_VARIABLES, PositionalParameters, ShellBlockKind, ShellWalker,
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
            // Behind `then` or `else` the way that is gone is not told yet.
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
        let whole = before.flatten().zip(elements.filter(|_| is_plain && self.current_execution() == Tristate::Yes));
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
        let told = words.iter().all(|word| word.known().is_some());
        let plain = |range: &Range<usize>| !text.get(range.clone()).contains(['`', '(']);
        if text.get(first.clone()) != "eval" || given.is_empty() || !told || !given.iter().all(plain) {
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
