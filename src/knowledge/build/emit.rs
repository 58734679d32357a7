//! Rows as Rust expressions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use toml::Value;
use toml::value::Datetime;

use crate::schema::{File, HOW, Kind, TABLES, Table};

pub(crate) const HEAD: &str = "// Generated from rules/knowledge by src/knowledge/build.\n\
    use jiff::civil::date;\n\n\
    use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};\n\
    use crate::knowledge::rows::{\n    \
    ArchitectureRow, BaseFamilyRow, BranchRow, BrandNumberRow, BrandRow, ByArch, CodeFamilyRow, CompatRow, CompatSelection, ContainerToolkitRow, CudaImageRow,\n    \
    ErrorRow, ForwardRow, FrameworkBuildRow, FrameworkImageRow, GpuClass, GpuRow, How, MinorCompatRow, PlainImageRow,\n    \
    DriverPackageRow, EngineRow, FrameworkRow, RequireRow, RowInfo, TegraRow, TargetSetRow, ToolkitRow, TorchBuildRow, TorchRow, TorchPinRow, TorchPythonRow, ImagePythonRow, CudaExtensionRow, WithdrawnRow,\n};\n";

/// The fields that every row may have beside its own.
const PROVENANCE: &[&str] = &["source", "checked", "how"];

/// The static of one table.
pub(crate) fn table(table: &Table, file: &File) -> Result<String, String> {
    let name = table.file_name();
    let mut code = format!("\npub(super) static {}: &[{}] = &[\n", table.name.to_uppercase(), table.row);
    let mut seen = BTreeSet::new();
    for (index, row) in file.rows.iter().enumerate() {
        let key = row_key(table, row);
        let place = format!("{name}, row {} ({key})", index + 1);
        if !seen.insert(key.clone()) {
            return Err(format!("{place}: this key is there twice"));
        }
        code.push_str(&one_row(table, file, row, &key).map_err(|error| format!("{place}: {error}"))?);
    }
    code.push_str("];\n");
    Ok(code)
}

/// A function over the provenance of every row of every table.
pub(crate) fn all_infos() -> String {
    let mut code =
        String::from("\npub(super) fn all_infos() -> Vec<&'static RowInfo> {\n    let mut infos = Vec::new();\n");
    for table in TABLES {
        let _ = writeln!(code, "    infos.extend({}.iter().map(|row| &row.info));", table.name.to_uppercase());
    }
    code.push_str("    infos\n}\n");
    code
}

