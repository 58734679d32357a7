//! The book in `docs/`: its generated parts, the outputs it shows, its links, and the keys and names it must cover.
//!
//! `IMAGELINT_WRITE=1 cargo test --test project docs` writes the generated parts anew. Without the variable a difference fails.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use imagelint::fleet::settings;
use imagelint::model::outcome::Outcome;
use imagelint::rules::{PageKind, RuleBook, Vocabulary};
use imagelint::{describe, fleet};
use regex::Regex;
use serde_json::Value;

use crate::support::program::imagelint_program;

/// Columns of shown outputs.
const WIDTH: &str = "100";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn page(path: &str) -> String {
    fs::read_to_string(root().join("docs/src").join(path)).unwrap_or_else(|error| panic!("docs/src/{path}: {error}"))
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// Every Markdown file of the book, relative to `docs/src`.
fn pages() -> Vec<String> {
    let source = root().join("docs/src");
    let (mut folders, mut found) = (vec![source.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                let name = path.strip_prefix(&source).expect("inside").to_str().expect("UTF-8").replace('\\', "/");
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

fn program(folder: &Path, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(imagelint_program());
    command.args(arguments).current_dir(folder).env("COLUMNS", WIDTH).env("NO_COLOR", "1");
    for variable in ["IMAGELINT_FLEET", "IMAGELINT_CONFIG", "IMAGELINT_KNOWLEDGE", "GITHUB_ACTIONS", "FORCE_COLOR"] {
        command.env_remove(variable);
    }
    let done = command.output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (text(done.stdout), text(done.stderr))
}

/// Compares a page with what it should be, or writes it.
fn settle(path: &str, wanted: &str) {
    let found = page(path);
    if found == wanted {
        return;
    }
    if std::env::var_os("IMAGELINT_WRITE").is_some() {
        fs::write(root().join("docs/src").join(path), wanted).expect("written");
        return;
    }
    let differs = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    let line = differs.unwrap_or_else(|| found.lines().count().min(wanted.lines().count())) + 1;
    panic!("docs/src/{path}:{line}: out of date; run IMAGELINT_WRITE=1 cargo test --test project docs");
}

/// Puts `wanted` between the markers of a generated part.
fn generated(path: &str, name: &str, wanted: &str) {
    let text = page(path);
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), "<!-- /generated -->");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("docs/src/{path}: no part {name}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("docs/src/{path}: {name} has no end"));
    settle(path, &format!("{before}{begin}\n{}\n\n{end}{after}", wanted.trim_end()));
}

fn row(cells: &[&str]) -> String {
    cells.iter().fold(String::new(), |mut line, cell| {
        let _ = write!(line, "| {} ", cell.replace('|', "\\|"));
        line
    }) + "|\n"
}

/// The first cells, in backquotes, of the table rows in a part of a page that begins with a heading.
fn keys_in(text: &str, heading: &str) -> BTreeSet<String> {
    let from = text.find(heading).unwrap_or_else(|| panic!("no `{heading}`"));
    let part = &text[from + heading.len()..];
    let part = part.split("\n#").next().unwrap_or(part);
    let cell = pattern(r"(?m)^\| `([^`]+)` \|");
    cell.captures_iter(part).map(|found| found[1].to_owned()).collect()
}

fn same_keys(path: &str, heading: &str, wanted: &[&str]) {
    let found = keys_in(&page(path), heading);
    let wanted: BTreeSet<String> = wanted.iter().map(|&key| key.to_owned()).collect();
    let missing: Vec<_> = wanted.difference(&found).collect();
    let gone: Vec<_> = found.difference(&wanted).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/src/{path}, {heading}: missing {missing:?}, not accepted {gone:?}"
    );
}

#[test]
fn command_line_reference_matches_help() {
    fn section(out: &mut String, words: &[String]) {
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        arguments.push("--help");
        let (help, _) = program(&root(), &arguments);
        let name = [&["imagelint".to_owned()], words].concat().join(" ");
        let clean: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(out, "## `{name}`\n\n```text\n{}\n```\n\n", clean.join("\n").trim_end());
        let commands = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or("");
        for found in pattern(r"(?m)^  ([a-z][a-z-]*) ").captures_iter(commands) {
            if &found[1] != "help" {
                section(out, &[words, &[found[1].to_owned()]].concat());
            }
        }
    }
    let mut text = String::new();
    section(&mut text, &[]);
    generated("reference/command-line.md", "help", &text);
}

/// A link to the page of a rule in the repository; `docs/build` turns it into one inside the book.
fn rule_link(name: &str, up: &str) -> String {
    let folder = ["start-up", "practice"].into_iter().find(|folder| {
        let path = format!("rules/{folder}/{name}.md");
        root().join(path).is_file()
    });
    format!("[`{name}`]({up}rules/{}/{name}.md)", folder.unwrap_or_else(|| panic!("no page of {name}")))
}

#[test]
fn the_rules_reference_lists_every_rule() {
    let book = RuleBook::built_in();
    let mut text = String::new();
    let mut contents = String::new();
    for (title, part) in [("Start-up rules", 0), ("Practice rules", 1), ("Reader rules", 2)] {
        let _ = write!(text, "## {title}\n\n| Rule | Severity | Persona | Status | Summary |\n|---|---|---|---|---|\n");
        for rule in book.pages() {
            let own = match rule.kind {
                PageKind::Startup(_) => 0,
                PageKind::Practice(_) => 1,
                PageKind::Reader(_) => 2,
            };
            if own == part {
                let name = rule_link(rule.name.as_str(), "../../../");
                let words = [rule.severity.name(), rule.persona.name(), rule.status.name()];
                text.push_str(&row(&[&name, words[0], words[1], words[2], &rule.summary()]));
                let _ = writeln!(contents, "  - {}", rule_link(rule.name.as_str(), "../../").replace('`', ""));
            }
        }
        text.push('\n');
    }
    generated("reference/rules.md", "rules", &text);
    let entry = "- [Rules](reference/rules.md)\n";
    let summary = page("SUMMARY.md");
    let (before, rest) = summary.split_once(entry).expect("an entry for the rules");
    let after: Vec<&str> = rest.lines().skip_while(|line| line.starts_with("  - ")).collect();
    settle("SUMMARY.md", &format!("{before}{entry}{contents}{}\n", after.join("\n")));
}

#[test]
fn the_vocabulary_is_in_the_reference() {
    let tables = imagelint::rules::vocabulary_tables(&Vocabulary::built_in());
    generated("reference/conditions.md", "vocabulary", &tables);
}

#[test]
fn the_error_codes_are_those_of_the_compatibility_database() {
    let database = fs::read_to_string(root().join("rules/knowledge/errors.toml")).expect("errors");
    let database: toml::Table = database.parse().expect("TOML");
    let mut text = String::from("| Code | Name | Text | Rules |\n|---|---|---|---|\n");
    for entry in database["row"].as_array().expect("entries") {
        let word = |key: &str| entry.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let rules = entry.get("rules").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let rules: Vec<String> =
            rules.iter().filter_map(|rule| rule.as_str()).map(|rule| rule_link(rule, "../../../")).collect();
        let code = entry["code"].to_string();
        text.push_str(&row(&[&code, &format!("`{}`", word("name")), word("text"), &rules.join(", ")]));
    }
    generated("reference/outcomes.md", "errors", &text);
}

#[test]
fn the_schema_reference_names_every_field_of_a_report() {
    let (schema, _) = program(&root(), &["schema"]);
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let mut text = String::new();
    let tables =
        [("Report", &schema), ("Subject", &schema["$defs"]["Subject"]), ("Finding", &schema["$defs"]["Finding"])];
    for (name, table) in tables {
        let _ = write!(text, "### {name}\n\n| Field | Meaning |\n|---|---|\n");
        for (key, field) in table["properties"].as_object().unwrap_or_else(|| panic!("{name} has no fields")) {
            let meaning = field["description"].as_str().unwrap_or_default().replace('\n', " ");
            text.push_str(&row(&[&format!("`{key}`"), &meaning]));
        }
        text.push('\n');
    }
    generated("reference/formats.md", "schema", &text);
}

#[test]
fn every_outcome_has_a_row() {
    let names: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    same_keys("reference/outcomes.md", "## Outcomes", &names);
    let chapter = page("explanation/how-a-gpu-container-starts.md");
    for name in names {
        assert!(chapter.contains(&format!("`{name}`")), "the chapter on the start-up lacks `{name}`");
    }
}

#[test]
fn every_key_is_documented() {
    same_keys("reference/fleet-file.md", "## Keys of a pool", fleet::POOL_KEYS);
    same_keys("reference/settings.md", "## Top-level keys", settings::SETTINGS_KEYS);
    same_keys("reference/image-descriptions.md", "## Top-level keys", describe::DESCRIPTION_KEYS);
    same_keys("reference/image-descriptions.md", "## Keys of `[packages]`", describe::PACKAGE_KEYS);
    same_keys("reference/image-descriptions.md", "## Keys of `[[gpu_code]]`", describe::GPU_CODE_KEYS);
}

#[test]
fn every_key_of_a_fleet_file_is_documented() {
    same_keys("reference/fleet-file.md", "## Launch methods", fleet::Launch::WORDS);
    let text = page("reference/fleet-file.md");
    let words = [fleet::Mode::WORDS, fleet::Runtime::WORDS, fleet::DeviceListStrategy::WORDS].concat();
    for word in words {
        assert!(text.contains(&format!("`{word}`")), "reference/fleet-file.md lacks `{word}`");
    }
}

#[test]
fn every_format_in_the_reference_exists() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("Dockerfile"), "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n").expect("written");
    fs::write(folder.path().join("fleet.toml"), "[[pool]]\nname = \"a100\"\n").expect("written");
    let formats = keys_in(&page("reference/formats.md"), "## Formats");
    assert!(formats.len() > 10, "{formats:?}");
    for format in formats {
        let (_, error) = program(folder.path(), &["check", "--format", &format]);
        assert!(!error.contains("error:"), "{format}: {error}");
    }
}

