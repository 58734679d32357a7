//! Improvements: whether it is certain, before every host is replayed, that a change does not improve a start.
//!
//! A search tries many changes, and most of them help nowhere. Hosts that showed this before are replayed first,
//! and no further host is replayed once the answer is certain.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::Host;
use crate::knowledge::Knowledge;
use crate::model::fact::{ComponentRole, ImageFacts};
use crate::replay::pool_verdicts::{MAX_LISTED_HOSTS, has_same_result, results_by_open_value, results_by_release};
use crate::replay::replay_cache::ReplayEnd;
use crate::replay::{HostResult, Replay, ReplayCache, StartStep, StartupResult, StepResult};

/// Maximum number of hosts that are remembered for a pool.
const MAX_REMEMBERED_HOSTS: usize = 16;

/// What a change must achieve on a pool.
#[derive(Clone, Debug)]
pub enum ImprovementGoal {
    /// The image no longer fails on every host.
    Somewhere,
    /// One of these steps, each of which stopped or was unknown, passes on every host, and no other step stops.
    Better(BTreeSet<StartStep>),
}

/// The goal for one pool, and the indices of the hosts that are replayed first because they decided an earlier image.
#[derive(Clone, Debug)]
struct PoolGoal {
    sought: ImprovementGoal,
    first: Vec<usize>,
}

/// The goals for all pools, with cached results for their hosts.
#[derive(Debug, Default)]
pub struct ImprovementGoals {
    sought: BTreeMap<String, PoolGoal>,
    shared: BTreeMap<String, ReplayCache>,
}

impl ImprovementGoals {
    /// Sets the goal for a pool.
    pub fn set_goal(&mut self, pool: &str, sought: ImprovementGoal) {
        self.sought.insert(pool.to_owned(), PoolGoal { sought, first: Vec::new() });
    }

    /// Returns the same goals without cached results, for pools with other hosts or for another thread.
    #[must_use]
    pub fn without_cache(&self) -> Self {
        Self { sought: self.sought.clone(), shared: BTreeMap::new() }
    }

    /// Takes the cached results for the hosts of a pool.
    pub fn take_cache(&mut self, pool: &str) -> ReplayCache {
        self.shared.remove(pool).unwrap_or_default()
    }

    /// Stores the cached results for the next image on the same hosts.
    pub fn store_cache(&mut self, pool: &str, shared: ReplayCache) {
        self.shared.insert(pool.to_owned(), shared.reset_for_other_images());
    }

    /// Whether an image certainly misses the goal for a pool; `false` where that takes more than replaying its hosts.
    /// The pairs are those of `pool_verdicts`.
    pub fn is_unreachable(
        &mut self,
        pool: &str,
        pairs: &[(&ImageFacts, &Host)],
        shared: &mut ReplayCache,
        knowledge: Knowledge,
    ) -> bool {
        let Some(PoolGoal { sought, first }) = self.sought.get_mut(pool) else { return false };
        shared.wide = pairs.len() > MAX_LISTED_HOSTS;
        let names = judged_components(pairs);
        let mut any = false;
        for name in names {
            let asking = ComponentReplays { pairs, name, knowledge };
            match sought {
                // The image fails where one of its components does.
                ImprovementGoal::Somewhere if asking.fails_everywhere(first, shared) => return true,
                ImprovementGoal::Somewhere => {}
                ImprovementGoal::Better(steps) => match asking.prospect(steps, first, shared) {
                    ComponentProspect::None => any = true,
                    ComponentProspect::Starts => {}
                    // It may be the one that decides.
                    ComponentProspect::Open => return false,
                },
            }
        }
        any
    }
}

/// Whether a component that is not an extension fails on every host, and with it the image.
pub fn fails_everywhere(pairs: &[(&ImageFacts, &Host)], shared: &mut ReplayCache, knowledge: Knowledge) -> bool {
    shared.wide = pairs.len() > MAX_LISTED_HOSTS;
    judged_components(pairs)
        .into_iter()
        .any(|name| ComponentReplays { pairs, name, knowledge }.fails_everywhere(&mut Vec::new(), shared))
}

/// Whether a component is unknown or depends on the host, and none fails on every host; `false` for few hosts. The
/// indices of the hosts that show it are moved to the front of `first`, and replayed first the next time.
pub fn is_undecided<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    names: &[&str],
    shared: &mut ReplayCache,
    first: &mut Vec<usize>,
    knowledge: Knowledge,
) -> bool {
    let wide = pairs.len() > MAX_LISTED_HOSTS;
    shared.wide = wide;
    let enough = |met: ResultKinds| met.open || (met.starts && met.fails);
    let mut open = false;
    for name in names.iter().filter(|_| wide) {
        let met = ComponentReplays { pairs, name, knowledge }.collect_result_kinds(enough, first, shared);
        if met.is_failure() {
            return false;
        }
        open |= met.open || met.starts == met.fails;
    }
    open
}

