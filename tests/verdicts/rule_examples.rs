//! The examples of every built-in page, judged: what each page promises of itself is what the program does.

use imagelint::judge::ReportDetail;
use imagelint::judge::examples::{ExpectedVerdict, check_page, judge_example};
use imagelint::knowledge::Knowledge;
use imagelint::report::model;
use imagelint::report::model::Observed;
use imagelint::rules::RuleBook;

use crate::support::program::imagelint_program;

#[test]
fn examples_of_every_rule_page_have_the_expected_findings() {
    let (mut validated, mut wrong) = (0, Vec::new());
    let book = RuleBook::built_in().clone().with_preview();
    for page in book.pages() {
        for example in check_page(page, &book, Knowledge::built_in()) {
            match example.verdict {
                ExpectedVerdict::Validated => validated += 1,
                _ => wrong.push(format!("{}: {example:?}", page.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{validated} examples validated, not so:\n{}", wrong.join("\n"));
}

#[test]
fn a_short_report_has_the_same_verdicts_as_a_full_one() {
    let text = |subject: &model::Subject| serde_json::to_string(subject).expect("JSON");
    let (book, knowledge) = (RuleBook::built_in(), Knowledge::built_in());
    for page in book.pages() {
        for example in &page.examples {
            let (whole, open) = judge_example(example, book, knowledge, ReportDetail::Everything).expect("an example");
            let (short, still_open) =
                judge_example(example, book, knowledge, ReportDetail::Verdicts).expect("an example");
            assert!(text(&short).len() < text(&whole).len(), "{} / {}", page.name, example.title);
            let mut left = model::Subject {
                facts: Vec::new(),
                description: serde_json::Value::Null,
                observed: Observed::default(),
                ..whole
            };
            left.verdicts.iter_mut().for_each(|verdict| verdict.scenarios.clear());
            assert_eq!(text(&short), text(&left), "{} / {}", page.name, example.title);
            assert_eq!(open, still_open, "{} / {}", page.name, example.title);
        }
    }
}

#[test]
fn only_the_auditor_persona_lists_unevaluated_rules() {
    use imagelint::rules::Persona;
    let text = "FROM example.com/team/base:1\nRUN pip install torch==2.4.0+cu124\n";
    let place = tempfile::TempDir::new().expect("temporary folder");
    let path = place.path().join("Dockerfile");
    std::fs::write(&path, text).expect("written");
    let findings = |persona: Persona| {
        let mut command = assert_cmd::Command::new(imagelint_program());
        let path = path.to_str().expect("UTF-8");
        let output =
            command.args(["check", "--format", "json", "--persona", persona.name(), path]).output().expect("runs");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        let all = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|one| one["rule"] == "rule-not-evaluated").collect::<Vec<_>>()
    };
    assert!(findings(Persona::Regular).is_empty() && findings(Persona::Pedantic).is_empty());
    let told = findings(Persona::Auditor);
    assert!(!told.is_empty());
    for one in &told {
        let (message, help) = (one["message"].as_str().expect("text"), one["help"].as_str().expect("text"));
        assert!(
            message.starts_with("rule")
                && message.contains(" not checked: ")
                && message.contains("known") | message.contains("seen"),
            "{message}"
        );
        assert!(help.split(' ').count() > 2, "{message}: {help}");
        assert_eq!(one["severity"], "note");
    }
    // The full output lists each missing value once.
    let mut reasons: Vec<&str> =
        told.iter().filter_map(|one| one["message"].as_str()?.split_once(": ")).map(|(_, why)| why).collect();
    let all = reasons.len();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(reasons.len(), all, "{told:#?}");
}