#[test]
fn every_environment_variable_in_use_is_documented() {
    let names =
        pattern(r#""((?:IMAGELINT|XDG|DOCKER|REGISTRY|SSL|CONTAINERS|GITHUB|CLICOLOR|NO_COLOR|FORCE_COLOR)[A-Z_]*)""#);
    let text = page("reference/environment.md");
    let mut folders = vec![root().join("src/cli"), root().join("src/registry")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.to_string_lossy().contains("test") {
                continue;
            }
            for found in names.captures_iter(&fs::read_to_string(&path).expect("a file")) {
                assert!(text.contains(&format!("`{}`", &found[1])), "environment.md lacks `{}`", &found[1]);
            }
        }
    }
}

/// The files that pages show: a comment with the path, then a block.
#[test]
fn every_shown_file_is_the_one_in_the_repository() {
    let shown = pattern(r"(?s)<!-- file: ([^\n]+?) -->\n```(\w+)\n.*?```\n");
    let mut count = 0;
    for path in pages() {
        let text = page(&path);
        let wanted = shown.replace_all(&text, |found: &regex::Captures<'_>| {
            count += 1;
            let file = fs::read_to_string(root().join(&found[1])).unwrap_or_else(|error| panic!("{path}: {error}"));
            format!("<!-- file: {} -->\n```{}\n{file}```\n", &found[1], &found[2])
        });
        assert!(!text.contains("{{#include"), "docs/src/{path} shows an include in place of the file");
        settle(&path, &wanted);
    }
    assert!(count >= 6, "{count} files are shown");
}

