//! A torch of which only a range is known: what all releases that it may be have in common.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::fact::CodeWording;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::GpuCode;
use crate::fact::Signature;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::infer::framework::variant_cuda;
use crate::infer::torch::Brought;
use crate::infer::torch::Maker;
use crate::infer::torch_build;
use crate::infer::unknown;
use crate::install::admits;
use crate::install::order;
use crate::knowledge::BEYOND;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;
use crate::knowledge::TorchBuildRow;
use crate::knowledge::TorchRow;

const SEARCHED: &str = "every possible release; none has a CUDA build here";

/// The range and the build of `>=2.9+cu128`.
pub(super) fn parts(range: &str) -> (String, Option<String>) {
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

/// The releases of torch in a range that were out on a day.
pub(super) fn within(range: &str, as_of: Option<Date>, knowledge: Knowledge) -> Vec<&'static TorchRow> {
    let out = |row: &&TorchRow| match (as_of, row.released) {
        (Some(day), Some(released)) => released <= day,
        (Some(_), None) => false,
        (None, _) => true,
    };
    knowledge.torch_served().filter(|row| admits(range, row.version) == Some(true)).filter(out).collect()
}

/// Whether no release can lie in a range but those of the tables: of a day all are known, and without one there may be
/// newer ones by tomorrow.
pub(super) fn ends(range: &str, as_of: Option<Date>, knowledge: Knowledge) -> bool {
    let rows = knowledge.torch_releases();
    if as_of.is_some() {
        return knowledge.torch_served().all(|row| row.released.is_some() || admits(range, row.version) == Some(false));
    }
    let newest = rows.iter().map(|row| row.version).reduce(|one, other| later(one, other, Ordering::Greater));
    let of_major = newest.and_then(|version| version.split('.').next()).map(|major| format!("{major}.{BEYOND}"));
    let beyond = [of_major.unwrap_or_default(), BEYOND.to_owned()];
    beyond.iter().all(|version| admits(range, version) == Some(false))
}

/// One release with the build of it that is in question.
struct Candidate {
    release: &'static TorchRow,
    variant: String,
    code: Option<&'static TorchBuildRow>,
}

/// A component whose version cannot be told, with what all its candidates share; `None` where there are none.
pub(super) fn shared(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    brought: &Brought<'_>,
    why: &Why,
    arch: &str,
    knowledge: Knowledge,
) -> Option<Component> {
    let chosen = brought.variant.as_ref().ok()?;
    let candidates: Vec<Candidate> = brought
        .candidates
        .iter()
        .filter_map(|release| {
            let default = release.default_variant.iter().find(|value| value.arch == arch).map(|value| value.value);
            let there = |tag: &str| !tag.starts_with("cu") || arch != "amd64" || release.variants.contains(&tag);
            let variant = match chosen {
                Some(tag) => Some(tag.as_str()).filter(|tag| there(tag)),
                None => default,
            }?;
            let code = knowledge.torch_build(release.version, variant, arch).filter(|_| brought.maker == Maker::Wheel);
            Some(Candidate { release, variant: variant.to_owned(), code })
        })
        .collect();
    let may_be =
        if brought.closed { each(facts, framework, brought, &candidates, arch, knowledge) } else { Vec::new() };
    let first = candidates.first()?;
    let name = framework.component;
    let row = first.code.map(|code| &code.info).filter(|_| chosen.is_some()).or(Some(&first.release.info));
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![brought.package.fact], row: None };
    let version = facts.add(FactKey::ComponentVersion, Some(name), State::Unknown(why.clone()), read);
    let from_version = |row| Evidence::Derived { by: Derivation::Row, from: vec![brought.package.fact, version], row };
    let from_table = if chosen.is_none() { row } else { None };
    let variant = if candidates.iter().all(|one| one.variant == first.variant) {
        State::Known(Value::Text(first.variant.clone()))
    } else {
        State::Unknown(why.clone())
    };
    let variant = facts.add(FactKey::ComponentVariant, Some(name), variant, from_version(from_table));
    let cuda = cuda(facts, name, &candidates, variant, why);
    let code = code(facts, name, &candidates, variant, why);
    let codes = CodeWording { no_code: framework.no_code, bad_ptx: framework.bad_ptx };
    Some(Component { may_be, ..Component::core(name, cuda, code, codes) })
}

