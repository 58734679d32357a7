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
use crate::start::Replay;
use crate::start::Route;
use crate::start::Shared;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Verdict;
use crate::start::Wall;
use crate::start::fate::field_value;
use crate::start::loader;
use crate::start::shared::End;
use crate::start::shared::turn;

/// Of so many hosts all are told; of more, one for each way that it may end.
pub(super) const FEW: usize = 16;

/// The verdicts of one pool: the image's first, then its components'. Empty where there is nothing to judge.
///
/// Each pair is a build of the image, inferred for the host's platform, and a host of the pool; the builds of one
/// host follow each other.
pub fn verdicts<'a>(pairs: &[(&'a ImageFacts, &'a Host)], knowledge: Knowledge) -> Vec<Verdict<'a>> {
    verdicts_of(pairs, &mut Shared::default(), knowledge)
}

/// The same, with what the hosts of this pool are known to have in common.
pub fn verdicts_of<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    shared: &mut Shared,
    knowledge: Knowledge,
) -> Vec<Verdict<'a>> {
    shared.wide = pairs.len() > FEW;
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
        names.into_iter().map(|(role, name)| (role, of_component(pairs, name, shared, knowledge))).collect();
    let worst = components
        .iter()
        .filter(|(role, _)| *role != Role::Extension)
        .max_by_key(|(_, verdict)| (verdict.badness(), verdict.route()))
        .map(|(_, verdict)| Verdict { component: None, ..verdict.clone() });
    worst.into_iter().chain(components.into_iter().map(|(_, verdict)| verdict)).collect()
}

/// Whether the image starts on every one of these, as `verdicts` would say; the place of the first that tells otherwise
/// is kept, and asked first the next time. None where nothing but extensions is there to judge.
pub fn starts_everywhere(
    pairs: &[(&ImageFacts, &Host)],
    shared: &mut Shared,
    knowledge: Knowledge,
    doubt: &mut usize,
) -> Option<bool> {
    shared.wide = pairs.len() > FEW;
    let mut judged = false;
    let first = pairs.get(*doubt).map(|pair| (*doubt, pair));
    for (at, (image, host)) in first.into_iter().chain(pairs.iter().enumerate()) {
        let host = shared.host_for(image, host);
        for component in image.components.iter().filter(|component| component.role != Role::Extension) {
            judged = true;
            if !matches!(shared.end(Replay::of(image, component, host, knowledge)).fate, Fate::Starts(_)) {
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

fn of_component<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    name: &'a str,
    shared: &mut Shared,
    knowledge: Knowledge,
) -> Verdict<'a> {
    let mut tried: Vec<Tried<'a>> = Vec::with_capacity(pairs.len());
    let mut told: Vec<HostFate<'a>> = Vec::new();
    let few = pairs.len() <= FEW;
    let mut meet = |one: Replay<'a>, end: &End, shared: &mut Shared| {
        let (Replay { image, component, host, .. }, fate) = (one, end.fate);
        tried.push(Tried { host, image, component, fate });
        let known = |other: &HostFate<'_>| same_way(other, image, component, end);
        if few || !told.iter().any(known) {
            // Of one that stands for others the steps behind the one that decides are told as well.
            let whole = matches!(fate, Fate::Fails(_)).then(|| shared.whole(one));
            let steps = whole.as_ref().unwrap_or(end).steps().copied().collect();
            told.push(HostFate { host, image, component, fate, steps });
        }
    };
    for (image, host) in pairs.iter().copied() {
        let host = shared.host_for(image, host);
        for component in image.components.iter().filter(|component| component.name == name) {
            let one = Replay::of(image, component, host, knowledge);
            let end = shared.end(one);
            let undetermined = end.fate == Fate::Undetermined;
            let releases = if undetermined { alike(&component.may_be, one, shared) } else { Vec::new() };
            let variants = if undetermined && releases.is_empty() { settled(one, &end, shared) } else { Vec::new() };
            if releases.is_empty() && variants.is_empty() {
                meet(one, &end, shared);
            }
            for (host, end) in &variants {
                meet(one.on(host), end, shared);
            }
            for (component, end) in &releases {
                meet(Replay { component, ..one }, end, shared);
            }
        }
    }
    let fate = common(&tried, shared, knowledge);
    let confidence = told.iter().map(HostFate::confidence).min().unwrap_or(Confidence::Measured);
    let (open_fields, open_build) = if fate.is_none() { settlers(&tried) } else { (Vec::new(), false) };
    Verdict { component: Some(name), fate, hosts: told, confidence, open_fields, open_build }
}

/// How a component ends, release by release, where it is not known which it is and all start or all fail: one of each
/// way, with the steps up to the one that decides. Empty where that is not so.
pub(super) fn alike<'a>(
    releases: &'a [Component],
    replay_of: Replay<'a>,
    shared: &mut Shared,
) -> Vec<(&'a Component, End)> {
    let mut found: Vec<(&Component, End)> = Vec::new();
    for component in releases {
        let end = shared.end(Replay { component, ..replay_of });
        let fails = |fate: Fate| matches!(fate, Fate::Fails(_));
        let other = found.iter().any(|(_, one)| fails(one.fate) != fails(end.fate));
        if other || end.fate == Fate::Undetermined {
            return Vec::new();
        }
        if !found.iter().any(|(_, told)| told.fate == end.fate && told.turn() == end.turn()) {
            found.push((component, end));
        }
    }
    found
}

