//! Lock files of poetry and pdm, with exact versions, and which parts of a project a command installs.

use std::collections::BTreeMap;

use crate::install::Around;
use crate::install::Builds;
use crate::install::Install;
use crate::install::Opened;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::files::at_source;
use crate::install::groups;
use crate::install::groups::Reach;
use crate::install::project::poetry_range;
use crate::install::pythons::holds_in_lock;
use crate::install::requirement::named;
use crate::install::requirement::normalised;
use crate::install::tree;
use crate::install::tree::Table;
use crate::install::tree::at;
use crate::install::tree::list_at;
use crate::install::tree::span_of;
use crate::install::tree::tables_at;
use crate::install::tree::text_at;
use crate::install::variant::tag_of_url;

/// Which members of a workspace a command installs.
#[derive(Clone, Debug, Default)]
pub(super) enum Members {
    /// The one at the root; all where none is there.
    #[default]
    Root,
    /// The one of this name.
    One(String),
    /// All of them.
    All,
}

/// Which parts of a project a command installs beside the main one.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Extras by name.
    pub(super) extras: Vec<String>,
    /// All extras.
    pub(super) all_extras: bool,
    /// Groups by name.
    pub(super) groups: Vec<String>,
    /// All groups.
    pub(super) all_groups: bool,
    /// Groups that alone are installed.
    pub(super) only: Vec<String>,
    /// Groups that are left out.
    pub(super) without: Vec<String>,
    /// Extras that are left out of all.
    pub(super) without_extras: Vec<String>,
    /// Which members of a workspace are installed.
    pub(super) members: Members,
    /// Whether what is for development is left out.
    pub(super) no_dev: bool,
    /// The groups that are installed unasked; `None` where the project does not say.
    pub(super) unasked: Option<Vec<String>>,
    /// Packages that are passed over.
    pub(super) passed_over: Vec<String>,
}

