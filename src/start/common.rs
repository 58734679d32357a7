//! Common: what the hosts of a pool, which may differ, have in common, and on what they turn.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fact::Component;
use crate::fact::Confidence;
use crate::fact::ImageFacts;
use crate::fact::Role;
use crate::fleet::Host;
use crate::fleet::PoolField;
use crate::knowledge::Knowledge;
use crate::start::Basis;
use crate::start::Codes;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::NoRecord;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Steps;
use crate::start::Verdict;
use crate::start::Wall;
use crate::start::fate::field_value;
use crate::start::platform;
use crate::start::record::UpToStop;
use crate::start::replay;

/// Of so many hosts all are told; of more, one for each way that it may end.
pub(super) const FEW: usize = 16;

/// The verdicts of one pool: the image's first, then its components'. Empty where there is nothing to judge.
///
/// Each pair is a build of the image, inferred for the host's platform, and a host of the pool; the builds of one
/// host follow each other.
pub fn verdicts<'a>(pairs: &[(&'a ImageFacts, &'a Host)], knowledge: Knowledge) -> Vec<Verdict<'a>> {
    let mut names: Vec<(Role, &str)> = Vec::new();
    let mut seen: Vec<&ImageFacts> = Vec::new();
    for image in pairs.iter().map(|(image, _)| *image) {
        if seen.iter().any(|other| std::ptr::eq(*other, image)) {
            continue;
        }
        seen.push(image);
        for component in &image.components {
            if !names.iter().any(|(_, name)| *name == component.name) {
                names.push((component.role, &component.name));
            }
        }
    }
    let components: Vec<(Role, Verdict<'a>)> =
        names.into_iter().map(|(role, name)| (role, of_component(pairs, name, knowledge))).collect();
    let worst = components
        .iter()
        .filter(|(role, _)| *role != Role::Extension)
        .max_by_key(|(_, verdict)| (verdict.badness(), verdict.route()))
        .map(|(_, verdict)| Verdict { component: None, ..verdict.clone() });
    worst.into_iter().chain(components.into_iter().map(|(_, verdict)| verdict)).collect()
}

/// Whether the image starts on every one of these, as `verdicts` would say; the place of the first that tells otherwise
/// is kept, and asked first the next time. None where nothing but extensions is there to judge.
pub fn starts_everywhere(pairs: &[(&ImageFacts, &Host)], knowledge: Knowledge, doubt: &mut usize) -> Option<bool> {
    let mut judged = false;
    let first = pairs.get(*doubt).map(|pair| (*doubt, pair));
    for (at, (image, host)) in first.into_iter().chain(pairs.iter().enumerate()) {
        let host = platform::host_for(image, host);
        for component in image.components.iter().filter(|component| component.role != Role::Extension) {
            judged = true;
            if !matches!(replay(Replay { image, component, host, knowledge }, &mut NoRecord), Fate::Starts(_)) {
                *doubt = at;
                return Some(false);
            }
        }
    }
    judged.then_some(true)
}

/// A host and a build as tried: enough to settle what they have in common.
#[derive(Clone, Copy)]
struct Tried<'a> {
    host: &'a Host,
    image: &'a ImageFacts,
    component: &'a Component,
    fate: Fate,
}

fn of_component<'a>(pairs: &[(&'a ImageFacts, &'a Host)], name: &'a str, knowledge: Knowledge) -> Verdict<'a> {
    let mut tried: Vec<Tried<'a>> = Vec::with_capacity(pairs.len());
    let mut told: Vec<HostFate<'a>> = Vec::new();
    let few = pairs.len() <= FEW;
    let mut meet = |one: Replay<'a>, fate: Fate, steps: &[StepRecord]| {
        let Replay { image, component, host, .. } = one;
        tried.push(Tried { host, image, component, fate });
        let known = |other: &HostFate<'_>| same_way(other, fate, image, component, steps);
        if few || !told.iter().any(known) {
            // Of one that stands for others the steps behind the one that decides are told as well.
            let steps = if matches!(fate, Fate::Fails(_)) { whole(one).0 } else { steps.to_vec() };
            told.push(HostFate { host, image, component, fate, steps });
        }
    };
    let mut steps = UpToStop::default();
    for (image, host) in pairs.iter().copied() {
        let host = platform::host_for(image, host);
        for component in image.components.iter().filter(|component| component.name == name) {
            let one = Replay { image, component, host, knowledge };
            steps.0.clear();
            let fate = replay(one, &mut steps);
            let undetermined = fate == Fate::Undetermined;
            let releases = if undetermined { alike(&component.may_be, one) } else { Vec::new() };
            let variants = if undetermined && releases.is_empty() { settled(one, &steps.0) } else { Vec::new() };
            if releases.is_empty() && variants.is_empty() {
                meet(one, fate, &steps.0);
            }
            for (host, fate, steps) in &variants {
                meet(Replay { host, ..one }, *fate, steps);
            }
            for (component, fate, steps) in &releases {
                meet(Replay { component, ..one }, *fate, steps);
            }
        }
    }
    let fate = common(&tried, knowledge);
    let confidence = told.iter().map(HostFate::confidence).min().unwrap_or(Confidence::Measured);
    let (open_fields, open_build) = if fate.is_none() { settlers(&tried) } else { (Vec::new(), false) };
    Verdict { component: Some(name), fate, hosts: told, confidence, open_fields, open_build }
}