/// How a component ends with each value of what the pool leaves open and what the first step that cannot be told turns
/// on, with the steps up to the one that decides; else with the compat library taken and left aside, where that cannot be
/// told and both start or both fail. Empty where none of them tells it.
pub(super) fn settled<'a>(replay_of: Replay<'a>, end: &End, shared: &mut Shared) -> Vec<(&'a Host, End)> {
    let Some(open) = end.steps().find(|step| step.result == StepResult::Unknown) else { return Vec::new() };
    let fields = open.facts.iter().filter_map(|basis| match basis {
        Basis::Pool(field) => Some(field),
        _ => None,
    });
    let mut with = |host| (host, shared.end(replay_of.on(host)));
    for field in fields {
        let each: Vec<_> = replay_of.host.with_each(field, replay_of.knowledge).iter().map(&mut with).collect();
        if each.iter().any(|(_, end)| end.fate != Fate::Undetermined) {
            return each;
        }
    }
    let which = |step: &StepRecord| step.step == Step::Loader && step.result == StepResult::Unknown;
    // Where nothing asks whether it is taken, both ways end as this does.
    if !end.steps().any(which) || !loader::hangs_on_a_note(replay_of) {
        return Vec::new();
    }
    let each: Vec<_> = replay_of.host.with_either_library().iter().map(with).collect();
    let all = |is: fn(Fate) -> bool| each.iter().all(|(_, end)| is(end.fate));
    let alike = all(|fate| matches!(fate, Fate::Starts(_))) || all(|fate| matches!(fate, Fate::Fails(_)));
    if alike { each } else { Vec::new() }
}

/// Whether a host ends as another, for the same step and with the same code.
pub(super) fn same_way(other: &HostFate<'_>, image: &ImageFacts, component: &Component, end: &End) -> bool {
    let codes = |fate: Fate| match fate {
        Fate::Fails(wall) => Some(wall.codes()),
        Fate::Starts(_) | Fate::Undetermined => None,
    };
    std::ptr::eq(other.component, component)
        && std::ptr::eq(other.image, image)
        && other.fate.same(end.fate)
        && codes(other.fate) == codes(end.fate)
        && turn(other.steps.iter()) == end.turn()
}

/// The walls that stand on every host, with their codes as far as these are the same on all.
fn everywhere<'a>(tried: &[Tried<'a>], shared: &mut Shared, knowledge: Knowledge) -> Vec<Wall> {
    let mut own = |one: &Tried<'a>| {
        let Tried { host, image, component, .. } = *one;
        let end = shared.whole(Replay::of(image, component, host, knowledge));
        let walls = end.steps().filter_map(|step| match step.result {
            StepResult::Stops(wall) => Some(wall),
            _ => None,
        });
        walls.collect::<Vec<Wall>>()
    };
    let mut walls = tried.first().map_or_else(Vec::new, &mut own);
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
fn common(tried: &[Tried<'_>], shared: &mut Shared, knowledge: Knowledge) -> Option<Fate> {
    let first = tried.first()?.fate;
    if tried.iter().all(|one| one.fate.same(first)) {
        return Some(plainest(first, tried));
    }
    if !tried.iter().all(|one| matches!(one.fate, Fate::Fails(_))) {
        return None;
    }
    let met = |wall: &Wall| tried.iter().any(|one| one.fate.same(Fate::Fails(*wall)));
    match everywhere(tried, shared, knowledge).into_iter().find(met) {
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
