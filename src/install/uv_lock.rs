//! Lock files of uv: which of the exact versions in them the project reaches.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::install::Around;
use crate::install::Environment;
use crate::install::Install;
use crate::install::Opened;
use crate::install::admits;
use crate::install::lock::Members;
use crate::install::lock::Parts;
use crate::install::lock::entry;
use crate::install::lock::once;
use crate::install::pythons::holds_in_lock;
use crate::install::requirement::normalised;
use crate::install::tree;
use crate::install::tree::Table;
use crate::install::tree::Value;
use crate::install::tree::at;
use crate::install::tree::list_at;
use crate::install::tree::tables_at;
use crate::install::tree::text_at;
use crate::knowledge::Knowledge;

/// One entry that another asks for; where the file has several of a name, the version and the index say which.
struct Need<'a> {
    name: &'a str,
    version: Option<&'a str>,
    registry: Option<&'a str>,
    extras: Vec<&'a str>,
}

/// What decides which entries a command installs: its parts, the environment, and the Pythons that the file is for.
struct Asked<'a> {
    parts: &'a Parts,
    environment: Environment<'a>,
    requires: Option<&'a str>,
    knowledge: Knowledge,
}

impl Asked<'_> {
    /// Whether a marker may hold for a Python that the file is for.
    fn may(&self, marker: &str) -> bool {
        holds_in_lock(&settled(marker, self.parts), self.environment, self.requires, self.knowledge) != Some(false)
    }
}

/// The packages of a `uv.lock` that the project reaches.
pub(super) fn uv(opened: &Opened, parts: &Parts, around: &Around<'_>) -> Option<Vec<Install>> {
    let tree = tree::root(opened);
    let root = (*tree).as_ref()?;
    let requires = text_at(root, &["requires-python"]);
    // A Python that the project does not admit is not the one that uv takes.
    let admitted = |python: &&str| {
        let patch = |patch: &str| admits(requires.unwrap_or_default(), &format!("{python}{patch}")) != Some(false);
        requires.is_none() || patch(".0") || patch(".99")
    };
    let environment = Environment { python: around.environment.python.filter(admitted), ..around.environment };
    let asking = Asked { parts, environment, requires, knowledge: around.knowledge };
    let hangs_on = format!("{parts:?} {environment:?} {:?} {}", opened.source, opened.path);
    Some(tree.installs(hangs_on, || installed(root, &asking, opened)))
}

fn installed(root: &Table, asking: &Asked<'_>, opened: &Opened) -> Vec<Install> {
    let parts = asking.parts;
    let packages = tables_at(root, &["package"]);
    let members: Vec<&Table> = packages.iter().copied().filter(|package| place(package).is_some()).collect();
    let mut open: Vec<Need<'_>> = roots(&members, parts)
        .into_iter()
        .flat_map(|package| asked(package, parts))
        .filter_map(|one| need(one, asking))
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
            let Some(package) = packages.get(*number).filter(|package| is_meant(package, &need)) else { continue };
            for extra in need.extras.iter().copied().chain([""]) {
                if reached.insert((*number, extra)) {
                    let path: &[&str] =
                        if extra.is_empty() { &["dependencies"] } else { &["optional-dependencies", extra] };
                    let further = tables_at(package, path);
                    open.extend(further.into_iter().filter_map(|one| self::need(one, asking)));
                }
            }
        }
    }
    let used =
        |(number, package): &(usize, &&Table)| (whole || reached.contains(&(*number, ""))) && fits(package, asking);
    let used = packages.iter().enumerate().filter(used);
    let mut found = once(used.filter_map(|(_, package)| entry(package, opened)).collect());
    found.retain(|install| !parts.passed_over.iter().any(|name| normalised(name) == install.name));
    found
}

/// Where a package of the project itself lies.
fn place(package: &Table) -> Option<&str> {
    ["virtual", "editable"].iter().find_map(|kind| text_at(package, &["source", kind]))
}