/// What it is if it is this release or that: the newest of each kind, by CUDA and code. None where all are of one.
///
/// Their facts stand before those of the component, of which the last of a key is the one that holds.
fn each(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    brought: &Brought<'_>,
    all: &[Candidate],
    arch: &str,
    knowledge: Knowledge,
) -> Vec<Component> {
    let kind = |one: &Candidate| (variant_cuda(&one.variant), one.code.map(|code| (code.sass, code.ptx)));
    let mut sorted: Vec<&Candidate> = all.iter().collect();
    sorted.sort_by(|one, other| order(other.release.version, one.release.version).unwrap_or(Ordering::Equal));
    let mut kinds: Vec<&Candidate> = Vec::new();
    for one in sorted {
        if !kinds.iter().any(|other| kind(other) == kind(one)) {
            kinds.push(one);
        }
    }
    let decided = kinds.iter().filter(|_| kinds.len() > 1).map(|one| {
        let version = one.release.version;
        let row = Some(&one.release.info);
        let known = Brought { version: Ok(version.to_owned()), row, candidates: Vec::new(), ..brought.clone() };
        let release = Some(format!("{} {version}", framework.component));
        Component { release, ..torch_build::brought(facts, framework, &known, arch, knowledge) }
    });
    decided.collect()
}

fn cuda(facts: &mut Facts, name: &str, all: &[Candidate], from: FactId, why: &Why) -> Fact<CudaVersion> {
    let mut versions: Vec<Option<CudaVersion>> = all.iter().map(|one| variant_cuda(&one.variant)).collect();
    versions.dedup();
    let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    match versions.as_slice() {
        [None] => facts.add_typed(FactKey::ComponentCuda, Some(name), State::Absent { searched: SEARCHED }, evidence),
        [Some(cuda)] => facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(*cuda), evidence),
        _ => {
            let (oldest, newest) = (bound(all, Ordering::Less), bound(all, Ordering::Greater));
            let why = Why {
                reason: format!(
                    "{}; {name} {oldest} to {newest} are possible, and their CUDA versions differ",
                    why.reason
                ),
                supply: why.supply.clone(),
            };
            unknown(facts, FactKey::ComponentCuda, Some(name), why, evidence)
        }
    }
}

/// The version before or after all others.
fn bound(all: &[Candidate], wanted: Ordering) -> &'static str {
    let versions = all.iter().map(|one| one.release.version);
    versions.reduce(|one, other| later(one, other, wanted)).unwrap_or_default()
}

fn later(one: &'static str, other: &'static str, wanted: Ordering) -> &'static str {
    if order(other, one) == Some(wanted) { other } else { one }
}

fn code(facts: &mut Facts, name: &str, all: &[Candidate], from: FactId, why: &Why) -> Fact<GpuCode> {
    let evidence = |row| Evidence::Derived { by: Derivation::Row, from: vec![from], row };
    if all.iter().all(|one| variant_cuda(&one.variant).is_none()) {
        return facts.add_typed(
            FactKey::ComponentCode,
            Some(name),
            State::Absent { searched: SEARCHED },
            evidence(None),
        );
    }
    let same = |one: &TorchBuildRow, other: &TorchBuildRow| one.sass == other.sass && one.ptx == other.ptx;
    let rows: Option<Vec<&'static TorchBuildRow>> = all.iter().map(|one| one.code).collect();
    // The weakest row speaks for all.
    let weakest = rows.as_deref().unwrap_or_default().iter().min_by_key(|row| row.info.how).copied();
    match (rows, weakest) {
        (Some(rows), Some(weakest)) if rows.iter().all(|row| same(row, weakest)) => {
            let container = Signature { sass: weakest.sass.to_vec(), ptx: weakest.ptx.to_vec() };
            let state = State::Known(GpuCode::from(container));
            facts.add_typed(FactKey::ComponentCode, Some(name), state, evidence(Some(&weakest.info)))
        }
        _ => unknown(facts, FactKey::ComponentCode, Some(name), why.clone(), evidence(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_name_the_build() {
        for (range, plain, tag) in [
            (">=2.9+cu128", ">=2.9", Some("cu128")),
            (">=2.9,<3", ">=2.9,<3", None),
            ("", "", None),
            ("==2.7.*,>=2.7.0+cpu", "==2.7.*,>=2.7.0", Some("cpu")),
        ] {
            assert_eq!(parts(range), (plain.to_owned(), tag.map(str::to_owned)), "{range}");
        }
    }

    #[test]
    fn releases_of_later_days_are_no_candidates() {
        let on = |range: &str, day: Option<Date>| {
            let rows = within(range, day, Knowledge::built_in());
            rows.iter().map(|row| row.version).collect::<Vec<_>>()
        };
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2026, 1, 23))), ["2.9.0", "2.9.1", "2.10.0"]);
        assert_eq!(on(">=2.9,<2.11", Some(jiff::civil::date(2025, 10, 15))), ["2.9.0"]);
        assert_eq!(on(">=99", None), [""; 0]);
        assert_eq!(on("nonsense", None), [""; 0]);
    }
}
