//! The search of uv, with the `pubgrub` crate: a package that is pinned comes first, then the one that was required
//! first; an installed version is preferred, then the newest one.

use std::cell::RefCell;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pubgrub::{Dependencies, DependencyConstraints, DependencyProvider, PackageResolutionStatistics, PubGrubError};
use version_ranges::Ranges;

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};
use crate::resolve::catalog::Catalog;
use crate::resolve::request::{DependencySpecifier, InstallRequest, Resolution, Selection, UpgradePolicy};

/// The number of conflicts of a package after which uv changes the order of the packages.
const CONFLICTS_BEFORE_REORDERING: usize = 5;
/// The number of selections after which a search is given up.
const MAX_STEPS: usize = 5_000;

/// Returns what uv selects.
///
/// uv changes the order of the packages if too many of their releases conflict, and selects them anew: so does this.
pub(super) fn resolve(request: &InstallRequest<'_>, catalog: &impl Catalog) -> Resolution {
    let mut state = UvState::default();
    loop {
        let search = UvSearch { request, catalog, state: RefCell::new(state) };
        let result = pubgrub::resolve(&search, Node::Command, 0_usize);
        state = search.state.into_inner();
        let selected = match result {
            Ok(selected) => selected,
            Err(PubGrubError::NoSolution(_)) => return Resolution::Impossible,
            Err(_) if state.steps > MAX_STEPS => {
                return Resolution::Unknown(Cause::SearchLimit { steps: MAX_STEPS });
            }
            Err(_) => {
                state.is_reordered = false;
                state.decisions.clear();
                continue;
            }
        };
        let mut selections = state.into_selections(selected);
        add_unknown_requirements(&mut selections, request, catalog);
        return Resolution::Selected(selections);
    }
}

/// Adds the distributions that the command or a selected one requires, and whose releases are unknown.
fn add_unknown_requirements(
    selections: &mut BTreeMap<PackageName, Selection>,
    request: &InstallRequest<'_>,
    catalog: &impl Catalog,
) {
    let of_selected = selections.iter().filter(|_| !request.no_deps).flat_map(|(name, selection)| match selection {
        Selection::Installed(version) | Selection::Release(version) => {
            catalog.requirements(name, version, &[]).unwrap_or_default()
        }
        Selection::Unknown(_) => Vec::new(),
    });
    let all: Vec<DependencySpecifier> = of_selected.chain(request.requirements.iter().cloned()).collect();
    for DependencySpecifier { name, .. } in all {
        if !selections.contains_key(&name)
            && let Err(cause) = catalog.releases(&name)
        {
            selections.insert(name, Selection::Unknown(cause));
        }
    }
}

/// Why a search stops before its end.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("the order of the packages has changed")]
    Reordered,
    #[error("the search takes more than {MAX_STEPS} steps")]
    TooManySteps,
}

/// What is selected.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Node {
    /// The command itself.
    Command,
    /// A distribution.
    Distribution(PackageName),
    /// An extra of a distribution, which requires the distribution in the same version.
    Extra(PackageName, PackageName),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("the command"),
            Self::Distribution(name) => name.fmt(f),
            Self::Extra(name, extra) => write!(f, "{name}[{extra}]"),
        }
    }
}

/// The versions of a distribution, the oldest first: their positions are what the search compares.
#[derive(Clone, Debug, Default)]
struct KnownVersions {
    all: Vec<(ExactVersion, bool)>,
    yanked: BTreeSet<ExactVersion>,
}

/// When a package is selected, in relation to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Priority {
    /// In the order in which packages are required.
    Required,
    /// Another package often conflicts with it.
    ConflictCulprit,
    /// Its releases often conflict with others.
    ConflictAffected,
    /// A requirement pins it.
    Pinned,
    /// It was selected before the order changed.
    Kept,
}

/// What the search reads and remembers.
#[derive(Debug, Default)]
struct UvState {
    versions: BTreeMap<PackageName, KnownVersions>,
    /// The priority of each package, with its position in the order in which packages are required.
    priorities: BTreeMap<Node, (Priority, usize)>,
    /// The last selected version of each package, in the order of selection.
    decisions: Vec<(Node, usize)>,
    /// The packages that stay selected first after a change of the order.
    kept: Vec<Node>,
    /// Conflicts of a version with another package that were counted.
    conflicts: BTreeSet<(Node, usize, Node)>,
    /// How often releases of a package were rejected because of others, and those of others because of it.
    counts: BTreeMap<Node, (usize, usize)>,
    is_reordered: bool,
    steps: usize,
}

