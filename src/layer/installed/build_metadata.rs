//! Reads the build options of a Python distribution from its build metadata file.

use serde_json::Value;

use crate::knowledge::BuildFileRow;
use crate::layer::installed::file_kind::file_extension;
use crate::layer::installed::{FileEvidence, GpuBackend, clean_value};
use crate::model::package::{ExactVersion, PackageName};

/// A value in a build metadata file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MetadataValue {
    /// A string or a number.
    Text(String),
    /// `True`.
    True,
    /// `None`, `False`, or a string with that meaning.
    No,
}

/// Reads a build metadata file as its table row describes.
pub(super) fn read_build_metadata(row: &BuildFileRow, text: &str) -> Vec<FileEvidence> {
    if file_extension(row.file) != "json" {
        return build_evidence(row, |key| if row.pairs { find_pair(text, key) } else { find_assignment(text, key) });
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => build_evidence(row, |key| json_value(&value, key)),
        Err(_) => FileEvidence::not_inspected("build metadata of a Python distribution that is not valid JSON"),
    }
}

/// Returns the build options from the values of the keys in the row.
fn build_evidence(row: &BuildFileRow, get: impl Fn(&str) -> Option<MetadataValue>) -> Vec<FileEvidence> {
    let text = |key: Option<&str>| match get(key?)? {
        MetadataValue::Text(text) => Some(text),
        MetadataValue::True | MetadataValue::No => None,
    };
    let set =
        |keys: &[&str]| keys.iter().any(|key| matches!(get(key), Some(MetadataValue::Text(_) | MetadataValue::True)));
    let package = PackageName::python(text(row.name).as_deref().unwrap_or(row.distribution));
    let no_cuda = || [row.cuda, row.cuda_flag].into_iter().flatten().any(|key| get(key) == Some(MetadataValue::No));
    let cuda = text(row.cuda).and_then(|cuda| if row.hundreds { version_from_hundreds(&cuda) } else { Some(cuda) });
    let gpu = match cuda {
        Some(cuda) => Some(GpuBackend::Cuda(cuda)),
        None if set(row.rocm) => Some(GpuBackend::Rocm),
        None if set(row.xpu) => Some(GpuBackend::Xpu),
        None => no_cuda().then_some(GpuBackend::Cpu),
    };
    let (version, cudnn) = (text(row.version).map(ExactVersion::from), text(row.cudnn));
    if version.is_none() && gpu.is_none() {
        return FileEvidence::not_inspected("a build metadata file without the build options of a Python distribution");
    }
    vec![FileEvidence::Build { package, version, gpu, cudnn }]
}

/// Returns `12.4` for `1204`.
fn version_from_hundreds(text: &str) -> Option<String> {
    let number: u32 = text.parse().ok()?;
    (number >= 100).then(|| format!("{}.{}", number / 100, number % 100))
}

/// Returns the value of the first assignment to a name at the start of a line: `cuda: Optional[str] = '12.1'`.
fn find_assignment(text: &str, key: &str) -> Option<MetadataValue> {
    let of_line = |line: &str| {
        let rest = line.strip_prefix(key)?;
        let (annotation, value) = rest.split_once('=')?;
        let annotation = annotation.trim();
        (annotation.is_empty() || annotation.starts_with(':')).then(|| parse_literal(value)).flatten()
    };
    text.lines().find_map(of_line)
}

/// Returns the value for a key in a list of pairs or a dictionary: `('cuda_version', '12.5.1')`, `'a': 'b'`.
fn find_pair(text: &str, key: &str) -> Option<MetadataValue> {
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        let before = rest.get(..at)?.chars().next_back();
        rest = rest.get(at + key.len()..)?;
        let Some(quote) = before.filter(|c| matches!(c, '\'' | '"')) else { continue };
        let value = rest.strip_prefix(quote).map(str::trim_start).and_then(|rest| rest.strip_prefix([',', ':']));
        if let Some(literal) = value.and_then(parse_literal) {
            return Some(literal);
        }
    }
    None
}

/// Parses a string, a number or a Python keyword; `None` for any other expression.
fn parse_literal(text: &str) -> Option<MetadataValue> {
    let text = text.trim_start();
    let quote = text.chars().next()?;
    if matches!(quote, '\'' | '"') {
        let (inner, behind) = text.get(1..)?.split_once(quote)?;
        let plain = !inner.trim().is_empty() && !inner.contains('\\') && is_value_end(behind);
        return plain.then(|| value_from_text(inner));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(text.len());
    let (value, behind) = text.split_at(end);
    match value {
        _ if !is_value_end(behind) => None,
        "None" | "False" => Some(MetadataValue::No),
        "True" => Some(MetadataValue::True),
        _ => value.starts_with(|c: char| c.is_ascii_digit()).then(|| value_from_text(value)),
    }
}

/// Whether a value ends here, so that nothing is appended to it.
fn is_value_end(behind: &str) -> bool {
    let behind = behind.trim_start_matches([' ', '\t']);
    behind.is_empty() || behind.starts_with(['#', ',', ')', ']', '}', '\n', '\r'])
}

/// Returns the value of a string or number.
fn value_from_text(text: &str) -> MetadataValue {
    match clean_value(text) {
        Some(text) if !matches!(text.as_str(), "False" | "None" | "OFF") => MetadataValue::Text(text),
        _ => MetadataValue::No,
    }
}

/// Returns the value at a dotted path in JSON.
fn json_value(value: &Value, key: &str) -> Option<MetadataValue> {
    let at = key.split('.').try_fold(value, |value, part| value.get(part))?;
    match at {
        Value::Null | Value::Bool(false) => Some(MetadataValue::No),
        Value::Bool(true) => Some(MetadataValue::True),
        Value::String(text) => Some(value_from_text(text)),
        Value::Number(number) => Some(MetadataValue::Text(number.to_string())),
        Value::Array(_) | Value::Object(_) => None,
    }
}
