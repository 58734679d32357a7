//! Judging the judge: what is right, in figures and as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::truth::data::Case;
use crate::truth::run::Found;

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

/// Whether a verdict is right: where facts decide, one of the right ends; elsewhere also an honest `cannot tell`, and
/// a failure that ends so on one of the hosts that the pool allows.
/// `not-applicable` and an error are never right: something happened there.
fn is_right(case: &Case, found: &Found) -> bool {
    let hit = CERTAIN.contains(&found.fate.as_str()) && found.ends.iter().any(|end| case.right.contains(end));
    let so_on_one = found.fate == "fails" && found.others.iter().any(|end| case.right.contains(end));
    hit || (!case.decidable && (OPEN.contains(&found.fate.as_str()) || so_on_one))
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

/// Right ones and all, of the decidable reports, by reported outcome.
fn per_outcome(scored: &[Scored]) -> BTreeMap<&str, (usize, usize)> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for one in scored.iter().filter(|one| one.case.decidable) {
        let entry = counts.entry(&one.case.report.outcome).or_default();
        entry.0 += usize::from(one.right);
        entry.1 += 1;
    }
    counts
}

/// Counts.
pub(crate) fn figures(scored: &[Scored]) -> Figures {
    let per_outcome = per_outcome(scored);
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
    writeln!(out, "\nexact per reported outcome, decidable reports").expect("text");
    for (outcome, (right, all)) in per_outcome(scored) {
        writeln!(out, "  {outcome:<24} {right:>3} of {all:>3} {:>6.1} %", 100.0 * share(right, all)).expect("text");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::data::Report;

    fn case(outcome: &str, decidable: bool, right: &[&str]) -> Case {
        let text = format!("id = 'one'\ngroup = 'one'\noutcome = '{outcome}'");
        let report: Report = toml::from_str(&text).expect("a report");
        Case { report, decidable, right: right.iter().map(|end| (*end).to_owned()).collect() }
    }

    fn found(fate: &str, ends: &[&str]) -> Found {
        let ends = ends.iter().map(|end| (*end).to_owned()).collect();
        Found { fate: fate.to_owned(), ends, others: Vec::new(), steps: Vec::new(), missing: Vec::new() }
    }

    #[test]
    fn a_failure_of_one_possible_host_agrees_with_the_public_report() {
        for (decidable, fate, others, expected) in [
            (false, "fails", &["refused", "compat-not-supported"][..], true),
            (false, "fails", &["refused"], false),
            (false, "starts", &["compat-not-supported"], false),
            (true, "fails", &["refused", "compat-not-supported"], false),
        ] {
            let others = others.iter().map(|end| (*end).to_owned()).collect();
            let found = Found { others, ..found(fate, &["refused"]) };
            let right = is_right(&case("compat-not-supported", decidable, &["compat-not-supported"]), &found);
            assert_eq!(right, expected, "{fate} {decidable}");
        }
    }

    #[test]
    fn only_the_right_end_counts_where_facts_decide() {
        let refused = &["refused", "refused/requirement"][..];
        for (decidable, right, fate, ends, expected) in [
            (true, &["starts"][..], "starts", &["starts"][..], true),
            (true, &["refused/requirement"], "fails", refused, true),
            (true, &["refused/hook"], "fails", refused, false),
            (true, &["no-gpu/35"], "fails", &["no-gpu", "no-gpu/100"], false),
            (true, &["starts"], "undetermined", &["undetermined"], false),
            (true, &["starts"], "depends", &["depends"], false),
            (true, &["starts"], "not-applicable", &["not-applicable"], false),
            (false, &["starts"], "undetermined", &["undetermined"], true),
            (false, &["no-gpu"], "depends", &["depends"], true),
            (false, &["no-gpu"], "starts", &["starts"], false),
            (false, &["starts"], "fails", refused, false),
            (false, &["starts"], "not-applicable", &["not-applicable"], false),
            (false, &["starts"], "error", &["error"], false),
        ] {
            let right = is_right(&case("ok", decidable, right), &found(fate, ends));
            assert_eq!(right, expected, "{fate} {ends:?}");
        }
    }

    #[test]
    fn the_macro_average_gives_every_outcome_the_same_weight() {
        let scored: Vec<Scored> = [
            (case("ok", true, &["starts"]), found("starts", &["starts"])),
            (case("ok", true, &["starts"]), found("starts", &["starts"])),
            (case("ok", true, &["starts"]), found("fails", &["no-gpu"])),
            (case("no-device", true, &["no-gpu"]), found("undetermined", &["undetermined"])),
            (case("ok", false, &["starts"]), found("fails", &["no-gpu"])),
        ]
        .into_iter()
        .map(|(case, found)| score(case, found))
        .collect();
        let figures = figures(&scored);
        assert_eq!((figures.decidable, figures.exact), (4, 2));
        assert!((figures.macro_average - 1.0 / 3.0).abs() < 1e-9, "{}", figures.macro_average);
        assert_eq!((figures.false_alarms, figures.contradictions), (2, 1));
    }
}
