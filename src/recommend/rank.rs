//! The order of combinations, and what makes one worse than another.

use std::cmp::Ordering;

use crate::cuda::DriverVersion;
use crate::knowledge::by_number;
use crate::recommend::base::Kind;
use crate::recommend::candidate::Candidate;
use crate::recommend::choice::newer;
use crate::recommend::choice::weight;
use crate::recommend::trial::End;
use crate::start::Route;

/// A combination that was tried.
#[derive(Clone, Debug)]
pub(super) struct Tried<'a> {
    pub(super) candidate: Candidate<'a>,
    pub(super) text: String,
    /// One for each pool.
    pub(super) ends: Vec<End>,
    /// Whether the tables tell which libraries it looks for.
    pub(super) told: bool,
    /// Whether it is built for another CUDA major than its base holds.
    pub(super) apart: bool,
    /// The smallest driver of each pool; empty until somebody asks.
    pub(super) drivers: Vec<Option<DriverVersion>>,
}

impl Tried<'_> {
    /// Whether it starts on every pool and uses the GPU there.
    pub(super) fn everywhere(&self) -> bool {
        self.ends.iter().all(|end| end.starts())
    }

    /// Whether it starts as far as it was seen.
    pub(super) fn unseen(&self) -> bool {
        !self.told || self.ends.iter().any(|end| matches!(end, End::Starts { unseen: true, .. }))
    }

    /// Whether code that is compiled at start-up carries it to some pool, and what it calls was not seen.
    pub(super) fn is_carried(&self) -> bool {
        self.ends.iter().any(|end| matches!(end, End::Starts { route: Route::Jit, unseen: true }))
    }

    /// The same where a start that takes code which is compiled at start-up is none.
    pub(super) fn without_jit(&self) -> Self {
        let of = |end: &End| match end {
            End::Starts { route: Route::Jit, .. } => End::Open,
            end => *end,
        };
        Self { ends: self.ends.iter().map(of).collect(), ..self.clone() }
    }

    fn routes(&self) -> impl Iterator<Item = Route> {
        self.ends.iter().filter_map(|end| match end {
            End::Starts { route, .. } => Some(*route),
            End::Idle | End::Fails(_) | End::Open => None,
        })
    }

    /// Its routes, the worst first.
    fn way(&self) -> Vec<Route> {
        let mut all: Vec<Route> = self.routes().collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    /// Its largest drivers first; none known is the largest.
    fn demand(&self) -> Vec<(bool, Option<DriverVersion>)> {
        let mut all: Vec<_> = self.drivers.iter().map(|driver| (driver.is_none(), *driver)).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    fn base(&self) -> (Kind, (bool, usize), usize, &str) {
        let base = &self.candidate.base;
        (base.kind, weight(&base.reference), self.candidate.told().len(), &base.reference)
    }
}

/// Newer versions first, wish by wish; of a base alone, its CUDA.
pub(super) fn versions(one: &Candidate<'_>, other: &Candidate<'_>) -> Ordering {
    let of_wishes = one.choices.iter().zip(&other.choices).map(|(one, other)| newer(other.version, one.version));
    // Of images of one repository that bring a framework, the newer one.
    let later = || match (one.base.kind, other.base.kind) {
        (Kind::Framework, Kind::Framework) => by_number(&other.base.reference, &one.base.reference),
        _ => Ordering::Equal,
    };
    let of_bases = || other.base.cuda.cmp(&one.base.cuda).then_with(later);
    let found = of_wishes.fold(Ordering::Equal, Ordering::then);
    if one.choices.is_empty() { of_bases() } else { found }
}

/// What counts before the drivers: what was seen, the route, the CUDA of the base, the version.
pub(super) fn first(one: &Tried<'_>, other: &Tried<'_>) -> Ordering {
    let seen = one.unseen().cmp(&other.unseen()).then(other.told.cmp(&one.told));
    let way = seen.then_with(|| one.way().cmp(&other.way()));
    let fits = way.then_with(|| one.apart.cmp(&other.apart));
    fits.then_with(|| versions(&one.candidate, &other.candidate))
}

/// The whole order.
pub(super) fn order(one: &Tried<'_>, other: &Tried<'_>) -> Ordering {
    let then = first(one, other).then_with(|| one.demand().cmp(&other.demand()));
    then.then_with(|| one.base().cmp(&other.base())).then_with(|| one.text.cmp(&other.text))
}

/// What is worse at `one` than at the best, in one sentence; `pools` are their names.
pub(super) fn lost(best: &Tried<'_>, one: &Tried<'_>, pools: &[String]) -> String {
    if one.unseen() && !best.unseen() {
        return "its native code, PTX or libraries are unknown".to_owned();
    }
    if best.told && !one.told {
        return "the libraries it requires are not in the compatibility database".to_owned();
    }
    if one.way() != best.way() {
        return worse_routes(best, one, pools);
    }
    if one.apart && !best.apart {
        return "it is built for a CUDA release other than that of its base image".to_owned();
    }
    let older = best.candidate.choices.iter().zip(&one.candidate.choices);
    let older: Vec<String> = older
        .filter(|(best, one)| newer(one.version, best.version).is_lt())
        .map(|(best, one)| format!("{} {} is older than {}", one.name, one.version, best.version))
        .collect();
    if let Some(first) = older.first() {
        return first.clone();
    }
    if versions(&best.candidate, &one.candidate).is_ne() {
        let same = best.candidate.base.cuda == one.candidate.base.cuda;
        return if same { "it is older" } else { "its CUDA is older" }.to_owned();
    }
    if one.demand() != best.demand() {
        let mut pairs = pools.iter().zip(best.drivers.iter().zip(&one.drivers));
        let found = pairs.find(|(_, (best, one))| (one.is_none(), *one) > (best.is_none(), *best));
        return match found {
            Some((pool, (Some(best), Some(one)))) => {
                format!("less headroom: it needs driver {one} on `{pool}` instead of {best}")
            }
            _ => "less headroom: it needs newer drivers".to_owned(),
        };
    }
    if one.candidate.base.reference == best.candidate.base.reference {
        return alike(&best.candidate, &one.candidate);
    }
    match one.candidate.base.kind.cmp(&best.candidate.base.kind) {
        Ordering::Greater => {
            format!("starts on the same pools, but its base image contains more: {}", one.candidate.base.reference)
        }
        _ => "starts on the same pools, but the name of its base image indicates a larger one".to_owned(),
    }
}

/// What sets one apart that starts alike on the same base.
fn alike(best: &Candidate<'_>, one: &Candidate<'_>) -> String {
    let builds = |of: &Candidate<'_>| of.choices.iter().map(|choice| choice.cuda).collect::<Vec<_>>();
    let own = one.choices.iter().find_map(|choice| choice.cuda).filter(|_| builds(best) != builds(one));
    match own {
        Some(cuda) => format!("starts on the same pools, with the build for CUDA {cuda}"),
        None => format!("starts on the same pools, with {}", one.told()),
    }
}

fn worse_routes(best: &Tried<'_>, one: &Tried<'_>, pools: &[String]) -> String {
    let mut told: Vec<String> = Vec::new();
    for (pool, (best, one)) in pools.iter().zip(best.ends.iter().zip(&one.ends)) {
        if let (End::Starts { route: best, .. }, End::Starts { route, .. }) = (best, one)
            && route > best
        {
            told.push(format!("{} on `{pool}` instead of {}", route.name(), best.name()));
        }
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::recommend::base::Base;
    use crate::recommend::candidate::Asks;
    use crate::recommend::choice::Choice;

    const NATIVE: End = End::Starts { route: Route::Native, unseen: false };
    const JIT: End = End::Starts { route: Route::Jit, unseen: false };
    const UNSEEN: End = End::Starts { route: Route::Native, unseen: true };

    fn choice(version: &'static str) -> Choice {
        let (name, spec) = ("a".to_owned(), format!("a=={version}"));
        Choice { name, code: "a", version, build: None, spec, page: None, cuda: None, within: None }
    }

    fn tried<'a>(choice: &'a Choice, ends: &[End], driver: &str, kind: Kind, base: &str) -> Tried<'a> {
        let base = Base {
            reference: base.to_owned(),
            kind,
            python: None,
            bare: false,
            fetched: false,
            cuda: None,
            larger: None,
            older: None,
        };
        Tried {
            candidate: Candidate { choices: vec![choice], base, asks: Asks::Nothing },
            text: String::new(),
            ends: ends.to_vec(),
            told: true,
            apart: false,
            drivers: ends.iter().map(|_| driver.parse().ok()).collect(),
        }
    }

    #[test]
    fn each_rule_of_the_order_wins_over_those_after_it() {
        let (new, old) = (choice("2.10"), choice("2.9"));
        let names: Vec<String> = ["x".to_owned(), "y".to_owned()].into();
        let both = [NATIVE, NATIVE];
        let ranked = [
            (tried(&new, &both, "525.60.13", Kind::Language, "a:1"), ""),
            (
                tried(&new, &both, "525.60.13", Kind::Cuda, "b:1"),
                "starts on the same pools, but its base image contains more: b:1",
            ),
            (
                tried(&new, &both, "525.60.13", Kind::Cuda, "b:1-devel"),
                "starts on the same pools, but its base image contains more",
            ),
            (tried(&new, &both, "550.54.14", Kind::Language, "a:1"), "less headroom: it needs driver 550.54.14 on `x`"),
            (tried(&new, &both, "none", Kind::Language, "a:1"), "less headroom"),
            (tried(&old, &both, "450.80.02", Kind::Language, "a:1"), "a 2.9 is older than 2.10"),
            (
                Tried { apart: true, ..tried(&new, &both, "450.80.02", Kind::Language, "a:1") },
                "it is built for a CUDA release other than that of its base image",
            ),
            (tried(&new, &[NATIVE, JIT], "450.80.02", Kind::Language, "a:1"), "jit on `y` instead of native"),
            (tried(&new, &[JIT, JIT], "450.80.02", Kind::Language, "a:1"), "jit on `x` instead of native, jit on `y`"),
            (
                tried(&new, &[NATIVE, UNSEEN], "450.80.02", Kind::Language, "a:1"),
                "its native code, PTX or libraries are unknown",
            ),
        ];
        let best = &ranked[0].0;
        for ((one, _), (next, why)) in ranked.iter().zip(ranked.iter().skip(1)) {
            assert_eq!(order(one, next), Ordering::Less, "{why}");
            assert_eq!(order(next, one), Ordering::Greater, "{why}");
            let told = lost(best, next, &names);
            assert!(told.starts_with(why), "{told}");
        }
    }

    #[test]
    fn what_is_compiled_at_start_up_is_no_start_of_its_own() {
        let one = choice("1.0");
        let carried = End::Starts { route: Route::Jit, unseen: true };
        for (ends, expected) in [([NATIVE, carried], true), ([NATIVE, JIT], false), ([NATIVE, UNSEEN], false)] {
            let one = tried(&one, &ends, "1.1", Kind::Given, "a:1");
            assert_eq!(one.is_carried(), expected, "{ends:?}");
            let compiled = ends.iter().any(|end| matches!(end, End::Starts { route: Route::Jit, .. }));
            assert_eq!(one.without_jit().everywhere(), !compiled, "{ends:?}");
        }
    }

    #[test]
    fn what_fails_anywhere_starts_not_everywhere() {
        let one = choice("1.0");
        for end in [End::Idle, End::Open, End::Fails(Outcome::NoGpu)] {
            assert!(!tried(&one, &[NATIVE, end], "1.1", Kind::Given, "a:1").everywhere(), "{end:?}");
        }
        assert!(tried(&one, &[JIT, UNSEEN], "1.1", Kind::Given, "a:1").everywhere());
    }
}
