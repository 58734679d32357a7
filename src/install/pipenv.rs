//! `Pipfile.lock` and `Pipfile`: what pipenv installs, and from which index.

use crate::install::Around;
use crate::install::Builds;
use crate::install::Install;
use crate::install::Opened;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::files::at_source;
use crate::install::marker::holds;
use crate::install::pythons::holds_in_lock;
use crate::install::requirement::named;
use crate::install::requirement::requirement;
use crate::install::requirement::specifier;
use crate::install::tree;
use crate::install::tree::Table;
use crate::install::tree::at;
use crate::install::tree::span_of;
use crate::install::tree::table_at;
use crate::install::tree::tables_at;
use crate::install::tree::text_at;
use crate::install::variant::tag_of_url;
use crate::shell::Word;
use crate::source::Span;
use serde_json::Value;

/// The sections of a `Pipfile` that a command asks for: those that it names, else the main one and, where it says so,
/// that for development.
pub(super) fn parts(words: &[Word]) -> Vec<String> {
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

/// The packages of those sections of a `Pipfile.lock`.
pub(super) fn lock(opened: &Opened, parts: &[String], around: &Around<'_>) -> Option<Vec<Install>> {
    let root = opened.kept.get(|| serde_json::from_str::<Value>(opened.text.text()).ok());
    let root = (*root).as_ref()?;
    let meta = root.get("_meta");
    let sources = meta.and_then(|meta| meta.get("sources")).and_then(Value::as_array);
    let requires = meta.and_then(|meta| meta.get("requires")).and_then(requires);
    let url_of = |index: &str| {
        let source = sources?.iter().find(|source| source.get("name").and_then(Value::as_str) == Some(index))?;
        source.get("url").and_then(Value::as_str)
    };
    let mut found: Vec<Install> = Vec::new();
    let section = |part: &'_ String| match part.as_str() {
        "packages" => "default".to_owned(),
        "dev-packages" => "develop".to_owned(),
        other => other.to_owned(),
    };
    for section in parts.iter().map(section) {
        let section = section.as_str();
        for (name, entry) in root.get(section).and_then(Value::as_object).into_iter().flatten() {
            let said = |key: &str| entry.get(key).and_then(Value::as_str);
            let span = place(opened, section, name);
            let mut install = match (said("version"), said("file")) {
                // What is for another platform than the writer's stays open.
                (Some("*"), _) => named(name, VersionSpec::None, span),
                (Some(version), _) => named(name, specifier(version), span),
                (None, Some(file)) => requirement(&format!("{name} @ {file}"), span, around.knowledge)?,
                (None, None) => continue,
            };
            match said("markers")
                .map(|marker| holds_in_lock(marker, around.environment, requires.as_deref(), around.knowledge))
            {
                Some(Some(false)) => continue,
                Some(None) => install.conditional = true,
                _ => {}
            }
            from_index(&mut install, said("index").and_then(url_of), span);
            install.upgrade = true;
            at_source(&mut install, opened);
            if !found.iter().any(|own| own.name == install.name) {
                found.push(install);
            }
        }
    }
    Some(found)
}

/// The Python that a `Pipfile.lock` is for.
fn requires(requires: &Value) -> Option<String> {
    let said = |key: &str| requires.get(key).and_then(Value::as_str).filter(|version| *version != "*");
    let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    let version = said("python_full_version").or_else(|| said("python_version"))?;
    Some(format!("=={}.*", minor(version)))
}

/// The packages of those sections of a `Pipfile`.
pub(super) fn pipfile(opened: &Opened, parts: &[String], around: &Around<'_>) -> Option<Vec<Install>> {
    let root = tree::root(opened);
    let root = (*root).as_ref()?;
    let sources = tables_at(root, &["source"]);
    let mut found = Vec::new();
    for section in parts {
        for (name, value) in table_at(root, &[section]).into_iter().flat_map(Table::iter) {
            let span = span_of(value, opened);
            let table = value.get_ref().as_table();
            let said = |key: &str| table.and_then(|table| text_at(table, &[key]));
            let version = value.get_ref().as_str().or_else(|| said("version"));
            let mut install = match (version, said("file")) {
                (_, Some(file)) => requirement(&format!("{} @ {file}", name.get_ref()), span, around.knowledge)?,
                (Some("*"), None) => named(name.get_ref(), VersionSpec::None, span),
                (Some(version), None) => named(name.get_ref(), specifier(version), span),
                (None, None) => continue,
            };
            let platform = said("sys_platform").map(|platform| format!("sys_platform {platform}"));
            let marker = said("markers").map(str::to_owned).or(platform);
            match marker.map(|marker| holds(&marker, around.environment)) {
                Some(Some(false)) => continue,
                Some(None) => install.conditional = true,
                _ => {}
            }
            let index = table.and_then(|table| at(table, &["index"])).and_then(|index| index.get_ref().as_str());
            let source = sources.iter().find(|source| index.is_some() && text_at(source, &["name"]) == index).copied();
            from_index(&mut install, source.and_then(|source| text_at(source, &["url"])), span);
            at_source(&mut install, opened);
            found.push(install);
        }
    }
    Some(found)
}

/// The build that the package's own index serves.
fn from_index(install: &mut Install, url: Option<&str>, span: Span) {
    if install.variant.is_none()
        && let Some(tag) = url.and_then(tag_of_url)
    {
        install.builds = Builds::Only(tag.clone());
        install.variant = Some(Variant { tag, from: VariantSource::IndexUrl, span, source: None });
    }
}

/// Where a package's name stands in its section.
fn place(opened: &Opened, section: &str, name: &str) -> Span {
    let text = opened.text.text();
    let section = text.find(&format!("\"{section}\"")).unwrap_or(0);
    let quoted = format!("\"{name}\"");
    let at = text.get(section..).and_then(|rest| rest.find(&quoted)).map_or(0, |at| section + at);
    opened.text.span(at..at + quoted.len().min(text.len() - at))
}
