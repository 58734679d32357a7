//! Reads the versions of the operating system and of a CUDA toolkit.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::layer::installed::{FileEvidence, clean_value};

/// The largest number of components of a toolkit; usual ones have about thirty.
const MAX_TOOLKIT_COMPONENTS: usize = 256;

/// Reads the distribution and its version from `os-release`.
pub(super) fn read_os_release(text: &str) -> Vec<FileEvidence> {
    let setting = |name: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        clean_value(value.trim().trim_matches(['"', '\'']))
    };
    let like = setting("ID_LIKE").unwrap_or_default();
    let like = like.split_whitespace().map(str::to_owned).collect();
    let system = |id| FileEvidence::System { id, version: setting("VERSION_ID"), like };
    setting("ID").map(system).into_iter().collect()
}

/// Reads the versions of a toolkit and its components from `version.json`.
pub(super) fn read_toolkit_json(bytes: &[u8]) -> Vec<FileEvidence> {
    let value: Option<Value> = serde_json::from_slice(bytes).ok();
    let Some(Value::Object(all)) = value else {
        return FileEvidence::not_inspected("the version file of a CUDA toolkit, which is not valid JSON");
    };
    let version = |value: &Value| value.get("version").and_then(Value::as_str).and_then(clean_value);
    let mut parts: BTreeMap<String, String> = all
        .iter()
        .take(MAX_TOOLKIT_COMPONENTS)
        .filter_map(|(name, part)| Some((clean_value(name)?, version(part)?)))
        .collect();
    match parts.remove("cuda") {
        Some(version) => vec![FileEvidence::Toolkit { version, parts }],
        None => FileEvidence::not_inspected("the version file of a CUDA toolkit without the CUDA version"),
    }
}

/// Reads the version in `version.txt` of toolkits before 11.1: `CUDA Version 10.2.89`.
pub(super) fn read_toolkit_text(text: &str) -> Vec<FileEvidence> {
    let version = text.lines().find_map(|line| line.trim().strip_prefix("CUDA Version ")).and_then(clean_value);
    match version {
        Some(version) => vec![FileEvidence::Toolkit { version, parts: BTreeMap::new() }],
        None => FileEvidence::not_inspected("the version of a CUDA toolkit"),
    }
}