impl UvState {
    /// Counts a conflict of a version with what is selected of another package.
    fn count_conflict(&mut self, node: &Node, rank: usize, other: &Node) {
        if !self.conflicts.insert((node.clone(), rank, other.clone())) {
            return;
        }
        let culprit = self.counts.entry(other.clone()).or_default();
        culprit.1 += 1;
        let is_culprit = culprit.1 == CONFLICTS_BEFORE_REORDERING;
        let affected = self.counts.entry(node.clone()).or_default();
        affected.0 += 1;
        let is_affected = affected.0 == CONFLICTS_BEFORE_REORDERING;
        if is_affected && let Some((priority, _)) = self.priorities.get_mut(node) {
            *priority = Priority::ConflictAffected;
        }
        if is_culprit
            && let Some((priority, _)) = self.priorities.get_mut(other)
            && !matches!(priority, Priority::ConflictCulprit | Priority::ConflictAffected)
        {
            *priority = Priority::ConflictCulprit;
            self.is_reordered = true;
            let before = self.decisions.iter().map(|(node, _)| node).take_while(|node| *node != other);
            self.kept = before.cloned().collect();
        }
    }

    /// Returns the selected distributions.
    fn into_selections(self, selected: impl IntoIterator<Item = (Node, usize)>) -> BTreeMap<PackageName, Selection> {
        let mut selections = BTreeMap::new();
        for (node, rank) in selected {
            let Node::Distribution(name) = node else { continue };
            let Some(versions) = self.versions.get(&name) else { continue };
            let Some((version, is_installed)) = versions.all.get(rank) else { continue };
            let version = version.clone();
            let selection = if *is_installed { Selection::Installed(version) } else { Selection::Release(version) };
            selections.insert(name, selection);
        }
        selections
    }
}

/// The search for one command.
struct UvSearch<'a, C> {
    request: &'a InstallRequest<'a>,
    catalog: &'a C,
    state: RefCell<UvState>,
}

impl<C: Catalog> UvSearch<'_, C> {
    /// Reads the versions of a distribution; returns whether they are known.
    fn read_versions(&self, name: &PackageName) -> bool {
        let mut state = self.state.borrow_mut();
        if state.versions.contains_key(name) {
            return true;
        }
        let installed = self.request.installed.get(name);
        let mut known = KnownVersions::default();
        match self.catalog.releases(name) {
            Ok(releases) => {
                for release in releases {
                    if release.yanked {
                        known.yanked.insert(release.version.clone());
                    }
                    known.all.push((release.version, false));
                }
            }
            Err(_) if installed.is_none() => return false,
            Err(_) => {}
        }
        if let Some(installed) = installed {
            known.all.retain(|(version, _)| version.compare(installed) != Ordering::Equal);
            known.all.push(((*installed).clone(), true));
        }
        known.all.sort_by(|(one, _), (other, _)| one.compare(other));
        state.versions.insert(name.clone(), known);
        true
    }

    /// Adds what a requirement means to the constraints of a node.
    fn require(&self, requirement: &DependencySpecifier, constraints: &mut Vec<(Node, Ranges<usize>)>) {
        let name = &requirement.name;
        if !self.read_versions(name) {
            return;
        }
        let limits = self.request.constraints.iter().filter(|limit| limit.name == *name).map(|limit| &limit.range);
        let ranges: Vec<&VersionRange> = limits.chain([&requirement.range]).collect();
        let mut state = self.state.borrow_mut();
        let is_admitted =
            |version: &ExactVersion| ranges.iter().all(|range| range.is_any() || range.contains(version) == Some(true));
        let mut set = Ranges::empty();
        for (rank, (version, _)) in state.versions.get(name).into_iter().flat_map(|known| &known.all).enumerate() {
            if is_admitted(version) {
                set = set.union(&Ranges::singleton(rank));
            }
        }
        let pinned = ranges.iter().any(|range| range.is_pin());
        let mut nodes: Vec<Node> =
            requirement.extras.iter().map(|extra| Node::Extra(name.clone(), extra.clone())).collect();
        // An extra requires the distribution itself.
        if nodes.is_empty() {
            nodes.push(Node::Distribution(name.clone()));
        }
        for node in nodes {
            let next = state.priorities.len();
            let (priority, _) = state.priorities.entry(node.clone()).or_insert((Priority::Required, next));
            if pinned {
                *priority = Priority::Pinned;
            }
            constraints.push((node, set.clone()));
        }
    }

    /// Whether the command itself names a range for which a condition holds.
    fn names(&self, name: &PackageName, holds: impl Fn(&VersionRange) -> bool) -> bool {
        let mut all = self.request.requirements.iter().chain(&self.request.constraints);
        all.any(|one| one.name == *name && holds(&one.range))
    }

    /// Returns the version that uv prefers within a set.
    fn choose(&self, name: &PackageName, range: &Ranges<usize>) -> Option<usize> {
        let state = self.state.borrow();
        let known = state.versions.get(name)?;
        let within = || known.all.iter().enumerate().rev().filter(|(rank, _)| range.contains(rank));
        if self.request.upgrade == UpgradePolicy::Never
            && let Some((rank, _)) = within().find(|(_, (_, is_installed))| *is_installed)
        {
            return Some(rank);
        }
        let only_prereleases = known.all.iter().all(|(version, _)| version.is_prerelease());
        let prereleases =
            self.request.prereleases || only_prereleases || self.names(name, VersionRange::names_prerelease);
        let usable =
            || within().filter(|(_, (version, is_installed))| *is_installed || prereleases || !version.is_prerelease());
        let is_yanked = |version: &ExactVersion| known.yanked.contains(version);
        let kept = usable().find(|(_, (version, is_installed))| *is_installed || !is_yanked(version));
        let yanked = || usable().next().filter(|_| self.names(name, VersionRange::is_pin));
        kept.or_else(yanked).map(|(rank, _)| rank)
    }
}

