//! Functions of a script, what they are called with, and arrays: the plain ones.

use std::ops::Range;
use std::sync::Arc;

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Input;
use crate::shell::Word;
use crate::shell::lexer::Token;
use crate::shell::nested::unquoted;
use crate::shell::walk::DEEPEST;
use crate::shell::walk::MOST_VARIABLES;
use crate::shell::walk::Walk;
use crate::shell::walk::arguments::Arguments;
use crate::shell::walk::branches::Kind;
use crate::shell::walk::chance::Chance;
use crate::source::Span;

/// Functions that call one another are followed so many times in all.
const MOST_CALLS: usize = 256;

/// A function of another file that is longer is not followed.
const LONGEST_BODY: usize = 16 * 1024;

/// An array with more elements is not known.
const MOST_ELEMENTS: usize = 1024;
/// Words in front of an assignment that leave it one.
const DECLARING: &[&str] = &["local", "declare", "typeset", "readonly", "export", "-a", "-r"];

/// The commands of a function.
#[derive(Clone)]
pub(super) enum Body {
    /// In the text that is gone through.
    Here(Mapped),
    /// In a file that was read in: where one of its commands runs is told by its call.
    Elsewhere(Arc<str>),
}

impl Body {
    /// The same function for a text that reads its file in; `None` for one that is out of proportion.
    pub(super) fn into_elsewhere(self) -> Option<Self> {
        let text = match self {
            Self::Here(text) => Arc::from(text.text()),
            Self::Elsewhere(text) => text,
        };
        (text.len() <= LONGEST_BODY).then_some(Self::Elsewhere(text))
    }
}

/// A text whose every part stands at one place of another text.
pub(super) fn at_one_place(text: &str, place: usize) -> Mapped {
    let mut mapped = Mapped::default();
    for c in text.chars() {
        let c = if c.is_ascii() { c } else { '?' };
        mapped.push(c.encode_utf8(&mut [0; 4]), place);
    }
    mapped
}

