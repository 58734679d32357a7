//! Order of combinations, and why one ranks below another.

use std::cmp::Ordering;

use crate::cuda::DriverVersion;
use crate::fix::recommend::base_image::BaseImageKind;
use crate::fix::recommend::candidate::CandidateImage;
use crate::fix::recommend::release::tag_size_rank;
use crate::fix::recommend::trial::CandidateResult;
use crate::knowledge::compare_natural;
use crate::replay::StartRoute;

/// A tested combination.
#[derive(Clone, Debug)]
pub(super) struct TestedCandidate<'a> {
    pub(super) candidate: CandidateImage<'a>,
    pub(super) text: String,
    /// The result on each pool.
    pub(super) ends: Vec<CandidateResult>,
    /// Whether the tables list the libraries that it requires.
    pub(super) libraries_known: bool,
    /// Whether it is built for another CUDA major release than that of its base image.
    pub(super) other_cuda_major: bool,
    /// The smallest driver for each pool; empty until requested.
    pub(super) drivers: Vec<Option<DriverVersion>>,
}

impl TestedCandidate<'_> {
    /// Whether it starts on every pool and uses the GPU there.
    pub(super) fn starts_everywhere(&self) -> bool {
        self.ends.iter().all(|end| end.starts())
    }

    /// Whether some of its GPU code or libraries was not inspected.
    pub(super) fn is_not_fully_inspected(&self) -> bool {
        !self.libraries_known
            || self.ends.iter().any(|end| matches!(end, CandidateResult::Starts { uninspected: true, .. }))
    }

    /// Whether it starts on some pool only by PTX JIT, with libraries that were not inspected.
    pub(super) fn needs_uninspected_jit(&self) -> bool {
        self.ends.iter().any(|end| matches!(end, CandidateResult::Starts { route: StartRoute::Jit, uninspected: true }))
    }

    /// Returns the same combination, with starts by PTX JIT counted as unknown.
    pub(super) fn without_jit(&self) -> Self {
        let of = |end: &CandidateResult| match end {
            CandidateResult::Starts { route: StartRoute::Jit, .. } => CandidateResult::Open,
            end => *end,
        };
        Self { ends: self.ends.iter().map(of).collect(), ..self.clone() }
    }

    /// Returns the routes on all pools where it starts.
    fn routes(&self) -> impl Iterator<Item = StartRoute> {
        self.ends.iter().filter_map(|end| match end {
            CandidateResult::Starts { route, .. } => Some(*route),
            CandidateResult::Idle | CandidateResult::Fails(_) | CandidateResult::Open => None,
        })
    }

    /// Returns its routes, the worst first.
    fn routes_worst_first(&self) -> Vec<StartRoute> {
        let mut all: Vec<StartRoute> = self.routes().collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    /// Returns its required drivers, the newest first; an unknown one counts as the newest.
    fn drivers_newest_first(&self) -> Vec<(bool, Option<DriverVersion>)> {
        let mut all: Vec<_> = self.drivers.iter().map(|driver| (driver.is_none(), *driver)).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }

    /// Returns the rank of its base image: kind, tag size, length of the specifiers, reference.
    fn base_rank(&self) -> (BaseImageKind, (bool, usize), usize, &str) {
        let base = &self.candidate.base;
        (base.kind, tag_size_rank(&base.reference), self.candidate.packages_text().len(), &base.reference)
    }
}

/// Compares releases, the newer first, requirement by requirement; for base images alone, their CUDA.
pub(super) fn compare_releases(one: &CandidateImage<'_>, other: &CandidateImage<'_>) -> Ordering {
    let of_wishes = one
        .candidate_releases
        .iter()
        .zip(&other.candidate_releases)
        .map(|(one, other)| other.version.compare(one.version));
    // Of framework images of one repository, the newer one.
    let later = || match (one.base.kind, other.base.kind) {
        (BaseImageKind::Framework, BaseImageKind::Framework) => {
            compare_natural(&other.base.reference, &one.base.reference)
        }
        _ => Ordering::Equal,
    };
    let of_bases = || other.base.cuda.cmp(&one.base.cuda).then_with(later);
    let found = of_wishes.fold(Ordering::Equal, Ordering::then);
    if one.candidate_releases.is_empty() { of_bases() } else { found }
}