/// Which kinds of results have occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ResultKinds {
    starts: bool,
    fails: bool,
    open: bool,
}

impl ResultKinds {
    /// Adds the kind of a result.
    fn add(&mut self, fate: StartupResult) {
        match fate {
            StartupResult::Starts(_) => self.starts = true,
            StartupResult::Fails(_) => self.fails = true,
            StartupResult::Undetermined => self.open = true,
        }
    }

    /// Whether every result is a failure.
    const fn is_failure(self) -> bool {
        self.fails && !self.starts && !self.open
    }
}

/// Returns the names of the components that are judged, which excludes extensions.
fn judged_components<'a>(pairs: &[(&'a ImageFacts, &Host)]) -> Vec<&'a str> {
    let mut seen: Vec<&ImageFacts> = Vec::new();
    let mut names: Vec<(ComponentRole, &str)> = Vec::new();
    for (image, _) in pairs {
        if seen.iter().any(|other| std::ptr::eq(*other, *image)) {
            continue;
        }
        seen.push(image);
        for component in &image.components {
            if !names.iter().any(|(_, name)| *name == component.name) {
                names.push((component.role, &component.name));
            }
        }
    }
    names.into_iter().filter(|(role, _)| *role != ComponentRole::Extension).map(|(_, name)| name).collect()
}

/// What a component can achieve of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComponentProspect {
    /// Nothing.
    None,
    /// It starts on every host.
    Starts,
    /// Unknown without more than replaying the hosts.
    Open,
}

/// The replays of one component on all hosts of a pool.
#[derive(Clone, Copy)]
struct ComponentReplays<'p, 'a> {
    pairs: &'p [(&'a ImageFacts, &'a Host)],
    name: &'p str,
    knowledge: Knowledge,
}

impl<'a> ComponentReplays<'_, 'a> {
    /// Returns the index of every host, remembered hosts first.
    fn host_indices(self, first: &[usize]) -> impl Iterator<Item = usize> + use<> {
        let all = self.pairs.len();
        let remembered: Vec<usize> = first.iter().copied().filter(|at| *at < all).collect();
        remembered.into_iter().chain(0..all)
    }

    /// Returns the replays at an index: one for each component with the name, on the host as it behaves for the
    /// image.
    fn replays(self, at: usize, shared: &mut ReplayCache) -> impl Iterator<Item = Replay<'a>> + use<'a> {
        let Self { pairs, name, knowledge } = self;
        let pair = pairs.get(at).map(|(image, host)| (*image, shared.host_in_selected_mode(image, host)));
        let of = move |(image, host): (&'a ImageFacts, &'a Host)| {
            let own = image.components.iter().filter(|component| component.name == name);
            own.map(|component| Replay::new(image, component, host, knowledge)).collect::<Vec<_>>()
        };
        pair.map_or_else(Vec::new, of).into_iter()
    }

    /// Whether the component fails on every host.
    fn fails_everywhere(self, first: &mut Vec<usize>, shared: &mut ReplayCache) -> bool {
        let mut any = false;
        for at in self.host_indices(first) {
            for one in self.replays(at, shared) {
                any = true;
                if !matches!(shared.replay_until_decided(one).fate, StartupResult::Fails(_)) {
                    move_to_front(first, at);
                    return false;
                }
            }
        }
        any
    }

    /// Collects the kinds of results, as `pool_verdicts_with_cache` finds them, until they are enough.
    fn collect_result_kinds(
        self,
        enough: impl Fn(ResultKinds) -> bool,
        first: &mut Vec<usize>,
        shared: &mut ReplayCache,
    ) -> ResultKinds {
        let mut met = ResultKinds::default();
        for at in self.host_indices(first) {
            let before = met;
            for one in self.replays(at, shared) {
                let end = shared.replay_until_decided(one);
                let undetermined = end.fate == StartupResult::Undetermined;
                let releases = if undetermined {
                    results_by_release(&one.component.possible_releases, one, shared)
                } else {
                    Vec::new()
                };
                let hosts = if undetermined && releases.is_empty() {
                    results_by_open_value(one, &end, shared)
                } else {
                    Vec::new()
                };
                if releases.is_empty() && hosts.is_empty() {
                    met.add(end.fate);
                }
                for (_, end) in &releases {
                    met.add(end.fate);
                }
                for (_, end) in &hosts {
                    met.add(end.fate);
                }
            }
            if met != before {
                move_to_front(first, at);
            }
            if enough(met) {
                break;
            }
        }
        met
    }

    /// Returns whether one of these steps may pass on every host while no other step stops.
    fn prospect(
        self,
        steps: &BTreeSet<StartStep>,
        first: &mut Vec<usize>,
        shared: &mut ReplayCache,
    ) -> ComponentProspect {
        let mut ends = GoalProgress {
            few: self.pairs.len() <= MAX_LISTED_HOSTS,
            left: steps.clone(),
            results: Vec::new(),
            starts: true,
        };
        let mut any = false;
        let remembered = first.len();
        for (nth, at) in self.host_indices(&first.clone()).enumerate() {
            for one in self.replays(at, shared) {
                any = true;
                let left = ends.left.len();
                let hopeless = replay_for_goal(one, nth >= remembered, steps, &mut ends, shared);
                if ends.left.len() < left || hopeless {
                    move_to_front(first, at);
                }
                if hopeless {
                    return ComponentProspect::None;
                }
            }
        }
        if any && ends.starts { ComponentProspect::Starts } else { ComponentProspect::Open }
    }
}

