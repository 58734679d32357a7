//! Reads `pyproject.toml` files for the tools that install from them: uv, poetry and pdm.

use std::collections::BTreeSet;

use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::DependencySelection;
use crate::install::effects::{BuildVariant, InstallEffects, PackageInstall, VariantSource};
use crate::install::lenient_toml;
use crate::install::lenient_toml::{
    SpannedTomlValue, TomlTable, list_at, table_at, tables_at, text_at, value_at, value_span,
};
use crate::install::marker::evaluate_marker;
use crate::install::package_index::{IndexAddress, IndexOptions};
use crate::install::requirement::{
    package_with_version, parse_direct_reference, parse_poetry_range, parse_requirement, set_source, tag_of_url,
};
use crate::model::cause::Cause;
use crate::model::fact::InstallerBehavior;
use crate::model::package::{IndexSelection, PackageName, PackageVersion};
use crate::text::source::Span;

/// Reads the dependencies of a project, from PEP 621 or otherwise poetry's own tables; `uv` applies uv's sources and
/// indexes.
pub(super) fn read_dependencies(
    opened: &OpenedFile,
    uv: bool,
    selection: &DependencySelection,
    context: &CommandContext<'_>,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    let root = lenient_toml::parse_toml(opened);
    let Some(root) = &**root else { return };
    let from = found.packages.len();
    for value in list_at(root, &["project", "dependencies"]).into_iter().filter(|_| selection.includes_main()) {
        found.packages.extend(value.get_ref().as_str().and_then(|text| parse_dependency(text, value, opened, context)));
    }
    let own = text_at(root, &["project", "name"]).map(PackageName::python);
    let selected = selected_extras_and_groups(root, selection, own.as_deref(), context);
    for value in optional_dependencies(root, &selected) {
        let install = value.get_ref().as_str().and_then(|text| parse_dependency(text, value, opened, context));
        found.packages.extend(install.filter(|install| own.as_ref() != Some(&install.requirement.name)));
    }
    if value_at(root, &["project", "dependencies"]).is_none()
        && let Some(table) = table_at(root, &["tool", "poetry", "dependencies"])
    {
        for (name, value) in table.iter().filter(|_| selection.includes_main()) {
            found.packages.extend(parse_poetry_dependency(name.get_ref(), value, &selected, root, opened, context));
        }
    }
    if uv {
        for index in tables_at(root, &["tool", "uv", "index"]) {
            let explicit = value_at(index, &["explicit"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
            let default = value_at(index, &["default"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
            if let Some(url) = value_at(index, &["url"]).filter(|_| !explicit)
                && let Some(text) = url.get_ref().as_str()
            {
                let place = IndexAddress::new(text, value_span(url, opened), opened.source);
                if default { indexes.index = Some(place) } else { indexes.extra.push(place) }
            }
        }
        for package in found.packages.get_mut(from..).unwrap_or_default() {
            apply_uv_source(package, root, &selected, opened, context);
        }
        apply_uv_constraints(root, from, opened, context, found);
    }
}

/// Applies `override-dependencies` of uv to the packages from an index on, and adds these and
/// `constraint-dependencies` as constraints.
fn apply_uv_constraints(
    root: &TomlTable,
    from: usize,
    opened: &OpenedFile,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    for (name, above) in [("override-dependencies", true), ("constraint-dependencies", false)] {
        for value in list_at(root, &["tool", "uv", name]) {
            let Some(constraint) =
                value.get_ref().as_str().and_then(|text| parse_dependency(text, value, opened, context))
            else {
                continue;
            };
            found.behaviors.extend(above.then_some(InstallerBehavior::IgnoresRequirements));
            let own = found.packages.get_mut(from..).unwrap_or_default().iter_mut();
            for package in own.filter(|package| {
                above && package.requirement.name == constraint.requirement.name && !constraint.conditional
            }) {
                package.apply_override(&constraint);
            }
            found.constraints.push(constraint);
        }
    }
}

/// Reads the packages that a tool installs for a project without a lock file.
pub(super) fn read_project(
    opened: &OpenedFile,
    tool: &str,
    selection: &DependencySelection,
    context: &CommandContext<'_>,
    indexes: &mut IndexOptions,
    found: &mut InstallEffects,
) {
    read_dependencies(opened, tool == "uv", selection, context, indexes, found);
    if tool != "uv" {
        read_groups(opened, tool == "poetry", selection, context, found);
    }
}

/// Returns the groups that uv installs by default: those that the project names, otherwise `dev`.
pub(super) fn uv_default_groups(opened: &OpenedFile) -> Option<Vec<PackageName>> {
    let root = lenient_toml::parse_toml(opened);
    let root = (*root).as_ref()?;
    let named = value_at(root, &["tool", "uv", "default-groups"]).map(SpannedTomlValue::get_ref);
    let every = || table_at(root, OPTIONAL_TABLES[1]).into_iter().flat_map(TomlTable::iter).map(|(name, _)| name);
    Some(match named.map(|named| (named.as_str(), named.as_array())) {
        Some((Some("all"), _)) => every().map(|name| PackageName::python(name.get_ref())).collect(),
        Some((_, Some(list))) => {
            list.iter().filter_map(|one| one.get_ref().as_str()).map(PackageName::python).collect()
        }
        _ => vec![PackageName::python("dev")],
    })
}

/// Reads the dependency groups of poetry and pdm that a command installs without a lock file: by default all that are
/// not optional.
fn read_groups(
    opened: &OpenedFile,
    poetry_s: bool,
    selection: &DependencySelection,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    let root = lenient_toml::parse_toml(opened);
    let Some(root) = &**root else { return };
    let is_selected =
        |name: &str, optional: bool| selection.group_selection(name).unwrap_or(!optional && !selection.no_dev);
    for (name, list) in table_at(root, OPTIONAL_TABLES[1]).into_iter().flat_map(TomlTable::iter) {
        // Those that the command names are read with the extras.
        if selection.group_selection(name.get_ref()).is_none() && is_selected(name.get_ref(), false) {
            let list = list.get_ref().as_array().into_iter().flat_map(|list| list.iter());
            let install =
                |value: &SpannedTomlValue| parse_dependency(value.get_ref().as_str()?, value, opened, context);
            found.packages.extend(list.filter_map(install));
        }
    }
    if !poetry_s {
        let lists = table_at(root, &["tool", "pdm", "dev-dependencies"]).into_iter().flat_map(TomlTable::iter);
        for (_, list) in lists.filter(|(name, _)| is_selected(name.get_ref(), false)) {
            let list = list.get_ref().as_array().into_iter().flat_map(|list| list.iter());
            let install =
                |value: &SpannedTomlValue| parse_dependency(value.get_ref().as_str()?, value, opened, context);
            found.packages.extend(list.filter_map(install));
        }
        return;
    }
    let mut tables: Vec<&TomlTable> = Vec::new();
    tables.extend(table_at(root, &["tool", "poetry", "dev-dependencies"]).filter(|_| is_selected("dev", false)));
    for (name, group) in table_at(root, &["tool", "poetry", "group"]).into_iter().flat_map(TomlTable::iter) {
        let Some(group) = group.get_ref().as_table() else { continue };
        let optional = value_at(group, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
        tables.extend(table_at(group, &["dependencies"]).filter(|_| is_selected(name.get_ref(), optional)));
    }
    let extras = BTreeSet::new();
    for (name, value) in tables.into_iter().flat_map(TomlTable::iter) {
        found.packages.extend(parse_poetry_dependency(name.get_ref(), value, &extras, root, opened, context));
    }
}

/// The tables with optional dependencies of a project: extras, and dependency groups (PEP 735).
const OPTIONAL_TABLES: [&[&str]; 2] = [&["project", "optional-dependencies"], &["dependency-groups"]];

/// Returns the extras and groups that are installed: the selected ones, and those that they include.
fn selected_extras_and_groups(
    root: &TomlTable,
    selection: &DependencySelection,
    own: Option<&str>,
    context: &CommandContext<'_>,
) -> BTreeSet<PackageName> {
    let selected = selection.extras.iter().chain(&selection.groups).chain(&selection.only);
    let mut open: Vec<PackageName> = selected.cloned().collect();
    if selection.default_groups.is_some() || selection.all_groups {
        let groups = table_at(root, OPTIONAL_TABLES[1]).into_iter().flat_map(TomlTable::iter);
        let groups = groups.map(|(name, _)| name.get_ref().as_ref()).filter(|name| selection.includes_uv_group(name));
        open.extend(groups.map(PackageName::python));
    }
    if selection.all_extras {
        let tables = [OPTIONAL_TABLES[0], &["tool", "poetry", "extras"]];
        let names = tables.into_iter().filter_map(|path| table_at(root, path)).flat_map(TomlTable::iter);
        let names = names.map(|(name, _)| PackageName::python(name.get_ref()));
        open.extend(names.filter(|name| !selection.excludes_extra(name)));
    }
    let mut chosen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !chosen.insert(name.clone()) {
            continue;
        }
        for value in optional_dependencies(root, &BTreeSet::from([name])) {
            let value = value.get_ref();
            let group = value.as_table().and_then(|table| text_at(table, &["include-group"]));
            open.extend(group.map(PackageName::python));
            let itself = value.as_str().and_then(|text| parse_requirement(text, Span::new(0, 0), context.knowledge));
            let itself = itself.filter(|install| own == Some(install.requirement.name.as_str()));
            open.extend(itself.into_iter().flat_map(|install| install.requirement.extras));
        }
    }
    chosen
}

/// Returns the dependencies that extras and groups with these names list.
fn optional_dependencies<'t>(root: &'t TomlTable, names: &BTreeSet<PackageName>) -> Vec<&'t SpannedTomlValue> {
    let tables = OPTIONAL_TABLES.into_iter().filter_map(|path| table_at(root, path)).flat_map(TomlTable::iter);
    let matching = tables.filter(|(name, _)| names.contains(&PackageName::python(name.get_ref())));
    matching.filter_map(|(_, list)| list.get_ref().as_array()).flat_map(|list| list.iter()).collect()
}

/// Whether one of the selected extras of poetry lists a distribution.
fn is_in_extra(root: &TomlTable, names: &BTreeSet<PackageName>, distribution: &str) -> bool {
    let Some(extras) = table_at(root, &["tool", "poetry", "extras"]) else { return false };
    let distribution = PackageName::python(distribution);
    let lists = |list: &SpannedTomlValue| {
        let mut list = list.get_ref().as_array().into_iter().flat_map(|list| list.iter());
        list.any(|one| one.get_ref().as_str().is_some_and(|name| PackageName::python(name) == distribution))
    };
    extras.iter().any(|(name, list)| names.contains(&PackageName::python(name.get_ref())) && lists(list))
}

/// Whether a project declares its dependencies in this file.
pub(super) fn declares_dependencies(opened: &OpenedFile) -> bool {
    let root = lenient_toml::parse_toml(opened);
    let Some(root) = &**root else { return true };
    let dynamic =
        list_at(root, &["project", "dynamic"]).iter().any(|one| one.get_ref().as_str() == Some("dependencies"));
    let is_static = value_at(root, &["project"]).is_some() && !dynamic;
    is_static || value_at(root, &["tool", "poetry", "dependencies"]).is_some()
}

/// Parses a dependency with an optional marker; `None` if the marker does not hold.
fn parse_dependency(
    text: &str,
    value: &SpannedTomlValue,
    opened: &OpenedFile,
    context: &CommandContext<'_>,
) -> Option<PackageInstall> {
    let (text, marker) = text.split_once(';').map_or((text, None), |(text, marker)| (text, Some(marker)));
    let mut package = parse_requirement(text, value_span(value, opened), context.knowledge)?;
    match marker.map(|marker| evaluate_marker(marker, context.environment)) {
        Some(Some(false)) => return None,
        Some(None) => package.conditional = true,
        _ => {}
    }
    set_source(&mut package, opened);
    Some(package)
}

/// Applies `[tool.uv.sources]`, which names the index, repository, URL or path of one distribution. An entry for an
/// extra or a group applies if `wanted` contains it.
fn apply_uv_source(
    package: &mut PackageInstall,
    root: &TomlTable,
    selected: &BTreeSet<PackageName>,
    opened: &OpenedFile,
    context: &CommandContext<'_>,
) {
    let Some(sources) = table_at(root, &["tool", "uv", "sources"]) else { return };
    let Some((_, value)) =
        sources.iter().find(|(name, _)| PackageName::python(name.get_ref()) == package.requirement.name)
    else {
        return;
    };
    let tables: Vec<&TomlTable> = match value.get_ref().as_array() {
        Some(list) => list.iter().filter_map(|one| one.get_ref().as_table()).collect(),
        None => value.get_ref().as_table().into_iter().collect(),
    };
    let mut open = false;
    for table in tables {
        let part = text_at(table, &["extra"]).or_else(|| text_at(table, &["group"]));
        let marker = text_at(table, &["marker"]).map(|marker| evaluate_marker(marker, context.environment));
        if marker == Some(Some(false)) || part.is_some_and(|part| !selected.contains(&PackageName::python(part))) {
            continue;
        }
        open |= marker == Some(None);
        if open {
            continue;
        }
        let direct = parse_direct_reference(
            &package.requirement.name,
            |key| text_at(table, &[key]),
            package.span,
            context.knowledge,
        );
        if let Some(direct) = direct {
            let (extras, conditional) = (std::mem::take(&mut package.requirement.extras), package.conditional);
            *package = PackageInstall { conditional, ..direct };
            package.requirement.extras = extras;
            set_source(package, opened);
            continue;
        }
        let named_index = text_at(table, &["index"]);
        let index = tables_at(root, &["tool", "uv", "index"])
            .into_iter()
            .find(|index| named_index.is_some() && text_at(index, &["name"]) == named_index);
        if let Some(url) = index.and_then(|index| value_at(index, &["url"])) {
            set_index_build(package, url, opened);
        }
    }
    if open {
        package.requirement.indexes = IndexSelection::Unknown(Cause::IndexByCondition);
    }
}

/// Sets the build of a package by the URL of its index.
fn set_index_build(package: &mut PackageInstall, url: &SpannedTomlValue, opened: &OpenedFile) {
    if let Some(tag) = url.get_ref().as_str().and_then(tag_of_url) {
        let (span, source) = (value_span(url, opened), opened.source);
        package.requirement.indexes = IndexSelection::Only(tag.clone());
        package.variant = Some(BuildVariant { tag, from: VariantSource::IndexUrl, span, source });
    }
}

/// Parses a dependency of poetry: a range, or a table with a range, a source or a URL.
fn parse_poetry_dependency(
    name: &str,
    value: &SpannedTomlValue,
    extras: &BTreeSet<PackageName>,
    root: &TomlTable,
    opened: &OpenedFile,
    context: &CommandContext<'_>,
) -> Option<PackageInstall> {
    if name == "python" {
        return None;
    }
    let span = value_span(value, opened);
    let mut package = match (value.get_ref().as_str(), value.get_ref().as_table()) {
        (Some(range), _) => package_with_version(name, parse_poetry_range(range), span),
        (None, Some(table)) => {
            let optional = value_at(table, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
            if optional && !is_in_extra(root, extras, name) {
                return None;
            }
            let range = text_at(table, &["version"]).map_or_else(PackageVersion::any, parse_poetry_range);
            let direct = parse_direct_reference(name, |key| text_at(table, &[key]), span, context.knowledge);
            let mut package = direct.unwrap_or_else(|| package_with_version(name, range, span));
            match text_at(table, &["markers"]).map(|marker| evaluate_marker(marker, context.environment)) {
                Some(Some(false)) => return None,
                Some(None) => package.conditional = true,
                _ => {}
            }
            let source = text_at(table, &["source"]);
            let sources = tables_at(root, &["tool", "poetry", "source"]);
            let found = sources.into_iter().find(|one| source.is_some() && text_at(one, &["name"]) == source);
            if let Some(url) = found.and_then(|one| value_at(one, &["url"])) {
                set_index_build(&mut package, url, opened);
            }
            package
        }
        _ => {
            let mut package = package_with_version(name, PackageVersion::any(), span);
            package.conditional = true;
            package
        }
    };
    set_source(&mut package, opened);
    Some(package)
}