/// The outputs that pages show: a comment with the folder, the number of lines and the command, then a block.
#[test]
fn every_shown_output_matches_the_command() {
    let shown = pattern(r"(?s)<!-- run ([^ :]+)(?:, (\d+) lines)?: ([^\n]+?) -->\n```console\n.*?\n```");
    for path in pages() {
        let text = page(&path);
        let mut wanted = String::new();
        let mut at = 0;
        for found in shown.captures_iter(&text) {
            let whole = found.get(0).expect("a match");
            wanted.push_str(&text[at..whole.start()]);
            at = whole.end();
            let command = &found[3];
            let words: Vec<&str> = command.split_whitespace().collect();
            assert_eq!(words[0], "imagelint", "{path}: {command}");
            let (out, error) = program(&root().join(&found[1]), &words[1..]);
            let printed = if out.is_empty() { error } else { out };
            let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
            let most = found.get(2).map_or(lines.len(), |most| most.as_str().parse().expect("a number"));
            let mut block = lines[..most.min(lines.len())].join("\n");
            if most < lines.len() {
                block.push_str("\n[...]");
            }
            let head = whole.as_str().split_once('\n').expect("a line").0;
            let _ = write!(wanted, "{head}\n```console\n$ {command}\n{}\n```", block.trim_matches('\n'));
        }
        wanted.push_str(&text[at..]);
        settle(&path, &wanted);
    }
}

