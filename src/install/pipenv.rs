//! Reads `Pipfile.lock` and `Pipfile`: the packages that pipenv installs, and their indexes.

use serde_json::Value;

use crate::build::Word;
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::effects::{BuildVariant, PackageInstall, VariantSource};
use crate::install::lenient_toml;
use crate::install::lenient_toml::{TomlTable, table_at, tables_at, text_at, value_at, value_span};
use crate::install::lock_file::evaluate_lock_marker;
use crate::install::marker::evaluate_marker;
use crate::install::requirement::{
    package_with_version, parse_direct_reference, parse_specifier, set_source, tag_of_url,
};
use crate::model::package::{IndexSelection, PackageVersion, VersionRange};
use crate::text::source::Span;

/// Returns the sections of a `Pipfile` that a command installs: those that it names, otherwise the main one, and with
/// `--dev` the development one.
pub(super) fn selected_sections(words: &[Word]) -> Vec<String> {
    let mut parts = Vec::new();
    let mut dev = false;
    let mut rest = words.iter().filter_map(Word::known);
    while let Some(text) = rest.next() {
        dev |= matches!(text, "--dev" | "-d");
        let named = match text.split_once('=') {
            Some(("--categories", named)) => Some(named),
            _ if text == "--categories" => rest.next(),
            _ if text == "--dev-only" => Some("dev-packages"),
            _ => None,
        };
        parts.extend(named.into_iter().flat_map(|named| named.split([' ', ','])).map(str::to_owned));
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        parts.push("packages".to_owned());
    }
    if dev && !parts.iter().any(|part| part == "dev-packages") {
        parts.push("dev-packages".to_owned());
    }
    parts
}

/// Returns the packages in some sections of a `Pipfile.lock`.
pub(super) fn read_pipfile_lock(
    opened: &OpenedFile,
    parts: &[String],
    context: &CommandContext<'_>,
) -> Option<Vec<PackageInstall>> {
    let root = opened.kept.get_or_parse(|| serde_json::from_str::<Value>(opened.text.text()).ok());
    let root = (*root).as_ref()?;
    let meta = root.get("_meta");
    let sources = meta.and_then(|meta| meta.get("sources")).and_then(Value::as_array);
    let requires = meta.and_then(|meta| meta.get("requires")).and_then(required_python);
    let url_of = |index: &str| {
        let source = sources?.iter().find(|source| source.get("name").and_then(Value::as_str) == Some(index))?;
        source.get("url").and_then(Value::as_str)
    };
    let mut found: Vec<PackageInstall> = Vec::new();
    let section = |part: &'_ String| match part.as_str() {
        "packages" => "default".to_owned(),
        "dev-packages" => "develop".to_owned(),
        other => other.to_owned(),
    };
    for section in parts.iter().map(section) {
        let section = section.as_str();
        for (name, entry) in root.get(section).and_then(Value::as_object).into_iter().flatten() {
            let field = |key: &str| entry.get(key).and_then(Value::as_str);
            let span = name_span(opened, section, name);
            let mut install = match (parse_direct_reference(name, field, span, context.knowledge), field("version")) {
                (Some(direct), _) => direct,
                // What is for another platform than the writer's stays open.
                (None, Some("*")) => package_with_version(name, PackageVersion::any(), span),
                (None, Some(version)) => package_with_version(name, parse_specifier(version), span),
                (None, None) => continue,
            };
            match field("markers")
                .map(|marker| evaluate_lock_marker(marker, context.environment, requires.as_ref(), context.knowledge))
            {
                Some(Some(false)) => continue,
                Some(None) => install.conditional = true,
                _ => {}
            }
            set_index_build(&mut install, field("index").and_then(url_of), span);
            install.requirement.upgrade = true;
            set_source(&mut install, opened);
            if !found.iter().any(|own| own.requirement.name == install.requirement.name) {
                found.push(install);
            }
        }
    }
    Some(found)
}

/// Returns the Python version that a `Pipfile.lock` is for.
fn required_python(requires: &Value) -> Option<VersionRange> {
    let field = |key: &str| requires.get(key).and_then(Value::as_str).filter(|version| *version != "*");
    let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    let version = field("python_full_version").or_else(|| field("python_version"))?;
    Some(VersionRange::from(format!("=={}.*", minor(version))))
}

/// Returns the packages in some sections of a `Pipfile`.
pub(super) fn read_pipfile(
    opened: &OpenedFile,
    parts: &[String],
    context: &CommandContext<'_>,
) -> Option<Vec<PackageInstall>> {
    let root = lenient_toml::parse_toml(opened);
    let root = (*root).as_ref()?;
    let sources = tables_at(root, &["source"]);
    let mut found = Vec::new();
    for section in parts {
        for (name, value) in table_at(root, &[section]).into_iter().flat_map(TomlTable::iter) {
            let span = value_span(value, opened);
            let table = value.get_ref().as_table();
            let field = |key: &str| table.and_then(|table| text_at(table, &[key]));
            let version = value.get_ref().as_str().or_else(|| field("version"));
            let mut install = match (parse_direct_reference(name.get_ref(), field, span, context.knowledge), version) {
                (Some(direct), _) => direct,
                (None, Some("*")) => package_with_version(name.get_ref(), PackageVersion::any(), span),
                (None, Some(version)) => package_with_version(name.get_ref(), parse_specifier(version), span),
                (None, None) => continue,
            };
            let platform = field("sys_platform").map(|platform| format!("sys_platform {platform}"));
            let marker = field("markers").map(str::to_owned).or(platform);
            match marker.map(|marker| evaluate_marker(&marker, context.environment)) {
                Some(Some(false)) => continue,
                Some(None) => install.conditional = true,
                _ => {}
            }
            let index = table.and_then(|table| value_at(table, &["index"])).and_then(|index| index.get_ref().as_str());
            let source = sources.iter().find(|source| index.is_some() && text_at(source, &["name"]) == index).copied();
            set_index_build(&mut install, source.and_then(|source| text_at(source, &["url"])), span);
            set_source(&mut install, opened);
            found.push(install);
        }
    }
    Some(found)
}

/// Sets the build of a package by the URL of its index.
fn set_index_build(install: &mut PackageInstall, url: Option<&str>, span: Span) {
    if install.variant.is_none()
        && let Some(tag) = url.and_then(tag_of_url)
    {
        install.requirement.indexes = IndexSelection::Only(tag.clone());
        install.variant = Some(BuildVariant { tag, from: VariantSource::IndexUrl, span, source: None });
    }
}

/// Returns where the name of a package is written in its section.
fn name_span(opened: &OpenedFile, section: &str, name: &str) -> Span {
    let text = opened.text.text();
    let section = text.find(&format!("\"{section}\"")).unwrap_or(0);
    let quoted = format!("\"{name}\"");
    let at = text.get(section..).and_then(|rest| rest.find(&quoted)).map_or(0, |at| section + at);
    opened.text.source_span(at..at + quoted.len().min(text.len() - at))
}
