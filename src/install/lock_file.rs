//! Lock files of poetry and pdm: the packages of the selected groups and extras.

use std::collections::{BTreeMap, BTreeSet};

use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::DependencySelection;
use crate::install::effects::PackageInstall;
use crate::install::lenient_toml;
use crate::install::lenient_toml::{TomlTable, list_at, table_at, tables_at, text_at, value_at};
use crate::install::lock_markers::evaluate_lock_marker;
use crate::install::locked_package::{locked_package, merge_duplicates};
use crate::install::requirement::{normalise_name, parse_poetry_range};
use crate::model::fact::PackageVersion;

/// Returns the packages of a `poetry.lock` or `pdm.lock` that a command installs; `project` names the default groups.
pub(super) fn read_lock_file(
    opened: &OpenedFile,
    tool: &str,
    parts: &DependencySelection,
    project: Option<&OpenedFile>,
    around: &CommandContext<'_>,
) -> Option<Vec<PackageInstall>> {
    let root = lenient_toml::parse_toml(opened);
    let root = (*root).as_ref()?;
    let reach = ExtraPackages::from_lock_file(root, parts);
    let unasked = project.map(|project| default_groups(project, tool)).unwrap_or_default();
    let requires = required_python(root);
    let main = |group: &str| matches!(group, "main" | "default");
    let group = |group: &str| {
        if main(group) {
            return Some(parts.includes_main());
        }
        let unasked = || unasked.get(&normalise_name(group)).copied();
        parts.group_selection(group).or_else(|| if parts.no_dev { Some(false) } else { unasked() })
    };
    let mut found = Vec::new();
    for package in tables_at(root, &["package"]) {
        let groups: Vec<&str> =
            list_at(package, &["groups"]).into_iter().filter_map(|group| group.get_ref().as_str()).collect();
        let asked = if groups.is_empty() { Some(true) } else { any_holds(groups.iter().map(|name| group(name))) };
        let optional = value_at(package, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
        let extra = match &reach {
            _ if !optional => Some(true),
            Some(reach) => reach.contains(text_at(package, &["name"]).unwrap_or("")),
            None if parts.extras.is_empty() => Some(parts.all_extras),
            None => None,
        };
        let holds = |marker: Option<String>| match marker {
            Some(marker) => evaluate_lock_marker(
                &resolve_extras_in_marker(&marker, parts),
                around.environment,
                requires.as_deref(),
                around.knowledge,
            ),
            None => Some(true),
        };
        let markers = package_markers(package, &|name| group(name) != Some(false));
        let all = [asked, extra, any_holds(markers.into_iter().map(holds))];
        if all.contains(&Some(false)) {
            continue;
        }
        if let Some(mut install) = locked_package(package, opened) {
            install.conditional = all.contains(&None);
            found.push(install);
        }
    }
    Some(merge_duplicates(found))
}

/// Whether one of several conditions holds; `None` if that is unknown.
fn any_holds(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut whole = Some(false);
    for one in all {
        if one == Some(true) {
            return one;
        }
        whole = whole.and(one);
    }
    whole
}

/// Returns the Python versions that a lock file is for.
fn required_python(root: &TomlTable) -> Option<String> {
    let targets = tables_at(root, &["metadata", "targets"]);
    let target = || targets.first().filter(|_| targets.len() == 1).and_then(|one| text_at(one, &["requires_python"]));
    match parse_poetry_range(text_at(root, &["metadata", "python-versions"]).or_else(target)?) {
        PackageVersion::Range(range) => Some(range).filter(|range| !range.is_empty()),
        PackageVersion::Exact(version) => Some(format!("=={version}")),
        PackageVersion::Unresolved(_) => None,
    }
}

/// Returns whether each dependency group of a project is installed by default.
fn default_groups(project: &OpenedFile, tool: &str) -> BTreeMap<String, bool> {
    let mut groups = BTreeMap::new();
    let root = lenient_toml::parse_toml(project);
    let Some(root) = &**root else { return groups };
    let names = |path: &[&str]| -> Vec<String> {
        table_at(root, path)
            .into_iter()
            .flat_map(TomlTable::iter)
            .map(|(name, _)| normalise_name(name.get_ref()))
            .collect()
    };
    groups.extend(names(&["dependency-groups"]).into_iter().map(|name| (name, true)));
    if tool == "pdm" {
        groups.extend(names(&["tool", "pdm", "dev-dependencies"]).into_iter().map(|name| (name, true)));
        groups.extend(names(&["project", "optional-dependencies"]).into_iter().map(|name| (name, false)));
        return groups;
    }
    if table_at(root, &["tool", "poetry", "dev-dependencies"]).is_some() {
        groups.insert("dev".to_owned(), true);
    }
    for (name, group) in table_at(root, &["tool", "poetry", "group"]).into_iter().flat_map(TomlTable::iter) {
        let optional = group.get_ref().as_table().and_then(|group| value_at(group, &["optional"]));
        let optional = optional.and_then(|optional| optional.get_ref().as_bool()) == Some(true);
        groups.insert(normalise_name(name.get_ref()), !optional);
    }
    groups
}

/// Packages that the selected extras of a lock file require.
#[derive(Clone, Debug, Default)]
struct ExtraPackages {
    /// Packages that are certainly required.
    sure: BTreeSet<String>,
    /// Packages that may be required, counting optional dependencies.
    maybe: BTreeSet<String>,
}

impl ExtraPackages {
    /// Resolves the selected extras to all packages that they depend on; `None` if the file lists no extras.
    fn from_lock_file(root: &TomlTable, parts: &DependencySelection) -> Option<Self> {
        let extras = table_at(root, &["extras"])?;
        let asked = extras.iter().filter(|(name, _)| parts.includes_extra(name.get_ref()));
        let listed = asked.filter_map(|(_, list)| list.get_ref().as_array()).flat_map(|list| list.iter());
        let named = |text: &str| normalise_name(text.split([' ', '[', '(']).next().unwrap_or(text));
        let first: Vec<String> = listed.filter_map(|one| one.get_ref().as_str()).map(named).collect();
        let packages = tables_at(root, &["package"]);
        Some(Self {
            sure: transitive_dependencies(&packages, &first, false),
            maybe: transitive_dependencies(&packages, &first, true),
        })
    }

    /// Whether an optional package is installed; `None` if only an extra of another package may require it.
    pub(super) fn contains(&self, name: &str) -> Option<bool> {
        let name = normalise_name(name);
        if self.sure.contains(&name) {
            return Some(true);
        }
        if self.maybe.contains(&name) { None } else { Some(false) }
    }
}

/// Returns some packages and all that they depend on, with or without optional dependencies.
fn transitive_dependencies(packages: &[&TomlTable], first: &[String], optional: bool) -> BTreeSet<String> {
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let Some(name) = text_at(package, &["name"]) else { continue };
        let own = needs.entry(normalise_name(name)).or_default();
        for (name, value) in table_at(package, &["dependencies"]).into_iter().flat_map(TomlTable::iter) {
            let may = value.get_ref().as_table().and_then(|table| value_at(table, &["optional"]));
            let may = may.and_then(|may| may.get_ref().as_bool()) == Some(true);
            if optional || !may {
                own.push(normalise_name(name.get_ref()));
            }
        }
    }
    let mut open = first.to_vec();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(needs.get(&name).into_iter().flatten().cloned());
        }
    }
    found
}

