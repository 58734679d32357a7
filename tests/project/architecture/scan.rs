//! Reads Rust source for the paths it names. It is a reader of text, not a parser: comments and strings are
//! blanked in place, so that what is left is code at its old offset.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use regex::Regex;

/// What a byte of Rust source belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Neither of the two below.
    Code,
    /// A comment, doc comments included.
    Comment,
    /// A literal of characters, its quotes included.
    Literal,
}

/// The text with everything but `keep` turned into spaces; offsets and lines stay.
pub(crate) fn only(text: &str, keep: &[Kind]) -> String {
    let mut out = text.as_bytes().to_vec();
    for (range, kind) in pieces(text) {
        if !keep.contains(&kind) {
            blank(&mut out, range);
        }
    }
    String::from_utf8(out).expect("whole characters are blanked")
}

/// The text with `ranges` turned into spaces.
pub(crate) fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = text.as_bytes().to_vec();
    for range in ranges {
        blank(&mut out, range.clone());
    }
    String::from_utf8(out).expect("whole characters are blanked")
}

/// The line, from 1, that holds the byte `at`.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The pattern, compiled once.
pub(crate) fn pattern(text: &str) -> Regex {
    static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().expect("no pattern is broken");
    compiled.entry(text.to_owned()).or_insert_with(|| Regex::new(text).expect(text)).clone()
}

/// Where `head` is followed by a bracketed body: from the start of `head` to the bracket that closes it.
pub(crate) fn bodies(code: &str, head: &str) -> Vec<Range<usize>> {
    let found = pattern(head);
    found.find_iter(code).map(|head| head.start()..closing(code, head.end() - 1)).collect()
}

/// The names that stand directly after `root::`, with their offsets: `root::a`, `root::{a, b::c}`, `root::*`.
pub(crate) fn children(code: &str, root: &str) -> Vec<(usize, String)> {
    let root = pattern(&format!(r"\b{root}\s*::\s*"));
    let first = pattern(r"^\s*(?:r#)?(\w+|\*|\{)");
    let mut found = Vec::new();
    for head in root.find_iter(code) {
        let Some(name) = first.captures(&code[head.end()..]).and_then(|captures| captures.get(1)) else { continue };
        let at = head.end() + name.start();
        if name.as_str() == "{" {
            found.extend(members(code, at));
        } else {
            found.push((at, name.as_str().to_owned()));
        }
    }
    found
}

/// The first name of each member of the braces that open at `open`.
fn members(code: &str, open: usize) -> Vec<(usize, String)> {
    let member = pattern(r"^[{,]\s*(?:r#)?(\w+|\*)");
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (index, character) in code[open..closing(code, open)].char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        let at = open + index;
        if depth == 1
            && let Some(name) = member.captures(&code[at..]).and_then(|captures| captures.get(1))
        {
            found.push((at + name.start(), name.as_str().to_owned()));
        }
    }
    found
}

/// One past the bracket that closes the one at `open`; the end of the text where none does.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    code.len()
}

/// Comments and literals in order; the text between them is code.
fn pieces(text: &str) -> Vec<(Range<usize>, Kind)> {
    let start = pattern(
        r#"(?x) (?P<line>//[^\n]*) | (?P<block>/\*) | \b(?:b|c)?r(?P<hashes>\#*)" | (?P<string>")
        | (?P<character>'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\'\n])')"#,
    );
    let mut found = Vec::new();
    let mut code_from = 0;
    while let Some(captures) = start.captures_at(text, code_from) {
        let whole = captures.get(0).expect("the whole match").range();
        let rest = &text[whole.end..];
        let (length, kind) = if captures.name("line").is_some() {
            (0, Kind::Comment)
        } else if captures.name("block").is_some() {
            (block_comment(rest), Kind::Comment)
        } else if captures.name("string").is_some() {
            (string(rest), Kind::Literal)
        } else if let Some(hashes) = captures.name("hashes") {
            let close = format!("\"{}", hashes.as_str());
            (rest.find(&close).map_or(rest.len(), |at| at + close.len()), Kind::Literal)
        } else {
            (0, Kind::Literal)
        };
        found.push((code_from..whole.start, Kind::Code));
        code_from = whole.end + length;
        found.push((whole.start..code_from, kind));
    }
    found.push((code_from..text.len(), Kind::Code));
    found
}

/// The length of the rest of a comment whose `/*` is read; comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 1_usize;
    for mark in pattern(r"/\*|\*/").find_iter(rest) {
        depth = if mark.as_str() == "/*" { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return mark.end();
        }
    }
    rest.len()
}

/// The length of the rest of a string whose first quote is read.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in &mut bytes[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}
