//! The search of uv, with the `pubgrub` crate: a package that is pinned comes first, then the one that was required
//! first; an installed version is preferred, then the newest one.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pubgrub::{Dependencies, DependencyConstraints, DependencyProvider, PackageResolutionStatistics, PubGrubError};
use version_ranges::Ranges;

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};
use crate::resolve::catalog::{Catalog, Release};
use crate::resolve::request::{Conflict, DependencySpecifier, InstallRequest, Resolution, Selection, UpgradePolicy};

/// The number of conflicts of a package after which uv changes the order of the packages.
const CONFLICTS_BEFORE_REORDERING: usize = 5;
/// The number of selections after which a search is given up.
const MAX_STEPS: usize = 5_000;
/// The number of boundaries of one distribution after which a search is given up.
const MAX_BOUNDARIES: usize = 500;

/// Returns what uv selects.
///
/// uv changes the order of the packages if too many of their releases conflict, and selects them anew: so does this.
pub(super) fn resolve(request: &InstallRequest, catalog: &impl Catalog) -> Resolution {
    let mut boundaries = Boundaries::default();
    for one in request.requirements.iter().chain(&request.constraints) {
        add_boundaries(&mut boundaries, one);
    }
    let mut state = UvState { boundaries, ..UvState::default() };
    loop {
        if state.boundaries.values().any(|boundaries| boundaries.len() > MAX_BOUNDARIES) {
            return Resolution::Unknown(Cause::SearchLimit { steps: MAX_STEPS });
        }
        let search = UvSearch { request, catalog, state: RefCell::new(state) };
        let result = pubgrub::resolve(&search, Node::Command, 0_usize);
        state = search.state.into_inner();
        match result {
            Ok(selected) => return Resolution::Selected(state.into_selections(selected)),
            Err(PubGrubError::NoSolution(_)) => return Resolution::Impossible(conflict_by_pip(request, catalog)),
            Err(_) if state.steps > MAX_STEPS => {
                return Resolution::Unknown(Cause::SearchLimit { steps: MAX_STEPS });
            }
            Err(PubGrubError::ErrorInShouldCancel(Stop::NewBoundaries)) => {
                state = UvState { boundaries: state.boundaries, steps: state.steps, ..UvState::default() };
            }
            Err(_) => {
                state.is_reordered = false;
                state.decisions.clear();
            }
        }
    }
}

/// Returns the conflict that pip would report, if it finds no selection either.
fn conflict_by_pip(request: &InstallRequest, catalog: &impl Catalog) -> Option<Conflict> {
    match super::pip::resolve(request, catalog) {
        Resolution::Impossible(conflict) => conflict,
        Resolution::Selected(_) | Resolution::Unknown(_) => None,
    }
}

/// The versions at which requirements on a distribution begin or end.
type Boundaries = BTreeMap<PackageName, BTreeSet<ExactVersion>>;

/// Adds the boundaries of a requirement; returns whether there are new ones.
fn add_boundaries(boundaries: &mut Boundaries, requirement: &DependencySpecifier) -> bool {
    let of_range = requirement.range.boundary_versions();
    if of_range.is_empty() {
        return false;
    }
    let known = boundaries.entry(requirement.name.clone()).or_default();
    let before = known.len();
    known.extend(of_range);
    known.len() > before
}

/// Why a search stops before its end.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("the order of the packages has changed")]
    Reordered,
    #[error("a requirement divides the unlisted releases further")]
    NewBoundaries,
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

/// A version that can be selected.
#[derive(Clone, Debug, PartialEq, Eq)]
enum UvVersion {
    Listed(Release),
    Installed(ExactVersion),
    /// A version that stands for the unlisted releases between two boundaries of requirements.
    Unlisted(ExactVersion, Cause),
}

impl UvVersion {
    /// Returns the version.
    const fn version(&self) -> &ExactVersion {
        match self {
            Self::Listed(release) => &release.version,
            Self::Installed(version) | Self::Unlisted(version, _) => version,
        }
    }

    const fn is_installed(&self) -> bool {
        matches!(self, Self::Installed(_))
    }

    const fn is_unlisted(&self) -> bool {
        matches!(self, Self::Unlisted(..))
    }

    const fn is_yanked(&self) -> bool {
        matches!(self, Self::Listed(release) if release.yanked)
    }
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
    /// The versions of each distribution, the preferred ones last: their positions are what the search compares.
    versions: BTreeMap<PackageName, Vec<UvVersion>>,
    /// Where the unlisted releases of a distribution are divided.
    boundaries: Boundaries,
    has_new_boundaries: bool,
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
            let selection = match versions.get(rank) {
                Some(UvVersion::Listed(release)) => Selection::Release(release.version.clone()),
                Some(UvVersion::Installed(version)) => Selection::Installed(version.clone()),
                Some(UvVersion::Unlisted(_, cause)) => Selection::Unknown(cause.clone()),
                None => continue,
            };
            selections.insert(name, selection);
        }
        selections
    }
}

