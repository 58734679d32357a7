//! How many pools or images fail, in one line.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use crate::report::escape::clean;
use crate::report::groups::groups;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::VerdictKind;
use crate::report::matrix::image_verdict;
use crate::report::model::Report;
use crate::report::model::SETTINGS;
use crate::report::model::Subject;
use crate::report::open::causes;
use crate::report::words::count;
use crate::report::words::series;

/// So many pools are named on which every image fails.
const NAMED: usize = 3;

/// Whether a fault of several images counts once, as a terminal shows it, or once per image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Once.
    PerFault,
    /// Once per image.
    PerImage,
}

/// How many images were looked at.
pub fn images(report: &Report) -> usize {
    report.subjects.iter().filter(|subject| subject.kind != SETTINGS).count()
}

/// How many inputs could not be read; one may have several mistakes.
pub fn unread(report: &Report) -> String {
    let inputs: BTreeSet<&str> = report.errors.iter().map(|error| error.input.as_str()).collect();
    count(inputs.len(), "input")
}

/// Writes how many pools or images fail, in one line.
pub fn closing(report: &Report, subjects: &[&Subject], counted: Counted, out: &mut impl io::Write) -> io::Result<()> {
    let mut line = answer(report, subjects);
    let findings = findings(report, counted);
    if !findings.is_empty() {
        line.push_str(if line.contains(':') || line.contains(", no ") { "; " } else { ": " });
        line.push_str(&findings);
    }
    if !report.errors.is_empty() {
        let _ = write!(line, "; {} cannot be read", unread(report));
    }
    writeln!(out, "{line}")
}

/// The number of findings of each severity.
fn findings(report: &Report, counted: Counted) -> String {
    let all: Vec<FindingSeverity> = match counted {
        Counted::PerFault => {
            let faults = groups(report).into_iter().chain(causes(report));
            faults.map(|group| group.first.severity).collect()
        }
        Counted::PerImage => {
            let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
            findings.map(|finding| finding.severity).collect()
        }
    };
    let number = |severity: FindingSeverity| all.iter().filter(|one| **one == severity).count();
    let known = [FindingSeverity::Error, FindingSeverity::Warning, FindingSeverity::Note];
    let known = known.map(|severity| (number(severity), severity.word()));
    let known = known.into_iter().filter(|(number, _)| 0 < *number);
    known.map(|(number, severity)| count(number, severity)).collect::<Vec<_>>().join(", ")
}

/// The rules about images that cannot be built.
const BUILD: &[&str] = &["installer-missing", "dockerfile-syntax"];

/// Whether an error is about a build, so that no image exists to start.
fn unbuildable(report: &Report) -> bool {
    let mut findings = report.subjects.iter().flat_map(|subject| &subject.findings);
    findings.any(|finding| finding.severity == FindingSeverity::Error && BUILD.contains(&finding.rule.as_str()))
}

/// What is worse than a start.
const WORST_FIRST: [VerdictKind; 3] = [VerdictKind::Fails, VerdictKind::Depends, VerdictKind::Undetermined];

fn answer(report: &Report, subjects: &[&Subject]) -> String {
    let pools = &report.fleet.pools;
    let fates = |subject: &Subject| -> Vec<VerdictKind> {
        let verdicts = pools.iter().filter_map(|pool| image_verdict(subject, &pool.name));
        verdicts.map(|verdict| verdict.fate).collect()
    };
    let of_each: Vec<Vec<VerdictKind>> = subjects.iter().map(|subject| fates(subject)).collect();
    let on = count(pools.len(), "pool");
    let checked = format!("checked {} on {on}", count(subjects.len(), "image"));
    let has = |fate: VerdictKind| of_each.iter().flatten().any(|one| *one == fate);
    if !WORST_FIRST.into_iter().any(has) {
        return match has(VerdictKind::Starts) {
            _ if unbuildable(report) => format!("{checked}: the build fails"),
            true => format!("{checked}, no failure found"),
            false => format!("{checked}, no verdict"),
        };
    }
    // Of one image, each pool counts; of several, each image by the worst of its pools.
    let worst = |fates: &Vec<VerdictKind>| WORST_FIRST.into_iter().find(|fate| fates.contains(fate));
    let each: Vec<VerdictKind> = match of_each.as_slice() {
        [one] => one.clone(),
        several => several.iter().filter_map(worst).collect(),
    };
    let number = |fate: VerdictKind| each.iter().filter(|one| **one == fate).count();
    let (fails, may, unknown) =
        (number(VerdictKind::Fails), number(VerdictKind::Depends), number(VerdictKind::Undetermined));
    let mut parts = Vec::new();
    let verb = if fails == 1 { "fails" } else { "fail" };
    match subjects {
        _ if fails == 0 => {}
        [_] => parts.push(format!("{fails} of {on} {verb}")),
        _ => parts.push(failing(report, subjects, fails)),
    }
    if may > 0 {
        parts.push(format!("{may} may fail"));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} unknown"));
    }
    if unbuildable(report) {
        parts.push(if subjects.len() == 1 { "the build fails" } else { "a build fails" }.to_owned());
    }
    let parts = parts.join(", ");
    if matches!(subjects, [_]) && fails > 0 { parts } else { format!("{checked}: {parts}") }
}

/// Of several images, so many that fail: with the pools, if all fail on the same ones.
fn failing(report: &Report, subjects: &[&Subject], fails: usize) -> String {
    let all = report.fleet.pools.iter().map(|pool| pool.name.as_str());
    let fails_on =
        |subject: &&Subject, pool: &str| image_verdict(subject, pool).is_some_and(|one| one.fate == VerdictKind::Fails);
    let on = |subject: &&Subject| all.clone().filter(|pool| fails_on(subject, pool)).collect::<Vec<_>>();
    let mut lists = subjects.iter().map(on).filter(|list| !list.is_empty());
    let first = lists.next().unwrap_or_default();
    let alike = lists.all(|list| list == first);
    let who = match subjects.len() {
        many if many == fails => format!("all {many} fail"),
        many => format!("{fails} of {many} {}", if fails == 1 { "fails" } else { "fail" }),
    };
    match first.len() {
        _ if !alike => format!("{who} on at least one pool"),
        many if many == report.fleet.pools.len() => format!("{who} on all pools"),
        many if many > NAMED => format!("{who} on the same {many} pools"),
        _ => {
            let names: Vec<_> = first.iter().map(|pool| clean(pool)).collect();
            format!("{who} on {}", series(&names.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
        }
    }
}
