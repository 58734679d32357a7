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
        (fate("not-applicable"), fate("starts"), "other → starts (name the source)"),
        (fate("not-applicable"), fate("fails"), "other: verdict"),
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

/// The class of each difference, with its number.
fn classes(old: &Record, new: &Record) -> String {
    let text = differences(old, new);
    let lines: Vec<&str> = text.lines().step_by(4).map(str::trim).collect();
    lines.join(", ")
}

#[test]
fn each_change_of_the_verdict_of_a_component_has_its_class() {
    let of = |component: &Value| {
        let mut component = component.clone();
        component["pools"] = json!(["a"]);
        let image = json!({"fate": "fails", "pools": ["a"]});
        let subject = json!({"stage": "b", "verdicts": [image], "components": {"torch": [component]}});
        Record::of(vec![("case".to_owned(), json!({"exit": 0, "subjects": [subject]}))]).expect("one case")
    };
    for (old, new, class) in [
        (fate("fails"), fate("starts"), "fails → starts (name the source)"),
        (fate("undetermined"), fate("starts"), "unknown → starts (name the source)"),
        (fate("not-applicable"), fate("starts"), "other → starts (name the source)"),
        (fate("undetermined"), fate("fails"), "unknown → fails (name the source)"),
        (fate("starts"), fate("undetermined"), "known → unknown"),
        (json!({"fate": "fails", "certain": 35}), json!({"fate": "fails", "certain": 209}), "other: verdict"),
        (json!({"fate": "starts", "message": "a"}), json!({"fate": "starts", "message": "b"}), "text only"),
    ] {
        let text = differences(&of(&old), &of(&new));
        assert_eq!(text.lines().next(), Some(format!("     1  {class}").as_str()), "{old} {new}: {text}");
        assert_eq!(text.lines().count(), 4, "{old} {new}: {text}");
        assert_eq!(text.contains("        case on b a, component torch\n"), class != "text only", "{text}");
    }
    // The image and a component change.
    let both = |one: &str| {
        let verdict = json!({"fate": one, "pools": ["a"]});
        let subject = json!({"verdicts": [verdict], "components": {"torch": [verdict]}});
        Record::of(vec![("case".to_owned(), json!({"exit": 0, "subjects": [subject]}))]).expect("one case")
    };
    assert_eq!(classes(&both("depends"), &both("starts")), "2  unknown → starts (name the source)");
    // One of them comes or goes.
    let image = |one: &str| record(&fate(one), &json!([]), &json!([]));
    assert_eq!(classes(&image("starts"), &both("starts")), "1  other → starts (name the source)");
    assert_eq!(classes(&image("depends"), &both("depends")), "1  verdict only in the new record");
    assert_eq!(classes(&both("starts"), &image("starts")), "1  verdict only in the old record");
}

#[test]
fn a_pool_in_only_one_record_has_its_class() {
    let of = |pools: &[(&str, &str)]| {
        let verdicts: Vec<Value> = pools.iter().map(|(pool, fate)| json!({"fate": fate, "pools": [pool]})).collect();
        let subject = json!({"verdicts": verdicts});
        Record::of(vec![("case".to_owned(), json!({"exit": 0, "subjects": [subject]}))]).expect("one case")
    };
    let one = of(&[("a", "fails")]);
    for (added, class) in [
        ("starts", "other → starts (name the source)"),
        ("fails", "verdict only in the new record"),
        ("undetermined", "verdict only in the new record"),
    ] {
        let two = of(&[("a", "fails"), ("b", added)]);
        let text = differences(&one, &two);
        let words = format!("     1  {class}\n        case on b\n        - no verdict\n        + {added}: \n");
        assert_eq!(text, words);
        assert_eq!(classes(&two, &one), "1  verdict only in the old record", "{added}");
    }
    // A pool with another name is one that goes and one that comes.
    let renamed = "1  verdict only in the old record, 1  verdict only in the new record";
    assert_eq!(classes(&one, &of(&[("b", "fails")])), renamed);
}

