//! Records of Python distributions and of virtual environments.

use serde_json::Value;

use crate::install::normalised;
use crate::install::tag_of_url;
use crate::installed::Evidence;
use crate::installed::Manager;
use crate::installed::Package;
use crate::installed::kind::split;
use crate::installed::name::named;
use crate::installed::word;

/// Fields stand in so many lines at most; longer records go on with the description.
const MOST_LINES: usize = 256;

/// Name and version: as the record says them, else as its path does.
pub(super) fn metadata(path: &str, text: &str) -> Vec<Evidence> {
    let fields = || text.lines().take(MOST_LINES).take_while(|line| !line.trim().is_empty());
    let field = |name: &str| {
        let values = fields().filter_map(|line| line.split_once(':'));
        values.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, value)| word(value))
    };
    let told = named(path);
    let name = field("Name").map(|name| normalised(&name)).or_else(|| told.as_ref().map(|told| told.name.clone()));
    let version = field("Version").or_else(|| told.map(|told| told.version).filter(|version| !version.is_empty()));
    match (name, version) {
        (Some(name), Some(version)) => {
            vec![Evidence::Package(Package { manager: Manager::Python, name, version, build: None })]
        }
        _ => Evidence::missed("the metadata of a Python distribution without name or version"),
    }
}

/// The one line of `INSTALLER`.
pub(super) fn installer(text: &str) -> Vec<Evidence> {
    text.lines().next().and_then(word).map(Evidence::Installer).into_iter().collect()
}

/// `direct_url.json`.
pub(super) fn direct(bytes: &[u8]) -> Vec<Evidence> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Evidence::missed("the source of a Python distribution, which is not valid JSON");
    };
    let Some(url) = value.get("url").and_then(Value::as_str) else { return Vec::new() };
    let editable = value.pointer("/dir_info/editable").and_then(Value::as_bool).unwrap_or(false);
    let url = without_credentials(url);
    vec![Evidence::Source { variant: tag_of_url(&url), url, editable }]
}

/// An address without what stands before the `@` of its host.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// The folder that an `.egg-link` leads to.
pub(super) fn egg_link(text: &str) -> Vec<Evidence> {
    let folder = text.lines().next().and_then(word).filter(|folder| folder.starts_with('/'));
    let source = |folder| Evidence::Source { url: format!("file://{folder}"), variant: None, editable: true };
    folder.map(source).into_iter().collect()
}

/// The folders of a `.pth` file, from the root. Lines that begin with `import` are run, and say nothing here.
pub(super) fn folders(path: &str, text: &str) -> Vec<Evidence> {
    let own = split(path).0;
    let code = |line: &&str| line.starts_with("import ") || line.starts_with("import\t");
    let lines = text.lines().take(MOST_LINES).filter(|line| !line.starts_with('#') && !code(line));
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
    let found: Vec<String> = lines.filter_map(word).map(folder).collect();
    if found.is_empty() { Vec::new() } else { vec![Evidence::Folders(found)] }
}

/// `pyvenv.cfg`, in which venv, virtualenv and uv name the version differently.
pub(super) fn environment(text: &str) -> Vec<Evidence> {
    let setting = |name: &str| {
        let pairs = text.lines().take(MOST_LINES).filter_map(|line| line.split_once('='));
        pairs.into_iter().find(|(key, _)| key.trim() == name).and_then(|(_, value)| word(value))
    };
    let python = setting("version_info").or_else(|| setting("version"));
    // virtualenv: `3.11.9.final.0`.
    let python = python.map(|version| match version.find(".final") {
        Some(at) => version.get(..at).unwrap_or(&version).to_owned(),
        None => version,
    });
    let system = setting("include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    vec![Evidence::Environment { python, system }]
}
