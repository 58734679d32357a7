//! The founding stories and others like them: fates that were written down before the program could say them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::program::imagelint_program;

/// What one file of the folder says; all of them together are the table.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    /// Fleets that several cases share, by name.
    fleets: BTreeMap<String, String>,
    /// Image descriptions that several cases share, by name.
    images: BTreeMap<String, String>,
    case: Vec<Case>,
}

impl Table {
    /// Every file of `tests/stories`.
    fn whole() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()).collect();
        paths.sort();
        let mut whole = Self::default();
        for path in paths {
            let text = fs::read_to_string(&path).expect("readable");
            let table: Self = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            whole.fleets.extend(table.fleets);
            whole.images.extend(table.images);
            whole.case.extend(table.case);
        }
        whole
    }
}

/// One expectation; what is left out is not compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Path of an input.
    input: Option<String>,
    /// Image description: a name in `images`, or its text.
    image: Option<String>,
    /// Text of a Dockerfile.
    dockerfile: Option<String>,
    /// What decides its verdict and is not in its image description, so that the two differ.
    #[expect(dead_code, reason = "read by the tests of descriptions")]
    not_described: Option<String>,
    /// Name of that file, where it is not `Dockerfile`.
    file: Option<String>,
    /// Path of a fleet file, a name in `fleets`, or text.
    fleet: String,
    as_of: Option<String>,
    /// Pools, each expected to see the same.
    pools: Vec<String>,
    component: Option<String>,
    fate: String,
    outcome: Option<String>,
    reason: Option<String>,
    certain: Option<u64>,
    possible: Option<Vec<u64>>,
    route: Option<String>,
    /// First step that stops, in every failing scenario.
    step: Option<String>,
    /// Beginning of the key of a fact that the step rests on, or `pool.<field>`.
    fact: Option<String>,
    /// Beginnings of keys that have to be among the missing ones.
    #[serde(default)]
    missing: Vec<String>,
    /// What the verdict lists as not inspected.
    not_inspected: Option<Vec<String>>,
}

struct Mismatch {
    case: String,
    pool: String,
    what: &'static str,
    expected: String,
    found: String,
}

/// The text behind a shared name; the word itself where it is none.
fn shared<'t>(names: &'t BTreeMap<String, String>, word: &'t str) -> &'t str {
    names.get(word).map_or(word, String::as_str)
}

fn input_of(case: &Case, table: &Table, root: &Path, folder: &Path) -> PathBuf {
    if let Some(path) = &case.input {
        return root.join(path);
    }
    let (name, text) = match (&case.image, &case.dockerfile) {
        (Some(image), None) => ("case.image.toml", shared(&table.images, image)),
        (None, Some(text)) => (case.file.as_deref().unwrap_or("Dockerfile"), text.as_str()),
        _ => panic!("{}: one of `input`, `image` and `dockerfile`", case.name),
    };
    let path = folder.join(name);
    fs::write(&path, text).expect("input written");
    path
}

fn fleet_of(case: &Case, table: &Table, root: &Path, folder: &Path) -> PathBuf {
    let text = shared(&table.fleets, &case.fleet);
    if !text.contains("[[pool]]") {
        return root.join(text);
    }
    let path = folder.join("fleet.toml");
    fs::write(&path, text).expect("fleet written");
    path
}

