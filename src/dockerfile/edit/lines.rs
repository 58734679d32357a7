//! Lines of a text: where they begin and how they end.

/// Returns the line ending of a text: that of its first line.
pub fn line_ending(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// Returns the offset at which the line that contains an offset begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Returns where to insert a line after the one that contains an offset, and the text to insert.
pub fn insertion_after(text: &str, at: usize, line: &str) -> (usize, String) {
    let ending = line_ending(text);
    match text.get(at..).and_then(|rest| rest.find('\n')) {
        Some(newline) => (at + newline + 1, format!("{line}{ending}")),
        None => (text.len(), format!("{ending}{line}{ending}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_line_ends_like_the_others() {
        for (text, at, expected) in [
            ("FROM a\nRUN b\n", 3, "FROM a\nX\nRUN b\n"),
            ("FROM a\r\nRUN b\r\n", 3, "FROM a\r\nX\r\nRUN b\r\n"),
            ("FROM a\r\nRUN b", 9, "FROM a\r\nRUN b\r\nX\r\n"),
            ("FROM a", 6, "FROM a\nX\n"),
        ] {
            let (place, line) = insertion_after(text, at, "X");
            let mut new = text.to_owned();
            new.insert_str(place, &line);
            assert_eq!(new, expected, "{text:?}");
        }
        assert_eq!((line_start("a\nbc", 3), line_start("a\nbc", 0), line_start("a", 99)), (2, 0, 0));
    }
}
