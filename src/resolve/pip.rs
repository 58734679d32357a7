//! The search of pip: one package after the other, the newest release first, with backtracking to the last package that
//! took part in a conflict.
//!
//! The order of the packages decides which of several solutions is found, and it differs between versions of pip. So
//! after a conflict all orders are searched, and a result counts only if they agree.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::cause::Cause;
use crate::model::package::{ExactVersion, PackageName, VersionRange};
use crate::resolve::catalog::{Admitted, Catalog, Releases, admitted_releases};
use crate::resolve::request::{Conflict, DependencySpecifier, InstallRequest, Resolution, Selection, UpgradePolicy};

/// The number of candidates after which a search is given up.
const MAX_STEPS: usize = 2_000;

/// Returns what pip selects.
pub(super) fn resolve(request: &InstallRequest, catalog: &impl Catalog) -> Resolution {
    let search = |version| PipSearch::new(request, catalog, version).run();
    let (found, conflicts) = search(PipVersion::Pip24);
    let is_same = |other: &Resolution| match (&found, other) {
        (Resolution::Impossible(_), Resolution::Impossible(_)) => true,
        _ => found == *other,
    };
    let differs = |version: &PipVersion| !is_same(&search(*version).0);
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

/// What can be selected of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CandidateKind {
    Listed(ExactVersion),
    Installed(ExactVersion),
    /// A release that is not listed.
    Unlisted,
}

impl CandidateKind {
    /// Returns its version, if it is known.
    const fn version(&self) -> Option<&ExactVersion> {
        match self {
            Self::Listed(version) | Self::Installed(version) => Some(version),
            Self::Unlisted => None,
        }
    }
}

/// A release of a package that can be selected.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    identifier: Identifier,
    release: CandidateKind,
}

/// What a candidate or the command requires of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requested {
    /// A version in a range.
    Range(VersionRange),
    /// Exactly one candidate: that of the package whose extra is selected.
    Candidate(CandidateKind),
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

/// Why a requirement cannot be added.
enum AddError {
    /// No candidate satisfies everything that is required of its package.
    Conflict(Vec<Rc<Information>>),
    Unknown(Cause),
}

/// A search with one order of packages.
struct PipSearch<'a, C> {
    request: &'a InstallRequest,
    catalog: &'a C,
    version: PipVersion,
    releases: BTreeMap<PackageName, Rc<Releases>>,
    depths: BTreeMap<Identifier, usize>,
    steps: usize,
    /// The first conflict.
    conflict: Option<Conflict>,
    /// Whether a selected or possible release conflicted with another one, so that the order of packages matters.
    has_conflicts: bool,
}

