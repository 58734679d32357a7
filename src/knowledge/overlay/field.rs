//! Reads a field of a knowledge row from TOML, as the type that the row has.

use jiff::civil::{Date, date};
use toml::de::DeValue;

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::schema::{HOW, Kind};
use crate::knowledge::toml_reader::{Reader, Value, entries, span_of};
use crate::knowledge::{
    BrandRow, ByArch, CompatSelection, GpuClass, How, InstallerSyntax, OptionMeaning, OptionValue, ParsedText,
    RowRange, RowVersion, ToolEffect, ToolkitChange,
};
use crate::model::package::{ExactVersion, VersionRange};

/// A type that a field of a knowledge row can have.
///
/// What is read lives as long as the process: tables are read once, and their rows are handed out without a lifetime.
pub(super) trait Field: Sized {
    /// Returns the value of a missing field; `None` if the field is required.
    fn value_if_missing(kind: Kind) -> Option<Self>;

    /// Reads the value of a field, and reports an error if it is invalid.
    fn read(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Self>;
}

/// Leaks a text, so that it lives as long as the process.
pub(super) fn leak_text(text: String) -> &'static str {
    text.leak()
}

impl Field for &'static str {
    fn value_if_missing(_: Kind) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
        reader.string(key, value).map(leak_text)
    }
}

impl Field for u32 {
    fn value_if_missing(_: Kind) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
        reader.number(key, value)
    }
}

impl Field for u16 {
    fn value_if_missing(_: Kind) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
        let number = reader.number(key, value)?;
        let short = Self::try_from(number).ok();
        if short.is_none() {
            reader.report(span_of(value), format!("`{key}` is {number}, expected at most {}", Self::MAX), None);
        }
        short
    }
}

impl Field for bool {
    fn value_if_missing(kind: Kind) -> Option<Self> {
        matches!(kind, Kind::Flag).then_some(false)
    }

    fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
        reader.boolean(key, value)
    }
}

impl<T: Field> Field for Option<T> {
    fn value_if_missing(kind: Kind) -> Option<Self> {
        if matches!(kind, Kind::VersionOrAny) { None } else { Some(None) }
    }

    fn read(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Self> {
        if matches!(kind, Kind::VersionOrAny) && value.get_ref().as_str() == Some("*") {
            return Some(None);
        }
        T::read(reader, key, kind, value).map(Some)
    }
}

/// Reads a string and parses it, and reports an error of the parser.
fn parsed<T>(reader: &mut Reader, key: &str, value: &Value<'_>) -> Option<T>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    match reader.string(key, value)?.parse() {
        Ok(found) => Some(found),
        Err(error) => {
            reader.report(span_of(value), error.to_string(), None);
            None
        }
    }
}

impl Field for CudaVersion {
    fn value_if_missing(_: Kind) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Self> {
        let version: Self = parsed(reader, key, value)?;
        if matches!(kind, Kind::Minor) && version.0.len() != 2 {
            let message = format!("`{version}` is not a CUDA minor version: expected two numbers, such as 12.4");
            reader.report(span_of(value), message, None);
            return None;
        }
        Some(version)
    }
}

macro_rules! parsed_fields {
    ($($name:ty)*) => {$(
        impl Field for $name {
            fn value_if_missing(_: Kind) -> Option<Self> {
                None
            }

            fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
                parsed(reader, key, value)
            }
        }
    )*};
}

parsed_fields!(DriverVersion ComputeCapability CodeTarget);

macro_rules! parsed_texts {
    ($($name:ty, $what:literal;)*) => {$(
        impl Field for &'static ParsedText<$name> {
            fn value_if_missing(_: Kind) -> Option<Self> {
                None
            }

            fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
                let parsed: Self = ParsedText::leak(&reader.string(key, value)?);
                if !parsed.is_valid() {
                    reader.report(span_of(value), format!(concat!("`{}` is not ", $what), parsed), None);
                    return None;
                }
                Some(parsed)
            }
        }
    )*};
}

parsed_texts! {
    ExactVersion, "a version, such as 2.6.0";
    VersionRange, "a range of versions, such as >=2.1,<3";
}

