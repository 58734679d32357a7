//! Several changes of the image together, each of which gets further than those before it: the first wall falls, and the
//! next one has a cure of its own.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::PoolFate;
use crate::cure::Tried;
use crate::cure::Wish;
use crate::cure::base;
use crate::cure::case::Case;
use crate::cure::compat;
use crate::cure::environment;
use crate::cure::framework;
use crate::cure::platform;
use crate::cure::repair::replaced;
use crate::cure::repair::texts;
use crate::cure::search::attempt;
use crate::cure::search::best;
use crate::cure::search::singles;
use crate::cure::trial::fates;
use crate::cure::trials::Trials;
use crate::cure::versions::FAR;
use crate::edit::TextEdit;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::outcome::Outcome;
use crate::report::kinds::VerdictKind;

/// So many changes are made together.
const LONGEST: usize = 3;
/// So many first changes are followed.
const FIRSTS: usize = 4;
/// So many of those that help on some pools.
const HELPING: usize = 2;
/// So many candidates of one kind are asked whether they get further.
const ASKED: usize = 6;
/// So many trials are made behind all of them.
const BEHIND: usize = 160;

/// A change that is followed.
struct First {
    candidate: Candidate,
    subject: Subject,
    edits: Vec<TextEdit>,
}

/// The smallest that help on every pool, else those that help on more than one change does.
pub(super) fn chains(case: &Case<'_>, tried: &[Tried], trials: &mut Trials<'_>) -> Vec<Tried> {
    let all = case.aimed().count();
    let mut found = Vec::new();
    let mut behind = BEHIND.min(trials.left());
    for first in firsts(case, tried, trials) {
        let mut own = trials.of_own(behind);
        let chain = follow(case, first, &mut own);
        let used = behind - own.left();
        trials.spend(used);
        behind -= used;
        let Some(one) = chain.and_then(|candidate| attempt(case, candidate, trials)) else { continue };
        let done = one.breaks.is_empty() && one.starts(case.aim).len() == all;
        let alone = |other: &Tried| one.starts(case.aim).iter().all(|pool| other.starts(case.aim).contains(pool));
        if !tried.iter().any(alone) {
            found.push(one);
        }
        if done {
            break;
        }
    }
    found
}

/// The changes that are worth to be followed: what helps on some pools, and what meets a later wall.
fn firsts(case: &Case<'_>, tried: &[Tried], trials: &mut Trials<'_>) -> Vec<First> {
    let mut found: Vec<First> = Vec::new();
    for one in tried.iter().filter(|one| one.kind.of_image() && one.breaks.is_empty() && one.step < FAR) {
        if one.starts(case.aim).is_empty() || found.len() == HELPING {
            continue;
        }
        let Some(outcome) = trials.wish(case, &one.wish) else { continue };
        let Some(subject) = outcome.subject else { continue };
        let (title, wish) = (one.title.clone(), one.wish.clone());
        let candidate = Candidate { kind: one.kind, step: one.step, title, safety: one.safety, wish };
        found.push(First { candidate, subject, edits: outcome.edits });
    }
    let before = fates(case.before);
    let kinds = [
        platform::platforms(case),
        environment::environment(case),
        compat::driver_libraries(case),
        compat::compat(case),
        framework::variants(case),
        base::candidates(case),
    ];
    let asked = kinds.into_iter().flat_map(|list| list.into_iter().take(ASKED));
    let asked: Vec<Candidate> = asked.filter(|asked| !tried.iter().any(|one| one.wish == asked.wish)).collect();
    let first = |candidate: &Candidate, trials: &mut Trials<'_>| {
        let outcome = trials.wish(case, &candidate.wish)?;
        let subject = outcome.subject.filter(|_| gets_further(&before, &outcome.fates))?;
        Some(First { candidate: candidate.clone(), subject, edits: outcome.edits })
    };
    trials.each(&asked, first, |first| {
        found.extend(first);
        found.len() < FIRSTS
    });
    found
}

