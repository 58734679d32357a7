//! Verdicts on a pool: the result that its possible hosts have in common, or the fields that decide it.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::{Host, PoolField};
use crate::knowledge::Knowledge;
use crate::model::fact::{Component, ComponentRole, Confidence, ImageFacts};
use crate::replay::replay_cache::{ReplayEnd, deciding_step_of};
use crate::replay::startup_result::pool_field_value;
use crate::replay::{
    Basis, CudaErrorCodes, HostResult, Replay, ReplayCache, ReplayFailure, StartRoute, StartStep, StartupResult,
    StartupVerdict, StepRecord, StepResult, loader,
};

/// Number of hosts up to which a verdict lists all; of more, it lists one per distinct result.
pub(super) const MAX_LISTED_HOSTS: usize = 16;

/// Returns the verdicts on one pool: the image's first, then those of its components; empty if nothing can be judged.
///
/// Each pair is a build of the image, inferred for the host's platform, and a host of the pool; the builds of one
/// host follow each other.
pub fn pool_verdicts<'a>(pairs: &[(&'a ImageFacts, &'a Host)], knowledge: Knowledge) -> Vec<StartupVerdict<'a>> {
    pool_verdicts_with_cache(pairs, &mut ReplayCache::default(), knowledge)
}

/// Returns the same verdicts as `pool_verdicts`, with a cache of results for the hosts of this pool.
pub fn pool_verdicts_with_cache<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    shared: &mut ReplayCache,
    knowledge: Knowledge,
) -> Vec<StartupVerdict<'a>> {
    shared.wide = pairs.len() > MAX_LISTED_HOSTS;
    let mut names: Vec<(ComponentRole, &str)> = Vec::new();
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
    let components: Vec<(ComponentRole, StartupVerdict<'a>)> =
        names.into_iter().map(|(role, name)| (role, component_verdict(pairs, name, shared, knowledge))).collect();
    let worst = components
        .iter()
        .filter(|(role, _)| *role != ComponentRole::Extension)
        .max_by_key(|(_, verdict)| (verdict.severity(), verdict.route()))
        .map(|(_, verdict)| StartupVerdict { component: None, ..verdict.clone() });
    worst.into_iter().chain(components.into_iter().map(|(_, verdict)| verdict)).collect()
}

/// Whether the image starts on every host, as `pool_verdicts` would report; `None` if only extensions are present.
/// Stores the index of the first host with another result in `doubt`, and replays it first the next time.
pub fn starts_everywhere(
    pairs: &[(&ImageFacts, &Host)],
    shared: &mut ReplayCache,
    knowledge: Knowledge,
    doubt: &mut usize,
) -> Option<bool> {
    shared.wide = pairs.len() > MAX_LISTED_HOSTS;
    let mut judged = false;
    let first = pairs.get(*doubt).map(|pair| (*doubt, pair));
    for (at, (image, host)) in first.into_iter().chain(pairs.iter().enumerate()) {
        let host = shared.host_in_selected_mode(image, host);
        for component in image.components.iter().filter(|component| component.role != ComponentRole::Extension) {
            judged = true;
            if !matches!(
                shared.replay_until_decided(Replay::new(image, component, host, knowledge)).fate,
                StartupResult::Starts(_)
            ) {
                *doubt = at;
                return Some(false);
            }
        }
    }
    judged.then_some(true)
}

/// The replay result of one image component on one host, without steps.
#[derive(Clone, Copy)]
struct HostOutcome<'a> {
    host: &'a Host,
    image: &'a ImageFacts,
    component: &'a Component,
    fate: StartupResult,
}

/// Returns the verdict on one component over all hosts of a pool.
fn component_verdict<'a>(
    pairs: &[(&'a ImageFacts, &'a Host)],
    name: &'a str,
    shared: &mut ReplayCache,
    knowledge: Knowledge,
) -> StartupVerdict<'a> {
    let mut tried: Vec<HostOutcome<'a>> = Vec::with_capacity(pairs.len());
    let mut results: Vec<HostResult<'a>> = Vec::new();
    let few = pairs.len() <= MAX_LISTED_HOSTS;
    let mut meet = |one: Replay<'a>, end: &ReplayEnd, shared: &mut ReplayCache| {
        let (Replay { image, component, host, .. }, fate) = (one, end.fate);
        tried.push(HostOutcome { host, image, component, fate });
        let known = |other: &HostResult<'_>| has_same_result(other, image, component, end);
        if few || !results.iter().any(known) {
            // For a host that represents others, the steps after the deciding one are recorded, too.
            let whole = matches!(fate, StartupResult::Fails(_)).then(|| shared.replay_all_steps(one));
            let steps = whole.as_ref().unwrap_or(end).steps().copied().collect();
            results.push(HostResult { host, image, component, fate, steps });
        }
    };
    for (image, host) in pairs.iter().copied() {
        let host = shared.host_in_selected_mode(image, host);
        for component in image.components.iter().filter(|component| component.name == name) {
            let one = Replay::new(image, component, host, knowledge);
            let end = shared.replay_until_decided(one);
            let undetermined = end.fate == StartupResult::Undetermined;
            let releases =
                if undetermined { results_by_release(&component.possible_releases, one, shared) } else { Vec::new() };
            let variants =
                if undetermined && releases.is_empty() { results_by_open_value(one, &end, shared) } else { Vec::new() };
            if releases.is_empty() && variants.is_empty() {
                meet(one, &end, shared);
            }
            for (host, end) in &variants {
                meet(one.with_host(host), end, shared);
            }
            for (component, end) in &releases {
                meet(one.with_component(component), end, shared);
            }
        }
    }
    let fate = common_result(&tried, shared, knowledge);
    let confidence = results.iter().map(HostResult::confidence).min().unwrap_or(Confidence::Measured);
    let (open_fields, open_build) = if fate.is_none() { deciding_open_fields(&tried) } else { (Vec::new(), false) };
    StartupVerdict { component: Some(name), fate, hosts: results, confidence, open_fields, open_build }
}

