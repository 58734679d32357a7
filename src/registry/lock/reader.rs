//! Parses a lock file and reports all of its errors at once.

use toml::de::DeTable;

use crate::describe::Spanned;
use crate::knowledge::toml_reader::{Problems, Reader, Value, entries, span_of};
use crate::model::reference::ImageReference;
use crate::registry::Platform;
use crate::registry::lock::{BaseImageLock, LockedBaseImage, reference_with_default_tag};
use crate::text::source::{SourceText, Span};

/// The top-level keys of a lock file.
const TOP_LEVEL_KEYS: &[&str] = &["version", "base"];
/// The keys of a `[[base]]` entry.
const BASE_ENTRY_KEYS: &[&str] =
    &["reference", "platform", "digest", "config", "created", "platforms", "entrypoint", "withheld", "env"];
/// The supported version of the format.
const FORMAT_VERSION: u32 = 1;

impl BaseImageLock {
    /// Parses a lock file.
    pub fn parse(text: &SourceText) -> Result<Self, Box<Problems>> {
        let mut reader = Reader::default();
        let mut lock = Self::default();
        let table = reader.parse(text);
        if reader.is_clean() {
            let mut version = None;
            for (key, span, value) in entries(table.get_ref()) {
                match key {
                    "version" => version = reader.number(key, value).map(|number| (number, span_of(value))),
                    "base" => read_bases(&mut reader, value, &mut lock),
                    _ => reader.unknown_key(key, span, TOP_LEVEL_KEYS),
                }
            }
            match version {
                Some((FORMAT_VERSION, _)) => {}
                Some((other, span)) => {
                    reader.report(span, format!("version {other} is not supported"), Some(RECREATE_HELP.to_owned()));
                }
                None if reader.is_clean() => {
                    reader.report(Span::new(0, 0), "`version` is missing", Some(RECREATE_HELP.to_owned()));
                }
                None => {}
            }
        }
        reader.finish("lock file", text, lock)
    }
}

/// The help of an error that needs a new lock file.
const RECREATE_HELP: &str = "create the file again with `imagelint lock`";

/// Reads the `[[base]]` entries and reports duplicates.
fn read_bases(reader: &mut Reader, value: &Value<'_>, lock: &mut BaseImageLock) {
    for one in Reader::one_or_more(value) {
        let Some(table) = reader.table("base", one) else { continue };
        let Some(entry) = read_base(reader, table, span_of(one)) else { continue };
        let before = lock.entries_for(&entry.reference.value).any(|other| other.platform == entry.platform);
        if before {
            let message = format!("duplicate entry `{}` for {}", entry.reference.value, entry.platform);
            reader.report(entry.reference.span, message, None);
        }
        lock.insert(entry);
    }
}

/// Reads one `[[base]]` entry; `None` if a required key is missing or invalid.
fn read_base(reader: &mut Reader, table: &DeTable<'_>, whole: Span) -> Option<LockedBaseImage> {
    let nothing = || Spanned { value: Vec::new(), span: whole };
    let (mut reference, mut platform, mut digest, mut config, mut created) = (None, None, None, None, None);
    let (mut platforms, mut entrypoint, mut withheld, mut env) = (nothing(), nothing(), Vec::new(), Vec::new());
    for (key, span, value) in entries(table) {
        match key {
            "reference" => reference = read_checked_string(reader, key, value, check_reference),
            "platform" => platform = read_checked_string(reader, key, value, check_platform),
            "digest" => digest = read_checked_string(reader, key, value, check_digest),
            "config" => config = read_checked_string(reader, key, value, check_digest),
            "created" => created = reader.string(key, value),
            "platforms" => platforms = read_checked_list(reader, key, value, check_platform),
            "entrypoint" => entrypoint = read_checked_list(reader, key, value, |word| Ok(word.to_owned())),
            "withheld" => withheld = read_names(reader, key, value),
            "env" => env = read_variables(reader, key, value),
            _ => reader.unknown_key(key, span, BASE_ENTRY_KEYS),
        }
    }
    for (key, missing) in [
        ("reference", reference.is_none()),
        ("platform", platform.is_none()),
        ("digest", digest.is_none()),
        ("config", config.is_none()),
    ] {
        if missing && !entries(table).iter().any(|(written, _, _)| *written == key) {
            reader.report(whole, format!("`{key}` is missing"), Some(RECREATE_HELP.to_owned()));
        }
    }
    Some(LockedBaseImage {
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

/// Checks an image reference and adds its default tag.
fn check_reference(text: &str) -> Result<String, String> {
    ImageReference::parse(text)
        .map(|reference| reference_with_default_tag(&reference))
        .map_err(|error| error.to_string())
}

/// Checks a platform.
fn check_platform(text: &str) -> Result<String, String> {
    text.parse::<Platform>().map(|platform| platform.to_string()).map_err(|error| error.to_string())
}

/// Checks a digest.
fn check_digest(text: &str) -> Result<String, String> {
    ImageReference::parse(&format!("x@{text}")).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Reads a string and checks it; reports an invalid one.
fn read_checked_string(
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

/// Reads one or more strings and checks each of them.
fn read_checked_list(
    reader: &mut Reader,
    key: &str,
    value: &Value<'_>,
    check: fn(&str) -> Result<String, String>,
) -> Spanned<Vec<String>> {
    let items = Reader::one_or_more(value).into_iter().filter_map(|one| read_checked_string(reader, key, one, check));
    Spanned { value: items.map(|item| item.value).collect(), span: span_of(value) }
}

/// Reads a list of variable names.
fn read_names(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<Spanned<String>> {
    let items = Reader::one_or_more(value).into_iter();
    items.filter_map(|one| read_checked_string(reader, key, one, |word| Ok(word.to_owned()))).collect()
}

/// Reads a table of environment variables.
fn read_variables(reader: &mut Reader, key: &str, value: &Value<'_>) -> Vec<(Spanned<String>, Spanned<String>)> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let variable = |(name, span, value): (&str, Span, &Value<'_>)| {
        let value = read_checked_string(reader, name, value, |text| Ok(text.to_owned()))?;
        Some((Spanned { value: name.to_owned(), span }, value))
    };
    entries(table).into_iter().filter_map(variable).collect()
}
