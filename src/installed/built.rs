//! What a distribution was built with, from the file in which it says so.

use serde_json::Value;

use crate::install::normalised;
use crate::installed::Evidence;
use crate::installed::Gpu;
use crate::installed::kind::ending;
use crate::installed::word;
use crate::knowledge::BuildFileRow;

/// A value in such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    /// A string or a number.
    Text(String),
    /// `True`.
    True,
    /// `None`, `False`, or a string that says the same.
    No,
}

/// Reads a file by its row.
pub(super) fn read(row: &BuildFileRow, text: &str) -> Vec<Evidence> {
    if ending(row.file) != "json" {
        return said(row, |key| if row.pairs { pair(text, key) } else { assignment(text, key) });
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => said(row, |key| json(&value, key)),
        Err(_) => Evidence::missed("build metadata of a Python distribution that is not valid JSON"),
    }
}

fn said(row: &BuildFileRow, get: impl Fn(&str) -> Option<Said>) -> Vec<Evidence> {
    let text = |key: Option<&str>| match get(key?)? {
        Said::Text(text) => Some(text),
        Said::True | Said::No => None,
    };
    let set = |keys: &[&str]| keys.iter().any(|key| matches!(get(key), Some(Said::Text(_) | Said::True)));
    let package = text(row.name).map_or_else(|| row.distribution.to_owned(), |name| normalised(&name));
    let no_cuda = || [row.cuda, row.cuda_flag].into_iter().flatten().any(|key| get(key) == Some(Said::No));
    let cuda = text(row.cuda).and_then(|cuda| if row.hundreds { hundreds(&cuda) } else { Some(cuda) });
    let gpu = match cuda {
        Some(cuda) => Some(Gpu::Cuda(cuda)),
        None if set(row.rocm) => Some(Gpu::Rocm),
        None if set(row.xpu) => Some(Gpu::Xpu),
        None => no_cuda().then_some(Gpu::Cpu),
    };
    let (version, cudnn) = (text(row.version), text(row.cudnn));
    if version.is_none() && gpu.is_none() {
        return Evidence::missed("a build metadata file without the build options of a Python distribution");
    }
    vec![Evidence::Build { package, version, gpu, cudnn }]
}

/// `12.4` of `1204`.
fn hundreds(text: &str) -> Option<String> {
    let number: u32 = text.parse().ok()?;
    (number >= 100).then(|| format!("{}.{}", number / 100, number % 100))
}

/// The value of the first assignment to a name at the beginning of a line: `cuda: Optional[str] = '12.1'`.
fn assignment(text: &str, key: &str) -> Option<Said> {
    let of_line = |line: &str| {
        let rest = line.strip_prefix(key)?;
        let (annotation, value) = rest.split_once('=')?;
        let annotation = annotation.trim();
        (annotation.is_empty() || annotation.starts_with(':')).then(|| literal(value)).flatten()
    };
    text.lines().find_map(of_line)
}

/// The value behind a name in a list of pairs or a dictionary: `('cuda_version', '12.5.1')`, `'a': 'b'`.
fn pair(text: &str, key: &str) -> Option<Said> {
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        let before = rest.get(..at)?.chars().next_back();
        rest = rest.get(at + key.len()..)?;
        let Some(quote) = before.filter(|c| matches!(c, '\'' | '"')) else { continue };
        let value = rest.strip_prefix(quote).map(str::trim_start).and_then(|rest| rest.strip_prefix([',', ':']));
        if let Some(said) = value.and_then(literal) {
            return Some(said);
        }
    }
    None
}

/// A string, a number or one of Python's words; none for anything that would have to be computed.
fn literal(text: &str) -> Option<Said> {
    let text = text.trim_start();
    let quote = text.chars().next()?;
    if matches!(quote, '\'' | '"') {
        let (inner, behind) = text.get(1..)?.split_once(quote)?;
        let plain = !inner.trim().is_empty() && !inner.contains('\\') && ends(behind);
        return plain.then(|| of_text(inner));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(text.len());
    let (value, behind) = text.split_at(end);
    match value {
        _ if !ends(behind) => None,
        "None" | "False" => Some(Said::No),
        "True" => Some(Said::True),
        _ => value.starts_with(|c: char| c.is_ascii_digit()).then(|| of_text(value)),
    }
}

/// Whether a value is whole: nothing is added to what stands before this.
fn ends(behind: &str) -> bool {
    let behind = behind.trim_start_matches([' ', '\t']);
    behind.is_empty() || behind.starts_with(['#', ',', ')', ']', '}', '\n', '\r'])
}

fn of_text(text: &str) -> Said {
    match word(text) {
        Some(text) if !matches!(text.as_str(), "False" | "None" | "OFF") => Said::Text(text),
        _ => Said::No,
    }
}

/// The value at a place in JSON whose levels are parted by dots.
fn json(value: &Value, key: &str) -> Option<Said> {
    let at = key.split('.').try_fold(value, |value, part| value.get(part))?;
    match at {
        Value::Null | Value::Bool(false) => Some(Said::No),
        Value::Bool(true) => Some(Said::True),
        Value::String(text) => Some(of_text(text)),
        Value::Number(number) => Some(Said::Text(number.to_string())),
        Value::Array(_) | Value::Object(_) => None,
    }
}
