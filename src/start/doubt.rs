//! Doubts: whether it is certain, before every host was asked, that a start-up is no better than it was.
//!
//! A search tries many changes, and most of them help nowhere. The hosts that have told so before are asked first, and
//! nothing more is asked once the answer is certain.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fact::ImageFacts;
use crate::fact::Role;
use crate::fleet::Host;
use crate::knowledge::Knowledge;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::Replay;
use crate::start::Shared;
use crate::start::Step;
use crate::start::StepResult;
use crate::start::common::FEW;
use crate::start::common::alike;
use crate::start::common::same_way;
use crate::start::common::settled;
use crate::start::shared::End;

/// So many hosts are remembered for a pool.
const REMEMBERED: usize = 16;

/// What is sought on a pool.
#[derive(Clone, Debug)]
pub enum Sought {
    /// That it does not fail on every host.
    Somewhere,
    /// That one of these steps, each of which stopped it or could not be told, passes on every host, and that no other
    /// stops it.
    Better(BTreeSet<Step>),
}

/// What is sought on one pool, and the places of the hosts that told first that it is not so.
#[derive(Clone, Debug)]
struct Doubt {
    sought: Sought,
    first: Vec<usize>,
}

/// What is sought, pool by pool, and what the hosts of each have in common.
#[derive(Debug, Default)]
pub struct Doubts {
    sought: BTreeMap<String, Doubt>,
    shared: BTreeMap<String, Shared>,
}

impl Doubts {
    /// That is sought on a pool.
    pub fn seek(&mut self, pool: &str, sought: Sought) {
        self.sought.insert(pool.to_owned(), Doubt { sought, first: Vec::new() });
    }

    /// The same of which nothing is known yet: for hosts of the pools that are others than they were, or for somebody who
    /// asks at the same time.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { sought: self.sought.clone(), shared: BTreeMap::new() }
    }

    /// Takes what the hosts of a pool are known to have in common.
    pub fn take(&mut self, pool: &str) -> Shared {
        self.shared.remove(pool).unwrap_or_default()
    }

    /// Keeps it for the next image on the same hosts.
    pub fn keep(&mut self, pool: &str, shared: Shared) {
        self.shared.insert(pool.to_owned(), shared.for_others());
    }

    /// Whether nothing of what is sought on a pool can come of this; not where that takes more than asking its hosts.
    /// Pairs are those of [`verdicts`](crate::start::verdicts).
    pub fn is_hopeless(
        &mut self,
        pool: &str,
        pairs: &[(&ImageFacts, &Host)],
        shared: &mut Shared,
        knowledge: Knowledge,
    ) -> bool {
        let Some(Doubt { sought, first }) = self.sought.get_mut(pool) else { return false };
        shared.wide = pairs.len() > FEW;
        let names = names(pairs);
        let mut any = false;
        for name in names {
            let asking = Asking { pairs, name, knowledge };
            match sought {
                // The image fails where one of its components does.
                Sought::Somewhere if asking.fails_everywhere(first, shared) => return true,
                Sought::Somewhere => {}
                Sought::Better(steps) => match asking.betters(steps, first, shared) {
                    Prospect::None => any = true,
                    Prospect::Starts => {}
                    // It may be the one that decides.
                    Prospect::Open => return false,
                },
            }
        }
        any
    }
}

/// Whether a component that counts fails on every host, and with it the image.
pub fn fails_everywhere(pairs: &[(&ImageFacts, &Host)], shared: &mut Shared, knowledge: Knowledge) -> bool {
    shared.wide = pairs.len() > FEW;
    names(pairs).into_iter().any(|name| Asking { pairs, name, knowledge }.fails_everywhere(&mut Vec::new(), shared))
}

/// Whether one of these components cannot be told or depends on the host, and none fails on every host; of a pool with
/// few hosts nothing is said. The places of the hosts that tell it are put into `first`, and asked first the next time.
pub fn is_open<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    names: &[&str],
    shared: &mut Shared,
    first: &mut Vec<usize>,
    knowledge: Knowledge,
) -> bool {
    let wide = pairs.len() > FEW;
    shared.wide = wide;
    let enough = |met: Met| met.open || (met.starts && met.fails);
    let mut open = false;
    for name in names.iter().filter(|_| wide) {
        let met = Asking { pairs, name, knowledge }.met(enough, first, shared);
        if met.is_failure() {
            return false;
        }
        open |= met.open || met.starts == met.fails;
    }
    open
}

