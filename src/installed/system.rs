//! The operating system, and the CUDA toolkit.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::installed::Evidence;
use crate::installed::word;

/// A toolkit has some thirty parts.
const MOST_PARTS: usize = 256;

/// `os-release`.
pub(super) fn release(text: &str) -> Vec<Evidence> {
    let setting = |name: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        word(value.trim().trim_matches(['"', '\'']))
    };
    let like = setting("ID_LIKE").unwrap_or_default();
    let like = like.split_whitespace().map(str::to_owned).collect();
    let system = |id| Evidence::System { id, version: setting("VERSION_ID"), like };
    setting("ID").map(system).into_iter().collect()
}

/// `version.json` of a toolkit: the version of every part.
pub(super) fn toolkit_json(bytes: &[u8]) -> Vec<Evidence> {
    let value: Option<Value> = serde_json::from_slice(bytes).ok();
    let Some(Value::Object(all)) = value else {
        return Evidence::missed("the version file of a CUDA toolkit, which is not valid JSON");
    };
    let version = |value: &Value| value.get("version").and_then(Value::as_str).and_then(word);
    let mut parts: BTreeMap<String, String> =
        all.iter().take(MOST_PARTS).filter_map(|(name, part)| Some((word(name)?, version(part)?))).collect();
    match parts.remove("cuda") {
        Some(version) => vec![Evidence::Toolkit { version, parts }],
        None => Evidence::missed("the version file of a CUDA toolkit without the CUDA version"),
    }
}

/// `version.txt` of toolkits before 11.1: `CUDA Version 10.2.89`.
pub(super) fn toolkit_text(text: &str) -> Vec<Evidence> {
    let version = text.lines().find_map(|line| line.trim().strip_prefix("CUDA Version ")).and_then(word);
    match version {
        Some(version) => vec![Evidence::Toolkit { version, parts: BTreeMap::new() }],
        None => Evidence::missed("the version of a CUDA toolkit"),
    }
}