impl<C: Catalog> DependencyProvider for UvSearch<'_, C> {
    type P = Node;
    type V = usize;
    type VS = Ranges<usize>;
    type Priority = (Priority, Reverse<usize>);
    type M = String;
    type Err = Stop;

    fn should_cancel(&self) -> Result<(), Stop> {
        let mut state = self.state.borrow_mut();
        state.steps += 1;
        match state.is_reordered {
            true => Err(Stop::Reordered),
            false if state.steps > MAX_STEPS => Err(Stop::TooManySteps),
            false => Ok(()),
        }
    }

    fn prioritize(&self, node: &Node, _: &Ranges<usize>, _: &PackageResolutionStatistics) -> Self::Priority {
        let state = self.state.borrow();
        if let Some(position) = state.kept.iter().position(|kept| kept == node) {
            return (Priority::Kept, Reverse(position));
        }
        let (priority, position) = state.priorities.get(node).copied().unwrap_or((Priority::Pinned, 0));
        (priority, Reverse(position))
    }

    fn choose_version(&self, node: &Node, range: &Ranges<usize>) -> Result<Option<usize>, Stop> {
        let chosen = match node {
            Node::Command => Some(0),
            Node::Distribution(name) | Node::Extra(name, _) => self.choose(name, range),
        };
        if let Some(rank) = chosen {
            let mut state = self.state.borrow_mut();
            state.decisions.retain(|(decided, _)| decided != node);
            state.decisions.push((node.clone(), rank));
        }
        Ok(chosen)
    }

    fn get_dependencies(&self, node: &Node, rank: &usize) -> Result<Dependencies<Node, Ranges<usize>, String>, Stop> {
        let mut constraints: Vec<(Node, Ranges<usize>)> = Vec::new();
        let version = |name: &PackageName| {
            let state = self.state.borrow();
            Some(state.versions.get(name)?.all.get(*rank)?.0.clone())
        };
        match node {
            Node::Command => {
                for requirement in &self.request.requirements {
                    self.require(requirement, &mut constraints);
                }
            }
            Node::Distribution(name) => {
                if let Some(version) = version(name).filter(|_| !self.request.no_deps) {
                    for requirement in self.catalog.requirements(name, &version, &[]).unwrap_or_default() {
                        self.require(&requirement, &mut constraints);
                    }
                }
            }
            Node::Extra(name, extra) => {
                constraints.push((Node::Distribution(name.clone()), Ranges::singleton(*rank)));
                if let Some(version) = version(name).filter(|_| !self.request.no_deps) {
                    for requirement in
                        self.catalog.requirements(name, &version, std::slice::from_ref(extra)).unwrap_or_default()
                    {
                        self.require(&requirement, &mut constraints);
                    }
                }
            }
        }
        let mut state = self.state.borrow_mut();
        for (other, set) in &constraints {
            if other != node && state.decisions.iter().any(|(decided, rank)| decided == other && !set.contains(rank)) {
                state.count_conflict(node, *rank, other);
            }
        }
        drop(state);
        let mut all: DependencyConstraints<Node, Ranges<usize>> = DependencyConstraints::default();
        for (node, set) in constraints {
            let set = all.get(&node).map_or_else(|| set.clone(), |own| own.intersection(&set));
            all.insert(node, set);
        }
        Ok(Dependencies::Available(all))
    }
}