impl Walk<'_> {
    /// Takes `name() { … }` and `name=( … )` at an opening bracket or brace; gives the token behind it.
    pub(super) fn defined(
        &mut self,
        text: &Mapped,
        words: &mut Vec<Range<usize>>,
        tokens: &[Token],
        at: usize,
    ) -> Option<usize> {
        let last = words.last().cloned()?;
        let word = text.get(last.clone());
        if word.ends_with('=') && text.text().as_bytes().get(last.end) == Some(&b'(') {
            words.pop();
            // Behind `then` or `else` the way that is gone is not told yet.
            let is_plain = words.iter().all(|range| DECLARING.contains(&text.get(range.clone())));
            return Some(self.array(text, word, tokens, at, is_plain));
        }
        let plain = |token: &Token| matches!(token, Token::Close | Token::Separator);
        let named: Vec<&str> = words.iter().map(|range| text.get(range.clone())).collect();
        let (name, from) = match named.as_slice() {
            ["function", name, "{"] => (*name, at - 1),
            ["function", name] | [name] if tokens.get(at) == Some(&Token::Close) => {
                (*name, at + tokens.iter().skip(at).take_while(|token| plain(token)).count())
            }
            _ => return None,
        };
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let (body, behind) = body(text, tokens, from).filter(|_| name.chars().all(good))?;
        if self.functions.len() < MOST_VARIABLES {
            self.functions.insert(name.to_owned(), Body::Here(text.slice(body)));
        }
        words.clear();
        Some(behind)
    }

    /// The elements of an array up to its bracket.
    fn array(&mut self, text: &Mapped, word: &str, tokens: &[Token], at: usize, is_plain: bool) -> usize {
        let inside = tokens.get(at..).unwrap_or_default();
        let length = inside.iter().position(|token| *token == Token::Close).unwrap_or(inside.len());
        let mut elements = Some(Vec::new());
        for token in inside.iter().take(length) {
            match (token, &mut elements) {
                (Token::Word(range), Some(list)) => {
                    list.extend(self.word(text, range.clone()));
                    if list.len() > MOST_ELEMENTS {
                        elements = None;
                    }
                }
                (Token::Separator, _) => {}
                _ => elements = None,
            }
        }
        let name = word.trim_end_matches(['=', '+']);
        let before = if word.ends_with("+=") { self.arrays.get(name).cloned() } else { Some(Some(Vec::new())) };
        let whole = before.flatten().zip(elements.filter(|_| is_plain && self.chance() == Chance::Yes));
        let whole = whole.map(|(before, new)| before.into_iter().chain(new).collect::<Vec<Word>>());
        let whole = whole.filter(|whole| whole.len() <= MOST_ELEMENTS);
        if self.arrays.len() < MOST_VARIABLES {
            self.arrays.insert(name.to_owned(), whole);
        }
        (at + length + 1).min(tokens.len())
    }

    /// The words that `"$@"` and `"${NAME[@]}"` stand for; `None` for another word.
    pub(super) fn several(&self, raw: &str, span: Span) -> Option<Vec<Word>> {
        let plain = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
        if matches!(plain, "$@" | "${@}" | "$*" | "${*}") {
            let own = |word: &Word| if word.raw.is_empty() { Word { span, ..word.clone() } } else { word.clone() };
            return self.arguments.all().map(|words| words.iter().map(own).collect());
        }
        let name = plain.strip_prefix("${")?;
        let name = name.strip_suffix("[@]}").or_else(|| name.strip_suffix("[*]}"))?;
        self.arrays.get(name)?.clone()
    }

    /// Takes what `read` gives its variables: the words of a line that is known, else what nobody knows.
    pub(super) fn reads(&mut self, words: &[Word], own: &[(String, Resolved)], input: &Input) {
        let (mut names, mut array, mut plain) = (Vec::new(), false, own.is_empty() && self.list.gate == Chance::Yes);
        for word in words.iter().skip(1) {
            match word.known() {
                Some("-r") => {}
                Some("-a" | "-ra" | "-ar") => array = true,
                Some(option) if option.starts_with('-') => plain = false,
                Some(name) => names.push(name),
                None => plain = false,
            }
        }
        let loops = self.asking() && self.branches.last().is_some_and(|branch| branch.kind == Kind::Loop);
        let whole_lines = own.iter().all(|(name, value)| name == "IFS" && value.known() == Some(""));
        if let [name] = names.as_slice()
            && loops
            && whole_lines
            && !array
            && self.list.is_first()
        {
            let input = if *input == Input::None { self.pipe.0.clone() } else { input.clone() };
            let reading = Some(((*name).to_owned(), input));
            self.branches.last_mut().into_iter().for_each(|branch| branch.reading.clone_from(&reading));
        }
        let line = match input {
            Input::Text(text) if plain && !self.asking() => {
                text.text().lines().next().map(|line| (line, text.offset(0)))
            }
            _ => None,
        };
        let line = line.filter(|(line, _)| !line.contains('\\'));
        let unknown = |name: &str| {
            let reason = "the script reads it at run time".to_owned();
            Resolved::Unresolved { names: vec![name.to_owned()], reason }
        };
        let Some((line, place)) = line else {
            for name in names {
                self.arrays.remove(name);
                self.assign(name, unknown(name));
            }
            return;
        };
        let span = Span::new(place, place + 1);
        let value = |text: &str| Resolved::Known { value: text.to_owned(), origins: vec![span] };
        if let Some(name) = names.first().filter(|_| array) {
            let word = |text: &str| Word { value: value(text), raw: text.to_owned(), span, output: None };
            let elements: Vec<Word> = line.split_whitespace().map(word).collect();
            self.assign(name, elements.first().map_or_else(|| value(""), |first| first.value.clone()));
            if elements.len() <= MOST_ELEMENTS && self.arrays.len() < MOST_VARIABLES {
                self.arrays.insert((*name).to_owned(), Some(elements));
            }
            return;
        }
        // The last variable has all that is left of the line.
        let mut rest = line.trim();
        for (at, name) in names.iter().enumerate() {
            let end = if at + 1 == names.len() { None } else { rest.find(char::is_whitespace) };
            let (one, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.assign(name, value(one));
            rest = after.trim_start();
        }
    }

    /// Goes through what `eval` is given, where that is written out; says whether it did.
    pub(super) fn evaluates(&mut self, text: &Mapped, ranges: &[Range<usize>], words: &[Word], depth: usize) -> bool {
        let Some((first, given)) = ranges.split_first().filter(|_| depth < DEEPEST) else { return false };
        let told = words.iter().all(|word| word.known().is_some());
        let plain = |range: &Range<usize>| !text.get(range.clone()).contains(['`', '(']);
        if text.get(first.clone()) != "eval" || given.is_empty() || !told || !given.iter().all(plain) {
            return false;
        }
        let mut script = Mapped::default();
        for range in given {
            script.push(" ", text.offset(range.start));
            script.append(&unquoted(text, range.clone()));
        }
        self.script(&script, depth + 1, &Kind::Called);
        true
    }

    /// Goes through a function that a command calls; says whether it did.
    pub(super) fn calls(&mut self, words: &[Word], depth: usize) -> bool {
        let Some((first, arguments)) = words.split_first() else { return false };
        if self.moves_arguments(first.known(), arguments) {
            return false;
        }
        let body = first.known().and_then(|name| self.functions.get(name)).cloned();
        let Some(body) = body.filter(|_| depth < DEEPEST && self.called < MOST_CALLS) else { return false };
        self.called += 1;
        let body = match body {
            Body::Here(text) => text,
            Body::Elsewhere(text) => at_one_place(&text, first.span.start),
        };
        let outer = std::mem::replace(&mut self.arguments, Arguments::split(arguments));
        self.script(&body, depth + 1, &Kind::Called);
        self.arguments = outer;
        true
    }
}

/// What stands between the braces that open at a token, and the token behind them.
fn body(text: &Mapped, tokens: &[Token], from: usize) -> Option<(Range<usize>, usize)> {
    let mut depth = 0_usize;
    let mut start = None;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        let Token::Word(range) = token else {
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
