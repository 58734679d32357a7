//! The classes of differences between two records.

#[path = "../record/compare.rs"]
mod compare;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use compare::{Record, differences};
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

/// A record of one case with one verdict on pool `a`.
fn record(verdict: &Value, findings: &Value, facts: &Value) -> Record {
    let mut verdict = verdict.clone();
    verdict["pools"] = json!(["a"]);
    let subject = json!({"verdicts": [verdict], "findings": findings, "facts": facts});
    Record::of(vec![("case".to_owned(), json!({"exit": 0, "subjects": [subject]}))]).expect("one case")
}

fn fate(fate: &str) -> Value {
    json!({"fate": fate, "message": format!("it {fate}")})
}

#[test]
fn each_change_of_a_verdict_has_its_class() {
    let none = json!([]);
    for (old, new, class) in [
        (fate("fails"), fate("starts"), "fails → starts (name the source)"),
        (fate("undetermined"), fate("starts"), "unknown → starts (name the source)"),
        (fate("depends"), fate("fails"), "unknown → fails (name the source)"),
        (fate("undetermined"), fate("not-applicable"), "unknown → not applicable (name the source)"),
        (fate("starts"), fate("fails"), "starts → fails"),
        (fate("starts"), fate("depends"), "known → unknown"),
        (fate("not-applicable"), fate("undetermined"), "known → unknown"),
        (fate("not-applicable"), fate("starts"), "other: verdict"),
        (fate("depends"), fate("undetermined"), "other: verdict"),
        (json!({"fate": "fails", "certain": 35}), json!({"fate": "fails", "certain": 209}), "other: verdict"),
        (json!({"fate": "starts"}), json!({"fate": "starts", "not_seen": ["x"]}), "other: verdict"),
        (json!({"fate": "starts", "message": "a"}), json!({"fate": "starts", "message": "b"}), "text only"),
    ] {
        let text = differences(&record(&old, &none, &none), &record(&new, &none, &none));
        let first = text.lines().next().unwrap_or_default();
        assert_eq!(first, format!("     1  {class}"), "{old} {new}: {text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }
}

#[test]
fn without_a_change_of_the_verdict_the_rest_has_classes_too() {
    let finding = json!({"rule": "r", "severity": "error", "pools": ["a"], "message": "x"});
    let with = |key: &str, value: Value| {
        let mut changed = finding.clone();
        changed[key] = value;
        changed
    };
    let of = |findings: Value, facts: Value| record(&fate("starts"), &findings, &facts);
    let known = json!({"torch.version": ["2.4.0 < Dockerfile:1:1-2"]});
    let old = of(json!([finding]), known.clone());
    for (new, class) in [
        (of(json!([]), known.clone()), "other: findings"),
        (of(json!([with("severity", json!("warning"))]), known.clone()), "other: findings"),
        (of(json!([with("fixes", json!([{"title": "t"}]))]), known.clone()), "other: fixes"),
        (of(json!([finding]), json!({"torch.version": ["2.4.1 < Dockerfile:1:1-2"]})), "other: facts"),
        (of(json!([with("message", json!("y"))]), known.clone()), "text only"),
        (of(json!([with("at", json!(["Dockerfile:1:1-2 x"]))]), known.clone()), "text only"),
    ] {
        let text = differences(&old, &new);
        assert!(text.starts_with(&format!("     1  {class}\n")), "{class}: {text}");
    }
    assert_eq!(differences(&old, &of(json!([finding]), known)), "");
}

#[test]
fn the_record_has_no_placeholder() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/cases.jsonl.gz");
    let mut text = String::new();
    MultiGzDecoder::new(File::open(path).expect("the record")).read_to_string(&mut text).expect("text");
    assert!(Record::read(&text).expect("a record").len() > 1_700);
    assert!(!text.contains("{pools}"), "a message keeps its placeholder");
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let text = "[\"a\",{\"exit\":0}]\n[\"b\",{\"exit\":1}]\n";
    let record = Record::read(text).expect("a record");
    assert_eq!((record.len(), record.text().as_str()), (2, text));
    let one = Record::read("[\"a\",{\"exit\":0}]\n").expect("a record");
    assert!(differences(&record, &one).starts_with("     1  only in the old record\n        b\n"));
    assert!(differences(&one, &record).starts_with("     1  only in the new record\n        b\n"));
    for broken in ["x\n", "[\"a\"]\n", "[\"a\",1]\n[\"a\",2]\n"] {
        assert!(Record::read(broken).is_err(), "{broken}");
    }
}
