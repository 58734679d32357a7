//! Parses the text of the note in a compat library.

use serde_json::Value;

use crate::cuda::CompatNote;

impl CompatNote {
    /// Parses the JSON of the section `.note.cuda.fwd_compatibility`; keys are not case-sensitive.
    ///
    /// A note that cannot be read counts as none.
    pub fn from_json(text: &str) -> Option<Self> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text.trim_end_matches('\0')) else { return None };
        let field = |name: &str| fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let cuda = match field("CUDA version") {
            Some(Value::String(text)) => text.parse().ok(),
            None | Some(Value::Null) => None,
            Some(_) => return None,
        };
        Some(Self { cuda, driver: parse_numbers(field("driver"))?, device: parse_numbers(field("device"))? })
    }
}

/// Parses a list of small numbers; empty if there is no value.
fn parse_numbers(value: Option<&Value>) -> Option<Vec<u32>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(|one| u32::try_from(one.as_u64()?).ok()).collect(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_in_any_case() {
        let note =
            CompatNote::from_json("{\"format\":1,\"cuda VERSION\":\"13.2\",\"Driver\":[535]}\0\0").expect("a note");
        assert_eq!(note, CompatNote { cuda: "13.2".parse().ok(), driver: vec![535], device: Vec::new() });
        assert_eq!(CompatNote::from_json("{}"), Some(CompatNote::default()));
    }

    #[test]
    fn unreadable_elf_note_is_ignored() {
        for text in ["", "[]", "{", "{\"driver\":[-1]}", "{\"driver\":\"535\"}", "{\"CUDA version\":12}", "\0"] {
            assert_eq!(CompatNote::from_json(text), None, "{text}");
        }
    }
}
