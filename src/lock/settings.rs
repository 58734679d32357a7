//! The settings: which image description stands for which base images.

use toml::de::DeTable;

use crate::describe::Spanned;
use crate::fleet::image_matches;
use crate::lock::name;
use crate::reference::ImageReference;
use crate::source::SourceText;
use crate::source::Span;
use crate::toml_reader::Problems;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::span_of;

const BASE_KEYS: &[&str] = &["match", "describe"];

/// A pattern of base images, and what stands for them.
#[derive(Clone, Debug)]
pub struct Mapping<T> {
    /// The pattern; `*` matches slashes, tags and digests too.
    pub pattern: String,
    /// What its description was read into.
    pub described: T,
}

impl<T> Mapping<T> {
    /// Whether it speaks of a base; one without a tag is `latest`.
    pub fn matches(&self, reference: &ImageReference) -> bool {
        image_matches(&self.pattern, &name(reference)).unwrap_or(false)
    }
}

/// Reads the settings; `load` reads the image description at a path, or says why it cannot.
pub fn mappings<T>(
    text: &SourceText,
    load: &mut dyn FnMut(&str) -> Result<T, String>,
) -> Result<Vec<Mapping<T>>, Box<Problems>> {
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
                found.extend(mapping(&mut reader, table, span_of(one), load));
            }
        }
    }
    reader.finish("settings", text, found)
}

fn mapping<T>(
    reader: &mut Reader,
    table: &DeTable<'_>,
    whole: Span,
    load: &mut dyn FnMut(&str) -> Result<T, String>,
) -> Option<Mapping<T>> {
    let (mut pattern, mut describe) = (None, None);
    for (key, span, value) in entries(table) {
        match key {
            "match" => pattern = Some(text(reader, key, value)),
            "describe" => describe = Some(text(reader, key, value)),
            _ => reader.unknown_key(key, span, BASE_KEYS),
        }
    }
    for (key, missing) in [("match", pattern.is_none()), ("describe", describe.is_none())] {
        if missing {
            reader.report(whole, format!("`{key}` is missing"), None);
        }
    }
    let (pattern, describe) = (pattern??, describe??);
    if let Err(reason) = image_matches(&pattern.value, "x") {
        reader.report(pattern.span, reason, None);
        return None;
    }
    match load(&describe.value) {
        Ok(described) => Some(Mapping { pattern: pattern.value, described }),
        Err(reason) => {
            reader.report(describe.span, reason, None);
            None
        }
    }
}

fn text(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<String>> {
    reader.string(key, value).map(|text| Spanned { value: text, span: span_of(value) })
}
