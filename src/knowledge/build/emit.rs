//! Generation of Rust source code from the rows of the table files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr as _;

use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;
use toml::Value;
use toml::value::Datetime;

use crate::schema::{HOW, Kind, PROVENANCE, TABLES, Table};

/// Beginning of the generated file.
pub(crate) const HEAD: &str = "// Generated from rules/knowledge by src/knowledge/build.\n\
    use jiff::civil::date;\n\n\
    use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};\n\
    use crate::knowledge::rows;\n\
    use crate::knowledge::lookup::Tables;\n\
    use crate::knowledge::parsed_text::ParsedText;\n\
    use crate::model::package::{ExactVersion, VersionRange};\n";

/// One file of `rules/knowledge/`: default provenance, and the rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    source: String,
    checked: Datetime,
    how: String,
    #[serde(rename = "row")]
    rows: Vec<toml::Table>,
}

macro_rules! row_types {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        /// The type of a table's rows.
        fn row_type(table: &Table) -> &'static str {
            match table.name {
                $(stringify!($name) => stringify!($row),)*
                _ => "",
            }
        }
    };
}

every_table!(row_types);

/// Returns the file name of a table.
pub(crate) fn file_name(table: &Table) -> String {
    format!("{}.toml", table.name)
}

/// Returns the Rust source of the static with the rows of one table.
pub(crate) fn table(table: &Table, file: &File) -> Result<String, String> {
    let name = file_name(table);
    let mut code = format!("\nstatic {}: &[rows::{}] = &[\n", table.name.to_uppercase(), row_type(table));
    let mut seen = BTreeSet::new();
    for (index, row) in file.rows.iter().enumerate() {
        let key = row_key(table, row);
        let place = format!("{name}, row {} ({key})", index + 1);
        if !seen.insert(key.clone()) {
            return Err(format!("{place}: duplicate key"));
        }
        code.push_str(&one_row(table, file, row, &key).map_err(|error| format!("{place}: {error}"))?);
    }
    code.push_str("];\n");
    Ok(code)
}

/// Returns the Rust source of the static with all tables.
pub(crate) fn set() -> String {
    let fields = TABLES.iter().map(|table| format!("{}: {}", table.name, table.name.to_uppercase()));
    format!("\npub(super) static BUILT_IN: Tables = Tables {{ {} }};\n", fields.collect::<Vec<_>>().join(", "))
}

