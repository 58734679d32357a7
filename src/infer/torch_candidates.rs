//! A torch of which only a version range is known: what all releases that it may be have in common.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::cause::Cause;
use crate::cuda::CudaVersion;
use crate::fact::{
    CodeTargets, Component, Derivation, Evidence, FactId, FactKey, Facts, FrameworkErrorCodes, GpuCode, PrintedValue,
    TypedFact, ValueState,
};
use crate::infer::single_build_framework::variant_cuda;
use crate::infer::torch::{TorchBuilder, TorchInstall};
use crate::infer::{add_unknown_fact, torch_build};
use crate::install::{compare_pep440_versions, range_contains};
use crate::knowledge::{FrameworkRow, HIGHEST_VERSION, Knowledge, TorchBuildRow, TorchRow};

/// What was searched if no candidate release has a CUDA build.
const SEARCHED_RELEASES: &str = "every possible release; none has a CUDA build here";

/// Splits a range such as `>=2.9+cu128` into the range and the build.
pub(super) fn split_range_and_build(range: &str) -> (String, Option<String>) {
    let mut tag = None;
    let plain: Vec<&str> = range
        .split(',')
        .map(|clause| {
            let (version, local) = clause.split_once('+').map_or((clause, None), |(one, local)| (one, Some(local)));
            tag = tag.take().or_else(|| local.map(|local| local.trim().to_owned()));
            version
        })
        .collect();
    (plain.join(","), tag)
}

/// Returns the torch releases in a range that were released by a date.
pub(super) fn torch_releases_in_range(
    range: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<&'static TorchRow> {
    let out = |row: &&TorchRow| match (as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        (Some(_), None) => false,
        (None, _) => true,
    };
    knowledge
        .served_torch_releases()
        .filter(|row| range_contains(range, row.version) == Some(true))
        .filter(out)
        .collect()
}

/// Whether the tables list every release in a range: no newer release can lie in it.
pub(super) fn is_range_covered(range: &str, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let rows = knowledge.torch_releases();
    if as_of.is_some() {
        return knowledge
            .served_torch_releases()
            .all(|row| row.released.is_some() || range_contains(range, row.version) == Some(false));
    }
    let newest = rows.iter().map(|row| row.version).reduce(|one, other| select_version(one, other, Ordering::Greater));
    let of_major =
        newest.and_then(|version| version.split('.').next()).map(|major| format!("{major}.{HIGHEST_VERSION}"));
    let beyond = [of_major.unwrap_or_default(), HIGHEST_VERSION.to_owned()];
    beyond.iter().all(|version| range_contains(range, version) == Some(false))
}

/// A release that torch may be, with its build.
struct TorchCandidate {
    release: &'static TorchRow,
    variant: String,
    code: Option<&'static TorchBuildRow>,
}

/// Returns a component of unknown version, with what all its candidates share; `None` if there are none.
pub(super) fn component_from_candidates(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    brought: &TorchInstall<'_>,
    why: &Cause,
    arch: &str,
    knowledge: Knowledge,
) -> Option<Component> {
    let chosen = brought.variant.as_ref().ok()?;
    let candidates: Vec<TorchCandidate> = brought
        .candidates
        .iter()
        .filter_map(|release| {
            let default = release.default_variant.iter().find(|value| value.arch == arch).map(|value| value.value);
            let there = |tag: &str| !tag.starts_with("cu") || arch != "amd64" || release.variants.contains(&tag);
            let variant = match chosen {
                Some(tag) => Some(tag.as_str()).filter(|tag| there(tag)),
                None => default,
            }?;
            let code =
                knowledge.torch_build(release.version, variant, arch).filter(|_| brought.maker == TorchBuilder::Wheel);
            Some(TorchCandidate { release, variant: variant.to_owned(), code })
        })
        .collect();
    let may_be = if brought.closed {
        components_per_candidate_kind(facts, framework, brought, &candidates, arch, knowledge)
    } else {
        Vec::new()
    };
    let first = candidates.first()?;
    let name = framework.component;
    let row = first.code.map(|code| &code.info).filter(|_| chosen.is_some()).or(Some(&first.release.info));
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![brought.package.fact], row: None };
    let version = facts.add(FactKey::ComponentVersion, Some(name), ValueState::Unknown(why.clone()), read);
    let from_version = |row| Evidence::Derived { by: Derivation::Row, from: vec![brought.package.fact, version], row };
    let from_table = if chosen.is_none() { row } else { None };
    let variant = if candidates.iter().all(|one| one.variant == first.variant) {
        ValueState::Known(PrintedValue::Text(first.variant.clone()))
    } else {
        ValueState::Unknown(why.clone())
    };
    let variant = facts.add(FactKey::ComponentVariant, Some(name), variant, from_version(from_table));
    let cuda = common_cuda(facts, name, &candidates, variant, why);
    let code = common_code(facts, name, &candidates, variant, why);
    let codes = FrameworkErrorCodes { no_code: framework.no_code, bad_ptx: framework.bad_ptx };
    Some(Component { possible_releases: may_be, ..Component::new_core(name, cuda, code, codes) })
}