/// Every step of a start-up, also behind the one that decides.
pub(super) fn whole(one: Replay<'_>) -> Steps {
    let mut steps = Steps::default();
    replay(one, &mut steps);
    steps
}

/// How a component ends, release by release, where it is not known which it is and all start or all fail: one of each
/// way, with the steps up to the one that decides. Empty where that is not so.
pub(super) fn alike<'a>(
    releases: &'a [Component],
    replay_of: Replay<'a>,
) -> Vec<(&'a Component, Fate, Vec<StepRecord>)> {
    let mut found: Vec<(&Component, Fate, Vec<StepRecord>)> = Vec::new();
    for component in releases {
        let mut steps = UpToStop::default();
        let fate = replay(Replay { component, ..replay_of }, &mut steps);
        let fails = |fate: Fate| matches!(fate, Fate::Fails(_));
        let other = found.iter().any(|(_, one, _)| fails(*one) != fails(fate));
        if other || fate == Fate::Undetermined {
            return Vec::new();
        }
        if !found.iter().any(|(_, one, told)| *one == fate && turn(told) == turn(&steps.0)) {
            found.push((component, fate, steps.0));
        }
    }
    found
}

/// How a component ends with each value of what the pool leaves open and what the first step that cannot be told turns
/// on, with the steps up to the one that decides; else with the compat library taken and left aside, where that cannot be
/// told and both start or both fail. Empty where none of them tells it.
pub(super) fn settled<'a>(replay_of: Replay<'a>, steps: &[StepRecord]) -> Vec<(&'a Host, Fate, Vec<StepRecord>)> {
    let Some(open) = steps.iter().find(|step| step.result == StepResult::Unknown) else { return Vec::new() };
    let fields = open.facts.iter().filter_map(|basis| match basis {
        Basis::Pool(field) => Some(field),
        _ => None,
    });
    let with = |host| {
        let mut steps = UpToStop::default();
        let fate = replay(Replay { host, ..replay_of }, &mut steps);
        (host, fate, steps.0)
    };
    for field in fields {
        let each: Vec<_> = replay_of.host.with_each(field, replay_of.knowledge).iter().map(with).collect();
        if each.iter().any(|(_, fate, _)| *fate != Fate::Undetermined) {
            return each;
        }
    }
    let which = |step: &StepRecord| step.step == Step::Loader && step.result == StepResult::Unknown;
    if !steps.iter().any(which) {
        return Vec::new();
    }
    let each: Vec<_> = replay_of.host.with_either_library().iter().map(with).collect();
    let all = |is: fn(Fate) -> bool| each.iter().all(|(_, fate, _)| is(*fate));
    let alike = all(|fate| matches!(fate, Fate::Starts(_))) || all(|fate| matches!(fate, Fate::Fails(_)));
    if alike { each } else { Vec::new() }
}

/// Whether a host ends as another, for the same step and with the same code.
pub(super) fn same_way(
    other: &HostFate<'_>,
    fate: Fate,
    image: &ImageFacts,
    component: &Component,
    steps: &[StepRecord],
) -> bool {
    let codes = |fate: Fate| match fate {
        Fate::Fails(wall) => Some(wall.codes()),
        Fate::Starts(_) | Fate::Undetermined => None,
    };
    other.fate.same(fate)
        && codes(other.fate) == codes(fate)
        && std::ptr::eq(other.image, image)
        && std::ptr::eq(other.component, component)
        && turn(&other.steps) == turn(steps)
}

/// The step on which a start-up turns: its first stop, else the first that cannot be told.
pub(super) fn turn(steps: &[StepRecord]) -> Option<Step> {
    let stop = steps.iter().find(|step| matches!(step.result, StepResult::Stops(_)));
    stop.or_else(|| steps.iter().find(|step| step.result == StepResult::Unknown)).map(|step| step.step)
}