/// Replays one host; returns whether the goal is certainly missed.
fn replay_for_goal<'a>(
    one: Replay<'a>,
    in_order: bool,
    sought: &BTreeSet<StartStep>,
    ends: &mut GoalProgress<'a>,
    shared: &mut ReplayCache,
) -> bool {
    let end = shared.replay_until_decided(one);
    if matches!(end.fate, StartupResult::Starts(_)) {
        return in_order && ends.add_host(one, &end, sought, shared);
    }
    if end.fate == StartupResult::Undetermined {
        let releases = results_by_release(&one.component.possible_releases, one, shared);
        let variants = if releases.is_empty() { results_by_open_value(one, &end, shared) } else { Vec::new() };
        // What it is taken for on hosts of which more is known is not asked here in another order than there.
        if !releases.is_empty() || !variants.is_empty() {
            let of = releases.iter().map(|(component, end)| (one.with_component(component), end));
            let of_hosts = variants.iter().map(|(host, end)| (one.with_host(host), end));
            return of.chain(of_hosts).fold(false, |hopeless, (one, end)| {
                ends.add_deciding_step(end, sought) || (in_order && ends.add_host(one, end, sought, shared)) || hopeless
            });
        }
    }
    ends.add_deciding_step(&end, sought) || (in_order && ends.add_host(one, &end, sought, shared))
}

/// What the replayed hosts show about a goal.
struct GoalProgress<'a> {
    /// Whether there are so few hosts that each of them counts.
    few: bool,
    /// The steps of the goal that no host has shown not to pass.
    left: BTreeSet<StartStep>,
    /// The first host with each distinct result.
    results: Vec<HostResult<'a>>,
    /// Whether the component starts on all replayed hosts.
    starts: bool,
}

impl<'a> GoalProgress<'a> {
    /// Adds the deciding step of a result; returns whether the goal is certainly missed.
    fn add_deciding_step(&mut self, end: &ReplayEnd, sought: &BTreeSet<StartStep>) -> bool {
        let Some(step) = end.deciding_step().filter(|_| !matches!(end.fate, StartupResult::Starts(_))) else {
            return false;
        };
        self.starts = false;
        self.left.remove(&step);
        self.left.is_empty() || (matches!(end.fate, StartupResult::Fails(_)) && !sought.contains(&step))
    }

    /// Adds all steps of a host with a new result; returns whether the goal is missed. Hosts are added in their
    /// order.
    fn add_host(
        &mut self,
        one: Replay<'a>,
        end: &ReplayEnd,
        sought: &BTreeSet<StartStep>,
        shared: &mut ReplayCache,
    ) -> bool {
        let (Replay { image, component, host, .. }, fate) = (one, end.fate);
        let known = |other: &HostResult<'_>| has_same_result(other, image, component, end);
        if !self.few && self.results.iter().any(known) {
            return false;
        }
        let whole = shared.replay_all_steps(one);
        let mut worse = false;
        for step in whole.steps() {
            if !matches!(step.result, StepResult::Passes(_) | StepResult::NotApplicable) {
                self.left.remove(&step.step);
            }
            worse |= matches!(step.result, StepResult::Stops(_)) && !sought.contains(&step.step);
        }
        self.results.push(HostResult { host, image, component, fate, steps: whole.steps().copied().collect() });
        let starts = matches!(fate, StartupResult::Starts(_));
        self.starts &= starts;
        !starts && (worse || self.left.is_empty())
    }
}

/// Moves an index to the front of the remembered ones.
fn move_to_front(first: &mut Vec<usize>, at: usize) {
    first.retain(|other| *other != at);
    first.insert(0, at);
    first.truncate(MAX_REMEMBERED_HOSTS);
}

#[cfg(test)]
#[path = "improvement_tests.rs"]
mod tests;
