//! Reads the metadata of Python distributions and virtual environments.

use serde_json::Value;

use crate::install::tag_of_url;
use crate::layer::installed::file_kind::split_directory;
use crate::layer::installed::package_names::package_from_path;
use crate::layer::installed::{FileEvidence, clean_value};
use crate::model::package::{Distribution, ExactVersion, PackageManager, PackageName};

/// The largest number of lines that are read; longer metadata continues with the description.
const MAX_LINES: usize = 256;

/// Reads name and version from the metadata, else from its path.
pub(super) fn read_metadata(path: &str, text: &str) -> Vec<FileEvidence> {
    let fields = || text.lines().take(MAX_LINES).take_while(|line| !line.trim().is_empty());
    let field = |name: &str| {
        let values = fields().filter_map(|line| line.split_once(':'));
        values.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, value)| clean_value(value))
    };
    let from_path = package_from_path(path);
    let name = field("Name")
        .map(|name| PackageName::python(&name))
        .or_else(|| from_path.as_ref().map(|package| package.name.clone()));
    let version = field("Version").map(ExactVersion::from).or_else(|| from_path?.version);
    match (name, version) {
        (Some(name), Some(version)) => {
            let (manager, version) = (PackageManager::Pip, Some(version));
            vec![FileEvidence::Package(Distribution { manager, name, version, build: None })]
        }
        _ => FileEvidence::not_inspected("the metadata of a Python distribution without name or version"),
    }
}

/// Reads the single line of `INSTALLER`.
pub(super) fn read_installer(text: &str) -> Vec<FileEvidence> {
    text.lines().next().and_then(clean_value).map(FileEvidence::Installer).into_iter().collect()
}

/// Reads the source of a distribution from `direct_url.json`.
pub(super) fn read_direct_url(bytes: &[u8]) -> Vec<FileEvidence> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return FileEvidence::not_inspected("the source of a Python distribution, which is not valid JSON");
    };
    let Some(url) = value.get("url").and_then(Value::as_str) else { return Vec::new() };
    let editable = value.pointer("/dir_info/editable").and_then(Value::as_bool).unwrap_or(false);
    let url = strip_credentials(url);
    vec![FileEvidence::Source { variant: tag_of_url(&url), url, editable }]
}

/// Returns a URL without the user name and password before its host.
fn strip_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Reads the directory to which an `.egg-link` file points.
pub(super) fn read_egg_link(text: &str) -> Vec<FileEvidence> {
    let folder = text.lines().next().and_then(clean_value).filter(|folder| folder.starts_with('/'));
    let source = |folder| FileEvidence::Source { url: format!("file://{folder}"), variant: None, editable: true };
    folder.map(source).into_iter().collect()
}

/// Reads the directories in a `.pth` file, relative to the root. Lines that start with `import` are code and are
/// ignored.
pub(super) fn read_pth_file(path: &str, text: &str) -> Vec<FileEvidence> {
    let own = split_directory(path).0;
    let code = |line: &&str| line.starts_with("import ") || line.starts_with("import\t");
    let lines = text.lines().take(MAX_LINES).filter(|line| !line.starts_with('#') && !code(line));
    let folder = |line: String| {
        let whole = if line.starts_with('/') { line } else { format!("{own}/{line}") };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        parts.join("/")
    };
    let found: Vec<String> = lines.filter_map(clean_value).map(folder).collect();
    if found.is_empty() { Vec::new() } else { vec![FileEvidence::Folders(found)] }
}

/// Reads `pyvenv.cfg`, in which venv, virtualenv and uv use different keys for the version.
pub(super) fn read_pyvenv_config(text: &str) -> Vec<FileEvidence> {
    let setting = |name: &str| {
        let pairs = text.lines().take(MAX_LINES).filter_map(|line| line.split_once('='));
        pairs.into_iter().find(|(key, _)| key.trim() == name).and_then(|(_, value)| clean_value(value))
    };
    let python = setting("version_info").or_else(|| setting("version"));
    // virtualenv: `3.11.9.final.0`.
    let python = python.map(|version| match version.find(".final") {
        Some(at) => version.get(..at).unwrap_or(&version).to_owned(),
        None => version,
    });
    let system = setting("include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    vec![FileEvidence::Environment { python, system }]
}