/// Returns the key of a row as text.
fn row_key(table: &Table, row: &toml::Table) -> String {
    let parts = table.key.iter().filter_map(|field| row.get(*field)).map(|value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns the Rust expression of one row.
fn one_row(table: &Table, file: &File, row: &toml::Table, key: &str) -> Result<String, String> {
    let known = |name: &str| PROVENANCE.contains(&name) || table.fields.iter().any(|(field, _)| *field == name);
    if let Some(unknown) = row.keys().find(|name| !known(name)) {
        return Err(format!("this table has no field `{unknown}`"));
    }
    let source = row.get("source").map_or(Ok(file.source.as_str()), |value| text(value)).map_err(in_field("source"))?;
    if source.trim().is_empty() {
        return Err("an empty source".to_owned());
    }
    let checked = match row.get("checked") {
        Some(value) => day(value),
        None => civil(&file.checked),
    };
    let how = row.get("how").map_or(Ok(file.how.as_str()), |value| text(value)).map_err(in_field("how"))?;
    let mut code = format!(
        "    rows::{} {{ info: rows::RowInfo {{ table: {:?}, row: {key:?}, source: {source:?}, checked: {}, how: {} }}",
        row_type(table),
        table.name,
        checked.map_err(in_field("checked"))?,
        variant("How", HOW, how).map_err(in_field("how"))?,
    );
    for (field, kind) in table.fields {
        let value = expression(*kind, row.get(*field)).map_err(in_field(field))?;
        let _ = write!(code, ", {field}: {value}");
    }
    code.push_str(" },\n");
    Ok(code)
}

/// Returns a function that prefixes an error message with a field name.
fn in_field(field: &str) -> impl Fn(String) -> String {
    move |error| format!("`{field}`: {error}")
}

/// Returns the Rust expression of one field value.
fn expression(kind: Kind, value: Option<&Value>) -> Result<String, String> {
    let needed = || value.ok_or_else(|| "missing".to_owned());
    match kind {
        Kind::Str => quoted(needed()?),
        Kind::OptStr => optional(value, quoted),
        Kind::Strs => list(value, quoted),
        Kind::U16 => number(needed()?, u16::MAX.into()),
        Kind::U32 => number(needed()?, u32::MAX.into()),
        Kind::OptU32 => optional(value, |value| number(value, u32::MAX.into())),
        Kind::U32s => list(value, |value| number(value, u32::MAX.into())),
        Kind::Bool => flag(needed()?),
        Kind::OptBool => optional(value, flag),
        Kind::Flag => value.map_or(Ok("false".to_owned()), flag),
        Kind::Version => parsed_version(needed()?),
        Kind::OptVersion => optional(value, parsed_version),
        Kind::VersionOrAny => match needed()? {
            Value::String(text) if text == "*" => Ok("None".to_owned()),
            one => optional(Some(one), parsed_version),
        },
        Kind::Range => parsed_range(needed()?),
        Kind::OptRange => optional(value, parsed_range),
        Kind::VersionByName => pairs(value, parsed_version),
        Kind::RangeByVersion => ranges_by_version(value),
        Kind::Cuda => version("CudaVersion", needed()?),
        Kind::Minor => minor(needed()?),
        Kind::OptCuda => optional(value, |value| version("CudaVersion", value)),
        Kind::Cudas => list(value, |value| version("CudaVersion", value)),
        Kind::Driver => version("DriverVersion", needed()?),
        Kind::OptDriver => optional(value, |value| version("DriverVersion", value)),
        Kind::Drivers => list(value, |value| version("DriverVersion", value)),
        Kind::Capability => capability(needed()?),
        Kind::OptCapability => optional(value, capability),
        Kind::Capabilities => list(Some(needed()?), capability),
        Kind::Targets => list(value, target),
        Kind::Day => day(needed()?),
        Kind::OptDay => optional(value, day),
        Kind::StrByArch => by_arch(value, quoted),
        Kind::Brands => list(value, brand),
        Kind::Pairs => pairs(value, quoted),
        Kind::Variant(name, variants) => variant(name, variants, text(needed()?)?),
        Kind::HowElseInferred => variant("How", HOW, value.map_or(Ok("inferred"), text)?),
    }
}

/// Returns an `Option` expression.
fn optional(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    value.map_or(Ok("None".to_owned()), |value| Ok(format!("Some({})", one(value)?)))
}

/// Returns a slice expression; an absent list is empty.
fn list(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_array().ok_or("expected a list")?;
    let items: Vec<String> = items.iter().map(one).collect::<Result<_, _>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

/// Returns a slice expression of `ByArch` values.
fn by_arch(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_table().ok_or("expected a table by architecture")?;
    let items: Vec<String> = items
        .iter()
        .map(|(arch, value)| Ok(format!("rows::ByArch {{ arch: {arch:?}, value: {} }}", one(value)?)))
        .collect::<Result<_, String>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

/// Returns a slice expression of name and value pairs.
fn pairs(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_table().ok_or("expected a table of names and values")?;
    let items: Vec<String> =
        items.iter().map(|(name, value)| Ok(format!("({name:?}, {})", one(value)?))).collect::<Result<_, String>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

/// Returns a TOML value as a string.
fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("expected a string, not {value}"))
}

/// Returns a string literal.
fn quoted(value: &Value) -> Result<String, String> {
    Ok(format!("{:?}", text(value)?))
}

/// Returns an integer literal between 0 and `most`.
fn number(value: &Value, most: i64) -> Result<String, String> {
    let number = value.as_integer().filter(|number| (0..=most).contains(number));
    number.map(|number| number.to_string()).ok_or_else(|| format!("expected a number up to {most}, not {value}"))
}

/// Returns a boolean literal.
fn flag(value: &Value) -> Result<String, String> {
    value.as_bool().map(|value| value.to_string()).ok_or_else(|| format!("expected true or false, not {value}"))
}

/// Returns a constructor call for a dotted version.
fn version(name: &str, value: &Value) -> Result<String, String> {
    let written = text(value)?;
    let part = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if written.split('.').count() > 4 || !written.split('.').all(part) {
        return Err(format!("`{written}` is not a version"));
    }
    Ok(format!("{name}::constant({written:?})"))
}

/// Returns an expression for a version by PEP 440.
fn parsed_version(value: &Value) -> Result<String, String> {
    let written = text(value)?;
    Version::from_str(written).map_err(|error| format!("`{written}` is not a version: {error}"))?;
    Ok(parsed_text("ExactVersion", written))
}

/// Returns an expression for a range of versions.
fn parsed_range(value: &Value) -> Result<String, String> {
    let written = text(value)?;
    VersionSpecifiers::from_str(written).map_err(|error| format!("`{written}` is not a range: {error}"))?;
    Ok(parsed_text("VersionRange", written))
}

/// Returns an expression for a text that is parsed at first use.
fn parsed_text(parsed: &str, written: &str) -> String {
    format!("{{ static TEXT: ParsedText<{parsed}> = ParsedText::new({written:?}); &TEXT }}")
}

/// Returns a slice expression of version and range pairs.
fn ranges_by_version(value: Option<&Value>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_table().ok_or("expected a table of versions and ranges")?;
    let pair = |(version, range): (&String, &Value)| {
        Ok(format!("({}, {})", parsed_version(&Value::String(version.clone()))?, parsed_range(range)?))
    };
    let items: Vec<String> = items.iter().map(pair).collect::<Result<_, String>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

/// Returns a constructor call for a CUDA version of exactly two numbers.
fn minor(value: &Value) -> Result<String, String> {
    if text(value)?.matches('.').count() != 1 {
        return Err(format!("{value} is not a CUDA minor version such as 12.4"));
    }
    version("CudaVersion", value)
}

/// Returns a constructor call for a compute capability.
fn capability(value: &Value) -> Result<String, String> {
    let written = text(value)?;
    let parts = written.split_once('.').and_then(|(major, minor)| {
        Some((major.parse::<u8>().ok()?, minor.parse::<u8>().ok().filter(|minor| *minor < 10)?))
    });
    let (major, minor) = parts.ok_or_else(|| format!("`{written}` is not a compute capability"))?;
    Ok(format!("ComputeCapability::new({major}, {minor})"))
}

/// Returns a constructor call for a code target such as `90a`.
fn target(value: &Value) -> Result<String, String> {
    let written = text(value)?;
    let digits = written.trim_end_matches(['a', 'f']);
    let suffix = written[digits.len()..].chars().next().unwrap_or(' ');
    let number = digits.parse::<u16>().ok().filter(|_| digits.len() >= 2 && written.len() <= digits.len() + 1);
    let number = number.ok_or_else(|| format!("`{written}` is not a code target"))?;
    Ok(format!("CodeTarget::constant({}, {}, {suffix:?})", number / 10, number % 10))
}

/// Returns a date expression.
fn day(value: &Value) -> Result<String, String> {
    value.as_datetime().ok_or_else(|| format!("expected a date, not {value}")).and_then(civil)
}

/// Returns the date expression of a TOML date without a time.
fn civil(value: &Datetime) -> Result<String, String> {
    let date = value.date.filter(|_| value.time.is_none() && value.offset.is_none());
    let date = date.ok_or_else(|| format!("expected a date without a time, not {value}"))?;
    Ok(format!("date({}, {}, {})", date.year, date.month, date.day))
}

/// Returns a `BrandRow` expression.
fn brand(value: &Value) -> Result<String, String> {
    let row = value.as_table().ok_or("expected a brand with its branches")?;
    if let Some(unknown) = row.keys().find(|key| !["brand", "from_branch", "up_to_branch"].contains(&key.as_str())) {
        return Err(format!("a brand has no field `{unknown}`"));
    }
    Ok(format!(
        "rows::BrandRow {{ from_branch: {}, up_to_branch: {}, brand: {} }}",
        expression(Kind::OptU32, row.get("from_branch"))?,
        expression(Kind::OptU32, row.get("up_to_branch"))?,
        expression(Kind::Str, row.get("brand"))?,
    ))
}

/// Returns the path of an enum variant, from its name in kebab case.
fn variant(name: &str, variants: &[&str], written: &str) -> Result<String, String> {
    if !variants.contains(&written) {
        return Err(format!("`{written}` is not one of {}", variants.join(", ")));
    }
    let camel: String = written.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    Ok(format!("rows::{name}::{camel}"))
}
