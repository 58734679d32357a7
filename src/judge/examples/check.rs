//! Compares the findings for the examples of a rule page with those that the page promises.

use std::collections::BTreeSet;

use crate::judge::ReportDetail;
use crate::judge::examples::example_input::judge_example;
use crate::knowledge::Knowledge;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::rules::{Example, PageKind, RuleBook, RulePage};
use crate::text::source::Span;

/// Whether an example has the findings that its rule page promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVerdict {
    /// The findings are those that the page promises.
    Validated,
    /// There is a finding that the page does not promise.
    Noisy,
    /// A finding that the page promises is missing.
    Missing,
    /// The example cannot be read.
    Unreadable,
}

impl ExpectedVerdict {
    /// Returns the name of the result in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Validated => "validated",
            Self::Noisy => "noisy",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A checked example.
#[derive(Clone, Debug)]
pub struct ExampleResult {
    /// The heading of the example.
    pub title: String,
    /// The span of its input in the page.
    pub at: Span,
    /// The result of the check.
    pub verdict: ExpectedVerdict,
    /// Findings that the page does not promise, as `level: rule`.
    pub noisy: Vec<String>,
    /// Findings that the page promises and that are missing.
    pub missing: Vec<String>,
    /// The verdicts of the pools on one line, or why the example cannot be read.
    pub note: String,
}

/// Checks every example of a page, with a rule book that contains the page.
pub fn check_page(page: &RulePage, book: &RuleBook, knowledge: Knowledge) -> Vec<ExampleResult> {
    page.examples.iter().map(|example| check_example(page, example, book, knowledge)).collect()
}

/// Checks an example of a page.
fn check_example(page: &RulePage, example: &Example, book: &RuleBook, knowledge: Knowledge) -> ExampleResult {
    let of = |verdict, noisy, missing, note| ExampleResult {
        title: example.title.clone(),
        at: example.at,
        verdict,
        noisy,
        missing,
        note,
    };
    let (report, undecided) = match judge_example(example, book, knowledge, ReportDetail::Verdicts) {
        Ok(judged) => judged,
        Err(reason) => return of(ExpectedVerdict::Unreadable, Vec::new(), Vec::new(), reason),
    };
    let expected_rules: BTreeSet<String> =
        example.expect.iter().map(|expected| format!("{}: {}", expected.level, expected.rule)).collect();
    let reported = reported_rules(page, example, &report, &undecided);
    let noisy: Vec<String> = reported.difference(&expected_rules).cloned().collect();
    let missing: Vec<String> = expected_rules.difference(&reported).cloned().collect();
    let verdict = match (noisy.is_empty(), missing.is_empty()) {
        (true, true) => ExpectedVerdict::Validated,
        (_, false) => ExpectedVerdict::Missing,
        (false, true) => ExpectedVerdict::Noisy,
    };
    let mut note = verdicts_text(&report);
    if verdict == ExpectedVerdict::Noisy && checks_packages(page) && undecided.contains(&page.name) {
        note.push_str("; ");
        note.push_str(NAMED_PACKAGES_HINT);
    }
    of(verdict, noisy, missing, note)
}

/// Hint for a condition on packages that may be installed as dependencies.
const NAMED_PACKAGES_HINT: &str = "dependencies may be installed as well: use contains(image.packages.named, \"name\") to check \
                     named packages only";

/// Whether the condition of a page depends on packages.
fn checks_packages(page: &RulePage) -> bool {
    let PageKind::Practice(condition) = &page.kind else { return false };
    condition.facts().iter().any(|fact| fact.starts_with("package.") || fact == "image.packages")
}

/// Returns the findings, as `level: rule`, of the page's rule and of the rules that the example names.
fn reported_rules(
    page: &RulePage,
    example: &Example,
    report: &model::Subject,
    undecided: &[String],
) -> BTreeSet<String> {
    let mut reported = BTreeSet::new();
    let named = |rule: &str| rule == page.name || example.expect.iter().any(|expected| expected.rule == rule);
    for finding in report.findings.iter().filter(|finding| named(&finding.rule)) {
        // Against the built-in fleet no finding is an error; the example speaks of the rule.
        let own = example.fleet.is_none() && finding.rule == page.name;
        let level = if own { page.severity.name() } else { finding.severity.name() };
        reported.insert(format!("{level}: {}", finding.rule));
    }
    let open = |verdict: &model::Verdict| {
        verdict.component.is_none() && matches!(verdict.fate, VerdictKind::Depends | VerdictKind::Undetermined)
    };
    let is_reported = report.findings.iter().any(|finding| finding.rule == page.name);
    let undetermined = match page.kind {
        PageKind::Startup(_) => report.verdicts.iter().any(open),
        PageKind::Practice(_) => !is_reported && undecided.contains(&page.name),
        PageKind::Reader(_) => false,
    };
    if undetermined {
        reported.insert(format!("undetermined: {}", page.name));
    }
    reported
}

/// Returns the verdicts of the pools on one line.
fn verdicts_text(report: &model::Subject) -> String {
    let of_image = report.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let words = of_image.map(|verdict| {
        let missing: Vec<&str> = verdict.missing.iter().map(|missing| missing.key.as_str()).collect();
        let lacks = if missing.is_empty() { String::new() } else { format!(" (unknown: {})", missing.join(", ")) };
        let outcome = verdict.outcome.map_or_else(String::new, |outcome| format!(" {outcome}"));
        format!("{} {}{outcome}{lacks}", verdict.pool, verdict.fate)
    });
    words.collect::<Vec<_>>().join("; ")
}
