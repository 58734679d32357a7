//! Reads a description; reports all its errors at once.

use std::str::FromStr;

use toml::de::DeTable;

use crate::cuda::BadVersion;
use crate::cuda::CodeTarget;
use crate::describe::Description;
use crate::describe::ElfNote;
use crate::describe::Family;
use crate::describe::FileFacts;
use crate::describe::GpuCode;
use crate::describe::Named;
use crate::describe::OnBase;
use crate::describe::Spanned;
use crate::describe::TOLD_OF;
use crate::describe::UnknownBase;
use crate::describe::checked::checked;
use crate::describe::package;
use crate::fact::Depth;
use crate::source::SourceText;
use crate::toml_reader::Problems;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::span_of;

/// All errors of a description.
pub type DescriptionErrors = Box<Problems>;

/// The top-level keys of an image description.
pub const KEYS: &[&str] = &[
    "of",
    "base",
    "base_unknown",
    "as_of",
    "platform",
    "from_scratch",
    "builds_for_gpus",
    "cuda_runtime",
    "entrypoint",
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
];

/// The keys of `[[gpu_code]]`.
pub const CODE_KEYS: &[&str] =
    &["file", "component", "untold", "sass", "ptx", "linkable", "ptx_isa", "containers", "needs", "opens"];

impl Description {
    /// Reads a description from TOML.
    pub fn read(text: &SourceText) -> Result<Self, DescriptionErrors> {
        let mut reader = Reader::default();
        let mut description = Self::default();
        let table = reader.parse(text);
        if reader.is_clean() {
            for (key, key_span, value) in entries(table.get_ref()) {
                match key {
                    "of" => description.of = of(&mut reader, value),
                    "base_unknown" => description.base_unknown = base_unknown(&mut reader, key, value),
                    "base" => description.base = text_of(&mut reader, key, value),
                    "as_of" => description.as_of = date(&mut reader, key, value),
                    "platform" => description.platforms = names(&mut reader, key, value),
                    "from_scratch" => description.from_scratch = reader.boolean(key, value).unwrap_or(false),
                    "builds_for_gpus" => description.builds_for_gpus = reader.boolean(key, value).unwrap_or(false),
                    "cuda_runtime" => description.cuda_runtime = parsed(&mut reader, key, value),
                    "entrypoint" => description.entrypoint = Some(words(&mut reader, key, value)),
                    "tag_now" => description.tag_now = Some(words(&mut reader, key, value)),
                    "complete" => description.complete = families(&mut reader, value),
                    "removed" => description.removed = names(&mut reader, key, value),
                    "env_on_base" => description.env_on_base = on_base(&mut reader, key, value),
                    "env_unknown" => description.env_unknown = names(&mut reader, key, value),
                    "env" => description.env = texts(&mut reader, key, value),
                    "packages" => packages(&mut reader, value, &mut description),
                    "files" => description.files = files(&mut reader, value),
                    "gpu_code" => description.gpu_code = gpu_code(&mut reader, value),
                    _ => reader.unknown_key(key, key_span, KEYS),
                }
            }
        }
        // What a program wrote down of an input is what stands there, be it wrong.
        if description.of == Depth::Description {
            checked(&mut reader, &description);
        }
        reader.finish("image description", text, description)
    }
}

