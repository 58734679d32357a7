//! Splits a condition into tokens with spans.

use crate::rules::page_error::Fault;
use crate::text::source::Span;

/// A token of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConditionToken {
    /// A name such as `image.base.cuda` or `components.exists`.
    Name(String),
    /// A string literal, without its quotes.
    Text(String),
    /// An integer.
    Number(i64),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// All operators and brackets, longer ones first.
const SIGN_TOKENS: &[&str] = &["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", ","];

/// Operators of other languages, and the operators to use for them.
const FOREIGN_OPERATORS: &[(&str, &str)] = &[("&", "&&"), ("|", "||"), ("=", "==")];

/// Returns all tokens of a condition.
pub(super) fn tokenize_condition(source: &str) -> Result<Vec<(ConditionToken, Span)>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = match first {
            '"' | '\'' => read_string(rest, 0, at)?,
            'r' if rest[1..].starts_with(['"', '\'']) => read_string(rest, 1, at)?,
            '0'..='9' => read_number(rest, at)?,
            'a'..='z' | 'A'..='Z' | '_' => read_name(rest, at)?,
            _ => read_sign(rest, first, at)?,
        };
        found.push((token, Span::new(at, at + length)));
        at += length;
    }
    Ok(found)
}

/// Reads an operator or bracket; returns it with its length.
fn read_sign(rest: &str, first: char, at: usize) -> Result<(ConditionToken, usize), Fault> {
    if let Some(sign) = SIGN_TOKENS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((ConditionToken::Sign(sign), sign.len()));
    }
    let span = Span::new(at, at + first.len_utf8());
    let help = FOREIGN_OPERATORS
        .iter()
        .find(|(foreign, _)| rest.starts_with(foreign))
        .map(|(_, ours)| format!("write `{ours}`"));
    Err(Fault::new(span, format!("`{}` has no meaning here", first.escape_debug())).with_help(help))
}

/// Reads a name; returns it with its length.
fn read_name(rest: &str, at: usize) -> Result<(ConditionToken, usize), Fault> {
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
    let word = &rest[..length];
    if word.split('.').any(str::is_empty) {
        return Err(Fault::new(Span::new(at, at + length), "a name has one dot between words, and none at its end"));
    }
    Ok((ConditionToken::Name(word.to_owned()), length))
}

/// Reads an integer; returns it with its length.
fn read_number(rest: &str, at: usize) -> Result<(ConditionToken, usize), Fault> {
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
    let word = &rest[..length];
    word.parse().map(|number| (ConditionToken::Number(number), length)).map_err(|_| {
        let help = word.contains('.').then(|| format!("a version is written `version(\"{word}\")`"));
        Fault::new(Span::new(at, at + length), format!("`{word}` is not an integer")).with_help(help)
    })
}

/// Reads a string literal; `skip` is 1 if it is a raw string with the prefix `r`.
fn read_string(rest: &str, skip: usize, at: usize) -> Result<(ConditionToken, usize), Fault> {
    let mut text = String::new();
    let mut characters = rest[skip..].char_indices();
    let quote = characters.next().map_or('"', |(_, quote)| quote);
    while let Some((index, character)) = characters.next() {
        match character {
            _ if character == quote => return Ok((ConditionToken::Text(text), skip + index + 1)),
            '\\' if skip == 0 => {
                let Some((_, escaped @ ('\\' | '"' | '\''))) = characters.next() else {
                    let span = Span::new(at + index, at + index + 1);
                    let fault = Fault::new(span, "a backslash is valid only before a quote or another backslash");
                    return Err(
                        fault.with_help("put an `r` before the string to keep its backslashes: r\"\\d+\"".to_owned())
                    );
                };
                text.push(escaped);
            }
            _ => text.push(character),
        }
    }
    Err(Fault::new(Span::new(at, at + rest.len()), format!("this string has no closing `{quote}`")))
}
