//! The search of pip: one package after the other, the newest release first, with backtracking to the last package that
//! took part in a conflict.
//!
//! The order of the packages decides which of several solutions is found, and it differs between versions of pip. So
//! after a conflict all orders are searched, and a result counts only if they agree.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};
use crate::resolve::catalog::{Admitted, Catalog, Release, admitted_releases};
use crate::resolve::request::{DependencySpecifier, InstallRequest, Resolution, Selection, UpgradePolicy};

/// The number of candidates after which a search is given up.
const MAX_STEPS: usize = 2_000;

/// Returns what pip selects.
pub(super) fn resolve(request: &InstallRequest<'_>, catalog: &impl Catalog) -> Resolution {
    let search = |version| PipSearch::new(request, catalog, version).run();
    let (found, conflicts) = search(PipVersion::Pip24);
    let differs = |version: &PipVersion| search(*version).0 != found;
    if conflicts && [PipVersion::Older, PipVersion::Pip25, PipVersion::Reversed].iter().any(differs) {
        return Resolution::Unknown(Cause::SearchOrder);
    }
    found
}

/// What differs between versions of pip: the order in which packages are selected, and whether a requirement with
/// extras is a requirement on the package without them, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PipVersion {
    /// pip 23.0 and older.
    Older,
    /// pip 24: packages closest to the command first.
    Pip24,
    /// From pip 25 on: packages with an upper bound first.
    Pip25,
    /// No pip, with the last package of the command first: a result that remains the same depends on no order.
    Reversed,
}

/// A distribution, or a distribution with extras: pip selects for both separately.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identifier {
    name: PackageName,
    extras: Vec<PackageName>,
}

/// A release of a package that can be selected.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    identifier: Identifier,
    version: ExactVersion,
    is_installed: bool,
}

/// What a candidate or the command requires of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requested {
    /// A version in a range.
    Range(VersionRange),
    /// Exactly one candidate: that of the package whose extra is selected.
    Candidate(ExactVersion, bool),
}

/// A requirement with the package that has it; `None` for the command.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Information {
    on: Identifier,
    requested: Requested,
    parent: Option<Identifier>,
}

/// Everything that is required of one package, and the candidates that satisfy it.
#[derive(Clone, Debug, Default)]
struct Criterion {
    candidates: Rc<[Candidate]>,
    information: Vec<Rc<Information>>,
    incompatible: Vec<Candidate>,
}

/// The selections after one step.
#[derive(Clone, Debug, Default)]
struct SearchState {
    /// The selected candidates, the last one at the end.
    pins: Vec<Candidate>,
    criteria: BTreeMap<Identifier, Rc<Criterion>>,
    /// The packages of the last conflict.
    conflict: BTreeSet<Identifier>,
}

/// Why a search ends without a selection.
enum Failure {
    Impossible,
    Unknown(Cause),
}

/// A requirement that no candidate satisfies, with everything that is required of its package.
struct Conflict(Vec<Rc<Information>>);

/// Why a requirement cannot be added.
enum AddError {
    Conflict(Conflict),
    Unknown(Cause),
}

/// A search with one order of packages.
struct PipSearch<'a, C> {
    request: &'a InstallRequest<'a>,
    catalog: &'a C,
    version: PipVersion,
    releases: BTreeMap<PackageName, Result<Rc<[Release]>, Cause>>,
    depths: BTreeMap<Identifier, usize>,
    steps: usize,
    /// Whether a selected or possible release conflicted with another one, so that the order of packages matters.
    has_conflicts: bool,
}

impl<'a, C: Catalog> PipSearch<'a, C> {
    fn new(request: &'a InstallRequest<'a>, catalog: &'a C, version: PipVersion) -> Self {
        Self {
            request,
            catalog,
            version,
            releases: BTreeMap::new(),
            depths: BTreeMap::new(),
            steps: 0,
            has_conflicts: false,
        }
    }

    /// Runs the search; also returns whether releases conflicted.
    fn run(mut self) -> (Resolution, bool) {
        let resolution = match self.search() {
            Ok(state) => {
                let conflicts = self.has_conflicts;
                return (Resolution::Selected(self.selections(&state)), conflicts);
            }
            Err(Failure::Impossible) => Resolution::Impossible,
            Err(Failure::Unknown(cause)) => Resolution::Unknown(cause),
        };
        (resolution, self.has_conflicts)
    }