/// Whether some pool meets a later wall, and no pool an earlier one.
pub(super) fn gets_further(before: &[PoolFate], after: &[PoolFate]) -> bool {
    let wall = |one: &PoolFate| one.outcome.as_ref().and_then(|name| name.parse::<Outcome>().ok());
    let pairs = || {
        let now = |was: &PoolFate| after.iter().find(|one| one.pool == was.pool).cloned();
        before.iter().filter_map(move |was| Some((was, now(was)?)))
    };
    let later =
        |(was, now): (&PoolFate, PoolFate)| wall(was).is_some_and(|was| wall(&now).is_some_and(|now| was < now));
    let worse = |(was, now): (&PoolFate, PoolFate)| match (was.fate, now.fate) {
        (VerdictKind::Fails, VerdictKind::Fails) => wall(&now) < wall(was),
        (VerdictKind::Starts, fate) => fate != VerdictKind::Starts,
        _ => false,
    };
    pairs().any(later) && !pairs().any(worse)
}

/// What comes behind a first change, until it starts on every pool or nothing helps any more; none where nothing came.
fn follow(case: &Case<'_>, first: First, trials: &mut Trials<'_>) -> Option<Candidate> {
    let First { mut candidate, mut subject, edits } = first;
    let mut sources = case.settings.sources.clone();
    sources = replaced(&sources, &texts(&sources, &edits)?);
    let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| kind.of_image()).collect();
    let mut any = false;
    for _ in 1..LONGEST {
        let settings = Settings { sources: &sources, detail: Detail::Fates, ..case.settings };
        let hosts = trials.means.hosts;
        let judged = judge::judge_on(&subject, settings, hosts);
        let Some(next) = Case::of(case.aim, &subject, &judged, settings, hosts) else { break };
        let found = best(singles(&kinds, &next, trials), &next);
        let helps = |one: &Tried| one.breaks.is_empty() && !one.starts(case.aim).is_empty();
        let Some(one) = found.into_iter().find(helps) else { break };
        candidate = joined(candidate, &one)?;
        any = true;
        // What is told and not written has no text to go on from.
        let Some(then) = one.subject.clone().filter(|_| !one.edits.is_empty()) else { break };
        sources = replaced(&sources, &texts(&sources, &one.edits)?);
        subject = then;
    }
    any.then_some(candidate)
}

/// Both changes as one; none where both are about the same thing.
fn joined(first: Candidate, then: &Tried) -> Option<Candidate> {
    let mut all = match first.wish {
        Wish::All(list) => list,
        one => vec![one],
    };
    if let Wish::Env(more) = &then.wish
        && let Some(Wish::Env(list)) = all.iter_mut().find(|one| matches!(one, Wish::Env(_)))
    {
        list.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        list.extend(more.iter().cloned());
    } else if all.iter().any(|one| of_one_thing(one, &then.wish)) {
        return None;
    } else {
        all.push(then.wish.clone());
    }
    let far = if first.step >= FAR || then.step >= FAR { FAR } else { 0 };
    Some(Candidate {
        kind: first.kind.max(then.kind),
        step: far + 1_000 + first.step % FAR + then.step % FAR,
        title: format!("{}, and {}", first.title, then.title),
        safety: first.safety.max(then.safety),
        wish: Wish::All(all),
    })
}

fn of_one_thing(one: &Wish, other: &Wish) -> bool {
    match (one, other) {
        (Wish::Build { package: one, .. }, Wish::Build { package: other, .. }) => one == other,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(pool: &str, outcome: Option<&str>) -> PoolFate {
        let fate = if outcome.is_some() { VerdictKind::Fails } else { VerdictKind::Starts };
        PoolFate {
            pool: pool.to_owned(),
            fate,
            outcome: outcome.map(str::to_owned),
            lifted: false,
            compiled: false,
            minor: false,
        }
    }

    #[test]
    fn only_a_later_wall_is_further() {
        let [early, late] = [Some("refused"), Some("no-kernel-image")];
        for (before, after, further) in [
            ([early, early], [late, early], true),
            ([early, None], [late, None], true),
            ([early, early], [early, early], false),
            ([late, early], [early, early], false),
            ([late, early], [early, late], false),
            ([early, None], [late, early], false),
            ([None, None], [None, None], false),
        ] {
            let list =
                |ends: [Option<&str>; 2]| ["a", "b"].iter().zip(ends).map(|(pool, end)| fate(pool, end)).collect();
            let [was, is]: [Vec<PoolFate>; 2] = [list(before), list(after)];
            assert_eq!(gets_further(&was, &is), further, "{before:?} {after:?}");
        }
    }
}
