//! Which packages of a lock file of poetry or pdm a command asks for: groups that are installed unasked, and extras.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::install::Opened;
use crate::install::lock::Parts;
use crate::install::requirement::normalised;
use crate::install::tree;
use crate::install::tree::Table;
use crate::install::tree::at;
use crate::install::tree::list_at;
use crate::install::tree::table_at;
use crate::install::tree::tables_at;
use crate::install::tree::text_at;

/// Whether each group that a project names is installed where the command does not say.
pub(super) fn unasked(project: &Opened, tool: &str) -> BTreeMap<String, bool> {
    let mut groups = BTreeMap::new();
    let root = tree::root(project);
    let Some(root) = &**root else { return groups };
    let names = |path: &[&str]| -> Vec<String> {
        table_at(root, path).into_iter().flat_map(Table::iter).map(|(name, _)| normalised(name.get_ref())).collect()
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
    for (name, group) in table_at(root, &["tool", "poetry", "group"]).into_iter().flat_map(Table::iter) {
        let optional = group.get_ref().as_table().and_then(|group| at(group, &["optional"]));
        let optional = optional.and_then(|optional| optional.get_ref().as_bool()) == Some(true);
        groups.insert(normalised(name.get_ref()), !optional);
    }
    groups
}

/// What the extras of a lock file bring that a command asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    sure: BTreeSet<String>,
    maybe: BTreeSet<String>,
}

impl Reach {
    /// Follows the extras that are asked for to all that their packages need; none where the file lists no extras.
    pub(super) fn of(root: &Table, parts: &Parts) -> Option<Self> {
        let extras = table_at(root, &["extras"])?;
        let asked = extras.iter().filter(|(name, _)| parts.extra(name.get_ref()));
        let listed = asked.filter_map(|(_, list)| list.get_ref().as_array()).flat_map(|list| list.iter());
        let named = |text: &str| normalised(text.split([' ', '[', '(']).next().unwrap_or(text));
        let first: Vec<String> = listed.filter_map(|one| one.get_ref().as_str()).map(named).collect();
        let packages = tables_at(root, &["package"]);
        Some(Self { sure: closure(&packages, &first, false), maybe: closure(&packages, &first, true) })
    }

    /// Whether an optional package is installed; `None` where an extra of another package may bring it.
    pub(super) fn has(&self, name: &str) -> Option<bool> {
        let name = normalised(name);
        if self.sure.contains(&name) {
            return Some(true);
        }
        if self.maybe.contains(&name) { None } else { Some(false) }
    }
}

/// All packages that the first ones need; with those that they need for extras of their own, or without.
fn closure(packages: &[&Table], first: &[String], optional: bool) -> BTreeSet<String> {
    let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let Some(name) = text_at(package, &["name"]) else { continue };
        let own = needs.entry(normalised(name)).or_default();
        for (name, value) in table_at(package, &["dependencies"]).into_iter().flat_map(Table::iter) {
            let may = value.get_ref().as_table().and_then(|table| at(table, &["optional"]));
            let may = may.and_then(|may| may.get_ref().as_bool()) == Some(true);
            if optional || !may {
                own.push(normalised(name.get_ref()));
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

/// The markers of a package, one for each group that says its own; those of groups that are not installed left out.
pub(super) fn markers(package: &Table, installed: &dyn Fn(&str) -> bool) -> Vec<Option<String>> {
    let Some(table) = table_at(package, &["markers"]) else {
        let one = text_at(package, &["markers"]).or_else(|| text_at(package, &["marker"]));
        return vec![one.map(str::to_owned)];
    };
    let groups = list_at(package, &["groups"]).into_iter().filter_map(|group| group.get_ref().as_str());
    let groups = groups.filter(|group| installed(group));
    groups.map(|group| text_at(table, &[group]).map(str::to_owned)).collect()
}

/// A marker where the extras are decided by what is asked for.
pub(super) fn settled(marker: &str, parts: &Parts) -> String {
    ['"', '\''].into_iter().fold(marker.to_owned(), |marker, quote| settled_in(&marker, quote, parts))
}

fn settled_in(marker: &str, quote: char, parts: &Parts) -> String {
    let mut out = String::with_capacity(marker.len());
    for (number, piece) in marker.split(quote).enumerate() {
        let sign = ["extra == ", "extra != "].into_iter().find(|end| number % 2 == 1 && out.ends_with(*end));
        if let Some(sign) = sign {
            out.truncate(out.len() - sign.len());
            out.push_str("os_name");
            out.push_str(sign.trim_start_matches("extra"));
            out.push(quote);
            out.push_str(if parts.extra(piece) { "posix" } else { "none" });
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
    fn extras_in_markers_are_decided_by_what_is_asked_for() {
        let parts = Parts { extras: vec!["gpu".to_owned()], ..Parts::default() };
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
            assert_eq!(settled(marker, &parts), expected, "{marker}");
        }
        assert_eq!(settled("extra == 'x'", &Parts { all_extras: true, ..Parts::default() }), "os_name == 'posix'");
    }
}
