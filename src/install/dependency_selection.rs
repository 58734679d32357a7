//! Extras, groups and workspace members that a command selects from a project.

use crate::model::package::PackageName;

/// The members of a workspace that a command installs.
#[derive(Clone, Debug, Default)]
pub(super) enum WorkspaceMembers {
    /// The member at the root; all members if there is none.
    #[default]
    Root,
    /// The member with this name.
    One(PackageName),
    /// All members.
    All,
}

/// The extras, groups and workspace members that a command installs.
#[derive(Clone, Debug, Default)]
pub(super) struct DependencySelection {
    /// Names of the selected extras.
    pub(super) extras: Vec<PackageName>,
    /// Whether all extras are selected.
    pub(super) all_extras: bool,
    /// Names of the selected groups.
    pub(super) groups: Vec<PackageName>,
    /// Whether all groups are selected.
    pub(super) all_groups: bool,
    /// The only groups that are installed; empty if nothing is restricted.
    pub(super) only: Vec<PackageName>,
    /// Names of the excluded groups.
    pub(super) without: Vec<PackageName>,
    /// Names of the extras that are excluded from all.
    pub(super) without_extras: Vec<PackageName>,
    /// Which members of a workspace are installed.
    pub(super) members: WorkspaceMembers,
    /// Whether development dependencies are excluded.
    pub(super) no_dev: bool,
    /// The groups that are installed by default; `None` if the project does not specify them.
    pub(super) default_groups: Option<Vec<PackageName>>,
    /// Packages that are not installed (`--no-install-package`).
    pub(super) passed_over: Vec<PackageName>,
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
                let member = value().map(|name| PackageName::python(&name));
                self.members = member.map_or(WorkspaceMembers::Root, WorkspaceMembers::One);
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
        into.extend(given.split([',', ' ']).filter(|name| !name.is_empty()).map(PackageName::python));
        if self.extras.iter().any(|one| *one == ":all") {
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
            "--only-dev" => self.only.push(PackageName::python("dev")),
            "--no-default-groups" => self.default_groups = Some(Vec::new()),
            _ => self.no_dev = true,
        }
    }

    /// Whether the command itself includes or excludes a group; `None` if the project decides.
    pub(super) fn group_selection(&self, name: &str) -> Option<bool> {
        let name = PackageName::python(name);
        let named = |list: &[PackageName]| list.contains(&name);
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
        let is_default = || match &self.default_groups {
            Some(list) => list.contains(&PackageName::python(name)),
            None => name == "dev",
        };
        self.group_selection(name).unwrap_or_else(|| is_default() && !(self.no_dev && name == "dev"))
    }

    /// Whether an extra is selected.
    pub(super) fn includes_extra(&self, name: &str) -> bool {
        let name = PackageName::python(name);
        self.extras.contains(&name) || (self.all_extras && !self.excludes_extra(&name))
    }

    /// Whether an extra is excluded if all are selected.
    pub(super) fn excludes_extra(&self, extra: &PackageName) -> bool {
        self.without_extras.contains(extra)
    }

    /// Whether the main dependencies of the project are installed.
    pub(super) fn includes_main(&self) -> bool {
        self.only.is_empty() || self.only.iter().any(|own| matches!(own.as_str(), "main" | "default"))
    }
}
