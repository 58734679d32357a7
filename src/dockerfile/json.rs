//! The JSON form of arguments, with the way back to the source for every element.

use crate::dockerfile::Mapped;

/// The strings of a JSON array; `None` where the text is no array of strings.
pub fn json_array(arguments: &Mapped) -> Option<Vec<Mapped>> {
    let text = arguments.text();
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let checked: Vec<String> = serde_json::from_str(text).ok()?;
    let mut elements = Vec::with_capacity(checked.len());
    let mut chars = text.char_indices();
    while let Some((_, c)) = chars.next() {
        if c == '"' {
            elements.push(element(arguments, &mut chars)?);
        }
    }
    (elements.len() == checked.len()).then_some(elements)
}

/// Whether a text is a JSON array of which not every element is a string.
pub(super) fn holds_other_than_strings(text: &str) -> bool {
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(text).is_ok()
        && serde_json::from_str::<Vec<String>>(text).is_err()
}

fn element(arguments: &Mapped, chars: &mut std::str::CharIndices<'_>) -> Option<Mapped> {
    let mut value = Mapped::default();
    let mut buffer = [0; 4];
    loop {
        let (at, c) = chars.next()?;
        let source = arguments.offset(at);
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
                'u' => unicode(chars)?,
                other => other,
            },
            other => other,
        };
        value.push(decoded.encode_utf8(&mut buffer), source);
    }
}

fn unicode(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let high = four(chars)?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high);
    }
    chars.next()?;
    chars.next()?;
    let low = four(chars)?;
    char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00)?)
}

fn four(chars: &mut std::str::CharIndices<'_>) -> Option<u32> {
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
            json_array(&Mapped::whole(text, 10))
                .map(|all| all.iter().map(|one| one.text().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(read(r#"["a\u0041\n", "\"q\"", ""]"#), Some(vec!["aA\n".into(), "\"q\"".into(), String::new()]));
        assert_eq!(read("[]"), Some(vec![]));
        for text in ["['a']", "[ -f x ] && y", "[1]", "a", "", "[\"a\"] b"] {
            assert_eq!(read(text), None, "{text}");
        }
        let spans: Vec<_> = json_array(&Mapped::whole(r#"["a", "bc"]"#, 10)).into_iter().flatten().collect();
        assert_eq!(spans[1].full_span(), crate::source::Span::new(17, 19));
    }
}
