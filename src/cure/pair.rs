//! Two changes of the image together: a base that gets further, and a build of the framework that starts on it; without
//! the compat library of that base where the two alone are not enough.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::PoolFate;
use crate::cure::Tried;
use crate::cure::Wish;
use crate::cure::base;
use crate::cure::case::Case;
use crate::cure::compat;
use crate::cure::framework;
use crate::cure::search::attempt;
use crate::cure::trial::Trials;
use crate::cure::trial::fates;

/// So many bases are tried with builds.
const BASES: usize = 4;
/// So many builds with each base.
const BUILDS: usize = 5;

/// The smallest pair that helps on every pool, else the first that helps.
pub(super) fn pair(case: &Case<'_>, trials: &mut Trials<'_>) -> Option<Tried> {
    let builds = framework::variants(case);
    if builds.is_empty() {
        return None;
    }
    let before = fates(case.before);
    let failing = case.aimed().count();
    let mut found: Option<Tried> = None;
    let mut further = 0;
    let compat = compat::compat(case);
    let dropped = compat.iter().find(|one| one.wish == Wish::DropCompat).cloned();
    let bases = base::candidates(case).into_iter().map(|base| (base, true));
    for (base, counts) in bases.chain(compat.into_iter().map(|one| (one, false))) {
        if counts && further == BASES {
            continue;
        }
        let gets_further = trials.wish(case, &base.wish).is_some_and(|outcome| differs(&before, &outcome.fates));
        if !gets_further {
            continue;
        }
        for build in builds.iter().take(BUILDS) {
            let pair = both(&base, build);
            let without = || dropped.as_ref().filter(|_| counts).map(|compat| both(&pair, compat));
            let one = match attempt(case, pair.clone(), trials) {
                Some(one) => Some(one),
                None => without().and_then(|three| attempt(case, three, trials)),
            };
            let Some(one) = one else { continue };
            if one.breaks.is_empty() && one.helps(case.aim) == failing {
                return Some(one);
            }
            found = found.or(Some(one));
        }
        further += usize::from(counts);
    }
    found
}

/// Whether a failure ends otherwise.
fn differs(before: &[PoolFate], after: &[PoolFate]) -> bool {
    before.iter().filter(|one| one.fate == "fails").any(|one| {
        after.iter().any(|now| now.pool == one.pool && (&now.fate, &now.outcome) != (&one.fate, &one.outcome))
    })
}

fn both(base: &Candidate, build: &Candidate) -> Candidate {
    Candidate {
        kind: Kind::BaseTag.max(base.kind),
        step: 1_000 + base.step + build.step,
        title: format!("{}, and {}", base.title, build.title),
        safety: base.safety.max(build.safety),
        wish: Wish::All([wishes(&base.wish), wishes(&build.wish)].concat()),
    }
}

fn wishes(wish: &Wish) -> Vec<Wish> {
    match wish {
        Wish::All(list) => list.clone(),
        one => vec![one.clone()],
    }
}
