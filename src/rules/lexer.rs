//! Splits a condition into tokens with their places.

use crate::rules::problem::Fault;
use crate::source::Span;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `image.base.cuda`, also `components.exists`.
    Name(String),
    /// Quoted text without its quotes.
    Text(String),
    /// An integer.
    Number(i64),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// Longer signs first.
const SIGNS: &[&str] = &["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", ","];

/// Spellings of other languages, and ours.
const FOREIGN: &[(&str, &str)] = &[("&", "&&"), ("|", "||"), ("=", "==")];

/// All tokens of a source.
pub(super) fn tokens(source: &str) -> Result<Vec<(Token, Span)>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = match first {
            '"' | '\'' => quoted(rest, 0, at)?,
            'r' if rest[1..].starts_with(['"', '\'']) => quoted(rest, 1, at)?,
            '0'..='9' => number(rest, at)?,
            'a'..='z' | 'A'..='Z' | '_' => name(rest, at)?,
            _ => sign(rest, first, at)?,
        };
        found.push((token, Span::new(at, at + length)));
        at += length;
    }
    Ok(found)
}

fn sign(rest: &str, first: char, at: usize) -> Result<(Token, usize), Fault> {
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    let span = Span::new(at, at + first.len_utf8());
    let help = FOREIGN.iter().find(|(foreign, _)| rest.starts_with(foreign)).map(|(_, ours)| format!("write `{ours}`"));
    Err(Fault::new(span, format!("`{}` has no meaning here", first.escape_debug())).help(help))
}

fn name(rest: &str, at: usize) -> Result<(Token, usize), Fault> {
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
    let word = &rest[..length];
    if word.split('.').any(str::is_empty) {
        return Err(Fault::new(Span::new(at, at + length), "a name has one dot between words, and none at its end"));
    }
    Ok((Token::Name(word.to_owned()), length))
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), Fault> {
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
    let word = &rest[..length];
    word.parse().map(|number| (Token::Number(number), length)).map_err(|_| {
        let help = word.contains('.').then(|| format!("a version is written `version(\"{word}\")`"));
        Fault::new(Span::new(at, at + length), format!("`{word}` is not an integer")).help(help)
    })
}

/// Quoted text; `skip` is 1 where an `r` before it makes backslashes plain.
fn quoted(rest: &str, skip: usize, at: usize) -> Result<(Token, usize), Fault> {
    let mut text = String::new();
    let mut characters = rest[skip..].char_indices();
    let quote = characters.next().map_or('"', |(_, quote)| quote);
    while let Some((index, character)) = characters.next() {
        match character {
            _ if character == quote => return Ok((Token::Text(text), skip + index + 1)),
            '\\' if skip == 0 => {
                let Some((_, escaped @ ('\\' | '"' | '\''))) = characters.next() else {
                    let span = Span::new(at + index, at + index + 1);
                    let fault = Fault::new(span, "a backslash is valid only before a quote or another backslash");
                    return Err(
                        fault.help("put an `r` before the string to keep its backslashes: r\"\\d+\"".to_owned())
                    );
                };
                text.push(escaped);
            }
            _ => text.push(character),
        }
    }
    Err(Fault::new(Span::new(at, at + rest.len()), format!("this string has no closing `{quote}`")))
}
