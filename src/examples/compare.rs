//! What a page says of its examples, beside what it promises.

use std::collections::BTreeSet;

use crate::examples::input::judged;
use crate::judge::Detail;
use crate::knowledge::Knowledge;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::rules::Example;
use crate::rules::Kind;
use crate::rules::Page;
use crate::rules::RuleBook;
use crate::source::Span;

/// How an example turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as the page promises.
    Validated,
    /// Something is said that the page does not promise.
    Noisy,
    /// Something that the page promises is not said.
    Missing,
    /// It cannot be read.
    Unreadable,
}

impl Verdict {
    /// The word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Validated => "validated",
            Self::Noisy => "noisy",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One example that was judged.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its heading.
    pub title: String,
    /// Place of its input in the page.
    pub at: Span,
    /// How it turned out.
    pub verdict: Verdict,
    /// What is said and was not promised, as `level: rule`.
    pub noisy: Vec<String>,
    /// What was promised and is not said.
    pub missing: Vec<String>,
    /// The verdicts of the pools on one line, or why it cannot be read.
    pub note: String,
}

/// Every example of a page, judged with a book that the page is in.
pub fn of_page(page: &Page, book: &RuleBook, knowledge: Knowledge) -> Vec<Tried> {
    page.examples.iter().map(|example| tried(page, example, book, knowledge)).collect()
}

fn tried(page: &Page, example: &Example, book: &RuleBook, knowledge: Knowledge) -> Tried {
    let of = |verdict, noisy, missing, note| Tried {
        title: example.title.clone(),
        at: example.at,
        verdict,
        noisy,
        missing,
        note,
    };
    let (report, undecided) = match judged(example, book, knowledge, Detail::Verdicts) {
        Ok(judged) => judged,
        Err(reason) => return of(Verdict::Unreadable, Vec::new(), Vec::new(), reason),
    };
    let wanted: BTreeSet<String> =
        example.expect.iter().map(|expected| format!("{}: {}", expected.level, expected.rule)).collect();
    let said = said(page, example, &report, &undecided);
    let noisy: Vec<String> = said.difference(&wanted).cloned().collect();
    let missing: Vec<String> = wanted.difference(&said).cloned().collect();
    let verdict = match (noisy.is_empty(), missing.is_empty()) {
        (true, true) => Verdict::Validated,
        (_, false) => Verdict::Missing,
        (false, true) => Verdict::Noisy,
    };
    let mut note = fates(&report);
    if verdict == Verdict::Noisy && asks_what_may_come_along(page) && undecided.contains(&page.name) {
        note.push_str("; ");
        note.push_str(NAMED);
    }
    of(verdict, noisy, missing, note)
}

/// The way out where a condition asks for a package of which nobody can say that it is not there.
const NAMED: &str = "dependencies may be installed as well: use contains(image.packages.named, \"name\") to check \
                     named packages only";

/// Whether a condition asks for packages, be they named or not.
fn asks_what_may_come_along(page: &Page) -> bool {
    let Kind::Practice(condition) = &page.kind else { return false };
    condition.facts().iter().any(|fact| fact.starts_with("package.") || fact == "image.packages")
}

/// What the page's own rule says of an example, and the rules that the example names.
fn said(page: &Page, example: &Example, report: &model::Subject, undecided: &[String]) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    let named = |rule: &str| rule == page.name || example.expect.iter().any(|expected| expected.rule == rule);
    for finding in report.findings.iter().filter(|finding| named(&finding.rule)) {
        // Against the built-in fleet no finding is an error; the example speaks of the rule.
        let own = example.fleet.is_none() && finding.rule == page.name;
        let level = if own { page.severity.word() } else { finding.severity.word() };
        said.insert(format!("{level}: {}", finding.rule));
    }
    let open = |verdict: &model::Verdict| {
        verdict.component.is_none() && matches!(verdict.fate, VerdictKind::Depends | VerdictKind::Undetermined)
    };
    let spoken = report.findings.iter().any(|finding| finding.rule == page.name);
    let undetermined = match page.kind {
        Kind::Startup(_) => report.verdicts.iter().any(open),
        Kind::Practice(_) => !spoken && undecided.contains(&page.name),
        Kind::Reader(_) => false,
    };
    if undetermined {
        said.insert(format!("undetermined: {}", page.name));
    }
    said
}

/// The verdicts on one line, for whoever has to find out.
fn fates(report: &model::Subject) -> String {
    let of_image = report.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let words = of_image.map(|verdict| {
        let missing: Vec<&str> = verdict.missing.iter().map(|missing| missing.key.as_str()).collect();
        let lacks = if missing.is_empty() { String::new() } else { format!(" (unknown: {})", missing.join(", ")) };
        let outcome = verdict.outcome.as_deref().map_or_else(String::new, |outcome| format!(" {outcome}"));
        format!("{} {}{outcome}{lacks}", verdict.pool, verdict.fate)
    });
    words.collect::<Vec<_>>().join("; ")
}
