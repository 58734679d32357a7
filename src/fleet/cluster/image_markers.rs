//! Locates image names in a file, by markers that are inserted into a copy of the text before it is parsed.

use std::cmp::Ordering;
use std::fmt::Write as _;

/// The private-use character before and after the number of a marker.
const MARKER: char = '\u{e000}';
/// Maximum size in bytes of a file in which images are located.
const MAX_MARKED_BYTES: usize = 8 << 20;
/// First characters of YAML values that are not plain scalars.
const NON_PLAIN_STARTS: &[char] = &['*', '&', '!', '|', '>', '{', '['];

/// The start and end in bytes of an image name in a file; ignored in comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageSpan(pub Option<(usize, usize)>);

impl PartialEq for ImageSpan {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ImageSpan {}

impl PartialOrd for ImageSpan {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ImageSpan {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

/// Returns a copy of a text with a marker behind each image name, and the spans of the names.
pub(super) fn mark_images(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    if text.len() > MAX_MARKED_BYTES || text.contains(MARKER) {
        return None;
    }
    let places: Vec<(usize, usize)> =
        text.match_indices("image").filter_map(|(at, _)| image_value_span(text, at)).collect();
    let mut copy = String::with_capacity(text.len() + 8 * places.len());
    let mut from = 0;
    for (number, (_, end)) in places.iter().enumerate() {
        copy.push_str(text.get(from..*end)?);
        // Writing into a text never fails.
        let _ = write!(copy, "{MARKER}{number}{MARKER}");
        from = *end;
    }
    copy.push_str(text.get(from..)?);
    Some((copy, places))
}

/// Returns the span of the value of the key `image` at a byte, with or without quotes.
fn image_value_span(text: &str, at: usize) -> Option<(usize, usize)> {
    let quote = |c: char| c == '"' || c == '\'';
    let (before, after) = (text.get(..at)?, text.get(at + "image".len()..)?);
    if before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')) {
        return None;
    }
    let key = if before.ends_with(quote) { after.strip_prefix(quote)? } else { after };
    let behind = key.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    let value = behind.trim_start_matches([' ', '\t']);
    let inner = value.strip_prefix(quote);
    let end = match inner {
        Some(inner) => inner.find(|c| value.starts_with(c))?,
        None => value.find(|c: char| c.is_whitespace() || matches!(c, ',' | ']') || quote(c)).unwrap_or(value.len()),
    };
    let start = text.len() - inner.unwrap_or(value).len();
    let word = text.get(start..start + end)?;
    // The brace that ends an object, and not one of a variable.
    let word = if inner.is_none() && !word.contains("${") { word.trim_end_matches('}') } else { word };
    let plain = !word.is_empty() && !word.contains('\n') && (inner.is_some() || !word.starts_with(NON_PLAIN_STARTS));
    plain.then(|| (start, start + word.len()))
}

/// Returns a value without its marker, and the number of the marker.
pub(super) fn remove_marker(word: &str) -> (String, Option<usize>) {
    let parts: Vec<&str> = word.split(MARKER).collect();
    match parts.as_slice() {
        [before, number, after] => (format!("{before}{after}"), number.parse().ok()),
        _ => (word.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_image_is_where_a_key_of_that_name_takes_it() {
        for (text, expected) in [
            ("spec:\n  - image: a/b:1\n", &[17][..]),
            ("- image: 'a/b:1' # it\n", &[10]),
            ("{\"image\":\"a/b:1\",\"x\":1}", &[10]),
            ("{\"image\": \"a/b:1\"}", &[11]),
            ("a: {image: a/b:1}\nb: {image: a/b:1, c: 1}", &[11, 29]),
            ("image: x.com/a/b:1\nimage: a/b:12\nimage: a/b:1", &[7, 26, 40]),
            ("a: {image: ${REG:-x}/a}", &[11]),
            // Other keys, values that are no words, and a copy of the object in a text.
            ("name: a/b:1\n", &[]),
            ("\"{\\\"image\\\":\\\"a/b:1\\\"}\"", &[]),
            ("sub-image: a/b:1", &[]),
            ("baseimage: a/b:1", &[]),
            ("imageID: a/b:1", &[]),
            ("image: *it", &[]),
            ("image: {repository: a}", &[]),
            ("image:\n", &[]),
            ("image: \"", &[]),
        ] {
            let (copy, places) = mark_images(text).expect("a copy");
            assert_eq!(places.iter().map(|(start, _)| *start).collect::<Vec<_>>(), expected, "{text}");
            let parts = copy.split(MARKER).enumerate().filter(|(at, _)| at % 2 == 0);
            assert_eq!(parts.map(|(_, part)| part).collect::<String>(), text, "the rest is as it was");
        }
        assert_eq!(mark_images("image: a\u{e000}"), None);
    }
}