/// Returns the component as the newest release of each kind by CUDA and code; empty if all candidates are of one
/// kind.
///
/// Their facts stand before those of the component, of which the last of a key is the one that holds.
fn components_per_candidate_kind(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    brought: &TorchInstall<'_>,
    all: &[TorchCandidate],
    arch: &str,
    knowledge: Knowledge,
) -> Vec<Component> {
    let kind = |one: &TorchCandidate| (variant_cuda(&one.variant), one.code.map(|code| (code.sass, code.ptx)));
    let mut sorted: Vec<&TorchCandidate> = all.iter().collect();
    sorted.sort_by(|one, other| {
        compare_pep440_versions(other.release.version, one.release.version).unwrap_or(Ordering::Equal)
    });
    let mut kinds: Vec<&TorchCandidate> = Vec::new();
    for one in sorted {
        if !kinds.iter().any(|other| kind(other) == kind(one)) {
            kinds.push(one);
        }
    }
    let decided = kinds.iter().filter(|_| kinds.len() > 1).map(|one| {
        let version = one.release.version;
        let row = Some(&one.release.info);
        let known = TorchInstall { version: Ok(version.to_owned()), row, candidates: Vec::new(), ..brought.clone() };
        let release = Some(format!("{} {version}", framework.component));
        Component { release, ..torch_build::component_of_torch_install(facts, framework, &known, arch, knowledge) }
    });
    decided.collect()
}

/// Adds the fact of the CUDA version that all candidates have in common.
fn common_cuda(
    facts: &mut Facts,
    name: &str,
    all: &[TorchCandidate],
    from: FactId,
    why: &Cause,
) -> TypedFact<CudaVersion> {
    let mut versions: Vec<Option<CudaVersion>> = all.iter().map(|one| variant_cuda(&one.variant)).collect();
    versions.dedup();
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    match versions.as_slice() {
        [None] => facts.add_typed(
            FactKey::ComponentCuda,
            Some(name),
            ValueState::Absent { searched: SEARCHED_RELEASES },
            evidence,
        ),
        [Some(cuda)] => facts.add_typed(FactKey::ComponentCuda, Some(name), ValueState::Known(*cuda), evidence),
        _ => {
            let (oldest, newest) = (extreme_version(all, Ordering::Less), extreme_version(all, Ordering::Greater));
            let why = Cause::SeveralCandidates {
                because: Box::new(why.clone()),
                name: name.to_owned(),
                oldest: oldest.to_owned(),
                newest: newest.to_owned(),
            };
            add_unknown_fact(facts, FactKey::ComponentCuda, Some(name), why, evidence)
        }
    }
}

/// Returns the oldest or the newest version of the candidates.
fn extreme_version(all: &[TorchCandidate], wanted: Ordering) -> &'static str {
    let versions = all.iter().map(|one| one.release.version);
    versions.reduce(|one, other| select_version(one, other, wanted)).unwrap_or_default()
}

/// Returns whichever of two versions comes first or last in the wanted order.
fn select_version(one: &'static str, other: &'static str, wanted: Ordering) -> &'static str {
    if compare_pep440_versions(other, one) == Some(wanted) { other } else { one }
}

/// Adds the fact of the GPU code that all candidates have in common.
fn common_code(facts: &mut Facts, name: &str, all: &[TorchCandidate], from: FactId, why: &Cause) -> TypedFact<GpuCode> {
    let evidence = |row| Evidence::Derived { by: Derivation::Row, from: vec![from], row };
    if all.iter().all(|one| variant_cuda(&one.variant).is_none()) {
        return facts.add_typed(
            FactKey::ComponentCode,
            Some(name),
            ValueState::Absent { searched: SEARCHED_RELEASES },
            evidence(None),
        );
    }
    let same = |one: &TorchBuildRow, other: &TorchBuildRow| one.sass == other.sass && one.ptx == other.ptx;
    let rows: Option<Vec<&'static TorchBuildRow>> = all.iter().map(|one| one.code).collect();
    // The weakest row speaks for all.
    let weakest = rows.as_deref().unwrap_or_default().iter().min_by_key(|row| row.info.how).copied();
    match (rows, weakest) {
        (Some(rows), Some(weakest)) if rows.iter().all(|row| same(row, weakest)) => {
            let container = CodeTargets { sass: weakest.sass.to_vec(), ptx: weakest.ptx.to_vec() };
            let state = ValueState::Known(GpuCode::from(container));
            facts.add_typed(FactKey::ComponentCode, Some(name), state, evidence(Some(&weakest.info)))
        }
        _ => add_unknown_fact(facts, FactKey::ComponentCode, Some(name), why.clone(), evidence(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_include_a_build() {
        for (range, plain, tag) in [
            (">=2.9+cu128", ">=2.9", Some("cu128")),
            (">=2.9,<3", ">=2.9,<3", None),
            ("", "", None),
            ("==2.7.*,>=2.7.0+cpu", "==2.7.*,>=2.7.0", Some("cpu")),
        ] {
            assert_eq!(split_range_and_build(range), (plain.to_owned(), tag.map(str::to_owned)), "{range}");
        }
    }

    #[test]
    fn releases_after_the_date_are_no_candidates() {
        let on = |range: &str, day: Option<Date>| {
            let rows = torch_releases_in_range(range, day, Knowledge::built_in());
            rows.iter().map(|row| row.version).collect::<Vec<_>>()
        };
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2026, 1, 23))), ["2.9.0", "2.9.1", "2.10.0"]);
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2025, 10, 15))), ["2.9.0"]);
        assert_eq!(on(">=99", None), [""; 0]);
        assert_eq!(on("nonsense", None), [""; 0]);
    }
}