    /// Searches a selection for every required package.
    fn search(&mut self) -> Result<SearchState, Failure> {
        let mut root = SearchState::default();
        for requirement in &self.request.requirements {
            self.add(&mut root.criteria, requirement, None).map_err(|error| match error {
                AddError::Conflict(_) => Failure::Impossible,
                AddError::Unknown(cause) => Failure::Unknown(cause),
            })?;
        }
        let mut states = vec![root.clone(), root];
        loop {
            self.count_step().map_err(Failure::Unknown)?;
            let Some(state) = states.last() else { return Err(Failure::Impossible) };
            let open: Vec<Identifier> = unsatisfied(state).cloned().collect();
            let satisfied: Vec<Identifier> =
                state.criteria.keys().filter(|identifier| !open.contains(identifier)).cloned().collect();
            let Some(next) = self.preferred(state, &open) else { return Ok(state.clone()) };
            match self.select(state, &next).map_err(Failure::Unknown)? {
                Ok(mut selected) => {
                    let replaced: BTreeSet<Identifier> =
                        unsatisfied(&selected).filter(|identifier| satisfied.contains(identifier)).cloned().collect();
                    self.has_conflicts |= !replaced.is_empty();
                    forget_requirements_of(&mut selected, &replaced);
                    // The state of this step keeps its selection, so that a conflict can undo it.
                    if let Some(last) = states.last_mut() {
                        *last = selected.clone();
                    }
                    states.push(selected);
                }
                Err(causes) => {
                    let found = self.backtrack(&mut states, &causes)?;
                    if let Some(last) = states.last_mut() {
                        last.conflict =
                            causes.iter().flat_map(|cause| cause.parent.iter().chain([&cause.on])).cloned().collect();
                    }
                    if !found {
                        return Err(Failure::Impossible);
                    }
                }
            }
        }
    }

