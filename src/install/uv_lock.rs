//! Lock files of uv: which of the locked packages a project depends on.

use std::collections::{BTreeMap, BTreeSet};

use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::{DependencySelection, WorkspaceMembers};
use crate::install::effects::PackageInstall;
use crate::install::lenient_toml;
use crate::install::lenient_toml::{SpannedTomlValue, TomlTable, list_at, tables_at, text_at, value_at};
use crate::install::lock_markers::evaluate_lock_marker;
use crate::install::locked_package::{locked_package, merge_duplicates};
use crate::install::marker::MarkerEnvironment;
use crate::install::requirement::normalise_name;
use crate::install::version_range::range_contains;
use crate::knowledge::Knowledge;

/// A dependency on a lock entry; version and index tell several entries of the same name apart.
struct UvLockDependency<'a> {
    name: &'a str,
    version: Option<&'a str>,
    registry: Option<&'a str>,
    extras: Vec<&'a str>,
}

/// What selects the installed entries: parts of the project, the environment, and the Python versions of the lock
/// file.
struct UvLockSelection<'a> {
    parts: &'a DependencySelection,
    environment: MarkerEnvironment<'a>,
    requires: Option<&'a str>,
    knowledge: Knowledge,
}

impl UvLockSelection<'_> {
    /// Whether a marker may hold for a Python version that the file allows.
    fn may_hold(&self, marker: &str) -> bool {
        evaluate_lock_marker(
            &resolve_conflicts_in_marker(marker, self.parts),
            self.environment,
            self.requires,
            self.knowledge,
        ) != Some(false)
    }
}

/// Returns the packages of a `uv.lock` that a command installs.
pub(super) fn read_uv_lock(
    opened: &OpenedFile,
    parts: &DependencySelection,
    around: &CommandContext<'_>,
) -> Option<Vec<PackageInstall>> {
    let tree = lenient_toml::parse_toml(opened);
    let root = (*tree).as_ref()?;
    let requires = text_at(root, &["requires-python"]);
    // A Python that the project does not admit is not the one that uv takes.
    let admitted = |python: &&str| {
        let patch =
            |patch: &str| range_contains(requires.unwrap_or_default(), &format!("{python}{patch}")) != Some(false);
        requires.is_none() || patch(".0") || patch(".99")
    };
    let environment = MarkerEnvironment { python: around.environment.python.filter(admitted), ..around.environment };
    let asking = UvLockSelection { parts, environment, requires, knowledge: around.knowledge };
    let hangs_on = format!("{parts:?} {environment:?} {:?} {}", opened.source, opened.path);
    Some(tree.installs_for_key(hangs_on, || selected_packages(root, &asking, opened)))
}

/// Returns the packages that the installed workspace members depend on.
fn selected_packages(root: &TomlTable, asking: &UvLockSelection<'_>, opened: &OpenedFile) -> Vec<PackageInstall> {
    let parts = asking.parts;
    let packages = tables_at(root, &["package"]);
    let members: Vec<&TomlTable> = packages.iter().copied().filter(|package| member_path(package).is_some()).collect();
    let mut open: Vec<UvLockDependency<'_>> = installed_members(&members, parts)
        .into_iter()
        .flat_map(|package| member_dependencies(package, parts))
        .filter_map(|one| active_dependency(one, asking))
        .collect();
    let whole = members.is_empty();
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, package) in packages.iter().enumerate() {
        if let Some(name) = text_at(package, &["name"]) {
            named.entry(name).or_default().push(number);
        }
    }
    let mut reached: BTreeSet<(usize, &str)> = BTreeSet::new();
    while let Some(need) = open.pop() {
        for number in named.get(need.name).into_iter().flatten() {
            let Some(package) = packages.get(*number).filter(|package| matches_dependency(package, &need)) else {
                continue;
            };
            for extra in need.extras.iter().copied().chain([""]) {
                if reached.insert((*number, extra)) {
                    let path: &[&str] =
                        if extra.is_empty() { &["dependencies"] } else { &["optional-dependencies", extra] };
                    let further = tables_at(package, path);
                    open.extend(further.into_iter().filter_map(|one| active_dependency(one, asking)));
                }
            }
        }
    }
    let used = |(number, package): &(usize, &&TomlTable)| {
        (whole || reached.contains(&(*number, ""))) && may_apply(package, asking)
    };
    let used = packages.iter().enumerate().filter(used);
    let mut found = merge_duplicates(used.filter_map(|(_, package)| locked_package(package, opened)).collect());
    found.retain(|install| !parts.passed_over.iter().any(|name| normalise_name(name) == install.name));
    found
}

/// Returns the path of a workspace member; `None` for any other package.
fn member_path(package: &TomlTable) -> Option<&str> {
    ["virtual", "editable"].iter().find_map(|kind| text_at(package, &["source", kind]))
}

/// Returns the workspace members that a command installs: the named one, all, or the one at the root; all if there is
/// no root.
fn installed_members<'a>(members: &[&'a TomlTable], parts: &DependencySelection) -> Vec<&'a TomlTable> {
    let those = |wanted: &dyn Fn(&TomlTable) -> bool| -> Vec<&'a TomlTable> {
        members.iter().copied().filter(|member| wanted(member)).collect()
    };
    let root = || those(&|member| member_path(member) == Some("."));
    match &parts.members {
        WorkspaceMembers::One(name) => {
            those(&|member| text_at(member, &["name"]).is_some_and(|own| normalise_name(own) == normalise_name(name)))
        }
        WorkspaceMembers::Root if !root().is_empty() => root(),
        WorkspaceMembers::Root | WorkspaceMembers::All => members.to_vec(),
    }
}

