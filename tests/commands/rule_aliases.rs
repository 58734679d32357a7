//! A rule that has another name now: the former one works in comments, settings, baselines, and on the command line.

use std::fs;

use imagelint::report::fingerprint::FingerprintGenerator;
use imagelint::report::model::Finding;
use imagelint::rules::RuleBook;
use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

const NOW: &str = "torch-cuda-mismatch";
const FORMERLY: &str = "wheel-of-another-cuda";
const MISMATCH: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n%RUN apt-get install -y python3-pip && pip install torch==2.1.0+cu118\n";

/// A repository with the finding; `comment` is above its line.
fn repository(comment: &str) -> TestRepository {
    let place = TestRepository::new();
    place.file("Dockerfile", &MISMATCH.replace('%', comment));
    place
}

/// The rules of all findings.
fn rules(place: &TestRepository) -> Vec<String> {
    let report = place.json(&["check", "."]);
    let subjects = report["subjects"].as_array().expect("subjects").iter();
    let all = subjects.flat_map(|subject| subject["findings"].as_array().expect("findings"));
    all.map(|one| one["rule"].as_str().expect("a rule").to_owned()).collect()
}

/// Whether the finding is left out, and nothing is reported of what leaves it out.
fn left_out(place: &TestRepository) {
    let found = rules(place);
    for rule in [NOW, FORMERLY, "invalid-directive", "unused-ignore"] {
        assert!(!found.iter().any(|one| one == rule), "{rule}: {found:?}");
    }
}

#[test]
fn the_finding_has_the_new_name() {
    let found = rules(&repository(""));
    assert!(found.iter().any(|one| one == NOW) && !found.iter().any(|one| one == FORMERLY), "{found:?}");
}

#[test]
fn comments_take_either_name_and_no_other() {
    for name in [NOW, FORMERLY] {
        left_out(&repository(&format!("# imagelint: ignore[{name}] known\n")));
    }
    let found = rules(&repository("# imagelint: ignore[wheel-of-another-cude] known\n"));
    assert!(found.iter().any(|one| one == NOW) && found.iter().any(|one| one == "invalid-directive"), "{found:?}");
}

#[test]
fn settings_take_either_name() {
    for name in [NOW, FORMERLY] {
        for text in
            [format!("[rules]\n{name} = \"off\"\n"), format!("[[ignore]]\nrule = \"{name}\"\nreason = \"known\"\n")]
        {
            let place = repository("");
            place.file("imagelint.toml", &text);
            left_out(&place);
        }
    }
    let place = repository("");
    place.file("imagelint.toml", "[rules]\nwheel-of-another-cude = \"off\"\n");
    assert_eq!(code(&place.run(&["check", "."])), 2);
}

#[test]
fn baseline_with_the_former_rule_name_matches_the_finding() {
    let place = repository("");
    let done = place.run(&["check", ".", "--write-baseline", "known.json"]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    let text = fs::read_to_string(place.path("known.json")).expect("a baseline");
    assert!(text.contains(NOW), "{text}");
    place.file("known.json", &text.replace(NOW, FORMERLY));
    let done = place.run(&["check", ".", "--baseline", "known.json"]);
    assert!(!out(&done).contains(NOW) && !err(&done).contains("gone"), "{}{}", out(&done), err(&done));
}

#[test]
fn a_renamed_rule_keeps_its_fingerprints() {
    let place = repository("");
    let report: imagelint::report::model::Report =
        serde_json::from_value(place.json(&["check", "."])).expect("a report");
    let subject = &report.subjects[0];
    let now = subject.findings.iter().find(|one| one.rule == NOW).expect("the finding");
    let formerly = Finding { rule: FORMERLY.to_owned(), ..now.clone() };
    let hashes = |mut made: FingerprintGenerator, finding: &Finding| -> Vec<String> {
        let prints = made.finding_fingerprints(finding, subject, &|_: &str| None, &str::to_owned);
        prints.into_iter().map(|one| one.hash).collect()
    };
    let before = hashes(FingerprintGenerator::default(), &formerly);
    assert_eq!(hashes(FingerprintGenerator::for_rules(RuleBook::built_in()), now), before);
    assert_ne!(hashes(FingerprintGenerator::default(), now), before, "the name counts");
}

#[test]
fn the_command_line_takes_either_name() {
    let place = repository("");
    for arguments in [["rules", "show"].as_slice(), &["explain"]] {
        let told: Vec<String> = [NOW, FORMERLY]
            .iter()
            .map(|name| {
                let done = place.run(&[arguments, &[name]].concat());
                assert_eq!(code(&done), 0, "{arguments:?} {name}: {}", err(&done));
                out(&done)
            })
            .collect();
        assert!(told[0] == told[1] && told[0].contains(NOW), "{arguments:?}");
    }
}

#[test]
fn no_former_name_is_the_name_of_another_rule() {
    let names: Vec<&str> = RuleBook::built_in().pages().flat_map(imagelint::rules::RulePage::names).collect();
    let different: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(names.len(), different.len());
    assert!(names.contains(&FORMERLY));
}

#[test]
fn examples_of_own_pages_take_either_name() {
    let place = repository("");
    let page = "# our-rule\n\n```toml rule\nseverity = \"note\"\nsince = \"0.1.0\"\nwhen = 'image.base.tag == \"x\"'\n\
                blame = \"image.base\"\nmessage = \"x\"\nhelp = \"y\"\n```\n\n## What goes wrong\n\nX.\n\n## What to do\n\nY.\n\n\
                ## Examples\n\n### Ours\n\n```dockerfile\n# note: our-rule\nFROM ubuntu:x\nRUN apt-get install -y python3-pip && pip install torch==2.1.0+cu118\n```\n\n\
                ### Another\n\n```dockerfile\n# warning: wheel-of-another-cuda\nFROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.1.0+cu118\n```\n\n\
                ### Silent\n\n```dockerfile\nFROM ubuntu:y\n```\n";
    place.file("rules/our-rule.md", page);
    let done = place.run(&["rules", "test", "rules"]);
    assert!(out(&done).contains("our-rule") && !out(&done).contains("missing "), "{}{}", out(&done), err(&done));
}