#[test]
fn other_changes_have_a_class_without_a_change_of_the_verdict() {
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
fn facts_that_become_known_or_unknown_have_their_own_class() {
    let known = "2.4.0 < Dockerfile:1:1-2";
    let other = "2.4.1 < Dockerfile:1:1-2";
    let unknown = "(unknown) the index is unknown; scan the image < Dockerfile:1:1-2";
    let another = "(unknown) the version is unknown; scan the image < Dockerfile:1:1-2";
    let absent = "(absent) searched: every file < ";
    let (became_known, became_unknown) = ("unknown → known fact (name the source)", "known → unknown fact");
    let of = |facts: &Value| record(&fate("starts"), &json!([]), facts);
    for (old, new, class) in [
        (json!({"torch.cuda": [unknown]}), json!({"torch.cuda": [known]}), became_known),
        (json!({"torch.cuda": [unknown]}), json!({"torch.cuda": [absent]}), became_known),
        (json!({"torch.cuda": [known]}), json!({"torch.cuda": [unknown]}), became_unknown),
        (json!({"torch.cuda": [absent]}), json!({"torch.cuda": [unknown]}), became_unknown),
        // Each entry of a key, or the last one, if their number changed.
        (json!({"torch.cuda": [unknown, known]}), json!({"torch.cuda": [other, known]}), became_known),
        (json!({"torch.cuda": [known, unknown]}), json!({"torch.cuda": [known]}), became_known),
        (json!({"torch.cuda": [unknown, known]}), json!({"torch.cuda": [known]}), "other: facts"),
        (json!({"torch.cuda": [known]}), json!({"torch.cuda": [absent]}), "other: facts"),
        (json!({"torch.cuda": [known]}), json!({"torch.cuda": [other]}), "other: facts"),
        (json!({"torch.cuda": [unknown]}), json!({"torch.cuda": [another]}), "other: facts"),
        (json!({"torch.cuda": [unknown]}), json!({}), "other: facts"),
        (json!({}), json!({"torch.cuda": [unknown]}), "other: facts"),
    ] {
        let text = differences(&of(&old), &of(&new));
        assert_eq!(text.lines().next(), Some(format!("     1  {class}").as_str()), "{old} {new}: {text}");
        assert_eq!(text.lines().count(), 4, "{old} {new}: {text}");
    }
}

#[test]
fn a_case_with_several_differences_lists_the_worst_class_first() {
    let facts = |version: &str, cuda: &str| json!({"torch.cuda": [cuda], "torch.version": [version], "x": [version]});
    let finding = json!([{"rule": "r", "severity": "error", "pools": ["a"], "message": "x"}]);
    let (known, unknown) = ("2.4.0 < Dockerfile:1:1-2", "(unknown) the index is unknown; scan the image < ");
    // Two facts become unknown, and one becomes known.
    let (old, new) = (facts(known, unknown), facts(unknown, known));
    let none = json!([]);
    let both = "1  unknown → known fact (name the source), 1  known → unknown fact";
    assert_eq!(classes(&record(&fate("starts"), &none, &old), &record(&fate("starts"), &none, &new)), both);
    // A finding that came with them is not another difference, and a verdict is.
    assert_eq!(classes(&record(&fate("starts"), &none, &old), &record(&fate("starts"), &finding, &new)), both);
    let old = record(&fate("starts"), &none, &old);
    let new = record(&fate("depends"), &none, &new);
    assert_eq!(classes(&old, &new), format!("1  known → unknown, {both}"));
}

#[test]
fn no_message_in_the_record_has_a_placeholder() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/cases.jsonl.gz");
    let mut text = String::new();
    MultiGzDecoder::new(File::open(path).expect("the record")).read_to_string(&mut text).expect("text");
    assert!(Record::read(&text).expect("a record").len() > 1_700);
    assert!(!text.contains("{pools}"), "a message keeps its placeholder");
}

#[test]
fn record_round_trips_through_text() {
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