/// Compares what precedes drivers in the order: inspection, route, CUDA of the base image, version.
pub(super) fn compare_without_drivers(one: &TestedCandidate<'_>, other: &TestedCandidate<'_>) -> Ordering {
    let seen = one
        .is_not_fully_inspected()
        .cmp(&other.is_not_fully_inspected())
        .then(other.libraries_known.cmp(&one.libraries_known));
    let way = seen.then_with(|| one.routes_worst_first().cmp(&other.routes_worst_first()));
    let fits = way.then_with(|| one.other_cuda_major.cmp(&other.other_cuda_major));
    fits.then_with(|| compare_releases(&one.candidate, &other.candidate))
}

/// Compares two combinations, the better first.
pub(super) fn compare_candidates(one: &TestedCandidate<'_>, other: &TestedCandidate<'_>) -> Ordering {
    let then =
        compare_without_drivers(one, other).then_with(|| one.drivers_newest_first().cmp(&other.drivers_newest_first()));
    then.then_with(|| one.base_rank().cmp(&other.base_rank())).then_with(|| one.text.cmp(&other.text))
}

/// Returns why `one` ranks below the best, in one sentence; `pools` are the pool names.
pub(super) fn lower_rank_reason(best: &TestedCandidate<'_>, one: &TestedCandidate<'_>, pools: &[String]) -> String {
    if one.is_not_fully_inspected() && !best.is_not_fully_inspected() {
        return "its native code, PTX or libraries are unknown".to_owned();
    }
    if best.libraries_known && !one.libraries_known {
        return "the libraries it requires are not in the compatibility database".to_owned();
    }
    if one.routes_worst_first() != best.routes_worst_first() {
        return worse_routes_text(best, one, pools);
    }
    if one.other_cuda_major && !best.other_cuda_major {
        return "it is built for a CUDA release other than that of its base image".to_owned();
    }
    let older = best.candidate.candidate_releases.iter().zip(&one.candidate.candidate_releases);
    let older: Vec<String> = older
        .filter(|(best, one)| one.version.compare(best.version).is_lt())
        .map(|(best, one)| format!("{} {} is older than {}", one.name, one.version, best.version))
        .collect();
    if let Some(first) = older.first() {
        return first.clone();
    }
    if compare_releases(&best.candidate, &one.candidate).is_ne() {
        let same = best.candidate.base.cuda == one.candidate.base.cuda;
        return if same { "it is older" } else { "its CUDA is older" }.to_owned();
    }
    if one.drivers_newest_first() != best.drivers_newest_first() {
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
        return same_base_difference(&best.candidate, &one.candidate);
    }
    match one.candidate.base.kind.cmp(&best.candidate.base.kind) {
        Ordering::Greater => {
            format!("starts on the same pools, but its base image contains more: {}", one.candidate.base.reference)
        }
        _ => "starts on the same pools, but the name of its base image indicates a larger one".to_owned(),
    }
}

/// Returns the difference between two combinations that start alike on the same base image.
fn same_base_difference(best: &CandidateImage<'_>, one: &CandidateImage<'_>) -> String {
    let builds = |of: &CandidateImage<'_>| of.candidate_releases.iter().map(|choice| choice.cuda).collect::<Vec<_>>();
    let own = one.candidate_releases.iter().find_map(|choice| choice.cuda).filter(|_| builds(best) != builds(one));
    match own {
        Some(cuda) => format!("starts on the same pools, with the build for CUDA {cuda}"),
        None => format!("starts on the same pools, with {}", one.packages_text()),
    }
}