/// The JSON report; what the program said instead where it gave none.
fn report_of(case: &Case, table: &Table) -> Result<Value, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().expect("temporary folder");
    let mut command = Command::new(imagelint_program());
    command.current_dir(root).arg("check").arg(input_of(case, table, root, folder.path()));
    command.arg("--fleet").arg(fleet_of(case, table, root, folder.path()));
    command.args(["--format", "json", "--fail-on", "never"]);
    // Pools that nobody asks about take time.
    for pool in &case.pools {
        command.args(["--pool", pool]);
    }
    if let Some(day) = &case.as_of {
        command.args(["--as-of", day]);
    }
    let output = command.output().expect("program runs");
    if output.status.code() != Some(0) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("exit {:?}: {}", output.status.code(), said.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("no JSON: {error}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Keys of the facts of a step: of its own and of those that they were concluded from.
fn keys_of(step: &Value, facts: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = list(&step["facts"]).iter().map(text).collect();
    let mut keys = Vec::new();
    let mut next = 0;
    while let Some(id) = ids.get(next).cloned() {
        next += 1;
        let Some(fact) = facts.iter().find(|fact| fact["id"] == id.as_str()) else {
            keys.push(id);
            continue;
        };
        keys.push(text(&fact["key"]));
        for from in list(&fact["derived_from"]).iter().map(text) {
            if !ids.contains(&from) {
                ids.push(from);
            }
        }
    }
    keys
}

/// A fact that travels without its evidence: a value from nowhere, an absence of which nobody says what was searched,
/// an unknown without why.
fn unfounded(fact: &Value) -> Option<String> {
    let rests = !list(&fact["origins"]).is_empty() || !list(&fact["derived_from"]).is_empty();
    let why = fact["why"].as_str().unwrap_or_default();
    let founded = match fact["state"].as_str() {
        Some("known") => rests && !fact["value"].is_null(),
        Some("absent") => why.strip_prefix("searched: ").is_some_and(|searched| !searched.trim().is_empty()),
        Some("unknown") => why.split_once(';').is_some_and(|(why, supply)| !why.is_empty() && supply.len() > 1),
        _ => false,
    };
    (!founded).then(|| format!("{} {}", text(&fact["key"]), text(&fact["state"])))
}

#[test]
fn a_fact_without_evidence_is_seen() {
    let fact = |state: &str, origins: Value, why: Value| {
        let value = if state == "known" { json!("x") } else { Value::Null };
        json!({"key": "k", "state": state, "value": value, "origins": origins, "derived_from": [], "why": why})
    };
    for (state, origins, why, founded) in [
        ("known", json!([{"kind": "file"}]), Value::Null, true),
        ("known", json!([]), Value::Null, false),
        ("absent", json!([]), json!("searched: every file"), true),
        ("absent", json!([{"kind": "file"}]), json!("searched: "), false),
        ("absent", json!([]), Value::Null, false),
        ("unknown", json!([]), json!("not read; read it"), true),
        ("unknown", json!([]), json!("not read; "), false),
        ("unknown", json!([]), Value::Null, false),
        ("other", json!([{"kind": "file"}]), json!("searched: x"), false),
    ] {
        assert_eq!(unfounded(&fact(state, origins, why.clone())).is_none(), founded, "{state} {why}");
    }
}

/// What differs on one pool: what it is, expected, found.
fn compare(case: &Case, subject: &Value, verdict: &Value) -> Vec<(&'static str, String, String)> {
    let mut wrong = Vec::new();
    let mut same = |what, expected: Option<&str>, found: &Value| {
        if let Some(expected) = expected.filter(|expected| *expected != text(found)) {
            wrong.push((what, expected.to_owned(), text(found)));
        }
    };
    same("fate", Some(&case.fate), &verdict["fate"]);
    same("outcome", case.outcome.as_deref(), &verdict["outcome"]);
    same("reason", case.reason.as_deref(), &verdict["reason"]);
    same("route", case.route.as_deref(), &verdict["route"]);
    let certain = case.certain.map(|code| code.to_string());
    same("certain", certain.as_deref(), &verdict["codes"]["certain"]);
    if let Some(expected) = &case.possible {
        let mut expected = expected.clone();
        let mut found: Vec<u64> = list(&verdict["codes"]["possible"]).iter().filter_map(Value::as_u64).collect();
        expected.sort_unstable();
        found.sort_unstable();
        if expected != found {
            wrong.push(("possible", format!("{expected:?}"), format!("{found:?}")));
        }
    }
    let missing: Vec<String> = list(&verdict["missing"]).iter().map(|one| text(&one["key"])).collect();
    for key in &case.missing {
        if !missing.iter().any(|found| found.starts_with(key.as_str())) {
            wrong.push(("missing", key.clone(), missing.join(" ")));
        }
    }
    if let Some(expected) = &case.not_inspected {
        let found: Vec<String> = list(&verdict["not_seen"]).iter().map(text).collect();
        if *expected != found {
            wrong.push(("not inspected", expected.join(", "), found.join(", ")));
        }
    }
    let failing: Vec<&Value> = list(&verdict["scenarios"]).iter().filter(|one| one["fate"] == "fails").collect();
    if case.step.is_some() && failing.is_empty() {
        wrong.push(("step", case.step.clone().unwrap_or_default(), "no failing scenario".to_owned()));
    }
    for scenario in failing {
        let stop = list(&scenario["steps"]).iter().find(|step| step["result"] == "stops");
        let (name, keys) = stop.map_or_else(
            || ("none stops".to_owned(), Vec::new()),
            |step| (text(&step["step"]), keys_of(step, list(&subject["facts"]))),
        );
        if let Some(expected) = case.step.as_ref().filter(|expected| **expected != name) {
            wrong.push(("step", expected.clone(), name));
        }
        if let Some(fact) = &case.fact
            && !keys.iter().any(|key| key.starts_with(fact.as_str()))
        {
            wrong.push(("fact", fact.clone(), keys.join(" ")));
        }
    }
    wrong
}

fn judge(case: &Case, table: &Table) -> Vec<Mismatch> {
    let mismatch = |pool: &str, what, expected: &str, found: String| Mismatch {
        case: case.name.clone(),
        pool: pool.to_owned(),
        what,
        expected: expected.to_owned(),
        found,
    };
    let report = match report_of(case, table) {
        Ok(report) => report,
        Err(error) => return vec![mismatch("", "run", "a report", error)],
    };
    let [subject] = list(&report["subjects"]) else {
        let found = format!("{} subjects, errors {}", list(&report["subjects"]).len(), report["errors"]);
        return vec![mismatch("", "report", "one subject", found)];
    };
    let component = case.component.as_deref();
    let unfounded = list(&subject["facts"]).iter().filter_map(unfounded);
    let mut wrong: Vec<Mismatch> = unfounded.map(|fact| mismatch("", "fact", "evidence", fact)).collect();
    for pool in &case.pools {
        let verdict = list(&subject["verdicts"])
            .iter()
            .find(|one| one["pool"] == pool.as_str() && one["component"].as_str() == component);
        match verdict {
            None => wrong.push(mismatch(pool, "verdict", component.unwrap_or("the image's"), "none".to_owned())),
            Some(verdict) => wrong.extend(
                compare(case, subject, verdict)
                    .into_iter()
                    .map(|(what, expected, found)| mismatch(pool, what, &expected, found)),
            ),
        }
    }
    wrong
}

#[test]
fn stories_end_as_written_down() {
    let table = Table::whole();
    let wrong: Vec<Mismatch> = table.case.iter().flat_map(|case| judge(case, &table)).collect();
    let mut lines = String::new();
    for one in &wrong {
        let Mismatch { case, pool, what, expected, found } = one;
        writeln!(lines, "{case:<40} {pool:<18} {what:<9} expected {expected:<22} found {found}").expect("text");
    }
    assert!(wrong.is_empty(), "{} mismatches in {} cases:\n{lines}", wrong.len(), table.case.len());
}
