//! Lock files of poetry and pdm, and the selection of the parts of a project that a command installs.

use std::collections::BTreeMap;

use crate::cause::Cause;
use crate::install::build_variant::tag_of_url;
use crate::install::lenient_toml::{TomlTable, list_at, tables_at, text_at, value_at, value_span};
use crate::install::lock_groups::ExtraPackages;
use crate::install::lock_markers::evaluate_lock_marker;
use crate::install::pyproject::parse_poetry_range;
use crate::install::requirement::{normalise_name, package_with_version};
use crate::install::requirement_files::set_source;
use crate::install::{
    BuildCandidates, BuildVariant, CommandContext, OpenedFile, PackageInstall, VariantSource, VersionSpec,
    lenient_toml, lock_groups,
};

/// The members of a workspace that a command installs.
#[derive(Clone, Debug, Default)]
pub(super) enum WorkspaceMembers {
    /// The member at the root; all members if there is none.
    #[default]
    Root,
    /// The member with this name.
    One(String),
    /// All members.
    All,
}

/// The extras, groups and workspace members that a command installs.
#[derive(Clone, Debug, Default)]
pub(super) struct DependencySelection {
    /// Names of the selected extras.
    pub(super) extras: Vec<String>,
    /// Whether all extras are selected.
    pub(super) all_extras: bool,
    /// Names of the selected groups.
    pub(super) groups: Vec<String>,
    /// Whether all groups are selected.
    pub(super) all_groups: bool,
    /// The only groups that are installed; empty if nothing is restricted.
    pub(super) only: Vec<String>,
    /// Names of the excluded groups.
    pub(super) without: Vec<String>,
    /// Names of the extras that are excluded from all.
    pub(super) without_extras: Vec<String>,
    /// Which members of a workspace are installed.
    pub(super) members: WorkspaceMembers,
    /// Whether development dependencies are excluded.
    pub(super) no_dev: bool,
    /// The groups that are installed by default; `None` if the project does not specify them.
    pub(super) unasked: Option<Vec<String>>,
    /// Packages that are not installed (`--no-install-package`).
    pub(super) passed_over: Vec<String>,
}

