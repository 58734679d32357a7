//! The JSON form of instruction arguments, with a source position for each element.

use crate::dockerfile::MappedText;

/// Parses a JSON array of strings; `None` where the text is anything else.
pub fn parse_json_array(arguments: &MappedText) -> Option<Vec<MappedText>> {
    let text = arguments.text();
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let checked: Vec<String> = serde_json::from_str(text).ok()?;
    let mut elements = Vec::with_capacity(checked.len());
    let mut chars = text.char_indices();
    while let Some((_, c)) = chars.next() {
        if c == '"' {
            elements.push(decode_json_string(arguments, &mut chars)?);
        }
    }
    (elements.len() == checked.len()).then_some(elements)
}

/// Whether a text is a JSON array with an element that is not a string.
pub(super) fn has_non_string_elements(text: &str) -> bool {
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(text).is_ok()
        && serde_json::from_str::<Vec<String>>(text).is_err()
}

/// Decodes one JSON string after its opening quote.
fn decode_json_string(arguments: &MappedText, chars: &mut std::str::CharIndices<'_>) -> Option<MappedText> {
    let mut value = MappedText::default();
    let mut buffer = [0; 4];
    loop {
        let (at, c) = chars.next()?;
        let source = arguments.source_offset(at);
        let decoded = match c {
            '"' => {
                value.push("", source);
                return Some(value);
            }
            '\\' => match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => decode_unicode_escape(chars)?,
                other => other,
            },
            other => other,
        };
        value.push(decoded.encode_utf8(&mut buffer), source);
    }
}

/// Decodes a `\u` escape, including surrogate pairs.
fn decode_unicode_escape(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let high = read_hex_digits(chars)?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high);
    }
    chars.next()?;
    chars.next()?;
    let low = read_hex_digits(chars)?;
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00)?)
}

/// Reads the four hexadecimal digits of a `\u` escape.
fn read_hex_digits(chars: &mut std::str::CharIndices<'_>) -> Option<u32> {
    let mut value = 0;
    for _ in 0..4 {
        value = value * 16 + chars.next()?.1.to_digit(16)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_array_of_strings_is_json_form() {
        let read = |text: &str| {
            parse_json_array(&MappedText::contiguous(text, 10))
                .map(|all| all.iter().map(|one| one.text().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(read(r#"["a\u0041\n", "\"q\"", ""]"#), Some(vec!["aA\n".into(), "\"q\"".into(), String::new()]));
        assert_eq!(read("[]"), Some(vec![]));
        for text in ["['a']", "[ -f x ] && y", "[1]", "a", "", "[\"a\"] b"] {
            assert_eq!(read(text), None, "{text}");
        }
        let spans: Vec<_> =
            parse_json_array(&MappedText::contiguous(r#"["a", "bc"]"#, 10)).into_iter().flatten().collect();
        assert_eq!(spans[1].full_source_span(), crate::text::source::Span::new(17, 19));
    }
}
