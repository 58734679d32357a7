//! Lock files of uv, poetry and pdm, and `pylock.toml`: the packages that the selected groups and extras install.

use std::collections::{BTreeMap, BTreeSet};

use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::{DependencySelection, WorkspaceMembers};
use crate::install::effects::{BuildVariant, PackageInstall, VariantSource};
use crate::install::lenient_toml;
use crate::install::lenient_toml::{
    SpannedTomlValue, TomlTable, list_at, table_at, tables_at, text_at, value_at, value_span,
};
use crate::install::marker::{MarkerEnvironment, evaluate_marker, outermost_patches};
use crate::install::requirement::{
    package_with_version, parse_direct_reference, parse_poetry_range, set_source, tag_of_url,
};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, IndexSelection, PackageName, PackageVersion, VersionRange};

/// Returns the packages of a `poetry.lock` or `pdm.lock` that a command installs; `project` names the default groups.
pub(super) fn read_lock_file(
    opened: &OpenedFile,
    tool: &str,
    selection: &DependencySelection,
    project: Option<&OpenedFile>,
    context: &CommandContext<'_>,
) -> Option<Vec<PackageInstall>> {
    let root = lenient_toml::parse_toml(opened);
    let root = (*root).as_ref()?;
    let reach = ExtraPackages::from_lock_file(root, selection);
    let defaults = project.map(|project| default_groups(project, tool)).unwrap_or_default();
    let requires = required_python(root);
    let main = |group: &str| matches!(group, "main" | "default");
    let group = |group: &str| {
        if main(group) {
            return Some(selection.includes_main());
        }
        let is_default = || defaults.get(&PackageName::python(group)).copied();
        selection.group_selection(group).or_else(|| if selection.no_dev { Some(false) } else { is_default() })
    };
    let mut found = Vec::new();
    for package in tables_at(root, &["package"]) {
        let groups: Vec<&str> =
            list_at(package, &["groups"]).into_iter().filter_map(|group| group.get_ref().as_str()).collect();
        let selected = if groups.is_empty() { Some(true) } else { any_holds(groups.iter().map(|name| group(name))) };
        let optional = value_at(package, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
        let extra = match &reach {
            _ if !optional => Some(true),
            Some(reach) => reach.contains(text_at(package, &["name"]).unwrap_or("")),
            None if selection.extras.is_empty() => Some(selection.all_extras),
            None => None,
        };
        let holds = |marker: Option<String>| match marker {
            Some(marker) => evaluate_lock_marker(
                &resolve_extras_in_marker(&marker, selection),
                context.environment,
                requires.as_ref(),
                context.knowledge,
            ),
            None => Some(true),
        };
        let markers = package_markers(package, &|name| group(name) != Some(false));
        let all = [selected, extra, any_holds(markers.into_iter().map(holds))];
        if all.contains(&Some(false)) {
            continue;
        }
        if let Some(mut install) = locked_package(package, opened, context.knowledge) {
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
fn required_python(root: &TomlTable) -> Option<VersionRange> {
    let targets = tables_at(root, &["metadata", "targets"]);
    let target = || targets.first().filter(|_| targets.len() == 1).and_then(|one| text_at(one, &["requires_python"]));
    match parse_poetry_range(text_at(root, &["metadata", "python-versions"]).or_else(target)?) {
        PackageVersion::Range(range) => Some(range).filter(|range| !range.is_any()),
        PackageVersion::Exact(version) => Some(VersionRange::exactly(&version)),
        PackageVersion::Unresolved(_) => None,
    }
}

/// Returns whether each dependency group of a project is installed by default.
fn default_groups(project: &OpenedFile, tool: &str) -> BTreeMap<PackageName, bool> {
    let mut groups = BTreeMap::new();
    let root = lenient_toml::parse_toml(project);
    let Some(root) = &**root else { return groups };
    let names = |path: &[&str]| -> Vec<PackageName> {
        table_at(root, path)
            .into_iter()
            .flat_map(TomlTable::iter)
            .map(|(name, _)| PackageName::python(name.get_ref()))
            .collect()
    };
    groups.extend(names(&["dependency-groups"]).into_iter().map(|name| (name, true)));
    if tool == "pdm" {
        groups.extend(names(&["tool", "pdm", "dev-dependencies"]).into_iter().map(|name| (name, true)));
        groups.extend(names(&["project", "optional-dependencies"]).into_iter().map(|name| (name, false)));
        return groups;
    }
    if table_at(root, &["tool", "poetry", "dev-dependencies"]).is_some() {
        groups.insert(PackageName::python("dev"), true);
    }
    for (name, group) in table_at(root, &["tool", "poetry", "group"]).into_iter().flat_map(TomlTable::iter) {
        let optional = group.get_ref().as_table().and_then(|group| value_at(group, &["optional"]));
        let optional = optional.and_then(|optional| optional.get_ref().as_bool()) == Some(true);
        groups.insert(PackageName::python(name.get_ref()), !optional);
    }
    groups
}

/// Packages that the selected extras of a lock file require.
#[derive(Clone, Debug, Default)]
struct ExtraPackages {
    /// Packages that are certainly required.
    sure: BTreeSet<PackageName>,
    /// Packages that may be required, counting optional dependencies.
    maybe: BTreeSet<PackageName>,
}

impl ExtraPackages {
    /// Resolves the selected extras to all packages that they depend on; `None` if the file lists no extras.
    fn from_lock_file(root: &TomlTable, selection: &DependencySelection) -> Option<Self> {
        let extras = table_at(root, &["extras"])?;
        let selected = extras.iter().filter(|(name, _)| selection.includes_extra(name.get_ref()));
        let listed = selected.filter_map(|(_, list)| list.get_ref().as_array()).flat_map(|list| list.iter());
        let named = |text: &str| PackageName::python(text.split([' ', '[', '(']).next().unwrap_or(text));
        let first: Vec<PackageName> = listed.filter_map(|one| one.get_ref().as_str()).map(named).collect();
        let packages = tables_at(root, &["package"]);
        Some(Self {
            sure: transitive_dependencies(&packages, &first, false),
            maybe: transitive_dependencies(&packages, &first, true),
        })
    }

    /// Whether an optional package is installed; `None` if only an extra of another package may require it.
    fn contains(&self, name: &str) -> Option<bool> {
        let name = PackageName::python(name);
        if self.sure.contains(&name) {
            return Some(true);
        }
        if self.maybe.contains(&name) { None } else { Some(false) }
    }
}

/// Returns some packages and all that they depend on, with or without optional dependencies.
fn transitive_dependencies(packages: &[&TomlTable], first: &[PackageName], optional: bool) -> BTreeSet<PackageName> {
    let mut needs: BTreeMap<PackageName, Vec<PackageName>> = BTreeMap::new();
    for package in packages {
        let Some(name) = text_at(package, &["name"]) else { continue };
        let own = needs.entry(PackageName::python(name)).or_default();
        for (name, value) in table_at(package, &["dependencies"]).into_iter().flat_map(TomlTable::iter) {
            let may = value.get_ref().as_table().and_then(|table| value_at(table, &["optional"]));
            let may = may.and_then(|may| may.get_ref().as_bool()) == Some(true);
            if optional || !may {
                own.push(PackageName::python(name.get_ref()));
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
fn resolve_extras_in_marker(marker: &str, selection: &DependencySelection) -> String {
    ['"', '\'']
        .into_iter()
        .fold(marker.to_owned(), |marker, quote| resolve_extra_comparisons(&marker, quote, selection))
}

/// Replaces comparisons of `extra` with values in one kind of quotes.
fn resolve_extra_comparisons(marker: &str, quote: char, selection: &DependencySelection) -> String {
    replace_extra_comparisons(marker, quote, |extra| Some(selection.includes_extra(extra)))
}

/// Replaces comparisons of `extra` with those quoted values that are known to be installed or not.
fn replace_extra_comparisons(marker: &str, quote: char, is_installed: impl Fn(&str) -> Option<bool>) -> String {
    let mut out = String::with_capacity(marker.len());
    for (number, piece) in marker.split(quote).enumerate() {
        let compared = extra_comparison(&out).filter(|_| number % 2 == 1);
        if let Some(((before, operator), installed)) = compared.zip(is_installed(piece)) {
            let value = if installed { "posix" } else { "none" };
            out = format!("{before}os_name {operator} {quote}{value}");
        } else {
            out.extend((number > 0).then_some(quote));
            out.push_str(piece);
        }
    }
    out
}

/// Splits a text that ends in a comparison of `extra` into what precedes it, and the operator.
fn extra_comparison(text: &str) -> Option<(&str, &'static str)> {
    let compared = text.strip_suffix(' ')?;
    let operator = ["==", "!="].into_iter().find(|operator| compared.ends_with(operator))?;
    Some((compared.strip_suffix(operator)?.strip_suffix("extra ")?, operator))
}

/// Returns the package in an entry of a lock file.
fn locked_package(package: &TomlTable, opened: &OpenedFile, knowledge: Knowledge) -> Option<PackageInstall> {
    let name = text_at(package, &["name"])?;
    let version = value_at(package, &["version"]);
    let exact = version.and_then(|version| version.get_ref().as_str()).map(PackageVersion::exact);
    let span = value_span(version.or_else(|| value_at(package, &["name"]))?, opened);
    let at = |key: &str| text_at(package, &["source", key]).or_else(|| text_at(package, &[key]));
    // poetry writes what `url` is.
    let reference = |key: &str| match (text_at(package, &["source", "type"]), key) {
        (None, _) | (Some("url" | "file" | "directory"), "url") => at(key),
        (Some("git"), "git") => at("url"),
        (Some(_), _) => None,
    };
    let mut install = match (parse_direct_reference(name, reference, span, knowledge), exact) {
        (Some(found), Some(exact)) => found.with_version(exact),
        (Some(found), None) => found,
        (None, exact) => package_with_version(name, exact?, span),
    };
    let index = [&["source", "registry"][..], &["source", "url"]].iter().find_map(|path| value_at(package, path));
    if install.variant.is_none()
        && let Some(url) = index
        && let Some(tag) = url.get_ref().as_str().and_then(tag_of_url)
    {
        let (span, source) = (value_span(url, opened), opened.source);
        install.requirement.indexes = IndexSelection::Only(tag.clone());
        install.variant = Some(BuildVariant { tag, from: VariantSource::IndexUrl, span, source });
    }
    install.requirement.upgrade = true;
    set_source(&mut install, opened);
    Some(install)
}

/// Whether a path is that of a `pylock.toml` or `pylock.NAME.toml` (PEP 751).
pub(super) fn is_pylock_file(path: &str) -> bool {
    let mut selection = path.rsplit('/').next().unwrap_or(path).split('.');
    selection.next() == Some("pylock") && selection.next_back() == Some("toml") && selection.count() < 2
}

/// Returns the packages of a `pylock.toml`.
pub(super) fn read_pylock(opened: &OpenedFile, context: &CommandContext<'_>) -> Option<Vec<PackageInstall>> {
    let tree = lenient_toml::parse_toml(opened);
    let root = (*tree).as_ref()?;
    value_at(root, &["lock-version"])?;
    let requires = text_at(root, &["requires-python"]).map(VersionRange::from);
    let mut found = Vec::new();
    for package in tables_at(root, &["packages"]) {
        let holds = text_at(package, &["marker"]).map_or(Some(true), |marker| {
            evaluate_lock_marker(marker, context.environment, requires.as_ref(), context.knowledge)
        });
        let Some(name) = text_at(package, &["name"]).filter(|_| holds != Some(false)) else { continue };
        let version = value_at(package, &["version"]);
        let Some(span) = version.or_else(|| value_at(package, &["name"])).map(|value| value_span(value, opened)) else {
            continue;
        };
        let exact = version.and_then(|version| version.get_ref().as_str()).map(PackageVersion::exact);
        let wheel = wheel_of_pylock(package, context);
        let source = || ["url", "path"].into_iter().find_map(|key| text_at(package, &["sdist", key]));
        let reference = |key: &str| match key {
            "git" => text_at(package, &["vcs", "url"]).or_else(|| text_at(package, &["vcs", "path"])),
            "url" => text_at(package, &["archive", "url"]).or(wheel.as_deref()).or_else(source),
            "path" => text_at(package, &["archive", "path"]).or_else(|| text_at(package, &["directory", "path"])),
            _ => None,
        };
        let direct = parse_direct_reference(name, reference, span, context.knowledge);
        let mut install = direct.unwrap_or_else(|| package_with_version(name, PackageVersion::any(), span));
        install.requirement.version = exact.unwrap_or(install.requirement.version);
        install.conditional = holds.is_none();
        install.requirement.upgrade = true;
        set_source(&mut install, opened);
        found.push(install);
    }
    Some(merge_duplicates(found))
}

/// Returns the URL or path, with the file name, of the wheel in a `pylock.toml` for the environment.
fn wheel_of_pylock(package: &TomlTable, context: &CommandContext<'_>) -> Option<String> {
    let place = |wheel: &TomlTable| {
        let place =
            text_at(wheel, &["url"]).or_else(|| text_at(wheel, &["path"])).or_else(|| text_at(wheel, &["name"]))?;
        match text_at(wheel, &["name"]) {
            Some(name) if place.split(['?', '#']).next()?.rsplit('.').next() != Some("whl") => {
                Some(format!("{place}/{name}"))
            }
            _ => Some(place.to_owned()),
        }
    };
    let places: Vec<String> = tables_at(package, &["wheels"]).into_iter().filter_map(place).collect();
    let machine = context.environment.machine.name();
    let fits = |text: &&String| text.ends_with("-any.whl") || text.contains("linux") && text.contains(machine);
    let python =
        context.environment.python.map(|python| format!("-cp{}-", python.split('.').take(2).collect::<String>()));
    let of_python = |text: &&String| python.as_ref().is_none_or(|python| text.contains(python.as_str()));
    let found = places.iter().filter(fits).find(of_python).or_else(|| places.iter().find(fits));
    found.or(places.first()).cloned()
}

/// Merges entries of the same package; several versions make its version unknown.
fn merge_duplicates(mut found: Vec<PackageInstall>) -> Vec<PackageInstall> {
    let mut seen: Vec<PackageInstall> = Vec::new();
    let mut places: BTreeMap<PackageName, usize> = BTreeMap::new();
    let tag = |one: &PackageInstall| one.variant.as_ref().map(|variant| variant.tag.clone());
    let differ = |one: &PackageInstall, other: &PackageInstall| {
        one.requirement.version != other.requirement.version
            || tag(one) != tag(other)
            || one.requirement.indexes != other.requirement.indexes
    };
    for install in found.drain(..) {
        let name = install.requirement.name.clone();
        match places.get(&name).and_then(|at| seen.get_mut(*at)) {
            Some(own) if differ(own, &install) => {
                own.requirement.version = PackageVersion::Unresolved(Cause::SeveralLocked { name: name.to_string() });
                if own.variant.is_none()
                    || tag(own) != tag(&install)
                    || own.requirement.indexes != install.requirement.indexes
                {
                    own.variant = None;
                    own.requirement.indexes = IndexSelection::Unknown(Cause::SeveralLockedBuilds);
                }
            }
            Some(_) => {}
            None => {
                places.insert(name, seen.len());
                seen.push(install);
            }
        }
    }
    seen
}

/// Whether a requirement of a lock file is installed, with the known Python or with every Python that the file
/// allows; `None` if they differ.
pub(super) fn evaluate_lock_marker(
    marker: &str,
    environment: MarkerEnvironment<'_>,
    requires: Option<&VersionRange>,
    knowledge: Knowledge,
) -> Option<bool> {
    let result = evaluate_marker(marker, environment);
    if result.is_some() || environment.python.is_some() {
        return result;
    }
    let pythons = possible_pythons(requires, knowledge);
    let mut all =
        pythons.iter().map(|python| evaluate_marker(marker, MarkerEnvironment { python: Some(python), ..environment }));
    let first = all.next()??;
    all.all(|one| one == Some(first)).then_some(first)
}

/// Returns the outermost patch releases of every possible Python version.
fn possible_pythons(requires: Option<&VersionRange>, knowledge: Knowledge) -> Vec<String> {
    let rows = knowledge.torch_pythons().filter(|row| requires.is_some() || row.last.is_none());
    let patches = rows.flat_map(|row| outermost_patches(row.python));
    let is_allowed = |python: &ExactVersion| requires.is_none_or(|range| range.contains(python) != Some(false));
    patches.filter(is_allowed).map(String::from).collect()
}

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
    selection: &'a DependencySelection,
    environment: MarkerEnvironment<'a>,
    requires: Option<&'a VersionRange>,
    knowledge: Knowledge,
}

impl UvLockSelection<'_> {
    /// Whether a marker may hold for a Python version that the file allows.
    fn may_match_label(&self, marker: &str) -> bool {
        evaluate_lock_marker(
            &resolve_conflicts_in_marker(marker, self.selection),
            self.environment,
            self.requires,
            self.knowledge,
        ) != Some(false)
    }
}

/// Returns the packages of a `uv.lock` that a command installs.
pub(super) fn read_uv_lock(
    opened: &OpenedFile,
    selection: &DependencySelection,
    context: &CommandContext<'_>,
) -> Option<Vec<PackageInstall>> {
    let tree = lenient_toml::parse_toml(opened);
    let root = (*tree).as_ref()?;
    let requires = text_at(root, &["requires-python"]).map(VersionRange::from);
    // A Python that the project does not admit is not the one that uv takes.
    let admitted = |python: &&str| {
        let allows =
            |range: &VersionRange| outermost_patches(python).iter().any(|patch| range.contains(patch) != Some(false));
        requires.as_ref().is_none_or(allows)
    };
    let environment = MarkerEnvironment { python: context.environment.python.filter(admitted), ..context.environment };
    let asking = UvLockSelection { selection, environment, requires: requires.as_ref(), knowledge: context.knowledge };
    let hangs_on = format!("{selection:?} {environment:?} {:?} {}", opened.source, opened.path);
    Some(tree.installs_for_key(hangs_on, || selected_packages(root, &asking, opened)))
}

/// Returns the packages that the installed workspace members depend on.
fn selected_packages(root: &TomlTable, asking: &UvLockSelection<'_>, opened: &OpenedFile) -> Vec<PackageInstall> {
    let selection = asking.selection;
    let packages = tables_at(root, &["package"]);
    let members: Vec<&TomlTable> = packages.iter().copied().filter(|package| member_path(package).is_some()).collect();
    let mut open: Vec<UvLockDependency<'_>> = installed_members(&members, selection)
        .into_iter()
        .flat_map(|package| member_dependencies(package, selection))
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
    let mut found =
        merge_duplicates(used.filter_map(|(_, package)| locked_package(package, opened, asking.knowledge)).collect());
    found.retain(|install| !selection.passed_over.contains(&install.requirement.name));
    found
}

/// Returns the path of a workspace member; `None` for any other package.
fn member_path(package: &TomlTable) -> Option<&str> {
    ["virtual", "editable"].iter().find_map(|kind| text_at(package, &["source", kind]))
}

/// Returns the workspace members that a command installs: the named one, all, or the one at the root; all if there is
/// no root.
fn installed_members<'a>(members: &[&'a TomlTable], selection: &DependencySelection) -> Vec<&'a TomlTable> {
    let those = |predicate: &dyn Fn(&TomlTable) -> bool| -> Vec<&'a TomlTable> {
        members.iter().copied().filter(|member| predicate(member)).collect()
    };
    let root = || those(&|member| member_path(member) == Some("."));
    match &selection.members {
        WorkspaceMembers::One(name) => {
            those(&|member| text_at(member, &["name"]).is_some_and(|own| PackageName::python(own) == *name))
        }
        WorkspaceMembers::Root if !root().is_empty() => root(),
        WorkspaceMembers::Root | WorkspaceMembers::All => members.to_vec(),
    }
}

/// Returns the dependencies of a workspace member in the selected parts.
fn member_dependencies<'a>(package: &'a TomlTable, selection: &DependencySelection) -> Vec<&'a TomlTable> {
    let mut found = Vec::new();
    for list in ["dependencies", "dev-dependencies", "optional-dependencies"] {
        let groups = list == "dev-dependencies";
        let Some(value) = value_at(package, &[list]).filter(|_| groups || selection.includes_main()) else { continue };
        match value.get_ref().as_table() {
            Some(table) => {
                let is_selected = |name: &str| {
                    if groups { selection.includes_uv_group(name) } else { selection.includes_extra(name) }
                };
                let lists = table.iter().filter(|(name, _)| is_selected(name.get_ref()));
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

/// Returns a dependency; `None` if its marker cannot hold.
fn active_dependency<'a>(dependency: &'a TomlTable, asking: &UvLockSelection<'_>) -> Option<UvLockDependency<'a>> {
    let out = text_at(dependency, &["marker"]).is_some_and(|marker| !asking.may_match_label(marker));
    let name = text_at(dependency, &["name"]).filter(|_| !out)?;
    let extras = list_at(dependency, &["extra"]).into_iter().filter_map(|extra| extra.get_ref().as_str()).collect();
    let (version, registry) = (text_at(dependency, &["version"]), text_at(dependency, &["source", "registry"]));
    Some(UvLockDependency { name, version, registry, extras })
}

/// Whether a lock entry is the one that a dependency refers to.
fn matches_dependency(package: &TomlTable, need: &UvLockDependency<'_>) -> bool {
    let agrees = |expected: Option<&str>, path: &[&str]| {
        expected.is_none_or(|expected| text_at(package, path) == Some(expected))
    };
    agrees(need.version, &["version"]) && agrees(need.registry, &["source", "registry"])
}

/// Whether one of the markers under which an entry was resolved may hold.
fn may_apply(package: &TomlTable, asking: &UvLockSelection<'_>) -> bool {
    let markers = list_at(package, &["resolution-markers"]);
    let may =
        |marker: &SpannedTomlValue| marker.get_ref().as_str().is_some_and(|marker| asking.may_match_label(marker));
    markers.is_empty() || markers.into_iter().any(may)
}

/// Replaces comparisons with conflicting extras and groups by constant ones. uv encodes the extra `gpu` of `app` as
/// `extra-3-app-gpu`, with the length of `app`, and a group as `group-3-app-gpu`.
fn resolve_conflicts_in_marker(marker: &str, selection: &DependencySelection) -> String {
    replace_extra_comparisons(marker, '\'', |name| is_conflict_installed(name, selection))
}

/// Whether the extra or group with an encoded name such as `extra-3-app-gpu` is installed; `None` for any other name.
fn is_conflict_installed(name: &str, selection: &DependencySelection) -> Option<bool> {
    let (kind, rest) = name.split_once('-')?;
    let (length, rest) = rest.split_once('-')?;
    let own = rest.get(length.parse().ok()?..)?.strip_prefix('-')?;
    match kind {
        "extra" => Some(selection.includes_extra(own)),
        "group" => Some(selection.includes_uv_group(own)),
        _ => None,
    }
}

#[cfg(test)]
mod poetry_tests {
    use super::*;

    #[test]
    fn extras_in_markers_are_resolved_by_the_selection() {
        let selection =
            DependencySelection { extras: vec![PackageName::python("gpu")], ..DependencySelection::default() };
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
            assert_eq!(resolve_extras_in_marker(marker, &selection), expected, "{marker}");
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

#[cfg(test)]
mod marker_tests {
    use super::*;
    use crate::install::marker::TargetMachine;

    #[test]
    fn marker_is_true_if_it_is_for_every_possible_python() {
        let open = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let known = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: Some("3.9") };
        for (marker, requires, expected) in [
            ("python_version >= '3.8'", None, Some(true)),
            ("python_full_version >= '3.8.0'", None, Some(true)),
            ("python_version < '3.0'", None, Some(false)),
            ("python_version >= '3.12'", None, None),
            ("python_version >= '3.12'", Some("==3.12.*"), Some(true)),
            ("python_version < '3.12'", Some("==3.12.*"), Some(false)),
            ("python_version >= '3.10'", Some(">=3.10,<3.13"), Some(true)),
            ("python_version >= '3.11'", Some(">=3.10,<3.13"), None),
            ("python_full_version < '3.12.4'", Some("==3.12.*"), None),
            ("platform_release == '5'", Some("==3.12.*"), None),
            ("python_version >= '3.8'", Some("==1.0"), None),
            ("nonsense", None, None),
        ] {
            assert_eq!(
                evaluate_lock_marker(marker, open, requires.map(VersionRange::from).as_ref(), Knowledge::built_in()),
                expected,
                "{marker} {requires:?}"
            );
        }
        // The installed Python decides, not the one of the lock file.
        assert_eq!(
            evaluate_lock_marker("python_version >= '3.10'", known, Some(&">=3.10".into()), Knowledge::built_in()),
            Some(false)
        );
    }
}

#[cfg(test)]
mod uv_tests {
    use super::*;

    #[test]
    fn conflicting_extras_are_resolved_by_the_selection() {
        let selection =
            DependencySelection { extras: vec![PackageName::python("gpu")], ..DependencySelection::default() };
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
            assert_eq!(resolve_conflicts_in_marker(marker, &selection), expected, "{marker}");
        }
    }
}
