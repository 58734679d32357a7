//! `--write-baseline` and `--baseline`: known findings are omitted, new ones are reported, and fixed ones are counted.

use std::fs;

use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

const FAILS: &str =
    "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch\n";

/// A repository with a failure, and a baseline that knows it.
fn known() -> TestRepository {
    let repository = TestRepository::new();
    repository.file("Dockerfile", FAILS);
    assert_eq!(code(&repository.run(&["check", "."])), 1);
    let done = repository.run(&["check", ".", "--write-baseline", "known.json"]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert!(out(&done).contains("known.json: ") && out(&done).lines().count() == 1, "{}", out(&done));
    repository
}

const CHECK: &[&str] = &["check", ".", "--baseline", "known.json"];

#[test]
fn known_findings_are_counted_and_hidden() {
    let repository = known();
    let done = repository.run(CHECK);
    assert_eq!(code(&done), 0, "{}", out(&done));
    assert!(err(&done).contains("of the baseline known.json") && err(&done).contains(" hidden"), "{}", err(&done));
    assert!(out(&done).contains("✗ ") && !out(&done).contains("error["), "the verdict stays: {}", out(&done));
    assert!(!err(&done).contains("fixed"), "{}", err(&done));
}

#[test]
fn a_baseline_contains_new_and_known_findings() {
    let repository = known();
    // A pool like the first one: one finding is of both.
    let alike = test_repository::FLEET.split("\n\n").next().expect("the first pool").replace("\"old\"", "\"older\"");
    repository.file("fleet.toml", &format!("{}\n{alike}\n", test_repository::FLEET));
    let report = out(&repository.run(&["check", ".", "--format", "json"]));
    let report: serde_json::Value = serde_json::from_str(&report).expect("a report");
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    let told: usize = subjects.map(|subject| subject["findings"].as_array().expect("findings").len()).sum();
    let written = out(&repository.run(&["check", ".", "--write-baseline", "known.json"]));
    let many = if told == 1 { "finding" } else { "findings" };
    assert!(told > 0 && written.contains(&format!("known.json: {told} {many} saved")), "{told}: {written}");
    let known = err(&repository.run(CHECK));
    assert!(known.contains(&format!("{told} {many} of the baseline known.json")), "{told}: {known}");
    let entries = fs::read_to_string(repository.path("known.json")).expect("a file").matches("\"fingerprint\"").count();
    assert!(entries > told, "a finding on two pools has two entries: {entries}");
}

#[test]
fn moved_lines_and_other_directories_keep_findings_known() {
    let repository = known();
    repository.file(
        "Dockerfile",
        &format!("# moved\n\n{}", FAILS.replace("pip install torch", "pip   install \\\n    torch")),
    );
    assert_eq!(code(&repository.run(CHECK)), 0, "{}", out(&repository.run(CHECK)));
    repository.file("below/x", "");
    let mut command = repository.command(&["check", "..", "--baseline", "../known.json"]);
    let done = command.current_dir(repository.path("below")).output().expect("a run");
    assert_eq!(code(&done), 0, "{}", out(&done));
}

#[test]
fn new_findings_are_reported() {
    let repository = known();
    repository.file("other/Dockerfile", FAILS);
    let done = repository.run(CHECK);
    assert_eq!(code(&done), 1);
    assert!(out(&done).contains("--> other/Dockerfile:"), "{}", out(&done));
    assert!(!out(&done).contains("--> Dockerfile:"), "{}", out(&done));
    fs::remove_dir_all(repository.path("other")).expect("the folder");
    // Another pool that it fails on is new too.
    let fleet =
        test_repository::FLEET.replace("name = \"new\"", "name = \"older\"").replace("570.211.01", "470.182.03");
    repository.file(
        "fleet.toml",
        &format!("{}{}", test_repository::FLEET, fleet.split("\n\n").nth(1).expect("the second pool")),
    );
    let done = repository.run(CHECK);
    assert_eq!(code(&done), 1, "{}", out(&done));
    assert!(out(&done).contains("older"), "{}", out(&done));
}

#[test]
fn fixed_findings_are_reported_only_for_checked_files() {
    let repository = known();
    repository.file("other/Dockerfile", "FROM busybox\n");
    let elsewhere = repository.run(&["check", "other", "--baseline", "known.json"]);
    assert!(!err(&elsewhere).contains("fixed"), "{}", err(&elsewhere));
    repository.file("Dockerfile", "FROM busybox\n");
    let done = repository.run(CHECK);
    assert_eq!(code(&done), 0);
    assert!(err(&done).contains("fixed: update it with --write-baseline known.json"), "{}", err(&done));
    fs::remove_file(repository.path("Dockerfile")).expect("the Dockerfile");
    assert!(err(&repository.run(CHECK)).contains("fixed"), "a file that is no more");
}

#[test]
fn unchecked_pool_has_no_fixed_findings() {
    let repository = known();
    let entry = r#"{"path":"Dockerfile","rule":"refused","pool":"old","fingerprint":"00"}"#;
    repository.file("known.json", &format!("{{\"version\": 1, \"findings\": [{entry}]}}"));
    let told = |arguments: &[&str]| err(&repository.run(&[CHECK, arguments].concat()));
    assert!(!told(&["--pool", "new"]).contains("fixed"));
    assert!(told(&["--pool", "old"]).contains("1 finding of the baseline known.json is fixed"));
    assert!(told(&[]).contains("1 finding of the baseline known.json is fixed"));
}

#[test]
fn the_file_is_the_same_each_time_and_small_changes_are_small() {
    let repository = known();
    let first = fs::read_to_string(repository.path("known.json")).expect("the baseline");
    repository.run(&["check", ".", "--write-baseline", "known.json", "--jobs", "1"]);
    assert_eq!(fs::read_to_string(repository.path("known.json")).expect("the baseline"), first);
    assert!(!first.contains("pip install"), "no line of a Dockerfile is copied: {first}");
    repository.file("other/Dockerfile", FAILS);
    repository.run(&["check", ".", "--write-baseline", "known.json"]);
    let second = fs::read_to_string(repository.path("known.json")).expect("the baseline");
    let lost: Vec<&str> = first.lines().filter(|line| !second.contains(line.trim_end_matches(','))).collect();
    assert!(lost.is_empty() && second.len() > first.len(), "{lost:?}");
}

#[test]
fn invalid_baseline_is_refused() {
    let repository = known();
    for text in ["", "[]", "{\"version\": 9, \"findings\": []}", "{\"version\": 1, \"findings\": [{\"rule\": 1}]}"] {
        repository.file("known.json", text);
        let done = repository.run(CHECK);
        assert_eq!(code(&done), 2, "{text}");
        assert!(err(&done).contains("known.json"), "{text}: {}", err(&done));
    }
    let done = repository.run(&["check", ".", "--baseline", "none.json"]);
    assert_eq!(code(&done), 2);
}

#[test]
fn baseline_applies_to_all_formats_and_from_settings() {
    let repository = known();
    repository.file("imagelint.toml", "baseline = 'known.json'\n");
    for format in ["json", "ndjson", "human"] {
        let done = repository.run(&["check", ".", "--format", format]);
        assert_eq!(code(&done), 0, "{format}: {}", out(&done));
        assert!(!out(&done).contains("\"severity\": \"error\""), "{format}: {}", out(&done));
    }
    assert_eq!(code(&repository.run(&["check", ".", "--no-config"])), 1);
    assert_eq!(code(&repository.run(&["check", ".", "--fail-on", "note"])), 0, "known findings of any severity");
}
