//! Parses a description from TOML, and reports all its errors at once.

use std::str::FromStr;

use toml::de::DeTable;

use crate::cuda::{BadVersion, CodeTarget};
use crate::describe::validation::validate;
use crate::describe::{
    ContentCategory, DescribedElfNote, DescribedEnvTemplate, DescribedFile, DescribedGpuCode, ImageDescription,
    NamedEntry, SOURCE_KINDS, Spanned, UnknownBase, described_package,
};
use crate::knowledge::toml_reader::{Problems, Reader, Value, entries, span_of};
use crate::model::fact::{InspectionDepth, InstallerBehavior};
use crate::text::source::SourceText;

/// All errors in a description.
pub type DescriptionErrors = Box<Problems>;

/// The top-level keys of an image description.
pub const DESCRIPTION_KEYS: &[&str] = &[
    "of",
    "base",
    "base_unknown",
    "as_of",
    "platform",
    "from_scratch",
    "builds_for_gpus",
    "copies_unread_images",
    "cuda_runtime",
    "entrypoint",
    "command",
    "tag_now",
    "complete",
    "removed",
    "env",
    "env_on_base",
    "env_unknown",
    "packages",
    "files",
    "gpu_code",
];

/// The keys of `[packages]`.
pub const PACKAGE_KEYS: &[&str] = &[
    "pip",
    "conda",
    "apt",
    "bounds",
    "gone",
    "other_python",
    "by_driver",
    "unread",
    "unknown_wheels",
    "untold",
    "keeping",
    "renewing",
    "reinstalling",
    "ignoring_requirements",
];

/// The keys of `[[gpu_code]]`.
pub const GPU_CODE_KEYS: &[&str] =
    &["file", "component", "untold", "sass", "ptx", "linkable", "ptx_isa", "containers", "needs", "opens"];

impl ImageDescription {
    /// Reads a description from TOML.
    pub fn read(text: &SourceText) -> Result<Self, DescriptionErrors> {
        let mut reader = Reader::default();
        let mut description = Self::default();
        let table = reader.parse(text);
        if reader.is_clean() {
            for (key, key_span, value) in entries(table.get_ref()) {
                match key {
                    "of" => description.source = read_source_kind(&mut reader, value),
                    "base_unknown" => description.base_unknown = read_unknown_base(&mut reader, key, value),
                    "base" => description.base = read_text(&mut reader, key, value),
                    "as_of" => description.as_of = read_date(&mut reader, key, value),
                    "platform" => description.platforms = read_names(&mut reader, key, value),
                    "from_scratch" => description.from_scratch = reader.boolean(key, value).unwrap_or(false),
                    "builds_for_gpus" => description.builds_for_gpus = reader.boolean(key, value).unwrap_or(false),
                    "copies_unread_images" => {
                        description.copies_unread_images = reader.boolean(key, value).unwrap_or(false);
                    }
                    "cuda_runtime" => description.cuda_runtime = read_parsed(&mut reader, key, value),
                    "entrypoint" => description.entrypoint = Some(read_words(&mut reader, key, value)),
                    "command" => description.command = Some(read_words(&mut reader, key, value)),
                    "tag_now" => description.tag_now = Some(read_words(&mut reader, key, value)),
                    "complete" => description.complete = read_categories(&mut reader, value),
                    "removed" => description.removed = read_names(&mut reader, key, value),
                    "env_on_base" => description.env_on_base = read_env_templates(&mut reader, key, value),
                    "env_unknown" => description.env_unknown = read_names(&mut reader, key, value),
                    "env" => description.env = read_text_table(&mut reader, key, value),
                    "packages" => read_packages(&mut reader, value, &mut description),
                    "files" => description.files = read_files(&mut reader, value),
                    "gpu_code" => description.gpu_code = read_gpu_code(&mut reader, value),
                    _ => reader.unknown_key(key, key_span, DESCRIPTION_KEYS),
                }
            }
        }
        // What a program wrote down of an input is what stands there, be it wrong.
        if description.source == InspectionDepth::Description {
            validate(&mut reader, &description);
        }
        reader.finish("image description", text, description)
    }
}

