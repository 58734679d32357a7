//! The texts that people read are short and plain: README, docs, rule pages, help and messages.
//!
//! `cargo test --test project writing` reports every place that is over a limit, with file and line.

mod literals;
mod other_files;
mod prose;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelint::rules::RuleBook;

use crate::support::program::imagelint_program;
use crate::writing::prose::Measure;

/// Words in a sentence: on average, and at most.
const MEAN: f64 = 16.0;
const LONGEST: usize = 28;
/// Words in a paragraph.
const PARAGRAPH: usize = 70;
/// Words of a label, which does not count as a sentence.
const SHORTEST: usize = 3;
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
        let text = text(path);
        for (line, paragraph) in prose::paragraphs(&text) {
            measure.add(&format!("{path}:{line}"), &paragraph);
        }
        for (line, heading) in other_files::headings(&text) {
            measure.add_words(&format!("{path}:{line}"), &heading);
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
        let below = above.lines().count();
        for (line, text) in prose::paragraphs(&page.text).into_iter().chain(other_files::headings(&page.text)) {
            if line > below {
                measure.add_words(&format!("{}:{line}", page.path), &text);
            }
        }
    }
    measure.check("rule pages");
}

#[test]
fn the_help_is_plain() {
    let mut measure = Measure::default();
    help(&mut measure, &[]);
    measure.check("help");
}

/// Adds the help of a command and of those below it.
fn help(measure: &mut Measure, words: &[String]) {
    let mut command = Command::new(imagelint_program());
    let output = command.args(words).arg("--help").output().expect("runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let name = [&["imagelint".to_owned()], words].concat().join(" ");
    for (line, paragraph) in prose::help(&text) {
        measure.add(&format!("{name} --help:{line}"), &paragraph);
    }
    for (line, value) in prose::values(&text) {
        measure.add(&format!("{name} --help:{line}"), &value);
    }
    for below in prose::commands(&text) {
        help(measure, &[words, &[below]].concat());
    }
}

#[test]
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
        for (line, literal) in literals::texts(&text(&path)) {
            let (place, filled) = (format!("{path}:{line}"), prose::filled(&literal));
            if literals::is_message(&literal) {
                measure.add(&place, &filled);
            } else {
                measure.add_words(&place, &filled);
            }
        }
    }
    measure.check("messages");
}

#[test]
fn the_schemas_are_plain() {
    let mut measure = Measure::default();
    for path in ["examples/report.schema.json", "examples/report-line.schema.json"] {
        let mut found = Vec::new();
        other_files::descriptions(&serde_json::from_str(&text(path)).expect("JSON"), "", &mut found);
        for (place, text) in &found {
            measure.add(&format!("{path}:{place}"), text);
        }
    }
    measure.check("schemas");
}

#[test]
fn the_other_files_are_plain() {
    let mut measure = Measure::default();
    let mut add = |path: &str, found: Vec<(usize, String)>| {
        for (line, text) in found {
            measure.add(&format!("{path}:{line}"), &text);
        }
    };
    for path in ["action.yml", ".pre-commit-hooks.yaml", ".github/workflows/release.yml"] {
        add(path, other_files::yaml(&text(path)));
    }
    for path in [
        "examples/ci/github.yml",
        "examples/ci/gitlab.yml",
        "examples/ci/pre-commit.yaml",
        ".github/workflows/release.yml",
        "install.sh",
    ] {
        add(path, other_files::comments(&text(path)));
    }
    for path in files("examples", ".toml").iter().map(String::as_str).chain(["src/cli/fleet_init.toml"]) {
        add(path, other_files::comments(&text(path)));
    }
    add("Cargo.toml", other_files::strings(&text("Cargo.toml"), "description"));
    for path in files("rules/knowledge", ".toml") {
        add(&path, other_files::strings(&text(&path), "means"));
    }
    measure.check("other files");
    let mut page = Measure::default();
    for (line, text) in other_files::html(&text("src/report/html/page.html")) {
        page.add_words(&format!("src/report/html/page.html:{line}"), &text);
    }
    page.check("HTML report");
}

#[test]
fn style_limits_find_violations() {
    let long = "word ".repeat(LONGEST + 1);
    for (text, found) in [
        ("A short sentence. Another short one.", ""),
        ("The table told us what the pool holds.", "told"),
        ("value holds value", "holds"),
        ("It is alone.", "alone"),
        ("The standby node.", ""),
        (long.as_str(), "words in a sentence"),
    ] {
        let mut measure = Measure::default();
        measure.add("here:1", text);
        let places = measure.places().join("\n");
        assert_eq!(places.is_empty(), found.is_empty(), "{text}: {places}");
        assert!(places.contains(found), "{text}: {places}");
    }
    for (source, found) in [
        (r#"format!("{} holds {}")"#, "{} holds {}"),
        (r##"error("# the line says it")"##, "# the line says it"),
        (r#"error("FROM is told one name")"#, "FROM is told one name"),
    ] {
        let texts: Vec<String> = literals::texts(source).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, [found], "{source}");
    }
    assert!(literals::texts("expect(\"a file that holds it\"); // it \"says so\"\n").is_empty());
    assert_eq!(prose::values("  - auto: it says so\n      --flag <X>\n"), [(1, "it says so".to_owned())]);
    let mut measure = Measure::default();
    measure.add("here:2", &"It works so. ".repeat(PARAGRAPH / 3 + 1));
    assert!(measure.places().join("\n").contains("words in a paragraph"));
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md").exists());
}