/// Returns the dependencies of a workspace member in the selected parts.
fn member_dependencies<'a>(package: &'a TomlTable, parts: &DependencySelection) -> Vec<&'a TomlTable> {
    let mut found = Vec::new();
    for list in ["dependencies", "dev-dependencies", "optional-dependencies"] {
        let groups = list == "dev-dependencies";
        let Some(value) = value_at(package, &[list]).filter(|_| groups || parts.includes_main()) else { continue };
        match value.get_ref().as_table() {
            Some(table) => {
                let wanted =
                    |name: &str| if groups { parts.includes_uv_group(name) } else { is_selected_extra(name, parts) };
                let lists = table.iter().filter(|(name, _)| wanted(name.get_ref()));
                found.extend(
                    lists
                        .filter_map(|(_, list)| list.get_ref().as_array())
                        .flat_map(|list| list.iter().filter_map(|one| one.get_ref().as_table())),
                );
            }
            None => found.extend(tables_at(package, &[list])),
        }
    }
    found
}

/// Whether an extra is selected.
fn is_selected_extra(name: &str, parts: &DependencySelection) -> bool {
    (parts.all_extras && !parts.excludes_extra(name))
        || parts.extras.iter().any(|own| normalise_name(own) == normalise_name(name))
}

/// Returns a dependency; `None` if its marker cannot hold.
fn active_dependency<'a>(dependency: &'a TomlTable, asking: &UvLockSelection<'_>) -> Option<UvLockDependency<'a>> {
    let out = text_at(dependency, &["marker"]).is_some_and(|marker| !asking.may_hold(marker));
    let name = text_at(dependency, &["name"]).filter(|_| !out)?;
    let extras = list_at(dependency, &["extra"]).into_iter().filter_map(|extra| extra.get_ref().as_str()).collect();
    let (version, registry) = (text_at(dependency, &["version"]), text_at(dependency, &["source", "registry"]));
    Some(UvLockDependency { name, version, registry, extras })
}

/// Whether a lock entry is the one that a dependency refers to.
fn matches_dependency(package: &TomlTable, need: &UvLockDependency<'_>) -> bool {
    let agrees =
        |wanted: Option<&str>, path: &[&str]| wanted.is_none_or(|wanted| text_at(package, path) == Some(wanted));
    agrees(need.version, &["version"]) && agrees(need.registry, &["source", "registry"])
}

/// Whether one of the markers under which an entry was resolved may hold.
fn may_apply(package: &TomlTable, asking: &UvLockSelection<'_>) -> bool {
    let markers = list_at(package, &["resolution-markers"]);
    let may = |marker: &SpannedTomlValue| marker.get_ref().as_str().is_some_and(|marker| asking.may_hold(marker));
    markers.is_empty() || markers.into_iter().any(may)
}

/// Replaces comparisons with conflicting extras and groups by constant ones. uv encodes the extra `gpu` of `app` as
/// `extra-3-app-gpu`, with the length of `app`, and a group as `group-3-app-gpu`.
fn resolve_conflicts_in_marker(marker: &str, parts: &DependencySelection) -> String {
    let mut out = String::with_capacity(marker.len());
    for (number, piece) in marker.split('\'').enumerate() {
        let before = ["extra == ", "extra != "].into_iter().find(|end| out.ends_with(*end));
        let decided =
            before.filter(|_| number % 2 == 1).and_then(|end| Some((end, is_conflict_installed(piece, parts)?)));
        if let Some((end, installed)) = decided {
            out.truncate(out.len() - end.len());
            out.push_str("os_name");
            out.push_str(end.trim_start_matches("extra"));
            out.push_str(if installed { "'posix" } else { "'none" });
        } else {
            out.push_str(if number == 0 { "" } else { "'" });
            out.push_str(piece);
        }
    }
    out
}

/// Whether the extra or group with an encoded name such as `extra-3-app-gpu` is installed; `None` for any other name.
fn is_conflict_installed(name: &str, parts: &DependencySelection) -> Option<bool> {
    let (kind, rest) = name.split_once('-')?;
    let (length, rest) = rest.split_once('-')?;
    let own = rest.get(length.parse().ok()?..)?.strip_prefix('-')?;
    match kind {
        "extra" => Some(is_selected_extra(own, parts)),
        "group" => Some(parts.includes_uv_group(own)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicting_extras_are_resolved_by_the_selection() {
        let parts = DependencySelection { extras: vec!["gpu".to_owned()], ..DependencySelection::default() };
        for (marker, expected) in [
            ("extra == 'extra-3-app-gpu'", "os_name == 'posix'"),
            ("extra != 'extra-3-app-gpu'", "os_name != 'posix'"),
            ("extra == 'extra-3-app-cpu'", "os_name == 'none'"),
            ("extra == 'group-3-app-dev'", "os_name == 'posix'"),
            ("extra == 'group-3-app-docs'", "os_name == 'none'"),
            (
                "(sys_platform == 'linux' and extra == 'extra-6-my-app-gpu') or extra != 'extra-6-my-app-gpu-x'",
                "(sys_platform == 'linux' and os_name == 'posix') or os_name != 'none'",
            ),
            // What is no such name stays as it is.
            ("extra == 'gpu'", "extra == 'gpu'"),
            ("extra == 'extra-99-app-gpu'", "extra == 'extra-99-app-gpu'"),
            ("extra == 'extra-x-app-gpu'", "extra == 'extra-x-app-gpu'"),
            ("sys_platform == 'extra-3-app-gpu'", "sys_platform == 'extra-3-app-gpu'"),
            ("python_version < '3.9'", "python_version < '3.9'"),
            ("'", "'"),
            ("", ""),
        ] {
            assert_eq!(resolve_conflicts_in_marker(marker, &parts), expected, "{marker}");
        }
    }
}