/// Which fates have been met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Met {
    starts: bool,
    fails: bool,
    open: bool,
}

impl Met {
    fn meet(&mut self, fate: Fate) {
        match fate {
            Fate::Starts(_) => self.starts = true,
            Fate::Fails(_) => self.fails = true,
            Fate::Undetermined => self.open = true,
        }
    }

    /// Whether all of them are failures.
    const fn is_failure(self) -> bool {
        self.fails && !self.starts && !self.open
    }
}

/// The components that count, by name.
fn names<'a>(pairs: &[(&'a ImageFacts, &Host)]) -> Vec<&'a str> {
    let mut seen: Vec<&ImageFacts> = Vec::new();
    let mut names: Vec<(Role, &str)> = Vec::new();
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
    names.into_iter().filter(|(role, _)| *role != Role::Extension).map(|(_, name)| name).collect()
}

/// What may become of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prospect {
    /// Nothing of what is sought.
    None,
    /// It starts on every host.
    Starts,
    /// That takes more than asking the hosts.
    Open,
}

#[derive(Clone, Copy)]
struct Asking<'p, 'a> {
    pairs: &'p [(&'a ImageFacts, &'a Host)],
    name: &'p str,
    knowledge: Knowledge,
}

impl<'a> Asking<'_, 'a> {
    /// Every place, those that are remembered first.
    fn places(self, first: &[usize]) -> impl Iterator<Item = usize> + use<> {
        let all = self.pairs.len();
        let remembered: Vec<usize> = first.iter().copied().filter(|at| *at < all).collect();
        remembered.into_iter().chain(0..all)
    }

    /// The start-ups at a place: of each component of the name, on the host as it is for the image.
    fn replays(self, at: usize, shared: &mut Shared) -> impl Iterator<Item = Replay<'a>> + use<'a> {
        let Self { pairs, name, knowledge } = self;
        let pair = pairs.get(at).map(|(image, host)| (*image, shared.host_for(image, host)));
        let of = move |(image, host): (&'a ImageFacts, &'a Host)| {
            let own = image.components.iter().filter(|component| component.name == name);
            own.map(|component| Replay::of(image, component, host, knowledge)).collect::<Vec<_>>()
        };
        pair.map_or_else(Vec::new, of).into_iter()
    }

    fn fails_everywhere(self, first: &mut Vec<usize>, shared: &mut Shared) -> bool {
        let mut any = false;
        for at in self.places(first) {
            for one in self.replays(at, shared) {
                any = true;
                if !matches!(shared.end(one).fate, Fate::Fails(_)) {
                    remember(first, at);
                    return false;
                }
            }
        }
        any
    }

    /// The fates on all hosts, as [`verdicts_of`](crate::start::verdicts_of) has them; no more hosts are asked than are
    /// enough.
    fn met(self, enough: impl Fn(Met) -> bool, first: &mut Vec<usize>, shared: &mut Shared) -> Met {
        let mut met = Met::default();
        for at in self.places(first) {
            let before = met;
            for one in self.replays(at, shared) {
                let end = shared.end(one);
                let undetermined = end.fate == Fate::Undetermined;
                let releases = if undetermined { alike(&one.component.may_be, one, shared) } else { Vec::new() };
                let hosts = if undetermined && releases.is_empty() { settled(one, &end, shared) } else { Vec::new() };
                if releases.is_empty() && hosts.is_empty() {
                    met.meet(end.fate);
                }
                for (_, end) in &releases {
                    met.meet(end.fate);
                }
                for (_, end) in &hosts {
                    met.meet(end.fate);
                }
            }
            if met != before {
                remember(first, at);
            }
            if enough(met) {
                break;
            }
        }
        met
    }

    /// Whether one of these steps may pass everywhere, and no other stops it.
    fn betters(self, steps: &BTreeSet<Step>, first: &mut Vec<usize>, shared: &mut Shared) -> Prospect {
        let mut ends = Ends { few: self.pairs.len() <= FEW, left: steps.clone(), told: Vec::new(), starts: true };
        let mut any = false;
        let remembered = first.len();
        for (nth, at) in self.places(&first.clone()).enumerate() {
            for one in self.replays(at, shared) {
                any = true;
                let left = ends.left.len();
                let hopeless = ask(one, nth >= remembered, steps, &mut ends, shared);
                if ends.left.len() < left || hopeless {
                    remember(first, at);
                }
                if hopeless {
                    return Prospect::None;
                }
            }
        }
        if any && ends.starts { Prospect::Starts } else { Prospect::Open }
    }
}

