//! Reads a lock file; reports all its errors at once.

use toml::de::DeTable;

use crate::describe::Spanned;
use crate::lock::Entry;
use crate::lock::Lock;
use crate::lock::name;
use crate::oci::Platform;
use crate::reference::ImageReference;
use crate::source::SourceText;
use crate::source::Span;
use crate::toml_reader::Problems;
use crate::toml_reader::Reader;
use crate::toml_reader::Value;
use crate::toml_reader::entries;
use crate::toml_reader::span_of;

const KEYS: &[&str] = &["version", "base"];
const BASE_KEYS: &[&str] =
    &["reference", "platform", "digest", "config", "created", "platforms", "entrypoint", "withheld", "env"];
/// The form that is read.
const VERSION: u32 = 1;

impl Lock {
    /// Reads a lock file.
    pub fn read(text: &SourceText) -> Result<Self, Box<Problems>> {
        let mut reader = Reader::default();
        let mut lock = Self::default();
        let table = reader.parse(text);
        if reader.is_clean() {
            let mut version = None;
            for (key, span, value) in entries(table.get_ref()) {
                match key {
                    "version" => version = reader.number(key, value).map(|number| (number, span_of(value))),
                    "base" => bases(&mut reader, value, &mut lock),
                    _ => reader.unknown_key(key, span, KEYS),
                }
            }
            match version {
                Some((VERSION, _)) => {}
                Some((other, span)) => {
                    reader.report(span, format!("version {other} is not supported"), Some(AGAIN.to_owned()));
                }
                None if reader.is_clean() => {
                    reader.report(Span::new(0, 0), "`version` is missing", Some(AGAIN.to_owned()));
                }
                None => {}
            }
        }
        reader.finish("lock file", text, lock)
    }
}

const AGAIN: &str = "create the file again with `imagelint lock`";

fn bases(reader: &mut Reader, value: &Value<'_>, lock: &mut Lock) {
    for one in Reader::one_or_more(value) {
        let Some(table) = reader.table("base", one) else { continue };
        let Some(entry) = base(reader, table, span_of(one)) else { continue };
        let before = lock.of(&entry.reference.value).any(|other| other.platform == entry.platform);
        if before {
            let message = format!("duplicate entry `{}` for {}", entry.reference.value, entry.platform);
            reader.report(entry.reference.span, message, None);
        }
        lock.put(entry);
    }
}

fn base(reader: &mut Reader, table: &DeTable<'_>, whole: Span) -> Option<Entry> {
    let nothing = || Spanned { value: Vec::new(), span: whole };
    let (mut reference, mut platform, mut digest, mut config, mut created) = (None, None, None, None, None);
    let (mut platforms, mut entrypoint, mut withheld, mut env) = (nothing(), nothing(), Vec::new(), Vec::new());
    for (key, span, value) in entries(table) {
        match key {
            "reference" => reference = checked(reader, key, value, image),
            "platform" => platform = checked(reader, key, value, os_and_architecture),
            "digest" => digest = checked(reader, key, value, digest_of),
            "config" => config = checked(reader, key, value, digest_of),
            "created" => created = reader.string(key, value),
            "platforms" => platforms = list(reader, key, value, os_and_architecture),
            "entrypoint" => entrypoint = list(reader, key, value, |word| Ok(word.to_owned())),
            "withheld" => withheld = names(reader, key, value),
            "env" => env = variables(reader, key, value),
            _ => reader.unknown_key(key, span, BASE_KEYS),
        }
    }
    for (key, missing) in [
        ("reference", reference.is_none()),
        ("platform", platform.is_none()),
        ("digest", digest.is_none()),
        ("config", config.is_none()),
    ] {
        if missing && !entries(table).iter().any(|(written, _, _)| *written == key) {
            reader.report(whole, format!("`{key}` is missing"), Some(AGAIN.to_owned()));
        }
    }
    Some(Entry {
        reference: reference?,
        platform: platform?.value,
        digest: digest?.value,
        config: config?.value,
        created,
        platforms,
        entrypoint,
        env,
        withheld,
    })
}

fn image(text: &str) -> Result<String, String> {
    ImageReference::parse(text).map(|reference| name(&reference)).map_err(|error| error.to_string())
}

fn os_and_architecture(text: &str) -> Result<String, String> {
    text.parse::<Platform>().map(|platform| platform.to_string()).map_err(|error| error.to_string())
}

fn digest_of(text: &str) -> Result<String, String> {
    ImageReference::parse(&format!("x@{text}")).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn checked(
    reader: &mut Reader,
    key: &str,
    value: &Value<'_>,
    check: fn(&str) -> Result<String, String>,
) -> Option<Spanned<String>> {
    let span = span_of(value);
    match check(&reader.string(key, value)?) {
        Ok(value) => Some(Spanned { value, span }),
        Err(reason) => {
            reader.report(span, reason, None);
            None
        }
    }
}

fn list(
    reader: &mut Reader,
    key: &str,
    value: &Value<'_>,
    check: fn(&str) -> Result<String, String>,
) -> Spanned<Vec<String>> {
    let items = Reader::one_or_more(value).into_iter().filter_map(|one| checked(reader, key, one, check));
    Spanned { value: items.map(|item| item.value).collect(), span: span_of(value) }
}

fn names(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<String>> {
    let items = Reader::one_or_more(value).into_iter();
    items.filter_map(|one| checked(reader, key, one, |word| Ok(word.to_owned()))).collect()
}

fn variables(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<(Spanned<String>, Spanned<String>)> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let variable = |(name, span, value): (&str, Span, &Value<'_>)| {
        let value = checked(reader, name, value, |text| Ok(text.to_owned()))?;
        Some((Spanned { value: name.to_owned(), span }, value))
    };
    entries(table).into_iter().filter_map(variable).collect()
}