/// Reads a string with its span.
fn read_text(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<String>> {
    reader.string(key, value).map(|text| Spanned { value: text, span: span_of(value) })
}

/// Reads a string and parses it.
fn read_parsed<T: FromStr<Err = BadVersion>>(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<T>> {
    match reader.string(key, value)?.parse() {
        Ok(parsed) => Some(Spanned { value: parsed, span: span_of(value) }),
        Err(error) => {
            reader.report(span_of(value), error.to_string(), None);
            None
        }
    }
}

/// Reads a date, with or without quotes.
fn read_date(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<jiff::civil::Date>> {
    let text =
        value.get_ref().as_datetime().map(ToString::to_string).or_else(|| value.get_ref().as_str().map(str::to_owned));
    let Some(text) = text else {
        reader.wrong_type(key, value, "a date");
        return None;
    };
    let date = text.parse().ok().filter(|_| text.len() == "2021-06-29".len());
    if date.is_none() {
        reader.report(span_of(value), format!("`{text}` is not a date"), Some("such as 2021-06-29".to_owned()));
    }
    date.map(|date| Spanned { value: date, span: span_of(value) })
}

/// Returns the elements of a list; reports an error and returns none for any other value.
fn read_list<'t, 'i>(reader: &mut Reader, key: &str, value: &'t Value<'i>) -> Vec<&'t Value<'i>> {
    if !value.get_ref().is_array() {
        reader.wrong_type(key, value, "a list");
        return Vec::new();
    }
    Reader::one_or_more(value)
}

/// Reads the categories of content that are complete.
fn read_categories(reader: &mut Reader, value: &Value<'_>) -> Vec<Spanned<ContentCategory>> {
    let mut found = Vec::new();
    for one in read_list(reader, "complete", value) {
        let Some(word) = reader.string("complete", one) else { continue };
        match ContentCategory::ALL.iter().find(|family| family.as_str() == word) {
            Some(family) => found.push(Spanned { value: *family, span: span_of(one) }),
            None => reader.unknown_word("family", &word, span_of(one), ContentCategory::NAMES),
        }
    }
    found
}

/// Reads a string or a list of strings.
fn read_names(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<String>> {
    Reader::one_or_more(value).into_iter().filter_map(|one| read_text(reader, key, one)).collect()
}

/// Reads a string or a list of strings as one value.
fn read_words(reader: &mut Reader, key: &str, value: &Value<'_>) -> Spanned<Vec<String>> {
    let words = read_names(reader, key, value).into_iter().map(|word| word.value).collect();
    Spanned { value: words, span: span_of(value) }
}

/// Reads a table of strings.
fn read_text_table(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<NamedEntry<Spanned<String>>> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let read = |(key, span, value): (&str, _, &Value<'_>)| {
        read_text(reader, key, value).map(|text| (Spanned { value: key.to_owned(), span }, text))
    };
    entries(table).into_iter().filter_map(read).collect()
}

/// Reads the environment variables that depend on the base image.
fn read_env_templates(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<NamedEntry<DescribedEnvTemplate>> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table) {
        let (mut set, mut unset) = (None, None);
        if value.get_ref().is_table() {
            let Some(table) = reader.table(name, value) else { continue };
            for (key, key_span, value) in entries(table) {
                match key {
                    "set" => set = read_text(reader, key, value),
                    "unset" => unset = read_text(reader, key, value),
                    _ => reader.unknown_key(key, key_span, &["set", "unset"]),
                }
            }
            if set.is_none() {
                reader.report(span, format!("`{name}` has no `set`"), None);
            }
        } else {
            set = read_text(reader, name, value);
        }
        found.extend(set.map(|set| (Spanned { value: name.to_owned(), span }, DescribedEnvTemplate { set, unset })));
    }
    found
}

/// Reads the table `[packages]`.
fn read_packages(reader: &mut Reader, value: &Value<'_>, description: &mut ImageDescription) {
    let Some(table) = reader.table("packages", value) else { return };
    for (key, key_span, value) in entries(table) {
        match key {
            "pip" => description.packages.pip = described_package::read_section(reader, key, value),
            "conda" => description.packages.conda = described_package::read_section(reader, key, value),
            "apt" => description.packages.apt = described_package::read_section(reader, key, value),
            "bounds" => description.packages.bounds = described_package::read_section(reader, key, value),
            "gone" => description.packages.removed_packages = described_package::read_removals(reader, key, value),
            "other_python" => description.packages.other_python = reader.boolean(key, value).unwrap_or(false),
            "by_driver" => description.packages.by_driver = read_text(reader, key, value),
            "unread" => description.packages.unread = read_text(reader, key, value),
            "unknown_wheels" => description.packages.unknown_wheels = read_numbers(reader, key, value),
            _ if let Ok(behavior) = key.parse::<InstallerBehavior>() => {
                let numbers = read_numbers(reader, key, value);
                description.packages.behaviors.insert(behavior, numbers);
            }
            _ => reader.unknown_key(key, key_span, PACKAGE_KEYS),
        }
    }
}

/// Reads the kind of input that the description was made from.
fn read_source_kind(reader: &mut Reader, value: &Value<'_>) -> InspectionDepth {
    let Some(word) = reader.string("of", value) else { return InspectionDepth::Description };
    if let Some((_, depth)) = SOURCE_KINDS.iter().find(|(own, _)| *own == word) {
        return *depth;
    }
    let words: Vec<&str> = SOURCE_KINDS.iter().map(|(word, _)| *word).collect();
    reader.unknown_word("source", &word, span_of(value), &words);
    InspectionDepth::Description
}

/// Reads the table `base_unknown`.
fn read_unknown_base(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<UnknownBase>> {
    let table = reader.table(key, value)?;
    let mut found = UnknownBase::default();
    for (key, key_span, value) in entries(table) {
        match key {
            "reason" => found.reason = reader.string(key, value).unwrap_or_default(),
            "supply" => found.supply = reader.string(key, value),
            "repository" => found.repository = reader.string(key, value),
            _ => reader.unknown_key(key, key_span, &["reason", "supply", "repository"]),
        }
    }
    Some(Spanned { value: found, span: span_of(value) })
}

/// Reads the table `[files]`.
fn read_files(reader: &mut Reader, value: &Value<'_>) -> Vec<NamedEntry<DescribedFile>> {
    let mut found = Vec::new();
    let Some(table) = reader.table("files", value) else { return found };
    for (path, path_span, value) in entries(table) {
        let Some(table) = reader.table(path, value) else { continue };
        let mut facts = DescribedFile::default();
        for (key, key_span, value) in entries(table) {
            match key {
                "link" => facts.link = read_text(reader, key, value),
                "text" => facts.text = read_text(reader, key, value),
                "elf_note" => facts.elf_note = reader.table(key, value).map(|table| read_elf_note(reader, table)),
                "needs" => facts.needs = read_names(reader, key, value),
                "opens" => facts.opens = read_names(reader, key, value),
                _ => reader.unknown_key(key, key_span, &["link", "text", "elf_note", "needs", "opens"]),
            }
        }
        found.push((Spanned { value: path.to_owned(), span: path_span }, facts));
    }
    found
}

/// Reads the ELF note of a file.
fn read_elf_note(reader: &mut Reader, table: &DeTable<'_>) -> DescribedElfNote {
    let mut note = DescribedElfNote::default();
    for (key, key_span, value) in entries(table) {
        match key {
            "cuda" => note.cuda = read_parsed(reader, key, value),
            "driver" => note.driver = read_numbers(reader, key, value),
            "device" => note.device = read_numbers(reader, key, value),
            _ => reader.unknown_key(key, key_span, &["cuda", "driver", "device"]),
        }
    }
    note
}

/// Reads a list of numbers.
fn read_numbers(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<u32>> {
    let mut found = Vec::new();
    for one in read_list(reader, key, value) {
        found.extend(reader.number(key, one).map(|number| Spanned { value: number, span: span_of(one) }));
    }
    found
}

/// Reads the tables `[[gpu_code]]`.
fn read_gpu_code(reader: &mut Reader, value: &Value<'_>) -> Vec<DescribedGpuCode> {
    let mut found = Vec::new();
    for one in read_list(reader, "gpu_code", value) {
        let Some(table) = reader.table("gpu_code", one) else { continue };
        let mut code = DescribedGpuCode::default();
        for (key, key_span, value) in entries(table) {
            match key {
                "file" => code.file = read_text(reader, key, value),
                "component" => code.component = read_text(reader, key, value),
                "untold" => code.targets_unknown = read_text(reader, key, value),
                "sass" => code.sass = Some(read_targets(reader, key, value)),
                "ptx" => code.ptx = Some(read_targets(reader, key, value)),
                "linkable" => code.linkable = read_targets(reader, key, value),
                "ptx_isa" => code.ptx_isa = read_parsed(reader, key, value),
                "containers" => {
                    code.containers = reader.number(key, value).map(|value| Spanned { value, span: key_span });
                }
                "needs" => code.needs = read_names(reader, key, value),
                "opens" => code.opens = read_names(reader, key, value),
                _ => reader.unknown_key(key, key_span, GPU_CODE_KEYS),
            }
        }
        found.push(code);
    }
    found
}

/// Reads GPU targets: `sm_90` in `sass`, `compute_90` in `ptx`, or bare numbers in both.
fn read_targets(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<CodeTarget>> {
    let (other, what, own) =
        if key == "sass" { ("compute_", "PTX", "sm_") } else { ("sm_", "native code", "compute_") };
    let mut found = Vec::new();
    for one in read_list(reader, key, value) {
        if let Some(number) = one.get_ref().as_str().and_then(|text| text.strip_prefix(other)) {
            let message = format!("`{other}{number}` is {what}, but the key is `{key}`");
            let list = if key == "sass" { "ptx" } else { "sass" };
            reader.report(span_of(one), message, Some(format!("write `{own}{number}`, or move it to `{list}`")));
            continue;
        }
        found.extend(read_parsed(reader, key, one));
    }
    found
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
