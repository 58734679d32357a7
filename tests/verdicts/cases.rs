//! The cases of `tests/cases` with an expected verdict or a list of findings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use imagelint::rules::RuleBook;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::batch::{self, Input};
use crate::support::case::{Case, Cases};
use crate::support::program::imagelint_program;

struct Mismatch {
    case: String,
    pool: String,
    what: &'static str,
    expected: String,
    found: String,
}

fn input_of(case: &Case, root: &Path, folder: &Path) -> PathBuf {
    if let Some(path) = &case.input {
        return root.join(path);
    }
    let path = folder.join(case.file_name());
    fs::write(&path, case.text().expect("a text")).expect("input written");
    path
}

/// The JSON report, or the message of the program.
fn report_of(case: &Case) -> Result<Value, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().expect("temporary folder");
    let mut command = Command::new(imagelint_program());
    command.current_dir(root).arg("check").arg(input_of(case, root, folder.path()));
    command.args(["--format", "json", "--fail-on", "never"]);
    if let Some(text) = &case.fleet {
        let fleet = folder.path().join("fleet.toml");
        fs::write(&fleet, text).expect("fleet written");
        command.arg("--fleet").arg(fleet);
    }
    // Other pools would take time.
    for pool in &case.pools {
        command.args(["--pool", pool]);
    }
    for (option, value) in [("--as-of", &case.as_of), ("--persona", &case.persona)] {
        if let Some(value) = value {
            command.args([option, value]);
        }
    }
    let output = command.output().expect("program runs");
    if output.status.code() != Some(0) {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("exit {:?}: {}", output.status.code(), message.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("no JSON: {error}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The keys of the facts of a step, and of the facts that they are derived from.
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

/// A fact without evidence: a known value without an origin, an absence without the searched places, or an unknown value
/// without a reason and a remedy.
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

/// The differences on one pool: the field, the expected value and the value of the report.
fn compare(case: &Case, subject: &Value, verdict: &Value) -> Vec<(&'static str, String, String)> {
    let mut wrong = Vec::new();
    let mut same = |what, expected: Option<&str>, found: &Value| {
        if let Some(expected) = expected.filter(|expected| *expected != text(found)) {
            wrong.push((what, expected.to_owned(), text(found)));
        }
    };
    same("fate", case.fate.as_deref(), &verdict["fate"]);
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

fn judge(case: &Case) -> Vec<Mismatch> {
    let mismatch = |pool: &str, what, expected: &str, found: String| Mismatch {
        case: case.name.clone(),
        pool: pool.to_owned(),
        what,
        expected: expected.to_owned(),
        found,
    };
    let report = match report_of(case) {
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
    for (key, expected) in &case.facts {
        let facts = || list(&subject["facts"]).iter().filter(|fact| fact["key"].as_str() == Some(key));
        let found = facts().next_back().map_or("no fact".to_owned(), |fact| match fact["state"].as_str() {
            Some("known") => text(&fact["value"]),
            Some("unknown") => "?".to_owned(),
            _ => "-".to_owned(),
        });
        if found != *expected {
            wrong.push(mismatch("", "facts", &format!("{key} = {expected}"), found));
        }
    }
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
fn each_case_has_its_verdict() {
    let cases = Cases::read().cases;
    let with_verdict: Vec<&Case> = cases.iter().filter(|case| case.fate.is_some()).collect();
    assert!(with_verdict.len() > 900, "{} cases", with_verdict.len());
    let wrong: Vec<Mismatch> = with_verdict.iter().flat_map(|case| judge(case)).collect();
    let mut lines = String::new();
    for one in &wrong {
        let Mismatch { case, pool, what, expected, found } = one;
        writeln!(lines, "{case:<40} {pool:<18} {what:<9} expected {expected:<22} found {found}").expect("text");
    }
    assert!(wrong.is_empty(), "{} mismatches in {} cases:\n{lines}", wrong.len(), with_verdict.len());
}

/// The findings of some subjects as `rule@line`.
fn findings(subjects: &[Value]) -> BTreeSet<String> {
    let name = |finding: &Value| {
        let line = finding["locations"][0]["region"]["start_line"].as_u64();
        let line = line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        format!("{}@{line}", finding["rule"].as_str().expect("a rule"))
    };
    subjects.iter().flat_map(|subject| list(&subject["findings"])).map(name).collect()
}

/// An expected finding with the current name of its rule.
fn now(expected: &str) -> String {
    let (rule, line) = expected.split_once('@').unwrap_or((expected, ""));
    let page = RuleBook::built_in().get(rule);
    format!("{}@{line}", page.map_or(rule, |page| page.name.as_str()))
}

#[test]
fn each_case_has_exactly_its_findings() {
    let cases = Cases::read().cases;
    let expected = |case: &Case| case.findings.as_ref().map(|all| all.iter().map(|one| now(one)).collect());
    let expected: BTreeMap<usize, BTreeSet<String>> =
        cases.iter().enumerate().filter_map(|(at, case)| Some((at, expected(case)?))).collect();
    let without = expected.values().filter(|all| all.is_empty()).count();
    let with = expected.len() - without;
    assert!(with >= 60 && without >= 40, "{with} cases with findings, {without} without");
    let inputs: Vec<Input> = expected.keys().map(|at| Input::new(at.to_string(), &cases[*at])).collect();
    let found = batch::subjects(&inputs);
    let mut faults = Vec::new();
    for (at, expected) in &expected {
        let found = findings(&found[&at.to_string()]);
        if found != *expected {
            faults.push(format!("{}\n  expected {expected:?}\n  found    {found:?}", cases[*at].name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_file_with_a_wrong_case_is_refused_with_its_name() {
    let input = "name = \"one\"\ndockerfile = \"FROM a\"\nfleet = \"f\"\n";
    let verdict = "pools = [\"p\"]\nfate = \"starts\"\n";
    let of = |fields: &str| {
        let fleets = "[fleets]\nf = \"[[pool]]\"\n";
        let text = format!("{fleets}[[case]]\n{fields}");
        Cases::of([("a".to_owned(), text)]).map(|cases| cases.cases.len())
    };
    for fields in [
        format!("{input}{verdict}"),
        format!("{input}findings = []\n"),
        format!("{input}rule = \"r\"\nmessage = \"m\"\n"),
        format!("{input}{verdict}findings = [\"r@1\"]\n"),
    ] {
        assert_eq!(of(&fields), Ok(1), "{fields}");
    }
    for (fields, fault) in [
        (input.to_owned(), "`one`: it expects no verdict and no finding"),
        (format!("{input}pools = [\"p\"]\n"), "`one`: it expects no verdict and no finding"),
        (format!("{input}fate = \"starts\"\n"), "`one`: `fate` needs `pools`"),
        (format!("{input}findings = []\noutcome = \"refused\"\n"), "`one`: a part of a verdict needs `fate`"),
        (format!("{input}findings = []\nmissing = [\"pool.gpu\"]\n"), "`one`: a part of a verdict needs `fate`"),
        (format!("{input}{verdict}image = \"\"\n"), "`one`: it needs exactly one of"),
        (format!("name = \"one\"\nfleet = \"f\"\n{verdict}"), "`one`: it needs exactly one of"),
        ("name = \"one\"\ninput = \"Dockerfile\"\nfindings = []\n".to_owned(), "`one`: `findings` and `rule` need"),
        (format!("{input}rule = \"r\"\n"), "`one`: `rule` needs `message`"),
        (format!("{input}{verdict}near = [[\"a\", \"b\"]]\n"), "`one`: a part of a finding needs `rule`"),
        (format!("{input}{verdict}[[case]]\n{input}{verdict}"), "`one`: a.toml has a case with this name"),
        (format!("{input}{verdict}fates = \"starts\"\n"), "unknown field `fates`"),
    ] {
        let error = of(&fields).expect_err(&fields);
        assert!(error.starts_with("a.toml: ") && error.contains(fault), "{fields}{error}");
    }
}

#[test]
fn files_share_fleets_and_images() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let user =
        file("a", "[[case]]\nname = \"one\"\nimage = \"i\"\nfleet = \"f\"\npools = [\"p\"]\nfate = \"starts\"\n");
    let owner = file("b", "[fleets]\nf = \"the fleet\"\n[images]\ni = \"the image\"\n");
    let cases = Cases::of([user.clone(), owner.clone()]).expect("cases").cases;
    assert_eq!((cases[0].fleet.as_deref(), cases[0].text()), (Some("the fleet"), Some("the image")));
    assert_eq!(cases[0].source, "a");
    let other = file("c", "[images]\ni = \"another\"\n");
    assert!(Cases::of([user, owner, other]).expect_err("twice").contains("another file defines `i`, too"));
}