#[test]
fn every_command_and_flag_in_the_book_exists() {
    let block = pattern(r"(?s)```(?:sh|console)\n(.*?)\n```");
    let flag = pattern(r"(?:^|\s)(--[a-z][a-z-]*)");
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut helps = std::collections::BTreeMap::new();
    for path in pages() {
        for found in block.captures_iter(&page(&path)) {
            for line in found[1].replace("\\\n", " ").lines() {
                let line = line.trim_start_matches("$ ");
                let Some(from) = line.find("imagelint ").filter(|at| *at == 0 || line[..*at].ends_with("| ")) else {
                    continue;
                };
                let line = line[from..].split(" > ").next().unwrap_or(line).split(" | ").next().unwrap_or(line);
                let line = line.split(" # ").next().unwrap_or(line);
                let words: Vec<&str> = line
                    .split_whitespace()
                    .skip(1)
                    .take_while(|word| pattern("^[a-z][a-z-]*$").is_match(word))
                    .collect();
                count += 1;
                let depth =
                    if words.first().is_some_and(|word| ["fleet", "rules", "cache"].contains(word)) { 2 } else { 1 };
                let command: Vec<&str> = words.into_iter().take(depth).collect();
                let help = helps.entry(command.join(" ")).or_insert_with(|| {
                    let (help, error) = program(&root(), &[&command[..], &["--help"]].concat());
                    help + &error
                });
                if help.starts_with("error") {
                    wrong.push(format!("docs/src/{path}: no such command: {line}"));
                }
                for option in flag.captures_iter(line) {
                    let listed = pattern(&format!(r"{}[ =\[\n]", &option[1]));
                    if !listed.is_match(help) {
                        wrong.push(format!("docs/src/{path}: no {}: {line}", &option[1]));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty() && count > 40, "{count} commands\n{}", wrong.join("\n"));
}

#[test]
fn every_link_inside_the_book_leads_somewhere() {
    let known: BTreeSet<String> = pages().into_iter().collect();
    let link = pattern(r"\]\(([^)\s]+)\)");
    let fenced = pattern(r"(?s)```.*?```");
    let mut wrong = Vec::new();
    for path in &known {
        let folder = Path::new(path).parent().expect("a folder");
        let raw = page(path);
        let text = fenced.replace_all(&raw, "");
        for found in link.captures_iter(&text) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { joined(folder, file) };
            let outside = joined(&Path::new("docs/src").join(folder), target);
            if target.contains("../") && !outside.starts_with("docs/") && root().join(&outside).is_file() {
                continue;
            }
            if !known.contains(&file) {
                // A picture is next to the pages.
                if !root().join("docs/src").join(&file).is_file() {
                    wrong.push(format!("docs/src/{path}: {target}"));
                }
            } else if !anchor.is_empty() && !anchors(&page(&file)).contains(anchor) {
                wrong.push(format!("docs/src/{path}: no heading {target}"));
            }
        }
    }
    let contents = page("SUMMARY.md");
    for path in known.iter().filter(|path| *path != "SUMMARY.md") {
        if !contents.contains(&format!("]({path})")) {
            wrong.push(format!("docs/src/SUMMARY.md lacks {path}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn joined(folder: &Path, file: &str) -> String {
    let mut parts: Vec<&str> = folder.iter().filter_map(|part| part.to_str()).collect();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings, as mdBook makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let plain = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    text.lines().filter(|line| line.starts_with('#')).map(|line| plain(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn the_glossary_is_sorted() {
    let text = page("reference/glossary.md");
    let terms: Vec<String> =
        pattern(r"(?m)^\*\*([^*]+)\*\*").captures_iter(&text).map(|one| one[1].to_lowercase()).collect();
    assert!(terms.len() >= 30, "{}", terms.len());
    for pair in terms.windows(2) {
        assert!(pair[0] < pair[1], "{} before {}", pair[0], pair[1]);
    }
}

#[test]
fn every_dependency_has_a_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let reasons = page("project/decisions.md");
    for part in ["dependencies", "dev-dependencies"] {
        for name in manifest[part].as_table().expect("a table").keys() {
            let row = pattern(&format!(r"(?m)^\| [^|]*\b{}\b[^|]* \|", name.replace('-', r"[-_]")));
            assert!(row.is_match(&reasons), "docs/src/project/decisions.md has no reason for {name}");
        }
    }
}
