//! Escapes in untrusted text for a terminal: control characters and invisible characters become visible.

use std::borrow::Cow;

/// Whether a terminal would interpret or hide the character instead of showing it.
pub fn is_unsafe_char(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Soft hyphen, Arabic letter mark, Mongolian vowel separator.
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero-width characters and direction marks.
            | '\u{200b}'..='\u{200f}'
            // Line and paragraph separators, direction embeddings and overrides.
            | '\u{2028}'..='\u{202e}'
            // Invisible operators, direction isolates.
            | '\u{2060}'..='\u{206f}'
            // Byte order mark, interlinear annotations, tags.
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the text on one line, with every unsafe character as a visible escape such as `\u{1b}` or `\n`.
pub fn escape_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe_char) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push_escaped(&mut out, c);
    }
    Cow::Owned(out)
}

/// Returns the text with its line breaks, and every other unsafe character as a visible escape.
pub fn escape_multiline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' { out.push(c) } else { push_escaped(&mut out, c) }
    }
    out
}

/// Appends one character, escaped if it is unsafe.
pub fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' | '\r' | '\t' => out.extend(c.escape_default()),
        c if is_unsafe_char(c) => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// Returns at most `limit` characters of an escaped text, with a mark where it was cut.
pub fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((cut, _)) => Cow::Owned(format!("{}... ({} bytes)", &text[..cut], text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_out_what_a_terminal_would_obey() {
        for (text, expected) in [
            ("plain añ 漢 `x`", "plain añ 漢 `x`"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{1b}]8;;http://evil\u{7}click\u{1b}]8;;\u{7}", "\\u{1b}]8;;http://evil\\u{7}click\\u{1b}]8;;\\u{7}"),
            ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("\u{200b}\u{feff}\u{7f}\0", "\\u{200b}\\u{feff}\\u{7f}\\u{0}"),
            ("\u{2028}\u{e0041}", "\\u{2028}\\u{e0041}"),
        ] {
            assert_eq!(escape_one_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn shortens_between_characters() {
        assert_eq!(shorten("añb", 3), "añb");
        assert_eq!(shorten("añbc", 2), "añ... (5 bytes)");
    }
}