    /// Counts a selected or rejected candidate.
    fn count_step(&mut self) -> Result<(), Cause> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Cause::SearchLimit { steps: MAX_STEPS }) } else { Ok(()) }
    }

    /// Adds a requirement to the criterion of its package.
    fn add(
        &mut self,
        criteria: &mut BTreeMap<Identifier, Rc<Criterion>>,
        requirement: &DependencySpecifier,
        parent: Option<&Identifier>,
    ) -> Result<(), AddError> {
        let on = Identifier { name: requirement.name.clone(), extras: requirement.extras.clone() };
        if !on.extras.is_empty() && self.version != PipVersion::Older {
            let base = Identifier { name: requirement.name.clone(), extras: Vec::new() };
            self.add_requested(criteria, base, Requested::Range(requirement.range.clone()), parent)?;
        }
        self.add_requested(criteria, on, Requested::Range(requirement.range.clone()), parent)
    }

    fn add_requested(
        &mut self,
        criteria: &mut BTreeMap<Identifier, Rc<Criterion>>,
        on: Identifier,
        requested: Requested,
        parent: Option<&Identifier>,
    ) -> Result<(), AddError> {
        // What is required of it is unknown, and what it requires: it stays out of the search.
        if self.releases_of(&on.name).is_err() && !self.request.installed.contains_key(&on.name) {
            return Ok(());
        }
        let mut criterion = criteria.get(&on).map_or_else(Criterion::default, |own| Criterion::clone(own));
        criterion.information.push(Rc::new(Information { on: on.clone(), requested, parent: parent.cloned() }));
        criterion.candidates = self.matches(criteria, &on, &criterion).map_err(AddError::Unknown)?.into();
        if criterion.candidates.is_empty() {
            return Err(AddError::Conflict(Conflict(criterion.information)));
        }
        criteria.insert(on, Rc::new(criterion));
        Ok(())
    }

    /// Returns the releases of a distribution, read once.
    fn releases_of(&mut self, name: &PackageName) -> Result<Rc<[Release]>, Cause> {
        let catalog = self.catalog;
        self.releases.entry(name.clone()).or_insert_with(|| catalog.releases(name).map(Rc::from)).clone()
    }

    /// Returns the candidates that satisfy a criterion, the preferred ones first.
    fn matches(
        &mut self,
        criteria: &BTreeMap<Identifier, Rc<Criterion>>,
        on: &Identifier,
        criterion: &Criterion,
    ) -> Result<Vec<Candidate>, Cause> {
        let base = Identifier { name: on.name.clone(), extras: Vec::new() };
        let of_base = criteria.get(&base).filter(|_| !on.extras.is_empty());
        let information = || criterion.information.iter().chain(of_base.into_iter().flat_map(|base| &base.information));
        let constraints = self.request.constraints.iter().filter(|constraint| constraint.name == on.name);
        let mut ranges: Vec<&VersionRange> = constraints.map(|constraint| &constraint.range).collect();
        let mut exact: Vec<(&ExactVersion, bool)> = Vec::new();
        for one in information() {
            match &one.requested {
                Requested::Range(range) => ranges.push(range),
                Requested::Candidate(version, is_installed) => exact.push((version, *is_installed)),
            }
        }
        let candidate = |version: &ExactVersion, is_installed| Candidate {
            identifier: on.clone(),
            version: version.clone(),
            is_installed,
        };
        let is_open = |candidate: &Candidate| !criterion.incompatible.contains(candidate);
        let is_in_ranges = |version: &ExactVersion| ranges.iter().all(|range| is_satisfied(range, version));
        if let Some((version, is_installed)) = exact.first() {
            let one = candidate(version, *is_installed);
            let alike = exact.iter().all(|other| other == &(*version, *is_installed));
            return Ok(Some(one).filter(|one| alike && is_in_ranges(version) && is_open(one)).into_iter().collect());
        }
        let installed = self.request.installed.get(&on.name).copied().filter(|version| is_in_ranges(version));
        let mut listed = match self.releases_of(&on.name) {
            Ok(releases) => match admitted_releases(&releases, ranges.iter().copied(), self.request.prereleases) {
                Admitted::Listed(listed) => listed,
                Admitted::OnlyPrereleases if installed.is_some() && !self.is_upgraded(on) => Vec::new(),
                Admitted::OnlyPrereleases => return Err(Cause::OnlyPrereleases { package: on.name.to_string() }),
            },
            Err(cause) if installed.is_none() || self.is_upgraded(on) => return Err(cause),
            Err(_) => Vec::new(),
        };
        let mut all: Vec<Candidate> = Vec::new();
        if let Some(installed) = installed {
            listed.retain(|version| version.compare(installed) != Ordering::Equal);
            let newer = if self.is_upgraded(on) {
                listed.iter().take_while(|version| version.compare(installed).is_gt()).count()
            } else {
                0
            };
            let older = listed.split_off(newer);
            all.extend(listed.iter().map(|version| candidate(version, false)));
            all.push(candidate(installed, true));
            listed = older;
        }
        all.extend(listed.iter().map(|version| candidate(version, false)));
        all.retain(is_open);
        Ok(all)
    }

    /// Whether an installed package is replaced by a newer release.
    fn is_upgraded(&self, on: &Identifier) -> bool {
        match self.request.upgrade {
            UpgradePolicy::Never => false,
            UpgradePolicy::All => true,
            UpgradePolicy::Named => self.request.requirements.iter().any(|one| one.name == on.name),
        }
    }

    /// Returns the package to select next.
    fn preferred(&mut self, state: &SearchState, open: &[Identifier]) -> Option<Identifier> {
        let mut keyed = Vec::new();
        for identifier in open {
            let key = self.preference(state, identifier);
            keyed.push((key, identifier));
        }
        // From pip 25 on, the packages of a conflict come first, if there are any.
        let in_conflict = |identifier: &Identifier| state.conflict.contains(identifier);
        if self.version == PipVersion::Pip25 && keyed.iter().any(|(_, identifier)| in_conflict(identifier)) {
            keyed.retain(|(_, identifier)| in_conflict(identifier));
        }
        keyed.into_iter().min().map(|(_, identifier)| identifier.clone())
    }

    /// Returns the sort key of a package: the lowest one is selected first.
    fn preference(&mut self, state: &SearchState, identifier: &Identifier) -> (Vec<usize>, String) {
        let information = state.criteria.get(identifier).map(|criterion| criterion.information.as_slice());
        let information = information.unwrap_or_default();
        let ranges: Vec<&VersionRange> = information
            .iter()
            .filter_map(|one| match &one.requested {
                Requested::Range(range) => Some(range),
                Requested::Candidate(..) => None,
            })
            .collect();
        let direct = ranges.len() < information.len();
        let pinned = ranges.iter().any(|range| range.has_equality());
        let bounded = ranges.iter().any(|range| range.has_upper_bound());
        let limited = ranges.iter().any(|range| !range.is_any());
        let requested = self
            .request
            .requirements
            .iter()
            .position(|one| one.name == identifier.name && one.extras == identifier.extras);
        let depth = if requested.is_some() {
            1
        } else {
            let parents = information.iter().map(|one| {
                one.parent.as_ref().map_or(0, |parent| self.depths.get(parent).copied().unwrap_or(usize::MAX / 2))
            });
            parents.min().unwrap_or(usize::MAX / 2) + 1
        };
        self.depths.insert(identifier.clone(), depth);
        let position = requested.unwrap_or(usize::MAX);
        let key = match self.version {
            PipVersion::Older | PipVersion::Pip24 => vec![
                usize::from(!direct),
                usize::from(!pinned),
                usize::from(!state.conflict.contains(identifier)),
                depth,
                position,
                usize::from(!limited),
            ],
            PipVersion::Reversed => vec![usize::from(!direct), usize::MAX - position],
            PipVersion::Pip25 => {
                vec![usize::from(!direct), usize::from(!pinned), usize::from(!bounded), position, usize::from(!limited)]
            }
        };
        let extras: Vec<&str> = identifier.extras.iter().map(PackageName::as_str).collect();
        let text = if extras.is_empty() {
            identifier.name.to_string()
        } else {
            format!("{}[{}]", identifier.name, extras.join(","))
        };
        (key, text)
    }

    /// Selects the first candidate of a package whose requirements do not conflict; otherwise returns the conflicts.
    fn select(
        &mut self,
        state: &SearchState,
        identifier: &Identifier,
    ) -> Result<Result<SearchState, Vec<Rc<Information>>>, Cause> {
        let mut causes = Vec::new();
        let candidates =
            state.criteria.get(identifier).map(|criterion| criterion.candidates.clone()).unwrap_or_default();
        for candidate in candidates.iter() {
            self.count_step()?;
            let mut criteria = state.criteria.clone();
            match self.add_dependencies(&mut criteria, candidate) {
                Ok(()) => {
                    let mut selected = SearchState { criteria, ..state.clone() };
                    selected.pins.retain(|pin| pin.identifier != *identifier);
                    selected.pins.push(candidate.clone());
                    return Ok(Ok(selected));
                }
                Err(AddError::Conflict(Conflict(information))) => {
                    self.has_conflicts = true;
                    causes.extend(information);
                }
                Err(AddError::Unknown(cause)) => return Err(cause),
            }
        }
        Ok(Err(causes))
    }

    /// Adds what a candidate requires.
    fn add_dependencies(
        &mut self,
        criteria: &mut BTreeMap<Identifier, Rc<Criterion>>,
        candidate: &Candidate,
    ) -> Result<(), AddError> {
        let identifier = &candidate.identifier;
        if !identifier.extras.is_empty() {
            let base = Identifier { name: identifier.name.clone(), extras: Vec::new() };
            let exactly = Requested::Candidate(candidate.version.clone(), candidate.is_installed);
            self.add_requested(criteria, base, exactly, Some(identifier))?;
        }
        for requirement in self.requirements_of(candidate) {
            self.add(criteria, &requirement, Some(identifier))?;
        }
        Ok(())
    }

    /// Returns what a candidate requires: with extras, only what these add.
    fn requirements_of(&mut self, candidate: &Candidate) -> Vec<DependencySpecifier> {
        let Identifier { name, extras } = &candidate.identifier;
        if self.request.no_deps {
            return Vec::new();
        }
        let read = |extras: &[PackageName]| self.catalog.requirements(name, &candidate.version, extras);
        let all = read(extras).unwrap_or_default();
        if extras.is_empty() {
            return all;
        }
        let without = read(&[]).unwrap_or_default();
        all.into_iter().filter(|one| !without.contains(one)).collect()
    }

    /// Undoes selections up to the last one that took part in a conflict; returns whether another one is left there.
    fn backtrack(&mut self, states: &mut Vec<SearchState>, causes: &[Rc<Information>]) -> Result<bool, Failure> {
        let involved: BTreeSet<&Identifier> =
            causes.iter().flat_map(|cause| cause.parent.iter().chain([&cause.on])).collect();
        while states.len() >= 3 {
            states.pop();
            let (broken, candidate) = loop {
                let Some(mut broken) = states.pop() else { return Err(Failure::Impossible) };
                let Some(candidate) = broken.pins.pop() else { return Err(Failure::Impossible) };
                let mut own: Vec<Identifier> = self
                    .requirements_of(&candidate)
                    .into_iter()
                    .map(|one| Identifier { name: one.name, extras: one.extras })
                    .collect();
                if !candidate.identifier.extras.is_empty() {
                    own.push(Identifier { name: candidate.identifier.name.clone(), extras: Vec::new() });
                }
                if own.iter().any(|one| involved.contains(one)) {
                    break (broken, candidate);
                }
            };
            let mut incompatible: Vec<(Identifier, Vec<Candidate>)> = broken
                .criteria
                .into_iter()
                .map(|(identifier, criterion)| (identifier, criterion.incompatible.clone()))
                .collect();
            incompatible.push((candidate.identifier.clone(), vec![candidate]));
            let Some(base) = states.last().cloned() else { return Err(Failure::Impossible) };
            let (patched, works) = self.exclude(base, incompatible)?;
            states.push(patched);
            if works {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Excludes candidates; returns whether every package keeps one.
    fn exclude(
        &mut self,
        mut state: SearchState,
        incompatible: Vec<(Identifier, Vec<Candidate>)>,
    ) -> Result<(SearchState, bool), Failure> {
        for (identifier, mut candidates) in incompatible {
            if candidates.is_empty() {
                continue;
            }
            let Some(mut criterion) = state.criteria.get(&identifier).map(|own| Criterion::clone(own)) else {
                continue;
            };
            candidates.append(&mut criterion.incompatible);
            criterion.incompatible = candidates;
            criterion.candidates =
                self.matches(&state.criteria, &identifier, &criterion).map_err(Failure::Unknown)?.into();
            if criterion.candidates.is_empty() {
                return Ok((state, false));
            }
            state.criteria.insert(identifier, Rc::new(criterion));
        }
        Ok((state, true))
    }

    /// Returns the selected packages that the command requires directly or indirectly.
    fn selections(mut self, state: &SearchState) -> BTreeMap<PackageName, Selection> {
        let mut connected: BTreeSet<&Identifier> = BTreeSet::new();
        loop {
            let is_connected = |criterion: &Criterion| {
                criterion
                    .information
                    .iter()
                    .any(|one| one.parent.as_ref().is_none_or(|parent| connected.contains(parent)))
            };
            let more: Vec<&Identifier> = state
                .criteria
                .iter()
                .filter(|(identifier, criterion)| !connected.contains(identifier) && is_connected(criterion))
                .map(|(identifier, _)| identifier)
                .collect();
            if more.is_empty() {
                break;
            }
            connected.extend(more);
        }
        let mut selections: BTreeMap<PackageName, Selection> = BTreeMap::new();
        for pin in state.pins.iter().filter(|pin| connected.contains(&pin.identifier)) {
            let selection = if pin.is_installed {
                Selection::Installed(pin.version.clone())
            } else {
                Selection::Release(pin.version.clone())
            };
            selections.insert(pin.identifier.name.clone(), selection);
        }
        let mut requirements = self.request.requirements.clone();
        for pin in state.pins.iter().filter(|pin| connected.contains(&pin.identifier)) {
            requirements.extend(self.requirements_of(pin));
        }
        for DependencySpecifier { name, .. } in requirements {
            if !selections.contains_key(&name)
                && let Err(cause) = self.releases_of(&name)
            {
                selections.insert(name, Selection::Unknown(cause));
            }
        }
        selections
    }
}

/// Returns the packages without a selection that satisfies everything that is required of them.
fn unsatisfied(state: &SearchState) -> impl Iterator<Item = &Identifier> {
    let is_satisfied_by = |criterion: &Criterion, pin: &Candidate| {
        criterion.information.iter().all(|one| match &one.requested {
            Requested::Range(range) => is_satisfied(range, &pin.version),
            Requested::Candidate(version, is_installed) => *version == pin.version && *is_installed == pin.is_installed,
        })
    };
    state.criteria.iter().filter_map(move |(identifier, criterion)| {
        let pin = state.pins.iter().find(|pin| pin.identifier == *identifier);
        (!pin.is_some_and(|pin| is_satisfied_by(criterion, pin))).then_some(identifier)
    })
}

/// Removes what packages require that are selected again.
fn forget_requirements_of(state: &mut SearchState, replaced: &BTreeSet<Identifier>) {
    if replaced.is_empty() {
        return;
    }
    for criterion in state.criteria.values_mut() {
        Rc::make_mut(criterion)
            .information
            .retain(|one| one.parent.as_ref().is_none_or(|parent| !replaced.contains(parent)));
    }
}

/// Whether a range contains a version, pre-releases included.
fn is_satisfied(range: &VersionRange, version: &ExactVersion) -> bool {
    range.is_any() || range.contains(version) == Some(true)
}