/// Returns one result per distinct end over the possible releases of a component; empty unless all start or all fail.
/// Each result has its steps up to the one that decides.
pub(super) fn results_by_release<'a>(
    releases: &'a [Component],
    replay_of: Replay<'a>,
    shared: &mut ReplayCache,
) -> Vec<(&'a Component, ReplayEnd)> {
    let mut found: Vec<(&Component, ReplayEnd)> = Vec::new();
    for component in releases {
        let end = shared.replay_until_decided(replay_of.with_component(component));
        let fails = |fate: StartupResult| matches!(fate, StartupResult::Fails(_));
        let other = found.iter().any(|(_, one)| fails(one.fate) != fails(end.fate));
        if other || end.fate == StartupResult::Undetermined {
            return Vec::new();
        }
        if !found.iter().any(|(_, known)| known.fate == end.fate && known.deciding_step() == end.deciding_step()) {
            found.push((component, end));
        }
    }
    found
}

/// Returns the results for each value of an open pool field that resolves the first unknown step; empty if none does.
/// If no field resolves it, the compat library is tested as loaded and as ignored, where both start or both fail.
/// Each result has its steps up to the one that decides.
pub(super) fn results_by_open_value<'a>(
    replay_of: Replay<'a>,
    end: &ReplayEnd,
    shared: &mut ReplayCache,
) -> Vec<(&'a Host, ReplayEnd)> {
    let Some(open) = end.steps().find(|step| step.result == StepResult::Unknown) else { return Vec::new() };
    let fields = open.facts.iter().filter_map(|basis| match basis {
        Basis::Pool(field) => Some(field),
        _ => None,
    });
    let mut with = |host| (host, shared.replay_until_decided(replay_of.with_host(host)));
    for field in fields {
        let each: Vec<_> =
            replay_of.host.variants_for_field(field, replay_of.knowledge).iter().map(&mut with).collect();
        if each.iter().any(|(_, end)| end.fate != StartupResult::Undetermined) {
            return each;
        }
    }
    let which = |step: &StepRecord| step.step == StartStep::Loader && step.result == StepResult::Unknown;
    // If no step depends on whether it is used, both cases end alike.
    if !end.steps().any(which) || !loader::depends_on_unread_note(replay_of) {
        return Vec::new();
    }
    let each: Vec<_> = replay_of.host.with_and_without_compat().iter().map(with).collect();
    let all = |is: fn(StartupResult) -> bool| each.iter().all(|(_, end)| is(end.fate));
    let alike =
        all(|fate| matches!(fate, StartupResult::Starts(_))) || all(|fate| matches!(fate, StartupResult::Fails(_)));
    if alike { each } else { Vec::new() }
}

/// Whether a host's result is equal to another: same component and build, same deciding step, same error codes.
pub(super) fn has_same_result(
    other: &HostResult<'_>,
    image: &ImageFacts,
    component: &Component,
    end: &ReplayEnd,
) -> bool {
    let codes = |fate: StartupResult| match fate {
        StartupResult::Fails(failure) => Some(failure.codes()),
        StartupResult::Starts(_) | StartupResult::Undetermined => None,
    };
    std::ptr::eq(other.component, component)
        && std::ptr::eq(other.image, image)
        && other.fate.is_same_kind(end.fate)
        && codes(other.fate) == codes(end.fate)
        && deciding_step_of(other.steps.iter()) == end.deciding_step()
}