fn text_of(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<String>> {
    reader.string(key, value).map(|text| Spanned { value: text, span: span_of(value) })
}

fn parsed<T: FromStr<Err = BadVersion>>(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<T>> {
    match reader.string(key, value)?.parse() {
        Ok(parsed) => Some(Spanned { value: parsed, span: span_of(value) }),
        Err(error) => {
            reader.report(span_of(value), error.to_string(), None);
            None
        }
    }
}

fn date(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<jiff::civil::Date>> {
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

/// The elements of a list; nothing and an error where it is none.
fn list<'t, 'i>(reader: &mut Reader, key: &str, value: &'t Value<'i>) -> Vec<&'t Value<'i>> {
    if !value.get_ref().is_array() {
        reader.wrong_type(key, value, "a list");
        return Vec::new();
    }
    Reader::one_or_more(value)
}

fn families(reader: &mut Reader, value: &Value<'_>) -> Vec<Spanned<Family>> {
    let mut found = Vec::new();
    for one in list(reader, "complete", value) {
        let Some(word) = reader.string("complete", one) else { continue };
        match Family::ALL.iter().find(|family| family.as_str() == word) {
            Some(family) => found.push(Spanned { value: *family, span: span_of(one) }),
            None => reader.unknown_word("family", &word, span_of(one), Family::WORDS),
        }
    }
    found
}

/// One word or a list of them.
fn names(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<String>> {
    Reader::one_or_more(value).into_iter().filter_map(|one| text_of(reader, key, one)).collect()
}

fn words(reader: &mut Reader, key: &str, value: &Value<'_>) -> Spanned<Vec<String>> {
    let words = names(reader, key, value).into_iter().map(|word| word.value).collect();
    Spanned { value: words, span: span_of(value) }
}

fn texts(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Named<Spanned<String>>> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let read = |(key, span, value): (&str, _, &Value<'_>)| {
        text_of(reader, key, value).map(|text| (Spanned { value: key.to_owned(), span }, text))
    };
    entries(table).into_iter().filter_map(read).collect()
}

fn on_base(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Named<OnBase>> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, span, value) in entries(table) {
        let (mut set, mut unset) = (None, None);
        if value.get_ref().is_table() {
            let Some(table) = reader.table(name, value) else { continue };
            for (key, key_span, value) in entries(table) {
                match key {
                    "set" => set = text_of(reader, key, value),
                    "unset" => unset = text_of(reader, key, value),
                    _ => reader.unknown_key(key, key_span, &["set", "unset"]),
                }
            }
            if set.is_none() {
                reader.report(span, format!("`{name}` has no `set`"), None);
            }
        } else {
            set = text_of(reader, name, value);
        }
        found.extend(set.map(|set| (Spanned { value: name.to_owned(), span }, OnBase { set, unset })));
    }
    found
}

fn packages(reader: &mut Reader, value: &Value<'_>, description: &mut Description) {
    let Some(table) = reader.table("packages", value) else { return };
    for (key, key_span, value) in entries(table) {
        match key {
            "pip" => description.packages.pip = package::read(reader, key, value),
            "conda" => description.packages.conda = package::read(reader, key, value),
            "apt" => description.packages.apt = package::read(reader, key, value),
            "bounds" => description.packages.bounds = package::read(reader, key, value),
            "gone" => description.packages.gone = package::gone(reader, key, value),
            "other_python" => description.packages.other_python = reader.boolean(key, value).unwrap_or(false),
            "by_driver" => description.packages.by_driver = text_of(reader, key, value),
            "unread" => description.packages.unread = text_of(reader, key, value),
            "unknown_wheels" => description.packages.unknown_wheels = numbers(reader, key, value),
            "untold" => description.packages.untold = numbers(reader, key, value),
            "keeping" => description.packages.keeping = numbers(reader, key, value),
            "renewing" => description.packages.renewing = numbers(reader, key, value),
            _ => reader.unknown_key(key, key_span, PACKAGE_KEYS),
        }
    }
}

fn of(reader: &mut Reader, value: &Value<'_>) -> Depth {
    let Some(word) = reader.string("of", value) else { return Depth::Description };
    if let Some((_, depth)) = TOLD_OF.iter().find(|(own, _)| *own == word) {
        return *depth;
    }
    let words: Vec<&str> = TOLD_OF.iter().map(|(word, _)| *word).collect();
    reader.unknown_word("source", &word, span_of(value), &words);
    Depth::Description
}

fn base_unknown(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<Spanned<UnknownBase>> {
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

fn files(reader: &mut Reader, value: &Value<'_>) -> Vec<Named<FileFacts>> {
    let mut found = Vec::new();
    let Some(table) = reader.table("files", value) else { return found };
    for (path, path_span, value) in entries(table) {
        let Some(table) = reader.table(path, value) else { continue };
        let mut facts = FileFacts::default();
        for (key, key_span, value) in entries(table) {
            match key {
                "link" => facts.link = text_of(reader, key, value),
                "text" => facts.text = text_of(reader, key, value),
                "elf_note" => facts.elf_note = reader.table(key, value).map(|table| elf_note(reader, table)),
                "needs" => facts.needs = names(reader, key, value),
                "opens" => facts.opens = names(reader, key, value),
                _ => reader.unknown_key(key, key_span, &["link", "text", "elf_note", "needs", "opens"]),
            }
        }
        found.push((Spanned { value: path.to_owned(), span: path_span }, facts));
    }
    found
}

fn elf_note(reader: &mut Reader, table: &DeTable<'_>) -> ElfNote {
    let mut note = ElfNote::default();
    for (key, key_span, value) in entries(table) {
        match key {
            "cuda" => note.cuda = parsed(reader, key, value),
            "driver" => note.driver = numbers(reader, key, value),
            "device" => note.device = numbers(reader, key, value),
            _ => reader.unknown_key(key, key_span, &["cuda", "driver", "device"]),
        }
    }
    note
}

fn numbers(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<u32>> {
    let mut found = Vec::new();
    for one in list(reader, key, value) {
        found.extend(reader.number(key, one).map(|number| Spanned { value: number, span: span_of(one) }));
    }
    found
}

fn gpu_code(reader: &mut Reader, value: &Value<'_>) -> Vec<GpuCode> {
    let mut found = Vec::new();
    for one in list(reader, "gpu_code", value) {
        let Some(table) = reader.table("gpu_code", one) else { continue };
        let mut code = GpuCode::default();
        for (key, key_span, value) in entries(table) {
            match key {
                "file" => code.file = text_of(reader, key, value),
                "component" => code.component = text_of(reader, key, value),
                "untold" => code.untold = text_of(reader, key, value),
                "sass" => code.sass = Some(targets(reader, key, value)),
                "ptx" => code.ptx = Some(targets(reader, key, value)),
                "linkable" => code.linkable = targets(reader, key, value),
                "ptx_isa" => code.ptx_isa = parsed(reader, key, value),
                "containers" => {
                    code.containers = reader.number(key, value).map(|value| Spanned { value, span: key_span });
                }
                "needs" => code.needs = names(reader, key, value),
                "opens" => code.opens = names(reader, key, value),
                _ => reader.unknown_key(key, key_span, CODE_KEYS),
            }
        }
        found.push(code);
    }
    found
}

/// Targets under the names that they have in a list: `sm_90` of native code, `compute_90` of PTX; bare numbers in both.
fn targets(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<CodeTarget>> {
    let (other, what, own) =
        if key == "sass" { ("compute_", "PTX", "sm_") } else { ("sm_", "native code", "compute_") };
    let mut found = Vec::new();
    for one in list(reader, key, value) {
        if let Some(number) = one.get_ref().as_str().and_then(|text| text.strip_prefix(other)) {
            let message = format!("`{other}{number}` is {what}, but the key is `{key}`");
            let list = if key == "sass" { "ptx" } else { "sass" };
            reader.report(span_of(one), message, Some(format!("write `{own}{number}`, or move it to `{list}`")));
            continue;
        }
        found.extend(parsed(reader, key, one));
    }
    found
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