impl DependencySelection {
    /// Applies an option that selects parts; returns whether it is one.
    pub(super) fn apply_option(&mut self, tool: &str, name: &str, value: &mut dyn FnMut() -> Option<String>) -> bool {
        let into = match name {
            "--all-extras"
            | "--all-groups"
            | "--no-dev"
            | "--prod"
            | "--production"
            | "--only-dev"
            | "--all-packages"
            | "--no-default-groups" => {
                self.apply_switch(name);
                return true;
            }
            "--package" if tool == "uv" => {
                self.members = value().map_or(WorkspaceMembers::Root, WorkspaceMembers::One);
                return true;
            }
            "--no-extra" => &mut self.without_extras,
            "--no-install-package" => &mut self.passed_over,
            "--only-group" | "--only" => &mut self.only,
            "--no-group" | "--without" => &mut self.without,
            "--group" | "--with" if tool != "pdm" => &mut self.groups,
            // Of pdm, extras are groups too.
            "--extra" | "-E" | "--extras" | "-G" | "--group" | "--with" => &mut self.extras,
            _ => return false,
        };
        let given = value().unwrap_or_default();
        into.extend(given.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned));
        if self.extras.iter().any(|one| one == ":all") {
            (self.all_extras, self.all_groups) = (true, true);
        }
        true
    }

    /// Applies a selecting option without a value.
    fn apply_switch(&mut self, name: &str) {
        match name {
            "--all-extras" => self.all_extras = true,
            "--all-groups" => self.all_groups = true,
            "--all-packages" => self.members = WorkspaceMembers::All,
            "--only-dev" => self.only.push("dev".to_owned()),
            "--no-default-groups" => self.unasked = Some(Vec::new()),
            _ => self.no_dev = true,
        }
    }

    /// Whether the command itself includes or excludes a group; `None` if the project decides.
    pub(super) fn group_selection(&self, name: &str) -> Option<bool> {
        let named = |list: &[String]| list.iter().any(|own| normalise_name(own) == normalise_name(name));
        if named(&self.without) {
            Some(false)
        } else if !self.only.is_empty() {
            Some(named(&self.only))
        } else if named(&self.extras) || named(&self.groups) || self.all_groups {
            Some(true)
        } else {
            None
        }
    }

    /// Whether uv installs a group: by default the groups that the project names, or `dev`.
    pub(super) fn includes_uv_group(&self, name: &str) -> bool {
        let unasked = || match &self.unasked {
            Some(list) => list.iter().any(|own| own == name),
            None => name == "dev",
        };
        self.group_selection(name).unwrap_or_else(|| unasked() && !(self.no_dev && name == "dev"))
    }

    /// Whether an extra is selected.
    pub(super) fn includes_extra(&self, name: &str) -> bool {
        let asked = self.extras.iter().any(|own| normalise_name(own) == normalise_name(name));
        asked || (self.all_extras && !self.excludes_extra(name))
    }

    /// Whether an extra is excluded if all are selected.
    pub(super) fn excludes_extra(&self, extra: &str) -> bool {
        self.without_extras.iter().any(|own| normalise_name(own) == normalise_name(extra))
    }

    /// Whether the main dependencies of the project are installed.
    pub(super) fn includes_main(&self) -> bool {
        self.only.is_empty() || self.only.iter().any(|own| matches!(own.as_str(), "main" | "default"))
    }
}

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
    let unasked = project.map(|project| lock_groups::default_groups(project, tool)).unwrap_or_default();
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
                &lock_groups::resolve_extras_in_marker(&marker, parts),
                around.environment,
                requires.as_deref(),
                around.knowledge,
            ),
            None => Some(true),
        };
        let markers = lock_groups::package_markers(package, &|name| group(name) != Some(false));
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
        VersionSpec::Range(range) => Some(range),
        VersionSpec::Exact(version) => Some(format!("=={version}")),
        VersionSpec::None | VersionSpec::Unresolved => None,
    }
}

/// Returns the package in an entry of a lock file.
pub(super) fn locked_package(package: &TomlTable, opened: &OpenedFile) -> Option<PackageInstall> {
    let name = text_at(package, &["name"])?;
    let version = value_at(package, &["version"])?;
    let mut install = package_with_version(
        name,
        VersionSpec::Exact(version.get_ref().as_str()?.to_owned()),
        value_span(version, opened),
    );
    let url =
        [&["source", "registry"][..], &["source", "url"], &["url"]].iter().find_map(|path| value_at(package, path));
    if install.variant.is_none()
        && let Some(url) = url
        && let Some(tag) = url.get_ref().as_str().and_then(tag_of_url)
    {
        let (span, source) = (value_span(url, opened), opened.source);
        install.builds = BuildCandidates::Only(tag.clone());
        install.variant = Some(BuildVariant { tag, from: VariantSource::IndexUrl, span, source });
    }
    install.upgrade = true;
    set_source(&mut install, opened);
    Some(install)
}

/// Merges entries of the same package; several versions make its version unknown.
pub(super) fn merge_duplicates(mut found: Vec<PackageInstall>) -> Vec<PackageInstall> {
    let mut seen: Vec<PackageInstall> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for install in found.drain(..) {
        let name = normalise_name(&install.name);
        match places.get(&name).and_then(|at| seen.get_mut(*at)) {
            Some(own) if own.version != install.version || own.variant != install.variant => {
                own.version = VersionSpec::Unresolved;
                own.untold = Some(Cause::SeveralLocked { name: name.clone() });
                let tag = |one: &PackageInstall| one.variant.as_ref().map(|variant| variant.tag.clone());
                if own.variant.is_none() || tag(own) != tag(&install) {
                    own.variant = None;
                    own.builds = BuildCandidates::Unknown(Cause::SeveralLockedBuilds);
                }
            }
            Some(_) => {}
            None => {
                // A name that is not as it is compared is none that another has.
                if install.name == name {
                    places.insert(name, seen.len());
                }
                seen.push(install);
            }
        }
    }
    seen
}