/// Returns the pools on which the route is worse than that of the best.
fn worse_routes_text(best: &TestedCandidate<'_>, one: &TestedCandidate<'_>, pools: &[String]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (pool, (best, one)) in pools.iter().zip(best.ends.iter().zip(&one.ends)) {
        if let (CandidateResult::Starts { route: best, .. }, CandidateResult::Starts { route, .. }) = (best, one)
            && route > best
        {
            parts.push(format!("{} on `{pool}` instead of {}", route.name(), best.name()));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::recommend::base_image::BaseCandidate;
    use crate::fix::recommend::candidate::GpuEnvironment;
    use crate::fix::recommend::release::CandidateRelease;
    use crate::knowledge::ParsedText;
    use crate::model::outcome::Outcome;
    use crate::model::package::PackageName;

    const NATIVE: CandidateResult = CandidateResult::Starts { route: StartRoute::Native, uninspected: false };
    const JIT: CandidateResult = CandidateResult::Starts { route: StartRoute::Jit, uninspected: false };
    const UNINSPECTED: CandidateResult = CandidateResult::Starts { route: StartRoute::Native, uninspected: true };

    fn choice(version: &str) -> CandidateRelease {
        let version = ParsedText::leak(version);
        let (name, spec) = (PackageName::python("a"), format!("a=={version}"));
        let (extras, build, page) = (Vec::new(), None, None);
        CandidateRelease { name, extras, code: "a", version, build, spec, page, cuda: None, within: None }
    }

    fn tried<'a>(
        choice: &'a CandidateRelease,
        ends: &[CandidateResult],
        driver: &str,
        kind: BaseImageKind,
        base: &str,
    ) -> TestedCandidate<'a> {
        let base = BaseCandidate {
            reference: base.to_owned(),
            kind,
            python: None,
            bare: false,
            fetched: false,
            cuda: None,
            larger: None,
            older: None,
        };
        TestedCandidate {
            candidate: CandidateImage {
                candidate_releases: vec![choice],
                base,
                gpu_environment: GpuEnvironment::Nothing,
            },
            text: String::new(),
            ends: ends.to_vec(),
            libraries_known: true,
            other_cuda_major: false,
            drivers: ends.iter().map(|_| driver.parse().ok()).collect(),
        }
    }

    #[test]
    fn each_rule_of_the_order_wins_over_those_after_it() {
        let (new, old) = (choice("2.10"), choice("2.9"));
        let names: Vec<String> = ["x".to_owned(), "y".to_owned()].into();
        let both = [NATIVE, NATIVE];
        let ranked = [
            (tried(&new, &both, "525.60.13", BaseImageKind::Language, "a:1"), ""),
            (
                tried(&new, &both, "525.60.13", BaseImageKind::Cuda, "b:1"),
                "starts on the same pools, but its base image contains more: b:1",
            ),
            (
                tried(&new, &both, "525.60.13", BaseImageKind::Cuda, "b:1-devel"),
                "starts on the same pools, but its base image contains more",
            ),
            (
                tried(&new, &both, "550.54.14", BaseImageKind::Language, "a:1"),
                "less headroom: it needs driver 550.54.14 on `x`",
            ),
            (tried(&new, &both, "none", BaseImageKind::Language, "a:1"), "less headroom"),
            (tried(&old, &both, "450.80.02", BaseImageKind::Language, "a:1"), "a 2.9 is older than 2.10"),
            (
                TestedCandidate {
                    other_cuda_major: true,
                    ..tried(&new, &both, "450.80.02", BaseImageKind::Language, "a:1")
                },
                "it is built for a CUDA release other than that of its base image",
            ),
            (tried(&new, &[NATIVE, JIT], "450.80.02", BaseImageKind::Language, "a:1"), "jit on `y` instead of native"),
            (
                tried(&new, &[JIT, JIT], "450.80.02", BaseImageKind::Language, "a:1"),
                "jit on `x` instead of native, jit on `y`",
            ),
            (
                tried(&new, &[NATIVE, UNINSPECTED], "450.80.02", BaseImageKind::Language, "a:1"),
                "its native code, PTX or libraries are unknown",
            ),
        ];
        let best = &ranked[0].0;
        for ((one, _), (next, why)) in ranked.iter().zip(ranked.iter().skip(1)) {
            assert_eq!(compare_candidates(one, next), Ordering::Less, "{why}");
            assert_eq!(compare_candidates(next, one), Ordering::Greater, "{why}");
            let reason = lower_rank_reason(best, next, &names);
            assert!(reason.starts_with(why), "{reason}");
        }
    }

    #[test]
    fn candidate_starting_by_jit_has_its_own_group() {
        let one = choice("1.0");
        let uninspected_jit = CandidateResult::Starts { route: StartRoute::Jit, uninspected: true };
        for (ends, expected) in
            [([NATIVE, uninspected_jit], true), ([NATIVE, JIT], false), ([NATIVE, UNINSPECTED], false)]
        {
            let one = tried(&one, &ends, "1.1", BaseImageKind::Given, "a:1");
            assert_eq!(one.needs_uninspected_jit(), expected, "{ends:?}");
            let compiled = ends.iter().any(|end| matches!(end, CandidateResult::Starts { route: StartRoute::Jit, .. }));
            assert_eq!(one.without_jit().starts_everywhere(), !compiled, "{ends:?}");
        }
    }

    #[test]
    fn candidate_failing_on_one_pool_does_not_start_everywhere() {
        let one = choice("1.0");
        for end in [CandidateResult::Idle, CandidateResult::Open, CandidateResult::Fails(Outcome::NoGpu)] {
            assert!(!tried(&one, &[NATIVE, end], "1.1", BaseImageKind::Given, "a:1").starts_everywhere(), "{end:?}");
        }
        assert!(tried(&one, &[JIT, UNINSPECTED], "1.1", BaseImageKind::Given, "a:1").starts_everywhere());
    }
}
