//! Text in lines of a width, with a hanging indent.

use unicode_width::UnicodeWidthStr as _;

/// Columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Narrower than this, lines overflow rather than break after each word.
const NARROWEST: usize = 20;

/// The words of a text in lines of `width` columns. The first line begins after `first` columns that the caller has
/// written, every other line with `hang` spaces. A word that is wider than a line, such as an address, stays whole.
pub fn wrap(text: &str, first: usize, hang: usize, width: usize) -> String {
    let width = width.max(hang + NARROWEST);
    let mut out = String::with_capacity(text.len() + 8);
    let mut at = first;
    for (number, word) in text.split(' ').enumerate() {
        let wide = columns(word);
        if number > 0 {
            if width < at + 1 + wide && hang < at {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', hang));
                at = hang;
            } else {
                out.push(' ');
                at += 1;
            }
        }
        out.push_str(word);
        at += wide;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_long_words_stay_whole() {
        assert_eq!(wrap("one two three four", 2, 4, 24), "one two three four");
        assert_eq!(wrap("aaaaaaaaaa bbbbbbbbbb cccccccccc", 0, 2, 22), "aaaaaaaaaa bbbbbbbbbb\n  cccccccccc");
        let address = "https://example.org/a/very/long/path/that/no/line/has/room/for";
        assert_eq!(wrap(&format!("see {address} now"), 0, 2, 30), format!("see\n  {address}\n  now"));
        assert_eq!(wrap("", 0, 2, 30), "");
        assert_eq!(columns("漢x"), 3);
    }
}