/// The search for one command.
struct UvSearch<'a, C> {
    request: &'a InstallRequest,
    catalog: &'a C,
    state: RefCell<UvState>,
}

impl<C: Catalog> UvSearch<'_, C> {
    /// Reads the versions of the distribution that a requirement names.
    fn read_versions(&self, requirement: &DependencySpecifier) {
        let name = &requirement.name;
        let mut state = self.state.borrow_mut();
        if let Some(known) = state.versions.get(name) {
            let divides =
                known.iter().any(UvVersion::is_unlisted) && add_boundaries(&mut state.boundaries, requirement);
            state.has_new_boundaries |= divides;
            return;
        }
        let installed = self.request.installed.get(name);
        let releases = self.catalog.releases(name);
        let is_listed = !releases.listed.is_empty();
        let mut known: Vec<UvVersion> = Vec::new();
        if let Some(cause) = releases.others {
            add_boundaries(&mut state.boundaries, requirement);
            if let Some(installed) = installed {
                // An unlisted release may be newer than the installed one.
                let range = VersionRange::exactly(&installed.without_local());
                add_boundaries(&mut state.boundaries, &DependencySpecifier::new(name.clone(), range));
            }
            let boundaries = state.boundaries.get(name).cloned().unwrap_or_default();
            let any = boundaries.is_empty().then(|| ExactVersion::from("0"));
            let unlisted = |version| UvVersion::Unlisted(version, cause.clone());
            known.extend(boundaries.into_iter().chain(any).map(unlisted));
        }
        known.extend(releases.listed.into_iter().map(UvVersion::Listed));
        if let Some(installed) = installed {
            known.retain(|one| one.is_unlisted() && is_listed || !one.version().is_same(installed));
            known.push(UvVersion::Installed(installed.clone()));
        }
        // Listed releases are preferred.
        let key = |one: &UvVersion| !(is_listed && one.is_unlisted());
        known.sort_by(|one, other| key(one).cmp(&key(other)).then_with(|| one.version().compare(other.version())));
        state.versions.insert(name.clone(), known);
    }

    /// Adds what a requirement means to the constraints of a node.
    fn require(&self, requirement: &DependencySpecifier, constraints: &mut Vec<(Node, Ranges<usize>)>) {
        let name = &requirement.name;
        self.read_versions(requirement);
        let limits = self.request.constraints.iter().filter(|limit| limit.name == *name).map(|limit| &limit.range);
        let ranges: Vec<&VersionRange> = limits.chain([&requirement.range]).collect();
        let mut state = self.state.borrow_mut();
        let is_admitted =
            |version: &ExactVersion| ranges.iter().all(|range| range.is_any() || range.contains(version) == Some(true));
        let mut set = Ranges::empty();
        for (rank, one) in state.versions.get(name).into_iter().flatten().enumerate() {
            if is_admitted(one.version()) {
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
        let within = || known.iter().enumerate().rev().filter(|(rank, _)| range.contains(rank));
        if self.request.upgrade == UpgradePolicy::Never
            && let Some((rank, _)) = within().find(|(_, one)| one.is_installed())
        {
            return Some(rank);
        }
        let only_prereleases = known.iter().all(|one| one.version().is_prerelease());
        let prereleases =
            self.request.prereleases || only_prereleases || self.names(name, VersionRange::names_prerelease);
        let is_usable = |one: &UvVersion| one.is_installed() || prereleases || !one.version().is_prerelease();
        let usable = || within().filter(|(_, one)| is_usable(one));
        let kept = usable().find(|(_, one)| !one.is_yanked());
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
        if state.has_new_boundaries {
            Err(Stop::NewBoundaries)
        } else if state.is_reordered {
            Err(Stop::Reordered)
        } else if state.steps > MAX_STEPS {
            Err(Stop::TooManySteps)
        } else {
            Ok(())
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
        let requirements = |name: &PackageName, extras: &[PackageName]| {
            let state = self.state.borrow();
            let one = state.versions.get(name).and_then(|known| known.get(*rank)).filter(|_| !self.request.no_deps);
            let version = one.map(|one| Some(one.version()).filter(|_| !one.is_unlisted()));
            version.map(|version| self.catalog.requirements(name, version, extras)).unwrap_or_default()
        };
        match node {
            Node::Command => {
                for requirement in &self.request.requirements {
                    self.require(requirement, &mut constraints);
                }
            }
            Node::Distribution(name) => {
                for requirement in requirements(name, &[]) {
                    self.require(&requirement, &mut constraints);
                }
            }
            Node::Extra(name, extra) => {
                constraints.push((Node::Distribution(name.clone()), Ranges::singleton(*rank)));
                for requirement in requirements(name, std::slice::from_ref(extra)) {
                    self.require(&requirement, &mut constraints);
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
