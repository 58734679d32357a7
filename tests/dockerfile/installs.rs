//! Fixtures of a Dockerfile and its build context, each with its expected findings, and the limits of the readers.
//!
//! `expected` has a line `rule path:line` for each finding and `note TEXT` for each note. An empty file expects neither. A
//! line `args …` contains arguments of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

use crate::support::program::imagelint_program;
use crate::support::test_repository::TestRepository;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/installs");
    let mut found: Vec<PathBuf> =
        fs::read_dir(root).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    found.sort();
    found
}

fn findings_and_notes(folder: &Path, args: &[&str]) -> BTreeSet<String> {
    let output = Command::new(imagelint_program())
        .current_dir(folder)
        .args(["check", "--format", "json", "--fail-on", "never"])
        .args(args)
        .arg("Dockerfile")
        .output()
        .expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", folder.display(), String::from_utf8_lossy(&output.stderr)));
    let mut said = BTreeSet::new();
    for subject in report["subjects"].as_array().expect("subjects") {
        for finding in subject["findings"].as_array().expect("findings") {
            let repository = &finding["locations"][0];
            let (path, line) = (&repository["path"], &repository["region"]["start_line"]);
            said.insert(format!("{} {}:{line}", text(&finding["rule"]), text(path)));
        }
        for note in subject["inspected"]["notes"].as_array().expect("notes") {
            said.insert(format!("note {}", text(note)));
        }
    }
    said
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

#[test]
fn each_fixture_has_exactly_its_expected_findings() {
    let mut wrong = Vec::new();
    let (mut without_findings, mut with_findings) = (0, 0);
    for folder in folders() {
        let expected = fs::read_to_string(folder.join("expected")).expect("expected");
        let args: Vec<&str> =
            expected.lines().filter_map(|line| line.strip_prefix("args ")).flat_map(str::split_whitespace).collect();
        let expected: BTreeSet<String> =
            expected.lines().filter(|line| !line.starts_with("args ") && !line.is_empty()).map(str::to_owned).collect();
        if expected.iter().any(|line| !line.starts_with("note ")) {
            with_findings += 1;
        } else {
            without_findings += 1;
        }
        let said = findings_and_notes(&folder, &args);
        if said != expected {
            let name = folder.file_name().expect("name").to_string_lossy().into_owned();
            wrong.push(format!("{name}\n  expected {expected:#?}\n  said {said:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(with_findings >= 2 && without_findings >= 2, "{with_findings} with findings, {without_findings} without");
}

/// The notes on a Dockerfile with these files and this RUN line, and the versions of the packages that it installs.
fn notes_and_versions(files: &[(&str, &str)], run: &str) -> (Vec<String>, Vec<Value>) {
    let repository = TestRepository::empty();
    for (path, text) in files {
        repository.file(path, text);
    }
    repository.file("Dockerfile", &format!("FROM python:3.12\nWORKDIR /app\nCOPY . .\nRUN {run}\n"));
    let report = repository.json(&["check", "Dockerfile", "--fail-on", "never"]);
    let subject = &report["subjects"][0];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let notes = list(&subject["inspected"]["notes"]).iter().map(|note| text(note).to_owned()).collect();
    let packages = list(&subject["observed"]["platforms"][0]["seen"]["packages"]);
    (notes, packages.into_iter().map(|package| package["version"].clone()).collect())
}

#[test]
fn endless_makefile_references_are_not_followed() {
    let long = format!("X = {}\nY = {}\nall:\n\tpip install $(X) $(Y)\n", "$(".repeat(20_000), "$(Y)".repeat(20));
    let chain = |at: usize| format!("V{at} = {}\n", format!("$(V{})", at + 1).repeat(60));
    let wide: String = (0..8).map(chain).collect();
    let wide = format!("{wide}V8 =\nall:\n\tpip install torch==$(V0)2.1.0\n");
    for text in [long, wide] {
        let begun = std::time::Instant::now();
        let (notes, versions) = notes_and_versions(&[("Makefile", &text)], "make");
        let unknown = !versions.is_empty() && versions.iter().all(|version| version.get("unresolved").is_some());
        assert!(
            unknown || notes.iter().any(|note| note.contains("installs unknown packages")),
            "{versions:?} {notes:?}"
        );
        assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
    }
}

#[test]
fn unbounded_expansion_is_refused() {
    let long = format!("{}\n", "a".repeat(200_000));
    let grow = (0..40).map(|_| "s/a/aa/g;").collect::<String>();
    let pipe = "cat r.txt ".to_owned() + &"| sort ".repeat(3_000);
    let deep = "$(echo ".repeat(500) + "x" + &")".repeat(500);
    for run in [
        "sed -i 's/a*a*a*a*b/c/g' r.txt && pip install -r r.txt".to_owned(),
        "grep -v 'a*a*a*a*a*b' r.txt | xargs pip install".to_owned(),
        format!("sed -i '{grow}' r.txt; pip install -r r.txt"),
        format!("{pipe} | xargs pip install"),
        format!("pip install {deep}"),
        format!("pip install -r {}", deep.replace('$', "<")),
    ] {
        let (notes, versions) = notes_and_versions(&[("r.txt", &long)], &run);
        assert!(versions.is_empty() && !notes.is_empty(), "{run:.60}: {versions:?} {notes:?}");
    }
}
