//! The texts that people read are short and plain: README, docs, rule pages, help and messages.
//!
//! `cargo test --test writing` reports every place that is over a limit, with file and line.

#[path = "writing/literals.rs"]
mod literals;
#[path = "writing/prose.rs"]
mod prose;

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use imagelint::rules::RuleBook;

use crate::prose::Measure;

/// Words in a sentence: on average, and at most.
const MEAN: f64 = 16.0;
const LONGEST: usize = 28;
/// Words in a paragraph.
const PARAGRAPH: usize = 70;
/// Words of the project's own jargon in 1,000.
const JARGON: f64 = 2.0;
/// Lines of the README.
const README: usize = 250;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Paths below a folder that end so, relative to the repository, in order.
fn files(folder: &str, end: &str) -> Vec<String> {
    let (mut folders, mut found) = (vec![root().join(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path.strip_prefix(root()).expect("inside").to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn markdown(paths: &[String]) -> Measure {
    let mut measure = Measure::default();
    for path in paths {
        for (line, paragraph) in prose::paragraphs(&text(path)) {
            measure.add(&format!("{path}:{line}"), &paragraph);
        }
    }
    measure
}

#[test]
fn the_readme_is_short_and_plain() {
    let lines = text("README.md").lines().count();
    assert!(lines <= README, "README.md has {lines} lines, more than {README}");
    markdown(&["README.md".to_owned()]).check("README.md");
}

#[test]
fn the_docs_are_plain() {
    markdown(&files("docs/src", ".md")).check("docs");
}

#[test]
fn the_files_for_contributors_are_plain() {
    let mut paths = files("examples", "README.md");
    paths.extend(["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "rules/README.md"].map(str::to_owned));
    markdown(&paths).check("files for contributors");
}

#[test]
fn the_rule_pages_are_plain() {
    let mut measure = Measure::default();
    for page in RuleBook::built_in().pages() {
        let above = page.text.split("\n## Examples").next().unwrap_or(&page.text);
        for (line, paragraph) in prose::paragraphs(above) {
            measure.add(&format!("{}:{line}", page.path), &paragraph);
        }
    }
    measure.check("rule pages");
}

#[test]
#[ignore = "the help texts are being rewritten"]
fn the_help_is_plain() {
    let mut measure = Measure::default();
    help(&mut measure, &[]);
    measure.check("help");
}

/// Adds the help of a command and of those below it.
fn help(measure: &mut Measure, words: &[String]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_imagelint"));
    let output = command.args(words).arg("--help").output().expect("runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let name = [&["imagelint".to_owned()], words].concat().join(" ");
    for (line, paragraph) in prose::help(&text) {
        measure.add(&format!("{name} --help:{line}"), &paragraph);
    }
    for below in prose::commands(&text) {
        help(measure, &[words, &[below]].concat());
    }
}

#[test]
#[ignore = "the messages are being rewritten"]
fn the_messages_are_plain() {
    let mut measure = Measure::default();
    for page in RuleBook::built_in().pages() {
        let helps = page.help_for.iter().map(|(_, help)| help.text());
        for message in [page.message.text(), page.help.text()].into_iter().chain(helps) {
            measure.add(&page.path, &prose::filled(&message));
        }
    }
    for path in files("src", ".rs") {
        if path.ends_with("tests.rs") || path.contains("/build/") {
            continue;
        }
        for (line, literal) in literals::messages(&text(&path)) {
            measure.add(&format!("{path}:{line}"), &prose::filled(&literal));
        }
    }
    measure.check("messages");
}

#[test]
fn the_limits_find_what_is_over_them() {
    let long = "word ".repeat(LONGEST + 1);
    for (text, found) in [
        ("A short sentence. Another short one.", ""),
        ("The table told us what the pool holds.", "told"),
        (long.as_str(), "words in a sentence"),
    ] {
        let mut measure = Measure::default();
        measure.add("here:1", text);
        let places = measure.places().join("\n");
        assert_eq!(places.is_empty(), found.is_empty(), "{text}: {places}");
        assert!(places.contains(found), "{text}: {places}");
    }
    let mut measure = Measure::default();
    measure.add("here:2", &"It works so. ".repeat(PARAGRAPH / 3 + 1));
    assert!(measure.places().join("\n").contains("words in a paragraph"));
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md").exists());
}
