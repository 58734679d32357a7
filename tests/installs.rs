//! Folders with a Dockerfile and the files that it reads, and what the built program says of each.
//!
//! `expected` lists one line for every finding, `rule path:line`, and one for every note, `note text`;
//! an empty file expects silence. A line `args …` is handed to the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/installs");
    let mut found: Vec<PathBuf> =
        fs::read_dir(root).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    found.sort();
    found
}

fn said(folder: &Path, args: &[&str]) -> BTreeSet<String> {
    let output = Command::cargo_bin("imagelint")
        .expect("the program")
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
            let place = &finding["locations"][0];
            let (path, line) = (&place["path"], &place["region"]["start_line"]);
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
fn every_mistake_is_found_at_its_line_and_nothing_else() {
    let mut wrong = Vec::new();
    let (mut silent, mut loud) = (0, 0);
    for folder in folders() {
        let expected = fs::read_to_string(folder.join("expected")).expect("expected");
        let args: Vec<&str> =
            expected.lines().filter_map(|line| line.strip_prefix("args ")).flat_map(str::split_whitespace).collect();
        let expected: BTreeSet<String> =
            expected.lines().filter(|line| !line.starts_with("args ") && !line.is_empty()).map(str::to_owned).collect();
        if expected.iter().any(|line| !line.starts_with("note ")) {
            loud += 1;
        } else {
            silent += 1;
        }
        let said = said(&folder, &args);
        if said != expected {
            let name = folder.file_name().expect("name").to_string_lossy().into_owned();
            wrong.push(format!("{name}\n  expected {expected:#?}\n  said {said:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(loud >= 2 && silent >= 2, "{loud} with findings, {silent} without");
}