/// Asks one start-up; whether nothing can come of it any more.
fn ask<'a>(one: Replay<'a>, in_order: bool, sought: &BTreeSet<Step>, ends: &mut Ends<'a>, shared: &mut Shared) -> bool {
    let end = shared.end(one);
    if matches!(end.fate, Fate::Starts(_)) {
        return in_order && ends.meet(one, &end, sought, shared);
    }
    if end.fate == Fate::Undetermined {
        let releases = alike(&one.component.may_be, one, shared);
        let variants = if releases.is_empty() { settled(one, &end, shared) } else { Vec::new() };
        // What it is taken for on hosts of which more is known is not asked here in another order than there.
        if !releases.is_empty() || !variants.is_empty() {
            let of = releases.iter().map(|(component, end)| (Replay { component, ..one }, end));
            let of_hosts = variants.iter().map(|(host, end)| (one.on(host), end));
            return of.chain(of_hosts).fold(false, |hopeless, (one, end)| {
                ends.turns(end, sought) || (in_order && ends.meet(one, end, sought, shared)) || hopeless
            });
        }
    }
    ends.turns(&end, sought) || (in_order && ends.meet(one, &end, sought, shared))
}

/// What the hosts have told.
struct Ends<'a> {
    /// Whether they are so few that each of them tells.
    few: bool,
    /// The steps of those that are sought of which none has told that they do not pass.
    left: BTreeSet<Step>,
    /// The first of each way that it may end.
    told: Vec<HostFate<'a>>,
    /// Whether it starts on all of them.
    starts: bool,
}

impl<'a> Ends<'a> {
    /// Takes the step on which a start-up turns, which is that of the host that stands for it; whether that is enough.
    fn turns(&mut self, end: &End, sought: &BTreeSet<Step>) -> bool {
        let Some(step) = end.turn().filter(|_| !matches!(end.fate, Fate::Starts(_))) else { return false };
        self.starts = false;
        self.left.remove(&step);
        self.left.is_empty() || (matches!(end.fate, Fate::Fails(_)) && !sought.contains(&step))
    }

    /// Takes all steps of a host that stands for others; whether that is enough. Hosts are met in their order.
    fn meet(&mut self, one: Replay<'a>, end: &End, sought: &BTreeSet<Step>, shared: &mut Shared) -> bool {
        let (Replay { image, component, host, .. }, fate) = (one, end.fate);
        let known = |other: &HostFate<'_>| same_way(other, image, component, end);
        if !self.few && self.told.iter().any(known) {
            return false;
        }
        let whole = shared.whole(one);
        let mut worse = false;
        for step in whole.steps() {
            if !matches!(step.result, StepResult::Passes(_) | StepResult::NotApplicable) {
                self.left.remove(&step.step);
            }
            worse |= matches!(step.result, StepResult::Stops(_)) && !sought.contains(&step.step);
        }
        self.told.push(HostFate { host, image, component, fate, steps: whole.steps().copied().collect() });
        let starts = matches!(fate, Fate::Starts(_));
        self.starts &= starts;
        !starts && (worse || self.left.is_empty())
    }
}

/// Puts a place before all others.
fn remember(first: &mut Vec<usize>, at: usize) {
    first.retain(|other| *other != at);
    first.insert(0, at);
    first.truncate(REMEMBERED);
}

#[cfg(test)]
#[path = "doubt_tests.rs"]
mod tests;
