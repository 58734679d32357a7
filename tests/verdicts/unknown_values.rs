//! A value that becomes unknown makes no verdict more certain, and turns no certain verdict into another one.

use std::collections::BTreeMap;

use imagelint::dockerfile::context::ContextFiles;
use imagelint::dockerfile::{Dockerfile, EvaluateOptions};
use imagelint::extract;
use imagelint::fleet::cluster::Start;
use imagelint::fleet::{GpuNameLookup, read_fleet};
use imagelint::judge::{AnalysisSettings, AnalysisSubject, ReportDetail, SubjectContent, judge_subject};
use imagelint::knowledge::Knowledge;
use imagelint::model::cause::Cause;
use imagelint::model::fact::{FileKind, Observations, ObservedBase};
use imagelint::model::outcome::Outcome;
use imagelint::model::package::{IndexSelection, PackageManager, PackageVersion};
use imagelint::report::kinds::{SubjectKind, VerdictKind};
use imagelint::report::model::Verdict;
use imagelint::rules::{Persona, RuleBook};
use imagelint::text::source::{SourceText, Sources};

use crate::support::case::Cases;

/// Old and new drivers and GPUs, with and without forward compatibility.
const FLEET: &str = r#"
[[pool]]
name = "t4"
gpu = "T4"
driver = "470.57.02"
launch = "docker-gpus"
toolkit = "1.17.8"

[[pool]]
name = "a100"
gpu = "NVIDIA A100-SXM4-80GB"
driver = "535.161.08"
launch = "docker-gpus"
toolkit = "1.17.8"

[[pool]]
name = "b200"
gpu = "NVIDIA B200"
driver = "580.65.06"
launch = "kubernetes"
toolkit = "1.18.0"

[[pool]]
name = "gtx"
gpu = "NVIDIA GeForce GTX 1080"
driver = "550.54.15"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;

/// One in so many cases is tried, or each one if the variable `IMAGELINT_TEST_ALL_VALUES` is set.
const STEP: usize = 7;

/// Parts of the names of cases where a value that becomes unknown decides more, with the reason.
const KNOWN: &[(&str, &str)] = &[
    ("a build that the release does not have", "the known version has no such build, so the command fails"),
    ("a variant that no table lists, on a GPU", "the known version has no such build, so the command fails"),
    ("jax for CUDA 13 on a Python without it", "the known Python has no wheel, so the command fails"),
    ("a plugin of jax that is newer than the tables", "all listed releases are for CUDA 12; this one is not listed"),
    ("pins of one command conflict: ", "the known versions conflict, so the command fails"),
    (
        "package for another CUDA major than torch: pip install torch==2.4.0 --index-url cu118 && pip install vllm",
        "no start either way: torch for CUDA 12 needs a newer driver, and with one for CUDA 11 no libcudart.so.12 is installed",
    ),
];

/// A change of observations: what becomes unknown, and the observations after it.
type Change = (String, Observations);

/// Each single value that can be unknown, as unknown.
fn changes(seen: &Observations) -> Vec<Change> {
    let unknown = || Cause::VariableWithoutValue;
    let mut found: Vec<Change> = Vec::new();
    let mut change = |what: String, apply: &dyn Fn(&mut Observations)| {
        let mut changed = seen.clone();
        apply(&mut changed);
        found.push((what, changed));
    };
    for (at, package) in seen.packages.iter().enumerate() {
        let name = &package.requirement.name;
        let is_known_index = !matches!(package.requirement.indexes, IndexSelection::Unknown(_));
        if !matches!(package.requirement.version, PackageVersion::Unresolved(_)) && is_known_index {
            change(format!("the version of {name}"), &|seen| {
                seen.packages[at].requirement.version = PackageVersion::Unresolved(unknown());
            });
        }
        change(format!("whether {name} is installed"), &|seen| {
            seen.packages[at].conditional = Some(unknown());
        });
        if package.requirement.manager == PackageManager::Pip && is_known_index {
            change(format!("the index of {name}"), &|seen| {
                // An extra selects its build from any index.
                if matches!(seen.packages[at].requirement.indexes, IndexSelection::Only(_)) {
                    seen.packages[at].variant = None;
                }
                seen.packages[at].requirement.indexes = IndexSelection::Unknown(unknown());
            });
        }
    }
    for name in seen.env.keys() {
        change(format!("the variable {name}"), &|seen| {
            if let Some((value, _)) = seen.env.get_mut(name) {
                *value = Err(unknown());
            }
        });
    }
    if let ObservedBase::Image(_, fact) = seen.base {
        change("the base image".to_owned(), &|seen| seen.base = ObservedBase::Unresolved(unknown(), fact));
    }
    let libraries = seen.files.iter().filter(|(_, file)| !matches!(file.kind, FileKind::Text(_)));
    for (path, _) in libraries {
        change(format!("whether {path} exists"), &|seen| {
            if let Some(file) = seen.files.remove(path) {
                seen.base_changes.perhaps.insert(path.clone(), (unknown(), file.fact));
            }
        });
    }
    found
}

