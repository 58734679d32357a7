//! The result line at the end of a report: how many pools or images fail, and the number of findings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use crate::report::escape::escape_one_line;
use crate::report::finding_groups::{group_findings, group_unknown_verdicts};
use crate::report::kinds::{FindingSeverity, SubjectKind, VerdictKind};
use crate::report::model::{Report, Subject};
use crate::report::phrases::{join_with_and, pluralize};
use crate::report::verdict_table::image_verdict;

/// Maximum number of pools that the line names.
const MAX_NAMED_POOLS: usize = 3;

/// Whether a fault that several images share counts once, as in terminal output, or once per image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingCounting {
    /// Once.
    PerFault,
    /// Once per image.
    PerImage,
}

/// Returns the number of checked images.
pub fn image_count(report: &Report) -> usize {
    report.subjects.iter().filter(|subject| subject.kind != SubjectKind::Settings).count()
}

/// Returns the number of inputs that could not be read, such as `2 inputs`; one input may have several errors.
pub fn unreadable_input_count(report: &Report) -> String {
    let inputs: BTreeSet<&str> = report.errors.iter().map(|error| error.input.as_str()).collect();
    pluralize(inputs.len(), "input")
}

/// Writes the result line.
pub fn write_result_line(
    report: &Report,
    subjects: &[&Subject],
    counted: FindingCounting,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut line = verdict_counts(report, subjects);
    let findings = finding_counts(report, counted);
    if !findings.is_empty() {
        line.push_str(if line.contains(':') || line.contains(", no ") { "; " } else { ": " });
        line.push_str(&findings);
    }
    if !report.errors.is_empty() {
        let _ = write!(line, "; {} cannot be read", unreadable_input_count(report));
    }
    writeln!(out, "{line}")
}

/// Returns the number of findings of each severity, such as `2 errors, 1 warning`.
fn finding_counts(report: &Report, counted: FindingCounting) -> String {
    let all: Vec<FindingSeverity> = match counted {
        FindingCounting::PerFault => {
            let faults = group_findings(report).into_iter().chain(group_unknown_verdicts(report));
            faults.map(|group| group.first.severity).collect()
        }
        FindingCounting::PerImage => {
            let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
            findings.map(|finding| finding.severity).collect()
        }
    };
    let number = |severity: FindingSeverity| all.iter().filter(|one| **one == severity).count();
    let known = [FindingSeverity::Error, FindingSeverity::Warning, FindingSeverity::Note];
    let known = known.map(|severity| (number(severity), severity.name()));
    let known = known.into_iter().filter(|(number, _)| 0 < *number);
    known.map(|(number, severity)| pluralize(number, severity)).collect::<Vec<_>>().join(", ")
}

/// Rules about images that cannot be built.
const BUILD_RULES: &[&str] = &["installer-missing", "dockerfile-syntax"];

/// Whether an error is about a build, so that there is no image to start.
fn has_build_error(report: &Report) -> bool {
    let mut findings = report.subjects.iter().flat_map(|subject| &subject.findings);
    findings.any(|finding| finding.severity == FindingSeverity::Error && BUILD_RULES.contains(&finding.rule.as_str()))
}

/// Verdicts other than a start, the worst first.
const WORST_FIRST: [VerdictKind; 3] = [VerdictKind::Fails, VerdictKind::Depends, VerdictKind::Undetermined];

/// Returns how many pools or images have which verdict, such as `2 of 3 pools fail, 1 may fail`.
fn verdict_counts(report: &Report, subjects: &[&Subject]) -> String {
    let pools = &report.fleet.pools;
    let fates = |subject: &Subject| -> Vec<VerdictKind> {
        let verdicts = pools.iter().filter_map(|pool| image_verdict(subject, &pool.name));
        verdicts.map(|verdict| verdict.fate).collect()
    };
    let of_each: Vec<Vec<VerdictKind>> = subjects.iter().map(|subject| fates(subject)).collect();
    let on = pluralize(pools.len(), "pool");
    let checked = format!("checked {} on {on}", pluralize(subjects.len(), "image"));
    let has = |fate: VerdictKind| of_each.iter().flatten().any(|one| *one == fate);
    if !WORST_FIRST.into_iter().any(has) {
        return match has(VerdictKind::Starts) {
            _ if has_build_error(report) => format!("{checked}: the build fails"),
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
        _ => parts.push(failing_image_count(report, subjects, fails)),
    }
    if may > 0 {
        parts.push(format!("{may} may fail"));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} unknown"));
    }
    if has_build_error(report) {
        parts.push(if subjects.len() == 1 { "the build fails" } else { "a build fails" }.to_owned());
    }
    let parts = parts.join(", ");
    if matches!(subjects, [_]) && fails > 0 { parts } else { format!("{checked}: {parts}") }
}

/// Returns how many of several images fail, with the pools if all of them fail on the same pools.
fn failing_image_count(report: &Report, subjects: &[&Subject], fails: usize) -> String {
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
        many if many > MAX_NAMED_POOLS => format!("{who} on the same {many} pools"),
        _ => {
            let names: Vec<_> = first.iter().map(|pool| escape_one_line(pool)).collect();
            format!("{who} on {}", join_with_and(&names.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
        }
    }
}