impl Parts {
    /// Takes an option that chooses parts; says whether it is one.
    pub(super) fn option(&mut self, tool: &str, name: &str, value: &mut dyn FnMut() -> Option<String>) -> bool {
        let into = match name {
            "--all-extras"
            | "--all-groups"
            | "--no-dev"
            | "--prod"
            | "--production"
            | "--only-dev"
            | "--all-packages"
            | "--no-default-groups" => {
                self.switch(name);
                return true;
            }
            "--package" if tool == "uv" => {
                self.members = value().map_or(Members::Root, Members::One);
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

    fn switch(&mut self, name: &str) {
        match name {
            "--all-extras" => self.all_extras = true,
            "--all-groups" => self.all_groups = true,
            "--all-packages" => self.members = Members::All,
            "--only-dev" => self.only.push("dev".to_owned()),
            "--no-default-groups" => self.unasked = Some(Vec::new()),
            _ => self.no_dev = true,
        }
    }

    /// Whether a command says by itself that a group is installed or is not; `None` where the project decides.
    pub(super) fn group(&self, name: &str) -> Option<bool> {
        let named = |list: &[String]| list.iter().any(|own| normalised(own) == normalised(name));
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

    /// Whether uv installs a group: `dev` and what the project names, unless the command says otherwise.
    pub(super) fn uv_group(&self, name: &str) -> bool {
        let unasked = || match &self.unasked {
            Some(list) => list.iter().any(|own| own == name),
            None => name == "dev",
        };
        self.group(name).unwrap_or_else(|| unasked() && !(self.no_dev && name == "dev"))
    }

    /// Whether an extra is asked for.
    pub(super) fn extra(&self, name: &str) -> bool {
        let asked = self.extras.iter().any(|own| normalised(own) == normalised(name));
        asked || (self.all_extras && !self.leaves_out(name))
    }

    /// Whether an extra is left out where all are asked for.
    pub(super) fn leaves_out(&self, extra: &str) -> bool {
        self.without_extras.iter().any(|own| normalised(own) == normalised(extra))
    }

    /// Whether the project's own requirements are installed.
    pub(super) fn main(&self) -> bool {
        self.only.is_empty() || self.only.iter().any(|own| matches!(own.as_str(), "main" | "default"))
    }
}

/// The packages of a `poetry.lock` or `pdm.lock` that a command installs; `project` says which groups are installed
/// unasked.
pub(super) fn flat(
    opened: &Opened,
    tool: &str,
    parts: &Parts,
    project: Option<&Opened>,
    around: &Around<'_>,
) -> Option<Vec<Install>> {
    let root = tree::root(opened);
    let root = (*root).as_ref()?;
    let reach = Reach::of(root, parts);
    let unasked = project.map(|project| groups::unasked(project, tool)).unwrap_or_default();
    let requires = requires(root);
    let main = |group: &str| matches!(group, "main" | "default");
    let group = |group: &str| {
        if main(group) {
            return Some(parts.main());
        }
        let unasked = || unasked.get(&normalised(group)).copied();
        parts.group(group).or_else(|| if parts.no_dev { Some(false) } else { unasked() })
    };
    let mut found = Vec::new();
    for package in tables_at(root, &["package"]) {
        let groups: Vec<&str> =
            list_at(package, &["groups"]).into_iter().filter_map(|group| group.get_ref().as_str()).collect();
        let asked = if groups.is_empty() { Some(true) } else { any(groups.iter().map(|name| group(name))) };
        let optional = at(package, &["optional"]).and_then(|value| value.get_ref().as_bool()) == Some(true);
        let extra = match &reach {
            _ if !optional => Some(true),
            Some(reach) => reach.has(text_at(package, &["name"]).unwrap_or("")),
            None if parts.extras.is_empty() => Some(parts.all_extras),
            None => None,
        };
        let holds = |marker: Option<String>| match marker {
            Some(marker) => holds_in_lock(
                &groups::settled(&marker, parts),
                around.environment,
                requires.as_deref(),
                around.knowledge,
            ),
            None => Some(true),
        };
        let markers = groups::markers(package, &|name| group(name) != Some(false));
        let all = [asked, extra, any(markers.into_iter().map(holds))];
        if all.contains(&Some(false)) {
            continue;
        }
        if let Some(mut install) = entry(package, opened) {
            install.conditional = all.contains(&None);
            found.push(install);
        }
    }
    Some(once(found))
}

/// Whether one of several holds.
fn any(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut whole = Some(false);
    for one in all {
        if one == Some(true) {
            return one;
        }
        whole = whole.and(one);
    }
    whole
}

/// The versions of Python that a lock file is for.
fn requires(root: &Table) -> Option<String> {
    let targets = tables_at(root, &["metadata", "targets"]);
    let target = || targets.first().filter(|_| targets.len() == 1).and_then(|one| text_at(one, &["requires_python"]));
    match poetry_range(text_at(root, &["metadata", "python-versions"]).or_else(target)?) {
        VersionSpec::Range(range) => Some(range),
        VersionSpec::Exact(version) => Some(format!("=={version}")),
        VersionSpec::None | VersionSpec::Unresolved => None,
    }
}

pub(super) fn entry(package: &Table, opened: &Opened) -> Option<Install> {
    let name = text_at(package, &["name"])?;
    let version = at(package, &["version"])?;
    let mut install = named(name, VersionSpec::Exact(version.get_ref().as_str()?.to_owned()), span_of(version, opened));
    let url = [&["source", "registry"][..], &["source", "url"], &["url"]].iter().find_map(|path| at(package, path));
    if install.variant.is_none()
        && let Some(url) = url
        && let Some(tag) = url.get_ref().as_str().and_then(tag_of_url)
    {
        let (span, source) = (span_of(url, opened), opened.source);
        install.builds = Builds::Only(tag.clone());
        install.variant = Some(Variant { tag, from: VariantSource::IndexUrl, span, source });
    }
    install.upgrade = true;
    at_source(&mut install, opened);
    Some(install)
}

/// A name that stands there in several versions is none that can be told.
pub(super) fn once(mut found: Vec<Install>) -> Vec<Install> {
    let mut seen: Vec<Install> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for install in found.drain(..) {
        let name = normalised(&install.name);
        match places.get(&name).and_then(|at| seen.get_mut(*at)) {
            Some(own) if own.version != install.version || own.variant != install.variant => {
                own.version = VersionSpec::Unresolved;
                own.untold = Some(format!(
                    "the lock file contains several builds of {name}, and the one for this image is unknown"
                ));
                let tag = |one: &Install| one.variant.as_ref().map(|variant| variant.tag.clone());
                if own.variant.is_none() || tag(own) != tag(&install) {
                    own.variant = None;
                    own.builds = Builds::Unknown("the lock file contains several builds of it".to_owned());
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