/// A verdict with the outcome of a failure.
type ImageVerdict = (VerdictKind, Option<Outcome>);

/// The verdict of the image on each pool.
fn verdicts(seen: &Observations, settings: AnalysisSettings<'_>) -> BTreeMap<String, ImageVerdict> {
    let subject = AnalysisSubject {
        name: "Dockerfile".to_owned(),
        path: String::new(),
        kind: SubjectKind::Dockerfile,
        digest: None,
        images: Vec::new(),
        notes: Vec::new(),
        as_of: None,
        only: None,
        start: Start::default(),
        named_at: None,
        content: SubjectContent::Fixed(Box::new(seen.clone())),
    };
    let judged = judge_subject(&subject, settings);
    let of_image = judged.verdicts.into_iter().filter(|verdict| verdict.component.is_none());
    // A start with something that was not inspected is no promise.
    let kind = |verdict: &Verdict| match verdict.fate {
        VerdictKind::Starts if !verdict.not_seen.is_empty() => VerdictKind::Undetermined,
        fate => fate,
    };
    of_image.map(|verdict| (verdict.pool.clone(), (kind(&verdict), verdict.outcome))).collect()
}

/// Whether a verdict may follow from another by a value that becomes unknown.
fn is_less_certain(before: ImageVerdict, after: ImageVerdict) -> bool {
    match after {
        // `not-applicable` states that nothing for a GPU was found, which predicts no start. Public reports show that a
        // driver library in an image fails, whatever its base image contains.
        (VerdictKind::Undetermined | VerdictKind::Depends | VerdictKind::NotApplicable, _)
        | (VerdictKind::Fails, Some(Outcome::DriverMismatch)) => true,
        (kind, _) => before.0 == kind,
    }
}

#[test]
fn unknown_value_makes_no_verdict_more_certain() {
    let knowledge = Knowledge::built_in();
    let mut sources = Sources::default();
    let fleet_text = SourceText::new("fleet.toml", FLEET);
    let fleet_source = sources.add(fleet_text.clone());
    let fleet = read_fleet(fleet_source, &fleet_text, &|_| GpuNameLookup::Known).expect("a fleet");
    let cases = Cases::read().cases;
    let texts = cases.iter().filter_map(|case| Some((case.name.as_str(), case.dockerfile.as_deref()?)));
    let (mut compared, mut wrong) = (0_usize, Vec::new());
    // Chosen by its name, so that another case changes nothing.
    let step = if std::env::var_os("IMAGELINT_TEST_ALL_VALUES").is_some() { 1 } else { STEP };
    let is_chosen = |name: &str| name.bytes().map(usize::from).sum::<usize>().is_multiple_of(step);
    let is_known = |name: &str| KNOWN.iter().any(|(part, _)| name.contains(part));
    for (name, text) in texts.filter(|(name, _)| is_chosen(name) && !is_known(name)) {
        let source = sources.add(SourceText::new("Dockerfile", text));
        let options = EvaluateOptions::new(knowledge);
        let files = ContextFiles::default();
        let dockerfile = Dockerfile::parse(text);
        let Ok(target) = extract::observe_dockerfile(source, &dockerfile, &options, &files) else { continue };
        let settings = AnalysisSettings {
            fleet: &fleet,
            pools: &[],
            as_of: None,
            persona: Persona::Regular,
            knowledge,
            book: RuleBook::built_in(),
            sources: &sources,
            detail: ReportDetail::default(),
            own: None,
        };
        let before = verdicts(&target.seen, settings);
        for (what, changed) in changes(&target.seen) {
            let after = verdicts(&changed, settings);
            for (pool, fate) in &before {
                compared += 1;
                match after.get(pool) {
                    Some(after) if is_less_certain(*fate, *after) => {}
                    after => wrong.push(format!("{name}, {what} unknown, on {pool}: {fate:?}, then {after:?}\n{text}")),
                }
            }
        }
    }
    assert!(compared > 2_000, "{compared} verdicts");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}