fn row_key(table: &Table, row: &toml::Table) -> String {
    let parts = table.key.iter().filter_map(|field| row.get(*field)).map(|value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn one_row(table: &Table, file: &File, row: &toml::Table, key: &str) -> Result<String, String> {
    let known = |name: &str| PROVENANCE.contains(&name) || table.fields.iter().any(|(field, _)| *field == name);
    if let Some(unknown) = row.keys().find(|name| !known(name)) {
        return Err(format!("no field `{unknown}` in this table"));
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
        "    {} {{ info: RowInfo {{ table: {:?}, row: {key:?}, source: {source:?}, checked: {}, how: {} }}",
        table.row,
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

fn in_field(field: &str) -> impl Fn(String) -> String {
    move |error| format!("`{field}`: {error}")
}

fn expression(kind: Kind, value: Option<&Value>) -> Result<String, String> {
    use Kind as K;
    let needed = || value.ok_or_else(|| "missing".to_owned());
    match kind {
        K::Str => quoted(needed()?),
        K::OptStr => optional(value, quoted),
        K::Strs => list(value, quoted),
        K::U16 => number(needed()?, u16::MAX.into()),
        K::U32 => number(needed()?, u32::MAX.into()),
        K::OptU32 => optional(value, |value| number(value, u32::MAX.into())),
        K::U32s => list(value, |value| number(value, u32::MAX.into())),
        K::Bool => flag(needed()?),
        K::OptBool => optional(value, flag),
        K::Flag => value.map_or(Ok("false".to_owned()), flag),
        K::Cuda => version("CudaVersion", needed()?),
        K::OptCuda => optional(value, |value| version("CudaVersion", value)),
        K::Driver => version("DriverVersion", needed()?),
        K::OptDriver => optional(value, |value| version("DriverVersion", value)),
        K::Drivers => list(value, |value| version("DriverVersion", value)),
        K::Capability => capability(needed()?),
        K::Capabilities => list(Some(needed()?), capability),
        K::Targets => list(value, target),
        K::Day => day(needed()?),
        K::OptDay => optional(value, day),
        K::StrByArch => by_arch(value, quoted),
        K::BoolByArch => by_arch(value, flag),
        K::Brands => list(value, brand),
        K::Pairs => pairs(value),
        K::Variant(name, variants) => variant(name, variants, text(needed()?)?),
        K::VariantOrFirst(name, variants) => {
            let written = value.map(text).transpose()?.or(variants.first().copied());
            variant(name, variants, written.unwrap_or_default())
        }
    }
}

fn optional(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    value.map_or(Ok("None".to_owned()), |value| Ok(format!("Some({})", one(value)?)))
}

fn list(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_array().ok_or("a list is expected")?;
    let items: Vec<String> = items.iter().map(one).collect::<Result<_, _>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

fn by_arch(value: Option<&Value>, one: impl Fn(&Value) -> Result<String, String>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_table().ok_or("a table by architecture is expected")?;
    let items: Vec<String> = items
        .iter()
        .map(|(arch, value)| Ok(format!("ByArch {{ arch: {arch:?}, value: {} }}", one(value)?)))
        .collect::<Result<_, String>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

fn pairs(value: Option<&Value>) -> Result<String, String> {
    let Some(value) = value else { return Ok("&[]".to_owned()) };
    let items = value.as_table().ok_or("a table of names and values is expected")?;
    let items: Vec<String> = items
        .iter()
        .map(|(name, value)| Ok(format!("({name:?}, {})", quoted(value)?)))
        .collect::<Result<_, String>>()?;
    Ok(format!("&[{}]", items.join(", ")))
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("text is expected, not {value}"))
}

fn quoted(value: &Value) -> Result<String, String> {
    Ok(format!("{:?}", text(value)?))
}

fn number(value: &Value, most: i64) -> Result<String, String> {
    let number = value.as_integer().filter(|number| (0..=most).contains(number));
    number.map(|number| number.to_string()).ok_or_else(|| format!("a number up to {most} is expected, not {value}"))
}

fn flag(value: &Value) -> Result<String, String> {
    value.as_bool().map(|value| value.to_string()).ok_or_else(|| format!("true or false is expected, not {value}"))
}

fn version(name: &str, value: &Value) -> Result<String, String> {
    let written = text(value)?;
    let part = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if written.split('.').count() > 4 || !written.split('.').all(part) {
        return Err(format!("`{written}` is no version"));
    }
    Ok(format!("{name}::constant({written:?})"))
}

fn capability(value: &Value) -> Result<String, String> {
    let written = text(value)?;
    let parts = written.split_once('.').and_then(|(major, minor)| {
        Some((major.parse::<u8>().ok()?, minor.parse::<u8>().ok().filter(|minor| *minor < 10)?))
    });
    let (major, minor) = parts.ok_or_else(|| format!("`{written}` is no compute capability"))?;
    Ok(format!("ComputeCapability::new({major}, {minor})"))
}

fn target(value: &Value) -> Result<String, String> {
    let written = text(value)?;
    let digits = written.trim_end_matches(['a', 'f']);
    let suffix = written[digits.len()..].chars().next().unwrap_or(' ');
    let number = digits.parse::<u16>().ok().filter(|_| digits.len() >= 2 && written.len() <= digits.len() + 1);
    let number = number.ok_or_else(|| format!("`{written}` is no code target"))?;
    Ok(format!("CodeTarget::constant({}, {}, {suffix:?})", number / 10, number % 10))
}

fn day(value: &Value) -> Result<String, String> {
    value.as_datetime().ok_or_else(|| format!("a date is expected, not {value}")).and_then(civil)
}

fn civil(value: &Datetime) -> Result<String, String> {
    let date = value.date.filter(|_| value.time.is_none() && value.offset.is_none());
    let date = date.ok_or_else(|| format!("a date alone is expected, not {value}"))?;
    Ok(format!("date({}, {}, {})", date.year, date.month, date.day))
}

fn brand(value: &Value) -> Result<String, String> {
    let row = value.as_table().ok_or("a brand with its branches is expected")?;
    if let Some(unknown) = row.keys().find(|key| !["brand", "from_branch", "up_to_branch"].contains(&key.as_str())) {
        return Err(format!("no field `{unknown}` in a brand"));
    }
    Ok(format!(
        "BrandRow {{ from_branch: {}, up_to_branch: {}, brand: {} }}",
        expression(Kind::OptU32, row.get("from_branch"))?,
        expression(Kind::OptU32, row.get("up_to_branch"))?,
        expression(Kind::Str, row.get("brand"))?,
    ))
}

fn variant(name: &str, variants: &[&str], written: &str) -> Result<String, String> {
    if !variants.contains(&written) {
        return Err(format!("`{written}` is none of {}", variants.join(", ")));
    }
    let camel: String = written.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    Ok(format!("{name}::{camel}"))
}
