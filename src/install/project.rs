//! `pyproject.toml`, and the tools that install from it: uv, poetry and pdm.

use std::collections::BTreeSet;

use crate::install::Around;
use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Opened;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::files::at_source;
use crate::install::index::Indexes;
use crate::install::index::Place;
use crate::install::lock::Parts;
use crate::install::marker::holds;
use crate::install::requirement::named;
use crate::install::requirement::normalised;
use crate::install::requirement::requirement;
use crate::install::requirement::specifier;
use crate::install::tree;
use crate::install::tree::Table;
use crate::install::tree::Value;
use crate::install::tree::at;
use crate::install::tree::list_at;
use crate::install::tree::span_of;
use crate::install::tree::table_at;
use crate::install::tree::tables_at;
use crate::install::tree::text_at;
use crate::install::variant::tag_of_url;
use crate::source::Span;

/// Reads the dependencies of a project: PEP 621, else poetry's own; `uv` follows uv's sources and indexes.
pub(super) fn pep621(
    opened: &Opened,
    uv: bool,
    parts: &Parts,
    around: &Around<'_>,
    indexes: &mut Indexes,
    found: &mut Installs,
) {
    let root = tree::root(opened);
    let Some(root) = &**root else { return };
    let from = found.packages.len();
    for value in list_at(root, &["project", "dependencies"]).into_iter().filter(|_| parts.main()) {
        found.packages.extend(value.get_ref().as_str().and_then(|text| one(text, value, opened, around)));
    }
    let own = text_at(root, &["project", "name"]).map(normalised);
    let wanted = chosen(root, parts, own.as_deref(), around);
    for value in optional(root, &wanted) {
        let install = value.get_ref().as_str().and_then(|text| one(text, value, opened, around));
        found.packages.extend(install.filter(|install| own.as_ref() != Some(&install.name)));
    }
    if at(root, &["project", "dependencies"]).is_none()
        && let Some(table) = table_at(root, &["tool", "poetry", "dependencies"])
    {
        for (name, value) in table.iter().filter(|_| parts.main()) {
            found.packages.extend(poetry(name.get_ref(), value, &wanted, root, opened, around));
        }
    }
    if uv {
        for index in tables_at(root, &["tool", "uv", "index"]) {
            let explicit = at(index, &["explicit"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
            let default = at(index, &["default"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
            if let Some(url) = at(index, &["url"]).filter(|_| !explicit)
                && let Some(text) = url.get_ref().as_str()
            {
                let place = Place::new(text, span_of(url, opened), opened.source);
                if default { indexes.index = Some(place) } else { indexes.extra.push(place) }
            }
        }
        for package in found.packages.get_mut(from..).unwrap_or_default() {
            uv_source(package, root, &wanted, opened, around);
        }
        uv_bounds(root, from, opened, around, found);
    }
}

/// `override-dependencies` of uv stand in place of what the packages from a place on are, and bound what these bring along;
/// `constraint-dependencies` bound both.
fn uv_bounds(root: &Table, from: usize, opened: &Opened, around: &Around<'_>, found: &mut Installs) {
    for (name, above) in [("override-dependencies", true), ("constraint-dependencies", false)] {
        for value in list_at(root, &["tool", "uv", name]) {
            let Some(said) = value.get_ref().as_str().and_then(|text| one(text, value, opened, around)) else {
                continue;
            };
            let own = found.packages.get_mut(from..).unwrap_or_default().iter_mut();
            for package in own.filter(|package| above && package.name == said.name && !said.conditional) {
                package.version.clone_from(&said.version);
                package.variant.clone_from(&said.variant);
            }
            found.constraints.push(said);
        }
    }
}

/// What a tool installs of a project that has no lock file.
pub(super) fn all(
    opened: &Opened,
    tool: &str,
    parts: &Parts,
    around: &Around<'_>,
    indexes: &mut Indexes,
    found: &mut Installs,
) {
    pep621(opened, tool == "uv", parts, around, indexes, found);
    if tool != "uv" {
        groups(opened, tool == "poetry", parts, around, found);
    }
}

/// The groups that uv installs unasked: what the project names, else `dev`.
pub(super) fn unasked_groups(opened: &Opened) -> Option<Vec<String>> {
    let root = tree::root(opened);
    let root = (*root).as_ref()?;
    let named = at(root, &["tool", "uv", "default-groups"]).map(Value::get_ref);
    let every = || table_at(root, OPTIONAL[1]).into_iter().flat_map(Table::iter).map(|(name, _)| name);
    Some(match named.map(|named| (named.as_str(), named.as_array())) {
        Some((Some("all"), _)) => every().map(|name| name.get_ref().clone()).collect(),
        Some((_, Some(list))) => list.iter().filter_map(|one| one.get_ref().as_str()).map(str::to_owned).collect(),
        _ => vec!["dev".to_owned()],
    })
}

/// What the groups of poetry and pdm list that a command without a lock file installs: all but those that are
/// optional, unless it says otherwise.
fn groups(opened: &Opened, poetry_s: bool, parts: &Parts, around: &Around<'_>, found: &mut Installs) {
    let root = tree::root(opened);
    let Some(root) = &**root else { return };
    let wanted = |name: &str, optional: bool| parts.group(name).unwrap_or(!optional && !parts.no_dev);
    for (name, list) in table_at(root, OPTIONAL[1]).into_iter().flat_map(Table::iter) {
        // Those that the command names are read with the extras.
        if parts.group(name.get_ref()).is_none() && wanted(name.get_ref(), false) {
            let list = list.get_ref().as_array().into_iter().flat_map(|list| list.iter());
            let install = |value: &Value| one(value.get_ref().as_str()?, value, opened, around);
            found.packages.extend(list.filter_map(install));
        }
    }
    if !poetry_s {
        let lists = table_at(root, &["tool", "pdm", "dev-dependencies"]).into_iter().flat_map(Table::iter);
        for (_, list) in lists.filter(|(name, _)| wanted(name.get_ref(), false)) {
            let list = list.get_ref().as_array().into_iter().flat_map(|list| list.iter());
            let install = |value: &Value| one(value.get_ref().as_str()?, value, opened, around);
            found.packages.extend(list.filter_map(install));
        }
        return;
    }
    let mut tables: Vec<&Table> = Vec::new();
    tables.extend(table_at(root, &["tool", "poetry", "dev-dependencies"]).filter(|_| wanted("dev", false)));
    for (name, group) in table_at(root, &["tool", "poetry", "group"]).into_iter().flat_map(Table::iter) {
        let Some(group) = group.get_ref().as_table() else { continue };
        let optional = at(group, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
        tables.extend(table_at(group, &["dependencies"]).filter(|_| wanted(name.get_ref(), optional)));
    }
    let extras = BTreeSet::new();
    for (name, value) in tables.into_iter().flat_map(Table::iter) {
        found.packages.extend(poetry(name.get_ref(), value, &extras, root, opened, around));
    }
}

/// The tables that hold optional parts of a project: extras, and groups of PEP 735.
const OPTIONAL: [&[&str]; 2] = [&["project", "optional-dependencies"], &["dependency-groups"]];

/// The optional parts that are installed: those asked for, and those that they name in turn.
fn chosen(root: &Table, parts: &Parts, own: Option<&str>, around: &Around<'_>) -> BTreeSet<String> {
    let asked = parts.extras.iter().chain(&parts.groups).chain(&parts.only);
    let mut open: Vec<String> = asked.map(|name| normalised(name)).collect();
    if parts.unasked.is_some() || parts.all_groups {
        let groups = table_at(root, OPTIONAL[1]).into_iter().flat_map(Table::iter);
        let groups = groups.map(|(name, _)| name.get_ref().as_ref()).filter(|name| parts.uv_group(name));
        open.extend(groups.map(normalised));
    }
    if parts.all_extras {
        let tables = [OPTIONAL[0], &["tool", "poetry", "extras"]];
        let names = tables.into_iter().filter_map(|path| table_at(root, path)).flat_map(Table::iter);
        let names = names.map(|(name, _)| normalised(name.get_ref()));
        open.extend(names.filter(|name| !parts.leaves_out(name)));
    }
    let mut chosen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !chosen.insert(name.clone()) {
            continue;
        }
        for value in optional(root, &BTreeSet::from([name])) {
            let value = value.get_ref();
            let group = value.as_table().and_then(|table| text_at(table, &["include-group"]));
            open.extend(group.map(normalised));
            let itself = value.as_str().and_then(|text| requirement(text, Span::new(0, 0), around.knowledge));
            let itself = itself.filter(|install| own == Some(install.name.as_str()));
            open.extend(itself.into_iter().flat_map(|install| install.extras).map(|name| normalised(&name)));
        }
    }
    chosen
}

/// What the optional parts of these names list.
fn optional<'t>(root: &'t Table, names: &BTreeSet<String>) -> Vec<&'t Value> {
    let tables = OPTIONAL.into_iter().filter_map(|path| table_at(root, path)).flat_map(Table::iter);
    let wanted = tables.filter(|(name, _)| names.contains(&normalised(name.get_ref())));
    wanted.filter_map(|(_, list)| list.get_ref().as_array()).flat_map(|list| list.iter()).collect()
}

/// Whether one of poetry's chosen extras names a distribution.
fn in_extra(root: &Table, names: &BTreeSet<String>, distribution: &str) -> bool {
    let Some(extras) = table_at(root, &["tool", "poetry", "extras"]) else { return false };
    let lists = |list: &Value| {
        let mut list = list.get_ref().as_array().into_iter().flat_map(|list| list.iter());
        list.any(|one| one.get_ref().as_str().is_some_and(|name| normalised(name) == normalised(distribution)))
    };
    extras.iter().any(|(name, list)| names.contains(&normalised(name.get_ref())) && lists(list))
}

/// Whether a project says in this file what it requires.
pub(super) fn requires(opened: &Opened) -> bool {
    let root = tree::root(opened);
    let Some(root) = &**root else { return true };
    let dynamic =
        list_at(root, &["project", "dynamic"]).iter().any(|one| one.get_ref().as_str() == Some("dependencies"));
    let told = at(root, &["project"]).is_some() && !dynamic;
    told || at(root, &["tool", "poetry", "dependencies"]).is_some()
}

fn one(text: &str, value: &Value, opened: &Opened, around: &Around<'_>) -> Option<Install> {
    let (text, marker) = text.split_once(';').map_or((text, None), |(text, marker)| (text, Some(marker)));
    let mut package = requirement(text, span_of(value, opened), around.knowledge)?;
    match marker.map(|marker| holds(marker, around.environment)) {
        Some(Some(false)) => return None,
        Some(None) => package.conditional = true,
        _ => {}
    }
    at_source(&mut package, opened);
    Some(package)
}

/// `[tool.uv.sources]`: the index that one distribution comes from; one that is named for an extra or a group counts
/// where `wanted` has that part.
fn uv_source(package: &mut Install, root: &Table, wanted: &BTreeSet<String>, opened: &Opened, around: &Around<'_>) {
    let Some(sources) = table_at(root, &["tool", "uv", "sources"]) else { return };
    let Some((_, value)) = sources.iter().find(|(name, _)| normalised(name.get_ref()) == package.name) else { return };
    let tables: Vec<&Table> = match value.get_ref().as_array() {
        Some(list) => list.iter().filter_map(|one| one.get_ref().as_table()).collect(),
        None => value.get_ref().as_table().into_iter().collect(),
    };
    let mut open = false;
    for table in tables {
        let part = text_at(table, &["extra"]).or_else(|| text_at(table, &["group"]));
        let marker = text_at(table, &["marker"]).map(|marker| holds(marker, around.environment));
        if marker == Some(Some(false)) || part.is_some_and(|part| !wanted.contains(&normalised(part))) {
            continue;
        }
        open |= marker == Some(None);
        if open {
            continue;
        }
        let named_index = text_at(table, &["index"]);
        let index = tables_at(root, &["tool", "uv", "index"])
            .into_iter()
            .find(|index| named_index.is_some() && text_at(index, &["name"]) == named_index);
        let url = index.and_then(|index| at(index, &["url"])).or_else(|| at(table, &["url"]));
        if let Some(url) = url {
            decide(package, url, opened);
        }
    }
    if open {
        package.builds = Builds::Unknown("the project selects its index by an unknown condition".to_owned());
    }
}

fn decide(package: &mut Install, url: &Value, opened: &Opened) {
    if let Some(tag) = url.get_ref().as_str().and_then(tag_of_url) {
        let (span, source) = (span_of(url, opened), opened.source);
        package.builds = Builds::Only(tag.clone());
        package.variant = Some(Variant { tag, from: VariantSource::IndexUrl, span, source });
    }
}

/// A dependency as poetry writes it: a range, or a table with a range, a source or an address.
fn poetry(
    name: &str,
    value: &Value,
    extras: &BTreeSet<String>,
    root: &Table,
    opened: &Opened,
    around: &Around<'_>,
) -> Option<Install> {
    if name == "python" {
        return None;
    }
    let span = span_of(value, opened);
    let mut package = match (value.get_ref().as_str(), value.get_ref().as_table()) {
        (Some(range), _) => named(name, poetry_range(range), span),
        (None, Some(table)) => {
            let optional = at(table, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
            if optional && !in_extra(root, extras, name) {
                return None;
            }
            let range = text_at(table, &["version"]).map_or(VersionSpec::None, poetry_range);
            let from_url = text_at(table, &["url"]).and_then(|url| requirement(url, span, around.knowledge));
            let mut package = from_url.unwrap_or_else(|| named(name, range, span));
            package.name = normalised(name);
            match text_at(table, &["markers"]).map(|marker| holds(marker, around.environment)) {
                Some(Some(false)) => return None,
                Some(None) => package.conditional = true,
                _ => {}
            }
            let source = text_at(table, &["source"]);
            let sources = tables_at(root, &["tool", "poetry", "source"]);
            let found = sources.into_iter().find(|one| source.is_some() && text_at(one, &["name"]) == source);
            if let Some(url) = found.and_then(|one| at(one, &["url"])) {
                decide(&mut package, url, opened);
            }
            package
        }
        _ => {
            let mut package = named(name, VersionSpec::None, span);
            package.conditional = true;
            package
        }
    };
    at_source(&mut package, opened);
    Some(package)
}

/// `^2.1`, `~2.1`, `2.1.0`, `*` or a range of PEP 440, in PEP 440's words.
pub(super) fn poetry_range(text: &str) -> VersionSpec {
    let text = text.trim();
    if matches!(text, "" | "*" | "latest") {
        return VersionSpec::None;
    }
    if text.contains("||") {
        return VersionSpec::Unresolved;
    }
    let part = |part: &str| {
        let part = part.trim();
        let (mark, version) = match part.chars().next() {
            Some(mark @ ('^' | '~')) if !part.starts_with("~=") => (Some(mark), part[1..].trim()),
            _ => (None, part),
        };
        let numbers: Vec<u64> = version.split('.').map_while(|number| number.parse().ok()).collect();
        let kept = match mark {
            Some('^') => numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len().saturating_sub(1)),
            Some(_) => usize::from(numbers.len() > 1),
            None if part.starts_with(|c: char| c.is_ascii_digit()) => return format!("=={part}"),
            None => return part.to_owned(),
        };
        let mut upper: Vec<u64> = numbers.iter().take(kept + 1).copied().collect();
        if let Some(last) = upper.last_mut() {
            *last = last.saturating_add(1);
        }
        let upper: Vec<String> = upper.iter().map(ToString::to_string).collect();
        format!(">={version},<{}", upper.join("."))
    };
    specifier(&text.split(',').map(part).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poetry_s_ranges_become_those_of_pep_440() {
        for (text, expected) in [
            ("^2.1", VersionSpec::Range(">=2.1,<3".to_owned())),
            ("^0.3.1", VersionSpec::Range(">=0.3.1,<0.4".to_owned())),
            ("~2.1", VersionSpec::Range(">=2.1,<2.2".to_owned())),
            ("~2", VersionSpec::Range(">=2,<3".to_owned())),
            ("2.1.0", VersionSpec::Exact("2.1.0".to_owned())),
            ("2.1.0+cu121", VersionSpec::Exact("2.1.0+cu121".to_owned())),
            (">=2.0,<2.5", VersionSpec::Range(">=2.0,<2.5".to_owned())),
            ("*", VersionSpec::None),
            ("^1 || ^2", VersionSpec::Unresolved),
            ("2.*", VersionSpec::Range("==2.*".to_owned())),
            ("^", VersionSpec::Range(">=,<".to_owned())),
        ] {
            assert_eq!(poetry_range(text), expected, "{text}");
        }
    }
}