/// The walls that stand on every host, with their codes as far as these are the same on all.
fn everywhere(tried: &[Tried<'_>], knowledge: Knowledge) -> Vec<Wall> {
    let own = |one: &Tried<'_>| {
        let Tried { host, image, component, .. } = *one;
        let walls =
            whole(Replay { image, component, host, knowledge }).0.into_iter().filter_map(|step| match step.result {
                StepResult::Stops(wall) => Some(wall),
                _ => None,
            });
        walls.collect::<Vec<Wall>>()
    };
    let mut walls = tried.first().map_or_else(Vec::new, own);
    for one in tried.iter().skip(1) {
        if walls.is_empty() {
            break;
        }
        let own = own(one);
        walls.retain_mut(|wall| {
            let Some(here) = own.iter().copied().find(|one| one.same(*wall)) else { return false };
            *wall = both(*wall, here);
            true
        });
    }
    walls
}

/// Two walls of one outcome as one: with the code that both have, else with the list that holds both.
fn both(one: Wall, other: Wall) -> Wall {
    let holds = |list: Codes, code: Codes| code.certain.is_some_and(|code| list.possible.contains(&code));
    if one == other || holds(one.codes(), other.codes()) {
        one
    } else if holds(other.codes(), one.codes()) {
        other
    } else {
        one.without_codes()
    }
}

/// The common fate: that of all; where every host and every build fails, the wall that stands everywhere, else the one
/// that most meet first. None where it depends: on the host, or on the build.
fn common(tried: &[Tried<'_>], knowledge: Knowledge) -> Option<Fate> {
    let first = tried.first()?.fate;
    if tried.iter().all(|one| one.fate.same(first)) {
        return Some(plainest(first, tried));
    }
    if !tried.iter().all(|one| matches!(one.fate, Fate::Fails(_))) {
        return None;
    }
    let met = |wall: &Wall| tried.iter().any(|one| one.fate.same(Fate::Fails(*wall)));
    match everywhere(tried, knowledge).into_iter().find(met) {
        Some(wall) => Some(Fate::Fails(wall)),
        None => commonest(tried),
    }
}

/// The wall that most hosts meet; with its code only where the code is that of all.
fn commonest(tried: &[Tried<'_>]) -> Option<Fate> {
    let mut counts: Vec<(Wall, usize)> = Vec::new();
    for one in tried {
        let Fate::Fails(wall) = one.fate else { continue };
        match counts.iter_mut().find(|(other, _)| other.same(wall)) {
            Some((_, count)) => *count += 1,
            None => counts.push((wall, 1)),
        }
    }
    let one_code = counts.windows(2).all(|pair| matches!(pair, [one, other] if one.0.codes() == other.0.codes()));
    // The first of equals, so that the order of the hosts decides and nothing else.
    let (wall, _) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(Fate::Fails(if one_code { wall } else { wall.without_codes() }))
}

/// Of hosts that all start, the most remarkable route is the pool's; of hosts that all fail, the codes of all.
fn plainest(fate: Fate, tried: &[Tried<'_>]) -> Fate {
    tried.iter().fold(fate, |fate, one| match (fate, one.fate) {
        (Fate::Starts(route), Fate::Starts(other)) => Fate::Starts(Route::max(route, other)),
        (Fate::Fails(wall), Fate::Fails(other)) => Fate::Fails(both(wall, other)),
        _ => fate,
    })
}

/// The open pool fields on which the fates turn: one that settles them alone, else all that vary.
fn settlers(tried: &[Tried<'_>]) -> (Vec<PoolField>, bool) {
    let open: BTreeSet<PoolField> = tried.iter().flat_map(|one| one.host.assumed.iter().copied()).collect();
    let build = |one: &Tried<'_>| one.image.build.clone().unwrap_or_default();
    let several_builds = tried.iter().any(|one| one.image.build.is_some());
    if several_builds && settled_by(tried, build) {
        return (Vec::new(), true);
    }
    // What only some hosts turn on settles nothing between them and the others.
    let of_all = |field: &&PoolField| !field.is_of_few() || tried.iter().all(|one| one.host.assumed.contains(field));
    for field in open.iter().filter(of_all) {
        if settled_by(tried, |one| field_value(*field, one.host)) {
            return (vec![*field], false);
        }
    }
    (open.into_iter().collect(), several_builds)
}

/// Whether hosts that agree in a value always share their fate.
fn settled_by(tried: &[Tried<'_>], value: impl Fn(&Tried<'_>) -> String) -> bool {
    let mut by_value: BTreeMap<String, Fate> = BTreeMap::new();
    tried.iter().all(|one| by_value.entry(value(one)).or_insert(one.fate).same(one.fate))
}

#[cfg(test)]
#[path = "common_tests.rs"]
mod tests;
