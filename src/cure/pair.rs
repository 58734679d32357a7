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
use crate::cure::trial::fates;
use crate::cure::trials::Trials;
use crate::report::kinds::VerdictKind;

/// So many bases are tried with builds.
const BASES: usize = 4;
/// So many builds with each base.
const BUILDS: usize = 5;

/// What comes of one base with the builds.
#[derive(Default)]
struct Tries {
    /// Whether it gets further than the image does.
    further: bool,
    /// The first pair that helps.
    found: Option<Tried>,
    /// Whether that helps on every pool.
    enough: bool,
}

impl Tries {
    /// Takes those of the next base; whether more are sought.
    fn goes_on(&mut self, next: Self) -> bool {
        self.enough = next.enough;
        self.found = if next.enough { next.found } else { self.found.take().or(next.found) };
        !self.enough
    }
}

/// The smallest pair that helps on every pool, else the first that helps.
pub(super) fn pair(case: &Case<'_>, trials: &mut Trials<'_>) -> Option<Tried> {
    let builds = framework::variants(case);
    if builds.is_empty() {
        return None;
    }
    let before = fates(case.before);
    let compat = compat::compat(case);
    let dropped = compat.iter().find(|one| one.wish == Wish::DropCompat);
    let of_base = |base: &Candidate, dropped: Option<&Candidate>, trials: &mut Trials<'_>| {
        let gets_further = trials.ends(case, &base.wish).is_some_and(|outcome| differs(&before, &outcome.fates));
        if gets_further { tries(case, base, &builds, dropped, trials) } else { Tries::default() }
    };
    let (mut all, mut further) = (Tries::default(), 0);
    let bases = base::candidates(case);
    trials.each(
        &bases,
        |base, trials| of_base(base, dropped, trials),
        |one| {
            further += usize::from(one.further);
            all.goes_on(one) && further < BASES
        },
    );
    if !all.enough {
        trials.each(&compat, |one, trials| of_base(one, None, trials), |one| all.goes_on(one));
    }
    all.found
}

/// A base that gets further with each build; without the compat library of the base where the two alone do not help.
fn tries(
    case: &Case<'_>,
    base: &Candidate,
    builds: &[Candidate],
    dropped: Option<&Candidate>,
    trials: &mut Trials<'_>,
) -> Tries {
    let all = case.aimed().count();
    let mut found: Option<Tried> = None;
    for build in builds.iter().take(BUILDS) {
        let pair = both(base, build);
        let without = || dropped.map(|compat| both(&pair, compat));
        let one = match attempt(case, pair.clone(), trials) {
            Some(one) => Some(one),
            None => without().and_then(|three| attempt(case, three, trials)),
        };
        let Some(one) = one else { continue };
        if one.breaks.is_empty() && one.helps(case.aim) == all {
            return Tries { further: true, found: Some(one), enough: true };
        }
        found = found.or(Some(one));
    }
    Tries { further: true, found, enough: false }
}

/// Whether a failure ends otherwise.
fn differs(before: &[PoolFate], after: &[PoolFate]) -> bool {
    before.iter().filter(|one| one.fate == VerdictKind::Fails).any(|one| {
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
