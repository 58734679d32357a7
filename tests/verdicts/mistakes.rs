//! Mistakes of the kind that people make, each in a Dockerfile of its own, and lookalikes that are none.
//!
//! `expected` has a line for each mistake: its name, and every finding as `rule@line`, the one that matters first. What begins
//! with `silent-` is right as it stands; what begins with `fragile-` is shown to the pedantic. `NAME.fleet.toml` takes the
//! place of the built-in fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use imagelint::rules::RuleBook;
use serde_json::Value;

use crate::support::program::imagelint_program;

type Said = BTreeMap<String, BTreeSet<String>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

/// The files with an ending, by what stands before it.
fn names(ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).expect("the folder");
    let name = |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(ending)?.to_owned());
    entries.filter_map(|entry| name(entry.expect("an entry"))).collect()
}

/// What the program says of each Dockerfile.
fn said(names: &[&String], arguments: &[&str]) -> Said {
    let files = names.iter().map(|name| format!("{name}.Dockerfile"));
    let output = Command::new(imagelint_program())
        .current_dir(folder())
        .args(["check", "--format", "json", "--fail-on", "never"])
        .args(arguments)
        .args(files)
        .output()
        .expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let mut all = Said::new();
    for subject in report["subjects"].as_array().expect("subjects") {
        let name = subject["name"].as_str().and_then(|name| name.strip_suffix(".Dockerfile")).expect("a name");
        let all = all.entry(name.to_owned()).or_default();
        for finding in subject["findings"].as_array().expect("findings") {
            let line = &finding["locations"][0]["region"]["start_line"];
            let line = line.as_u64().map_or_else(|| "-".to_owned(), |line| line.to_string());
            all.insert(format!("{}@{line}", finding["rule"].as_str().expect("a rule")));
        }
    }
    all
}

/// What the program says of all of them.
fn all_said() -> Said {
    let (all, fleets) = (names(".Dockerfile"), names(".fleet.toml"));
    let mut found = said(&all.difference(&fleets).collect::<Vec<_>>(), &[]);
    // These are for the pedantic.
    for name in found.keys().filter(|name| name.starts_with("withdrawn-")).cloned().collect::<Vec<_>>() {
        let mut more = said(&[&name], &["--persona", "pedantic"]);
        for rules in more.values_mut() {
            rules.retain(|rule| rule.starts_with("withdrawn-base-tag@"));
        }
        for (name, rules) in more {
            found.entry(name).or_default().extend(rules);
        }
    }
    let fragile = found.keys().filter(|name| name.starts_with("fragile-")).cloned().collect::<Vec<_>>();
    found.extend(said(&fragile.iter().collect::<Vec<_>>(), &["--persona", "pedantic"]));
    for name in &fleets {
        found.extend(said(&[name], &["--fleet", &format!("{name}.fleet.toml")]));
    }
    found
}

/// An expected finding under the name that its rule has now.
fn now(expected: &str) -> String {
    let (rule, line) = expected.split_once('@').unwrap_or((expected, ""));
    let page = RuleBook::built_in().get(rule);
    format!("{}@{line}", page.map_or(rule, |page| page.name.as_str()))
}

#[test]
fn every_mistake_is_found_at_its_line_and_nothing_in_what_is_right() {
    let text = fs::read_to_string(folder().join("expected")).expect("the table");
    let rows: BTreeMap<&str, Vec<&str>> = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, found)| (name, found.split(' ').collect()))
        .collect();
    let all = names(".Dockerfile");
    let (right, wrong): (Vec<&String>, Vec<&String>) = all.iter().partition(|name| name.starts_with("silent-"));
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), wrong, "each mistake has a row, and each row a mistake");
    assert!(wrong.len() >= 40 && right.len() >= 30, "{} mistakes, {} that are none", wrong.len(), right.len());
    let said = all_said();
    let mut faults = Vec::new();
    for name in &all {
        let expected: BTreeSet<String> = rows.get(name.as_str()).into_iter().flatten().map(|one| now(one)).collect();
        let found = said.get(name).cloned().unwrap_or_default();
        if found != expected {
            faults.push(format!("{name}\n  expected {expected:?}\n  said     {found:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
