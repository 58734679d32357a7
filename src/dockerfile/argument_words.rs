//! Splitting of arguments into words and `name=value` pairs.

use std::ops::Range;

use crate::dockerfile::MappedText;
use crate::text::source::Span;

/// Returns the ranges of the words between whitespace; quotes have no effect.
pub fn whitespace_word_ranges(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|from| from..text.len()));
    words
}

/// Returns the ranges of the words between unquoted and unescaped whitespace; words include their quotes.
pub fn quoted_word_ranges(text: &str, escape: char) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(start.take().map(|from| from..at));
            continue;
        }
        start.get_or_insert(at);
        match quote {
            Some(mark) if c == mark => quote = None,
            _ if c == escape && quote != Some('\'') => {
                chars.next();
            }
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => {}
        }
    }
    words.extend(start.map(|from| from..text.len()));
    words
}

/// A `name=value` pair of ENV, ARG or LABEL, both sides as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameValuePair {
    /// Left of `=`.
    pub name: String,
    /// Right of `=`, quotes and escapes included; `None` where there is no `=`.
    pub value: Option<MappedText>,
    /// Both sides.
    pub span: Span,
}

/// Parses the pairs in arguments; with `legacy`, a first word without `=` has the rest as its value.
pub fn parse_name_value_pairs(arguments: &MappedText, escape: char, legacy: bool) -> Vec<NameValuePair> {
    let text = arguments.text();
    let words = quoted_word_ranges(text, escape);
    let Some(first) = words.first().cloned() else { return Vec::new() };
    if legacy && !arguments.get(first.clone()).contains('=') {
        let name_end = text[first.start..].find(char::is_whitespace).map_or(text.len(), |end| first.start + end);
        let rest = text[name_end..].trim();
        let name = text[first.start..name_end].to_owned();
        if rest.is_empty() {
            return vec![NameValuePair { name, value: None, span: arguments.source_span(first) }];
        }
        let value_start = name_end + (text[name_end..].len() - text[name_end..].trim_start().len());
        let value = value_start..value_start + rest.len();
        return vec![NameValuePair {
            name,
            value: Some(arguments.slice(value.clone())),
            span: arguments.source_span(first.start..value.end),
        }];
    }
    let pair = |word: Range<usize>| {
        let raw = arguments.get(word.clone());
        let (name, value) = match raw.split_once('=') {
            Some((name, _)) => (name, Some(arguments.slice(word.start + name.len() + 1..word.end))),
            None => (raw, None),
        };
        NameValuePair { name: name.to_owned(), value, span: arguments.source_span(word.clone()) }
    };
    words.into_iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_quotes_and_their_place() {
        let read = |text: &str| {
            parse_name_value_pairs(&MappedText::contiguous(text, 100), '\\', true)
                .into_iter()
                .map(|pair| (pair.name, pair.value.map(|value| value.text().to_owned()), pair.span.start))
                .collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(r#"A="x"y'z' B=a\ b C="#),
            [("A".into(), some(r#""x"y'z'"#), 100), ("B".into(), some(r"a\ b"), 110), ("C".into(), some(""), 117)]
        );
        assert_eq!(read("A b  c d "), [("A".into(), some("b  c d"), 100)]);
        assert_eq!(read("A"), [("A".into(), None, 100)]);
        assert_eq!(read("A=1 B"), [("A".into(), some("1"), 100), ("B".into(), None, 104)]);
    }
}
