//! Wrapping of text to a width, with a hanging indent.

use unicode_width::UnicodeWidthStr as _;

/// Returns the number of terminal columns of a text.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// Minimum columns for the text of a line; in a narrower terminal, lines overflow.
const MIN_LINE_WIDTH: usize = 20;

/// Wraps a text to lines of `width` columns. The first line begins after `first` columns that the caller has written,
/// every other line with `hang` spaces. A word that is wider than a line is broken after a colon or a comma; a URL
/// stays whole.
pub fn wrap(text: &str, first: usize, hang: usize, width: usize) -> String {
    let width = width.max(hang + MIN_LINE_WIDTH);
    let mut out = String::with_capacity(text.len() + 8);
    let mut at = first;
    for (number, word) in text.split(' ').enumerate() {
        for (part, piece) in breakable_pieces(word, width - hang).into_iter().enumerate() {
            let wide = display_width(piece);
            let space = usize::from(number > 0 && part == 0);
            let breaks = number > 0 || part > 0;
            if breaks && width < at + space + wide && hang < at {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', hang));
                at = hang;
            } else if space > 0 {
                out.push(' ');
                at += 1;
            }
            out.push_str(piece);
            at += wide;
        }
    }
    out
}

/// Returns the parts of a word between which a line may break.
fn breakable_pieces(word: &str, room: usize) -> Vec<&str> {
    if display_width(word) <= room || word.contains("://") {
        return vec![word];
    }
    word.split_inclusive([':', ',']).collect()
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
        let list = "LIST=/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/lib";
        let broken = "the LIST=/usr/local/cuda/compat:\n  /usr/local/nvidia/lib:/usr/lib";
        assert_eq!(wrap(&format!("the {list}"), 0, 2, 36), broken);
        assert_eq!(wrap(&format!("the {list}"), 0, 2, 66), format!("the {list}"));
        assert_eq!(wrap("", 0, 2, 30), "");
        assert_eq!(display_width("漢x"), 3);
    }
}