impl<'a, C: Catalog> PipSearch<'a, C> {
    fn new(request: &'a InstallRequest, catalog: &'a C, version: PipVersion) -> Self {
        Self {
            request,
            catalog,
            version,
            releases: BTreeMap::new(),
            depths: BTreeMap::new(),
            steps: 0,
            conflict: None,
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
            Err(Failure::Impossible) => Resolution::Impossible(self.conflict),
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
        // A range applies to an unlisted release with and without extras.
        let is_shared = self.version != PipVersion::Older || self.releases_of(&on.name).others.is_some();
        if !on.extras.is_empty() && is_shared {
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
        let mut criterion = criteria.get(&on).map_or_else(Criterion::default, |own| Criterion::clone(own));
        criterion.information.push(Rc::new(Information { on: on.clone(), requested, parent: parent.cloned() }));
        criterion.candidates = self.matches(criteria, &on, &criterion).map_err(AddError::Unknown)?.into();
        if criterion.candidates.is_empty() {
            self.conflict = self.conflict.take().or_else(|| conflict_of(&criterion.information));
            return Err(AddError::Conflict(criterion.information));
        }
        criteria.insert(on, Rc::new(criterion));
        Ok(())
    }

    /// Returns the releases of a distribution, read once.
    fn releases_of(&mut self, name: &PackageName) -> Rc<Releases> {
        let catalog = self.catalog;
        self.releases.entry(name.clone()).or_insert_with(|| Rc::new(catalog.releases(name))).clone()
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
        let mut exact: Vec<&CandidateKind> = Vec::new();
        for one in information() {
            match &one.requested {
                Requested::Range(range) => ranges.push(range),
                Requested::Candidate(release) => exact.push(release),
            }
        }
        let candidate = |release| Candidate { identifier: on.clone(), release };
        let is_open = |candidate: &Candidate| !criterion.incompatible.contains(candidate);
        let is_in_ranges = |version: &ExactVersion| ranges.iter().all(|range| is_satisfied(range, version));
        let releases = self.releases_of(&on.name);
        let admits_unlisted =
            || releases.others.is_some() && VersionRange::have_common_version(&ranges, releases.versions());
        if let Some(release) = exact.first() {
            let one = candidate((*release).clone());
            let alike = exact.iter().all(|other| other == release);
            let is_admitted = match release.version() {
                Some(version) => is_in_ranges(version),
                None => admits_unlisted(),
            };
            return Ok(Some(one).filter(|one| alike && is_admitted && is_open(one)).into_iter().collect());
        }
        let installed = self.request.installed.get(&on.name).filter(|version| is_in_ranges(version));
        let listed = match admitted_releases(&releases.listed, ranges.iter().copied(), self.request.prereleases) {
            Admitted::Listed(listed) => listed,
            Admitted::OnlyPrereleases if installed.is_some() && !self.is_upgraded(on) => Vec::new(),
            Admitted::OnlyPrereleases => return Err(Cause::OnlyPrereleases { package: on.name.to_string() }),
        };
        let mut all: Vec<CandidateKind> = listed.into_iter().map(CandidateKind::Listed).collect();
        if admits_unlisted() {
            all.push(CandidateKind::Unlisted);
        }
        if let Some(installed) = installed {
            let is_same = |version: &ExactVersion| version.compare(installed).is_eq();
            all.retain(|release| !release.version().is_some_and(is_same));
            // An unlisted release may be newer.
            let is_newer = |version: &ExactVersion| version.compare(installed).is_gt();
            let is_before = |release: &&CandidateKind| release.version().is_none_or(is_newer);
            let newer = if self.is_upgraded(on) { all.iter().take_while(is_before).count() } else { 0 };
            all.insert(newer, CandidateKind::Installed(installed.clone()));
        }
        Ok(all.into_iter().map(candidate).filter(is_open).collect())
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
                Requested::Candidate(_) => None,
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
                Err(AddError::Conflict(information)) => {
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
            let exactly = Requested::Candidate(candidate.release.clone());
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
        let read = |extras: &[PackageName]| self.catalog.requirements(name, candidate.release.version(), extras);
        let all = read(extras);
        if extras.is_empty() {
            return all;
        }
        let without = read(&[]);
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
            let selection = match &pin.release {
                CandidateKind::Listed(version) => Selection::Release(version.clone()),
                CandidateKind::Installed(version) => Selection::Installed(version.clone()),
                CandidateKind::Unlisted => match &self.releases_of(&pin.identifier.name).others {
                    Some(cause) => Selection::Unknown(cause.clone()),
                    None => continue,
                },
            };
            selections.insert(pin.identifier.name.clone(), selection);
        }
        selections
    }
}

/// Returns the packages without a selection that satisfies everything that is required of them.
fn unsatisfied(state: &SearchState) -> impl Iterator<Item = &Identifier> {
    let is_satisfied_by = |criterion: &Criterion, pin: &Candidate| {
        criterion.information.iter().all(|one| match (&one.requested, pin.release.version()) {
            (Requested::Range(range), Some(version)) => is_satisfied(range, version),
            // Ranges without a common version are a conflict.
            (Requested::Range(_), None) => criterion.candidates.contains(pin),
            (Requested::Candidate(release), _) => *release == pin.release,
        })
    };
    state.criteria.iter().filter_map(move |(identifier, criterion)| {
        let pin = state.pins.iter().find(|pin| pin.identifier == *identifier);
        (!pin.is_some_and(|pin| is_satisfied_by(criterion, pin))).then_some(identifier)
    })
}

/// Returns requirements on one package that conflict.
fn conflict_of(information: &[Rc<Information>]) -> Option<Conflict> {
    let name = information.first()?.on.name.clone();
    let requirement = |one: &Rc<Information>| match &one.requested {
        Requested::Range(range) => Some((one.parent.as_ref().map(|parent| parent.name.clone()), range.clone())),
        Requested::Candidate(_) => None,
    };
    Some(Conflict { name, requirements: information.iter().filter_map(requirement).collect() })
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