/// Returns the enum of a field of a kind, and the words that the field may have.
fn enum_of_kind(kind: Kind) -> Option<(&'static str, &'static [&'static str])> {
    match kind {
        Kind::Variant(name, words) => Some((name, words)),
        Kind::HowElseInferred => Some(("How", HOW)),
        _ => None,
    }
}

macro_rules! word_fields {
    ($($name:ident)*) => {$(
        impl Field for $name {
            fn value_if_missing(kind: Kind) -> Option<Self> {
                if matches!(kind, Kind::HowElseInferred) { "inferred".parse().ok() } else { None }
            }

            fn read(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Self> {
                let (name, words) = enum_of_kind(kind)?;
                debug_assert_eq!(name, stringify!($name), "the schema names the type of the row");
                let word = reader.string(key, value)?;
                let found = word.parse().ok();
                if found.is_none() {
                    reader.unknown_word(key, &word, span_of(value), words);
                }
                found
            }
        }
    )*};
}

word_fields!(How GpuClass CompatSelection InstallerSyntax OptionMeaning OptionValue ToolEffect ToolkitChange);

impl Field for Date {
    fn value_if_missing(_: Kind) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Self> {
        let written = match value.get_ref() {
            DeValue::Datetime(written) if written.time.is_none() && written.offset.is_none() => written.date,
            _ => None,
        };
        let Some(day) = written else {
            reader.wrong_type(key, value, "a date without quotes, such as 2026-11-21");
            return None;
        };
        let civil = |part: u8| i8::try_from(part).ok();
        let year = i16::try_from(day.year).ok()?;
        Self::new(year, civil(day.month)?, civil(day.day)?).ok().filter(|day| *day >= date(1990, 1, 1)).or_else(|| {
            reader.report(span_of(value), format!("`{key}` is not a date since 1990"), None);
            None
        })
    }
}

impl<T: Element> Field for &'static [T] {
    fn value_if_missing(kind: Kind) -> Option<Self> {
        if matches!(kind, Kind::Capabilities) { None } else { Some(&[]) }
    }

    fn read(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Self> {
        T::all(reader, key, kind, value).map(|all| &*all.leak())
    }
}

/// A type of which a field can contain several, as a list or as a table.
pub(super) trait Element: Sized {
    /// Reads all elements, and reports an error if one is invalid.
    fn all(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Vec<Self>>;
}

/// Reads the elements of a TOML list.
fn listed<T>(
    reader: &mut Reader,
    key: &str,
    value: &Value<'_>,
    mut one: impl FnMut(&mut Reader, &Value<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(items) = value.get_ref().as_array() else {
        reader.wrong_type(key, value, "a list");
        return None;
    };
    let read: Vec<Option<T>> = items.iter().map(|item| one(reader, item)).collect();
    read.into_iter().collect()
}

macro_rules! list_elements {
    ($($name:ty)*) => {$(
        impl Element for $name {
            fn all(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Vec<Self>> {
                listed(reader, key, value, |reader, item| Self::read(reader, key, kind, item))
            }
        }
    )*};
}

list_elements!(&'static str u32 CudaVersion DriverVersion ComputeCapability CodeTarget);

/// Reads the entries of a TOML table.
fn read_table_entries<T: Field>(
    reader: &mut Reader,
    key: &str,
    kind: Kind,
    value: &Value<'_>,
) -> Option<Vec<(&'static str, T)>> {
    let read: Vec<Option<(&'static str, T)>> = entries(reader.table(key, value)?)
        .into_iter()
        .map(|(name, _, value)| Some((leak_text(name.to_owned()), T::read(reader, name, kind, value)?)))
        .collect();
    read.into_iter().collect()
}

impl<T: Field> Element for ByArch<T> {
    fn all(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Vec<Self>> {
        let all = read_table_entries(reader, key, kind, value)?;
        Some(all.into_iter().map(|(arch, value)| Self { arch, value }).collect())
    }
}

impl<T: Field> Element for (&'static str, T) {
    fn all(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Vec<Self>> {
        read_table_entries(reader, key, kind, value)
    }
}

impl Element for (RowVersion, RowRange) {
    fn all(reader: &mut Reader, key: &str, kind: Kind, value: &Value<'_>) -> Option<Vec<Self>> {
        let pairs: Vec<(&str, RowRange)> = read_table_entries(reader, key, kind, value)?;
        let mut read = Vec::new();
        for (version, range) in pairs {
            let version: RowVersion = ParsedText::leak(version);
            if !version.is_valid() {
                reader.report(span_of(value), format!("`{version}` is not a version"), None);
                return None;
            }
            read.push((version, range));
        }
        Some(read)
    }
}

impl Element for BrandRow {
    fn all(reader: &mut Reader, key: &str, _: Kind, value: &Value<'_>) -> Option<Vec<Self>> {
        listed(reader, key, value, |reader, item| {
            let (mut brand, mut from_branch, mut up_to_branch) = (None, None, None);
            for (name, span, value) in entries(reader.table(key, item)?) {
                match name {
                    "brand" => brand = Some(reader.string(name, value).map(leak_text)?),
                    "from_branch" => from_branch = Some(reader.number(name, value)?),
                    "up_to_branch" => up_to_branch = Some(reader.number(name, value)?),
                    _ => reader.unknown_key(name, span, &["brand", "from_branch", "up_to_branch"]),
                }
            }
            if brand.is_none() {
                reader.report(span_of(item), "a brand entry has no `brand`", None);
            }
            Some(Self { from_branch, up_to_branch, brand: brand? })
        })
    }
}
