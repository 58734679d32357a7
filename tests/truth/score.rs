//! Judging the judge: what is right, in figures and as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::data::Case;
use crate::run::Found;

/// Words for the ends of `certain` fates.
const CERTAIN: &[&str] = &["starts", "fails"];
/// Fates that claim to know nothing.
const OPEN: &[&str] = &["depends", "undetermined"];

/// A report, and what the program says of it.
pub(crate) struct Scored {
    pub(crate) case: Case,
    pub(crate) found: Found,
    pub(crate) right: bool,
}

/// Whether a verdict is right: where facts decide, one of the right ends; elsewhere also an honest `cannot tell`.
/// `not-applicable` and an error are never right: something happened there.
fn is_right(case: &Case, found: &Found) -> bool {
    let hit = CERTAIN.contains(&found.fate.as_str()) && found.ends.iter().any(|end| case.right.contains(end));
    hit || (!case.decidable && OPEN.contains(&found.fate.as_str()))
}

/// Scores one report.
pub(crate) fn score(case: Case, found: Found) -> Scored {
    let right = is_right(&case, &found);
    Scored { case, found, right }
}

/// Figures over all reports.
#[derive(Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) decidable: usize,
    /// Right ones among them.
    pub(crate) exact: usize,
    /// Mean over the reported outcomes of the share that is right, decidable reports only.
    pub(crate) macro_average: f64,
    /// `fails` on a report of a stack that works, decidable or not.
    pub(crate) false_alarms: usize,
    /// Undecidable reports with a certain verdict that contradicts them, or with none at all.
    pub(crate) contradictions: usize,
}

/// Counts.
pub(crate) fn figures(scored: &[Scored]) -> Figures {
    let mut per_outcome: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for one in scored.iter().filter(|one| one.case.decidable) {
        let entry = per_outcome.entry(&one.case.report.outcome).or_default();
        entry.0 += usize::from(one.right);
        entry.1 += 1;
    }
    let shares: Vec<f64> = per_outcome.values().map(|(right, all)| share(*right, *all)).collect();
    let whole: f64 = shares.iter().sum();
    let alarm = |one: &&Scored| one.case.report.outcome == "ok" && one.found.fate == "fails";
    Figures {
        decidable: per_outcome.values().map(|(_, all)| all).sum(),
        exact: per_outcome.values().map(|(right, _)| right).sum(),
        macro_average: whole / count(shares.len()),
        false_alarms: scored.iter().filter(alarm).count(),
        contradictions: scored.iter().filter(|one| !one.case.decidable && !one.right).count(),
    }
}

/// A part of a whole; nothing of nothing is nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { count(part) / count(whole) }
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

/// The report for people: a matrix for each half, the figures, and every wrong report.
pub(crate) fn print(scored: &[Scored]) -> String {
    let mut out = String::new();
    for (decidable, title) in [(true, "decidable"), (false, "undecidable")] {
        let half: Vec<&Scored> = scored.iter().filter(|one| one.case.decidable == decidable).collect();
        let right = half.iter().filter(|one| one.right).count();
        writeln!(out, "\n{title}: {right} of {} right (reported, found, count)", half.len()).expect("text");
        matrix(&mut out, &half);
        for one in half.iter().filter(|one| !one.right) {
            wrong(&mut out, one);
        }
    }
    let figures = figures(scored);
    writeln!(
        out,
        "\ndecidable {}, exact {} ({:.1} %), macro-average {:.1} %, false alarms {}, contradictions {}",
        figures.decidable,
        figures.exact,
        100.0 * share(figures.exact, figures.decidable),
        100.0 * figures.macro_average,
        figures.false_alarms,
        figures.contradictions
    )
    .expect("text");
    out
}

fn matrix(out: &mut String, half: &[&Scored]) {
    let mut cells: BTreeMap<(&str, &str), (usize, bool)> = BTreeMap::new();
    for one in half {
        let cell = cells.entry((&one.case.report.outcome, one.found.end())).or_insert((0, true));
        cell.0 += 1;
        cell.1 &= one.right;
    }
    for ((reported, found), (number, right)) in cells {
        let mark = if right { "" } else { "  <-" };
        writeln!(out, "  {reported:<24} {found:<28} {number:>3}{mark}").expect("text");
    }
}

fn wrong(out: &mut String, one: &Scored) {
    let Scored { case, found, .. } = one;
    let report = &case.report;
    writeln!(
        out,
        "  wrong {:<18} expected {:<40} found {:<28} at {:<40} missing {}",
        report.id,
        case.right.join("|"),
        found.ends.join(" "),
        found.steps.join(" "),
        found.missing.join(" "),
    )
    .expect("text");
}