/// The members that a command installs: the one that it names, else all that it asks for, else the one at the root;
/// all of them where no project lies there.
fn roots<'a>(members: &[&'a Table], parts: &Parts) -> Vec<&'a Table> {
    let those = |wanted: &dyn Fn(&Table) -> bool| -> Vec<&'a Table> {
        members.iter().copied().filter(|member| wanted(member)).collect()
    };
    let root = || those(&|member| place(member) == Some("."));
    match &parts.members {
        Members::One(name) => {
            those(&|member| text_at(member, &["name"]).is_some_and(|own| normalised(own) == normalised(name)))
        }
        Members::Root if !root().is_empty() => root(),
        Members::Root | Members::All => members.to_vec(),
    }
}

/// What a package of the project itself asks for, in the parts that are installed.
fn asked<'a>(package: &'a Table, parts: &Parts) -> Vec<&'a Table> {
    let mut found = Vec::new();
    for list in ["dependencies", "dev-dependencies", "optional-dependencies"] {
        let groups = list == "dev-dependencies";
        let Some(value) = at(package, &[list]).filter(|_| groups || parts.main()) else { continue };
        match value.get_ref().as_table() {
            Some(table) => {
                let wanted = |name: &str| if groups { parts.uv_group(name) } else { is_extra(name, parts) };
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

fn is_extra(name: &str, parts: &Parts) -> bool {
    (parts.all_extras && !parts.leaves_out(name)) || parts.extras.iter().any(|own| normalised(own) == normalised(name))
}

/// What a dependency asks for; nothing where its marker does not hold.
fn need<'a>(dependency: &'a Table, asking: &Asked<'_>) -> Option<Need<'a>> {
    let out = text_at(dependency, &["marker"]).is_some_and(|marker| !asking.may(marker));
    let name = text_at(dependency, &["name"]).filter(|_| !out)?;
    let extras = list_at(dependency, &["extra"]).into_iter().filter_map(|extra| extra.get_ref().as_str()).collect();
    let (version, registry) = (text_at(dependency, &["version"]), text_at(dependency, &["source", "registry"]));
    Some(Need { name, version, registry, extras })
}

fn is_meant(package: &Table, need: &Need<'_>) -> bool {
    let agrees =
        |wanted: Option<&str>, path: &[&str]| wanted.is_none_or(|wanted| text_at(package, path) == Some(wanted));
    agrees(need.version, &["version"]) && agrees(need.registry, &["source", "registry"])
}

/// Whether one of the markers under which an entry was resolved may hold.
fn fits(package: &Table, asking: &Asked<'_>) -> bool {
    let markers = list_at(package, &["resolution-markers"]);
    let may = |marker: &Value| marker.get_ref().as_str().is_some_and(|marker| asking.may(marker));
    markers.is_empty() || markers.into_iter().any(may)
}

/// A marker where the extras and groups that conflict are decided: uv writes `extra == 'extra-3-app-gpu'` of the extra
/// `gpu` of `app`, with the length of that name, and `group-3-app-gpu` of a group.
fn settled(marker: &str, parts: &Parts) -> String {
    let mut out = String::with_capacity(marker.len());
    for (number, piece) in marker.split('\'').enumerate() {
        let before = ["extra == ", "extra != "].into_iter().find(|end| out.ends_with(*end));
        let decided = before.filter(|_| number % 2 == 1).and_then(|end| Some((end, is_installed(piece, parts)?)));
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

/// Whether the extra or group that uv names so is installed; `None` where it is no such name.
fn is_installed(name: &str, parts: &Parts) -> Option<bool> {
    let (kind, rest) = name.split_once('-')?;
    let (length, rest) = rest.split_once('-')?;
    let own = rest.get(length.parse().ok()?..)?.strip_prefix('-')?;
    match kind {
        "extra" => Some(is_extra(own, parts)),
        "group" => Some(parts.uv_group(own)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicting_extras_are_decided_by_what_is_installed() {
        let parts = Parts { extras: vec!["gpu".to_owned()], ..Parts::default() };
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
            assert_eq!(settled(marker, &parts), expected, "{marker}");
        }
    }
}
