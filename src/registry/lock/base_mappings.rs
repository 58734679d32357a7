//! The `[[base]]` settings: which image description is used for which base images.

use toml::de::DeTable;

use crate::describe::Spanned;
use crate::fleet::image_pattern_matches;
use crate::knowledge::toml_reader::{Problems, Reader, Value, entries, span_of};
use crate::model::reference::ImageReference;
use crate::registry::lock::reference_with_default_tag;
use crate::text::source::{SourceText, Span};

/// The keys of a `[[base]]` entry in the settings.
const MAPPING_KEYS: &[&str] = &["match", "describe"];

/// A pattern of base images, and the image description that is used for them.
#[derive(Clone, Debug)]
pub struct BaseMapping<T> {
    /// The pattern; `*` also matches slashes, tags and digests.
    pub pattern: String,
    /// The parsed image description.
    pub description: T,
}

impl<T> BaseMapping<T> {
    /// Whether the pattern matches a base image; a reference without a tag means `latest`.
    pub fn matches(&self, reference: &ImageReference) -> bool {
        image_pattern_matches(&self.pattern, &reference_with_default_tag(reference)).unwrap_or(false)
    }
}

/// Reads the base mappings of the settings; `load` reads the image description at a path or returns the reason why it
/// cannot.
pub fn read_base_mappings<T>(
    text: &SourceText,
    load: &mut dyn FnMut(&str) -> Result<T, String>,
) -> Result<Vec<BaseMapping<T>>, Box<Problems>> {
    let mut reader = Reader::default();
    let mut found = Vec::new();
    let table = reader.parse(text);
    if reader.is_clean() {
        for (key, _, value) in entries(table.get_ref()) {
            // The other keys are read with the settings of the run.
            if key != "base" {
                continue;
            }
            for one in Reader::one_or_more(value) {
                let Some(table) = reader.table(key, one) else { continue };
                found.extend(read_base_mapping(&mut reader, table, span_of(one), load));
            }
        }
    }
    reader.finish("settings", text, found)
}

/// Reads one `[[base]]` entry of the settings.
fn read_base_mapping<T>(
    reader: &mut Reader,
    table: &DeTable<'_>,
    whole: Span,
    load: &mut dyn FnMut(&str) -> Result<T, String>,
) -> Option<BaseMapping<T>> {
    let (mut pattern, mut describe) = (None, None);
    for (key, span, value) in entries(table) {
        match key {
            "match" => pattern = Some(read_string(reader, key, value)),
            "describe" => describe = Some(read_string(reader, key, value)),
            _ => reader.unknown_key(key, span, MAPPING_KEYS),
        }
    }
    for (key, missing) in [("match", pattern.is_none()), ("describe", describe.is_none())] {
        if missing {
            reader.report(whole, format!("`{key}` is missing"), None);
        }
    }
    let (pattern, describe) = (pattern??, describe??);
    if let Err(reason) = image_pattern_matches(&pattern.value, "x") {
        reader.report(pattern.span, reason, None);
        return None;
    }
    match load(&describe.value) {
        Ok(described) => Some(BaseMapping { pattern: pattern.value, description: described }),
        Err(reason) => {
            reader.report(describe.span, reason, None);
            None
        }
    }
}

/// Reads a string with its span.
fn read_string(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<String>> {
    reader.string(key, value).map(|text| Spanned { value: text, span: span_of(value) })
}