/// Returns the failures that occur on every host, with the error codes that all hosts share.
fn failures_on_every_host<'a>(
    tried: &[HostOutcome<'a>],
    shared: &mut ReplayCache,
    knowledge: Knowledge,
) -> Vec<ReplayFailure> {
    let mut own = |one: &HostOutcome<'a>| {
        let HostOutcome { host, image, component, .. } = *one;
        let end = shared.replay_all_steps(Replay::new(image, component, host, knowledge));
        let failures = end.steps().filter_map(|step| match step.result {
            StepResult::Stops(failure) => Some(failure),
            _ => None,
        });
        failures.collect::<Vec<ReplayFailure>>()
    };
    let mut failures = tried.first().map_or_else(Vec::new, &mut own);
    for one in tried.iter().skip(1) {
        if failures.is_empty() {
            break;
        }
        let own = own(one);
        failures.retain_mut(|failure| {
            let Some(here) = own.iter().copied().find(|one| one.is_same_failure(*failure)) else { return false };
            *failure = merge_failures(*failure, here);
            true
        });
    }
    failures
}

/// Merges two failures with the same outcome: with the code or list of codes that covers both, else without codes.
fn merge_failures(one: ReplayFailure, other: ReplayFailure) -> ReplayFailure {
    let holds =
        |list: CudaErrorCodes, code: CudaErrorCodes| code.certain.is_some_and(|code| list.possible.contains(&code));
    if one == other || holds(one.codes(), other.codes()) {
        one
    } else if holds(other.codes(), one.codes()) {
        other
    } else {
        one.without_codes()
    }
}

/// Returns the result that all hosts and builds share; `None` where it depends on the host or the build. Where all
/// fail, it is a failure that occurs on every host, else the one that most hosts encounter first.
fn common_result(tried: &[HostOutcome<'_>], shared: &mut ReplayCache, knowledge: Knowledge) -> Option<StartupResult> {
    let first = tried.first()?.fate;
    if tried.iter().all(|one| one.fate.is_same_kind(first)) {
        return Some(merge_results(first, tried));
    }
    if !tried.iter().all(|one| matches!(one.fate, StartupResult::Fails(_))) {
        return None;
    }
    let met = |failure: &ReplayFailure| tried.iter().any(|one| one.fate.is_same_kind(StartupResult::Fails(*failure)));
    match failures_on_every_host(tried, shared, knowledge).into_iter().find(met) {
        Some(failure) => Some(StartupResult::Fails(failure)),
        None => most_frequent_failure(tried),
    }
}

/// Returns the failure that most hosts encounter first; with its code only if all hosts share it.
fn most_frequent_failure(tried: &[HostOutcome<'_>]) -> Option<StartupResult> {
    let mut counts: Vec<(ReplayFailure, usize)> = Vec::new();
    for one in tried {
        let StartupResult::Fails(failure) = one.fate else { continue };
        match counts.iter_mut().find(|(other, _)| other.is_same_failure(failure)) {
            Some((_, count)) => *count += 1,
            None => counts.push((failure, 1)),
        }
    }
    let one_code = counts.windows(2).all(|pair| matches!(pair, [one, other] if one.0.codes() == other.0.codes()));
    // The first of equals, so that the order of the hosts decides and nothing else.
    let (failure, _) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(StartupResult::Fails(if one_code { failure } else { failure.without_codes() }))
}

/// Merges equal results: the most notable route of hosts that start, the common codes of hosts that fail.
fn merge_results(fate: StartupResult, tried: &[HostOutcome<'_>]) -> StartupResult {
    tried.iter().fold(fate, |fate, one| match (fate, one.fate) {
        (StartupResult::Starts(route), StartupResult::Starts(other)) => {
            StartupResult::Starts(StartRoute::max(route, other))
        }
        (StartupResult::Fails(failure), StartupResult::Fails(other)) => {
            StartupResult::Fails(merge_failures(failure, other))
        }
        _ => fate,
    })
}

/// Returns the open pool fields that decide the result, one if it suffices, and whether the build decides it.
fn deciding_open_fields(tried: &[HostOutcome<'_>]) -> (Vec<PoolField>, bool) {
    let open: BTreeSet<PoolField> = tried.iter().flat_map(|one| one.host.assumed.iter().copied()).collect();
    let build = |one: &HostOutcome<'_>| one.image.build.as_ref().map(ToString::to_string).unwrap_or_default();
    let several_builds = tried.iter().any(|one| one.image.build.is_some());
    if several_builds && is_decided_by(tried, build) {
        return (Vec::new(), true);
    }
    // What only some hosts turn on settles nothing between them and the others.
    let of_all = |field: &&PoolField| {
        !field.has_variants_on_demand() || tried.iter().all(|one| one.host.assumed.contains(field))
    };
    for field in open.iter().filter(of_all) {
        if is_decided_by(tried, |one| pool_field_value(*field, one.host)) {
            return (vec![*field], false);
        }
    }
    (open.into_iter().collect(), several_builds)
}

/// Whether hosts with the same value always have the same result.
fn is_decided_by(tried: &[HostOutcome<'_>], value: impl Fn(&HostOutcome<'_>) -> String) -> bool {
    let mut by_value: BTreeMap<String, StartupResult> = BTreeMap::new();
    tried.iter().all(|one| by_value.entry(value(one)).or_insert(one.fate).is_same_kind(one.fate))
}

#[cfg(test)]
#[path = "common_tests.rs"]
mod tests;