/// Returns the markers of a package, one for each installed group with its own marker.
fn package_markers(package: &TomlTable, installed: &dyn Fn(&str) -> bool) -> Vec<Option<String>> {
    let Some(table) = table_at(package, &["markers"]) else {
        let one = text_at(package, &["markers"]).or_else(|| text_at(package, &["marker"]));
        return vec![one.map(str::to_owned)];
    };
    let groups = list_at(package, &["groups"]).into_iter().filter_map(|group| group.get_ref().as_str());
    let groups = groups.filter(|group| installed(group));
    groups.map(|group| text_at(table, &[group]).map(str::to_owned)).collect()
}

/// Replaces comparisons of `extra` in a marker by constant ones, according to the selected extras.
fn resolve_extras_in_marker(marker: &str, parts: &DependencySelection) -> String {
    ['"', '\''].into_iter().fold(marker.to_owned(), |marker, quote| resolve_quoted_extras(&marker, quote, parts))
}

/// Replaces comparisons of `extra` with values in one kind of quotes.
fn resolve_quoted_extras(marker: &str, quote: char, parts: &DependencySelection) -> String {
    let mut out = String::with_capacity(marker.len());
    for (number, piece) in marker.split(quote).enumerate() {
        let sign = ["extra == ", "extra != "].into_iter().find(|end| number % 2 == 1 && out.ends_with(*end));
        if let Some(sign) = sign {
            out.truncate(out.len() - sign.len());
            out.push_str("os_name");
            out.push_str(sign.trim_start_matches("extra"));
            out.push(quote);
            out.push_str(if parts.includes_extra(piece) { "posix" } else { "none" });
        } else {
            out.extend((number > 0).then_some(quote));
            out.push_str(piece);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_in_markers_are_resolved_by_the_selection() {
        let parts = DependencySelection { extras: vec!["gpu".to_owned()], ..DependencySelection::default() };
        for (marker, expected) in [
            ("extra == \"gpu\"", "os_name == \"posix\""),
            ("extra == \"cpu\"", "os_name == \"none\""),
            ("extra != 'gpu' and sys_platform == 'linux'", "os_name != 'posix' and sys_platform == 'linux'"),
            ("(extra == \"a\" or extra == \"gpu\")", "(os_name == \"none\" or os_name == \"posix\")"),
            ("sys_platform == \"gpu\"", "sys_platform == \"gpu\""),
            ("python_version < '3.9'", "python_version < '3.9'"),
            ("\"", "\""),
            ("", ""),
        ] {
            assert_eq!(resolve_extras_in_marker(marker, &parts), expected, "{marker}");
        }
        assert_eq!(
            resolve_extras_in_marker(
                "extra == 'x'",
                &DependencySelection { all_extras: true, ..DependencySelection::default() }
            ),
            "os_name == 'posix'"
        );
    }
}
