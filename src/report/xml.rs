//! Escaping of text in XML.

use crate::report::escape::{is_unsafe_char, push_escaped};

/// Escapes a text for an attribute or an element; invisible characters and those that XML forbids become visible
/// escapes.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            c if is_unsafe_char(c) => push_escaped(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place() {
        assert_eq!(escape_xml("a<b a=\"c\" d='e'>&]]>"), "a&lt;b a=&quot;c&quot; d=&#39;e&#39;&gt;&amp;]]&gt;");
        assert_eq!(escape_xml("\u{1b}[m\0\u{ffff}\n"), "\\u{1b}[m\\u{0}\\u{ffff}&#10;");
    }
}
